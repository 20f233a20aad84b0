"""The component that each tensor of a tree belongs to, whatever its name: BERT's ``query``, T5's ``q``, a third of
GPT-2's ``c_attn``.

What the blocks of an architecture are called stands in `core.run.sites`; ``meaning.toml`` says which component each of
their parts is, and what the table of blocks leaves out. A tensor without a name in either is a component of its own
in "Other parts", under its own name, so that two networks that both have it are still compared. No torch here.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from core.anatomy.node import ModuleNode
from core.run.sites import TABLE

TEXTS = Path(__file__).with_name("meaning.toml")
OTHER = "other"
HEAD = "head"
EMBEDDINGS = "embeddings"

_NUMBER = re.compile(r"\d+(-\d+)?")
_LAYER = re.compile(r"\{\w+\}")
PLAIN = ("weight", "bias", "weights")
"""Names of tensors that are identified by their module alone."""

Step = tuple[str, str]
"""Name and class of a module on a path."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group of components, in display order."""

    slug: str
    name: str


@dataclass(frozen=True, slots=True)
class NamedPart:
    """A component of a group. Several slugs: one matrix for several components."""

    group: str
    slugs: tuple[str, ...]
    name: str
    bare: bool = False
    """Whether the module is a component without parameters."""
    norm: bool = False
    remark: str = ""


@dataclass(frozen=True, slots=True)
class TreeStack:
    """A stack of layers: an encoder-decoder has two, other networks one."""

    slug: str
    """Path of the stack's module; empty for a network of one stack."""
    name: str
    kind: str
    """``encoder``, ``decoder`` or ``image``."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The tensors of one module for one component, in all copies."""

    path: str
    cls: str
    copies: int
    tensors: tuple[tuple[str, tuple[int, ...]], ...]
    """(name, shape) in torch's order, in one copy."""
    parameters: int
    """In all copies, without shared tensors."""
    shares: str
    """Path of the tensor that one of these is tied to; empty without ties."""
    stack: str
    """Slug of its stack; empty outside of all, and in a network of one."""
    part: NamedPart
    before: bool | None = None
    """For a norm: whether it is before its sub-layer (pre-norm); None for unknown classes."""


Pattern = tuple[str, ...]


@lru_cache(maxsize=1)
def groups() -> tuple[Group, ...]:
    """All groups, in display order."""
    return tuple(Group(row["slug"], row["name"]) for row in _data()["group"])


@lru_cache(maxsize=1)
def parts() -> tuple[NamedPart, ...]:
    """All single components, in display order."""
    return tuple(dict.fromkeys(part for part, _ in _rows() if len(part.slugs) == 1))


def stacks(root: ModuleNode) -> tuple[TreeStack, ...]:
    """The stacks of a network: two where siblings have the known names, else one."""
    # Stacks are at the root or one step below it.
    near = [("", root), *((child.name, child) for child in root.children)]
    for row in _data()["stacks"]:
        for path, node in near:
            below = {child.name for child in node.children if child.cls != "NoneType"}
            if below >= set(row["children"]):
                start = f"{path}." if path else ""
                return tuple(
                    TreeStack(f"{start}{child}", name, kind)
                    for child, name, kind in zip(row["children"], row["names"], row["kinds"], strict=True)
                )
    one_way = any(re.fullmatch(pattern, root.cls) for pattern in _data()["decoders"]["classes"])
    return (TreeStack("", "Decoder" if one_way else "Encoder", "decoder" if one_way else "encoder"),)


def pieces(root: ModuleNode) -> tuple[Piece, ...]:
    """All tensors of a tree with their components, and the components without tensors.

    The parameters of all pieces add up to ``root.total``.
    """
    both = stacks(root)
    return tuple(_pieces(root, "", (("", root.cls),), 1, both if len(both) > 1 else (), None))


@lru_cache(maxsize=4096)  # about forty paths per tree, and layers of one class have the same in all trees
def meaning(steps: tuple[Step, ...], tensor: str = "") -> NamedPart:
    """The component of a module, or of one of its tensors; the root is the first step, without a name."""
    names = [*steps, (tensor, "")] if tensor and tensor not in PLAIN else list(steps)
    if rule := rule_of(names):
        return rules()[rule]
    if path := path_of(names):
        return blocks()[path]
    called = ".".join(_NUMBER.sub("#", name) for name, _ in names[-3:] if name)
    return NamedPart(OTHER, (called,), called)


def rule_of(names: Sequence[Step]) -> Pattern | None:
    """The longest pattern of the data file that a path ends with."""
    longest = max(map(len, rules()))
    ends = (names[start:] for start in range(max(0, len(names) - longest), len(names)))
    patterns = (pattern for end in ends for pattern in product(*(_called(*step) for step in end)))
    return next((pattern for pattern in patterns if pattern in rules()), None)


