"""Maps steps of a block to modules of a published tree, and modules back to steps.

Paths of a live model and of the stored tree may differ (``bert.encoder.layer.3`` of a model with a head is
``encoder.layer.0-11`` of the tree without one), and the tree has one node for a range of equal layers.
Names are those of `core.run.sites`, so that a tree can be read without a model: no torch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from core import catalogue
from core.anatomy import tree
from core.anatomy.node import ModuleNode
from core.anatomy.store import size_of
from core.checkpoints.families import ModelFamily
from core.checkpoints.spec import CheckpointSpec
from core.run.sites import ADAPTERS, TABLE

_MOST_LAYERS = 200
_RUN = re.compile(r"(\d+)-(\d+)")
_ADAPTED = ("output.output", "output")
"""A layer with adapters wraps its output module; the published tree has no wrapper."""
_SEPARATE = re.compile(r"\.(query|key|value)_proj$")
"""DeBERTa-v2, which runs here, has three matrices where the first version has a joint one."""
_COMBINED = ".in_proj"


@dataclass(frozen=True, slots=True)
class Shown:
    """The step with the output of a module."""

    side: str
    layer: int | None
    """From 0; None for the last one, however many a model has."""
    slug: str


def node_of(root: ModuleNode, path: str) -> str | None:
    """The path in a tree of the module at ``path`` of a live model; None where the tree has no such module."""
    steps = path.split(".")
    candidates = (_resolve(root, ".".join(path_steps)) for path_steps in (steps, steps[1:]) if any(path_steps))
    return next((node for node in candidates if node is not None), None)


def size_for(system: str, kind: str) -> str | None:
    """The size of a system with the blocks of a model type; None for the default size.

    Qwen's record has sizes of several versions, whose blocks differ.
    """
    sizes = sorted(catalogue.get(system).sizes, key=lambda size: not size.default)
    alike = [size for size in sizes if kind in _types(size.config)]
    return alike[0].name if alike and not alike[0].default else None


def step_of(spec: CheckpointSpec, node: str, size: str | None = None, near: int | None = None) -> Shown | None:
    """The step with the output of a node of the system's tree; None where there is none.

    Args:
        near: the layer, from 0, for a node of several layers; by default the first of them.
    """
    by_layer = {} if spec.system is None else shown_modules(spec.system, size, spec.family).get(node, {})
    return by_layer.get(near, next(iter(by_layer.values()), None))


@lru_cache(maxsize=64)
def shown_modules(system: str, size: str | None, family: ModelFamily) -> dict[str, dict[int | None, Shown]]:
    """For each node of a system's tree its steps by layer, in order."""
    root, chosen = tree(system, size), size_of(system, size)
    sides = family.sides
    by_node: dict[str, dict[int | None, Shown]] = {}
    for side in sides:
        halves = chosen.config == "EncoderDecoderConfig"
        config = str(chosen.overrides[side]["config"]) if halves else chosen.config
        blueprint = TABLE.get(_type(config, family), {}).get(side)
        for pattern, slug in blueprint.modules() if blueprint else ():
            if slug.startswith("cross-attention") and len(sides) == 1:
                continue
            for layer in range(_MOST_LAYERS if "{" in pattern else 1):
                # layers that share their parts, as ALBERT's, have one node: whichever is meant
                numbers = {"i": layer, "group": 0, "inner": 0}
                node = _resolve(root, pattern.format(**numbers), side if halves else "")
                if node is None:
                    if _resolve(root, _layer(pattern).format(**numbers), side if halves else "") is None:
                        break
                    continue  # a layer of another kind, as a Reformer has
                at = None if slug.startswith("end-final") else layer
                by_node.setdefault(node, {}).setdefault(at, Shown(side, at, slug))
    return by_node


def _layer(pattern: str) -> str:
    """The pattern of the layer that a module's belongs to."""
    steps = pattern.split(".")
    return ".".join(steps[: 1 + max((i for i, part in enumerate(steps) if "{" in part), default=0)])


def _type(config: str, family: ModelFamily) -> str:
    """The model type of a configuration's class, as the tables write it."""
    if "classifies texts" in family.offers:
        return ADAPTERS
    return next(_types(config), "")


def _types(config: str) -> Iterator[str]:
    """The model types with the blocks of a configuration's class, its own first."""
    plain = re.sub(r"[-_]", "", config.removesuffix("Config").lower())
    # DeBERTa's versions have the same blocks, but for one matrix that makes queries, keys and values in the first
    return (name for name in TABLE if re.sub(r"[-_]", "", name) in (plain, f"{plain}v2"))


def _resolve(root: ModuleNode, path: str, below: str = "") -> str | None:
    """The node of a path below the base model, whatever its name in this tree."""
    for written in _written(path):
        for prefix in ((), *_prefixes(root)):
            if below and prefix[:1] != (below,):
                continue
            node = _follow(root, [*prefix, *written.split(".")])
            if node is not None:
                return node
    return None


def _written(path: str) -> dict[str, None]:
    """The possible paths of a module in a tree, the likeliest first."""
    return dict.fromkeys((path, path.replace(*_ADAPTED), _SEPARATE.sub(_COMBINED, path)))


def _prefixes(root: ModuleNode) -> Iterator[tuple[str, ...]]:
    for child in root.children:
        yield (child.name,)
        yield from ((child.name, below.name) for below in child.children)


def _follow(root: ModuleNode, steps: list[str]) -> str | None:
    """The path of the node at these steps, where a number may be within a range."""
    node, names = root, []
    for step in steps:
        child_node = next((child for child in node.children if child.name == step or _within(step, child.name)), None)
        if child_node is None:
            return None
        node = child_node
        names.append(child_node.name)
    return ".".join(names)


def _within(step: str, name: str) -> bool:
    run = _RUN.fullmatch(name)
    return run is not None and step.isdigit() and int(run[1]) <= int(step) <= int(run[2])
