"""What a text loses in a round trip through a tokenizer: capitals, accents, spaces, whole words.

A tokenizer is *lossless* when decode(encode(text)) = text for every text. Byte-level ones are; a WordPiece vocabulary
that lowercases, drops accents and collapses spaces is not, and its model never receives what was lost.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from core.language.tokens import visible
from core.tokenizers.cut import Tokenization

_NEAR = 8
"""The most spaces that a decoder inserts before a token; a match farther away is another token."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The difference between a text and the text decoded from its ids. All zero and empty where there is none."""

    exact: bool
    unknown: tuple[str, ...] = ()
    """The substrings that became unknown tokens, in order."""
    capitals: int = 0
    accents: int = 0
    spaces_inserted: int = 0
    """Positions where spaces were inserted."""
    spaces_removed: int = 0
    """Positions where spaces were removed or became fewer."""
    dropped: int = 0
    """Characters other than spaces that belong to no token."""
    rewritten: tuple[tuple[str, str], ...] = ()
    """Substrings that became something else: (before, after)."""

    def summary(self) -> str:
        """All losses on one line."""
        if self.exact:
            return "lossless round trip"
        counts = (
            (self.capitals, "{} lost", "capital"),
            (self.accents, "{} lost", "accent"),
            (self.spaces_removed, "spaces lost at {}", "position"),
            (self.spaces_inserted, "spaces inserted at {}", "position"),
            (self.dropped, "{} dropped", "character"),
        )
        parts = [said.format(_many(count, word)) for count, said, word in counts if count]
        if self.unknown:
            shown = ", ".join(f"“{_short(word)}”" for word in dict.fromkeys(self.unknown[:12]))
            parts.insert(0, f"{_many(len(self.unknown), 'unknown token')} ({_short(shown, 80)})")
        if self.rewritten:
            before, after = self.rewritten[0]
            more = len(self.rewritten) - 1
            parts.append(f"“{_short(before)}” became “{_short(after)}”" + (f" and {more} more" if more else ""))
        return "; ".join(parts) or "round trip not lossless"


def lost(cut: Tokenization) -> Lost:
    """Compare the text of ``cut`` with the text decoded from its ids."""
    text, decoded = cut.text, cut.decoded
    if text == decoded:
        return Lost(True)
    capitals = accents = spaces_inserted = spaces_removed = dropped = at = cursor = 0
    rewritten = []
    for index, token in enumerate(cut.tokens):
        if token.start < 0 or token.end <= token.start or not token.text:
            continue
        source, readable_text = text[token.start : token.end], token.text
        if index not in cut.unknown and not token.special and source != readable_text:
            readable = "".join(sign for sign in source if unicodedata.category(sign) not in ("Cc", "Cf"))
            dropped += len(source) - len(readable)
            changes = _changes(readable, readable_text)
            if changes is None:
                rewritten.append((source, readable_text))
            else:
                capitals, accents = capitals + changes[0], accents + changes[1]
        index_in_decoded = decoded.find(readable_text, cursor, cursor + len(readable_text) + _NEAR)
        if index_in_decoded < 0:
            at = max(at, token.end)
            continue
        before, after = text[at : token.start], decoded[cursor:index_in_decoded]
        dropped += sum(not sign.isspace() for sign in before)
        spaces_before, spaces_after = len([c for c in before if c.isspace()]), len(after)
        if (not after or after.isspace()) and before != after:
            spaces_inserted, spaces_removed = (
                spaces_inserted + (spaces_after > spaces_before),
                spaces_removed + (spaces_after < spaces_before),
            )
        at, cursor = max(at, token.end), index_in_decoded + len(readable_text)
    rest = text[at:]
    dropped += sum(not sign.isspace() for sign in rest)
    spaces_removed += any(sign.isspace() for sign in rest) and not decoded[cursor:]
    unknown = tuple(text[t.start : t.end] for i, t in enumerate(cut.tokens) if i in cut.unknown)
    return Lost(False, unknown, capitals, accents, spaces_inserted, spaces_removed, dropped, tuple(rewritten))


def _changes(source: str, shown: str) -> tuple[int, int] | None:
    """Numbers of lost capitals and accents; None if ``source`` changed in another way."""
    low = source.lower()
    capitals = sum(letter != lowered for letter, lowered in zip(source, low, strict=False))
    if low == shown:
        return capitals, 0
    bare = _bare(low)
    if bare == shown:
        return capitals, sum(_bare(c) != c for c in unicodedata.normalize("NFC", low))
    return None


def _bare(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")


def _many(count: int, word: str) -> str:
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def _short(text: str, most: int = 16) -> str:
    return visible(text if len(text) <= most else f"{text[: most - 1]}…")
