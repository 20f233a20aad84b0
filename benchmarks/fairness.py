"""What one visitor's heaviest work costs another one: a masked word alone, and while that work is under way.

By turns a visitor predicts a masked word on a server where nobody else works, and while another one does each of the
heaviest things that a page offers, again and again, each time with a text of its own. The medians are compared, so what
else the machine does weighs on both; the difference is what the visitor waits longer.

    python -m core bench fairness
    python benchmarks/fairness.py 20        as many masked words as one likes for each of the heavy things

What a training from random weights costs is measured by `training.py`.
"""

from __future__ import annotations

import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator

from _app import App, app
from _harness import goal
from _visitor import Visitor, sentence

ROUNDS = 12
DELAY = 300.0
"""Milliseconds by which a masked word may come later."""

Act = Callable[[Visitor, int], None]
HEAVY: dict[str, Act] = {
    "every head, 256 tokens": lambda who, n: who.open("attention", tab="all", text=sentence(n, 250)),
    "attention flow": lambda who, n: who.open("attention", tab="all", together="flow", text=sentence(n, 26)),
    "eight beams of 200": lambda who, n: who.open(
        "generation", text=f"The {sentence(n, 4)}", rules="beam-8", length=200
    ),
    "four strategies of 200": lambda who, n: who.open("generation", text=f"The {sentence(n, 4)}", length=200),
    "training a tokenizer": lambda who, n: who.open(
        "tokenizers", tab="train", kind="unigram", corpus=" ".join(sentence(n + k, 30) for k in range(20))
    ),
    "a patching grid": lambda who, n: who.open(
        "interventions",
        first=f"The keys to the {sentence(n, 14)} [MASK] here.",
        second=f"The key to the {sentence(n, 14)} [MASK] here.",
    ),
    "t-SNE": lambda who, n: who.open("vectors", tab="word", map="neighbours", seed=n),
}


def word(who: Visitor, n: int) -> float:
    """Milliseconds until the page with a masked word of a new text is complete."""
    begun = time.perf_counter()
    who.open("encoder", text=f"The {sentence(n, 6)} is a [MASK].")
    return (time.perf_counter() - begun) * 1e3


def waits(server: App, light: Visitor, act: Act, numbers: Iterator[int], rounds: int) -> tuple[list[float], float]:
    """The milliseconds of each masked word while ``act`` is repeated, and the median seconds of one ``act``."""
    over, times = threading.Event(), []

    def work() -> None:
        with Visitor(server) as heavy:
            while not over.is_set():
                begun = time.perf_counter()
                act(heavy, next(numbers))
                times.append(time.perf_counter() - begun)

    at_work = threading.Thread(target=work)
    at_work.start()
    time.sleep(0.2)
    beside = [word(light, next(numbers)) for _ in range(rounds)]
    over.set()
    at_work.join()
    return beside, statistics.median(times)


def main(rounds: int, heavy_acts: dict[str, Act] = HEAVY) -> bool:
    """Print two lines for each of the heavy things; whether all delays are within ``DELAY``."""
    reached, numbers = [], iter(range(10**6))
    with app() as server:
        server.wait()
        with Visitor(server) as light:
            for _ in range(3):
                word(light, next(numbers))
            for name, act in heavy_acts.items():
                with Visitor(server) as heavy:
                    act(heavy, next(numbers))  # loads what it needs
                alone = [word(light, next(numbers)) for _ in range(rounds)]
                beside, seconds = waits(server, light, act, numbers, rounds)
                before, after = statistics.median(alone), statistics.median(beside)
                print(
                    f"{name}, {seconds:.1f} s: a masked word alone {before:.0f} ms, beside it {after:.0f} ms, "
                    f"at most {max(beside):.0f} ms",
                    flush=True,
                )
                reached.append(goal(f"delay by {name}", after - before, DELAY, "ms"))
    return all(reached)


if __name__ == "__main__":
    sys.exit(0 if main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS) else 1)
