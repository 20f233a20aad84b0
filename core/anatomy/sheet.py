"""The big table: fourteen properties of every system, from its record, with the parameters counted in its trees.

All columns but the last are those of source 001's table of models; what stands in them comes from the records, where
the source's errors are corrected. A property that no source states stays empty. No torch here. Its CSV file has
sources in a column beside each property.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from core import catalogue
from core.anatomy.meaning import Piece, pieces, stacks
from core.anatomy.store import counts, tree
from core.catalogue.load import shared
from core.catalogue.schema import Citation, Statement, System
from core.errors import AtlasError
from core.table import Table

MISSING = "not found by us"


@dataclass(frozen=True, slots=True)
class Column:
    slug: str
    heading: str
    field: str = ""
    """The record's statement that it shows; empty for a computed column."""


COLUMNS: tuple[Column, ...] = (
    Column("name", "Name"),
    Column("type", "Type"),
    Column("objective", "Objective", "objective"),
    Column("tokeniser", "Tokenization", "tokenizer"),
    Column("vocabulary", "Vocabulary", "vocabulary"),
    Column("unknown", "Unknown tokens", "unknown"),
    Column("embeddings", "Embeddings", "embeddings"),
    Column("attention", "Attention", "attention"),
    Column("activation", "Activations", "activation"),
    Column("parameters", "Parameters"),
    Column("training", "Training", "budget"),
    Column("data", "Data", "data"),
    Column("batch", "Batch", "batch"),
    Column("availability", "License and availability", "availability"),
)


@dataclass(frozen=True, slots=True)
class Cell:
    """A system's entry in one column."""

    lines: tuple[str, ...]
    """Empty where nothing was found."""
    citations: tuple[Citation, ...] = ()

    @property
    def text(self) -> str:
        """All lines joined; a sentence if there is none."""
        return "; ".join(self.lines) or MISSING

    @property
    def evidence(self) -> str:
        """How the sources were read, each way once."""
        return ", ".join(dict.fromkeys(citation.evidence for citation in self.citations))


@dataclass(frozen=True, slots=True)
class SheetRow:
    system: System
    cells: Mapping[str, Cell]
    """By the column's slug."""
    parameters: int
    """Counted, at the size that is shown first."""
    words: int
    """Rows of the embedding matrix at that size; 0 where there is none."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which rows are shown; an empty field filters nothing."""

    anywhere: str = ""
    """Words that must all occur somewhere in the row."""
    within: Mapping[str, str] | None = None
    """By column: words that must all occur in that cell."""
    branch: str = ""
    first: int | None = None
    last: int | None = None
    """Years, both included."""
    live: bool | None = None
    """Whether the architecture itself runs here."""


@lru_cache(maxsize=1)
def sheet() -> tuple[SheetRow, ...]:
    """All systems, oldest first. Read once a process."""
    return tuple(_row(system) for system in catalogue.systems())


def chosen(rows: Iterable[SheetRow], wanted: Filter) -> list[SheetRow]:
    return [row for row in rows if _passes(row, wanted)]


def ordered(rows: Iterable[SheetRow], column: str, *, reverse: bool = False) -> list[SheetRow]:
    """Sorted by a column: parameters and vocabularies by their counts, the name "" by age, all others by their words.

    A cell without anything, and a count that is not known, stand last either way.
    """
    if not column:
        return sorted(rows, key=lambda row: (row.system.year, row.system.month), reverse=reverse)

    def number(row: SheetRow) -> int | None:
        return {"parameters": row.parameters, "vocabulary": row.words}.get(column)

    def key(row: SheetRow) -> tuple[int, str]:
        return number(row) or 0, row.system.name.casefold() if column == "name" else row.cells[column].text.casefold()

    filled: list[SheetRow] = []
    empty: list[SheetRow] = []
    for row in rows:
        (filled if row.cells[column].lines and number(row) != 0 else empty).append(row)
    return [*sorted(filled, key=key, reverse=reverse), *empty]


def _passes(row: SheetRow, wanted: Filter) -> bool:
    system = row.system
    if wanted.branch and wanted.branch not in system.branches:
        return False
    if (wanted.first or 0) > system.year or system.year > (wanted.last or 9999):
        return False
    if wanted.live is not None and system.live.exact != wanted.live:
        return False
    row_text = " ".join(cell.text for cell in row.cells.values())
    within = wanted.within or {}
    return _has(row_text, wanted.anywhere) and all(_has(row.cells[slug].text, words) for slug, words in within.items())


def _has(text: str, words: str) -> bool:
    plain = text.casefold()
    return all(word in plain for word in words.casefold().split())


