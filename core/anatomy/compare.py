"""Comparison of two module trees by component: which both have, which differ in size, which only one has.

Components come from `core.anatomy.meaning`. Where one network has one matrix for several of the other (GPT-2's
``c_attn`` for BERT's ``query``, ``key`` and ``value``), they are one row. A network of one stack is compared with the
stack of its kind: BERT with T5's encoder, GPT-2 with T5's decoder; two networks of one stack with each other, whatever
their kinds. Heads belong to no stack.

Every parameter of both trees is in exactly one row, so that the rows add up to both totals. No torch here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from core import catalogue
from core.anatomy.meaning import HEAD, Group, Piece, TreeStack, groups, parts, pieces, stacks
from core.anatomy.node import ModuleNode
from core.anatomy.store import size_of, tree
from core.content import content

Pieces = tuple[Piece, ...]
Names = tuple[str, str]
_RMS = ("T5LayerNorm", "MT5LayerNorm")
"""RMS norms that are called layer norms."""
_LAYERS = ("attention", "cross", "feed-forward", "state-space", "recurrence")


def words(part: str, /, **values: str | int) -> str:
    """A part of the content file of this section."""
    return content("catalogue", "trees").part(part, **values)


def remarks(left: Pieces, right: Pieces, names: Names) -> tuple[str, ...]:
    """Short phrases on one row, the most important first, with the ``names`` of the two networks."""
    phrases = [piece.part.remark for piece in (*left, *right) if piece.part.remark]
    for tell in (_fusion, _kind, _norm_position, _biases, _layers, _storage):
        if left and right:
            phrases.extend(tell(left, right, names))
    phrases.extend(_sharing(left, right, names))
    return tuple(dict.fromkeys(phrases))


def kinds(pieces: Pieces) -> frozenset[str]:
    """The kinds of norms, activations or positions; empty for components of one kind."""
    names = set()
    for piece in pieces:
        if piece.part.bare:
            names.add(piece.cls)
        elif piece.part.norm:
            names.add("RMS norm" if "RMSNorm" in piece.cls or piece.cls in _RMS else "layer norm")
    return frozenset(names)


def _fusion(left: Pieces, right: Pieces, names: Names) -> Iterator[str]:
    left_parts, right_parts = (max(len(piece.part.slugs) for piece in side) for side in (left, right))
    if left_parts != right_parts:
        yield words(
            "Remark: fused", name=names[0] if left_parts > right_parts else names[1], count=max(left_parts, right_parts)
        )


def _kind(left: Pieces, right: Pieces, names: Names) -> Iterator[str]:
    left_kind, right_kind = (" and ".join(sorted(kinds(side))) for side in (left, right))
    if left_kind != right_kind:
        yield words("Remark: kind", left=names[0], right=names[1], left_kind=left_kind, right_kind=right_kind)


def _norm_position(left: Pieces, right: Pieces, names: Names) -> Iterator[str]:
    left_before, right_before = ({piece.before for piece in side} for side in (left, right))
    if (
        len(left_before) == len(right_before) == 1
        and left_before != right_before
        and None not in left_before | right_before
    ):
        left_kind, right_kind = (
            words(f"Remark: norm {'before' if side.pop() else 'after'}") for side in (left_before, right_before)
        )
        yield words("Remark: kind", left=names[0], right=names[1], left_kind=left_kind, right_kind=right_kind)


def _biases(left: Pieces, right: Pieces, names: Names) -> Iterator[str]:
    left_bias, right_bias = _bias(left), _bias(right)
    if left_bias != right_bias and None not in (left_bias, right_bias):
        yield words("Remark: biases", name=names[0] if left_bias else names[1])


def _bias(pieces: Pieces) -> bool | None:
    """Whether the matrices of layers have biases; None where some do, or there is no matrix."""
    values = {
        any(name == "bias" for name, _ in piece.tensors)
        for piece in pieces
        if piece.part.group in _LAYERS and any(len(shape) > 1 for _, shape in piece.tensors)
    }
    return values.pop() if len(values) == 1 else None


def _layers(left: Pieces, right: Pieces, names: Names) -> Iterator[str]:
    left_layers, right_layers = _copies(left), _copies(right)
    if left[0].part.group in _LAYERS and left_layers != right_layers:
        yield words("Remark: layers", left=names[0], right=names[1], left_count=left_layers, right_count=right_layers)


def _copies(pieces: Pieces) -> int:
    """The number of layers with the component, summed over equal names."""
    copies: dict[tuple[str, ...], int] = {}
    for piece in pieces:
        leaf = (piece.path.rpartition(".")[2], *(name for name, _ in piece.tensors))
        copies[leaf] = copies.get(leaf, 0) + piece.copies
    return max(copies.values())


def _storage(left: Pieces, right: Pieces, names: Names) -> Iterator[str]:
    left_transposed, right_transposed = (any(piece.cls == "Conv1D" for piece in side) for side in (left, right))
    if left_transposed != right_transposed:
        yield words("Remark: transposed", name=names[0] if left_transposed else names[1])


def _sharing(left: Pieces, right: Pieces, names: Names) -> Iterator[str]:
    for name, side in zip(names, (left, right), strict=True):
        owner = next((piece.shares for piece in side if piece.shares), "")
        if owner:
            yield words("Remark: shared", name=name, owner=owner)


Verdict = Literal["same", "copies", "moved", "size", "kind", "fused", "left", "right"]
VERDICTS: dict[Verdict, str] = {
    "same": "=",
    "copies": "×",
    "moved": "↕",
    "size": "≠",
    "kind": "~",
    "fused": "∪",
    "left": "−",
    "right": "+",
}
"""A sign for each verdict; color is never the only sign. The words are parts of the section's content file."""
_MIXERS = (("attention", "output"), ("state-space", "out"))
Form = tuple[tuple[tuple[int, ...], ...], bool]


