"""Results that papers print, as tidy data: one row is one figure, and one file is one table.

A row says whose figure it is (system, variant, size), of what (data set, split, metric, unit, which way is better),
and where it comes from (paper, its version, the table if that was seen, the source that was read, and how). Two
figures may stand in one picture only when data set, split and metric are the same: that is a :class:`Measure`, and
everything that draws asks for one. Rows are in ``data/results/*.csv``; papers, sources and plain names in
``data/results/sources.toml``. A row that does not fit is refused with its file, line and field.
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
from core.catalogue.schema import Citation, Citations, Evidence, Row

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
    """A row that does not fit; the message names the file, the line, the field and the reason."""


@dataclass(frozen=True, slots=True)
class Measure:
    """What was measured: figures are comparable only within one of these."""

    dataset: str
    split: str
    metric: str
    unit: str
    higher: bool
    """True where a larger figure is better."""

    @property
    def slug(self) -> str:
        """The measure as a word for links, e.g. ``mnli-matched.dev.accuracy``."""
        return ".".join(slug(part) for part in (self.dataset, self.split, self.metric))

    @property
    def title(self) -> str:
        """The measure in words, e.g. ``MNLI matched, dev: accuracy (%)``."""
        unit = f" ({self.unit})" if self.unit and self.unit not in self.metric else ""
        split = "" if self.split == "not stated" else f", {self.split}"
        return f"{self.dataset}{split}: {self.metric}{unit}"


@dataclass(frozen=True, slots=True)
class Result:
    """One figure of one table. ``printed`` is the figure as the source prints it, ``value`` the same as a number."""

    table: str
    """Name of the file, which holds one table."""
    system: str
    """A slug of the catalogue, or the plain name of a baseline."""
    variant: str
    size: str
    parameters: int | None
    """Parameters of that size, for pictures against size; None where they are unknown or beside the point."""
    counted: str
    """``published`` or ``computed here``: where ``parameters`` comes from."""
    measure: Measure
    value: float
    printed: str
    paper: str
    """Key of the paper whose table this is."""
    version: str
    place: str
    """Table or section; empty where it was not seen."""
    source: str
    """Key of the citation that was read."""
    evidence: Evidence
    also: tuple[str, ...]
    """Further citations that print the same figure."""
    disagrees: bool
    """True where another text prints another figure for the same thing."""
    note: str

    @property
    def label(self) -> str:
        """Whose figure it is, in words."""
        return ", ".join(part for part in (name(self.system), self.size, self.variant) if part)


@dataclass(frozen=True, slots=True)
class Names:
    """What rows may refer to."""

    papers: Mapping[str, str]
    systems: Mapping[str, str]
    """Names of systems by slug: the catalogue's, and those that have no record yet."""
    baselines: frozenset[str]
    citations: Mapping[str, Citation]


class _Sources(Row):
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
    """Papers, systems, baselines and citations that rows may name. Raises :class:`BadData` for a bad file."""
    file = checked(_Sources, read_text(FOLDER / "sources.toml"), "sources.toml")
    own = {citation.key: citation for citation in file.citations}
    known = {system.slug: system.name for system in load_all()}
    return Names(file.papers, file.systems | known, frozenset(file.baselines["names"]), shared()[0] | own)


def name(system: str) -> str:
    """A system's name; a baseline's plain name is itself."""
    return names().systems.get(system, system)


