"""Whether memory stands still: one visitor looks at all heads of text after text, each of 250 tokens and new.

What a text brought has to leave when newer ones come: after many texts the server should stand where it stood after as
many as its caches hold.

    python -m core bench memory               60 texts
    python benchmarks/memory.py 150           as many as one likes
"""

from __future__ import annotations

import statistics
import sys
import time

from _app import app
from _harness import goal
from _visitor import Visitor, megabytes, sentence

TEXTS = 60
SETTLED = 20
"""Texts after which the caches are full."""
WORDS = 248
VIEWS = ({"tab": "all"}, {"tab": "bertviz"}, {"tab": "heads"})


def stands_still(texts: int) -> bool:
    """Look at ``texts`` of them; whether memory is at the end within 10% of what it was after ``SETTLED``."""
    found: list[float] = []
    with app() as server:
        server.wait()
        with Visitor(server) as visitor:
            for number in range(1, texts + 1):
                begun = time.perf_counter()
                for view in VIEWS:
                    visitor.open("attention", text=sentence(number, WORDS), **view)
                found.append(megabytes(server))
                if number == 1 or number % 10 == 0:
                    print(f"{number:>4} texts  {found[-1]:>7,.0f} MB  {time.perf_counter() - begun:.1f} s", flush=True)
    # The median of ten: a page of 16 MB comes and goes with each view.
    early, late = (statistics.median(found[end - 10 : end]) for end in (SETTLED, texts))
    print(f"around {SETTLED} texts {early:,.0f} MB, around {texts} texts {late:,.0f} MB, at most {max(found):,.0f} MB")
    return goal(f"memory after {texts} texts over that after {SETTLED}", late / early, 1.1, "times")


if __name__ == "__main__":
    sys.exit(0 if stands_still(int(sys.argv[1]) if len(sys.argv) > 1 else TEXTS) else 1)
