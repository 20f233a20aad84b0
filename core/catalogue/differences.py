"""Which words of one text the other has not: what is marked when two cells stand side by side.

Words are compared in order, as `difflib` finds the longest common runs; case and the marks around a word do not count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

Marked = tuple[tuple[str, bool], ...]
"""Runs of a text with the blanks between them, and whether the other text lacks the run."""

_PIECES = re.compile(r"\S+|\s+")
_EDGES = re.compile(r"^\W+|[^\w%]+$")


def marked(text: str, others: Sequence[str]) -> Marked:
    """``text`` in runs; a word is marked when none of ``others`` has it at a place that corresponds."""
    pieces = _PIECES.findall(text)
    places = [at for at, piece in enumerate(pieces) if not piece.isspace()]
    words = [_plain(pieces[at]) for at in places]
    shared: set[int] = set() if others else set(range(len(words)))
    for other in others:
        matcher = SequenceMatcher(None, words, [_plain(word) for word in other.split()], autojunk=False)
        shared.update(at for block in matcher.get_matching_blocks() for at in range(block.a, block.a + block.size))
    new = {place for at, place in enumerate(places) if at not in shared}
    # a blank between two marked words belongs to them, so that a changed phrase is one run
    new |= {at for at, piece in enumerate(pieces) if piece.isspace() and at - 1 in new and at + 1 in new}
    runs: list[tuple[str, bool]] = []
    for at, piece in enumerate(pieces):
        if runs and runs[-1][1] == (at in new):
            runs[-1] = (runs[-1][0] + piece, at in new)
        else:
            runs.append((piece, at in new))
    return tuple(runs)


def _plain(word: str) -> str:
    return _EDGES.sub("", word).casefold() or word