@dataclass(frozen=True, slots=True)
class PairedPart:
    """One part of both networks, or of one."""

    name: str
    left: tuple[Piece, ...]
    right: tuple[Piece, ...]
    verdict: Verdict
    names: Names
    """The two networks' names in remarks."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Further differences, as short phrases."""
        return remarks(self.left, self.right, self.names)

    @property
    def norm(self) -> bool:
        """Whether it is a norm."""
        return all(piece.part.norm for piece in (*self.left, *self.right))

    @property
    def parameters(self) -> tuple[int, int]:
        """Parameters left and right, in all copies, without shared tensors."""
        return sum(piece.parameters for piece in self.left), sum(piece.parameters for piece in self.right)


@dataclass(frozen=True, slots=True)
class Section:
    """The rows of one group in one stack."""

    stack: str
    """Name of the stack, "" for what belongs to the whole network."""
    group: Group
    rows: tuple[PairedPart, ...]

    @property
    def parameters(self) -> tuple[int, int]:
        """Parameters left and right."""
        pairs = [row.parameters for row in self.rows]
        return sum(left for left, _ in pairs), sum(right for _, right in pairs)

    @property
    def name(self) -> str:
        """The group's name, with the stack's where there are several."""
        return f"{self.stack}: {self.group.name.lower()}" if self.stack else self.group.name

    @property
    def verdicts(self) -> tuple[tuple[Verdict, int], ...]:
        """The number of rows with each verdict, in the order of :data:`VERDICTS`."""
        counts = Counter(row.verdict for row in self.rows)
        return tuple((verdict, counts[verdict]) for verdict in VERDICTS if counts[verdict])


@dataclass(frozen=True, slots=True)
class Layers:
    """The layers of one stack in one network."""

    stack: str
    stored: int
    """Layers that have parameters of their own."""
    used: int
    """Layers that a text passes through; more than stored where layers share parameters."""


