"""What a text has word for word from other lines: their longest common substring.

Substrings of one length have a fingerprint each, a polynomial modulo 2^64 (Karp & Rabin 1987), which prefix sums give
for all of them at once. If the two share a substring, they share its parts, so bisection finds the greatest length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 1 << 64)
_BREAK = np.uint64(1 << 32)
"""In place of a text's line breaks: no character, so that no substring has one."""
_TABLE = 16
"""Bits of a fingerprint that a table sorts most of them out by."""
Codes = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Copy:
    """Characters ``start`` to ``end`` of a text, which stand in ``line``, counted from 0, from its character ``at``."""

    start: int
    end: int
    line: int
    at: int


def longest_copy(text: str, lines: Sequence[str]) -> Copy | None:
    """The longest substring of ``text`` that a line has, too: the first such in both; None if they share no character.

    Its line is the one nearest to ``text``. No substring goes beyond a line, in either.
    """
    joined = "\n".join(lines)
    said, read = _codes(text), _codes(joined)
    said[said == ord("\n")] = _BREAK
    ours, theirs = _Fingerprints(said), _Fingerprints(read)
    low, high, place = 0, min(len(text), max(map(len, lines), default=0)), (0, 0)
    while low < high:
        length = (low + high + 1) // 2
        shared = _shared(ours, theirs, length)
        if shared is None:
            high = length - 1
        else:
            low, place = length, shared
    if not low:
        return None
    start, at = place
    return Copy(start, start + low, joined.count("\n", 0, at), at - (joined.rfind("\n", 0, at) + 1))


def _codes(text: str) -> Codes:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.uint64)


class _Fingerprints:
    """Of all substrings of a length: sum of c_(i + j) B^j, from the sums of c_k B^k over the first characters."""

    def __init__(self, codes: Codes) -> None:
        self.codes = codes
        self._sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(codes * _powers(_BASE, len(codes)))])
        self._scale = _powers(_INVERSE, len(codes))

    def of(self, length: int) -> Codes:
        ends = self._sums[length:]
        return np.asarray((ends - self._sums[: len(ends)]) * self._scale[: len(ends)])


def _powers(base: int, count: int) -> Codes:
    powers = np.full(count, base, np.uint64)
    powers[:1] = 1
    return np.multiply.accumulate(powers)


def _shared(ours: _Fingerprints, theirs: _Fingerprints, length: int) -> tuple[int, int] | None:
    """Where the first substring of ``length`` that both have starts in each."""
    known, starts = np.unique(ours.of(length), return_index=True)
    prints = theirs.of(length)
    shift = np.uint64(64 - _TABLE)
    table = np.zeros(1 << _TABLE, np.bool_)
    table[known >> shift] = True
    places = np.flatnonzero(table[prints >> shift])
    at = np.minimum(np.searchsorted(known, prints[places]), len(known) - 1)
    equal = known[at] == prints[places]
    pairs = starts[at[equal]] * len(prints) + places[equal]
    while len(pairs):
        start, place = divmod(int(pairs.min()), len(prints))
        if np.array_equal(ours.codes[start : start + length], theirs.codes[place : place + length]):
            return start, place
        pairs = pairs[pairs != start * len(prints) + place]  # two fingerprints that are equal by chance
    return None
