"""A word and the sentences that it stands in, as a visitor types them: one sentence a line, its sense before a bar.

    theatre | We went to the theatre and saw a play about a queen.

The sense may be left out. A word stands where its letters do, whatever their case, with no letter or digit beside them;
scripts that write words without spaces between them need no such borders.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from core.errors import InputEmpty, InputTooLong, InputUnusable
from core.language.text import clean

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
    """What stood before the bar; may be empty."""
    text: str


def parse(text: str) -> tuple[Line, ...]:
    """The sentences of a text, empty lines left out.

    Raises:
        InputEmpty: there is none.
        InputTooLong: more than `MAX_LINES` lines, or one of more than `MAX_LINE` characters.
    """
    written = clean(text, 100_000, newlines=True).split("\n")
    found: list[Line] = []
    for raw in (line.strip() for line in written):
        sense, bar, sentence = raw.partition("|")
        sense, sentence = (sense.strip(), sentence.strip()) if bar else ("", raw)
        if not sentence:
            continue
        number = len(found) + 1
        if len(sentence) > MAX_LINE:
            raise InputTooLong(
                f"Line {number} has {len(sentence):,} characters; a sentence may have {MAX_LINE} here. Put one "
                "sentence on each line."
            )
        if len(sense) > MAX_SENSE:
            raise InputTooLong(
                f"In line {number} {len(sense):,} characters stand before the bar; a sense may have {MAX_SENSE}."
            )
        found.append(Line(number, sense, sentence))
    if not found:
        raise InputEmpty("There is no sentence here. Type one on each line, with the word in it.")
    if len(found) > MAX_LINES:
        raise InputTooLong(f"There are {len(found):,} lines; up to {MAX_LINES} are taken. Leave some out.")
    return tuple(found)


def checked(word: str) -> str:
    """The word, cleaned.

    Raises:
        InputEmpty, InputTooLong: nothing, or more than `MAX_WORD` characters.
        InputUnusable: no letter or digit in it.
    """
    if not word.strip():
        raise InputEmpty("There is no word to follow. Type one that your sentences have in common.")
    found = clean(word)
    if len(found) > MAX_WORD:
        raise InputTooLong(f"This word has {len(found):,} characters; up to {MAX_WORD} are taken.")
    if not any(unicodedata.category(letter)[0] in "LNSM" for letter in found):
        raise InputUnusable(f"“{found}” has no letter, digit or sign to look for. Type a word of your sentences.")
    return found


def places(word: str, text: str) -> tuple[tuple[int, int], ...]:
    """Where ``word`` stands in ``text``: first character and the one after its last, in order, without overlaps."""
    found, at = [], 0
    pattern = re.compile(re.escape(word), re.IGNORECASE)
    while (match := pattern.search(text, at)) is not None:
        start, end = match.span()
        if _border(text, start - 1, start) and _border(text, end - 1, end):
            found.append((start, end))
            at = end
        else:
            at = start + 1
    return tuple(found)


def _border(text: str, before: int, after: int) -> bool:
    """Whether a word may end between two characters."""
    if before < 0 or after >= len(text):
        return True
    one, other = text[before], text[after]
    if _NO_SPACES.match(one) or _NO_SPACES.match(other):
        return True
    return not (_inside(one) and _inside(other))


def _inside(character: str) -> bool:
    """Letters, digits and the marks on them."""
    return unicodedata.category(character)[0] in "LNM" or character == "_"


def listed(numbers: tuple[int, ...] | list[int]) -> str:
    """Numbers of lines in words: ``line 2``, ``lines 2, 4 and 5``."""
    if len(numbers) == 1:
        return f"line {numbers[0]}"
    return f"lines {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
