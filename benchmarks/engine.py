"""Masked words in this process and by the model engine: one and two replicas, batching off and on.

    pip install -r requirements-ray.txt && python benchmarks/engine.py [seconds]

Eight visitors ask for predictions in sentences of 8 to 40 tokens, each again as soon as it has an answer. All
engines are started first and measured by turns, so that they meet about the same load of the machine; the figures are
medians over the rounds. All compute on one machine, so a second replica helps as far as that has processors left.
"""

from __future__ import annotations

import os
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from core.engine import checkpoint
from core.engine.client import results
from core.engine.tasks import TASKS, name_of
from core.language.fill_mask import fill_mask
from core.settings import ROOT, settings
from core.turns import turns

SLUG = "minilm"
VISITORS = 8
ROUNDS = 3


def measure(ask: Callable[[str], object], texts: list[str], seconds: float) -> tuple[float, float, float]:
    """Requests a second, and the median and the 95th percentile of their times in milliseconds."""
    times: list[float] = []
    begun = time.perf_counter()

    def visit(number: int) -> None:
        while (start := time.perf_counter()) < begun + seconds:
            with turns.run():
                ask(texts[number])
            times.append(time.perf_counter() - start)
            number = (number + VISITORS) % len(texts)

    threads = [threading.Thread(target=visit, args=(number,)) for number in range(VISITORS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(times) / seconds, 1e3 * statistics.median(times), 1e3 * statistics.quantiles(times, n=20)[-1]


@contextmanager
def engine(replicas: int, batch: int) -> Iterator[str]:
    """The address of an engine on this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    options = ["--replicas", str(replicas), "--cpus", "0.25", "--batch", str(batch), "--port", port]
    serve = [sys.executable, "-m", "core", "serve", *options]
    log = subprocess.DEVNULL
    process = subprocess.Popen(serve, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, start_new_session=True)
    try:
        assert process.stdout is not None
        if not any(b"engine answers" in line for line in process.stdout):
            raise SystemExit("The engine did not start: is requirements-ray.txt installed?")
        threading.Thread(target=process.stdout.read, daemon=True).start()
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def main() -> int:
    """Measure and print; there is no goal, since what is gained depends on the machines."""
    if find_spec("ray") is None:
        print("Not measured: that needs requirements-ray.txt.")
        return 0
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    model = checkpoint(SLUG)
    texts = [f"The old king {count * 'very '}often saw the [MASK]." for count in range(32)]

    def remote(text: str) -> object:
        return next(results(TASKS[name_of(fill_mask)], SLUG, None, (text, 5), {}))

    print(f"{VISITORS} visitors, {SLUG}, {os.cpu_count()} processors, {ROUNDS} rounds of {seconds:g} s each")
    with ExitStack() as stack:
        urls = {"in this process": ""}
        for replicas, batch in ((1, 1), (1, 8), (2, 1), (2, 8)):
            batches = f"batches of up to {batch}" if batch > 1 else "batches off"
            what = f"{replicas} replica{'s' if replicas > 1 else ''}, {batches}"
            urls[what] = stack.enter_context(engine(replicas, batch))
        rounds: dict[str, list[tuple[float, float, float]]] = {what: [] for what in urls}
        for number in range(-1, ROUNDS):
            for what, url in urls.items():
                os.environ["ATLAS_ENGINE_URL"] = url or "http://127.0.0.1:8000"
                settings.cache_clear()
                ask = remote if url else partial(fill_mask, model)
                result = measure(ask, texts, seconds)
                if number >= 0:  # in the first round every replica loads the model
                    rounds[what].append(result)
    here = rounds["in this process"]
    for what, times in rounds.items():
        rate, middle, high = (statistics.median(column) for column in zip(*times, strict=True))
        ratios = (
            statistics.median(theirs[i] / ours[i] for theirs, ours in zip(times, here, strict=True)) for i in range(3)
        )
        print(f"  {what:31} {rate:6.1f} requests/s, p50 {middle:5.0f} ms, p95 {high:5.0f} ms;", end=" ")
        print("ratios to this process {:.2f}, {:.2f}, {:.2f}".format(*ratios))
    return 0


if __name__ == "__main__":
    sys.exit(main())
