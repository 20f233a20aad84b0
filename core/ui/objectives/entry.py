"""One objective on the page: an :class:`Entry`. The page draws every entry in the same way.

To add one: an ``Entry`` in a module of this folder, listed in ``objective.py``, and its words in
``assets/content/objectives/<slug>.md``: title, systems and sample text, Question, Try, Notice, Model (which one
predicts, or why none), Relative, How it works (the formula with its symbols) and Paper. “Setting: name” is a control's
help, “Note” stands under the picture, “Stage 1” over the first of several.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from core import checkpoints, engine, session
from core.checkpoints.spec import Part
from core.content import content
from core.language.losses import Kind, Losses, ids_of
from core.language.replaced import sample
from core.language.text import clean
from core.language.tokens import check_length, words
from core.language.tokens import tokenize as tokenize_text
from core.language.types import Token
from core.objectives.example import Cell, Example
from core.ui.param import Control, Integer
from core.ui.section import View

if TYPE_CHECKING:
    from core.language.losses import Scored
    from core.language.tokens import Style


Options = Mapping[str, int | str]
RATE = Integer(name="rate", label="Masking rate, %", default=15, low=5, high=50, step=5, width=140)


@dataclass(frozen=True)
class Inputs:
    """What the visitor chose, tokenized by the model that predicts."""

    objective: str
    slug: str
    """The checkpoint that tokenizes and predicts."""
    text: str
    """Cleaned, as typed."""
    seed: int
    options: Options
    """The settings' values."""
    vocabulary: tuple[str, ...]
    """Every token that is none of the format."""
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

    def say(self, part: str, **values: str | int) -> str:
        """A part of the objective's words."""
        return content("objectives", self.objective).part(part, **values)

    def tokenize(self, text: str) -> tuple[str, ...]:
        """A text's tokens, without those that the model's format adds."""
        return tuple(token.piece for token in tokenize(self.slug, text))

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """Those of the text."""
        return tokenize(self.slug, self.text)

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """The tokens of the text as the vocabulary spells them."""
        return tuple(token.piece for token in self.tokens)

    @cached_property
    def special(self) -> frozenset[str]:
        """Tokens of the format that the visitor typed, in the text or in a setting: they are never targets."""
        typed = (self.text, *(value for value in self.options.values() if isinstance(value, str)))
        return frozenset(token.piece for text in typed for token in tokenize(self.slug, text) if token.special)

    @cached_property
    def words(self) -> tuple[int, ...]:
        """The number of the word at each position of ``framed``; -1 and -2 at its ends."""
        return (-1, *words(self.tokens), -2)

    @cached_property
    def spelled(self) -> tuple[str, ...]:
        """Each word of the text as it was typed, by its number."""
        by_word: dict[int, list[Token]] = {}
        for number, token in zip(words(self.tokens), self.tokens, strict=True):
            by_word.setdefault(number, []).append(token)
        return tuple(
            self.text[parts[0].start : parts[-1].end] if parts[0].start >= 0 else "".join(part.text for part in parts)
            for parts in by_word.values()
        )

    @property
    def framed(self) -> tuple[str, ...]:
        """The text between the tokens that an encoder's format adds."""
        return (self.frame["cls"], *self.pieces, self.frame["sep"])

    @property
    def fixed(self) -> frozenset[int]:
        """Positions of ``framed`` that are never targets."""
        typed = {position for position, token in enumerate(self.tokens, 1) if token.special}
        return frozenset({0, len(self.tokens) + 1, *typed})

    @property
    def question(self) -> tuple[object, ...]:
        """What a guess belongs to: the text and the settings, without what is chosen in the picture itself."""
        return self.objective, self.slug, self.text, self.seed, sorted(self.options.items())


@dataclass(frozen=True, slots=True)
class Stage:
    """One example with its title; most objectives have one, ELECTRA's has two."""

    example: Example
    title: str = ""
    note: str = ""
    """Plain text under the picture."""
    reveals: bool = False
    """Whether the note gives answers away."""
    classifies: bool = False
    """Whether each token is classified as original or replaced, not predicted."""


@dataclass(frozen=True, slots=True)
class Share:
    """A proportion as counted over many samples, and as published."""

    name: str
    counted: float
    published: float
    unit: str = "%"


