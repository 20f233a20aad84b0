"""Reads records: one TOML file per system, discovered in its folder.

A record has its citations in ``[citations.KEY]`` tables; citations that records share (the five source documents, the
library, our own computation) are in ``data/shared.toml``. A file is validated as a whole: a :class:`BadRecord` names
the file and, for each fault, the field and the reason.
"""

from __future__ import annotations

import datetime
import os
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from core import settings
from core.catalogue.schema import Citation, Milestone, Record, SharedFile, System
from core.errors import AtlasError, SettingUnusable

DATA = Path(__file__).parent / "data"
SYSTEMS = DATA / "systems"

File = TypeVar("File", bound=Record)


class BadData(AtlasError, ValueError):
    """An invalid data file; its author reads the message on the page."""


class BadRecord(BadData):
    """An invalid record, with a line for each fault."""

    def __init__(self, file: str, reasons: list[str]) -> None:
        super().__init__("\n".join(f"{file}: {reason}" for reason in reasons))


def parse(text: str, shared: dict[str, Citation], file: str = "record") -> System:
    """One record from its TOML text.

    Raises :class:`BadRecord`, with a line for each fault that begins with ``file`` and the field.
    """
    record = checked(System, text, file)
    citations = shared | {citation.key: citation for citation in record.citations}
    wrong = [f"{field}: {_no_such('citation', key, citations)}" for field, key in record.used() if key not in citations]
    if wrong:
        raise BadRecord(file, wrong)
    used = dict.fromkeys(key for _, key in record.used())
    return record.model_copy(update={"citations": tuple(citations[key] for key in used)})


def checked(kind: type[File], text: str, file: str) -> File:
    """A data file validated as ``kind``. Raises :class:`BadRecord`, with a line for each fault."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadRecord(file, [f"is not TOML: {error}"]) from error
    try:
        return kind.model_validate(table)
    except ValidationError as error:
        raise BadRecord(file, faults(error, kind, table)) from error


def _no_such(what: str, name: str, names: Iterable[str]) -> str:
    close = get_close_matches(name, sorted(names), n=2, cutoff=0.6)
    return f"there is no {what} named {name!r}" + (f"; is {' or '.join(close)} meant?" if close else "")


def read_text(path: Path) -> str:
    """The text of a data file. Raises :class:`BadRecord` where it is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        where = error.object.count(b"\n", 0, error.start) + 1
        raise BadRecord(path.name, [f"line {where}: is not UTF-8 text; save the file as UTF-8"]) from error


@lru_cache(maxsize=1)
def shared() -> tuple[dict[str, Citation], tuple[Milestone, ...]]:
    """The shared citations by key, and the milestones without a record."""
    path = DATA / "shared.toml"
    table = checked(SharedFile, read_text(path), path.name)
    citations = {citation.key: citation for citation in table.citations}
    wrong = [
        f"milestones “{row.slug}”.source: {_no_such('citation', key, citations)}"
        for row in table.milestones
        for key in row.sources
        if key not in citations
    ]
    if wrong:
        raise BadRecord(path.name, wrong)
    return citations, table.milestones


@lru_cache(maxsize=1)
def _moved() -> dict[str, Any]:
    return tomllib.loads(read_text(DATA / "moved.toml"))


def moved_views() -> tuple[dict[str, Any], ...]:
    """Views that another section shows today, those that name most of a query first; the file says what each names."""
    return tuple(sorted(_moved()["views"], key=lambda row: -len(row["when"])))


@lru_cache(maxsize=1)
def moved_sizes() -> dict[tuple[str, str], tuple[str, str]]:
    """Sizes that became a system of their own, by the system and size that older links carry."""
    rows = _moved()["sizes"]
    return {(old[0], old[1]): (new[0], new[1]) for old, new in ((a.split(), b.split()) for a, b in rows.items())}


@lru_cache(maxsize=1)
def load_all() -> tuple[System, ...]:
    """All records, oldest first, then by name; read once per process."""
    common, milestones = shared()
    records = []
    for path in sorted(SYSTEMS.glob("*.toml")):
        record = parse(read_text(path), common, path.name)
        if record.slug != path.stem:
            raise BadRecord(path.name, [f"slug: it is {record.slug!r} and must be the file's name, {path.stem!r}"])
        records.append(record)
    parents = {row.slug: row.parent for row in milestones} | {record.slug: record.parent for record in records}
    for record in records:
        if record.parent is not None and record.parent not in parents:
            reason = f"parent: {_no_such('system or milestone', record.parent, parents)}"
            raise BadRecord(f"{record.slug}.toml", [reason])
    for slug, reason in circular_parents(parents):
        raise BadRecord(f"{slug}.toml", [reason])
    published = {checkpoint.short_name for record in records for checkpoint in record.hub}
    for record in records:
        if fault := unknown_model(record.live.checkpoint, published):
            raise BadRecord(f"{record.slug}.toml", [fault])
    return tuple(sorted(records, key=lambda record: (record.year, record.month, record.name.lower())))


