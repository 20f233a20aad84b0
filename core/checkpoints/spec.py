"""The description of a checkpoint (`CheckpointSpec`), its card (``card.toml``), and the loaded model (`Checkpoint`).

No torch here: pages that never run a model read descriptions.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar

from core.checkpoints.families import FAMILIES, Ability, Branch, Kind, ModelFamily
from core.checkpoints.families.architectures import Trait, traits_of
from core.errors import CheckpointRefused, InputUnusable
from core.lazy import transformers
from core.run.model import Model
from core.run.prepare import prepare

Part = Literal["pairs", "spans", "unified", "orders", "generator", "draft", "english"]
"""Further models of a checkpoint: a head for pairs of segments; updates for masked spans, several attention
masks, word and sentence order; ELECTRA's generator, a draft model, and the model that translates from and to English
alone."""
Feature = Ability | Trait | Part
T = TypeVar("T")
Source = Literal["bundled", "package", "directory", "hub", "visitor"]


def wilson(right: int, n: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's interval for a share of ``right`` in ``n``; with p = right / n it is

    (p + z²/2n ± z √(p(1 - p)/n + z²/4n²)) / (1 + z²/n)

    The default z is for 95%. Without observations the interval is (0, 1).
    """
    if n == 0:
        return (0.0, 1.0)
    p = right / n
    middle = p + z * z / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, (middle - half) / (1 + z * z / n)), min(1.0, (middle + half) / (1 + z * z / n))


@dataclass(frozen=True, slots=True)
class Measure:
    name: str
    value: float
    unit: str
    on: str
    """What it was measured on, e.g. ``"cloze, 100 sentences"``."""
    n: int = 0
    """The number of trials that a share in percent is of, or of texts that ``low`` and ``high`` are sampled from; 0 for
    numbers without an interval."""
    low: float | None = None
    high: float | None = None
    """The ends of the 95% interval, where it is not that of a share of trials."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% interval from ``low`` to ``high``, else Wilson's of a share, in percent; None where ``n`` is 0.

        Wilson's takes the trials as independent, which tokens of one text are only roughly.
        """
        if self.low is not None and self.high is not None:
            return self.low, self.high
        if not self.n:
            return None
        low, high = wilson(round(self.value * self.n / 100), self.n)
        return 100 * low, 100 * high


@dataclass(frozen=True, slots=True)
class Card:
    """How a checkpoint was trained and what was measured on it; read from ``card.toml``, shown on its page."""

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
    """Those on text held out from the training first."""
    strengths: tuple[str, ...] = ()
    """What it does well, with the value that shows it; may be empty."""
    weaknesses: tuple[str, ...] = ()
    base: str | None = None
    """The checkpoint or package that ``difference.safetensors`` is a difference to; None for a whole model."""
    parameters: int | None = None
    """Of the loaded model, where its file has other values, too: a difference's factors, a head for pairs."""
    extra: dict[str, Any] = field(default_factory=dict)


WHOLE = "trained here, bundled"
"""The origin of a model all of whose weights were trained here; of a difference, the text continues."""


@dataclass(frozen=True, slots=True)
class CheckpointSpec:
    """A checkpoint that can run here, or could after a download. Hashable."""

    slug: str
    name: str
    system: str | None
    """Slug of the catalogue's system; None for a host's folder that matches no record."""
    branch: Branch
    """The page that offers it first; sparse encoders are on ``efficient``."""
    kind: Kind
    source: Source
    origin: str
    """The source in words (:data:`WHOLE`, "the host's folder")."""
    location: str
    """Folder, package name or Hub id; never from a visitor. Escape it before it is shown."""
    ready: bool
    """Whether it can be loaded without a download."""
    size_bytes: int | None = None
    max_positions: int | None = None
    tasks: tuple[str, ...] = ()
    """Task slugs in the order of the menu: of a sequence-to-sequence checkpoint ("en-fr", ...) or of adapters."""
    architecture: str | None = None
    """See `core.checkpoints.families.architectures.architecture_of`; None before a download."""
    parts: tuple[Part, ...] = ()
    """Further models of the same folder, loaded with ``checkpoints.load(slug, part=...)``."""
    card: Card | None = field(default=None, compare=False, hash=False)

    @property
    def short_name(self) -> str:
        """The name without what was added: “MiniLM” for “MiniLM with a masked-LM layer trained here”."""
        return self.name.partition(" with ")[0]

    @property
    def family(self) -> ModelFamily:
        """The properties that all models of its kind share."""
        return FAMILIES[self.kind]

    def offers(self, *features: Feature) -> bool:
        """Whether its family, architecture or folder has all of these."""
        return {*self.family.offers, *traits_of(self.architecture), *self.parts}.issuperset(features)

    def entries(self, table: Mapping[Feature, T]) -> list[T]:
        """The entries of ``table`` for what it offers, in the table's order."""
        return [entry for feature, entry in table.items() if self.offers(feature)]

    def demand(self, ability: Ability, purpose: str) -> None:
        """Raise :class:`InputUnusable`, which says what ``purpose`` needs, unless its family has this ability."""
        if ability not in self.family.offers:
            does = next(family.does for family in FAMILIES.values() if ability in family.offers)
            raise InputUnusable(f"{purpose} needs a model that {does}. Choose another than {self.name}.")

    @property
    def sparse(self) -> bool:
        """Whether it avoids the full n x n attention."""
        return self.branch == "efficient"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A loaded checkpoint, shared by all visitors: read-only, in evaluation mode, prepared for `core.run`."""

    model: Model
    tokenizer: transformers.PreTrainedTokenizerBase
    spec: CheckpointSpec

    def __post_init__(self) -> None:
        if hasattr(self.model, "config"):
            prepare(self.model, self.spec.family.sides)

    @property
    def source(self) -> Source:
        return self.spec.source


_LISTS = ("data", "data_licence", "strengths", "weaknesses")


def read_card(file: Path) -> Card:
    """The card in ``file``; fields beyond those of :class:`Card` go to ``extra``.

    Raises :class:`CheckpointRefused` where the file is missing, is not TOML, or lacks a field.
    """
    name = f"{file.parent.name}/{file.name}"
    try:
        text = file.read_text(encoding="utf-8")
    except OSError:
        raise CheckpointRefused(f"The card “{name}” is missing.") from None
    except ValueError as error:
        raise CheckpointRefused(f"The card “{name}” is corrupt: {error}.") from None
    return _card(name, text)


# Every page lists the models, some several times: the file is read each time, its text is parsed once.
@lru_cache(maxsize=128)
def _card(name: str, text: str) -> Card:
    """The card with the TOML ``text``; ``name`` is for error messages."""
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except ValueError as error:
        raise CheckpointRefused(f"The card “{name}” is corrupt: {error}.") from None
    extra = table.pop("extra", {}) | {key: table.pop(key) for key in table.keys() - Card.__slots__}
    for key in _LISTS:
        value = table.get(key, ())
        table[key] = (value,) if isinstance(value, str) else tuple(value)
    try:
        rows = [Measure(**measure) for measure in table.pop("measures", ())]
        measures = tuple(sorted(rows, key=lambda measure: "held out" not in measure.on))
        return Card(**table, measures=measures, extra=extra)
    except TypeError as error:
        raise CheckpointRefused(f"The card “{name}” lacks or misnames a field: {error}.") from None
