"""One sentence in words, for models that cut it into tokens of their own: their maps with the same axes.

Words are those of `core.language.side_by_side.split`: letters and digits together, every mark for itself. A token's
weight goes to the word that it begins in (`core.attention.roles.words`); what special tokens get, and the words of a
task that stand before the sentence, belongs to no word and is told apart:

    rest[i] = 1 - Σ_j W[i, j]

Of an encoder-decoder the encoder's map is taken over the sentence as its task puts it, and the cross-attention of what
it wrote: rows are the written words, columns the words of the sentence.

Legend: L layers, H heads, n words, m written words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.attention.capture import MAX_NEW_TOKENS, capture, capture_pair
from core.attention.heads import scores
from core.attention.roles import rolefiles
from core.attention.roles.words import Membership, belonging, word_weights
from core.attention.trace import AttentionMap, Bools, Floats, frozen
from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong, InputUnusable, NoAttentionMatrix
from core.language import translate
from core.language.side_by_side import Word, split
from core.language.text import clean
from core.language.tokens import describe, tokenise
from core.language.tokens import words as word_numbers
from core.language.types import Decoding, Token

MAX_CHARS = 600
MOST_WORDS = 40
ROLES = ("previous", "next", "self", "same token", "first", "punctuation")
"""What a head may be the strongest at."""


@dataclass(frozen=True, slots=True, eq=False)
class WordLook:
    """How one model looks over a sentence, in words."""

    slug: str
    found: AttentionMap
    """Over the words; ``allowed`` is False where no token of one word may see a token of the other."""
    rest: Floats  # (L, H, n)
    """What of a word's weight goes to no word."""
    cross: AttentionMap | None = None
    """From the words that an encoder-decoder wrote to those of the sentence."""


def words_of(text: str) -> tuple[Word, ...]:
    """The words and marks of ``text``, which is cleaned first.

    Raises:
        InputEmpty, InputTooLong: nothing readable, or more than fits side by side.
    """
    found = split(clean(text, MAX_CHARS))
    if len(found) > MOST_WORDS:
        raise InputTooLong(f"This sentence has {len(found)} words and marks; up to {MOST_WORDS} fit side by side.")
    return found


def part_of(text: str, first: int, last: int) -> str:
    """The words and marks ``first`` to ``last`` of ``text``, from 1, as they stand in it; at most `MOST_WORDS`."""
    cleaned = clean(text)
    found = split(cleaned)
    begin = min(max(first, 1), len(found)) - 1
    end = min(max(last, begin + 1), begin + MOST_WORDS, len(found))
    return cleaned[found[begin].start : found[end - 1].end]


def look(checkpoint: Checkpoint, text: str, task: str | None = None) -> WordLook:
    """Run ``checkpoint`` over ``text``.

    Args:
        task: what an encoder-decoder is asked to do, or whose adapters run; no other model looks at it.

    Raises:
        InputUnusable: its tokeniser does not say where its tokens stand.
        InputEmpty, InputTooLong, UnknownTask, NoAttentionMatrix: as `core.attention.capture` and `translate`.
    """
    words = words_of(text)
    if not checkpoint.tokenizer.is_fast:
        raise _without_places(checkpoint)
    if checkpoint.spec.kind == "seq2seq-lm" and task is not None:
        return _both_sides(checkpoint, clean(text, MAX_CHARS), task, words)
    typed = clean(text, MAX_CHARS)
    kind = checkpoint.spec.kind
    target, adapters = (typed if kind == "seq2seq-lm" else None), (task if kind == "adapters" else None)
    trace = capture(checkpoint, typed, target=target, adapters=adapters)
    found, tokens = trace.encoder or trace.decoder, tokenise(checkpoint, typed)
    if found is None or len(tokens) != len(found.key_tokens):
        raise NoAttentionMatrix(f"The attention of {checkpoint.spec.name} is not over the tokens of the sentence.")
    return _look(checkpoint, found, words, _membership(checkpoint, words, tokens, 0))


