"""What pages do before they draw: read every record, search, and link the terms of a text, in seconds on the processor.

Goals: 150 ms to read the catalogue in a process that has read nothing yet, nothing to speak of the second time, 10 ms
for a search, 20 ms for a paragraph whose terms become links.
"""

from __future__ import annotations

import logging
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from _app import ROOT
from _harness import goal

sys.path.insert(0, str(ROOT))

FIRST = (
    "import time; from core import catalogue; start = time.process_time(); catalogue.systems(); "
    "print(time.process_time() - start)"
)
QUERIES = (
    "bert",
    "rotary",
    "masked language modelling",
    "trasnformer",
    "zzqqxx",
    "e",
    "340 million parameters",
)
PARAGRAPH = "An encoder reads the whole sentence at once and turns every word into a vector. " * 5
ROUNDS = 20


def milliseconds(work: Callable[[], object]) -> float:
    """Of the processor, for one of `ROUNDS` calls, the median."""
    found = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return statistics.median(found) * 1e3


def main() -> bool:
    """Measure all four; True when every goal is met."""
    from core import catalogue
    from core.search import find
    from core.ui.glossary import terms

    logging.disable(logging.WARNING)  # Streamlit misses its server here
    command = [sys.executable, "-c", FIRST]
    first = [float(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout) for _ in range(5)]
    good = goal("every record read for the first time", statistics.median(first) * 1e3, 150, "ms")
    good &= goal("every record read again", milliseconds(catalogue.systems), 0.05, "ms")
    find("warm")
    good &= goal("a search", statistics.median(milliseconds(lambda q=q: find(q)) for q in QUERIES), 10, "ms")
    terms(PARAGRAPH)
    good &= goal("terms of a paragraph linked", milliseconds(lambda: terms(PARAGRAPH)), 20, "ms")
    return good


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
