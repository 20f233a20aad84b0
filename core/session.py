"""Cached results of pure functions, shared by all visitors, keyed by value and bounded in bytes.

Loaded models are held by ``core.checkpoints`` under one memory budget.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping
from contextlib import nullcontext
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import streamlit as st

from core import checkpoints, engine
from core.attention.capture import capture, rewritten
from core.attention.trace import AttentionTrace
from core.cache import HOUR, Cache
from core.checkpoints.folder import State
from core.checkpoints.loading import fingerprint
from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.content import content
from core.efficiency.timing import Timing
from core.efficiency.timing import measure as time_pass
from core.engine import checkpoint as checkpoint
from core.errors import AtlasError, MeasuringOff, OutOfRange
from core.settings import raised_with, settings
from core.turns import turns
from core.vectors import elmo, occurrences, plane
from core.vectors.contextual import ContextualMeasures, measure
from core.vectors.occurrences import WordVectors
from core.vectors.plane import Plane
from core.vectors.reading import Reading, read

results = Cache(lambda: settings().result_bytes)
"""The cache of all visitors, with a share of the memory budget.

A trace of 256 tokens has up to 38 MB, a block 20 MB, a sentence's vectors 0.5 MB."""
P = ParamSpec("P")
T = TypeVar("T")


def files(slug: str) -> State:
    """The state of a live model's files, for cache keys: a host may replace them, which makes results stale.

    Empty where there are none; the computation then raises the reason.
    """
    try:
        return _state(checkpoints.get(slug))
    except AtlasError:
        return ()


def _state(spec: CheckpointSpec) -> State:
    try:
        return fingerprint(spec)
    except (AtlasError, OSError):
        return ()


def _files_of(arguments: Mapping[str, Any]) -> State:
    return files(arguments["slug"]) if "slug" in arguments else ()


def waiting(work: str, **values: str) -> str:
    """The text beside the spinner, from ``assets/content/frame/waiting.md``."""
    words = content("frame", "waiting")
    return words.part(work, **values) if values else words.label(work)


def cached(spinner: str = "") -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A decorator that caches a pure function's results for an hour, within the memory budget.

    Where an argument ``slug`` names a live model, its files are part of the key.

    Args:
        spinner: the task's name in :func:`waiting`; empty where the result is immediate.
    """

    def decorate(compute: Callable[P, T]) -> Callable[P, T]:
        @wraps(compute)
        def with_spinner(*args: P.args, **kwargs: P.kwargs) -> T:
            with st.spinner(waiting(spinner)):
                return compute(*args, **kwargs)

        return results.wrap(with_spinner if spinner else compute, state=_files_of)

    return decorate


def computed(
    spinner: str, compute: Callable[Concatenate[Checkpoint, P], T], slug: str, *args: P.args, **kwargs: P.kwargs
) -> T:
    """The result of ``compute`` with the live model ``slug``, computed by :func:`core.engine.run` and cached by name,
    arguments and files as by :func:`cached`.

    Args:
        spinner: the task's name in :func:`waiting`; empty where the result is immediate.
    """

    def compute_loaded() -> T:
        with st.spinner(waiting(spinner)) if spinner else nullcontext():
            return engine.run(compute, slug, *args, **kwargs)

    key = (compute.__module__, compute.__qualname__, slug, files(slug), args, *sorted(kwargs.items()))
    return results.get_or_compute(key, compute_loaded, HOUR)


@cached()
def trace(
    slug: str, text: str, text_b: str | None = None, *, vectors: bool = False, adapters: str | None = None
) -> AttentionTrace:
    """Attention of ``slug`` over ``text``, with a second sentence for an encoder, through the adapters of a task."""
    return engine.run(capture, slug, text, text_b, vectors=vectors, adapters=adapters)


@cached()
def rewritten_trace(
    slug: str, text: str, task: str, *, like: str | None = None, vectors: bool = False
) -> AttentionTrace:
    """Attention of an encoder-decoder over ``text`` and its output for ``task``, or that for the text ``like``."""
    return engine.run(rewritten, slug, text, task, like=like, vectors=vectors)


@cached()
def reading(slug: str, text: str) -> Reading:
    """Every token's vector after every layer of ``slug`` over ``text``: up to 0.5 MB for a short sentence."""
    return elmo.read(text) if slug == elmo.SLUG else engine.run(read, slug, text)


