"""Cached results of pure functions, shared by all visitors, keyed by value and bounded in bytes.

Loaded models are held by ``core.checkpoints`` under one memory budget.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from contextlib import nullcontext
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import streamlit as st

from core import checkpoints, engine
from core.attention.capture import capture
from core.attention.trace import AttentionTrace
from core.cache import HOUR, Cache
from core.checkpoints.folder import State
from core.checkpoints.loading import fingerprint
from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.content import content
from core.engine import checkpoint as checkpoint
from core.errors import AtlasError
from core.settings import settings
from core.turns import turns
from core.vectors import elmo, occurrences, plane
from core.vectors.contextual import ContextualMeasures, measure
from core.vectors.occurrences import WordVectors
from core.vectors.plane import Plane
from core.vectors.reading import Reading, read_states

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
    slug: str,
    text: str,
    text_b: str | None = None,
    *,
    task: str | None = None,
    like: str | None = None,
    count: int = 0,
    vectors: bool = False,
) -> AttentionTrace:
    """`core.attention.capture.capture` of the model ``slug``."""
    return engine.run(capture, slug, text, text_b, task=task, like=like, count=count, vectors=vectors)


@cached()
def reading(slug: str, text: str) -> Reading:
    """Every token's vector after every layer of ``slug`` over ``text``: up to 0.5 MB for a short sentence."""
    return elmo.read_elmo(text) if slug == elmo.SLUG else engine.run(read_states, slug, text)


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


def alone(key: Hashable, compute: Callable[[], T]) -> T:
    """The value stored under ``key``, or a new one, whose computation keeps its turn because times are part of it.

    This is not :func:`cached`, since its progress belongs to the visitor who waits and is not replayed to the next.
    """

    def computed() -> T:
        with turns.uninterrupted():
            return compute()

    return results.get_or_compute(key, computed)
