"""How far two texts are apart: the fewest characters to insert, delete or replace (Levenshtein, 1966)."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from rapidfuzz.distance.Levenshtein import distance


def error_rate(texts: Sequence[str], clean: Sequence[str]) -> float:
    """Character error rate in percent: edits over all pairs for a hundred characters of the clean texts."""
    edits = sum(distance(text, right) for text, right in zip(texts, clean, strict=True))
    return 100 * edits / max(1, sum(map(len, clean)))


def changed(before: str, after: str) -> tuple[tuple[str, bool], ...]:
    """``after`` in stretches, each with whether it is new or other than in ``before``; what is gone is not marked."""
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    parts: list[tuple[str, bool]] = []
    for what, _, _, start, end in blocks:
        if start == end:
            continue
        if parts and parts[-1][1] == (what != "equal"):
            parts[-1] = (parts[-1][0] + after[start:end], parts[-1][1])
        else:
            parts.append((after[start:end], what != "equal"))
    return tuple(parts)
