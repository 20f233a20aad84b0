"""A study: a paper's claim, repeated here at a small size; ``assets/studies/<name>/study.toml`` and ``results.csv``.

``study.toml`` holds the claim and its source, what was varied and what was held, the axes, the baselines and the
verdict, a sentence whose ``{{numbers}}`` are computed from the rows of ``results.csv``; ``holds`` are the comparisons
that it rests on. ``python -m lab study NAME`` measures the rows.
"""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import log, sqrt
from pathlib import Path
from statistics import fmean, linear_regression, stdev
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from core.errors import ContentUnusable
from core.settings import ASSETS

ROOT = ASSETS / "studies"
Cell = str | int | float
StudyRow = Mapping[str, Cell]
Where = dict[str, Cell | list[Cell]]
"""The value of a column, or those that it may have."""
Unit = Literal["share", "points", "count", "number", "bytes", "seconds", "nats", "bits"]
StudyKind = Literal["curves", "points", "front"]


@dataclass(frozen=True, slots=True)
class Spread:
    """Values of several seeds."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Their mean."""
        return fmean(self.values)

    @property
    def deviation(self) -> float:
        """Their sample standard deviation; 0 of a single one."""
        return stdev(self.values) if len(self.values) > 1 else 0.0

    @property
    def error(self) -> float:
        """The standard error of the mean; 0 of a single value."""
        return self.deviation / sqrt(len(self.values))

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest."""
        return min(self.values), max(self.values)

    def minus(self, other: Spread) -> Spread:
        """The differences seed by seed."""
        return Spread(tuple(a - b for a, b in zip(self.values, other.values, strict=True)))

    @property
    def positive(self) -> bool:
        """Whether the mean exceeds twice its standard error."""
        return self.mean > 2 * self.error


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Axis(_Strict):
    """A column on an axis."""

    column: str
    title: str
    name: str = ""
    """In the control that chooses among several axes."""
    unit: Unit = "number"
    log: bool = False
    better: Literal["higher", "lower"] = "higher"
    names: dict[str, str] = {}
    """Of single values; the axis then has one tick for each."""
    low: str = ""
    high: str = ""
    """Columns with the interval of each row, where a row is not one of several seeds."""


class Series(_Strict):
    """A line for each value of a column; ``{}`` in ``name`` is the value."""

    column: str
    name: str = "{}"
    names: dict[str, str] = {}

    def label(self, value: Cell) -> str:
        written = f"{value:,}" if isinstance(value, int) else str(value)
        return self.names.get(str(value), self.name.replace("{}", written))


class StudyChoice(_Strict):
    """A control that selects the rows with one value of a column."""

    column: str
    label: str
    name: str = "{}"
    names: dict[str, str] = {}
    default: str = ""


class Baseline(_Strict):
    """A line to compare with: level if its rows have one x."""

    name: str
    where: Where
    follows: list[str] = []
    """Columns whose choice it follows."""


class Number(_Strict):
    """A number of the verdict: of rows, or the difference or ratio of two other numbers."""

    unit: Unit = "number"
    column: str = ""
    where: Where = {}
    stat: Literal["mean", "seeds", "rows", "best", "slope", "least", "most"] = "mean"
    by: str = ""
    """best: the column whose least mean it takes; slope: the column on the other logarithmic axis."""
    of: str = ""
    minus: str = ""
    over: str = ""


class Study(_Strict):
    """A study; ``rows`` reads its results."""

    name: str
    claim: str
    source: str
    varied: str
    held: str
    corpus: bool = False
    """Whether it is repeated with a folder of texts."""
    seeds: list[str]
    """The columns that number the repetitions of a setting."""
    kind: StudyKind = "curves"
    about: str = ""
    """What a point is, with the columns of its row in ``{}``, where its place does not tell."""
    x: list[Axis]
    y: list[Axis]
    series: Series
    where: Where = {}
    choices: list[StudyChoice] = []
    baselines: list[Baseline] = []
    verdict: str
    numbers: dict[str, Number]
    holds: list[str]
    """Comparisons of two numbers of the verdict, or of one with a number: ``a < b``; ``a << b``: by more than two
    standard errors of their paired differences."""

    @property
    def command(self) -> str:
        """What repeats it."""
        return f"python -m lab study {self.name}{' --corpus FOLDER' * self.corpus}"

    @cached_property
    def rows(self) -> tuple[StudyRow, ...]:
        return read_rows(results(self.name))

    def values(self, column: str, where: Where | None = None) -> list[Cell]:
        """The values of a column, in the order of the rows."""
        return list(dict.fromkeys(row[column] for row in select(self.rows, where or {})))

    def spread(self, column: str, rows: Sequence[StudyRow]) -> Spread:
        """The values of a column, by seed.

        Raises:
            ContentUnusable: there are none.
        """
        if not rows:
            raise ContentUnusable(f"studies/{self.name}: no row of results.csv has the wanted {column}.")
        return Spread(tuple(float(row[column]) for row in sorted(rows, key=self._seed)))

    def _seed(self, row: StudyRow) -> tuple[Cell, ...]:
        return tuple(row[column] for column in self.seeds)

    def curve(self, x: str, y: str, rows: Sequence[StudyRow]) -> dict[Cell, Spread]:
        """The spread of ``y`` over the seeds at each ``x``, by ``x``."""
        measured = [row for row in rows if row[y] != ""]
        return {
            at: self.spread(y, [row for row in measured if row[x] == at])
            for at in sorted({row[x] for row in measured}, key=order)
        }

    def number(self, name: str) -> Spread:
        """A number of the verdict; its values are those of the seeds.

        Raises:
            ContentUnusable: there is none of that name, or no row for it.
        """
        number = self.numbers.get(name)
        if number is None:
            raise ContentUnusable(f"studies/{self.name}/study.toml has no number “{name}”.")
        if number.of:
            minuend = self.number(number.of)
            if number.minus:
                return minuend.minus(self.number(number.minus))
            return Spread((minuend.mean / self.number(number.over).mean,))
        rows = select(self.rows, number.where)
        match number.stat:
            case "seeds":
                return Spread((len({self._seed(row) for row in rows}),))
            case "rows":
                return Spread((len(rows),))
            case "best":
                means = self.curve(number.column, number.by, rows)
                return Spread((float(min(means, key=lambda at: means[at].mean)),))
            case "slope":
                means = self.curve(number.by, number.column, rows)
                x, y = [log(float(at)) for at in means], [log(spread.mean) for spread in means.values()]
                return Spread((linear_regression(x, y).slope,))
            case "least" | "most":
                least, most = self.spread(number.column, rows).ends
                return Spread((least if number.stat == "least" else most,))
        return self.spread(number.column, rows)

    def broken(self) -> list[str]:
        """The comparisons of ``holds`` that the rows do not bear out.

        Raises:
            ContentUnusable: one cannot be read.
        """
        return [comparison for comparison in self.holds if not self._holds(comparison)]

    def _holds(self, comparison: str) -> bool:
        parts = re.fullmatch(r"(\S+) (<<?) (\S+)", comparison)
        if parts is None:
            raise ContentUnusable(f"studies/{self.name}/study.toml: “{comparison}” is no comparison such as a < b.")
        low, high = (self._side(side) for side in (parts[1], parts[3]))
        if parts[2] == "<":
            return low.mean < high.mean
        count = max(len(low.values), len(high.values))
        low, high = (Spread(side.values * count if len(side.values) == 1 else side.values) for side in (low, high))
        return high.minus(low).positive

    def _side(self, text: str) -> Spread:
        try:
            return Spread((float(text),))
        except ValueError:
            return self.number(text)

    def conclusion(self, written: Callable[[Spread, Unit], str]) -> str:
        """The verdict with its numbers as ``written``."""

        def value(match: re.Match[str]) -> str:
            return written(self.number(match[1]), self.numbers[match[1]].unit)

        return re.sub(r"\{\{([a-z0-9_]+)\}\}", value, self.verdict)


def results(name: str) -> Path:
    """The file of a study's rows."""
    return ROOT / name / "results.csv"


