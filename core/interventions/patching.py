r"""Activation patching: how much of a prediction returns with one state of another pass.

Two texts of equal length differ in a word, and favor two answers a and b. With the logit difference
:math:`D = z_a - z_b` of the pass over the first text, over the second, and over the second with one state of the first
in its place, the state recovers

.. math:: \frac{D_{\mathrm{patched}} - D_{\mathrm{second}}}{D_{\mathrm{first}} - D_{\mathrm{second}}}

of the difference: 0 is no effect, 1 all of it (Vig et al. 2020, arXiv 2004.12265; Wang et al. 2022, arXiv 2211.00593).

Legend: n tokens, L layers, H heads, w hidden size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Literal, NamedTuple

import numpy as np

from core.arrays import Floats
from core.attention.ablation.ablate import AT_ONCE, Change, kl_bits
from core.attention.ablation.question import ask, names
from core.attention.layers import has_blueprint, plan_of
from core.checkpoints.families.architectures import has
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable, OutOfRange
from core.interventions.answers import answer_id
from core.language.inputs import Inputs
from core.language.makers import inputs
from core.language.types import Token, labels
from core.lazy import Tensor, torch
from core.run.run import Run, Site
from core.turns import turns

States = Literal["resid", "attn", "mlp", "heads"]
"""What is patched: the residual stream, what attention or the feed-forward layer adds to it, or a head's output."""
Kind = Literal["encoder", "decoder", "cross"]
SITES = {"attn": "attn_out", "mlp": "mlp_out", "heads": "z"}
LEAST = 0.5
"""The least difference of the two texts' logit differences, in nats, of which a share means something."""


class Cell(NamedTuple):
    """A state of a pass: a row of the grid, from 0, and a token, or of heads the head, from 0."""

    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Patching:
    """Two texts, and how much each state of the first returns in the pass over the second."""

    first: tuple[str, ...]
    """The n tokens of the side that is patched."""
    second: tuple[str, ...]
    position: int
    """Of the predicting token, where that side predicts; otherwise -1."""
    answers: tuple[str, str]
    differences: tuple[float, float]
    """The logit differences of the two texts, in nats."""
    recovered: Floats
    """(rows, columns): of the residual stream (L + 1, n), the first row that of the embeddings, of attention and
    feed-forward layers (L, n), of heads (L, H), all their tokens at once. NaN where the texts differ too little."""
    causal: bool
    """Whether a token is read by itself and later ones alone."""

    @property
    def differing(self) -> tuple[int, ...]:
        """The tokens in which the texts differ."""
        return tuple(i for i, (a, b) in enumerate(zip(self.first, self.second, strict=True)) if a != b)


