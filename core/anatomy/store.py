"""Stored trees: every size of every system, computed once and stored as small JSON, so that reading needs no torch.

One file a system, ``data/<slug>.json``; `lab.trees` makes them from live builds (``python -m lab trees``). A
node is stored with short keys and without what follows from the rest: parameters are counted anew from the shapes.
"""

from __future__ import annotations

import contextlib
import json
import re
import tomllib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from core import catalogue
from core.anatomy.build import build_model, describe, of_record
from core.anatomy.node import ModuleNode
from core.catalogue.schema import Size
from core.errors import OutOfRange, RecordUnusable
from core.lazy import nn

TEXTS = Path(__file__).with_name("classes.toml")


@dataclass(frozen=True, slots=True)
class Explanation:
    text: str
    formula: str | None
    """LaTeX, without dollar signs; ``\\\\`` is a line break."""
    where: str | None
    """The formula's symbols."""


def explain(cls: str) -> Explanation | None:
    """The explanation of a class; None without one."""
    return explanations().get(cls)


@lru_cache(maxsize=1)
def explanations() -> dict[str, Explanation]:
    """All explanations by class. Raises ValueError for a duplicate."""
    by_class: dict[str, Explanation] = {}
    for entry in tomllib.loads(TEXTS.read_text(encoding="utf-8"))["entry"]:
        for cls in entry["classes"]:
            if cls in by_class:
                raise ValueError(f"{TEXTS.name} explains {cls} twice")
            by_class[cls] = Explanation(entry["text"], entry.get("formula"), entry.get("where"))
    return by_class


@dataclass(frozen=True, slots=True)
class Printed:
    """A tree that source 000 prints: class, configuration, and the differences from today's, in sentences."""

    cls: str
    config: str
    notes: tuple[str, ...]
    overrides: dict[str, Any] = field(default_factory=dict)


@lru_cache(maxsize=1)
def printed() -> dict[str, Printed]:
    """The four printed trees by system. Class and size may differ from those of the system's own tree."""
    rows = tomllib.loads(TEXTS.with_name("printed.toml").read_text(encoding="utf-8"))
    return {slug: Printed(**row | {"notes": tuple(row["notes"])}) for slug, row in rows.items()}


def size_of(slug: str, size: str | None = None) -> Size:
    """A size of a system by name, or its default.

    Raises :class:`core.errors.UnknownSystem` for an unknown slug, :class:`core.errors.OutOfRange` for an unknown size,
    :class:`core.errors.NoArchitecture` for a system whose architecture was never published.
    """
    system = catalogue.get(slug)
    if size is None or not system.sizes:
        return system.default_size
    for candidate in system.sizes:
        if candidate.name == size:
            return candidate
    names = ", ".join(candidate.name for candidate in system.sizes)
    raise OutOfRange(f"{system.name} has no size “{size[:40]}”. It has: {names}.")


FOLDER = Path(__file__).parent / "data"
SOURCE = "source-000"
"""Stem of the file with the four trees that source 000 prints, by slug."""
_SLUG = re.compile(r"[a-z0-9][a-z0-9.-]*")

Packed = dict[str, Any]


def module_tree(source: str | nn.Module, size: str | None = None, *, live: bool = False) -> ModuleNode:
    """The tree of a system of the catalogue at one of its sizes (by default its default size), or of any module.

    A system's tree is the stored one, which needs no torch; ``live`` builds it. Raises
    :class:`core.errors.UnknownSystem` for an unknown slug, :class:`core.errors.OutOfRange` for an unknown size and
    :class:`core.errors.NoArchitecture` for a system whose architecture was not published.
    """
    if not isinstance(source, str):
        return describe(source)
    if not live:
        return tree(source, size)
    chosen = size_of(source, size)
    with of_record(source, chosen.name):
        return describe(build_model(chosen.architecture, chosen.config, chosen.overrides))


def tree(slug: str, size: str | None = None) -> ModuleNode:
    """The stored tree of a system at one of its sizes (by default its default size).

    A system without a stored tree is built live, which imports torch, once per process. Raises
    :class:`core.errors.UnknownSystem`, :class:`core.errors.OutOfRange` or :class:`core.errors.NoArchitecture`, as the
    catalogue does, and :class:`core.errors.RecordUnusable` where no network can be built from the record.
    """
    chosen = size_of(slug, size)
    if (stored := stored_tree(slug, chosen.name)) is not None:
        return stored
    built = live_tree(
        slug, chosen.name, json.dumps([chosen.architecture, chosen.config, chosen.overrides], default=str)
    )
    if isinstance(built, str):
        raise RecordUnusable(built)
    return built


@lru_cache(maxsize=256)
def live_tree(slug: str, name: str, built_of: str) -> ModuleNode | str:
    """A tree that is not stored, or why it cannot be built; ``built_of`` is part of the cache key alone."""
    try:
        return module_tree(slug, name, live=True)
    except RecordUnusable as error:
        return str(error)


def printed_tree(slug: str) -> ModuleNode | None:
    """The stored tree of the class and size that source 000 prints for this system, if any."""
    return stored_tree(SOURCE, slug)


def counts(slug: str) -> dict[str, int]:
    """Parameters by size of a system, tied tensors once, in the catalogue's order; may be empty."""
    return {name: node.parameters for name, node in trees(slug).items()}


def trees(slug: str) -> dict[str, ModuleNode]:
    """The trees of a system by size, in the catalogue's order, without those in :func:`faults`."""
    by_size = {}
    for size in catalogue.get(slug).sizes:
        with contextlib.suppress(RecordUnusable):
            by_size[size.name] = tree(slug, size.name)
    return by_size


def faults() -> tuple[str, ...]:
    """A sentence for each size that cannot be built from its record: file, field, reason. Usually none."""
    sentences = []
    for system in catalogue.systems():
        for size in (size for size in system.sizes if size.name not in packed_trees(system.slug)):
            try:
                tree(system.slug, size.name)
            except RecordUnusable as error:
                sentences.append(str(error))
    return tuple(sentences)


def unpack(packed: Packed) -> ModuleNode:
    """The inverse of :func:`pack`; parameters are counted from the shapes."""
    children = tuple(unpack(child) for child in packed.get("k", ()))
    tensors = tuple((name, tuple(shape)) for name, shape in packed.get("t", {}).items())
    node = ModuleNode(
        name=packed.get("n", ""),
        cls=packed["c"],
        extra=packed.get("x", ""),
        children=children,
        repeat=packed.get("r", 1),
        tensors=tensors,
        ties=tuple(packed.get("s", {}).items()),
        buffers=tuple((name, tuple(shape)) for name, shape in packed.get("b", {}).items()),
    )
    return node.counted()


@lru_cache(maxsize=256)
def stored_tree(slug: str, size: str) -> ModuleNode | None:
    packed = packed_trees(slug).get(size)
    return None if packed is None else unpack(packed)


@lru_cache(maxsize=64)
def packed_trees(slug: str) -> dict[str, Packed]:
    """The stored trees of a system by size; may be empty."""
    path = FOLDER / f"{slug}.json"
    if not _SLUG.fullmatch(slug) or not path.is_file():
        return {}
    trees: dict[str, Packed] = json.loads(path.read_text(encoding="utf-8"))
    return trees