def order(cell: Cell) -> tuple[bool, Cell]:
    """The key that sorts cells: numbers, then texts."""
    return isinstance(cell, str), cell


def select(rows: Sequence[StudyRow], where: Mapping[str, Cell | list[Cell]]) -> list[StudyRow]:
    """The rows that have the values."""
    allowed = {column: value if isinstance(value, list) else [value] for column, value in where.items()}
    return [row for row in rows if all(row[column] in values for column, values in allowed.items())]


def front(points: Sequence[tuple[float, float]], better: Literal["higher", "lower"]) -> list[tuple[float, float]]:
    """The Pareto front: the points (x, y) for which no other has at most the x and a better y."""
    kept: list[tuple[float, float]] = []
    sign = 1 if better == "higher" else -1
    for x, y in sorted(points, key=lambda point: (point[0], -sign * point[1])):
        if not kept or sign * y > sign * kept[-1][1]:
            kept.append((x, y))
    return kept


def read_rows(file: Path) -> tuple[StudyRow, ...]:
    """The rows of a CSV file, with numbers as numbers.

    Raises:
        ContentUnusable: it cannot be read.
    """
    try:
        with file.open(encoding="utf-8", newline="") as stream:
            return tuple({column: _cell(text) for column, text in row.items()} for row in csv.DictReader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ContentUnusable(f"studies/{file.parent.name}/results.csv cannot be read: {error}.") from error


def _cell(text: str) -> Cell:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


@lru_cache(maxsize=32)
def get(name: str) -> Study:
    """The study of a folder.

    Raises:
        ContentUnusable: its ``study.toml`` is missing or wrong; the message names the field.
    """
    where = f"studies/{name}/study.toml"
    try:
        return Study(name=name, **tomllib.loads((ROOT / name / "study.toml").read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ContentUnusable(f"{where} cannot be read: {error}.") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise ContentUnusable(f"{where}: {'.'.join(map(str, first['loc']))}: {first['msg']}.") from error


def names() -> list[str]:
    """The studies' folders."""
    return sorted(path.parent.name for path in ROOT.glob("*/study.toml"))