def path_of(names: Sequence[Step]) -> Pattern | None:
    """The path of the table of blocks that a path ends with: below a base model, before which no list stands."""
    lists = next((at for at, (name, _) in enumerate(names) if _NUMBER.fullmatch(name)), len(names) - 1)
    paths = (path for start in range(lists + 1) for path in product(*(_called(step) for step, _ in names[start:])))
    return next((path for path in paths if path in blocks()), None)


def _pieces(
    node: ModuleNode, path: str, steps: tuple[Step, ...], copies: int, both: tuple[TreeStack, ...], before: bool | None
) -> Iterator[Piece]:
    copies *= node.repeat
    before = _order().get(node.cls, before)
    stack = next((candidate.slug for candidate in both if f"{path}.".startswith(f"{candidate.slug}.")), "")
    sorted_out: dict[NamedPart, list[tuple[str, tuple[int, ...]]]] = {}
    for name, shape in node.tensors:
        sorted_out.setdefault(meaning(steps, name), []).append((name, shape))
    if not node.tensors and not node.children and node.cls != "NoneType":
        part = meaning(steps)
        if part.bare:
            sorted_out[part] = []
    ties = dict(node.ties)
    for part, tensors in sorted_out.items():
        yield Piece(
            path=path,
            cls=node.cls,
            copies=copies,
            tensors=tuple(tensors),
            parameters=copies * sum(prod(shape) for name, shape in tensors if name not in ties),
            shares=next((ties[name] for name, _ in tensors if name in ties), ""),
            stack=stack,
            part=part,
            before=before if part.norm and part.group not in ("embeddings", "end") else None,
        )
    for child in node.children:
        below = f"{path}.{child.name}" if path else child.name
        yield from _pieces(child, below, (*steps, (child.name, child.cls)), copies, both, before)


def _called(name: str, cls: str = "") -> Iterator[str]:
    """What a pattern may call a step."""
    yield name
    if cls:
        yield f"<{cls}>"
    if _NUMBER.fullmatch(name):
        yield "#"


@lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    return tomllib.loads(TEXTS.read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def _order() -> dict[str, bool]:
    """For each class of a layer, whether its norms are before the sub-layers."""
    return {cls: order == "before" for order, classes in _data()["norms"].items() for cls in classes}


@lru_cache(maxsize=1)
def _rows() -> tuple[tuple[NamedPart, dict[str, Any]], ...]:
    """Each component with its row of the data file, a row of two groups once for each."""
    rows = [(group, row) for row in _data()["part"] for group in row.get("groups") or [row["group"]]]
    called = {(group, row["slug"]): row["name"] for group, row in rows if "slug" in row}

    def part(group: str, row: dict[str, Any]) -> NamedPart:
        slugs = tuple(row.get("holds") or [row["slug"]])
        name = ", ".join(called[group, slug] for slug in slugs)
        return NamedPart(group, slugs, name, row.get("bare", False), row.get("norm", False), row.get("remark", ""))

    return tuple((part(group, row), row) for group, row in rows)


@lru_cache(maxsize=1)
def rules() -> dict[Pattern, NamedPart]:
    """The patterns of the data file. Raises ValueError for a pattern of two components."""
    under = {row["slug"]: row.get("under", []) for row in _data()["group"]}
    by_pattern: dict[Pattern, NamedPart] = {}
    for part, row in _rows():
        starts, names = under[part.group], row.get("names", [])
        inside = [f"{start}.{end}" for start in starts for end in names] if starts else names
        for text in (*inside, *row.get("anywhere", [])):
            if by_pattern.setdefault(tuple(text.split(".")), part) != part:
                raise ValueError(f"{TEXTS.name} gives {text} to two parts")
    return by_pattern


@lru_cache(maxsize=1)
def blocks() -> dict[Pattern, NamedPart]:
    """The paths of the table of blocks. Raises ValueError where rows disagree on the group of a module."""
    start = {row["slug"]: row.get("site") for row in _data()["group"]}
    by_site = {f"{start[part.group]}-{site}": part for part, row in _rows() for site in row.get("sites", [])}
    by_path: dict[Pattern, dict[NamedPart, None]] = {}
    for blueprint in (blueprint for sides in TABLE.values() for blueprint in sides.values()):
        for path, site in blueprint.modules():
            if site in by_site:
                by_path.setdefault(tuple(_LAYER.sub("#", path).split(".")), {})[by_site[site]] = None
    by_slugs = {(part.group, part.slugs): part for part, _ in _rows()}
    return {
        path: by_slugs[next(iter(joint)).group, tuple(part.slugs[0] for part in joint)]
        for path, joint in by_path.items()
    }
