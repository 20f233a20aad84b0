"""How fast a run is and how long it will take, from the last minute or so, and how the person is told.

With u the used share of the budget, and over the last minute of training Δu in Δt, what is left takes

    (1 − u) · Δt / Δu · (1 + p / t)

seconds, where p / t is how long this run has paused to save and to measure, for each second that it trained. What an
earlier run did before it was interrupted counts for nothing.
"""

from __future__ import annotations

import sys
from collections import deque
from typing import NamedTuple

WINDOW = 60.0
"""Seconds of training that the speed is taken from."""
EVERY = 60.0
"""Seconds between two lines where the output is no terminal."""


class Sample(NamedTuple):
    """Where a run was at one time."""

    seconds: float
    """Seconds of training, without pauses."""
    tokens: int
    used: float
    """Share of the budget, 0 to 1."""


class Pace:
    """Speed and time left.

    Args:
        tokens: seen before this run.
        used: share of the budget used before this run.
    """

    def __init__(self, tokens: int, used: float) -> None:
        self.now = Sample(0.0, tokens, used)
        self._past = deque([self.now])
        self._paused = 0.0

    def step(self, seconds: float, tokens: int, used: float) -> None:
        """A step took ``seconds``; so many tokens have been seen in all, and such a share of the budget is used."""
        self.now = Sample(self.now.seconds + seconds, tokens, used)
        if self.now.seconds - self._past[-1].seconds >= WINDOW / 60:  # a sample a second is enough
            self._past.append(self.now)
        while len(self._past) > 1 and self._past[1].seconds <= self.now.seconds - WINDOW:
            self._past.popleft()

    def pause(self, seconds: float) -> None:
        """So long nothing was trained."""
        self._paused += seconds

    @property
    def speed(self) -> float | None:
        """Tokens per second of training over the last minute; None before the first step."""
        spent = self.now.seconds - self._past[0].seconds
        return (self.now.tokens - self._past[0].tokens) / spent if spent > 0 else None

    @property
    def left(self) -> float | None:
        """Seconds to the end of the budget, pauses included; None before it is known."""
        spent, gained = self.now.seconds - self._past[0].seconds, self.now.used - self._past[0].used
        if spent <= 0 or gained <= 0:
            return None
        pauses = 1 + self._paused / self.now.seconds
        return max(0.0, 1 - self.now.used) * spent / gained * pauses


def duration(seconds: float) -> str:
    """``45 s``, ``12 min`` or ``3 h 05 min``; the next minute from half of one on."""
    if round(seconds) < 60:
        return f"{round(seconds)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def line(pace: Pace, loss: float, step: int) -> str:
    """Loss, steps, tokens, speed and time left, as a person reads them."""
    parts = [f"loss {loss:.3f}", f"step {step:,}", f"{pace.now.tokens / 1e6:.2f}M tokens"]
    if pace.speed is not None:
        parts.append(f"{pace.speed:,.0f} tokens/s")
    if pace.left is not None:
        parts.append(f"{duration(pace.left)} left")
    return ", ".join(parts)


class Report:
    """A bar in a terminal, a line a minute elsewhere; both on the error stream.

    Args:
        quiet: say nothing.
        name: what the lines begin with.
    """

    def __init__(self, quiet: bool, name: str) -> None:
        self.name = name
        self.lines = not quiet and not sys.stderr.isatty()
        self._told: float | None = None
        self._bar = None
        if not quiet and not self.lines:
            from tqdm import tqdm  # type: ignore[import-untyped]

            self._bar = tqdm(total=100.0, bar_format="{percentage:3.0f} % {bar:20} {desc}", mininterval=1)

    def show(self, now: float, pace: Pace, loss: float, step: int, *, last: bool = False) -> None:
        """Tells how far the run is at the clock's second ``now``; most calls tell nothing."""
        share = min(100.0, 100 * pace.now.used)
        if self._bar is not None:
            self._bar.n = share
            self._bar.set_description_str(line(pace, loss, step), refresh=last)
            self._bar.update(0)
        elif self.lines and (last or self._told is None or now - self._told >= EVERY):
            self._told = now
            print(f"{self.name}: {share:.1f} %, {line(pace, loss, step)}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leaves the bar as it is."""
        if self._bar is not None:
            self._bar.close()
