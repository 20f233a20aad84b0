"""The schema of catalogue records and their files: one frozen pydantic model per table.

Each statement and figure names its citation, and each citation its evidence, so that readers can tell a value read in
the paper from one that only a lecture repeats.

Validation is strict: no conversion from TOML (a year as text is a fault), no unknown fields. Messages of the validators
follow the file and the field in :mod:`core.catalogue.load`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from core.errors import NoArchitecture

Branch = Literal["encoder", "decoder", "encoder-decoder", "efficient"]
BRANCHES: tuple[Branch, ...] = ("encoder", "decoder", "encoder-decoder", "efficient")

Saving = Literal[
    "fewer scores", "longer memory", "fewer parameters", "smaller models", "fewer examples", "more machines"
]
SAVINGS: tuple[Saving, ...] = Saving.__args__  # type: ignore[attr-defined]
"""What an efficient system saves: the six meanings of the word, in the order of the menu."""

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

NetworkKind = Literal["masked-lm", "causal-lm", "seq2seq-lm", "permutation-lm", "discriminator", "base"]
KINDS: tuple[NetworkKind, ...] = NetworkKind.__args__  # type: ignore[attr-defined]
"""Kinds of published checkpoints; the last two have no head that the demos use."""


_SLUG = re.compile(r"[a-z0-9]+([.-][a-z0-9]+)*")


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty; say it or leave the field out where it may be left out")
    return text


def _sentence(text: str) -> str:
    if not text.endswith("."):
        raise ValueError("must be a sentence and end with a full stop")
    return text


def _address(text: str) -> str:
    if not text.startswith("https://"):
        raise ValueError("must begin with https://")
    return text


def _slug(text: str) -> str:
    if not _SLUG.fullmatch(text):
        raise ValueError("must be a slug: lower case letters and digits, with - or . between them")
    return text


def _hub_id(text: str) -> str:
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", text):
        raise ValueError("must be owner/name, as the Hub writes it")
    return text


def _tuple(value: object) -> Any:
    """TOML's lists as tuples, so that a record is immutable."""
    return tuple(value) if isinstance(value, list) else value


def _listed(value: object) -> Any:
    """Citation keys can be ``"a"`` or ``["a", "b"]``."""
    return (value,) if isinstance(value, str) else _tuple(value)


def _keyed(value: object) -> Any:
    """``[citations.KEY]`` tables as rows with their key."""
    if not isinstance(value, dict):
        return value
    return tuple(row | {"key": key} if isinstance(row, dict) else row for key, row in value.items())


def once(field: str, names: Sequence[str]) -> None:
    """Raise ValueError where a name is repeated."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ValueError(f"{field}: {' and '.join(twice)} stands there twice")


Text = Annotated[str, AfterValidator(_filled)]
Sentence = Annotated[str, AfterValidator(_filled), AfterValidator(_sentence)]
Address = Annotated[str, AfterValidator(_address)]
Slug = Annotated[str, AfterValidator(_slug)]
Keys = Annotated[tuple[Text, ...], BeforeValidator(_listed), Field(min_length=1)]
Year = Annotated[int, Field(ge=1900, le=2100)]
Listed = BeforeValidator(_tuple)
Names = Annotated[tuple[Text, ...], Listed]


class Record(BaseModel):
    """A table of a file: strict types, no unknown fields, frozen."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, populate_by_name=True)


class Citation(Record):
    """A source. ``read`` says in words which text was read."""

    key: Text
    title: Text
    authors: str = ""
    year: Year | None = None
    url: Address | None = None
    evidence: Evidence
    read: Sentence


class Paper(Record):
    """The publication that introduced the system."""

    title: Text
    authors: Text
    """Short form, e.g. ``"Devlin et al."``."""
    venue: Text
    year: Year
    url: Address | None = None


class Statement(Record):
    """A sentence about the system (its tokenizer, its data, ...) with the keys of its citations."""

    text: Sentence
    sources: Keys = Field(alias="source")


class Fact(Record):
    """One figure: ``value`` as it is shown, its ``unit`` ("" for a pure number or a word) and one citation key."""

    label: Text
    value: Text
    unit: str = ""
    source: Text
    note: str = ""


_COUNTS = re.compile(
    r"(encoder_|decoder_)?(n_(layers?|heads?|embd|positions)|(num_)?(hidden_|decoder_)?layers|(num_)?(attention_)?heads"
    r"|num_key_value_heads|hidden_(size|dim)|d_(model|kv|ff|inner)|(emb_|ffn_|head_)?dim|(embedding|intermediate)_size"
    r"|vocab_size|max_position_embeddings)"
)
"""Arguments of configurations that must be at least 1."""


