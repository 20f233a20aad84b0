"""Where the five sources err, are loose or disagree: the records' own corrections and those of no single record.

A record holds what is wrong about its system. ``data/corrections.toml`` holds the rest, and adds to a record's own what
a record has no room for: what is printed, of what kind the slip is, and the sums that show it. The two are joined by
``about``: words that the record's correction, made against the same source, contains. What a record holds is shown
once, in the record's words.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from core.catalogue.load import DATA, BadData, load_all, parse_citation, shared
from core.catalogue.results import citation, results
from core.catalogue.schema import Citation, Correction, System

KINDS = {
    "mistake": "Mistake",
    "attribution": "Wrong attribution",
    "typo": "Typo",
    "rounding": "Rounding",
    "arithmetic": "Wrong sum",
    "version": "Other version",
    "loose": "Loose wording",
    "layout": "Shifted table",
    "disagreement": "Sources disagree",
    "rumour": "Rumour",
}
"""The kinds of slips, each with its name on the page."""

OTHER = "other"
"""The kind of a record's correction that nothing more is known about."""


@dataclass(frozen=True, slots=True)
class Sum:
    """A computation that shows what is right; in its ``expression``, ``{gpt-2/small}`` stands for a live count."""

    label: str
    expression: str
    digits: int
    unit: str
    printed: str
    """The figure that the source prints for the same, "" where it prints none."""


@dataclass(frozen=True, slots=True)
class Found:
    """A correction, wherever it is kept."""

    id: str
    systems: tuple[str, ...]
    """Slugs; some have no record of their own."""
    names: tuple[str, ...]
    claimed_by: tuple[Citation, ...]
    kind: str
    printed: str
    """A few words or figures as they stand in the source, "" where none are quoted."""
    claim: str
    finding: str
    sources: tuple[Citation, ...]
    sums: tuple[Sum, ...]


@lru_cache(maxsize=1)
def corrections() -> tuple[Found, ...]:
    """All corrections: in the order of the file, then those that only a record holds."""
    table = tomllib.loads((DATA / "corrections.toml").read_text(encoding="utf-8"))
    known = _citations(table)
    names: dict[str, str] = table.get("names", {}) | {system.slug: system.name for system in load_all()}
    held = [(system, number, row) for system in load_all() for number, row in enumerate(system.corrections)]
    joined: set[tuple[str, int]] = set()
    found = []
    for row in table["corrections"]:
        same = [entry for entry in held if _same(row, entry[0], entry[2])]
        joined |= {(system.slug, number) for system, number, _ in same}
        found.append(_found(row, [(system, held_row) for system, _, held_row in same], known, names))
    for system, number, row in held:
        if (system.slug, number) not in joined:
            found.append(_of_record(system, number, row))
    if len({entry.id for entry in found}) < len(found):
        raise BadData("corrections.toml: two corrections share an id")
    return tuple(found)


def documents() -> tuple[Citation, ...]:
    """The five source documents."""
    return tuple(known for known in shared()[0].values() if known.evidence == "source document")


def cited() -> tuple[Citation, ...]:
    """Every citation that a record, a correction or a published figure uses, each once.

    One key may stand for two texts: a record and a table can have read different parts of one paper.
    """
    found = dict.fromkeys(known for system in load_all() for known in system.citations)
    for entry in corrections():
        found |= dict.fromkeys((*entry.sources, *entry.claimed_by))
    for row in results():
        found |= dict.fromkeys(citation(key) for key in (row.source, *row.also))
    return tuple(found)


def _citations(table: dict[str, Any]) -> dict[str, Citation]:
    own = {key: parse_citation(key, row, "corrections.toml") for key, row in table.get("citations", {}).items()}
    return shared()[0] | {known.key: known for system in load_all() for known in system.citations} | own


def _same(row: dict[str, Any], system: System, held: Correction) -> bool:
    """Whether a record's correction is the one that this row of the file is about."""
    if "about" not in row or system.slug not in row["systems"] or held.claimed_by not in row["by"]:
        return False
    text = f"{held.claim} {held.finding}".casefold()
    return all(word.casefold() in text for word in row["about"])


def _found(
    row: dict[str, Any], held: list[tuple[System, Correction]], known: dict[str, Citation], names: dict[str, str]
) -> Found:
    try:
        if row["kind"] not in KINDS:
            raise BadData(f"corrections.toml: {row['id']} is of no kind: {row['kind']!r}")
        if held:
            if hidden := {"claim", "finding"} & row.keys():
                raise BadData(f"corrections.toml: {row['id']}: a record has the {' and '.join(sorted(hidden))} already")
            claim, finding = held[0][1].claim, held[0][1].finding
            sources = [system.citation(key) for system, one in held for key in one.sources]
        else:
            claim, finding, sources = row["claim"], row["finding"], []
        sources += [known[key] for key in row.get("source", ())]
        return Found(
            id=row["id"],
            systems=tuple(row["systems"]),
            names=tuple(names[slug] for slug in row["systems"]),
            claimed_by=tuple(known[key] for key in row["by"]),
            kind=row["kind"],
            printed=row.get("printed", ""),
            claim=claim,
            finding=finding,
            sources=tuple(dict.fromkeys(sources)),
            sums=tuple(Sum(**({"digits": 0, "unit": "", "printed": ""} | one)) for one in row.get("sums", ())),
        )
    except (KeyError, TypeError) as error:
        raise BadData(f"corrections.toml: {row.get('id', '?')}: {error!r}") from error


def _of_record(system: System, number: int, row: Correction) -> Found:
    return Found(
        id=f"{system.slug}.{number + 1}",
        systems=(system.slug,),
        names=(system.name,),
        claimed_by=(system.citation(row.claimed_by),),
        kind=OTHER,
        printed="",
        claim=row.claim,
        finding=row.finding,
        sources=tuple(map(system.citation, row.sources)),
        sums=(),
    )