@cached()
def word_vectors(slug: str, word: str, text: str) -> WordVectors:
    """The contextual vectors of ``word``, and of the other words, in the lines of ``text``."""
    return occurrences.word_vectors(
        None if slug == elmo.SLUG else checkpoint(slug), word, text, lambda line: reading(slug, line)
    )


@cached("placing-the-points")
def planes(slug: str, word: str, text: str, seed: int | None) -> tuple[Plane, ...]:
    """The points of :func:`word_vectors`, layer by layer: by t-SNE from a ``seed``, or principal components."""
    return plane.planes(word_vectors(slug, word, text).stops, seed)


@cached()
def contextual(slug: str, text: str, fewest: int) -> ContextualMeasures:
    """How contextual each layer of ``slug`` is over the lines of ``text``."""
    return measure(occurrences.words(occurrences.parse(text), lambda line: reading(slug, line)), fewest)


Progress = Callable[[float, str], object]
"""Called with the share done, from 0 to 1, and a progress text."""
_measuring = threading.Lock()
_measurements: list[object] = []
"""One entry for each measurement that runs or waits."""


def may_measure() -> bool:
    """Whether visitors may start measurements here: ``ATLAS_MEASURE``."""
    return settings().measure == "on"


def measured(
    key: Hashable,
    compute: Callable[[], T],
    progress: Progress,
    *,
    again: bool = False,
    part: bool = False,
    timed: bool = True,
) -> T:
    """The measurement stored under ``key``, or a new one; only one measurement runs at a time.

    Concurrent measurements would distort each other's times; a waiting visitor sees why. An exception of ``progress``
    ends the waiting and the measurement. ``again`` repeats a stored measurement. This is not :func:`cached`, since the
    progress belongs to the visitor who waits and must not be replayed to the next. ``part`` of what a page shows, such
    as the times beside two predictions, also runs where the host wants no measurements. What is not ``timed``, as a
    training is not, lets others compute at its steps.

    Raises:
        MeasuringOff: the host wants none.
        OutOfRange: as many measurements as the settings allow run or wait.
    """
    if not again and (stored := results.get(key)) is not None:
        return stored  # type: ignore[no-any-return]
    if not (part or may_measure()):
        raise MeasuringOff(content("frame", "links").part("Measuring is off"))
    if len(_measurements) >= (most := settings().max_measurements):
        raise OutOfRange(
            f"The limit of {most} measurements that run or wait is reached. Measure again in a minute. "
            f"{raised_with('max_measurements')}"
        )
    _measurements.append(key)
    try:
        return _measured(key, compute, progress, again, timed)
    finally:
        _measurements.remove(key)


def _measured(key: Hashable, compute: Callable[[], T], progress: Progress, again: bool, timed: bool) -> T:
    """:func:`measured` for one of the calls that may run or wait."""
    with turns.aside():
        while not _measuring.acquire(timeout=0.5):
            progress(0.0, content("frame", "links").label("waiting"))
    try:
        if not again and (stored := results.get(key)) is not None:
            return stored  # type: ignore[no-any-return]
        with turns.uninterrupted() if timed else nullcontext():
            result = compute()
        results.put(key, result)
        return result
    finally:
        _measuring.release()


def timing(slug: str, progress: Progress, *, again: bool = False) -> Timing:
    """The time of one forward pass, measured once per state of the files: see :mod:`core.efficiency.timing`."""
    key = ("timing", slug, files(slug))
    return measured(key, lambda: time_pass(checkpoint(slug), progress), progress, again=again)


def timed(spec: CheckpointSpec) -> Timing | None:
    """The result of :func:`timing` for the current files; None before the measurement.

    A page asks for many models at once: to find one by its slug looks into every folder of the host.
    """
    return results.get(("timing", spec.slug, _state(spec)))  # type: ignore[no-any-return]