@dataclass(frozen=True, slots=True)
class Patched:
    """The prediction for both texts, and for the second with one state of the first."""

    changes: tuple[Change, ...]
    """Of the most probable answers of the three: for the second text before and after."""
    first: tuple[float, ...]
    """The probabilities of the same answers for the first text."""
    difference: float
    """The logit difference after patching."""
    bits: float
    """KL(second ‖ patched)."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """Both texts as one question each, their passes recorded."""

    first: Inputs
    second: Inputs
    recorded: Run
    """The pass over the first."""
    beside: Run
    """The pass over the second."""
    logs: Tensor
    """(2, V) log-probabilities of the answers to both."""
    ids: tuple[int, int]
    """The answers that are compared."""

    def difference(self, logs: Tensor) -> Tensor:
        """(R,) the logit differences of (R, V) log-probabilities, from which the normalization cancels."""
        return logs[:, self.ids[0]] - logs[:, self.ids[1]]


def patch_grid(
    checkpoint: Checkpoint,
    first: str,
    second: str,
    states: States = "resid",
    kind: Kind | None = None,
    *,
    answers: tuple[str, str] = ("", ""),
    task: str | None = None,
    step: int = 0,
) -> Patching:
    """The share of the difference that each state of ``first`` recovers in the pass over ``second``.

    Args:
        kind: whose states; by default the stack that reads the texts.
        answers: that are compared, a word each; an empty one is the most probable answer to its text.
        task, step: as for `core.language.makers.inputs`.

    Raises:
        InputUnusable: texts of different lengths, or with the same answer; an answer that is no token; an architecture
            whose states are not known.
        InputEmpty, InputTooLong, UnknownTask, OutOfRange: as `core.language.makers.inputs`.
    """
    kind = kind or kinds_of(checkpoint)[0]
    pair = _pair(checkpoint, first, second, states, kind, answers, task, step)
    rows, columns = _shape(pair, states, kind)
    every = [Cell(row, column) for row in range(rows) for column in range(columns)]
    cells = [cell for cell in every if _matters(pair, states, kind, cell, rows)]
    full = pair.difference(pair.logs).tolist()
    recovered = np.full((rows, columns), np.nan, dtype=np.float32)
    if abs(full[0] - full[1]) >= LEAST:
        recovered[:] = 0
        at_once = max(1, AT_ONCE // (len(pair.second.tokens) + len(pair.second.source)))
        for start in range(0, len(cells), at_once):
            turns.step()
            patched = cells[start : start + at_once]
            shares = (pair.difference(_patched(pair, states, kind, patched)) - full[1]) / (full[0] - full[1])
            recovered[tuple(zip(*patched, strict=True))] = shares.numpy()
    answer, other = names(pair.second, pair.ids)
    return Patching(
        labels(_tokens(pair.first, kind)),
        labels(_tokens(pair.second, kind)),
        pair.second.position if _predicts(checkpoint, kind) else -1,
        (answer, other),
        (full[0], full[1]),
        recovered,
        kind != "encoder",
    )


def patch_cell(
    checkpoint: Checkpoint,
    first: str,
    second: str,
    states: States,
    kind: Kind,
    cell: Cell,
    *,
    answers: tuple[str, str] = ("", ""),
    task: str | None = None,
    step: int = 0,
    k: int = 5,
) -> Patched:
    """The prediction for ``second`` with one state of ``first``; arguments and errors as of :func:`patch_grid`.

    Raises:
        OutOfRange: a cell outside of the grid.
    """
    pair = _pair(checkpoint, first, second, states, kind, answers, task, step)
    rows, columns = _shape(pair, states, kind)
    if not (0 <= cell.row < rows and 0 <= cell.column < columns):
        raise OutOfRange(f"There is no cell {cell.row + 1}, {cell.column + 1} here: {rows} rows, {columns} columns.")
    patched = _patched(pair, states, kind, [cell])[0]
    clean, corrupted = pair.logs
    best = torch.stack((clean, corrupted, patched)).amax(0)
    ids = {*pair.ids, *best.topk(min(k, len(best))).indices.tolist()}
    ordered = sorted(ids, key=lambda i: (-float(best[i]), i))
    changes = tuple(
        Change(name, i, math.exp(corrupted[i]), math.exp(patched[i]))
        for name, i in zip(names(pair.second, ordered), ordered, strict=True)
    )
    return Patched(
        changes,
        tuple(math.exp(clean[i]) for i in ordered),
        float(pair.difference(patched[None])[0]),
        float(kl_bits(corrupted, patched)),
    )


def kinds_of(checkpoint: Checkpoint) -> tuple[Kind, ...]:
    """Whose states can be patched, the stack that reads the texts first.

    Raises:
        InputUnusable: the states of this architecture are not known, or it has two streams.
    """
    plan = plan_of(checkpoint)
    two = "query" in checkpoint.spec.family.streams or has(plan.stacks[0].config, "hashing")
    if two or not has_blueprint(checkpoint):
        reason = "its layers carry two streams" if two else "the Atlas does not know its layers"
        raise InputUnusable(
            f"The states of {checkpoint.spec.name} cannot be patched here: {reason}. Models such as BERT, GPT-2, T5 "
            "and BART work."
        )
    return tuple(kind for kind in ("encoder", "decoder", "cross") if kind in plan.layers)


def _pair(
    checkpoint: Checkpoint,
    first: str,
    second: str,
    states: States,
    kind: Kind,
    answers: tuple[str, str],
    task: str | None,
    step: int,
) -> _Pair:
    if kind not in kinds_of(checkpoint) or (kind == "cross" and states in ("mlp", "resid")):
        raise InputUnusable(f"{checkpoint.spec.name} has no such states to patch.")
    questions = inputs(checkpoint, first, task, step), inputs(checkpoint, second, task, step)
    counts = [len(_tokens(question, kind)) for question in questions]
    if counts[0] != counts[1]:
        raise InputUnusable(
            f"The two texts have {counts[0]} and {counts[1]} tokens. A state is put where it came from, so texts of "
            "equal length work: change one word for another of as many tokens."
        )
    places = [question.position + 1 for question in questions]
    if places[0] != places[1]:
        raise InputUnusable(
            f"The prediction is that of token {places[0]} in the first text and of token {places[1]} in the second. A "
            "state is put where it came from, so texts work in which it is the same token."
        )
    name = SITES.get(states)
    keep = {name} if name else {"resid_pre", "resid_post"}
    asked = [ask(question, keep=keep) for question in questions]
    logs = torch.cat([each.logs for each in asked])
    ids = tuple(
        answer_id(question, word) if word.strip() else int(row.argmax())
        for question, word, row in zip(questions, answers, logs, strict=True)
    )
    if ids[0] == ids[1]:
        raise InputUnusable(
            f"Both texts have the same answer, “{names(questions[0], ids[:1])[0]}”, so nothing can return. Name an "
            "answer for each, or change the texts until the model answers differently."
        )
    return _Pair(*questions, asked[0].recorded, asked[1].recorded, logs, (ids[0], ids[1]))


def _tokens(question: Inputs, kind: Kind) -> tuple[Token, ...]:
    return question.of_text if kind == "encoder" else question.tokens


def _predicts(checkpoint: Checkpoint, kind: Kind) -> bool:
    """Whether the head reads the stack whose states are patched."""
    return kind == plan_of(checkpoint).stacks[-1].kind or kind == "cross"


def _shape(pair: _Pair, states: States, kind: Kind) -> tuple[int, int]:
    layers = plan_of(pair.first.checkpoint).layers[kind]
    if states == "heads":
        return len(layers), layers[0].heads
    return len(layers) + (states == "resid"), len(_tokens(pair.first, kind))


def _matters(pair: _Pair, states: States, kind: Kind, cell: Cell, rows: int) -> bool:
    """Whether patching a cell can change the answer: its states differ, and something reads them."""
    if states == "heads":
        return True
    last = cell.row == rows - 1 and kind != "cross" and _predicts(pair.first.checkpoint, kind)
    if last and cell.column != pair.first.position and pair.first.task is None:
        return False
    site = _site(states, kind, cell.row)
    first, second = pair.recorded[site], pair.beside[site]
    return not torch.equal(first[0, cell.column], second[0, cell.column])


def _site(states: States, kind: Kind, row: int) -> Site:
    if states == "resid":
        return Site(kind, row - 1, "resid_post") if row else Site(kind, 0, "resid_pre")
    return Site(kind, row, SITES[states])


def _patched(pair: _Pair, states: States, kind: Kind, cells: Sequence[Cell]) -> Tensor:
    """(R, V) log-probabilities for the second text, row r with the state of cell r of the first."""
    if pair.second.source or states == "heads":
        edits = {
            site: partial(_put, state, places, states == "heads")
            for site, state, places in _edits(pair, states, kind, cells)
        }
        return ask(pair.second, len(cells), edits=edits).logs
    # Up to the patched layer all rows are equal: one row is computed until there.
    logs = [
        ask(pair.second, edits={site: partial(_spread, state, [column for _, column in places])}).logs
        for site, state, places in _edits(pair, states, kind, cells)
    ]
    return torch.cat(logs)


def _edits(
    pair: _Pair, states: States, kind: Kind, cells: Sequence[Cell]
) -> Iterator[tuple[Site, Tensor, list[tuple[int, int]]]]:
    """Of cells sorted by their rows: each site, its state (n, ...), and (number, column) of its cells."""
    for row, of_row in groupby(enumerate(cells), key=lambda numbered: numbered[1].row):
        site = _site(states, kind, row)
        yield site, pair.recorded[site][0], [(number, cell.column) for number, cell in of_row]


def _spread(source: Tensor, columns: Sequence[int], tensor: Tensor) -> Tensor:
    """(R, n, w) of ``tensor`` (1, n, w): row r with the state of ``source`` (n, w) at the r-th column."""
    return _put(source, list(enumerate(columns)), False, tensor.expand(len(columns), *tensor.shape[1:]))


def _put(source: Tensor, places: Sequence[tuple[int, int]], heads: bool, tensor: Tensor) -> Tensor:
    """``tensor`` (R, n, ...) with the states of ``source`` (n, ...): rows, and of each a token or a head."""
    rows, columns = (torch.tensor(numbers) for numbers in zip(*places, strict=True))
    patched = tensor.clone()
    if heads:
        patched[rows, :, columns] = source[:, columns].transpose(0, 1)
    else:
        patched[rows, columns] = source[columns]
    return patched
