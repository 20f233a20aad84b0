"""What a record's file may hold: its tables and fields as they stand in TOML, with their types and limits.

Pydantic checks a file against these models before :mod:`core.catalogue.load` makes the dataclasses of
:mod:`core.catalogue.schema` from it. Nothing is converted on the way (a year as text is a fault), nothing unknown is
let through, and what fields must be together is said here as well. A new field of the schema needs a line here.

The messages of the validators below are what :mod:`core.catalogue.faults` prints behind the file and the field.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from core.catalogue.schema import STATEMENTS, Branch, Evidence, Kind

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


def _listed(value: Any) -> Any:
    """``"a"`` and ``["a", "b"]`` are both allowed where citation keys are named."""
    return [value] if isinstance(value, str) else value


def _once(field: str, names: Sequence[str]) -> None:
    """A fault when a name stands there twice."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ValueError(f"{field}: {' and '.join(twice)} stands there twice")


Text = Annotated[str, AfterValidator(_filled)]
Sentence = Annotated[str, AfterValidator(_filled), AfterValidator(_sentence)]
Address = Annotated[str, AfterValidator(_address)]
Slug = Annotated[str, AfterValidator(_slug)]
Keys = Annotated[list[Text], BeforeValidator(_listed), Field(min_length=1)]
Year = Annotated[int, Field(ge=1900, le=2100)]


class Row(BaseModel):
    """A table of the file: types as they are, no field that is not named."""

    model_config = ConfigDict(strict=True, extra="forbid")


class CitationRow(Row):
    title: Text
    authors: str = ""
    year: Year | None = None
    url: Address | None = None
    evidence: Evidence
    read: Sentence


class PaperRow(Row):
    title: Text
    authors: Text
    venue: Text
    year: Year
    url: Address | None = None


class StatementRow(Row):
    text: Sentence
    source: Keys


class FactRow(Row):
    label: Text
    value: Text
    unit: str = ""
    source: Text
    note: str = ""


class SizeRow(Row):
    name: Text
    architecture: Text
    config: Text
    overrides: dict[str, Any] = {}
    default: bool = False
    published: Annotated[int, Field(gt=0)] | None = None
    published_as: str = ""
    source: str = ""
    config_source: Text
    comparable: bool = True
    note: str = ""

    @model_validator(mode="after")
    def _together(self) -> SizeRow:
        given = {"published": self.published, "published_as": self.published_as, "source": self.source}
        missing = [name for name, value in given.items() if not value]
        if missing and len(missing) < len(given):
            raise ValueError(f"published, published_as and source belong together; {' and '.join(missing)} is missing")
        if not self.comparable and not self.note:
            raise ValueError("comparable = false needs a note that says what the published figure counts")
        return self


class HubRow(Row):
    id: Annotated[str, AfterValidator(_hub_id)]
    kind: Kind
    size: str = ""
    source: Text
    note: str = ""


class LiveRow(Row):
    checkpoint: Slug
    exact: bool
    note: Sentence


class CorrectionRow(Row):
    claim: Text
    claimed_by: Literal["source-000", "source-001", "source-002", "source-003", "source-004"]
    finding: Text
    source: Keys


class AncestorRow(Row):
    slug: Slug
    name: Text
    year: Year
    month: Annotated[int, Field(ge=1, le=12)]
    organisation: Text
    change: Sentence


class SharedFile(Row):
    """``shared.toml``."""

    citations: dict[str, CitationRow]
    ancestors: list[AncestorRow] = []


class SystemFile(Row):
    """``systems/<slug>.toml``."""

    slug: Slug
    name: Text
    year: Year
    month: Annotated[int, Field(ge=1, le=12)]
    organisation: Text
    paper: PaperRow
    code: Address | None = None
    parent: Slug | None = None
    branches: Annotated[list[Branch], Field(min_length=1)]
    change: Text
    why: Text
    objective: StatementRow
    tokeniser: StatementRow
    vocabulary: StatementRow
    unknown: StatementRow
    embeddings: StatementRow
    attention: StatementRow
    activation: StatementRow
    norm: StatementRow
    data: StatementRow
    budget: StatementRow
    batch: StatementRow
    sizes: list[SizeRow] = []
    undisclosed: str = ""
    facts: list[FactRow] = []
    hub: list[HubRow] = []
    live: LiveRow
    notes: list[StatementRow] = []
    corrections: list[CorrectionRow] = []
    citations: dict[str, CitationRow] = {}

    @model_validator(mode="after")
    def _sizes_and_branches(self) -> SystemFile:
        _once("branches", self.branches)
        if bool(self.sizes) == bool(self.undisclosed):
            raise ValueError("sizes: a record has either sizes or a sentence (undisclosed) on why there are none")
        names = [size.name for size in self.sizes]
        _once("sizes", names)
        chosen = [size.name for size in self.sizes if size.default]
        if len(chosen) != 1 and (chosen or len(names) > 1):
            said = f"{' and '.join(chosen)} are" if chosen else f"none of {', '.join(names)} is"
            raise ValueError(f"sizes: {said} marked default = true; it must be one, the size that is shown first")
        for row in self.hub:
            if row.size and row.size not in names:
                raise ValueError(f"hub: {row.id} names the size {row.size!r}, and there are {', '.join(names)}")
        return self

    def used(self) -> Iterable[tuple[str, str]]:
        """Where a citation is named, and its key: in reading order, with repeats."""
        for field, _ in STATEMENTS:
            statement = getattr(self, field)
            if statement is not None:
                yield from ((f"{field}.source", key) for key in statement.source)
        for size in self.sizes:
            keys = (("source", size.source), ("config_source", size.config_source))
            yield from ((f"sizes “{size.name}”.{name}", key) for name, key in keys if key)
        yield from ((f"facts “{fact.label}”.source", fact.source) for fact in self.facts)
        for place, note in enumerate(self.notes, 1):
            yield from ((f"notes {place}.source", key) for key in note.source)
        for place, row in enumerate(self.corrections, 1):
            yield f"corrections {place}.claimed_by", row.claimed_by
            yield from ((f"corrections {place}.source", key) for key in row.source)
        yield from ((f"hub “{row.id}”.source", row.source) for row in self.hub)
