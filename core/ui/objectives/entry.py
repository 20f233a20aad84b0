"""A pretraining objective on the page: an :class:`Entry`. The page draws all entries in the same way.

To add one, write an ``Entry`` in a module of this folder, list it in ``objective.py``, and write its content file
``assets/content/objectives/<slug>.md``: title, systems and sample text, Question, Try, Notice, Model (which one
predicts, or why none does), Relative, How it works (the formula with its symbols) and Paper. “Setting: name” is a
control's help; “Note” appears below the figure, “Stage 1” above the first of several stages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from core import checkpoints, engine, session
from core.checkpoints.spec import Part
from core.content import content
from core.language import losses as model_losses
from core.language.losses import Losses, LossKind, Scored, ids_of
from core.language.replaced import sample
from core.language.text import clean
from core.language.tokens import Style, check_length, words
from core.language.tokens import style as style_of
from core.language.tokens import tokenize as tokenize_text
from core.language.types import Token
from core.objectives.example import Cell, Example
from core.ui.param import Control, Integer, Seed
from core.ui.section import View

Options = Mapping[str, int | str]
SEED = Seed(label="Seed", width=100, again="Again")
RATE = Integer(name="rate", label="Masking rate, %", default=15, low=5, high=50, step=5, width=140)


@dataclass(frozen=True)
class Inputs:
    """The visitor's text and settings, tokenized by the model that predicts."""

    objective: str
    slug: str
    """The checkpoint that tokenizes and predicts."""
    text: str
    """Cleaned, as typed."""
    seed: int
    options: Options
    """Values of the settings."""
    vocabulary: tuple[str, ...]
    """All tokens except special tokens, in the order of their ids."""
    frame: Mapping[str, str]
    """Special tokens by use: ``mask``, ``cls``, ``sep``, ``begin``, ``unknown``; only those that the tokenizer has."""

    def rng(self) -> np.random.Generator:
        """A new generator with the visitor's seed."""
        return np.random.default_rng(self.seed)

    def number(self, name: str) -> int:
        return int(self.options[name])

    def word(self, name: str) -> str:
        """A text setting; several words are separated by commas."""
        return str(self.options[name])

    def say(self, part: str, **values: str | int) -> str:
        """A part of the objective's content file."""
        return content("objectives", self.objective).part(part, **values)

    def tokenize(self, text: str) -> tuple[str, ...]:
        """The tokens of a text, without special tokens."""
        return tuple(token.piece for token in tokenize(self.slug, text))

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """The tokens of the visitor's text."""
        return tokenize(self.slug, self.text)

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """The tokens of the text as the vocabulary spells them."""
        return tuple(token.piece for token in self.tokens)

    @cached_property
    def special(self) -> frozenset[str]:
        """Special tokens that the visitor typed, in the text or in a setting: they are never targets."""
        typed = (self.text, *(value for value in self.options.values() if isinstance(value, str)))
        return frozenset(token.piece for text in typed for token in tokenize(self.slug, text) if token.special)

    @cached_property
    def words(self) -> tuple[int, ...]:
        """The number of the word at each position of ``framed``; -1 at its first and -2 at its last position."""
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
        """The tokens of the text between the encoder's first and last special token."""
        return (self.frame["cls"], *self.pieces, self.frame["sep"])

    @property
    def fixed(self) -> frozenset[int]:
        """Positions of ``framed`` that are never targets."""
        typed = {position for position, token in enumerate(self.tokens, 1) if token.special}
        return frozenset({0, len(self.tokens) + 1, *typed})

    @property
    def question(self) -> tuple[object, ...]:
        """Identifies what the visitor guesses: the text and the settings, without selections in the figure."""
        return self.objective, self.slug, self.text, self.seed, sorted(self.options.items())


@dataclass(frozen=True, slots=True)
class Stage:
    """One example with its title; most objectives have one, ELECTRA's has two."""

    example: Example
    title: str = ""
    note: str = ""
    """Plain text below the figure."""
    reveals: bool = False
    """Whether the note reveals answers."""
    classifies: bool = False
    """Whether each token is classified as original or replaced, not predicted."""


@dataclass(frozen=True, slots=True)
class Share:
    """A proportion in percent: counted over many samples, and as published."""

    name: str
    counted: float
    published: float
    unit: str = "%"


