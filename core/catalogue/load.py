"""Reading records: one TOML file a system, found by looking into the folder.

A record names its citations in ``[citations.KEY]`` tables; citations that many records share (the five source
documents, the library, our own computation) stand once in ``data/shared.toml``. A record that uses a key which neither
of them has, or lacks a field, does not load: the error names the file and the field.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from core.catalogue.schema import (
    BRANCHES,
    EVIDENCE,
    KINDS,
    STATEMENTS,
    Ancestor,
    Branch,
    Citation,
    Correction,
    Fact,
    HubCheckpoint,
    Live,
    Paper,
    Size,
    Statement,
    System,
)

DATA = Path(__file__).parent / "data"
SYSTEMS = DATA / "systems"

Table = dict[str, Any]

NOT_YET_EVERYWHERE = ("unknown", "batch")
"""Statements that older records may still lack."""


class BadRecord(ValueError):
    """A data file that does not fit the schema: a defect of the data, not of a visitor's request."""


def _keys(value: str | list[str]) -> tuple[str, ...]:
    """``"a"`` and ``["a", "b"]`` are both allowed where citation keys are named."""
    return (value,) if isinstance(value, str) else tuple(value)


def _statement(table: Table) -> Statement:
    return Statement(text=table["text"], sources=_keys(table["source"]))


def _statements(table: Table) -> dict[str, Any]:
    """The described properties of a record by field."""
    return {
        field: None if field in NOT_YET_EVERYWHERE and field not in table else _statement(table[field])
        for field, _ in STATEMENTS
    }


def citation(key: str, table: Table) -> Citation:
    """One citation from its table. Raises :class:`BadRecord` for evidence of no known kind."""
    if table["evidence"] not in EVIDENCE:
        raise BadRecord(f"citation {key}: evidence {table['evidence']!r} is none of {', '.join(EVIDENCE)}")
    return Citation(
        key=key,
        title=table["title"],
        authors=table.get("authors", ""),
        year=table.get("year"),
        url=table.get("url"),
        evidence=table["evidence"],
        read=table["read"],
    )


def _size(table: Table, only: bool) -> Size:
    return Size(
        name=table["name"],
        architecture=table["architecture"],
        config=table["config"],
        overrides=table.get("overrides", {}),
        default=table.get("default", only),
        published=table.get("published"),
        published_as=table.get("published_as", ""),
        source=table.get("source", ""),
        config_source=table["config_source"],
        comparable=table.get("comparable", True),
        note=table.get("note", ""),
    )


def _hub(table: Table) -> HubCheckpoint:
    if table["kind"] not in KINDS:
        raise BadRecord(f"hub {table['id']}: kind {table['kind']!r} is none of {', '.join(KINDS)}")
    return HubCheckpoint(
        id=table["id"],
        short_name=table["id"].split("/")[-1],
        kind=table["kind"],
        size=table.get("size", ""),
        source=table["source"],
        note=table.get("note", ""),
    )


def _used(table: Table) -> Iterable[str]:
    """All citation keys that a record names, in reading order, with repeats."""
    for field, _ in STATEMENTS:
        if field in table or field not in NOT_YET_EVERYWHERE:
            yield from _keys(table[field]["source"])
    for size in table["sizes"]:
        yield from (size[name] for name in ("source", "config_source") if size.get(name))
    for row in table.get("facts", []):
        yield row["source"]
    for row in table.get("notes", []):
        yield from _keys(row["source"])
    for row in table.get("corrections", []):
        yield row["claimed_by"]
        yield from _keys(row["source"])
    for row in table.get("hub", []):
        yield row["source"]


def parse(text: str, shared: dict[str, Citation]) -> System:
    """One record from its TOML text. Raises :class:`BadRecord` when a field or a citation is missing or wrong."""
    table = tomllib.loads(text)
    try:
        own = {key: citation(key, row) for key, row in table.get("citations", {}).items()}
        known = shared | own
        missing = sorted({key for key in _used(table) if key not in known})
        if missing:
            raise BadRecord(f"no citation named {', '.join(missing)}")
        branches = tuple(table["branches"])
        if not branches or any(branch not in BRANCHES for branch in branches):
            raise BadRecord(f"branches {branches} are not all among {', '.join(BRANCHES)}")
        live = table["live"]
        return System(
            slug=table["slug"],
            name=table["name"],
            year=table["year"],
            month=table["month"],
            organisation=table["organisation"],
            paper=Paper(url=table["paper"].get("url"), **{k: v for k, v in table["paper"].items() if k != "url"}),
            code=table.get("code"),
            parent=table.get("parent"),
            branches=cast(tuple[Branch, ...], branches),
            change=table["change"],
            why=table["why"],
            **_statements(table),
            sizes=tuple(_size(row, only=len(table["sizes"]) == 1) for row in table["sizes"]),
            facts=tuple(Fact(**{"unit": "", **row}) for row in table.get("facts", [])),
            hub=tuple(_hub(row) for row in table.get("hub", [])),
            live=Live(checkpoint=live["checkpoint"], exact=live["exact"], note=live["note"]),
            notes=tuple(_statement(row) for row in table.get("notes", [])),
            corrections=tuple(
                Correction(row["claim"], row["claimed_by"], row["finding"], _keys(row["source"]))
                for row in table.get("corrections", [])
            ),
            citations=tuple(known[key] for key in dict.fromkeys(_used(table))),
        )
    except (KeyError, TypeError) as error:
        raise BadRecord(f"record {table.get('slug', '?')}: {error!r}") from error


@lru_cache(maxsize=1)
def shared() -> tuple[dict[str, Citation], tuple[Ancestor, ...]]:
    """The citations that records share, by key, and the ancestors without a record."""
    table = tomllib.loads((DATA / "shared.toml").read_text(encoding="utf-8"))
    citations = {key: citation(key, row) for key, row in table["citations"].items()}
    return citations, tuple(Ancestor(**row) for row in table["ancestors"])


@lru_cache(maxsize=1)
def load_all() -> tuple[System, ...]:
    """Every record of the folder, oldest first, then by name. Read once a process."""
    common, _ = shared()
    records = []
    for path in sorted(SYSTEMS.glob("*.toml")):
        try:
            record = parse(path.read_text(encoding="utf-8"), common)
        except (BadRecord, tomllib.TOMLDecodeError) as error:
            raise BadRecord(f"{path.name}: {error}") from error
        if record.slug != path.stem:
            raise BadRecord(f"{path.name}: the file's name and the slug {record.slug!r} differ")
        records.append(record)
    return tuple(sorted(records, key=lambda record: (record.year, record.month, record.name.lower())))