def read(path: Path, plain_names: Names) -> tuple[Result, ...]:
    """The rows of one file. Raises :class:`BadResult` for the first that does not fit."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines)
        head = next(rows, [])
        if tuple(head) != COLUMNS:
            raise BadResult(f"{path.name}, line 1: the columns must be {', '.join(COLUMNS)}")
        found: list[Result] = []
        seen: set[tuple[str, ...]] = set()
        for row in rows:
            result = _row(path, rows.line_num, row, plain_names)
            key = (result.system, result.variant, result.size, result.measure.slug)
            if key in seen:
                raise BadResult(f"{path.name}, line {rows.line_num}: the same figure stands in the file already")
            seen.add(key)
            found.append(result)
    if not found:
        raise BadResult(f"{path.name}: no rows")
    return tuple(found)


def _row(path: Path, line: int, cells: list[str], known: Names) -> Result:
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
    allowed: dict[str, tuple[Collection[str], str]] = {
        "system": (known.systems.keys() | known.baselines, "slug of the catalogue and no baseline of sources.toml"),
        "paper": (known.papers, "paper of sources.toml"),
        "source": (known.citations, "citation"),
        "unit": (UNITS, "unit"),
        "higher_is_better": (("yes", "no"), "yes or no"),
        "disagrees": (("yes", ""), "yes, and not empty"),
        "counted": (("", *COUNTED), f"one of {', '.join(COUNTED)}"),
    }
    for field, (words, what) in allowed.items():
        if row[field] not in words:
            raise bad(field, f"{row[field]!r} is no {what}")
    for field, (pattern, what) in _PATTERNS.items():
        if not re.fullmatch(pattern, row[field]):
            raise bad(field, f"{row[field]!r} is no {what}")
    source = known.citations[row["source"]]
    if row["evidence"] != source.evidence:
        raise bad("evidence", f"{row['evidence']!r}, but {source.key} was read as {source.evidence!r}")
    also = tuple(row["also"].split(";")) if row["also"] else ()
    if strange := [key for key in also if key not in known.citations]:
        raise bad("also", f"{strange[0]!r} is no citation")
    if row["place"] and source.evidence == "source document":
        raise bad("place", "only a place that was seen may be named, and here only a source document was read")
    if bool(row["parameters"]) != bool(row["counted"]):
        raise bad("counted", "says where the parameters come from, and only that")
    own: dict[str, Any] = {
        field: row[field] for field in ("system", "variant", "size", "counted", "paper", "version", "place", "note")
    }
    return Result(
        **own,
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
    """Every figure, file by file. Raises :class:`BadResult`; also where one measure goes by two units or two ways."""
    found = tuple(result for path in sorted(FOLDER.glob("*.csv")) for result in read(path, names()))
    ways: dict[str, Measure] = {}
    for result in found:
        first = ways.setdefault(result.measure.slug, result.measure)
        if first != result.measure:
            raise BadResult(f"{result.table}.csv: {result.measure} has another unit, way or spelling than {first}")
    return found


@lru_cache(maxsize=1)
def tables() -> Mapping[str, tuple[Result, ...]]:
    """The figures by table, which is the name of the file."""
    found: dict[str, list[Result]] = {}
    for result in results():
        found.setdefault(result.table, []).append(result)
    return {table: tuple(rows) for table, rows in found.items()}


def measures(rows: Iterable[Result]) -> tuple[Measure, ...]:
    """The measures of ``rows``, in the order of their first figure."""
    return tuple(dict.fromkeys(result.measure for result in rows))


def paper(key: str) -> str:
    """A paper in a few words."""
    return names().papers[key]


def citation(key: str) -> Citation:
    """Where a figure was read."""
    return names().citations[key]


def of_system(slug: str) -> tuple[Result, ...]:
    """Every figure of one system; empty where there is none."""
    return tuple(result for result in results() if result.system == slug)


def differences(rows: Iterable[Result]) -> tuple[str, ...]:
    """What sets rows of one measure apart besides their systems: a sentence for each thing, none where nothing does."""
    rows = tuple(rows)
    said: list[str] = []
    papers = list(dict.fromkeys(row.paper for row in rows))
    if len(papers) > 1:
        said.append(
            f"These figures come from {len(papers)} papers, which trained, tuned and chose their runs differently: "
            + "; ".join(map(paper, papers))
            + "."
        )
    versions = list(dict.fromkeys((row.paper, row.version) for row in rows if row.version))
    crossed = [key for key in papers if len([1 for other, _ in versions if other == key]) > 1]
    for key in crossed:
        kinds = ", ".join(version for other, version in versions if other == key)
        said.append(f"{paper(key)} is here in more than one version: {kinds}.")
    ensembles = [row for row in rows if "ensemble" in row.variant]
    if ensembles and len(ensembles) < len(rows):
        said.append("Some are ensembles of several models, which do better than one: their labels say so.")
    zero = [row for row in rows if "zero-shot" in row.variant]
    if zero and len(zero) < len(rows):
        said.append("Some models were never trained on this data (zero-shot), others were.")
    return tuple(said)
