"""What else there is to say of a part that two networks have: biases, sharing, the kind and the place of a norm."""

from __future__ import annotations

from collections.abc import Iterator

from core.anatomy.meaning import Piece

Pieces = tuple[Piece, ...]
Names = tuple[str, str]
_RMS = ("T5LayerNorm", "MT5LayerNorm")
"""Called layer norms, and yet they take no mean away and have no bias."""
_LAYERS = ("attention", "cross", "feed-forward", "state-space", "recurrence")


def remarks(left: Pieces, right: Pieces, names: Names) -> tuple[str, ...]:
    """Short phrases on one row, most telling first; ``names`` are what the two networks are called in them."""
    found = [piece.part.remark for piece in (*left, *right) if piece.part.remark]
    for tell in (_fusion, _kind, _place, _biases, _layers, _storage):
        if left and right:
            found.extend(tell(left, right, names))
    found.extend(_sharing(left, right, names))
    return tuple(dict.fromkeys(found))


def kinds(pieces: Pieces) -> frozenset[str]:
    """What kind of norm, of activation, of positions these are; empty for what has one kind only."""
    found = set()
    for piece in pieces:
        if piece.part.bare:
            found.add(piece.cls)
        elif piece.part.norm:
            found.add("RMS norm" if "RMSNorm" in piece.cls or piece.cls in _RMS else "layer norm")
    return frozenset(found)


def _fusion(left: Pieces, right: Pieces, names: Names) -> Iterator[str]:
    one, other = (max(len(piece.part.slugs) for piece in side) for side in (left, right))
    if one != other:
        yield f"{names[0] if one > other else names[1]} keeps {max(one, other)} of these in one matrix"


def _kind(left: Pieces, right: Pieces, names: Names) -> Iterator[str]:
    one, other = (" and ".join(sorted(kinds(side))) for side in (left, right))
    if one != other:
        yield f"{one} in {names[0]}, {other} in {names[1]}"


def _place(left: Pieces, right: Pieces, names: Names) -> Iterator[str]:
    one, other = ({piece.before for piece in side} for side in (left, right))
    if len(one) == len(other) == 1 and one != other and None not in one | other:
        words = {True: "before the sub-layer", False: "after the sum"}
        yield f"{words[bool(one.pop())]} in {names[0]}, {words[bool(other.pop())]} in {names[1]}"


def _biases(left: Pieces, right: Pieces, names: Names) -> Iterator[str]:
    one, other = _bias(left), _bias(right)
    if one != other and None not in (one, other):
        yield f"biases in {names[0] if one else names[1]} only"


def _bias(pieces: Pieces) -> bool | None:
    """Whether the matrices of layers have biases; None where some have and some have not, or there is none."""
    found = {
        any(name == "bias" for name, _ in piece.tensors)
        for piece in pieces
        if piece.part.group in _LAYERS and any(len(shape) > 1 for _, shape in piece.tensors)
    }
    return found.pop() if len(found) == 1 else None


def _layers(left: Pieces, right: Pieces, names: Names) -> Iterator[str]:
    one, other = _copies(left), _copies(right)
    if left[0].part.group in _LAYERS and one != other:
        yield f"in {one} {'layer' if one == 1 else 'layers'} of {names[0]}, in {other} of {names[1]}"


def _copies(pieces: Pieces) -> int:
    """In how many layers the part is, those of one name added up."""
    found: dict[tuple[str, ...], int] = {}
    for piece in pieces:
        leaf = (piece.path.rpartition(".")[2], *(name for name, _ in piece.tensors))
        found[leaf] = found.get(leaf, 0) + piece.copies
    return max(found.values())


def _storage(left: Pieces, right: Pieces, names: Names) -> Iterator[str]:
    one, other = (any(piece.cls == "Conv1D" for piece in side) for side in (left, right))
    if one != other:
        yield f"stored as inputs × outputs in {names[0] if one else names[1]}"


def _sharing(left: Pieces, right: Pieces, names: Names) -> Iterator[str]:
    for name, side in zip(names, (left, right), strict=True):
        owner = next((piece.shares for piece in side if piece.shares), "")
        if owner:
            yield f"{name} uses the numbers of {owner} again"
