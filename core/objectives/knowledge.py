r"""Phrases and named entities masked as a whole: ERNIE's three levels.

Basic, phrase and entity level follow one another in training. At each the loss is that of `core.objectives.masked`;
the unit that is chosen differs: a word, a phrase, a named entity. Sun et al. (2019), arXiv:1904.09223. The share of
15% is stated for the basic level; here units are sampled at every level until 15% of the tokens are masked, at least
one. All tokens of a unit are changed alike (80, 10 and 10%), as in the released code.

ERNIE took phrases and entities from language tools. Here a simple rule replaces them, for English:

entity  a span of words that begin with a capital or a digit; neither a single word at the start of a sentence nor *I*
        counts
phrase  a span of words between function words, common verbs, words in -ed, and punctuation, with the article,
        possessive or number before it; at least two words

Both rules miss many units, so a visitor can type more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from core.objectives import masked
from core.objectives.spans import group_adjacent
from core.words import WORDS

Level = Literal["basic", "phrase", "entity"]
Unit = tuple[int, ...]
"""Numbers of neighboring words."""

_OPENERS = """
    a an the my your his her its our their this that these those some any no every each all both another one two
    three four five six seven eight nine ten many several few
"""
OPENERS = frozenset(_OPENERS.split())
"""Words that open a phrase."""

_STOPS = """
    i you he she it we they me him us them who whom whose which what and or but nor so yet for of to in on at by
    with from into onto over under after before between through during about against without within as if when while
    where because although than then there here not is am are was were be been being has have had having do does did
    done will would can could shall should may might must go goes went gone come comes came give gives gave given
    take takes took taken make makes made say says said tell tells told see sees saw seen know knows knew known get
    gets got put puts let find finds found think thinks thought leave leaves left keep keeps kept bring brings
    brought begin begins began run runs ran sit sits sat stand stands stood live lives write writes wrote written
    read reads sing sings sang fall falls fell grow grows grew feel feels felt meet meets met lead leads led lose
    loses lost win wins won sold bought built sent spent very too also just never always often
"""
STOPS = frozenset(_STOPS.split())
"""Function words and common verbs, which end a phrase."""

_END = re.compile(r"[.!?…:;]$")


def entities(words: Sequence[str]) -> tuple[Unit, ...]:
    """The spans of words that the rule takes for names; ``words`` include punctuation."""
    pronouns = ("I", "I'm", "I've", "I'll")
    named = [at for at, word in enumerate(words) if (word[:1].isupper() or word[:1].isdigit()) and word not in pronouns]
    found_units: list[Unit] = []
    for unit in group_adjacent(named):
        opens = unit[0] == 0 or bool(_END.search(words[unit[0] - 1]))
        plain = words[unit[0]].lower() in OPENERS | STOPS or (
            opens and len(unit) == 1 and not words[unit[0]][:1].isdigit()
        )
        name = unit[1:] if opens and plain else unit
        if name:
            found_units.append(name)
    return tuple(found_units)


def phrases(words: Sequence[str]) -> tuple[Unit, ...]:
    """The spans of at least two words that the rule takes for phrases."""
    result: list[Unit] = []
    unit: list[int] = []
    inside = False  # whether the span has a content word
    for index, word in enumerate([*words, "."]):
        opens, content = word.lower() in OPENERS, _content(word.lower())
        if inside and (opens or not content):
            if len(unit) > 1:
                result.append(tuple(unit))
            unit, inside = [], False
        if opens or content:
            unit.append(index)
            inside = inside or not opens
        else:
            unit = []
    return tuple(result)


def _content(lower: str) -> bool:
    return lower[:1].isalnum() and lower not in STOPS and not (lower.endswith("ed") and len(lower) > 4)


def marked(words: Sequence[str], typed: Sequence[str]) -> tuple[Unit, ...]:
    """The occurrences in ``words`` of the units that a visitor typed, ignoring case; none overlap."""
    lower, used, result = [word.lower() for word in words], set[int](), list[Unit]()
    for unit in typed:
        parts_of_unit = WORDS.findall(unit.lower())
        for start in range(len(words) - len(parts_of_unit) + 1) if parts_of_unit else ():
            positions = tuple(range(start, start + len(parts_of_unit)))
            if lower[start : start + len(parts_of_unit)] == parts_of_unit and not used & set(positions):
                result.append(positions)
                used |= set(positions)
    return tuple(sorted(result))


corrupt = masked.mask_units
"""As `core.objectives.masked.corrupt`, with whole units chosen, whose tokens are changed alike."""