@dataclass(frozen=True, slots=True)
class Entry:
    """One objective on the page."""

    slug: str
    """Also the file of its words."""
    branch: Literal["encoder", "decoder", "encoder-decoder", "efficient"]
    build: Callable[[Inputs], tuple[Stage, ...]]
    answer: Callable[[str, tuple[Stage, ...]], tuple[Losses, ...]] | None = None
    """From a checkpoint's slug and the stages: the losses of each stage. See :mod:`core.ui.objectives.entry`. Where the
    words have a part Relative, no model here was trained with the objective: a related one predicts on request."""
    settings: tuple[Control[Any], ...] = ()
    rare: tuple[Control[Any], ...] = ()
    """Settings behind “More”."""
    shares: Callable[[Inputs], tuple[Share, ...]] | None = None
    """Proportions over many samples of the visitor's text."""
    total: Callable[[Callable[..., str], tuple[Losses, ...]], str] | None = None
    """From the words' parts and the losses of the stages: a sentence on how they add up."""
    more: Callable[[View, Inputs, tuple[Stage, ...]], None] | None = None
    """Draws a further view under the main picture."""
    ask: Callable[[View, Inputs], Options] | None = None
    """Draws a control of the objective's own over the picture; returns what it adds to the options."""
    masks: bool = True
    """Whether the page draws the attention mask; not where ``more`` does."""
    random: bool = True
    """Whether anything is sampled: then there are a seed and a button for the next one."""
    several: bool = False
    """Whether the text should have several sentences: then the box is higher."""

    @property
    def models(self) -> tuple[str, ...]:
        """Checkpoints that can predict, the first by default. Their tokenizers tokenize the text."""
        return checkpoints.first(f"objective-{self.slug}")


MAX_CHARS = 600
"""A few sentences: what a picture token by token can show."""


def inputs(objective: str, slug: str, text: str, seed: int, options: Options) -> Inputs:
    """Raises InputEmpty and InputTooLong with a sentence for the page."""
    return Inputs(objective, slug, clean(text, MAX_CHARS), seed, options, *_vocabulary(slug))


@session.cached()
def tokenize(slug: str, text: str) -> tuple[Token, ...]:
    """The tokens of ``text`` without those that the model's format adds."""
    return tokenize_text(session.checkpoint(slug), text, special=False)


@session.cached("loading-the-model")
def _vocabulary(slug: str) -> tuple[tuple[str, ...], dict[str, str]]:
    tokenizer = session.checkpoint(slug).tokenizer
    vocabulary = tokenizer.get_vocab()
    named = {
        "mask": tokenizer.mask_token,
        "cls": tokenizer.cls_token,
        "sep": tokenizer.sep_token,
        "begin": tokenizer.bos_token,
        "unknown": tokenizer.unk_token,
    }
    frame = {use: str(token) for use, token in named.items() if token is not None}
    return tuple(sorted(vocabulary.keys() - set(tokenizer.all_special_tokens), key=vocabulary.__getitem__)), frame


@session.cached()
def style(slug: str) -> Style:
    """How the tokenizer spells its tokens."""
    from core.language.tokens import style

    return style(session.checkpoint(slug).tokenizer)


def losses_by(kind: Kind) -> Callable[[str, tuple[Stage, ...]], tuple[Losses, ...]]:
    """Every stage in the same way, a ``kind`` of :func:`core.language.losses.losses`."""
    return lambda slug, stages: tuple(_losses(kind, slug, None, stage.example) for stage in stages)


def pair_losses(slug: str, stages: tuple[Stage, ...]) -> tuple[Losses, ...]:
    """The head for sentence pairs and, where tokens are masked, the masked-LM head as well."""
    (stage,) = stages
    tokens, label = _losses("masks", slug, None, stage.example), _losses("pair", slug, "pairs", stage.example)
    return (replace(label, source=tokens.source, options=tokens.options),)


def replaced_losses(slug: str, stages: tuple[Stage, ...]) -> tuple[Losses, ...]:
    """The generator at the first stage, the discriminator at the second."""
    generator, discriminator = stages
    return (
        _losses("masks", slug, "generator", generator.example),
        _losses("verdicts", slug, None, discriminator.example),
    )


def _losses(kind: Kind, slug: str, part: Part | None, example: Example) -> Losses:
    return _cached_losses(kind, slug, part, replace(example, original=(), visible=()))


@session.cached("running-the-model")
def _cached_losses(kind: Kind, slug: str, part: Part | None, example: Example) -> Losses:
    from core.language.losses import losses

    return engine.run(losses, (slug, part), example, kind)


@session.cached("running-both-models")
def scored(teacher: str, student: str, source: tuple[Cell, ...]) -> Scored:
    """Scores of both over the vocabulary at every masked position."""
    from core.language import losses

    return losses.scored(session.checkpoint(teacher), session.checkpoint(student), Example((), source))


@session.cached("running-the-generator")
def sampled(slug: str, source: tuple[Cell, ...], seed: int) -> dict[int, str]:
    """The token that the generator of ``slug`` samples at each target position of ``source``."""
    generator = session.checkpoint(slug, "generator")
    positions = Example((), source).targets
    if not positions:
        return {}
    check_length(generator, len(source))
    ids, _ = sample(generator, ids_of(generator, [cell.token for cell in source]), positions, seed)
    return dict(zip(positions, map(str, generator.tokenizer.convert_ids_to_tokens(list(ids))), strict=True))
