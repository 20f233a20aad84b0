"""The attention over a sentence of a treebank, whose words are aligned with the tokens."""

from __future__ import annotations

from core.attention.capture import inputs_of, trace_of
from core.attention.roles.treebank import Sentence
from core.attention.tokens import Membership, align
from core.attention.trace import AttentionTrace
from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty
from core.language.text import clean


def attention_of(checkpoint: Checkpoint, sentence: Sentence) -> tuple[AttentionTrace, Membership]:
    """The trace over ``sentence``, and the word of each token.

    Raises:
        InputEmpty, InputTooLong, NoAttentionMatrix: as core.attention.capture.
    """
    text = sentence.text
    if clean(text) != text:
        raise InputEmpty("This sentence has characters that are removed before a model reads it. Replace them.")
    # teacher forcing with the sentence takes one step, generation many
    inputs = inputs_of(checkpoint, text, target=text)
    return trace_of(inputs), align(sentence, inputs.of_text)
