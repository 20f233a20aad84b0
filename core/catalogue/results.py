"""Published results as tidy data: one row per value, one file per table.

A row has the system, variant and size; data set, split, metric, unit and direction; and its source (paper, version,
table, citation, evidence). Values are comparable only with the same data set, split and metric: a :class:`Measure`.
Rows are in ``data/results/*.csv``; papers, sources and plain names in ``data/results/sources.toml``. An invalid row is
refused with its file, line and field.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from core.catalogue.load import DATA, BadData, checked, load_all, read_text, shared
from core.catalogue.schema import Citation, Citations, Evidence, Record

FOLDER = DATA / "results"
COLUMNS = (
    "system",
    "variant",
    "size",
    "parameters",
    "counted",
    "dataset",
    "split",
    "metric",
    "unit",
    "value",
    "higher_is_better",
    "paper",
    "version",
    "place",
    "source",
    "evidence",
    "also",
    "disagrees",
    "note",
)
NEEDED = ("system", "dataset", "split", "metric", "value", "higher_is_better", "paper", "source", "evidence")
UNITS = ("", "%", "points", "bits", "seconds", "×", "million")
COUNTED = ("published", "computed here")
_LONGEST = 240
_PATTERNS = {
    "value": (r"-?\d{1,6}(\.\d{1,4})?", "number as papers print it"),
    "parameters": (r"([1-9]\d{3,13})?", "number of parameters"),
}


class BadResult(BadData):
    """An invalid row; the message names the file, the line, the field and the reason."""


@dataclass(frozen=True, slots=True)
class Measure:
    """What was measured; results are comparable only within one measure."""

    dataset: str
    split: str
    metric: str
    unit: str
    higher: bool
    """Whether a larger value is better."""

    @property
    def slug(self) -> str:
        """The measure in links, e.g. ``mnli-matched.dev.accuracy``."""
        return ".".join(slug(part) for part in (self.dataset, self.split, self.metric))

    @property
    def title(self) -> str:
        """The measure in words, e.g. ``MNLI matched, dev: accuracy (%)``."""
        unit = f" ({self.unit})" if self.unit and self.unit not in self.metric else ""
        split = "" if self.split == "not stated" else f", {self.split}"
        return f"{self.dataset}{split}: {self.metric}{unit}"


@dataclass(frozen=True, slots=True)
class Result:
    """One value of a table. ``printed`` is its text in the source, ``value`` the number."""

    table: str
    """Name of the file."""
    system: str
    """A slug of the catalogue, or the plain name of a baseline."""
    variant: str
    size: str
    parameters: int | None
    """Parameters of that size, for scaling plots; None where unknown or not needed."""
    counted: str
    """The source of ``parameters``: ``published`` or ``computed here``."""
    measure: Measure
    value: float
    printed: str
    paper: str
    """Key of the paper with the table."""
    version: str
    place: str
    """Table or section; empty where the paper itself was not read."""
    source: str
    """Key of the citation that the value was read from."""
    evidence: Evidence
    also: tuple[str, ...]
    """Further citations that print the same value."""
    disagrees: bool
    """Whether another text prints another value."""
    note: str

    @property
    def label(self) -> str:
        """System, size and variant in words."""
        return ", ".join(part for part in (name(self.system), self.size, self.variant) if part)


@dataclass(frozen=True, slots=True)
class Names:
    """The names that rows may refer to."""

    papers: Mapping[str, str]
    systems: Mapping[str, str]
    """Names of systems by slug: the catalogue's, and those that have no record yet."""
    baselines: frozenset[str]
    citations: Mapping[str, Citation]


class _Sources(Record):
    """``sources.toml``."""

    papers: dict[str, str]
    systems: dict[str, str]
    baselines: dict[str, list[str]]
    citations: Citations


def slug(text: str) -> str:
    """``text`` in lower case with a hyphen for everything that is no letter or digit."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


@lru_cache(maxsize=1)
def names() -> Names:
    """Papers, systems, baselines and citations. Raises :class:`BadData` for an invalid file."""
    file = checked(_Sources, read_text(FOLDER / "sources.toml"), "sources.toml")
    citations = {citation.key: citation for citation in file.citations}
    system_names = {system.slug: system.name for system in load_all()}
    return Names(file.papers, file.systems | system_names, frozenset(file.baselines["names"]), shared()[0] | citations)


def name(system: str) -> str:
    """A system's name; a baseline is named by itself."""
    return names().systems.get(system, system)


