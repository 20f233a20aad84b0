"""Attention between the words of a sentence, so that models with different tokenizers have maps with the same axes.

Words are those of `core.language.side_by_side.split`. A token's weight belongs to the word that it starts in
(`core.attention.tokens`); the weight on special tokens and on a task prefix belongs to no word:

    rest[i] = 1 - Σ_j W[i, j]

Two encoder-decoders have different task prefixes, vocabularies and outputs. With one output for both, their maps share
the words of the sentence and of the output:

    encoder     words of the sentence x words of the sentence
    decoder     words of the output x words of the output
    cross       predicted words of the output x words of the sentence

For one of the models this is teacher forcing with an output that it might not have generated.

Legend: L layers, H heads, n words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.arrays import Bools, Floats
from core.attention.capture import trace_of
from core.attention.heads import scores
from core.attention.roles import rolefiles
from core.attention.tokens import Membership, belonging, word_weights
from core.attention.trace import AttentionMap, AttentionTrace, frozen
from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong, InputUnusable
from core.language import starts, translate
from core.language.fill_mask import translate_masks
from core.language.inputs import Inputs, pair
from core.language.makers import MAX_GENERATED, inputs
from core.language.side_by_side import Word, split
from core.language.text import clean
from core.language.tokens import known_ids
from core.language.types import Decoding

MAX_CHARS = 600
MOST_WORDS = 40
BOTH = "both sides"
"""The lesser of a word's largest weight on a word before it and its largest on one after it, a mean over the words."""
ROLES = (BOTH, "previous", "next", "self", "same token", "first", "punctuation")
"""The scores that a head can be the strongest at."""


@dataclass(frozen=True, slots=True, eq=False)
class WordAttention:
    """A model's attention between the words of a sentence."""

    slug: str
    attention_map: AttentionMap
    """Between words; ``allowed`` is False where no token of one word may attend to a token of the other."""
    cross: AttentionMap | None = None
    """Cross-attention of an encoder-decoder, from the words of its output to those of the sentence."""

    @property
    def rest(self) -> Floats:
        """(L, H, n) the weight of each word on no word; 0 for a word in which no token starts."""
        weights = self.attention_map.weights
        attends = (
            True
            if self.attention_map.allowed is None
            else np.broadcast_to(self.attention_map.allowed, weights.shape).any(-1)
        )
        return np.where(attends, np.clip(1 - weights.sum(-1), 0, 1), 0).astype(np.float32)


def words_of(text: str) -> tuple[Word, ...]:
    """The words and punctuation marks of the cleaned ``text``.

    Raises:
        InputEmpty, InputTooLong: nothing readable, or more than `MOST_WORDS`.
    """
    words = split(clean(text, MAX_CHARS))
    if len(words) > MOST_WORDS:
        raise InputTooLong(f"This sentence has {len(words)} words and marks; up to {MOST_WORDS} fit side by side.")
    return words


def part_of(text: str, first: int, last: int) -> str:
    """The substring of words ``first`` to ``last`` of ``text``, from 1; at most `MOST_WORDS`."""
    cleaned = clean(text)
    words = split(cleaned)
    begin = min(max(first, 1), len(words)) - 1
    end = min(max(last, begin + 1), begin + MOST_WORDS, len(words))
    return cleaned[words[begin].start : words[end - 1].end]


def word_attention(checkpoint: Checkpoint, text: str, task: str | None = None) -> WordAttention:
    """The attention of ``checkpoint`` between the words of ``text``.

    Args:
        task: of an encoder-decoder, or whose adapters are used.

    Raises:
        InputUnusable: its tokenizer has no offsets.
        InputEmpty, InputTooLong, UnknownTask, NoAttentionMatrix: as `core.attention.capture` and `translate`.
    """
    words, spec = words_of(text), checkpoint.spec
    if spec.offers("rewrites") and task is not None:
        maps = maps_over_words(checkpoint, text, task, _answer(checkpoint, text, task))
        return WordAttention(spec.slug, maps.own, maps.cross)
    _check_offsets(checkpoint, able=checkpoint.tokenizer.is_fast)
    typed = clean(text, MAX_CHARS)
    sentence_inputs = inputs(checkpoint, typed, task, target="", joined=True)
    attention_map = trace_of(sentence_inputs).own
    belongs = belonging(_starts(sentence_inputs, typed, words), sentence_inputs.of_text)
    _check_offsets(checkpoint, able=bool(belongs.any()))
    return WordAttention(spec.slug, in_words(attention_map, words, words, belongs, belongs))


def _starts(inputs: Inputs, typed: str, words: Sequence[Word]) -> list[int]:
    """Where the words of ``typed`` start in the text that was read: with the model's own mask, or a part of it."""
    mask = inputs.checkpoint.tokenizer.mask_token
    if mask is None or inputs.text in typed:
        return [word.start - typed.find(inputs.text) for word in words]
    return [len(translate_masks(typed[: word.start], str(mask))[0]) for word in words]


def _check_offsets(checkpoint: Checkpoint, *, able: bool) -> None:
    """Raise :class:`InputUnusable` where tokens cannot be assigned to words."""
    if not able:
        raise InputUnusable(
            f"The tokenizer of {checkpoint.spec.name} does not say where in the text its tokens stand, so its "
            "attention cannot be shown word by word. One head shows it token by token."
        )


