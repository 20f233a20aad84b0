r"""A word's vectors, one for each of its occurrences in a set of sentences, after every layer.

A word of several tokens has the mean of their vectors,

.. math:: h^{(l)}_w = \frac{1}{|w|} \sum_{t \in w} h^{(l)}_t

over the tokens that overlap it.

Legend: L layers, P occurrences, W words of all sentences together, w hidden size.

A visitor types one sentence per line, with the sense of the word before a bar:

    theater | We went to the theater and saw a play about a queen.

The sense is optional. A match ignores case and must have no letter or digit next to it, except in scripts
without spaces between words.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from core.arrays import Floats
from core.attention.trace import frozen
from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, InputTooLong, InputUnusable
from core.language.side_by_side import Word, split
from core.language.text import clean
from core.language.types import Token
from core.settings import ASSETS
from core.vectors.nearest import static_vectors
from core.vectors.reading import Reading

MOST = 24
"""Occurrences that are taken."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    line: Line
    text: str
    """The sentence as the model read it."""
    start: int
    end: int
    ids: tuple[int, ...]
    """The tokens of the word."""
    name: str
    """Line and, where the word occurs there more than once, a letter: ``3``, ``3b``."""


@dataclass(frozen=True, slots=True, eq=False)
class WordOccurrences:
    """A word in its sentences, with its vectors; arrays are read-only."""

    word: str
    occurrences: tuple[Occurrence, ...]
    vectors: Floats  # (L + 1, P, w)
    missing_lines: tuple[int, ...]
    """Numbers of the lines without the word."""

    @property
    def layers(self) -> int:
        """L."""
        return len(self.vectors) - 1


def find_occurrences(word: str, lines: Sequence[Line], read: Callable[[str], Reading]) -> WordOccurrences:
    """The occurrences of ``word`` and their vectors.

    Args:
        read: runs a model over a sentence.

    Raises:
        InputUnusable: the word occurs nowhere, or more often than `MOST`.
        AtlasError: what ``read`` raises, with the number of its line.
    """
    result: list[Occurrence] = []
    vectors: list[Floats] = []
    for line in lines:
        spans = find_word(word, line.text)
        if not spans:
            continue
        reading = read(line.text)
        for number, (start, end) in enumerate(find_word(word, reading.text)):
            pieces = tokens_within(reading.tokens, start, end)
            if not pieces:
                continue
            name = str(line.number) + ("" if len(spans) == 1 else "abcdefgh"[min(number, 7)])
            ids = tuple(reading.tokens[i].id for i in pieces)
            result.append(Occurrence(line, reading.text, start, end, ids, name))
            vectors.append(reading.states[:, list(pieces)].mean(axis=1))
    if not result:
        where = f"none of the {len(lines)} sentences" if len(lines) > 1 else "no sentence here"
        raise InputUnusable(
            f"“{word}” occurs in {where}. "
            "Type a word that your sentences share, in the form in which it occurs there, or change the sentences."
        )
    if len(result) > MOST:
        raise InputUnusable(f"“{word}” occurs {len(result)} times in these sentences; up to {MOST} are taken.")
    with_word = {occurrence.line.number for occurrence in result}
    return WordOccurrences(
        word,
        tuple(result),
        frozen(np.stack(vectors, axis=1)),
        tuple(line.number for line in lines if line.number not in with_word),
    )


def missing_note(occurrences: WordOccurrences) -> str:
    """A sentence about the lines without the word; empty where there is none."""
    if not (missing := occurrences.missing_lines):
        return ""
    left_out = "is left out" if len(missing) == 1 else "are left out"
    return (
        f"“{occurrences.word}” does not occur in {listed(missing)}, which {left_out}. It is matched as a whole word, "
        "in this form only."
    )


def tokens_within(tokens: Sequence[Token], start: int, end: int) -> tuple[int, ...]:
    """The tokens that overlap ``start`` to ``end``."""
    return tuple(
        i for i, token in enumerate(tokens) if not token.special and 0 <= token.start < end and token.end > start
    )


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """Every word of some sentences, in order, without punctuation; the array is read-only."""

    texts: tuple[str, ...]
    lines: tuple[int, ...]
    """The number of the line of each."""
    spans: tuple[tuple[int, int], ...]
    """The characters of each in its sentence."""
    ids: tuple[tuple[int, ...], ...]
    """The tokens of each."""
    vectors: Floats  # (L + 1, W, w)


def words(lines: Sequence[Line], read: Callable[[str], Reading]) -> Words:
    """All words of all lines.

    Raises:
        InputUnusable: there is none.
        AtlasError: what ``read`` raises.
    """
    texts, numbers, spans, ids, vectors = [], [], [], [], []
    for line in lines:
        reading = read(line.text)
        for word, tokens in words_of(reading):
            texts.append(word.text)
            numbers.append(line.number)
            spans.append((word.start, word.end))
            ids.append(tuple(reading.tokens[i].id for i in tokens))
            vectors.append(reading.states[:, list(tokens)].mean(axis=1))
    if not vectors:
        raise InputUnusable("These sentences have no word with a letter or a digit. Type some.")
    return Words(tuple(texts), tuple(numbers), tuple(spans), tuple(ids), frozen(np.stack(vectors, axis=1)))


def words_of(reading: Reading) -> tuple[tuple[Word, tuple[int, ...]], ...]:
    """The words of a text, without punctuation, each with its tokens; words without tokens are left out."""
    result = ((word, tokens_within(reading.tokens, word.start, word.end)) for word in split(reading.text))
    return tuple((word, pieces) for word, pieces in result if pieces and any(c.isalnum() for c in word.text))