class Size(Record):
    """A published size, and how to build it on the meta device from a transformers class.

    ``architecture`` names a class of ``transformers`` (or of ``core.anatomy.own…``), ``config`` its configuration
    class, ``overrides`` the configuration's keyword arguments. For ``EncoderDecoderModel``, ``config`` is
    ``"EncoderDecoderConfig"`` and ``overrides`` has ``encoder`` and ``decoder``, each with its own ``config`` and
    arguments.
    """

    name: Text
    architecture: Text
    config: Text
    overrides: dict[str, Any] = {}
    default: bool = False
    """Whether it is shown first; a single size always is."""
    published: Annotated[int, Field(gt=0)] | None = None
    """The published parameter count, as rounded by the authors; None where none was found."""
    published_as: str = ""
    """The figure as printed, e.g. ``"110M"``."""
    source: str = ""
    """Citation key of ``published``."""
    config_source: Text
    """Citation key of the configuration's values."""
    comparable: bool = True
    """False where the published figure counts other components than the module tree; then ``note`` says which."""
    note: str = ""

    @field_validator("overrides")
    @classmethod
    def _counts(cls, overrides: dict[str, Any]) -> dict[str, Any]:
        for name, value in overrides.items():
            if isinstance(value, dict):
                cls._counts(value)
            elif _COUNTS.fullmatch(name) and (type(value) is not int or value < 1):
                raise ValueError(f"{name} must be a whole number of at least 1, and it is {str(value)[:40]!r}")
        return overrides

    @model_validator(mode="after")
    def _together(self) -> Size:
        figure = {"published": self.published, "published_as": self.published_as, "source": self.source}
        missing = [name for name, value in figure.items() if not value]
        if missing and len(missing) < len(figure):
            raise ValueError(f"published, published_as and source belong together; {' and '.join(missing)} is missing")
        if not self.comparable and not self.note:
            raise ValueError("comparable = false needs a note that says what the published figure counts")
        for half in ("encoder", "decoder") if self.config == "EncoderDecoderConfig" else ():
            table = self.overrides.get(half)
            if not isinstance(table, dict) or not isinstance(table.get("config"), str):
                raise ValueError(f"overrides.{half} must be a table that names its config")
        return self

    @property
    def shape(self) -> tuple[str, str, str]:
        """Layers, hidden size and attention heads as text; "" for a default of the library.

        Encoder-decoders have ``"6 + 6"`` layers; two towers have all three like that, text first.
        """
        values = self.overrides
        if "text_config" in values:
            towers = [values["text_config"], values["vision_config"]]
            layers, width, heads = (" + ".join(_first(tower, names) for tower in towers) for names in _SHAPE)
            return layers, width, heads
        layers, width, heads = (_first(values, names) for names in _SHAPE)
        if "encoder_layers" in values:
            layers = f"{values['encoder_layers']} + {values['decoder_layers']}"
        elif layers and "T5" in self.architecture:
            layers = f"{layers} + {values.get('num_decoder_layers', layers)}"
        return layers, width, heads


_SHAPE = (
    ("num_hidden_layers", "n_layers", "n_layer", "num_layers"),
    ("hidden_size", "d_model", "n_embd", "emb_dim", "dim"),
    ("num_attention_heads", "num_heads", "n_heads", "n_head", "encoder_attention_heads"),
)
"""Names of layers, hidden size and heads in configurations."""


def _first(values: dict[str, Any], names: Sequence[str]) -> str:
    return next((f"{values[name]:,}" for name in names if name in values), "")


class HubCheckpoint(Record):
    """A published checkpoint on the Hugging Face Hub, downloadable where the host allows it."""

    id: Annotated[str, AfterValidator(_hub_id)]
    kind: NetworkKind
    size: str = ""
    """Name of its :class:`Size`; may be empty."""
    source: Text
    note: str = ""

    @property
    def short_name(self) -> str:
        """The name without its owner."""
        return self.id.split("/")[-1]


class Live(Record):
    """The checkpoint that runs here for this system, and how it is related to it."""

    checkpoint: Slug
    exact: bool
    """Whether the checkpoint has this architecture, even if small and trained here."""
    note: Sentence


class Correction(Record):
    """An error of a source about this system, and the right statement with its sources."""

    id: Text
    """The id of its row in ``corrections.toml``."""
    claim: Text
    claimed_by: Literal["source-000", "source-001", "source-002", "source-003", "source-004"]
    """Citation key of the source that makes the claim."""
    finding: Text
    sources: Keys = Field(alias="source")
    """Citation keys of the finding."""


class Milestone(Record):
    """A system without a record: the timeline shows it, and records may name it as their parent."""

    slug: Slug
    name: Text
    year: Year
    month: Annotated[int, Field(ge=1, le=12)]
    organization: Text
    parent: Slug | None = None
    """Slug of the system or milestone that this one changes."""
    change: Sentence
    sources: Keys = Field(alias="source")


Citations = Annotated[tuple[Citation, ...], BeforeValidator(_keyed)]


class SharedFile(Record):
    """``shared.toml``."""

    citations: Citations
    milestones: Annotated[tuple[Milestone, ...], Listed] = ()


STATEMENTS: tuple[tuple[str, str], ...] = (
    ("objective", "Objective"),
    ("tokenizer", "Tokenizer"),
    ("vocabulary", "Vocabulary"),
    ("unknown", "Unknown words"),
    ("embeddings", "Embeddings and positions"),
    ("attention", "Attention"),
    ("activation", "Activation"),
    ("norm", "Normalization"),
    ("data", "Training data"),
    ("budget", "Training budget"),
    ("batch", "Batch size"),
    ("availability", "License and availability"),
)
"""The described properties of a system: field and heading, in display order."""


