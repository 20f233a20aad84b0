r"""Candidate continuations by log-probability, and a policy that a reward moves.

With :math:`y_1, \dots, y_n` the tokens of a candidate and x the prompt, its log-probability is
:math:`s(y) = \sum_t \ln p(y_t \mid x, y_{<t})`. Over the candidates alone, a reward r has the exact solution

.. math::

    \pi(y) = \frac{e^{s(y)}}{\sum_{y'} e^{s(y')}}, \qquad
    \pi^*(y) \propto \pi(y)\, e^{r(y) / \beta} = \arg\max_q\; E_q[r] - \beta\, KL(q \,\|\, \pi),

which policy-gradient training approaches step by step (Ziegler et al., 2019, arXiv 1909.08593, section 2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, InputTooLong, InputUnusable, OutOfRange
from core.language.decoding.reader import room
from core.language.generate import steps_along
from core.language.inputs import Inputs
from core.language.starts import start
from core.language.text import clean
from core.words import counted, visible

MOST, LONGEST = 8, 200
"""Candidates, and characters of one."""
HIGHEST = 10.0
"""The largest reward, positive or negative."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A continuation and its tokens' log-probabilities in nats."""

    text: str
    tokens: tuple[str, ...]
    logs: tuple[float, ...]

    @property
    def total(self) -> float:
        return math.fsum(self.logs)

    @property
    def mean(self) -> float:
        return self.total / len(self.logs)


@dataclass(frozen=True, slots=True)
class Policy:
    """Probabilities of the candidates before and after the reward."""

    before: NDArray[np.float64]
    after: NDArray[np.float64]
    rewards: NDArray[np.float64]

    @property
    def kl(self) -> float:
        """KL(after || before), in nats."""
        return float(np.sum(self.after * (np.log(np.maximum(self.after, 1e-300)) - np.log(self.before))))

    @property
    def expected(self) -> tuple[float, float]:
        """The expected reward before and after."""
        return float(self.before @ self.rewards), float(self.after @ self.rewards)


def candidates(lines: str) -> tuple[str, ...]:
    """The candidates of a box, one on each line.

    Raises:
        InputEmpty: there are fewer than two.
        InputTooLong: too many, or one is too long.
    """
    continuations = tuple(filter(None, (line.strip() for line in clean(lines, newlines=True).split("\n"))))
    if len(continuations) < 2:
        raise InputEmpty("Type at least two continuations, one on each line.")
    if len(continuations) > MOST or max(map(len, continuations)) > LONGEST:
        raise InputTooLong(f"At most {MOST} continuations of {LONGEST} characters each can be compared here.")
    return continuations


def rewarded(lines: str) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """The candidates of a box and their rewards, ``reward: continuation`` on each line.

    Raises:
        InputUnusable: a line has no reward.
        OutOfRange: a reward is too large.
    """
    texts, rewards = [], []
    for number, line in enumerate(candidates(lines), 1):
        reward, colon, text = (part.strip() for part in line.partition(":"))
        try:
            value = float(reward.replace("−", "-"))
        except ValueError:
            value = math.nan
        if not (colon and text) or math.isnan(value):
            raise InputUnusable(f"Line {number} has no reward. Write a number, a colon and the text: “1.5: ran home.”")
        if abs(value) > HIGHEST:
            raise OutOfRange(f"The reward of line {number} lies outside of −{HIGHEST:g} to {HIGHEST:g}.")
        texts.append(text)
        rewards.append(value)
    return tuple(texts), tuple(rewards)


def score(checkpoint: Checkpoint, prompt: str, texts: Sequence[str]) -> tuple[Candidate, ...]:
    """Each text after the prompt, of an encoder-decoder after the start of its output.

    Raises:
        InputTooLong: a text does not fit behind the prompt.
    """
    begun, scored = start(checkpoint, prompt), []
    most = room(begun)
    for text in texts:
        ids = _continuation(begun, prompt, text)
        if most is not None and len(ids) > most:
            raise InputTooLong(
                f"“{text[:40]}” does not fit behind the prompt: there is room for {counted(most, 'token')}."
            )
        steps = steps_along(checkpoint, prompt, ids)
        logs = tuple(-math.log(2) * step.spread.surprisal for step in steps if step.spread)
        scored.append(Candidate(text, tuple(visible(step.token.text) for step in steps), logs))
    return tuple(scored)


def _continuation(begun: Inputs, prompt: str, text: str) -> tuple[int, ...]:
    """The tokens of a text as they follow the prompt, with a space between."""
    if not begun.source:
        ids = start(begun.checkpoint, f"{prompt} {text}").ids
        if ids[: len(begun.ids)] == begun.ids:
            return ids[len(begun.ids) :]
    return tuple(begun.checkpoint.tokenizer(f" {text}", add_special_tokens=False, verbose=False)["input_ids"])


def policy(logs: Sequence[float], rewards: Sequence[float], beta: float) -> Policy:
    """The candidates' probabilities, and those that maximize the reward less β times the divergence.

    Raises:
        OutOfRange: β is not above 0.
    """
    if not beta > 0:
        raise OutOfRange("Beta lies above 0.")
    scores, reward_values = np.asarray(logs, np.float64), np.asarray(rewards, np.float64)
    return Policy(_softmax(scores), _softmax(scores + reward_values / beta), reward_values)


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    raised = np.exp(scores - scores.max())
    return np.asarray(np.maximum(raised / raised.sum(), 1e-300))