def circular_parents(parents: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
    """Slugs whose chain of parents returns to themselves, each with the fault."""
    for slug in parents:
        line: list[str] = [slug]
        while (parent := parents.get(line[-1])) is not None and parent not in line:
            line.append(parent)
        if parent == slug:
            path = " → ".join([*line, slug])
            yield slug, f"parent: {'it is the system itself' if len(line) == 1 else f'it comes back to {slug}: {path}'}"


def unknown_model(name: str, published: Collection[str]) -> str:
    """The fault where the live model ``name`` is neither bundled, in the host's folder, nor published; else "".

    A model with a recipe counts as bundled; its page says when an installation lacks its weights.
    """
    bundled = settings.ASSETS / "checkpoints"
    folders = [bundled]
    try:
        host_folder = settings.settings().checkpoint_dir
    except SettingUnusable:  # the pages say so
        host_folder = None
    folders += [host_folder] if host_folder else []
    models = {file.stem for file in (settings.ASSETS / "recipes").glob("*.toml")} | set(published)
    for folder in folders:
        try:
            models |= {entry.name for entry in os.scandir(folder) if entry.is_dir()}
        except OSError:  # missing or unreadable, which the pages say
            continue
    return f"live.checkpoint: {_no_such('model', name, models)}" if bundled.is_dir() and name not in models else ""


_WANTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
}
_KINDS = ((bool, "true or false"), (str, "text"), (int, "a number"), (float, "a number"), (list, "a list"))
_NAMES = ("name", "label", "id", "slug")
"""Fields that identify a row."""


def faults(error: ValidationError, model: type[BaseModel], table: dict[str, Any]) -> list[str]:
    """A line ``field: reason`` for each fault that pydantic found in ``table``, validated as a ``model``."""
    return [_fault(detail, model, table) for detail in error.errors()]


def _fault(detail: ErrorDetails, model: type[BaseModel], table: dict[str, Any]) -> str:
    path, reason = _path(detail["loc"], table), _reason(detail, model)
    return f"{path}: {reason}" if path else reason


def _path(loc: tuple[int | str, ...], table: Any) -> str:
    """The field's path, with the names of rows beside their numbers: ``sizes 2 “large”.published``."""
    path = ""
    for step in loc:
        if isinstance(step, int) and isinstance(table, dict):
            step = list(table)[step]  # rows of the schema are tables by key in the file
        try:
            table = table[step]
        except (KeyError, IndexError, TypeError):
            table = None
        if isinstance(step, int):
            path += f" {step + 1}"
            name = next((table[key] for key in _NAMES if key in table), "") if isinstance(table, dict) else ""
            path += f" “{name}”" if name else ""
        else:
            path += f".{step}" if path else step
    return path


def _reason(detail: ErrorDetails, model: type[BaseModel]) -> str:
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        *path, name = detail["loc"]
        fields = [field.alias or field_name for field_name, field in _model_at(model, path).model_fields.items()]
        close = get_close_matches(str(name), fields, n=1, cutoff=0.6)
        return f"is no field of this table{f'; is {close[0]} meant?' if close else ', which has: ' + ', '.join(fields)}"
    if kind in _WANTED:
        return f"must be {_WANTED[kind]}, and it is {_described(value)}"
    if kind == "literal_error":
        return f"must be one of {context['expected']}, and it is {_described(value)}"
    if kind == "value_error":
        return str(context["error"])
    if kind == "too_short":
        return "must have at least one entry"
    return f"{detail['msg'].replace('Input should be', 'must be')}, and it is {_described(value)}"


def _described(value: object) -> str:
    """A value with its type, shortened: ``text ('2018')``."""
    if isinstance(value, dict):
        return f"a table ({', '.join(list(value)[:4])})"
    if isinstance(value, datetime.date | datetime.time):
        return f"a date ({value})"
    shown = repr(value)
    shown = shown if len(shown) <= 60 else shown[:60] + "…"
    return f"{next((word for cls, word in _KINDS if isinstance(value, cls)), type(value).__name__)} ({shown})"


def _model_at(model: type[BaseModel], path: list[int | str]) -> type[BaseModel]:
    """The model of the table at ``path``; items of a list or dict have the model of their field."""
    for step in path:
        field = model.model_fields.get(str(step))
        if field is not None:
            model = next(iter(_models(field.annotation)), model)
    return model


def _models(annotation: object) -> list[type[BaseModel]]:
    """The models in an annotation, at any depth: ``list[SizeRow]``, ``StatementRow | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]
