"""C4's rules for text scraped from web pages (T5: Raffel et al., 2019, arXiv 1910.10683, section 2.2).

A line stays if it ends in a terminal punctuation mark and has five words at least, and if it has neither the word
Javascript nor a policy notice; citation markers are cut out of it. A page is removed if it has a word of a list, “lorem
ipsum” or a curly bracket, or if fewer than three sentences are left. Of a span of three sentences that occurs more than
once, all but the first occurrence go. C4 also removes pages that a language detector does not call English, which is
left out here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from core.errors import InputEmpty, InputTooLong
from core.language.text import sentences

WORDS, SENTENCES, SPAN = 5, 3, 3
"""Words of a line, sentences of a page, and sentences of a repeated span."""
MOST = 20_000
"""Characters."""
_POLICY = ("terms of use", "privacy policy", "cookie policy", "uses cookies", "use of cookies", "use cookies")
_MARKER = re.compile(r"\s*\[(?:\d+|citation needed|edit)\]", re.IGNORECASE)
_END = (".", "!", "?", '"', "”")
Fate = Literal[
    "kept", "punctuation", "words", "javascript", "policy", "list", "lorem", "bracket", "sentences", "repeated"
]
FATES: tuple[Fate, ...] = (
    *("kept", "punctuation", "words", "javascript", "policy", "list", "lorem", "bracket", "sentences", "repeated"),
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line and what became of it."""

    page: int
    """From 1."""
    text: str
    fate: Fate
    cleaned: str
    """Without citation markers."""


def clean(
    text: str, banned: Sequence[str] = (), least_words: int = WORDS, least_sentences: int = SENTENCES
) -> tuple[Line, ...]:
    """The lines of pages that empty lines separate; ``banned`` words remove a page.

    Raises:
        InputEmpty, InputTooLong: no text, or too much.
    """
    if len(text) > MOST:
        raise InputTooLong(f"This text has {len(text):,} characters; at most {MOST:,} are cleaned here.")
    pages = [page for page in re.split(r"\n\s*\n", text) if page.strip()]
    if not pages:
        raise InputEmpty(
            "There is no text to clean. Paste the text of a web page, or of several with empty lines between."
        )
    seen: set[tuple[str, ...]] = set()
    found: list[Line] = []
    for number, page in enumerate(pages, 1):
        own = [_line(number, line.strip(), least_words) for line in page.split("\n") if line.strip()]
        fate = _page_fate(page, own, banned, least_sentences)
        if fate is None:
            own = _without_repeats(own, seen)
        found += [Line(number, line.text, fate, line.cleaned) if fate and line.fate == "kept" else line for line in own]
    return tuple(found)


def _line(page: int, text: str, least: int) -> Line:
    cleaned = _MARKER.sub("", text)
    lower = cleaned.lower()
    fate: Fate = "kept"
    if not cleaned.endswith(_END):
        fate = "punctuation"
    elif len(cleaned.split()) < least:
        fate = "words"
    elif "javascript" in lower:
        fate = "javascript"
    elif any(notice in lower for notice in _POLICY):
        fate = "policy"
    return Line(page, text, fate, cleaned)


def _page_fate(page: str, lines: Sequence[Line], banned: Sequence[str], least: int) -> Fate | None:
    """What removes the whole page, if anything does."""
    lower = page.lower()
    if set(re.findall(r"\w+", lower)) & {word.lower() for word in banned}:
        return "list"
    if "lorem ipsum" in lower:
        return "lorem"
    if "{" in page or "}" in page:
        return "bracket"
    left = sum(len(sentences(line.cleaned)) for line in lines if line.fate == "kept")
    return "sentences" if left < least else None


def _without_repeats(lines: Sequence[Line], seen: set[tuple[str, ...]]) -> list[Line]:
    """Lines whose sentences all lie in spans that were ``seen`` before go; the page's own spans are added."""
    owners = [(at, one) for at, line in enumerate(lines) if line.fate == "kept" for one in sentences(line.cleaned)]
    spans = [tuple(one.lower() for _, one in owners[start : start + SPAN]) for start in range(len(owners) - SPAN + 1)]
    repeated: set[int] = set()
    for start, span in enumerate(spans):
        if span in seen:
            repeated.update(range(start, start + SPAN))
        seen.add(span)
    stays = {at for number, (at, _) in enumerate(owners) if number not in repeated}
    return [
        Line(line.page, line.text, "repeated", line.cleaned) if line.fate == "kept" and at not in stays else line
        for at, line in enumerate(lines)
    ]