def _row(system: System) -> SheetRow:
    try:
        root = tree(system.slug)
        counted = counts(system.slug)
        kinds = [stack.kind for stack in stacks(root)]
        words = max(map(_words, pieces(root)), default=0)
    except (AtlasError, OSError):  # a system whose trees are not kept yet still has a row
        counted, kinds, words = {}, [], 0
    cells = {column.slug: _statement(system, getattr(system, column.field)) for column in COLUMNS if column.field}
    cells["name"] = Cell((system.name, f"{system.year}, {system.organization}"))
    cells["type"] = _type(system, kinds)
    cells["parameters"] = _parameters(system, counted)
    first = counted.get(system.default_size.name, 0) if counted else 0
    return SheetRow(system, {column.slug: cells[column.slug] for column in COLUMNS}, first, words)


def _words(piece: Piece) -> int:
    """Rows of an embedding matrix; 0 for anything else."""
    is_table = (piece.part.group, piece.part.slugs) == ("embeddings", ("words",))
    return max((shape[0] for _, shape in piece.tensors), default=0) if is_table else 0


def _statement(system: System, statement: Statement | None) -> Cell:
    if statement is None or (statement.sources == ("words",) and MISSING in statement.text.lower()):
        return Cell(())
    return Cell((statement.text,), tuple(system.citation(key) for key in statement.sources))


def _type(system: System, kinds: list[str]) -> Cell:
    """The type of the network, and the branches that list the system."""
    names = {"encoder": "encoder", "decoder": "decoder", "image": "image encoder"}
    built = " and ".join(names[kind] for kind in kinds) or system.branch.replace("-", " and ")
    listed = ", ".join(system.branches)
    lines = (built.capitalize(),) if listed == built else (built.capitalize(), f"listed here under {listed}")
    return Cell(lines, (shared()[0]["words"],))


def _parameters(system: System, counted: Mapping[str, int]) -> Cell:
    """Every size as published and as counted; where no architecture was published, the sentence that says so."""
    if system.undisclosed:
        sentence = system.undisclosed.partition(". ")[0].removesuffix(".") + "."
        return Cell((sentence,), tuple(system.citation(key) for key in system.attention.sources))
    lines = []
    keys: dict[str, Citation] = {}
    for size in system.sizes:
        said = f"published {size.published_as}" if size.published_as else "no published figure"
        count = f"counted {counted[size.name]:,}" if size.name in counted else "not counted"
        lines.append(f"{size.name}: {said}, {count}")
        if size.source:
            keys[size.source] = system.citation(size.source)
    return Cell(tuple(lines), (*keys.values(), shared()[0]["computed"]))


_HEADINGS = {column.slug: column.heading for column in COLUMNS}


def sheet_table(rows: Sequence[SheetRow], columns: Sequence[str]) -> Table:
    """A row for each system; after each property a column that names its sources and how they were read."""
    return Table(
        tuple(text for slug in columns for text in (_HEADINGS[slug], f"{_HEADINGS[slug]}: read in")),
        tuple(
            tuple(
                text
                for cell in (row.cells[slug] for slug in columns)
                for text in (cell.text, "; ".join(map(cited, cell.citations)))
            )
            for row in rows
        ),
    )


def cited(citation: Citation) -> str:
    """A source in one line: who, what, when, how it was read, where."""
    who = f"{citation.authors}: " if citation.authors else ""
    when = f" ({citation.year})" if citation.year else ""
    where = f" {citation.url}" if citation.url else ""
    return f"{who}{citation.title}{when}. {citation.evidence.capitalize()}: {citation.read}{where}"


Marked = tuple[tuple[str, bool], ...]
"""Runs of a text with the blanks between them, and whether the other text lacks the run."""

_PIECES = re.compile(r"\S+|\s+")
_EDGES = re.compile(r"^\W+|[^\w%]+$")


def marked(text: str, others: Sequence[str]) -> Marked:
    """``text`` in spans; a word is marked if none of ``others`` has it at the corresponding position."""
    pieces = _PIECES.findall(text)
    places = [at for at, piece in enumerate(pieces) if not piece.isspace()]
    words = [_plain(pieces[at]) for at in places]
    shared: set[int] = set() if others else set(range(len(words)))
    for other in others:
        matcher = SequenceMatcher(None, words, [_plain(word) for word in other.split()], autojunk=False)
        shared.update(at for block in matcher.get_matching_blocks() for at in range(block.a, block.a + block.size))
    new = {index for at, index in enumerate(places) if at not in shared}
    # a blank between two marked words belongs to them, so that a changed phrase is one run
    new |= {at for at, piece in enumerate(pieces) if piece.isspace() and at - 1 in new and at + 1 in new}
    runs: list[tuple[str, bool]] = []
    for at, piece in enumerate(pieces):
        if runs and runs[-1][1] == (at in new):
            runs[-1] = (runs[-1][0] + piece, at in new)
        else:
            runs.append((piece, at in new))
    return tuple(runs)


def _plain(word: str) -> str:
    return _EDGES.sub("", word).casefold() or word
