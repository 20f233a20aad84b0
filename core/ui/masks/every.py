"""Every mask in a table: what it is for, who uses it, and a link that draws it."""

from __future__ import annotations

from core import catalogue, links
from core.attention.masks.descriptions import Description, describe
from core.attention.masks.kinds import KINDS
from core.ui.page import base_path
from core.ui.text_table import Cell, Link, Rich, TextTable, text_table

EXAMPLES = (
    ("causal.and.padding-3", "a decoder's batch", "Causal and padding"),
    ("causal.and.window-3-0", "Mistral, GPT-Neo's local layers", "Causal and window"),
    ("window-2-2.or.global", "Longformer", "Window or global tokens"),
    ("window-1-1.or.global-0.or.random-1", "BigBird, token by token", "Window or global tokens or random"),
    ("dilated-2-3.or.window-1-1", "two heads of Longformer's character models, as one", "Dilated window or window"),
    ("row.or.column", "two layers of DALL-E, as one", "Image rows or image columns"),
)


def every() -> None:
    """Draw the tables."""
    rows: list[tuple[Cell, ...]] = [
        (_link(key, kind.title), describe(key).purpose, _users(describe(key))) for key, kind in KINDS.items()
    ]
    text_table(TextTable(("Mask", "What it is for", "Used by"), rows, "Every mask", (22, 54, 24)))
    text_table(
        TextTable(
            ("Joined", "As in"),
            [(_link(word, title), used) for word, used, title in EXAMPLES],
            "Joined masks",
            (46, 54),
        )
    )


def _link(word: str, title: str) -> Link:
    return Link(title, base_path() + links.url("objectives", {"tab": "masks", "pattern": word}))


def _users(words: Description) -> Rich:
    parts: list[str | Link] = []
    for slug in words.systems:
        system = catalogue.get(slug)
        parts += [", "] if parts else []
        parts.append(Link(system.name, base_path() + links.url(system.branches[0], {"system": slug})))
    if words.others:
        parts.append((", " if parts else "") + words.others)
    return Rich(tuple(parts))
