"""What the page knows of one objective: an :class:`Entry`. The page draws every entry in the same way.

To add one: an ``Entry`` in a module of this folder, its module's ``ENTRIES`` in :mod:`core.ui.objectives.entries`, and
a line in ``core/links/table.py`` for each setting that is new.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from core.language.losses import Losses
from core.language.tokens import words
from core.language.types import Token
from core.objectives.example import Example
from core.ui.links import PageState


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number. ``name`` is the link's parameter. ``rare``: it lives behind “More”."""

    name: str
    label: str
    default: int
    low: int
    high: int
    step: int = 1
    help: str = ""
    rare: bool = False


@dataclass(frozen=True, slots=True)
class Option:
    """One of a few; ``options`` maps the link's word to what the menu shows."""

    name: str
    label: str
    default: str
    options: Mapping[str, str]
    help: str = ""
    rare: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A short text."""

    name: str
    label: str
    default: str = ""
    help: str = ""
    rare: bool = False


@dataclass(frozen=True, slots=True)
class Several:
    """Any of a few, none included; the value is the chosen words joined by commas."""

    name: str
    label: str
    default: tuple[str, ...]
    options: Mapping[str, str]
    help: str = ""
    rare: bool = False


Setting = Number | Option | Line | Several


@dataclass(frozen=True)
class Given:
    """What the visitor gave, cut by the tokeniser of the model that is asked."""

    slug: str
    """The checkpoint whose tokeniser cuts and which is asked."""
    text: str
    """Cleaned, as typed."""
    seed: int
    options: Mapping[str, int | str]
    """The settings' values."""
    cut: Callable[[str], tuple[Token, ...]]
    """Pieces of a text, without tokens of the format."""
    vocabulary: tuple[str, ...]
    """Every piece that is no token of the format."""
    frame: Mapping[str, str]
    """Tokens of the format by their use: ``mask``, ``cls``, ``sep``, ``begin``, ``unknown``; only those
    that there are."""

    def rng(self) -> np.random.Generator:
        """A fresh generator with the visitor's seed."""
        return np.random.default_rng(self.seed)

    def number(self, name: str) -> int:
        """The value of a :class:`Number`."""
        return int(self.options[name])

    def word(self, name: str) -> str:
        """The value of an :class:`Option` or a :class:`Line`."""
        return str(self.options[name])

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """The pieces of the text."""
        return self.cut(self.text)

    @cached_property
    def special(self) -> frozenset[str]:
        """Tokens of the format that the visitor typed, in the text or in a setting: no objective asks for them."""
        typed = (self.text, *(value for value in self.options.values() if isinstance(value, str)))
        return frozenset(token.piece for text in typed for token in self.cut(text) if token.special)

    @cached_property
    def words(self) -> tuple[int, ...]:
        """The number of the word at each place of ``framed``; -1 and -2 at its ends."""
        return (-1, *words(self.tokens), -2)

    @cached_property
    def spelled(self) -> tuple[str, ...]:
        """Each word of the text as it was typed, by its number."""
        places: dict[int, list[Token]] = {}
        for number, token in zip(words(self.tokens), self.tokens, strict=True):
            places.setdefault(number, []).append(token)
        return tuple(
            self.text[parts[0].start : parts[-1].end] if parts[0].start >= 0 else "".join(part.text for part in parts)
            for parts in places.values()
        )

    @property
    def framed(self) -> tuple[str, ...]:
        """The text between the tokens that an encoder reads around it."""
        return (self.frame["cls"], *(token.piece for token in self.tokens), self.frame["sep"])

    @property
    def fixed(self) -> frozenset[int]:
        """Places of ``framed`` that are never chosen."""
        typed = {place for place, token in enumerate(self.tokens, 1) if token.special}
        return frozenset({0, len(self.tokens) + 1, *typed})


@dataclass(frozen=True, slots=True)
class Stage:
    """One example with what stands over it; most objectives have one, ELECTRA's has two."""

    example: Example
    title: str = ""
    note: str = ""
    """Plain text under the picture."""
    tells: bool = False
    """Whether the note gives answers away."""
    under: str = "the model's best guess"
    """What stands under each bar."""
    among: str = "pieces"
    """What a blind guess chooses from."""


@dataclass(frozen=True, slots=True)
class Share:
    """A proportion as it comes out over many draws, and as it was published."""

    name: str
    found: float
    published: float
    unit: str = "%"


Answer = Callable[[str, tuple[Stage, ...], int], tuple[Losses, ...]]
"""From a checkpoint's slug, the stages and the seed: the losses of each stage. See :mod:`core.ui.objectives.live`."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One objective on the page. All texts are ours, Markdown."""

    slug: str
    name: str
    systems: str
    """Whose objective it is, for the menu."""
    branch: Literal["encoder", "decoder", "encoder-decoder", "efficient"]
    line: str
    """One sentence: what is asked."""
    paper: str
    """Authors, year, where to find it."""
    formula: str
    """LaTeX."""
    symbols: str
    """Markdown list: every symbol of the formula; a test looks for each of its letters."""
    try_: str
    notice: str
    text: str
    """What stands in the box at first."""
    build: Callable[[Given], tuple[Stage, ...]]
    models: tuple[str, ...]
    """Checkpoints that can be asked, the first by default. Their tokenisers cut the text."""
    answer: Answer | None = None
    about: str = ""
    """Said of the live answer: what the model is, or why there is none."""
    relative: str = ""
    """Where no model here was trained with the objective and one of its kin can answer: what its answer means. The
    example stands alone until the visitor asks for it."""
    settings: tuple[Setting, ...] = ()
    shares: Callable[[Given], tuple[Share, ...]] | None = None
    """Proportions over many draws of the visitor's text."""
    total: Callable[[tuple[Losses, ...]], str] | None = None
    """A sentence on how the losses of the stages add up."""
    more: Callable[[Given, tuple[Stage, ...]], None] | None = None
    """Draws a further view under the main picture."""
    ask: Callable[[Given, PageState], Mapping[str, int | str]] | None = None
    """Draws a control of the objective's own over the picture, and gives what it adds to the options."""
    masks: bool = True
    """Whether the page draws who may look at whom; not where ``more`` does."""
    random: bool = True
    """Whether anything is drawn: then there are a seed and a button for the next one."""
    several: bool = False
    """Whether the text should have several sentences: then the box is higher."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """By checkpoint's slug: said instead of ``about``."""
