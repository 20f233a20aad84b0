"""What a catalogue record is made of: frozen dataclasses, no behaviour beyond small look-ups.

Every statement and every figure names the citation it stands on, and every citation says how it was read. A reader can
so tell a number that was seen in the paper from one that only a lecture repeats. What a file may hold says
:mod:`core.catalogue.record`; a new field needs a line in both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from core.errors import NoArchitecture

Branch = Literal["encoder", "decoder", "encoder-decoder", "efficient"]
BRANCHES: tuple[Branch, ...] = ("encoder", "decoder", "encoder-decoder", "efficient")

Evidence = Literal[
    "paper",
    "authors' repository",
    "library",
    "vendor's text",
    "source document",
    "notes on the paper",
    "computed here",
    "our own words",
    "from memory, unverified",
]
EVIDENCE: tuple[Evidence, ...] = Evidence.__args__  # type: ignore[attr-defined]
UNVERIFIED: Evidence = "from memory, unverified"

Kind = Literal["masked-lm", "causal-lm", "seq2seq-lm", "permutation-lm", "discriminator", "trunk"]
KINDS: tuple[Kind, ...] = Kind.__args__  # type: ignore[attr-defined]
"""What a published checkpoint can do once loaded; the last two have no head that the demos use."""


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a statement was read. ``read`` says in words which text was opened, and so how far to trust it."""

    key: str
    title: str
    authors: str
    year: int | None
    url: str | None
    evidence: Evidence
    read: str


@dataclass(frozen=True, slots=True)
class Paper:
    """The publication that introduced the system."""

    title: str
    authors: str
    """Short form, e.g. ``"Devlin et al."``."""
    venue: str
    year: int
    url: str | None


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence about the system (its tokeniser, its data, ...) with the keys of its citations."""

    text: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """One figure: ``value`` as it is shown, its ``unit`` ("" for a pure number or a word) and one citation key."""

    label: str
    value: str
    unit: str
    source: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Size:
    """One published size and how to build its skeleton from a transformers class.

    ``architecture`` names a class of ``transformers`` (or of ``core.anatomy.own…``) and ``config`` one of its
    configurations; ``overrides`` are that one's keyword arguments. For ``EncoderDecoderModel``, ``config`` is
    ``"EncoderDecoderConfig"`` and ``overrides`` holds ``encoder`` and ``decoder``, each with its own ``config`` and
    arguments.
    """

    name: str
    architecture: str
    config: str
    overrides: dict[str, Any]
    default: bool
    published: int | None
    """Parameters as published (rounded as the authors rounded), or None when no figure was found."""
    published_as: str
    """The figure as printed, e.g. ``"110M"``."""
    source: str
    """Citation key of ``published``."""
    config_source: str
    """Citation key of the configuration's values."""
    comparable: bool = True
    """False when the published figure counts other parts than the skeleton has; then ``note`` says which."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class HubCheckpoint:
    """A published checkpoint on the Hugging Face Hub that a host may allow to be downloaded."""

    id: str
    short_name: str
    kind: Kind
    size: str
    """Name of the :class:`Size` it belongs to, or "" when it has none of its own."""
    source: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Live:
    """What runs here for this system: a checkpoint slug, and how it is related if it is only a relative."""

    checkpoint: str
    exact: bool
    """True when the checkpoint is this architecture, even if small and trained here."""
    note: str


@dataclass(frozen=True, slots=True)
class Correction:
    """Where a source errs about this system, what is right, and how one can see it."""

    claim: str
    claimed_by: str
    """Citation key of the source that makes the claim."""
    finding: str
    sources: tuple[str, ...]
    """Citation keys that the finding stands on."""


@dataclass(frozen=True, slots=True)
class Ancestor:
    """A root of the family that has no page of its own yet."""

    slug: str
    name: str
    year: int
    month: int
    organisation: str
    change: str


STATEMENTS: tuple[tuple[str, str], ...] = (
    ("objective", "Objective"),
    ("tokeniser", "Tokeniser"),
    ("vocabulary", "Vocabulary"),
    ("unknown", "Unknown words"),
    ("embeddings", "Embeddings and positions"),
    ("attention", "Attention"),
    ("activation", "Activation"),
    ("norm", "Normalisation"),
    ("data", "Training data"),
    ("budget", "Training budget"),
    ("batch", "Batch size"),
)
"""The described properties of a system: field name and heading, in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class System:
    """A member of the family: everything that is known about it here."""

    slug: str
    name: str
    year: int
    month: int
    """Month of the first public version (of the arXiv number where there is one); it only places a node."""
    organisation: str
    paper: Paper
    code: str | None
    parent: str | None
    """Slug of the system (or :class:`Ancestor`) that this one changes."""
    branches: tuple[Branch, ...]
    """First the branch whose page it opens on; then the ones where it is listed as well."""
    change: str
    why: str
    objective: Statement
    tokeniser: Statement
    vocabulary: Statement
    unknown: Statement
    """What becomes of a word that the vocabulary lacks."""
    embeddings: Statement
    attention: Statement
    activation: Statement
    norm: Statement
    data: Statement
    budget: Statement
    batch: Statement
    sizes: tuple[Size, ...]
    """Empty where no architecture was published."""
    undisclosed: str
    """Where there are no sizes, why: a sentence that stands in place of the tree. Else ""."""
    facts: tuple[Fact, ...]
    hub: tuple[HubCheckpoint, ...]
    live: Live
    notes: tuple[Statement, ...]
    corrections: tuple[Correction, ...]
    citations: tuple[Citation, ...]
    """The citations this record uses, in the order of their first use."""

    @property
    def branch(self) -> Branch:
        """The main branch."""
        return self.branches[0]

    @property
    def default_size(self) -> Size:
        """The size that is shown first. Raises :class:`core.errors.NoArchitecture` where none was published."""
        if not self.sizes:
            raise NoArchitecture(self.undisclosed)
        return next(size for size in self.sizes if size.default)

    def size(self, name: str) -> Size:
        """The size of that name; KeyError if there is none."""
        for size in self.sizes:
            if size.name == name:
                return size
        raise KeyError(name)

    def citation(self, key: str) -> Citation:
        """The citation of that key among this record's own; KeyError if there is none."""
        for citation in self.citations:
            if citation.key == key:
                return citation
        raise KeyError(key)

    def statements(self) -> tuple[tuple[str, Statement], ...]:
        """The described properties with their headings, in the order in which they are shown."""
        told = ((heading, getattr(self, field)) for field, heading in STATEMENTS)
        return tuple((heading, statement) for heading, statement in told if statement is not None)