@dataclass(frozen=True, slots=True)
class Entry:
    slug: str
    """Also the name of its content file."""
    branch: Literal["encoder", "decoder", "encoder-decoder", "efficient"]
    build: Callable[[Inputs], tuple[Stage, ...]]
    answer: Callable[[str, tuple[Stage, ...]], tuple[Losses, ...]] | None = None
    """Maps a checkpoint's slug and the stages to the losses of each stage. If the content file has a part Relative, no
    bundled model was trained with the objective: a related one predicts on request."""
    settings: tuple[Control[Any], ...] = ()
    """The control that stands beside the menu of objectives; at most one."""
    rare: tuple[Control[Any], ...] = ()
    """Controls in the menu of settings."""
    shares: Callable[[Inputs], tuple[Share, ...]] | None = None
    """Proportions over many samples of the visitor's text."""
    total: Callable[[Callable[..., str], tuple[Losses, ...]], str] | None = None
    """From the parts of the content file and the losses of the stages: a sentence on the total loss."""
    more: Callable[[View, Inputs, tuple[Stage, ...]], None] | None = None
    """Draws a further view below the main figure."""
    ask: Callable[[View, Inputs], Options] | None = None
    """Draws a control of this objective above the figure; returns what it adds to the options."""
    masks: bool = True
    """Whether the page draws the attention mask; False if ``more`` draws it."""
    random: bool = True
    """Whether anything is sampled: the page then offers a random seed."""
    several: bool = False
    """Whether the text should have several sentences: the box is then higher."""

    @property
    def models(self) -> tuple[str, ...]:
        """Checkpoints that can predict, the first by default. Their tokenizers tokenize the text."""
        return checkpoints.first(f"objective-{self.slug}")


MAX_CHARS = 600
"""A few sentences: what a figure with one cell per token can show."""


def inputs(objective: str, slug: str, text: str, seed: int, options: Options) -> Inputs:
    """Clean and tokenize the visitor's input.

    Raises:
        InputEmpty: the text has no characters.
        InputTooLong: it has more than :data:`MAX_CHARS`.
    """
    return Inputs(objective, slug, clean(text, MAX_CHARS), seed, options, *_vocabulary(slug))


@session.cached()
def tokenize(slug: str, text: str) -> tuple[Token, ...]:
    """The tokens of ``text`` without special tokens."""
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
    return style_of(session.checkpoint(slug).tokenizer)


def losses_by(kind: LossKind, part: Part | None = None) -> Callable[[str, tuple[Stage, ...]], tuple[Losses, ...]]:
    """The losses of every stage by a model or its ``part``, of one ``kind`` of :func:`core.language.losses.losses`."""
    return lambda slug, stages: tuple(_losses(kind, slug, part, stage.example) for stage in stages)


def pair_losses(slug: str, stages: tuple[Stage, ...]) -> tuple[Losses, ...]:
    """The loss of the sentence-pair head and, if tokens are masked, of the masked-LM head."""
    (stage,) = stages
    tokens, label = _losses("masks", slug, None, stage.example), _losses("pair", slug, "pairs", stage.example)
    return (replace(label, source=tokens.source, options=tokens.options),)


def replaced_losses(slug: str, stages: tuple[Stage, ...]) -> tuple[Losses, ...]:
    """The loss of the generator at the first stage, of the discriminator at the second."""
    generator, discriminator = stages
    return (
        _losses("masks", slug, "generator", generator.example),
        _losses("verdicts", slug, None, discriminator.example),
    )


def _losses(kind: LossKind, slug: str, part: Part | None, example: Example) -> Losses:
    return _cached_losses(kind, slug, part, replace(example, original=(), visible=()))


@session.cached("running-the-model")
def _cached_losses(kind: LossKind, slug: str, part: Part | None, example: Example) -> Losses:
    return engine.run(model_losses.losses, (slug, part), example, kind)


@session.cached("running-both-models")
def scored(teacher: str, student: str, source: tuple[Cell, ...]) -> Scored:
    """Logits of both models over the vocabulary at every masked position."""
    return model_losses.scored(session.checkpoint(teacher), session.checkpoint(student), Example((), source))


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
