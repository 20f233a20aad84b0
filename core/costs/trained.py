r"""Decoders trained here by size, tokens, batch and rate (``python -m lab sweep``); fits to them, and published laws.

.. math:: L = E + \frac{A}{N^\alpha} + \frac{B}{D^\beta}
          \qquad L \propto N^{-\alpha_N} \text{ at the most tokens}
          \qquad L \propto D^{-\alpha_D} \text{ at the largest size}

Fits minimize the Huber loss of the differences of logarithms. Intervals are the middle 95% of fits to runs that are
drawn with replacement.

The published scaling laws give the loss by parameters and tokens, and the split of a compute budget C = 6 N D:

.. math:: L(N, D) = \left[\left(\frac{N_c}{N}\right)^{\alpha_N / \alpha_D} + \frac{D_c}{D}\right]^{\alpha_D}
          \qquad L(N, D) = E + \frac{A}{N^\alpha} + \frac{B}{D^\beta}

The first is of Kaplan et al. 2020, with N without embeddings, the second of Hoffmann et al. 2022. Losses are in nats
per token of each study's own tokenizer and texts, so the two are not on one scale. The best split of the second is

.. math:: N = G (C / 6)^{\beta / (\alpha + \beta)},
          \quad G = \left(\frac{\alpha A}{\beta B}\right)^{1 / (\alpha + \beta)}

Kaplan's is the power law that they printed. ``data/scaling.toml`` has the constants with their sources.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np

from core.costs.known import DATA
from core.settings import ASSETS
from core.table import measured

PETAFLOP_DAY = 1e15 * 86_400


@dataclass(frozen=True, slots=True)
class Law:
    """A published law: the loss of N parameters on D tokens, and the N of a compute budget."""

    name: str
    loss: Callable[[float, float], float]
    best: Callable[[float], float]
    exponent: float
    """Of the compute in the best N."""

    def split(self, compute: float) -> tuple[float, float]:
        """N and D that spend ``compute`` operations best: D = C / 6 N."""
        parameters = self.best(compute)
        return parameters, compute / (6 * parameters)


def power_law(name: str, n_c: float, d_c: float, alpha_n: float, alpha_d: float, best: float, exponent: float) -> Law:
    """Kaplan's form; ``best`` parameters for a budget of one petaflop/s-day."""
    return Law(
        name,
        lambda n, d: float(((n_c / n) ** (alpha_n / alpha_d) + d_c / d) ** alpha_d),
        lambda compute: float(best * (compute / PETAFLOP_DAY) ** exponent),
        exponent,
    )


def sum_law(name: str, e: float, a: float, b: float, alpha: float, beta: float) -> Law:
    """Hoffmann's form."""
    exponent = beta / (alpha + beta)
    scale = (alpha * a / (beta * b)) ** (1 / (alpha + beta))
    return Law(
        name,
        lambda n, d: float(e + a / n**alpha + b / d**beta),
        lambda compute: float(scale * (compute / 6) ** exponent),
        exponent,
    )


@lru_cache(maxsize=1)
def laws() -> dict[str, Law]:
    """The laws by key, oldest first."""
    rows = tomllib.loads((DATA / "scaling.toml").read_text(encoding="utf-8"))["laws"]
    return {key: (sum_law if "e" in row else power_law)(**row) for key, row in rows.items()}


FOLDER = ASSETS / "measured"
SIZES = {(2, 16): 1.8e-2, (2, 32): 1e-2, (3, 48): 7e-3, (3, 80): 4.5e-3, (4, 128): 3e-3}
"""Learning rate by layers and width: chosen for 32 and 128 on 80,000 tokens with another seed, in between and beyond a
power of the width."""
TOKENS = (50_000, 85_000, 140_000, 240_000, 400_000)
SWEPT = (2, 32), 100_000
"""Size and tokens of the sweep over batches and rates."""
BATCHES = (128, 256, 512, 1024, 2048)
RATES = (2e-3, 4e-3, 8e-3, 1.6e-2, 3.2e-2, 6.4e-2)
NOISY = (5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 400_000)
"""Tokens after which the noise scale is measured, of the swept size at the largest amount of text."""
RESAMPLED = 200
"""Fits behind an interval."""


@dataclass(frozen=True, slots=True)
class Run:
    """A trained decoder."""

    layers: int
    width: int
    tokens: int
    batch: int
    """Tokens of a step."""
    rate: float
    seed: int
    parameters: int = 0
    """Without embeddings."""
    loss: float = 0.0
    """Held-out, in nats per token."""

    @property
    def point(self) -> tuple[float, ...]:
        """What it is a run of."""
        return self.layers, self.width, self.tokens, self.batch, self.rate, self.seed


@dataclass(frozen=True, slots=True)
class Noisy:
    """A gradient noise scale in tokens, with its interval."""

    model: str
    """A bundled decoder, or "" for the swept one."""
    seed: int
    tokens: int
    """Trained so far."""
    loss: float
    """Held-out, in nats per token; 0 of a bundled one, whose tokens are others."""
    scale: float
    low: float
    high: float


T = TypeVar("T", Run, Noisy, "Fitted")


def read(kind: type[T], name: str) -> list[T]:
    """The rows of a file; none where it is missing."""
    return list(measured(FOLDER / f"{name}.csv", kind))


