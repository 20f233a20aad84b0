"""A text cut into sentences, and into two parts that follow each other, by a plain rule that needs no language."""

from __future__ import annotations

import re

from core.errors import InputUnusable

_END = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=\s)|[。！？]+[”’」』]*|[؟۔।]+(?=\s)|\n+")
_CLAUSE = re.compile(r"[,;:،、，；：](?=\s|$)|[、，；：]|\s[–—-]\s")


def sentences(text: str) -> tuple[str, ...]:
    """``text`` cut after marks that end a sentence, and at line ends."""
    found: list[str] = []
    start = 0
    for match in _END.finditer(text):
        found.append(text[start : match.end()].strip())
        start = match.end()
    found.append(text[start:].strip())
    return tuple(part for part in found if part)


def two_parts(text: str) -> tuple[str, str, str]:
    """Two segments of ``text`` that follow each other, and a sentence that says how they were found ("" for plainly).

    Two sentences are the segments; of more, the first half and the second. One sentence is cut at the mark nearest to
    its middle, else between its words.

    :raises InputUnusable: a text of one word.
    """
    parts = sentences(text)
    if len(parts) > 1:
        half = (len(parts) + 1) // 2
        return " ".join(parts[:half]), " ".join(parts[half:]), ""
    whole = parts[0] if parts else ""
    middle = len(whole) / 2
    cuts = [match.end() for match in _CLAUSE.finditer(whole) if 0 < match.end() < len(whole.rstrip())]
    words = [match.start() for match in re.finditer(r"(?<=\S)\s+(?=\S)", whole)]
    near = [cut for cut in cuts if len(whole) / 5 < cut < 4 * len(whole) / 5] or words
    if not near:
        raise InputUnusable("This objective needs two parts of a text. Type two sentences, or one of a few words.")
    cut = min(near, key=lambda place: abs(place - middle))
    return whole[:cut].strip(), whole[cut:].strip(), "There is one sentence only, so its two halves stand for A and B."
