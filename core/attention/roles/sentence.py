"""The attention over a sentence of a treebank, whose words are aligned with the tokens."""

from __future__ import annotations

from core.attention.capture import trace_of
from core.attention.roles.treebank import Sentence
from core.attention.tokens import Membership, align
from core.attention.trace import AttentionTrace
from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, NoAttentionMatrix
from core.language.inputs import one_text, pair
from core.language.starts import start_token
from core.language.text import clean
from core.language.tokens import tokenize


def attention_of(checkpoint: Checkpoint, sentence: Sentence) -> tuple[AttentionTrace, Membership]:
    """The trace over ``sentence`` alone, without a task or a control code, and the word of each token.

    An encoder-decoder is given the sentence as its output, too, in place of generating one.

    Raises:
        InputEmpty, InputTooLong, NoAttentionMatrix: as core.attention.capture.
    """
    text, model, tokenizer = sentence.text, checkpoint.model, checkpoint.tokenizer
    if clean(text) != text:
        raise InputEmpty("This sentence has characters that are removed before a model reads it. Replace them.")
    tokens = tokenize(checkpoint, text)
    if not checkpoint.spec.offers("rewrites"):
        return trace_of(one_text(checkpoint, tokens)), align(sentence, tokens)
    if (start := start_token(model)) is None:
        raise NoAttentionMatrix("This model does not say which token its decoder starts with.")
    output = tokenizer(text_target=text, verbose=False)["input_ids"]
    return trace_of(pair(checkpoint, tokens, [start], output)), align(sentence, tokens)