def read_results(path: Path, plain_names: Names) -> tuple[Result, ...]:
    """The rows of a file. Raises :class:`BadResult` for the first invalid one."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines)
        head = next(rows, [])
        if tuple(head) != COLUMNS:
            raise BadResult(f"{path.name}, line 1: the columns must be {', '.join(COLUMNS)}")
        table: list[Result] = []
        seen: set[tuple[str, ...]] = set()
        for row in rows:
            result = _row(path, rows.line_num, row, plain_names)
            key = (result.system, result.variant, result.size, result.measure.slug)
            if key in seen:
                raise BadResult(f"{path.name}, line {rows.line_num}: the same figure stands in the file already")
            seen.add(key)
            table.append(result)
    if not table:
        raise BadResult(f"{path.name}: no rows")
    return tuple(table)


def _allowed(names: Names) -> dict[str, tuple[Collection[str], str]]:
    """The values that a field may have, and what they are."""
    return {
        "system": (names.systems.keys() | names.baselines, "slug of the catalogue and no baseline of sources.toml"),
        "paper": (names.papers, "paper of sources.toml"),
        "source": (names.citations, "citation"),
        "unit": (UNITS, "unit"),
        "higher_is_better": (("yes", "no"), "yes or no"),
        "disagrees": (("yes", ""), "yes, and not empty"),
        "counted": (("", *COUNTED), f"one of {', '.join(COUNTED)}"),
    }


def _row(path: Path, line: int, cells: list[str], names: Names) -> Result:
    def bad(field: str, reason: str) -> BadResult:
        return BadResult(f"{path.name}, line {line}, {field}: {reason}")

    if len(cells) != len(COLUMNS):
        raise BadResult(f"{path.name}, line {line}: {len(cells)} cells instead of {len(COLUMNS)}")
    row = dict(zip(COLUMNS, cells, strict=True))
    for field, text in row.items():
        if len(text) > _LONGEST or text != text.strip() or not text.isprintable():
            raise bad(field, f"text must be printable, without blanks around it, of {_LONGEST} characters at most")
        if field in NEEDED and not text:
            raise bad(field, "is missing")
    for field, (words, what) in _allowed(names).items():
        if row[field] not in words:
            raise bad(field, f"{row[field]!r} is no {what}")
    for field, (pattern, what) in _PATTERNS.items():
        if not re.fullmatch(pattern, row[field]):
            raise bad(field, f"{row[field]!r} is no {what}")
    source = names.citations[row["source"]]
    if row["evidence"] != source.evidence:
        raise bad("evidence", f"{row['evidence']!r}, but {source.key} was read as {source.evidence!r}")
    also = tuple(row["also"].split(";")) if row["also"] else ()
    if strange := [key for key in also if key not in names.citations]:
        raise bad("also", f"{strange[0]!r} is no citation")
    if row["place"] and source.evidence == "source document":
        raise bad("place", "only a place that was seen may be named, and here only a source document was read")
    if bool(row["parameters"]) != bool(row["counted"]):
        raise bad("counted", "says where the parameters come from, and only that")
    values: dict[str, Any] = {
        field: row[field] for field in ("system", "variant", "size", "counted", "paper", "version", "place", "note")
    }
    return Result(
        **values,
        table=path.stem,
        parameters=int(row["parameters"]) if row["parameters"] else None,
        measure=Measure(row["dataset"], row["split"], row["metric"], row["unit"], row["higher_is_better"] == "yes"),
        value=float(row["value"]),
        printed=row["value"],
        source=source.key,
        evidence=source.evidence,
        also=also,
        disagrees=row["disagrees"] == "yes",
    )


@lru_cache(maxsize=1)
def results() -> tuple[Result, ...]:
    """All results, file by file. Raises :class:`BadResult`, also where a measure has two units or two directions."""
    rows = tuple(result for path in sorted(FOLDER.glob("*.csv")) for result in read_results(path, names()))
    by_slug: dict[str, Measure] = {}
    for result in rows:
        first = by_slug.setdefault(result.measure.slug, result.measure)
        if first != result.measure:
            raise BadResult(f"{result.table}.csv: {result.measure} has another unit, way or spelling than {first}")
    return rows


@lru_cache(maxsize=1)
def tables() -> Mapping[str, tuple[Result, ...]]:
    """The results by table, which is the name of the file."""
    by_table: dict[str, list[Result]] = {}
    for result in results():
        by_table.setdefault(result.table, []).append(result)
    return {table: tuple(rows) for table, rows in by_table.items()}


def measures(rows: Iterable[Result]) -> tuple[Measure, ...]:
    """The measures of ``rows``, in the order of their first appearance."""
    return tuple(dict.fromkeys(result.measure for result in rows))


def paper(key: str) -> str:
    return names().papers[key]


def citation(key: str) -> Citation:
    return names().citations[key]


def of_system(slug: str) -> tuple[Result, ...]:
    """The results of a system; may be empty."""
    return tuple(result for result in results() if result.system == slug)


def differences(rows: Iterable[Result]) -> tuple[tuple[str, dict[str, str | int]], ...]:
    """How rows of one measure differ besides their systems, by name with what its sentence names; may be empty."""
    rows = tuple(rows)
    reasons: list[tuple[str, dict[str, str | int]]] = []
    papers = list(dict.fromkeys(row.paper for row in rows))
    if len(papers) > 1:
        reasons.append(("papers", {"count": len(papers), "papers": "; ".join(map(paper, papers))}))
    versions = list(dict.fromkeys((row.paper, row.version) for row in rows if row.version))
    crossed = [key for key in papers if len([1 for other, _ in versions if other == key]) > 1]
    for key in crossed:
        kinds = ", ".join(version for other, version in versions if other == key)
        reasons.append(("versions", {"paper": paper(key), "versions": kinds}))
    for kind, mark in (("ensembles", "ensemble"), ("zero-shot", "zero-shot")):
        if 0 < sum(mark in row.variant for row in rows) < len(rows):
            reasons.append((kind, {}))
    return tuple(reasons)
