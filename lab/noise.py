r"""The gradient noise scale of a live decoder (McCandlish et al. 2018, arXiv 1812.06162), in tokens.

With G the true gradient and :math:`\Sigma` the covariance of the gradient of one token, a batch of B tokens has

.. math:: E\,|G_B|^2 = |G|^2 + \operatorname{tr} \Sigma / B

so that two batch sizes, one window of b tokens and a group of n windows, give both terms without bias:

.. math:: |G|^2 = \frac{n |G_{nb}|^2 - |G_b|^2}{n - 1}
          \qquad \frac{\operatorname{tr} \Sigma}{b} = \frac{|G_b|^2 - |G_{nb}|^2}{1 - 1/n}
          \qquad B_{\text{simple}} = \operatorname{tr} \Sigma / |G|^2

Both are averaged over the groups before they are divided. The interval is that of the jackknife: without each group in
turn, two standard errors on the logarithm of the scale.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import exp, log, sqrt
from typing import Any

from core.checkpoints.spec import Checkpoint
from core.interventions.heldout import story
from core.lazy import functional, torch
from lab.measures import token_ids

WINDOW, GROUP = 32, 5
"""Tokens of a window of a live model, and windows of a group."""


@dataclass(frozen=True, slots=True)
class Noise:
    """What the gradients of some windows say."""

    window: int
    """Tokens of a window."""
    signals: tuple[float, ...]
    """An estimate of |G|² for each group."""
    noises: tuple[float, ...]
    """An estimate of tr Σ / b for each group."""

    @property
    def scale(self) -> float | None:
        """Tokens; None where the signal cannot be told from the noise."""
        return _scale(self.window, self.signals, self.noises)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Two standard errors below and above; None where a group decides whether there is a signal."""
        count = len(self.signals)
        parts = [_scale(self.window, _without(self.signals, at), _without(self.noises, at)) for at in range(count)]
        logs = [log(part) for part in parts if part]
        if self.scale is None or len(logs) < max(2, count):
            return None
        mean = sum(logs) / count
        error = sqrt((count - 1) / count * sum((scale - mean) ** 2 for scale in logs))
        return self.scale * exp(-2 * error), self.scale * exp(2 * error)


def _without(values: Sequence[float], at: int) -> list[float]:
    return [value for number, value in enumerate(values) if number != at]


def _scale(window: int, signals: Sequence[float], noises: Sequence[float]) -> float | None:
    signal, noise = sum(signals), sum(noises)
    return window * noise / signal if signal > 0 and noise > 0 else None


def measure(parameters: Sequence[Any], losses: Sequence[Callable[[], Any]], window: int, group: int) -> Iterator[Noise]:
    """The noise after each group of windows; stop iterating to stop.

    Args:
        parameters: those whose gradients count.
        losses: for each window, a function that returns its mean loss with a graph.
        window: tokens of a window.
        group: windows of a group; a last group that is incomplete is left out.
    """
    signals: list[float] = []
    noises: list[float] = []
    for start in range(0, len(losses) - group + 1, group):
        small = 0.0
        total: list[Any] = []
        for loss in losses[start : start + group]:
            with torch.enable_grad():
                gradients = torch.autograd.grad(loss(), parameters)
            small += _square(gradients) / group
            total = [a + b for a, b in zip(total, gradients, strict=True)] if total else list(gradients)
        big = _square(total) / group**2
        signals.append((group * big - small) / (group - 1))
        noises.append((small - big) / (1 - 1 / group))
        yield Noise(window, tuple(signals), tuple(noises))


def live(checkpoint: Checkpoint) -> Iterator[Noise]:
    """The noise of a loaded decoder after each group of windows of the held-out story, in a fixed random order."""
    model: Any = copy.deepcopy(checkpoint.model).eval().requires_grad_(True)
    windows = torch.tensor(token_ids(checkpoint, story())).unfold(0, WINDOW + 1, WINDOW)
    order = random.Random(0).sample(range(len(windows)), len(windows))

    def loss(at: int) -> Any:
        logits = model(input_ids=windows[at, None, :-1]).logits[0].float()
        return functional.cross_entropy(logits, windows[at, 1:])

    yield from measure(list(model.parameters()), [partial(loss, at) for at in order], WINDOW, GROUP)


def _square(gradients: Sequence[Any]) -> float:
    return sum(float((gradient.double() ** 2).sum()) for gradient in gradients)
