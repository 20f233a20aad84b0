r"""Induction: a decoder of attention alone, trained to copy a sequence of random tokens that repeats.

A head of the second layer continues [A][B] ... [A] with [B]: it attends to the token after an earlier copy of the
present one (Olsson et al. 2022, arXiv 2209.11895). It composes with a head of the first layer, which writes into each
position which token came before (Elhage et al. 2021). With token embeddings E, position embeddings P and
:math:`x_0 = E`, each layer adds

.. math:: x_{l+1} = x_l + \sum_h \mathrm{softmax}\!\left(\tfrac{(x_l + P) W^Q_h \, ((x_l + P) W^K_h)^T}{\sqrt d}\right)
          x_l W^V_h W^O_h

where positions reach queries and keys alone (Press et al. 2020, arXiv 2012.15832): so a head copies tokens, not places.
The period differs from sequence to sequence, or a head could attend to a fixed distance and would need no second layer.

Legend: B sequences, n positions, L layers, H heads, d dimensions of a head, w hidden size, V tokens.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.lazy import Tensor, torch
from core.turns import turns

TOKENS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
LENGTH = 32
PERIODS = (8, 16)
"""The shortest and the longest sequence that repeats."""
SHOWN = 8
"""The period of the sequence whose attention is shown, twice."""
WIDTH, HEADS = 64, 2
BATCH, HELD_OUT = 16, 32
RATE = 1e-2
STEPS, EVERY = 240, 20
"""Steps of a training, and those between two measurements."""

Weights = dict[str, Tensor]
Grid = NDArray[np.float32]


class Setup(NamedTuple):
    """What a training depends on."""

    layers: int = 2
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Measured:
    """A decoder on held-out sequences."""

    first: float
    """The loss, in nats, at tokens that the sequence has not yet repeated."""
    repeated: float
    copied: float
    """The share of repeated tokens that are the most probable prediction."""
    previous: Grid
    """(L, H): the weight of a token that is no repeat on the token before."""
    induction: Grid
    """(L, H): the weight of a repeated token on tokens that follow an earlier copy of it."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A training so far: a measurement every ``EVERY`` steps from 0, and the weights after the last."""

    steps: tuple[Measured, ...]
    weights: dict[str, Grid]
    seconds: float
    """Of processor time, measurements included."""

    @property
    def step(self) -> int:
        return EVERY * (len(self.steps) - 1)


@dataclass(frozen=True, slots=True)
class Examined:
    """A trained decoder: measured, and on one sequence that is repeated once."""

    measured: Measured
    tokens: str
    """The n tokens, a character each."""
    predictions: str
    """After each token, the most probable next one."""
    patterns: Grid
    """(L, H, n, n) attention weights."""


