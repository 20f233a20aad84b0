"""What the page knows of one objective: an :class:`Entry`. The page draws every entry in the same way.

To add one: an ``Entry`` in a module of this folder, listed in ``objective.py``, and its words in
``assets/content/objectives/<slug>.md``: title, systems and sample text, Question, Try, Notice, Model (who answers, or
why nobody), Relative, How it works (the formula with its symbols) and Paper. “Setting: name” is what a control's help
says, “Note” stands under the picture, “Stage 1” over the first of several.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from core import checkpoints, session
from core.language.losses import Losses
from core.language.text import clean
from core.language.tokens import words
from core.language.types import Token
from core.objectives.example import Example
from core.ui.param import Control, Integer
from core.ui.section import View

if TYPE_CHECKING:
    from core.language.tokens import Style

Options = Mapping[str, int | str]
RATE = Integer(name="rate", label="Masking rate, %", default=15, low=5, high=50, step=5, width=140)


@dataclass(frozen=True)
class Given:
    """What the visitor gave, cut by the tokeniser of the model that is asked."""

    slug: str
    """The checkpoint whose tokeniser cuts and which is asked."""
    text: str
    """Cleaned, as typed."""
    seed: int
    options: Options
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
        """A setting that is a whole number."""
        return int(self.options[name])

    def word(self, name: str) -> str:
        """A setting that is a word or a text; of several words, all of them with commas between."""
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
    under: str = "the model's top prediction"
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


@dataclass(frozen=True, slots=True)
class Entry:
    """One objective on the page."""

    slug: str
    """Also the file of its words."""
    branch: Literal["encoder", "decoder", "encoder-decoder", "efficient"]
    build: Callable[[Given], tuple[Stage, ...]]
    answer: Callable[[str, tuple[Stage, ...]], tuple[Losses, ...]] | None = None
    """From a checkpoint's slug and the stages: the losses of each stage. See :mod:`core.ui.objectives.live`. Where the
    words have a part Relative, no model here was trained with the objective: one of its kin answers on request."""
    settings: tuple[Control[Any], ...] = ()
    rare: tuple[Control[Any], ...] = ()
    """Settings behind “More”."""
    shares: Callable[[Given], tuple[Share, ...]] | None = None
    """Proportions over many draws of the visitor's text."""
    total: Callable[[tuple[Losses, ...]], str] | None = None
    """A sentence on how the losses of the stages add up."""
    more: Callable[[View, Given, tuple[Stage, ...]], None] | None = None
    """Draws a further view under the main picture."""
    ask: Callable[[View, Given], Options] | None = None
    """Draws a control of the objective's own over the picture, and gives what it adds to the options."""
    masks: bool = True
    """Whether the page draws who may look at whom; not where ``more`` does."""
    random: bool = True
    """Whether anything is drawn: then there are a seed and a button for the next one."""
    several: bool = False
    """Whether the text should have several sentences: then the box is higher."""

    @property
    def models(self) -> tuple[str, ...]:
        """Checkpoints that can be asked, the first by default. Their tokenizers cut the text."""
        return checkpoints.first(f"objective-{self.slug}")


MAX_CHARS = 600
"""A few sentences: what a picture token by token can show."""


def given(slug: str, text: str, seed: int, options: Options) -> Given:
    """Raises InputEmpty and InputTooLong with a sentence for the page."""
    vocabulary, frame = _vocabulary(slug)
    return Given(slug, clean(text, MAX_CHARS), seed, options, lambda part: cut(slug, part), vocabulary, frame)


def question(entry: str, asked: Given) -> tuple[object, ...]:
    """What a guess belongs to: the text and the settings, without what is chosen in the picture itself."""
    return entry, asked.slug, asked.text, asked.seed, sorted(asked.options.items())


@session.cached()
def cut(slug: str, text: str) -> tuple[Token, ...]:
    """The pieces of ``text`` without tokens of the format."""
    from core.language.tokens import tokenise

    return tokenise(session.checkpoint(slug), text, special=False)


@session.cached("Loading the model")
def _vocabulary(slug: str) -> tuple[tuple[str, ...], dict[str, str]]:
    tokenizer = session.checkpoint(slug).tokenizer
    special = set(tokenizer.all_special_tokens)
    pieces = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    named = {
        "mask": tokenizer.mask_token,
        "cls": tokenizer.cls_token,
        "sep": tokenizer.sep_token,
        "begin": tokenizer.bos_token,
        "unknown": tokenizer.unk_token,
    }
    frame = {use: str(token) for use, token in named.items() if token is not None}
    return tuple(piece for piece, _ in pieces if piece not in special), frame


@session.cached()
def style(slug: str) -> Style:
    """How the tokeniser writes its pieces."""
    from core.language.tokens import style

    return style(session.checkpoint(slug).tokenizer)
