"""Seconds of one forward pass of a model on this machine, measured now.

The model's own tokenizer tokenizes a fixed text, of which the model reads the first 32 tokens, special tokens included.
An encoder-decoder reads them with its encoder and the same 32 with its decoder. Nothing is cached between the passes,
and the number of threads is the app's. The first passes are warm-up: they start threads and allocate memory. The median
of the others is reported, with the fastest and the slowest.

Two models on one sentence are timed alternately, so that other load on the machine affects both.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.lazy import torch
from core.sparse.bigbird import forward
from core.sparse.reformer import states

TOKENS = 32
WARM_UP = 2
RUNS = 9
FEW_RUNS = 3
_SLOW_SECONDS = 1.0  # a slower model is timed over fewer passes, since a visitor waits
TEXT = (
    "In the morning the old ferry left the harbour with nine passengers, two dogs and a box of letters. The wind came "
    "from the north, and the captain, who had made this crossing every day for thirty years, looked at the sky, said "
    "nothing, and turned the wheel a little to the left."
)

Progress = Callable[[float, str], object]
"""Called with the share done, from 0 to 1, and the current step; an exception from it stops the measurement."""


def silent(share: float, doing: str) -> None:
    """Tells nobody."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of one forward pass over ``tokens`` tokens, of ``runs`` passes with ``threads`` threads."""

    seconds: float
    """The median."""
    fastest: float
    slowest: float
    runs: int
    tokens: int
    threads: int


def measure(checkpoint: Checkpoint, tell: Progress = silent) -> Timing:
    """Time the forward pass of a loaded model, which is only read.

    Raises :class:`InputUnusable` for a model that needs more than a text as input.
    """
    ids = tokens_of(checkpoint)
    name = checkpoint.spec.name
    tell(0.0, f"{name}: warming up")
    try:
        once = [seconds_of(checkpoint, ids) for _ in range(WARM_UP)]
    except (MemoryError, AssertionError):
        raise
    except Exception as error:  # an architecture may need inputs of any kind
        raise InputUnusable(f"{name} needs more than a text as input, so it cannot be timed here.") from error
    runs = RUNS if once[-1] < _SLOW_SECONDS else FEW_RUNS
    times = []
    for run in range(runs):
        tell((run + 1) / (runs + 1), f"{name}: pass {run + 1} of {runs}")
        times.append(seconds_of(checkpoint, ids))
    return Timing(median(times), min(times), max(times), runs, len(ids), torch.get_num_threads())


def tokens_of(checkpoint: Checkpoint) -> tuple[int, ...]:
    """The first :data:`TOKENS` ids of the fixed text, or as many as the model has positions for."""
    most = min(TOKENS, checkpoint.spec.max_positions or TOKENS)
    return tuple(int(i) for i in checkpoint.tokenizer(TEXT, verbose=False)["input_ids"][:most])


def seconds_of(checkpoint: Checkpoint, ids: Sequence[int]) -> float:
    """Wall-clock time of one pass."""
    model: Any
    model, spec = checkpoint.model, checkpoint.spec
    if spec.offers("blocks"):
        # The library's own forward would switch the shared instance to full attention for good on a short text.
        return forward(model, ids, range(len(ids)), None).seconds
    if spec.offers("hashing"):
        # The library's own forward would seed torch's generator for everyone.
        text = torch.tensor([list(ids)])
        with torch.inference_mode():
            began = perf_counter()
            model.lm_head.decoder(states(model, text))
            return perf_counter() - began
    takes = inspect.signature(model.forward).parameters
    text = torch.tensor([list(ids)], device=model.device)
    inputs: dict[str, Any] = {"input_ids": text, "attention_mask": torch.ones_like(text)}
    if spec.offers("rewrites"):
        inputs["decoder_input_ids"] = text
    if "use_cache" in takes:
        inputs["use_cache"] = False
    with torch.inference_mode():
        began = perf_counter()
        model(**inputs)
        return perf_counter() - began


FIRST = 3


def by_turns(
    runs: Sequence[Callable[[], object]],
    count: int = 15,
    clock: Callable[[], float] = perf_counter,
    notify: Callable[[], None] | None = None,
) -> tuple[float, ...]:
    """Median seconds of each run; the runs alternate ``count`` times, after `FIRST` warm-up rounds.

    Args:
        runs: the functions to time.
        count: rounds that are measured.
        clock: seconds; replaced in tests.
        notify: called after every run, outside the measured time; an exception from it ends the measurement.
    """
    return tuple(map(median, alternated(runs, count, FIRST, clock, notify)))


def alternated(
    runs: Sequence[Callable[[], object]],
    count: int,
    first: int = 1,
    clock: Callable[[], float] = perf_counter,
    notify: Callable[[], None] | None = None,
) -> tuple[list[float], ...]:
    """Seconds of each run in ``count`` rounds after ``first`` warm-up rounds; otherwise as `by_turns`."""
    taken: tuple[list[float], ...] = tuple([] for _ in runs)
    for repetition in range(first + count):
        for run, seconds in zip(runs, taken, strict=True):
            start = clock()
            run()
            if repetition >= first:
                seconds.append(clock() - start)
            if notify is not None:
                notify()
    return taken