def train(setup: Setup) -> Iterator[Progress]:
    """Train a decoder on one thread; yields after each measurement."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield from _train(setup)
    finally:
        torch.set_num_threads(threads)


def _train(setup: Setup) -> Iterator[Progress]:
    generator = torch.Generator().manual_seed(setup.seed)
    weights = initial(setup.layers, generator)
    for tensor in weights.values():
        tensor.requires_grad_()
    optimizer = torch.optim.Adam(weights.values(), lr=RATE)
    held_out = repeats(HELD_OUT, _held_out(setup.seed))
    steps: list[Measured] = []
    seconds = 0.0
    for step in range(STEPS + 1):
        turns.step()
        start = time.thread_time()
        if step % EVERY == 0:
            steps.append(measure(weights, *held_out))
            arrays = {name: tensor.detach().numpy().copy() for name, tensor in weights.items()}
            seconds += time.thread_time() - start
            yield Progress(tuple(steps), arrays, seconds)
            start = time.thread_time()
        tokens, _ = repeats(BATCH, generator)
        logits, _ = forward(weights, tokens[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        seconds += time.thread_time() - start


def examine(progress: Progress, seed: int, off: tuple[int, int] | None = None) -> Examined:
    """A decoder on the held-out sequences, without the output of the head ``off``: its layer and number, from 0."""
    weights = {name: torch.from_numpy(array.copy()) for name, array in progress.weights.items()}
    generator = _held_out(seed)
    measured = measure(weights, *repeats(HELD_OUT, generator), off)
    tokens = torch.randperm(len(TOKENS), generator=generator)[:SHOWN].repeat(2)
    with torch.no_grad():
        logits, patterns = forward(weights, tokens[None], off)
    predictions = logits[0].argmax(-1)
    read, predicted = ("".join(TOKENS[i] for i in ids) for ids in (tokens, predictions))
    return Examined(measured, read, predicted, patterns[:, 0].numpy())


def _held_out(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed + 2**32)


def initial(layers: int, generator: torch.Generator) -> Weights:
    """Random weights; projections keep the size of what they read."""

    def normal(*shape: int, size: float = 1.0) -> Tensor:
        return torch.randn(*shape, generator=generator) * size / math.sqrt(WIDTH)

    embeddings = {"E": normal(len(TOKENS), WIDTH, size=3), "P": normal(LENGTH, WIDTH, size=3)}
    return embeddings | {
        "QKV": normal(layers, 3, WIDTH, WIDTH),
        "O": normal(layers, WIDTH, WIDTH),
        "U": normal(WIDTH, len(TOKENS)),
    }


def repeats(count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """(B, n) sequences of different random tokens, each repeated to the end, and (B, 1) their periods."""
    low, high = PERIODS
    periods = torch.randint(low, high + 1, (count, 1), generator=generator)
    tokens = torch.rand(count, len(TOKENS), generator=generator).argsort(1)
    return tokens.gather(1, torch.arange(LENGTH) % periods), periods


def forward(weights: Weights, tokens: Tensor, off: tuple[int, int] | None = None) -> tuple[Tensor, Tensor]:
    """Predict each next token.

    Args:
        off: a head whose output is zero: its layer and number, from 0.

    Returns:
        (B, n, V) logits, and (L, B, H, n, n) attention weights.
    """
    count, n = tokens.shape
    stream, positions = weights["E"][tokens], weights["P"][:n]
    later = torch.ones(n, n, dtype=torch.bool).triu(1)
    patterns = []
    for layer, (projections, output) in enumerate(zip(weights["QKV"], weights["O"], strict=True)):
        placed = stream + positions
        query, key, value = (
            (read @ projection).view(count, n, HEADS, -1).transpose(1, 2)
            for read, projection in zip((placed, placed, stream), projections, strict=True)
        )
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
        pattern = scores.masked_fill(later, -torch.inf).softmax(-1)
        mixed = (pattern @ value).transpose(1, 2)  # (B, n, H, d)
        if off and off[0] == layer:
            mixed[:, :, off[1]] = 0
        stream = stream + mixed.flatten(2) @ output
        patterns.append(pattern)
    return stream @ weights["U"], torch.stack(patterns)


def measure(weights: Weights, tokens: Tensor, periods: Tensor, off: tuple[int, int] | None = None) -> Measured:
    """Loss, copying and scores of heads over sequences and periods as of :func:`repeats`."""
    with torch.no_grad():
        logits, patterns = forward(weights, tokens[:, :-1], off)
        positions = torch.arange(tokens.shape[1] - 1)
        copies = positions >= periods  # (B, n - 1): the next token has an earlier copy, after one of this token
        losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), tokens[:, 1:], reduction="none")
        right = logits.argmax(-1) == tokens[:, 1:]
        before = torch.nn.functional.pad(tokens[:, :-2], (1, 0), value=-1)  # (B, n - 1): the token before each
        after = (tokens[:, :-1, None] == before[:, None]).tril()  # keys that follow an earlier copy of the query
        induction = (patterns * after[:, None]).sum(-1).transpose(1, 2)[..., copies].mean(-1)
        previous = patterns.diagonal(-1, -2, -1).transpose(1, 2)[..., ~copies[:, 1:]].mean(-1)
    return Measured(
        float(losses[~copies].mean()),
        float(losses[copies].mean()),
        float(right[copies].float().mean()),
        previous.numpy(),
        induction.numpy(),
    )