@dataclass(frozen=True, slots=True)
class Side:
    slug: str
    size: str
    name: str
    """System and size, as it is shown."""
    cls: str
    parameters: int
    layers: tuple[Layers, ...]
    short: str
    """The system's name, with the size where both are one system."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two networks, section by section."""

    left: Side
    right: Side
    sections: tuple[Section, ...]

    @property
    def rows(self) -> tuple[PairedPart, ...]:
        """All rows in the order of the sections."""
        return tuple(row for section in self.sections for row in section.rows)


@lru_cache(maxsize=128)
def compare(left: str, right: str, left_size: str | None = None, right_size: str | None = None) -> Comparison:
    """Two systems of the catalogue at one size each, by default their default sizes.

    Raises :class:`core.errors.UnknownSystem` or :class:`core.errors.OutOfRange`, as the catalogue does.
    """
    trees = tree(left, left_size), tree(right, right_size)
    alone = left != right
    sides = _side(left, left_size, trees[0], alone), _side(right, right_size, trees[1], alone)
    return Comparison(*sides, align(*trees, (sides[0].short, sides[1].short)))


def align(
    left: ModuleNode, right: ModuleNode, names: tuple[str, str] = ("the left one", "the right one")
) -> tuple[Section, ...]:
    """Two trees as sections of rows, in the order of :func:`core.anatomy.meaning.groups`; remarks use the names."""
    section_names = _section_names(stacks(left), stacks(right))
    sorted_out: dict[tuple[str, str], tuple[list[Piece], list[Piece]]] = {}
    for side, root in enumerate((left, right)):
        for piece in pieces(root):
            key = (_section_name(piece, section_names[side]), piece.part.group)
            sorted_out.setdefault(key, ([], []))[side].append(piece)
    sections = []
    for stack in ("", *dict.fromkeys(stack for side in section_names for stack in side.values() if stack)):
        for group in groups():
            if (stack, group.slug) in sorted_out and group.slug != HEAD:
                sections.append(Section(stack, group, _rows(*sorted_out.pop((stack, group.slug)), names)))
    groups_by_slug = {group.slug: group for group in groups()}
    sections += [
        Section(stack, groups_by_slug[slug], _rows(*both, names)) for (stack, slug), both in sorted_out.items()
    ]
    return tuple(section for section in sections if section.rows)


def _side(slug: str, size: str | None, root: ModuleNode, alone: bool) -> Side:
    chosen, system = size_of(slug, size), catalogue.get(slug)
    name = f"{system.name} {chosen.name}"
    stated = [int(number) if number.isdigit() else 0 for number in chosen.shape[0].split(" + ")]
    layers, stored_pieces = [], pieces(root)
    for at, stack in enumerate(stacks(root)):
        stored = _stored(stored_pieces, stack.slug)
        published = stated[at] if at < len(stated) else 0
        # a configuration that says less than the tree holds counts something else (the layers of one half)
        layers.append(Layers(stack.name, stored, max(stored, published)))
    return Side(slug, chosen.name, name, root.cls, root.total, tuple(layers), system.name if alone else name)


def _stored(pieces_of_side: Iterable[Piece], stack: str) -> int:
    """Layers of a stack with parameters of their own, counted by the output projection of their mixer."""
    return sum(
        piece.copies
        for piece in pieces_of_side
        if piece.stack == stack and (piece.part.group, piece.part.slugs[0]) in _MIXERS and not piece.shares
    )


def _section_names(left: tuple[TreeStack, ...], right: tuple[TreeStack, ...]) -> tuple[dict[str, str], dict[str, str]]:
    """For each side the section name of every stack by its slug; stacks of one name are compared.

    Beside a network of one stack, an encoder-decoder's modules outside of its stacks (shared embeddings) belong to the
    stack with a partner.
    """
    if len(left) == len(right) == 1:
        return {left[0].slug: ""}, {right[0].slug: ""}
    names: tuple[dict[str, str], dict[str, str]] = ({}, {})
    free = list(right)
    for stack in left:
        partner = next((candidate for candidate in free if candidate.kind == stack.kind), None)
        names[0][stack.slug] = stack.name if partner is None or len(left) > 1 else partner.name
        if partner is not None:
            free.remove(partner)
            names[1][partner.slug] = names[0][stack.slug]
    names[1].update((stack.slug, stack.name) for stack in free)
    if len(left) != len(right):
        single, double = (0, 1) if len(left) == 1 else (1, 0)
        names[double][""] = next(iter(names[single].values()))
    order = [stack.name for stack in (left if len(left) > 1 else right)]
    candidate, other = (dict(sorted(side.items(), key=lambda item: _at(item[1], order))) for side in names)
    return candidate, other


