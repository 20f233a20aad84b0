"""``python -m lab trees``: the module trees and shapes of all systems, built and stored."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from core import catalogue
from core.anatomy.build import build_model, describe
from core.anatomy.node import ModuleNode
from core.anatomy.store import FOLDER, SOURCE, Packed, module_tree, packed_trees, printed, stored_tree
from core.costs.shape import STORED, Shape, read_shape, stored_shapes


def write_all(folder: Path = FOLDER) -> dict[str, dict[str, int]]:
    """Build all sizes of all systems and write the stored trees; returns the counts by slug and size."""
    folder.mkdir(parents=True, exist_ok=True)
    written: dict[str, dict[str, int]] = {}
    for system in (system for system in catalogue.systems() if system.sizes):
        built = {size.name: module_tree(system.slug, size.name, live=True) for size in system.sizes}
        (folder / f"{system.slug}.json").write_text(dump(built), encoding="utf-8")
        written[system.slug] = {name: node.parameters for name, node in built.items()}
    from_source = {slug: describe(build_model(row.cls, row.config, row.overrides)) for slug, row in printed().items()}
    (folder / f"{SOURCE}.json").write_text(dump(from_source), encoding="utf-8")
    for stale in {path.stem for path in folder.glob("*.json")} - written.keys() - {SOURCE}:
        (folder / f"{stale}.json").unlink()
    packed_trees.cache_clear()
    stored_tree.cache_clear()
    return written


def dump(trees: dict[str, ModuleNode]) -> str:
    """The text of a system's file: one line per size, for small diffs."""
    rows = [f"{json.dumps(name)}: {json.dumps(pack(node), separators=(',', ':'))}" for name, node in trees.items()]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def pack(node: ModuleNode) -> Packed:
    """A node as JSON data: n(ame), c(lass), x(tra), r(epeat), t(ensors), s(hared), b(uffers), k(ids), if not empty."""
    packed: Packed = {"n": node.name, "c": node.cls, "x": node.extra, "r": node.repeat}
    packed |= {"t": dict(node.tensors), "s": dict(node.ties), "b": dict(node.buffers)}
    packed["k"] = [pack(child) for child in node.children]
    return {key: value for key, value in packed.items() if value and (key, value) != ("r", 1)}


def write_shapes(path: Path = STORED) -> int:
    """Write the shapes of all sizes of all systems; returns how many sizes have a shape."""
    rows = {
        f"{system.slug} {size.name}": read_shape(system, size)
        for system in catalogue.systems()
        for size in system.sizes
    }
    path.write_text(dump_shapes(rows), encoding="utf-8")
    stored_shapes.cache_clear()
    return sum(shape is not None for shape in rows.values())


def dump_shapes(shapes: dict[str, Shape | None]) -> str:
    """The text of the file: one line per size."""
    rows = [
        f"{json.dumps(key)}: {json.dumps(shape and asdict(shape), separators=(',', ':'))}"
        for key, shape in shapes.items()
    ]
    return "{\n" + ",\n".join(rows) + "\n}\n"
