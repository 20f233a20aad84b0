r"""Published scaling laws: the loss by parameters and tokens, and the split of a compute budget C = 6 N D:

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
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from core.costs.known import DATA

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