class System(Record):
    """The record of a system; its file is ``systems/<slug>.toml``."""

    slug: Slug
    name: Text
    year: Year
    month: Annotated[int, Field(ge=1, le=12)]
    """Month of the first public version (of the arXiv number where there is one), for the timeline."""
    organization: Text
    paper: Paper
    code: Address | None = None
    parent: Slug | None = None
    """Slug of the system (or :class:`Milestone`) that this one changes."""
    branches: Annotated[tuple[Branch, ...], Listed, Field(min_length=1)]
    """The branch of its page first, then further branches that list it."""
    saves: Annotated[tuple[Saving, ...], Listed] = ()
    """What it saves, the main saving first; of systems that the efficient branch lists."""
    change: Text
    why: Text
    objective: Statement
    tokenizer: Statement
    vocabulary: Statement
    unknown: Statement
    """How words outside the vocabulary are tokenized."""
    embeddings: Statement
    attention: Statement
    activation: Statement
    norm: Statement
    data: Statement
    budget: Statement
    batch: Statement
    availability: Statement
    """Who can have the weights, and under which license; it begins with “Open weights”, “Code only”, “API only”, ..."""
    sizes: Annotated[tuple[Size, ...], Listed] = ()
    """Empty where no architecture was published."""
    undisclosed: str = ""
    """Without sizes: why, in a sentence shown instead of the tree. Else ""."""
    facts: Annotated[tuple[Fact, ...], Listed] = ()
    hub: Annotated[tuple[HubCheckpoint, ...], Listed] = ()
    live: Live
    notes: Annotated[tuple[Statement, ...], Listed] = ()
    corrections: Annotated[tuple[Correction, ...], Listed] = ()
    citations: Citations = ()
    """In the file, its own; once loaded, all that it uses, in the order of first use."""

    @field_validator("sizes")
    @classmethod
    def _only_size_is_default(cls, sizes: tuple[Size, ...]) -> tuple[Size, ...]:
        return (sizes[0].model_copy(update={"default": True}),) if len(sizes) == 1 else sizes

    @model_validator(mode="after")
    def _sizes_and_branches(self) -> System:
        once("branches", self.branches)
        once("saves", self.saves)
        if bool(self.saves) != ("efficient" in self.branches):
            raise ValueError("saves: it says what the systems of the efficient branch save, and no others have it")
        if bool(self.sizes) == bool(self.undisclosed):
            raise ValueError("sizes: a record has either sizes or a sentence (undisclosed) on why there are none")
        names = [size.name for size in self.sizes]
        once("sizes", names)
        chosen = [size.name for size in self.sizes if size.default]
        if len(chosen) != 1 and (chosen or len(names) > 1):
            said = f"{' and '.join(chosen)} are" if chosen else f"none of {', '.join(names)} is"
            raise ValueError(f"sizes: {said} marked default = true; it must be one, the size that is shown first")
        for row in self.hub:
            if row.size and row.size not in names:
                raise ValueError(f"hub: {row.id} names the size {row.size!r}, and there are {', '.join(names)}")
        return self

    @property
    def branch(self) -> Branch:
        return self.branches[0]

    @property
    def default_size(self) -> Size:
        """The default size. Raises :class:`core.errors.NoArchitecture` where none was published."""
        if not self.sizes:
            raise NoArchitecture(self.undisclosed)
        return next(size for size in self.sizes if size.default)

    def size(self, name: str) -> Size:
        """The size of that name. Raises KeyError for an unknown one."""
        for size in self.sizes:
            if size.name == name:
                return size
        raise KeyError(name)

    def citation(self, key: str) -> Citation:
        """The citation of that key in this record. Raises KeyError for an unknown one."""
        for citation in self.citations:
            if citation.key == key:
                return citation
        raise KeyError(key)

    def statements(self) -> tuple[tuple[str, Statement], ...]:
        """The described properties with their headings, in display order."""
        return tuple((heading, getattr(self, field)) for field, heading in STATEMENTS)

    def used(self) -> Iterator[tuple[str, str]]:
        """The fields that name citations, and the keys, in reading order, with repeats."""
        for field, _ in STATEMENTS:
            yield from ((f"{field}.source", key) for key in getattr(self, field).sources)
        for size in self.sizes:
            keys = (("source", size.source), ("config_source", size.config_source))
            yield from ((f"sizes “{size.name}”.{name}", key) for name, key in keys if key)
        yield from ((f"facts “{fact.label}”.source", fact.source) for fact in self.facts)
        for number, note in enumerate(self.notes, 1):
            yield from ((f"notes {number}.source", key) for key in note.sources)
        for row in self.corrections:
            yield f"corrections “{row.id}”.claimed_by", row.claimed_by
            yield from ((f"corrections “{row.id}”.source", key) for key in row.sources)
        yield from ((f"hub “{row.id}”.source", row.source) for row in self.hub)