def _both_sides(checkpoint: Checkpoint, typed: str, task: str, words: tuple[Word, ...]) -> WordLook:
    request = translate.prepare(checkpoint, typed, task)
    belongs = _membership(checkpoint, words, request.tokens, len(request.task.prefix))
    steps = list(translate.rewrite(checkpoint, typed, task, Decoding(max_new_tokens=MAX_NEW_TOKENS)))
    ids = [step.token.id for step in steps]
    trace = capture_pair(checkpoint, request.source, request.prompt, ids)
    assert trace.encoder is not None
    assert trace.cross is not None
    labels, rows = written_words(describe(checkpoint.tokenizer, ids))
    cross = None
    if labels and len(labels) <= MOST_WORDS:
        cross = AttentionMap("cross", labels, _names(words), frozen(word_weights(trace.cross.weights, rows, belongs)))
    return _look(checkpoint, trace.encoder, words, belongs, cross)


def _membership(checkpoint: Checkpoint, words: tuple[Word, ...], tokens: tuple[Token, ...], shift: int) -> Membership:
    """(n, T); words stand ``shift`` characters further on in the text that was cut into ``tokens``."""
    belongs = belonging([word.start + shift for word in words], tokens)
    if not belongs.any():
        raise _without_places(checkpoint)
    return belongs


def _without_places(checkpoint: Checkpoint) -> InputUnusable:
    return InputUnusable(
        f"The tokeniser of {checkpoint.spec.name} does not say where in the text its tokens stand, so its attention "
        "cannot be told word by word. Its heads can be seen token by token under One head."
    )


def _look(
    checkpoint: Checkpoint,
    found: AttentionMap,
    words: tuple[Word, ...],
    belongs: Membership,
    cross: AttentionMap | None = None,
) -> WordLook:
    weights = word_weights(found.weights, belongs)
    known: Bools = belongs.sum(1) > 0
    rest = np.where(known, np.clip(1 - weights.sum(-1), 0, 1), 0).astype(np.float32)
    allowed: Bools = known[:, None] & known
    if found.allowed is not None:
        allowed = (belongs @ found.allowed.astype(np.float32) @ belongs.T) > 0
    names = _names(words)
    over = AttentionMap(found.kind, names, names, frozen(weights), frozen(allowed), label=found.label, note=found.note)
    return WordLook(checkpoint.spec.slug, over, frozen(rest), cross)


def _names(words: tuple[Word, ...]) -> tuple[str, ...]:
    return tuple(word.text for word in words)


def written_words(tokens: Sequence[Token]) -> tuple[tuple[str, ...], Membership]:
    """The words that tokens of an output make, without special tokens, and (m, T) which token is of which."""
    numbers = word_numbers(tokens)
    kept = [number for number in dict.fromkeys(numbers) if not _frame(tokens, numbers, number)]
    belongs = np.array([[float(number == one) for one in numbers] for number in kept], dtype=np.float32)
    texts = ("".join(t.text for t, one in zip(tokens, numbers, strict=True) if one == number) for number in kept)
    return tuple(texts), belongs.reshape(len(kept), len(tokens))


def _frame(tokens: Sequence[Token], numbers: tuple[int, ...], number: int) -> bool:
    return all(t.special or not t.text for t, one in zip(tokens, numbers, strict=True) if one == number)


def strongest(look: WordLook, role: str) -> tuple[int, int] | None:
    """Layer and head, from 0, with the highest score ``role``; None where the model cannot look there.

    Measured over the treebank where that was done, so that the head stays when the sentence changes; else on this
    sentence.
    """
    found = look.found
    grid = rolefiles.roles(look.slug).get(role)
    if grid is None or grid.shape != (found.layers, found.heads):
        measured = scores(found).grids.get(role)
        if measured is None:
            return None
        grid = measured.astype(np.float64)
    layer, head = divmod(int(grid.argmax()), grid.shape[1])
    return layer, head


def sharpest(found: AttentionMap) -> tuple[int, int]:
    """Layer and head, from 0, whose rows are spread least."""
    grid = scores(found).grids["spread"]
    layer, head = divmod(int(grid.argmin()), grid.shape[1])
    return layer, head