def strongest(attention: WordAttention, role: str) -> tuple[int, int] | None:
    """Layer and head, from 0, with the highest score ``role``; None where it is not defined for this map.

    From the precomputed scores over the treebank, if any, so that the head does not depend on the sentence; else, and
    always for :data:`BOTH`, on this sentence.
    """
    attention_map = attention.attention_map
    if role == BOTH:
        return None if attention_map.causal else _argmax(on_both_sides(attention_map.weights))
    grid: NDArray[np.floating] | None = rolefiles.roles(attention.slug).get(role)
    if grid is None or grid.shape != (attention_map.layers, attention_map.heads):
        grid = scores(attention_map).grids.get(role)
    return None if grid is None else _argmax(grid)


def on_both_sides(weights: Floats) -> Floats:
    """(L, H): of weights (L, H, n, n), the score :data:`BOTH`."""
    before, after = np.tril(weights, -1).max(-1), np.triu(weights, 1).max(-1)  # (L, H, n)
    return np.asarray(np.minimum(before, after).mean(-1), dtype=np.float32)


def sharpest(attention_map: AttentionMap) -> tuple[int, int]:
    """Layer and head, from 0, with the least spread."""
    grid = scores(attention_map).grids["spread"]
    return _argmax(-grid)


def _argmax(grid: NDArray[np.floating]) -> tuple[int, int]:
    layer, head = divmod(int(grid.argmax()), grid.shape[1])
    return layer, head


def generate_answer(checkpoint: Checkpoint, text: str, task: str) -> str:
    """The first `MOST_WORDS` words of the model's greedy output for ``text``.

    Raises:
        As `core.language.translate.rewrite`; InputUnusable: the output is empty.
    """
    answer = _answer(checkpoint, text, task)
    if not answer:
        raise InputUnusable(
            f"{checkpoint.spec.name} generates no word here, so there are no rows to compare. Encoders work."
        )
    return answer


def _answer(checkpoint: Checkpoint, text: str, task: str) -> str:
    decoding = Decoding(max_new_tokens=MAX_GENERATED - 4)  # room for the tokens that start and end it
    steps = translate.rewrite(checkpoint, clean(text, MAX_CHARS), task, decoding)
    ids = known_ids(checkpoint.tokenizer, [step.token.id for step in steps])
    answer = str(checkpoint.tokenizer.decode(ids, skip_special_tokens=True)).strip()
    return answer[: split(answer)[:MOST_WORDS][-1].end] if answer else ""


def maps_over_words(checkpoint: Checkpoint, text: str, task: str, answer: str) -> AttentionTrace:
    """The maps of an encoder-decoder for ``text``, ``task`` and the output ``answer``; the encoder's alone if that is
    empty.

    Raises:
        InputUnusable: its tokenizer has no offsets.
        InputEmpty, InputTooLong, UnknownTask, NoAttentionMatrix: as `core.attention.word_maps.word_attention`.
    """
    tokenizer = checkpoint.tokenizer
    words, answer_words = words_of(text), split(answer)
    _check_offsets(checkpoint, able=tokenizer.is_fast)
    made = starts.prepare(checkpoint, clean(text, MAX_CHARS), task)
    columns = belonging([word.start for word in words], made.source)
    tokens = starts.answer_tokens(made, answer)
    rows = belonging([word.start for word in answer_words], tokens)
    _check_offsets(checkpoint, able=bool(columns.any() and (rows.any() or not answer_words)))
    trace = trace_of(pair(checkpoint, made.source, made.ids, [token.id for token in tokens]))
    assert trace.encoder is not None
    assert trace.decoder is not None
    assert trace.cross is not None
    encoder = in_words(trace.encoder, words, words, columns, columns)
    if not answer_words:
        return AttentionTrace(checkpoint.spec.slug, encoder=encoder)
    # The decoder's input starts with its prompt and lacks the last generated token.
    read = _padded(rows, len(made.tokens), trace.decoder.weights.shape[2])
    predicted = _padded(rows, 0, trace.cross.weights.shape[2])
    return AttentionTrace(
        checkpoint.spec.slug,
        encoder=encoder,
        decoder=in_words(trace.decoder, answer_words, answer_words, read, read),
        cross=in_words(trace.cross, answer_words, words, predicted, columns),
    )


def _padded(belongs: Membership, before: int, length: int) -> Membership:
    """(m, length): ``before`` tokens of no word, then those of ``belongs``, padded or truncated."""
    out = np.zeros((len(belongs), length), dtype=np.float32)
    fitting = belongs[:, : length - before]
    out[:, before : before + fitting.shape[1]] = fitting
    return out


def in_words(
    attention_map: AttentionMap, queries: Sequence[Word], keys: Sequence[Word], rows: Membership, columns: Membership
) -> AttentionMap:
    """``attention_map`` between words; ``rows`` and ``columns`` are the memberships of tokens."""
    weights = word_weights(attention_map.weights, rows, columns)
    shape = attention_map.weights.shape[2:]
    computed = np.ones(shape, np.float32) if attention_map.allowed is None else attention_map.allowed.astype(np.float32)
    allowed: Bools = (rows @ computed @ columns.T) > 0
    down, across = (tuple(word.text for word in words) for words in (queries, keys))
    return AttentionMap(
        attention_map.kind,
        down,
        across,
        frozen(weights),
        frozen(allowed),
        label=attention_map.label,
        note=attention_map.note,
    )