@dataclass(frozen=True, slots=True, eq=False)
class WordVectors:
    """One word and all words of its sentences, with the static vectors of both; arrays are read-only.

    A stop is a point in the model: -1 the static vectors, 0 the input of the first layer, l the output of layer l.
    """

    own: WordOccurrences
    around: Words
    static_own: Floats  # (P, w)
    static_around: Floats  # (W, w)

    @property
    def stops(self) -> tuple[Floats, ...]:
        """L + 2 arrays (P, w) of the word's vectors, static ones first."""
        return (self.static_own, *self.own.vectors)

    def at(self, stop: int) -> tuple[Floats, Floats]:
        """((P, w) of the word, (W, w) of all words) at a stop."""
        if stop < 0:
            return self.static_own, self.static_around
        return self.own.vectors[stop], self.around.vectors[stop]

    @property
    def own_indices(self) -> tuple[int, ...]:
        """(P,) the index of each occurrence among all words; -1 where it is not one of them."""
        numbers = {
            (line, start): number
            for number, (line, (start, _)) in enumerate(zip(self.around.lines, self.around.spans, strict=True))
        }
        return tuple(numbers.get((occurrence.line.number, occurrence.start), -1) for occurrence in self.own.occurrences)


def word_vectors(checkpoint: Checkpoint | None, word: str, text: str, read: Callable[[str], Reading]) -> WordVectors:
    """The vectors of ``word`` in the lines of ``text``; without a checkpoint, the first layer is static.

    Raises:
        AtlasError: the word or the text is unusable, or the model cannot read it.
    """
    lines = parse(text)
    of_word, around = find_occurrences(clean_word(word), lines, read), words(lines, read)
    if checkpoint is None:
        return WordVectors(of_word, around, of_word.vectors[0], around.vectors[0])
    static = (
        static_vectors(checkpoint, [occurrence.ids for occurrence in of_word.occurrences]),
        static_vectors(checkpoint, around.ids),
    )
    return WordVectors(of_word, around, *static)


MAX_LINES = 16
MAX_LINE = 160
"""Characters of one sentence."""
MAX_WORD = 30
MAX_SENSE = 20
_NO_SPACES = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]")


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence."""

    number: int
    """Counted from 1 among the lines that have a sentence."""
    sense: str
    """The text before the bar; may be empty."""
    text: str


def parse(text: str) -> tuple[Line, ...]:
    """The sentences of a text, empty lines left out.

    Raises:
        InputEmpty: there is none.
        InputTooLong: more than `MAX_LINES` lines, or one of more than `MAX_LINE` characters.
    """
    written = clean(text, 100_000, newlines=True).split("\n")
    result: list[Line] = []
    for raw in (line.strip() for line in written):
        sense, bar, sentence = raw.partition("|")
        sense, sentence = (sense.strip(), sentence.strip()) if bar else ("", raw)
        if not sentence:
            continue
        number = len(result) + 1
        if len(sentence) > MAX_LINE:
            raise InputTooLong(
                f"Line {number} has {len(sentence):,} characters; a sentence may have {MAX_LINE} here. Put one "
                "sentence on each line."
            )
        if len(sense) > MAX_SENSE:
            raise InputTooLong(
                f"In line {number} {len(sense):,} characters stand before the bar; a sense may have {MAX_SENSE}."
            )
        result.append(Line(number, sense, sentence))
    if not result:
        raise InputEmpty("There is no sentence here. Type one on each line, with the word in it.")
    if len(result) > MAX_LINES:
        raise InputTooLong(f"There are {len(result):,} lines; up to {MAX_LINES} are taken. Leave some out.")
    return tuple(result)


def clean_word(word: str) -> str:
    """The word, cleaned.

    Raises:
        InputEmpty, InputTooLong: nothing, or more than `MAX_WORD` characters.
        InputUnusable: no letter or digit in it.
    """
    if not word.strip():
        raise InputEmpty("There is no word to follow. Type one that your sentences have in common.")
    result = clean(word)
    if len(result) > MAX_WORD:
        raise InputTooLong(f"This word has {len(result):,} characters; up to {MAX_WORD} are taken.")
    if not any(unicodedata.category(letter)[0] in "LNSM" for letter in result):
        raise InputUnusable(f"“{result}” has no letter, digit or sign to look for. Type a word of your sentences.")
    return result


def find_word(word: str, text: str) -> tuple[tuple[int, int], ...]:
    """The (start, end) spans of ``word`` in ``text``, in order, without overlaps."""
    result, at = [], 0
    pattern = re.compile(re.escape(word), re.IGNORECASE)
    while (match := pattern.search(text, at)) is not None:
        start, end = match.span()
        if _is_boundary(text, start - 1, start) and _is_boundary(text, end - 1, end):
            result.append((start, end))
            at = end
        else:
            at = start + 1
    return tuple(result)


def _is_boundary(text: str, before: int, after: int) -> bool:
    """Whether a word may end between two characters."""
    if before < 0 or after >= len(text):
        return True
    left, right = text[before], text[after]
    if _NO_SPACES.match(left) or _NO_SPACES.match(right):
        return True
    return not (_is_word_character(left) and _is_word_character(right))


def _is_word_character(character: str) -> bool:
    """Whether a character is a letter, a digit or a combining mark."""
    return unicodedata.category(character)[0] in "LNM" or character == "_"


def listed(numbers: tuple[int, ...] | list[int]) -> str:
    """Numbers of lines in words: ``line 2``, ``lines 2, 4 and 5``."""
    if len(numbers) == 1:
        return f"line {numbers[0]}"
    return f"lines {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


EXAMPLES: dict[str, str] = tomllib.loads((ASSETS / "vectors" / "examples.toml").read_text(encoding="utf-8"))
"""Words of several senses, each with its sentences."""
