"""An encoder-decoder over a sentence and an answer that is given to it, both in words: maps that two models share.

Two encoder-decoders put tasks of their own before a text, cut it with vocabularies of their own and write answers of
their own. What they have in common are the words of the sentence and, once both read one answer, its words:

    encoder     words of the sentence x words of the sentence
    decoder     words of the answer x words of the answer
    cross       words of the answer, each as it is about to be written, x words of the sentence

A model that reads another's answer is led, word by word, where it might not have gone by itself. Tokens are brought to
words as in `core.attention.beside`; what the task's words and special tokens get belongs to no word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from core.attention.beside import MAX_CHARS, MOST_WORDS, words_of
from core.attention.capture import MAX_NEW_TOKENS, capture_pair
from core.attention.roles.words import Membership, belonging, word_weights
from core.attention.trace import AttentionMap, AttentionTrace, Bools, frozen
from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong, InputUnusable
from core.language import translate
from core.language.side_by_side import Word, split
from core.language.text import clean
from core.language.tokens import describe
from core.language.types import Decoding


def answer_of(checkpoint: Checkpoint, text: str, task: str) -> str:
    """What the model writes to ``text``, greedily, without special tokens.

    Raises:
        As `core.language.translate.rewrite`; InputUnusable: it writes nothing.
    """
    steps = translate.rewrite(checkpoint, clean(text, MAX_CHARS), task, Decoding(max_new_tokens=MAX_NEW_TOKENS))
    answer = str(checkpoint.tokenizer.decode([step.token.id for step in steps], skip_special_tokens=True)).strip()
    if not answer:
        raise InputUnusable(
            f"{checkpoint.spec.name} writes no word here, so there are no rows to compare. The encoders can be."
        )
    return answer


def over_words(checkpoint: Checkpoint, text: str, task: str, answer: str) -> AttentionTrace:
    """The three maps of an encoder-decoder that reads ``text`` for ``task`` and writes ``answer``.

    Raises:
        InputUnusable: its tokeniser does not say where its tokens stand.
        InputEmpty, InputTooLong, UnknownTask, NoAttentionMatrix: as `core.attention.beside.look`.
    """
    tokenizer: Any = checkpoint.tokenizer
    words, written = words_of(text), split(answer)
    if len(written) > MOST_WORDS:
        raise InputTooLong(f"The answer has {len(written)} words and marks; up to {MOST_WORDS} are compared.")
    if not tokenizer.is_fast:
        raise _without_places(checkpoint)
    request = translate.prepare(checkpoint, clean(text, MAX_CHARS), task)
    columns = belonging([word.start + len(request.task.prefix) for word in words], request.tokens)
    encoded = tokenizer(answer, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    ids = [int(number) for number in encoded["input_ids"]]
    tokens = describe(tokenizer, ids, answer, encoded["offset_mapping"], encoded.word_ids())
    rows = belonging([word.start for word in written], tokens)
    if not columns.any() or not rows.any():
        raise _without_places(checkpoint)
    trace = capture_pair(checkpoint, request.source, request.prompt, [*ids, *_end(checkpoint)])
    assert trace.encoder is not None
    assert trace.decoder is not None
    assert trace.cross is not None
    # The decoder reads its prompt first, and never the last token that is written.
    read = _padded(rows, len(request.prompt), trace.decoder.weights.shape[2])
    made = _padded(rows, 0, trace.cross.weights.shape[2])
    return AttentionTrace(
        checkpoint.spec.slug,
        encoder=_told(trace.encoder, words, words, columns, columns),
        decoder=_told(trace.decoder, written, written, read, read),
        cross=_told(trace.cross, written, words, made, columns),
    )


def _end(checkpoint: Checkpoint) -> list[int]:
    """The token that ends an answer, so that the last word is read as well; empty where none does."""
    model: Any = checkpoint.model
    found = model.generation_config.eos_token_id, checkpoint.tokenizer.eos_token_id, checkpoint.tokenizer.sep_token_id
    known = next((one for one in found if one is not None), None)
    return [] if known is None else [int(known[0] if isinstance(known, list) else known)]


def _padded(belongs: Membership, before: int, length: int) -> Membership:
    """(m, length): ``before`` tokens of no word, then those of ``belongs``, then again of none, or cut off."""
    out = np.zeros((len(belongs), length), dtype=np.float32)
    kept = belongs[:, : length - before]
    out[:, before : before + kept.shape[1]] = kept
    return out


def _told(
    found: AttentionMap, queries: Sequence[Word], keys: Sequence[Word], rows: Membership, columns: Membership
) -> AttentionMap:
    weights = word_weights(found.weights, rows, columns)
    shape = found.weights.shape[2:]
    computed = np.ones(shape, np.float32) if found.allowed is None else found.allowed.astype(np.float32)
    allowed: Bools = (rows @ computed @ columns.T) > 0
    names = [tuple(word.text for word in side) for side in (queries, keys)]
    return AttentionMap(found.kind, names[0], names[1], frozen(weights), frozen(allowed), note=found.note)


def _without_places(checkpoint: Checkpoint) -> InputUnusable:
    return InputUnusable(
        f"The tokeniser of {checkpoint.spec.name} does not say where in the text its tokens stand, so that its "
        "attention cannot be told word by word, and it shares no tokens with another model. Choose another one."
    )
