"""Kept shapes: the layout of every size of every system, stored as small JSON, so that costs need no torch.

``data/shapes.json`` has a line a size, made by ``python -m core tree --write``. A size that was added since is read
from its configuration, which imports transformers. A network that is no stack of layers has no shape.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from core import anatomy, catalogue
from core.anatomy.sizes import size_of
from core.catalogue.schema import Size, System
from core.costs.shape import Shape, Stack

KEPT = Path(__file__).parent / "data" / "shapes.json"


def shape_of(slug: str, size: str | None = None) -> Shape | None:
    """The shape of a system at one of its sizes (its default size without one); None where it has none.

    Raises :class:`core.errors.UnknownSystem` or :class:`core.errors.OutOfRange`, as the catalogue has it, and
    :class:`core.errors.RecordUnusable` where the record makes no network.
    """
    chosen = size_of(slug, size)
    kept = _kept()
    key = f"{slug} {chosen.name}"
    if key in kept:
        return kept[key]
    return _live(slug, chosen.name)


@lru_cache(maxsize=256)
def _live(slug: str, name: str) -> Shape | None:
    return read_shape(catalogue.get(slug), size_of(slug, name))


def read_shape(system: System, size: Size) -> Shape | None:
    """The shape as the configuration of transformers has it; imports transformers."""
    from core.anatomy.build import configuration, named, of_record
    from core.costs.read import read

    with of_record(system.slug, size.name):
        settings = configuration(size.config, size.overrides, named(size.architecture))
    try:
        return read(settings, size.architecture, system.branch, anatomy.tree(system.slug, size.name))
    except AttributeError:
        return None


def write_all(path: Path = KEPT) -> int:
    """Read every size of every system and write the file; returns how many sizes have a shape."""
    rows = {
        f"{system.slug} {size.name}": read_shape(system, size)
        for system in catalogue.systems()
        for size in system.sizes
    }
    path.write_text(dump(rows), encoding="utf-8")
    _kept.cache_clear()
    return sum(shape is not None for shape in rows.values())


def dump(shapes: dict[str, Shape | None]) -> str:
    """The text of the file: one line a size."""
    rows = [
        f"{json.dumps(key)}: {json.dumps(None if shape is None else pack(shape), separators=(',', ':'))}"
        for key, shape in shapes.items()
    ]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def pack(shape: Shape) -> dict[str, Any]:
    """A shape as JSON data; spans that are alike in all layers stand once."""
    packed = asdict(shape)
    for stack in packed["stacks"]:
        if len(set(stack["spans"])) == 1:
            stack["spans"] = stack["spans"][0]
    return packed


def unpack(packed: dict[str, Any]) -> Shape:
    """The shape that :func:`pack` stored."""
    stacks = []
    for row in packed["stacks"]:
        spans = row["spans"]
        spans = (spans,) * row["layers"] if isinstance(spans, int) else tuple(spans)
        stacks.append(Stack(**{**row, "spans": spans}))
    return Shape(**{**packed, "stacks": tuple(stacks)})


@lru_cache(maxsize=1)
def _kept() -> dict[str, Shape | None]:
    if not KEPT.is_file():
        return {}
    rows = json.loads(KEPT.read_text(encoding="utf-8"))
    return {key: None if row is None else unpack(row) for key, row in rows.items()}