def by_setting(runs: Sequence[Run]) -> dict[tuple[float, ...], list[Run]]:
    """Runs that differ by their seed alone, by the rest of their setting."""
    found: dict[tuple[float, ...], list[Run]] = {}
    for run in sorted(runs, key=lambda run: run.point):
        found.setdefault((run.parameters, *run.point[2:5]), []).append(run)
    return found


@dataclass(frozen=True, slots=True)
class Fitted:
    """A constant of a fit."""

    name: str
    """E, A, B, alpha, beta and best, N's growth with compute, of the sum; alpha_N and alpha_D of the power laws."""
    value: float
    low: float
    high: float


def best_rate(runs: Sequence[Run], batch: int) -> tuple[float, float]:
    """The learning rate of least mean loss with a batch, and that loss, by a parabola over ln rate through the best
    rate and its neighbors; at the end of the swept rates, the best rate itself."""
    means = {
        key[3]: sum(run.loss for run in own) / len(own) for key, own in by_setting(runs).items() if key[2] == batch
    }
    rates = sorted(means)
    at = min(range(len(rates)), key=lambda i: means[rates[i]])
    if at in (0, len(rates) - 1):
        return rates[at], means[rates[at]]
    near = rates[at - 1 : at + 2]
    a, b, c = np.polyfit(np.log(near), [means[rate] for rate in near], 2)
    return float(np.exp(-b / (2 * a))), float(c - b * b / (4 * a))


def fitted_law(constants: Mapping[str, Fitted]) -> Law:
    """The sum with the fitted constants."""
    own = {name: one.value for name, one in constants.items()}
    return sum_law("Trained here", own["E"], own["A"], own["B"], own["alpha"], own["beta"])


def fit(runs: Sequence[Run], resampled: int = RESAMPLED) -> list[Fitted]:
    """All constants of finished runs with their intervals."""
    rng = np.random.default_rng(0)
    most, largest = max(run.tokens for run in runs), max(run.parameters for run in runs)
    sizes = [(run.parameters, run.loss) for run in runs if run.tokens == most]
    texts = [(run.tokens, run.loss) for run in runs if run.parameters == largest]
    points = [(run.parameters, run.tokens, run.loss) for run in runs]
    start = min((_sum(points, s) for s in _STARTS), key=lambda found: found[1])[0]
    found = _intervals(points, lambda rows: _constants(_sum(rows, start)[0]), 6, resampled, rng)
    found |= _intervals(sizes, lambda rows: {"alpha_N": _exponent(rows)}, 3, resampled, rng)
    found |= _intervals(texts, lambda rows: {"alpha_D": _exponent(rows)}, 3, resampled, rng)
    return list(found.values())


_Rows = Sequence[tuple[float, ...]]
_STARTS = [(1.0, 1.0 + a * 9, 1.0 + b * 10, a, b) for a in (0.2, 0.5, 0.8) for b in (0.2, 0.5, 0.8)]
"""ln E, ln A, ln B, α, β."""


def _intervals(
    rows: _Rows, compute: Callable[[_Rows], dict[str, float]], least: int, resampled: int, rng: np.random.Generator
) -> dict[str, Fitted]:
    """What is computed of all rows, and the interval of what is computed of rows drawn with replacement.

    Args:
        least: different settings that a draw needs, where there are as many.
    """
    drawn: list[dict[str, float]] = []
    least = min(least, len({row[:-1] for row in rows}))
    while len(drawn) < resampled:
        chosen = [rows[at] for at in rng.integers(len(rows), size=len(rows))]
        if len({row[:-1] for row in chosen}) >= least:
            drawn.append(compute(chosen))
    ends = {name: np.quantile([one[name] for one in drawn], (0.025, 0.975)) for name in drawn[0]}
    return {name: Fitted(name, value, *map(float, ends[name])) for name, value in compute(rows).items()}


def _exponent(rows: _Rows) -> float:
    """α of L ∝ x^-α by least squares on logarithms."""
    x, loss = np.log(np.array(rows)).T
    return -float(np.polyfit(x, loss, 1)[0])


def _constants(found: Sequence[float]) -> dict[str, float]:
    e, a, b, alpha, beta = map(float, found)
    scales = {"E": np.exp(e), "A": np.exp(a), "B": np.exp(b)}
    return {**{name: float(value) for name, value in scales.items()}, "alpha": alpha, "beta": beta} | {
        "best": beta / (alpha + beta)
    }


def _sum(rows: _Rows, start: Sequence[float]) -> tuple[list[float], float]:
    """ln E, ln A, ln B, α, β of least Huber loss, and that loss."""
    from scipy.optimize import least_squares

    n, d, loss = np.log(np.array(rows, dtype=float)).T

    def terms(c: np.ndarray) -> np.ndarray:
        return np.stack([np.full_like(n, c[0]), c[1] - c[3] * n, c[2] - c[4] * d])

    def slopes(c: np.ndarray) -> np.ndarray:
        shares = np.exp(terms(c))
        e, a, b = shares / shares.sum(axis=0)
        return np.stack([e, a, b, -a * n, -b * d], axis=1)

    found = least_squares(
        lambda c: np.log(np.exp(terms(c)).sum(axis=0)) - loss,
        start,
        slopes,
        bounds=([-3, -5, -5, 0.01, 0.01], [3, 25, 25, 3, 3]),
        loss="huber",
        f_scale=1e-3,
        x_scale="jac",
    )
    return [*found.x], float(found.cost)
