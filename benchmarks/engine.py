"""Masked words in this process and by the model engine: one and two replicas, batching off and on.

    pip install -r requirements-ray.txt && python benchmarks/engine.py [seconds]

Eight visitors ask for predictions in sentences of 8 to 40 tokens, each again as soon as it has an answer. Before each
engine this process is measured anew, and the ratios are to that: both meet about the same load of the machine. All
compute on one machine, so a second replica helps as far as that has processors left.
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
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from core.engine import checkpoint
from core.engine.client import frames
from core.language.fill_mask import MaskedText, predict, prepare
from core.settings import ROOT, settings
from core.turns import turns

SLUG = "minilm"
VISITORS = 8
WARM = 3.0
"""Seconds at the start of a measurement that do not count: every replica loads the model."""


def measure(ask: Callable[[MaskedText], object], texts: list[MaskedText], seconds: float) -> tuple[float, float, float]:
    """Requests a second, and the median and the 95th percentile of their times in milliseconds."""
    times: list[float] = []
    begun = time.perf_counter() + WARM

    def visit(number: int) -> None:
        while (start := time.perf_counter()) < begun + seconds:
            with turns.run():
                ask(texts[number])
            if start >= begun:
                times.append(time.perf_counter() - start)
            number = (number + VISITORS) % len(texts)

    threads = [threading.Thread(target=visit, args=(number,)) for number in range(VISITORS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(times) / seconds, 1e3 * statistics.median(times), 1e3 * statistics.quantiles(times, n=20)[-1]


@contextmanager
def engine(replicas: int, batch: int) -> Iterator[None]:
    """An engine on this machine, which ``ATLAS_ENGINE_URL`` names."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    options = ["--replicas", str(replicas), "--cpus", "0.5", "--batch", str(batch), "--port", port]
    serve = [sys.executable, "-m", "core", "serve", *options]
    log = subprocess.DEVNULL
    process = subprocess.Popen(serve, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, start_new_session=True)
    try:
        assert process.stdout is not None
        if not any(b"engine answers" in line for line in process.stdout):
            raise SystemExit("The engine did not start: is requirements-ray.txt installed?")
        threading.Thread(target=process.stdout.read, daemon=True).start()
        os.environ["ATLAS_ENGINE_URL"] = f"http://127.0.0.1:{port}"
        settings.cache_clear()
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def main() -> int:
    """Measure and print; there is no goal, since what is gained depends on the machines."""
    if find_spec("ray") is None:
        print("Not measured: that needs requirements-ray.txt.")
        return 0
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 15.0
    model = checkpoint(SLUG)
    texts = [prepare(model, f"The old king {count * 'very '}often saw the [MASK].") for count in range(32)]

    def remote(text: MaskedText) -> object:
        return next(frames(("core.language.fill_mask:predict", SLUG, None, (text, 5), {})))

    print(f"{VISITORS} visitors, {SLUG}, {os.cpu_count()} processors, {seconds:g} s each")
    for replicas, batch in ((1, 1), (1, 8), (2, 1), (2, 8)):
        here = measure(lambda text: predict(model, text), texts, seconds)
        with engine(replicas, batch):
            for _ in range(2 * replicas):  # replicas load the model
                remote(texts[0])
            there = measure(remote, texts, seconds)
        for what, (rate, middle, high) in (
            ("in this process", here),
            (f"{replicas} replica(s), batches {'off' if batch == 1 else f'of up to {batch}'}", there),
        ):
            print(f"  {what:32} {rate:6.1f} requests/s, p50 {middle:6.1f} ms, p95 {high:6.1f} ms", flush=True)
        rate, middle, high = (b / a for a, b in zip(here, there, strict=True))
        print(
            f"  {'ratio to this process':32} {rate:6.2f} requests/s, p50 {middle:6.2f},    p95 {high:6.2f}", flush=True
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
