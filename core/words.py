r"""Words and characters of any script, as Unicode cuts them.

Python's ``\w`` knows neither combining marks nor joiners, so that it cuts a word of Hindi at its vowel signs, one of
Persian at a zero-width non-joiner and an emoji at its joiners. Here a word keeps its marks and joiners, and what is no
word is an extended grapheme cluster (Unicode Standard Annex 29), the ``\X`` of the `regex` package.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

import regex

JOINERS = "\u200c\u200d"
"""Zero-width non-joiner and joiner."""
WORD = r"[\p{L}\p{N}_][\p{L}\p{N}\p{M}_\u200c\u200d]*"
"""A run of letters, digits and underscores with the marks and joiners among them; a pattern of `regex`."""
SIGN = r"(?![\s\p{L}\p{N}_])\X"
"""One character that is neither white space nor in a word, with all that joins it."""
WORDS = regex.compile(f"{WORD}|{SIGN}")
CONTRACTED = regex.compile(f"{WORD}(?:['’]{WORD})*|{SIGN}")
"""The same, with *don't* as one word."""
_MARK = regex.compile(r"[\p{M}\u200c\u200d]")
_LONE_MARK = regex.compile(r"(?:^|(?<=\s))(?=\p{M})")
_JOINED = regex.compile(
    r"(?<=[[\p{L}\p{M}\p{Extended_Pictographic}\p{EMod}]--[\p{Latin}\p{Greek}\p{Cyrillic}\p{Han}]])"
    r"[\u200c\u200d](?=[[\p{L}\p{M}\p{Extended_Pictographic}]--[\p{Latin}\p{Greek}\p{Cyrillic}\p{Han}]])",
    regex.V1,
)
_LIKE_WORD = regex.compile(WORD)
_DRAWN = {"\n": "⏎", "\t": "⇥", "\r": "␍"}


def is_word(text: str) -> bool:
    """Whether ``text`` is one word, without punctuation or spaces."""
    return bool(_LIKE_WORD.fullmatch(text))


def is_mark(character: str) -> bool:
    """Whether ``character`` belongs to the one before it: a combining mark, a variation selector, a joiner."""
    return bool(_MARK.fullmatch(character))


def in_word(character: str) -> bool:
    """Whether ``character`` may stand inside a word: a letter, a digit, a mark or a joiner."""
    return character.isalnum() or is_mark(character)


def joins(text: str, at: int) -> bool:
    """Whether the character is a joiner that shapes what it stands between: emoji, or letters of a joining script."""
    return text[at] in JOINERS and bool(_JOINED.match(text, at))


def one_line(text: str, most: int) -> str:
    """``text`` on one line, without invisible characters except joiners, cut to ``most`` characters or fewer.

    No character is cut in two: emoji keep their joiners, letters their marks.
    """
    line = " ".join("".join(c if c.isprintable() or c in JOINERS else " " for c in text).split())
    ends = accumulate(map(len, graphemes(line[: 2 * most])))
    return line[: max((end for end in ends if end <= most), default=0)].strip(JOINERS + " ")


def graphemes(text: str) -> list[str]:
    """What readers see as the characters of ``text``."""
    return list(regex.findall(r"\X", text))


def bare(text: str) -> str:
    """``text`` without combining marks: *café* is *cafe*."""
    return "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")


def carried(text: str) -> str:
    """``text`` with a dotted circle under each mark that has no letter, as Unicode's charts draw it."""
    return str(_LONE_MARK.sub("◌", text))


def visible(text: str) -> str:
    """``text`` with visible signs for a leading space, for unprintable characters and under marks without a letter.

    A joiner inside a character or a word that it shapes stays.
    """
    if text.isascii() and text.isprintable():
        return "␣" + text[1:] if text.startswith(" ") else text
    text = carried(text)
    shown = "".join(
        _DRAWN.get(c) or (c if c.isprintable() or joins(text, at) else f"‹u+{ord(c):04x}›") for at, c in enumerate(text)
    )
    return "␣" + shown[1:] if shown.startswith(" ") else shown


def distinct(names: Sequence[str]) -> list[str]:
    """``names`` without equal ones: ``the``, then ``the (2)``."""
    taken, times, result = set(names), Counter[str](), list[str]()
    for name in names:
        times[name] += 1
        numbered = name
        while times[name] > 1 and (numbered := f"{name} ({times[name]})") in taken:
            times[name] += 1
        taken.add(numbered)
        result.append(numbered)
    return result


def code_points(text: str, most: int = 8) -> str:
    """The code points of ``text``, as Unicode writes them: ``U+0065 U+0301``."""
    return " ".join(f"U+{ord(c):04X}" for c in text[:most]) + (" …" if len(text) > most else "")


def counted(count: int, singular: str, plural: str = "") -> str:
    """A number with its noun: ``1 token``, ``2,048 tokens``, ``0 tokens``."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


_SENTENCE = regex.compile(r"\A.*?[.?!][*_”)]*(?=\s|\Z)", regex.DOTALL)


def first_sentence(text: str) -> str:
    first = _SENTENCE.match(text)
    return first[0] if first else text