def _at(name: str, order: Sequence[str]) -> int:
    return order.index(name) if name in order else len(order)


def _section_name(piece: Piece, names: dict[str, str]) -> str:
    """The section name of a piece; in a network of one stack everything but the head belongs to the stack."""
    if piece.part.group == HEAD:
        return ""
    return names.get(piece.stack, "")


def _rows(left: Sequence[Piece], right: Sequence[Piece], names: tuple[str, str]) -> tuple[PairedPart, ...]:
    rows = []
    for slugs in _meeting([*left, *right]):
        left_row, right_row = (
            tuple(piece for piece in side if slugs >= set(piece.part.slugs)) for side in (left, right)
        )
        # An activation is a module in some classes and a function in others, so a missing module is no difference.
        if slugs == {"activation"} and not (left_row and right_row):
            continue
        name = _name(slugs, [*left_row, *right_row])
        rows.append(PairedPart(name, left_row, right_row, _verdict(left_row, right_row), names))
    return tuple(rows)


def _meeting(members: Sequence[Piece]) -> list[set[str]]:
    """The components of a group, merged where one matrix has several; in the order of the data file."""
    sets: list[set[str]] = []
    for piece in members:
        joined = set(piece.part.slugs)
        joined.update(*(slugs for slugs in sets if slugs & joined))
        sets = [*(slugs for slugs in sets if not slugs & joined), joined]
    order = {part.slugs[0]: at for at, part in enumerate(parts()) if part.group == members[0].part.group}
    return sorted(sets, key=lambda slugs: min(order.get(slug, len(order)) for slug in slugs))


def _name(slugs: set[str], members: Sequence[Piece]) -> str:
    """Names of the parts in a row, each once."""
    group = members[0].part.group
    named = [part.name for part in parts() if part.group == group and part.slugs[0] in slugs]
    return ", ".join(dict.fromkeys(named)) or members[0].part.name


def _verdict(left: tuple[Piece, ...], right: tuple[Piece, ...]) -> Verdict:
    if not left or not right:
        return "left" if left else "right"
    if {piece.part.slugs for piece in left} != {piece.part.slugs for piece in right}:
        return "fused"
    left_forms, right_forms = _forms(left), _forms(right)
    if kinds(left) != kinds(right):
        return "kind"
    if left_forms.keys() != right_forms.keys():
        return "size"
    if {piece.before for piece in left} != {piece.before for piece in right}:
        return "moved"
    return "same" if left_forms == right_forms else "copies"


def _forms(pieces_of_side: Iterable[Piece]) -> Counter[Form]:
    """Copies by the shapes of one copy, transposed or not, and whether another module owns them."""
    forms: Counter[Form] = Counter()
    for piece in pieces_of_side:
        shapes = sorted(_plain(extent, piece.cls) for _, extent in piece.tensors)
        forms[tuple(shapes), bool(piece.shares)] += piece.copies
    return forms


def _plain(extent: tuple[int, ...], cls: str) -> tuple[int, ...]:
    """The shape in Linear's order: Conv1D has (in, out), XLNet has (in, heads, head dimension)."""
    if cls == "Conv1D":
        return tuple(reversed(extent))
    if cls == "XLNetRelativeAttention" and len(extent) == 3 and extent[0] > 2:
        return extent[1] * extent[2], extent[0]
    return extent
