"""Beam search as a tree: every continuation that was looked at is a node, pruned ones too."""

from __future__ import annotations

from dataclasses import dataclass

from core.checkpoints.spec import Checkpoint
from core.language.decoding import picking
from core.language.decoding.reader import Start
from core.language.decoding.search import Fate, rounds
from core.language.tokens import Wording
from core.language.types import Decoding


@dataclass(frozen=True, slots=True)
class Node:
    """A token at the end of a beginning of a text."""

    ids: tuple[int, ...]
    """The whole path, which is the node's name; its parent is the path without the last."""
    token: str
    own: float
    """Log-probability of this token after its parent, rules included, in nats."""
    score: float
    """Sum of the log-probabilities along the path."""
    rank: float
    """Score divided by the path's length to the power of the length penalty."""
    fate: Fate
    best: bool
    """Whether the text that is returned goes through it."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A finished search."""

    rows: tuple[tuple[Node, ...], ...]
    """The nodes of each step, the highest score first."""
    results: tuple[tuple[str, float, float], ...]
    """The finished texts with score and rank, best first; the running ones where none was finished."""
    ids: tuple[int, ...]
    """The text that is returned."""
    reason: str


def tree(checkpoint: Checkpoint, begun: Start, decoding: Decoding) -> Tree:
    """Search, and keep what was looked at.

    Raises:
        OutOfRange: a setting makes no sense.
    """
    picking.check(decoding)
    wording = Wording(checkpoint.tokenizer)
    before: dict[tuple[int, ...], float] = {(): 0.0}
    found: list[list[tuple[tuple[int, ...], float, float, float, Fate]]] = []
    for now in rounds(checkpoint, begun, decoding):
        found.append([])
        for candidate in now.candidates:
            h = candidate.hypothesis
            found[-1].append((h.ids, h.score - before[h.ids[:-1]], h.score, h.rank, candidate.fate))
        before = {h.ids: h.score for h in now.running}
    best = now.finished or now.running
    ids = best[0].ids
    rows = tuple(
        tuple(
            Node(path, wording.token(path[-1]), own, score, rank, fate, ids[: len(path)] == path)
            for path, own, score, rank, fate in row
        )
        for row in found
    )
    return Tree(rows, tuple((wording.text(h.ids), h.score, h.rank) for h in best), ids, now.reason)
