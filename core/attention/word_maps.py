"""One sentence in words, for models that cut it into tokens of their own: their maps with the same axes.

Words are those of `core.language.side_by_side.split`: letters and digits together, every mark for itself. A token's
weight goes to the word that it begins in (`core.attention.tokens`); what special tokens get, and the words of a
task that stand before the sentence, belongs to no word and is told apart:

    rest[i] = 1 - Σ_j W[i, j]

Of an encoder-decoder the encoder's map is taken over the sentence as its task puts it, and the cross-attention of what
it wrote: rows are the written words, columns the words of the sentence.

An encoder-decoder over a sentence and an answer that is given to it, both in words: maps that two models share.

Two encoder-decoders put tasks of their own before a text, cut it with vocabularies of their own and write answers of
their own. What they have in common are the words of the sentence and, once both read one answer, its words:

    encoder     words of the sentence x words of the sentence
    decoder     words of the answer x words of the answer
    cross       words of the answer, each as it is about to be written, x words of the sentence

A model that reads another's answer is led, word by word, where it might not have gone by itself. What the task's words
and special tokens get belongs to no word.

Legend: L layers, H heads, n words, m written words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.attention.capture import MAX_NEW_TOKENS, capture, capture_pair, tokens_of
from core.attention.heads import scores
from core.attention.roles import rolefiles
from core.attention.tokens import Membership, belonging, word_weights
from core.attention.trace import AttentionMap, AttentionTrace, Bools, Floats, frozen
from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong, InputUnusable
from core.language import translate
from core.language.side_by_side import Word, split
from core.language.text import clean
from core.language.tokens import describe
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
    _check_places(checkpoint, able=checkpoint.tokenizer.is_fast)
    typed, spec = clean(text, MAX_CHARS), checkpoint.spec
    if spec.offers("rewrites") and task is not None:
        return _both_sides(checkpoint, typed, task, words)
    target, adapters = (typed if spec.offers("rewrites") else None), (task if spec.offers("classifies texts") else None)
    trace = capture(checkpoint, typed, target=target, adapters=adapters)
    belongs = belonging([word.start for word in words], tokens_of(checkpoint, typed, trace))
    return _look(checkpoint, trace.own, words, belongs)


def _both_sides(checkpoint: Checkpoint, typed: str, task: str, words: tuple[Word, ...]) -> WordLook:
    request = translate.prepare(checkpoint, typed, task)
    belongs = belonging([word.start + len(request.task.prefix) for word in words], request.tokens)
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


def _check_places(checkpoint: Checkpoint, *, able: bool) -> None:
    """Raises :class:`InputUnusable` where tokens cannot be told to stand in words."""
    if not able:
        raise InputUnusable(
            f"The tokenizer of {checkpoint.spec.name} does not say where in the text its tokens stand, so its "
            "attention cannot be told word by word. Its heads are shown token by token under One head."
        )


def _look(
    checkpoint: Checkpoint,
    found: AttentionMap,
    words: tuple[Word, ...],
    belongs: Membership,
    cross: AttentionMap | None = None,
) -> WordLook:
    _check_places(checkpoint, able=bool(belongs.any()))
    over = _told(found, words, words, belongs, belongs)
    rest = np.where(belongs.any(1), np.clip(1 - over.weights.sum(-1), 0, 1), 0).astype(np.float32)
    return WordLook(checkpoint.spec.slug, over, frozen(rest), cross)


def _names(words: Sequence[Word]) -> tuple[str, ...]:
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
        InputEmpty, InputTooLong, UnknownTask, NoAttentionMatrix: as `core.attention.word_maps.look`.
    """
    tokenizer: Any = checkpoint.tokenizer
    words, written = words_of(text), split(answer)
    if len(written) > MOST_WORDS:
        raise InputTooLong(f"The answer has {len(written)} words and marks; up to {MOST_WORDS} are compared.")
    _check_places(checkpoint, able=tokenizer.is_fast)
    request = translate.prepare(checkpoint, clean(text, MAX_CHARS), task)
    columns = belonging([word.start + len(request.task.prefix) for word in words], request.tokens)
    encoded = tokenizer(answer, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    ids = [int(number) for number in encoded["input_ids"]]
    tokens = describe(tokenizer, ids, answer, encoded["offset_mapping"], encoded.word_ids())
    rows = belonging([word.start for word in written], tokens)
    _check_places(checkpoint, able=bool(columns.any() and rows.any()))
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
    names = _names(queries), _names(keys)
    return AttentionMap(found.kind, *names, frozen(weights), frozen(allowed), label=found.label, note=found.note)
