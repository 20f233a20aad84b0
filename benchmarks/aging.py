"""Whether the server ages: many acts of several visitors, and what an act takes at first and at last.

Eight visitors act without a pause, over the server's own protocol: they hide words, look at heads, let models write,
read pages, and open links, each with a text that nobody had before. Windows of as many acts, of the same kinds, are
compared. Milliseconds on the clock hang on what else the machine does; the goal is for those that the server had the
processors for.

    python -m core bench aging                600 acts
    python benchmarks/aging.py 3000           as many as one likes
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import quantiles
from threading import Lock

from _app import App, app
from _harness import goal
from _visitor import Visitor, megabytes, sentence

ACTS = 600
VISITORS = 8
WINDOWS = 10


def typed(who: Visitor, text: str) -> None:
    """A page is opened, and a text typed over its sample."""
    who.open("encoder")
    who.type(text)


KINDS: tuple[Callable[[Visitor, int], None], ...] = (
    lambda who, n: who.open("encoder", text=f"The {sentence(n, 6)} is a [MASK]."),
    lambda who, n: typed(who, f"A {sentence(n, 7)} was the [MASK]."),
    lambda who, n: who.open("encoder", tab="heads", text=sentence(n, 12), layer=n % 6 + 1, head=n % 12 + 1),
    lambda who, n: who.open("decoder", text=f"Once the {sentence(n, 6)}"),
    lambda who, n: who.open("generation", tab="step", text=f"The {sentence(n, 5)}", length=24),
    lambda who, n: who.open("timeline", year=2017 + n % 7),
    lambda who, n: who.open("generation", text=f"One {sentence(n, 5)}", length=24),
    lambda who, n: who.open("encoder-decoder", text=f"The {sentence(n, 5)} is old."),
    lambda who, n: who.open("compare", pins="bert,gpt-2,t5"),
    lambda who, n: who.open("attention", tab="all", text=sentence(n, 30)),
    lambda who, n: who.open("decoder", tab="heads", text=sentence(n, 12)),
    lambda who, n: who.open("calculators", tab="cache"),
    lambda who, n: who.open("attention", tab="bertviz", text=sentence(n, 12)),
    lambda who, n: who.open("objectives", text=sentence(n, 12), seed=n),
)


@dataclass(frozen=True)
class Window:
    """So many acts: the seconds of each, the server's seconds for all of them, and its megabytes at the end."""

    acts: list[float]
    processor: float
    megabytes: float

    @property
    def each(self) -> float:
        """The server's milliseconds for one act."""
        return self.processor / len(self.acts) * 1e3


def windows(server: App, acts: int) -> list[Window]:
    """The acts by all visitors, window by window."""
    size = max(acts // WINDOWS // len(KINDS), 1) * len(KINDS)
    lock, found = Lock(), []
    with ThreadPoolExecutor(VISITORS) as pool:
        visitors = [Visitor(server) for _ in range(VISITORS)]
        for first in range(0, acts, size):
            waiting = iter(range(first, first + size))

            def act(who: Visitor, waiting: object = waiting) -> list[float]:
                took = []
                while True:
                    with lock:
                        number = next(waiting, None)  # type: ignore[call-overload]
                    if number is None:
                        return took
                    begun = time.perf_counter()
                    KINDS[number % len(KINDS)](who, number)
                    took.append(time.perf_counter() - begun)

            before = server.processor_seconds()
            took = [one for many in pool.map(act, visitors) for one in many]
            found.append(Window(took, server.processor_seconds() - before, megabytes(server)))
            tell(first + size, found[-1])
        for who in visitors:
            who.close()
    return found


def tell(acts: int, window: Window) -> None:
    """One line of the table."""
    cuts = quantiles(window.acts, n=20)
    print(
        f"{acts:>7,}  {cuts[9]:>6.2f} s  {cuts[18]:>6.2f} s  {window.each:>10.0f} ms  {window.megabytes:>8,.0f} MB",
        flush=True,
    )


def flat(found: list[Window]) -> bool:
    """Whether the last windows take what the first ones took; the very first, in which models load, is left out."""
    early, late = found[1:4], found[-3:]
    return goal(
        "the server's time for an act in the last windows over that in the first",
        sum(one.each for one in late) / sum(one.each for one in early),
        1.25,
        "times",
    )


if __name__ == "__main__":
    acts = int(sys.argv[1]) if len(sys.argv) > 1 else ACTS
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"{os.cpu_count()} cores{load}; {VISITORS} visitors")
    print(f"{'acts':>7}  {'p50':>8}  {'p95':>8}  {'server per act':>13}  {'memory':>11}")
    with app() as server:
        server.wait()
        good = flat(windows(server, acts))
    sys.exit(0 if good else 1)
