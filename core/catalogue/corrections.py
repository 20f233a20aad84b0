"""Corrections of the five sources: where they err, are imprecise or disagree.

``data/corrections.toml`` has a row for each: what is printed, the kind of the error, and the computations that show it.
Where a record has a correction of the same id, the claim, the finding and their citations come from the record.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from core.catalogue.load import DATA, BadData, checked, load_all, read_text, shared
from core.catalogue.outlines import outlines
from core.catalogue.results import citation, results
from core.catalogue.schema import Citation, Citations, Correction, Keys, Listed, Names, Record, System, Text, once

KINDS = {
    "mistake": "Mistake",
    "attribution": "Wrong attribution",
    "typo": "Typo",
    "rounding": "Rounding",
    "arithmetic": "Arithmetic error",
    "version": "Another version",
    "loose": "Imprecise wording",
    "layout": "Shifted table",
    "disagreement": "Sources disagree",
    "rumour": "Rumor",
}
"""The kinds of errors with their labels."""


class Sum(Record):
    """A computation of the right figure; in its ``expression``, ``{gpt-2/small}`` stands for a parameter count."""

    label: Text
    expression: Text
    digits: int = 0
    unit: str = ""
    printed: str = ""
    """The figure that the source prints; "" where it prints none."""


class Entry(Record):
    """A row of the file: a whole correction, or an addition to a record's, which then has claim and finding."""

    id: Text
    systems: Names
    by: Names
    kind: Text
    printed: str = ""
    claim: str = ""
    finding: str = ""
    sources: Keys | tuple[()] = Field((), alias="source")
    sums: Annotated[tuple[Sum, ...], Listed] = ()

    @field_validator("kind")
    @classmethod
    def _known(cls, kind: str) -> str:
        if kind not in KINDS:
            raise ValueError(f"must be one of {', '.join(KINDS)}, and it is {kind!r}")
        return kind


class _File(Record):
    """``corrections.toml``."""

    names: dict[str, str]
    corrections: Annotated[tuple[Entry, ...], Listed]
    citations: Citations = ()

    @model_validator(mode="after")
    def _ids_differ(self) -> _File:
        once("ids", [row.id for row in self.corrections])
        return self


@dataclass(frozen=True, slots=True)
class MergedCorrection:
    """A correction, from the file and the record."""

    id: str
    systems: tuple[str, ...]
    """Slugs; some have no record of their own."""
    names: tuple[str, ...]
    claimed_by: tuple[Citation, ...]
    kind: str
    printed: str
    """A quote from the source; may be empty."""
    claim: str
    finding: str
    sources: tuple[Citation, ...]
    sums: tuple[Sum, ...]


@lru_cache(maxsize=1)
def corrections() -> tuple[MergedCorrection, ...]:
    file = checked(_File, read_text(DATA / "corrections.toml"), "corrections.toml")
    citations = [citation for system in load_all() for citation in (*system.citations, *file.citations)]
    citations_by_key = shared()[0] | {citation.key: citation for citation in citations}
    names = file.names | {system.slug: system.name for system in load_all()}
    recorded: dict[str, list[tuple[System, Correction]]] = defaultdict(list)
    for system in load_all():
        for correction in system.corrections:
            recorded[correction.id].append((system, correction))
    if unlisted := recorded.keys() - {row.id for row in file.corrections}:
        raise BadData(f"corrections.toml: there is no row for {', '.join(sorted(unlisted))}, which records have")
    return tuple(_correction(row, recorded[row.id], citations_by_key, names) for row in file.corrections)


def documents() -> tuple[Citation, ...]:
    """The five source documents."""
    return tuple(citation for citation in shared()[0].values() if citation.evidence == "source document")


def cited() -> tuple[Citation, ...]:
    """All citations of records, milestones, corrections, published figures and outlines, without duplicates.

    A key can have two citations, where a record and a table cite different parts of a paper.
    """
    common, milestones = shared()
    cited = dict.fromkeys(key for system in load_all() for key in system.citations)
    cited |= dict.fromkeys(common[key] for row in milestones for key in row.sources)
    for entry in corrections():
        cited |= dict.fromkeys((*entry.sources, *entry.claimed_by))
    for row in results():
        cited |= dict.fromkeys(citation(key) for key in (row.source, *row.also))
    cited |= dict.fromkeys(outline.citation for outline in outlines())
    return tuple(cited)


def _correction(
    row: Entry, recorded: list[tuple[System, Correction]], citations: dict[str, Citation], names: dict[str, str]
) -> MergedCorrection:
    if bool(recorded) == bool(row.claim or row.finding):
        raise BadData(f"corrections.toml: {row.id}: either a record or this row must have its claim and finding")
    if any(system.slug not in row.systems or entry.claimed_by not in row.by for system, entry in recorded):
        raise BadData(f"corrections.toml: {row.id}: systems and by must name those of the records' corrections")
    if strange := {*row.sources, *row.by} - citations.keys() or set(row.systems) - names.keys():
        raise BadData(f"corrections.toml: {row.id}: there is no {' or '.join(sorted(strange))}")
    text = recorded[0][1] if recorded else row
    sources = [system.citation(key) for system, entry in recorded for key in entry.sources]
    return MergedCorrection(
        id=row.id,
        systems=row.systems,
        names=tuple(names[slug] for slug in row.systems),
        claimed_by=tuple(citations[key] for key in row.by),
        kind=row.kind,
        printed=row.printed,
        claim=text.claim,
        finding=text.finding,
        sources=tuple(dict.fromkeys([*sources, *(citations[key] for key in row.sources)])),
        sums=row.sums,
    )
