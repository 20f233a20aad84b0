"""Caches around the pure code: what was computed for one visitor serves all, bounded and keyed by value.

Loaded models live in ``core.checkpoints`` under one memory budget; here are results. Every function imports what
computes inside its body, so that a page which only reads never pays for torch.
"""

from __future__ import annotations

import inspect
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import wraps
from typing import TYPE_CHECKING, Generic, ParamSpec, TypeVar

import streamlit as st

if TYPE_CHECKING:
    from core.attention.ablation.ablate import Ablation, Head, HeadEffect
    from core.attention.inside.block import Block, Side
    from core.attention.inside.lens import LensTrajectory
    from core.attention.trace import AttentionTrace, Floats
    from core.attention.word_maps import WordLook
    from core.checkpoints.spec import Checkpoint, CheckpointSpec, Part
    from core.efficiency.compare import Comparison, LongText
    from core.efficiency.compare_windows import WindowComparison
    from core.efficiency.growth import Point
    from core.efficiency.layout import Sparsity
    from core.efficiency.timing import Timing
    from core.language.decoding.draft import Drafted
    from core.language.decoding.draft_bits import RoundBits
    from core.language.decoding.tree import Tree
    from core.language.types import GenerationStep
    from core.vectors.contextual import Measured
    from core.vectors.nearest import Vocabulary
    from core.vectors.occurrences import WordVectors
    from core.vectors.places import ByDistance, Turned
    from core.vectors.plane import Plane
    from core.vectors.reading import Reading
    from core.vectors.sums import Sums

_HOUR = 3600.0
_BLOCKS_KEPT = 8
"""A block of 256 tokens, 12 heads and a width of 384 has about 20 MB, read-only as well."""


def checkpoint(slug: str, part: Part | None = None) -> Checkpoint:
    """The loaded checkpoint, or a part of it, shared by all visitors; loaded once, however many ask at a time."""
    from core import checkpoints
    from core.checkpoints.threads import set_threads

    found = checkpoints.load(slug, part)
    set_threads(found)
    return found


P = ParamSpec("P")


class Traces:
    """Attention by what it is of: the latest traces whose arrays fit into ``most`` bytes together, for all visitors.

    A trace of 256 tokens has up to 38 MB; its arrays are read-only, so visitors share it and nobody gets a copy.
    Whoever asks first computes; whoever asks meanwhile waits for the same trace, or for what went wrong.
    """

    LEAST = 2**18
    """Bytes that a trace counts for at least: those of short texts are many objects."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[object, tuple[float, AttentionTrace]] = OrderedDict()
        self._underway: dict[object, Future[AttentionTrace]] = {}
        self._lock = threading.Lock()

    def __call__(self, compute: Callable[P, AttentionTrace]) -> Callable[P, AttentionTrace]:
        """``compute``, with what it found kept for an hour while there is room."""
        named = inspect.signature(compute)

        @wraps(compute)
        def asked(*given: P.args, **more: P.kwargs) -> AttentionTrace:
            bound = named.bind(*given, **more)
            bound.apply_defaults()
            return self._get((compute.__qualname__, *bound.arguments.items()), lambda: compute(*given, **more))

        return asked

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._kept.clear()

    def _get(self, key: object, compute: Callable[[], AttentionTrace]) -> AttentionTrace:
        with self._lock:
            since, found = self._kept.get(key, (0.0, None))
            if found is not None and time.monotonic() - since < _HOUR:
                self._kept.move_to_end(key)
                return found
            future = self._underway.get(key)
            mine = future is None
            if future is None:
                future = self._underway[key] = Future()
        if not mine:
            return future.result()
        try:
            found = compute()
        except BaseException as error:
            with self._lock:
                del self._underway[key]
            future.set_exception(error)
            raise
        with self._lock:
            del self._underway[key]
            self._keep(key, found)
        future.set_result(found)
        return found

    def _keep(self, key: object, found: AttentionTrace) -> None:
        self._kept[key] = (time.monotonic(), found)
        self._kept.move_to_end(key)
        held = sum(max(one.nbytes, self.LEAST) for _, one in self._kept.values())
        while held > self._most and len(self._kept) > 1:
            held -= max(self._kept.popitem(last=False)[1][1].nbytes, self.LEAST)


traces = Traces(256 * 2**20)
"""One for all ways of reading a text."""


@traces
def trace(
    slug: str, text: str, text_b: str | None = None, *, vectors: bool = False, adapters: str | None = None
) -> AttentionTrace:
    """Attention of ``slug`` over ``text``, with a second sentence for an encoder, through the adapters of a task."""
    from core.attention.capture import capture

    return capture(checkpoint(slug), text, text_b, vectors=vectors, adapters=adapters)


@traces
def continued_trace(slug: str, text: str, count: int, *, vectors: bool = False) -> AttentionTrace:
    """Attention of a decoder over ``text`` and ``count`` tokens of its greedy continuation."""
    from core.attention.generated import continued

    return continued(checkpoint(slug), text, count, vectors=vectors)


@traces
def rewritten_trace(
    slug: str, text: str, task: str, *, like: str | None = None, vectors: bool = False
) -> AttentionTrace:
    """Attention of an encoder-decoder over ``text`` and its greedy answer to ``task``, or that to the text ``like``."""
    from core.attention.generated import rewritten

    return rewritten(checkpoint(slug), text, task, like=like, vectors=vectors)


@st.cache_resource(max_entries=64, ttl=_HOUR, show_spinner=False)
def word_look(slug: str, text: str, task: str | None) -> WordLook:
    """How ``slug`` looks over ``text``, word by word; ``task`` is for an encoder-decoder, or adapters."""
    from core.attention.word_maps import look

    return look(checkpoint(slug), text, task)


@st.cache_resource(max_entries=64, ttl=_HOUR, show_spinner=False)
def answer_words(slug: str, text: str, task: str) -> str:
    """What an encoder-decoder writes to ``text``, as a text."""
    from core.attention.word_maps import answer_of

    return answer_of(checkpoint(slug), text, task)


@traces
def trace_in_words(slug: str, text: str, task: str, answer: str) -> AttentionTrace:
    """Attention of an encoder-decoder over ``text`` and an ``answer`` that is given to it, word by word."""
    from core.attention.word_maps import over_words

    return over_words(checkpoint(slug), text, task, answer)


@st.cache_resource(max_entries=64, ttl=_HOUR, show_spinner=False)
def head_effects(slug: str, text: str, task: str | None) -> tuple[HeadEffect, ...]:
    """What each head is worth to the answer of ``slug`` to ``text``, one switched off at a time."""
    from core.attention.ablation.ablate import rank
    from core.attention.ablation.question import Where

    return rank(checkpoint(slug), text, where=Where(task=task))


@st.cache_resource(max_entries=64, ttl=_HOUR, show_spinner=False)
def without_heads(slug: str, text: str, off: tuple[Head, ...], task: str | None) -> Ablation:
    """The answer of ``slug`` to ``text`` with all heads and without those that are ``off``."""
    from core.attention.ablation.ablate import switch_off
    from core.attention.ablation.question import Where

    return switch_off(checkpoint(slug), text, off, where=Where(task=task))


@st.cache_resource(max_entries=_BLOCKS_KEPT, ttl=_HOUR, show_spinner=False)
def block(slug: str, text: str, layer: int, side: Side, task: str | None) -> Block:
    """One layer of ``slug`` over ``text``, tensor by tensor."""
    from core.attention.ablation.question import Where
    from core.attention.inside.block import block

    return block(checkpoint(slug), text, layer, side, Where(task=task))


@st.cache_resource(max_entries=64, ttl=_HOUR, show_spinner=False)
def trajectory(slug: str, text: str, task: str | None) -> LensTrajectory:
    """What each layer of ``slug`` would already answer to ``text``."""
    from core.attention.ablation.question import Where
    from core.attention.inside.lens import trajectory

    return trajectory(checkpoint(slug), text, Where(task=task))


@st.cache_resource(max_entries=256, ttl=_HOUR, show_spinner=False)
def reading(slug: str, text: str) -> Reading:
    """``text`` through ``slug``, with every token's vector after every layer: up to 0.5 MB for a short sentence."""
    from core.vectors.reading import read

    return read(checkpoint(slug), text)


@st.cache_resource(max_entries=48, ttl=_HOUR, show_spinner=False)
def word_vectors(slug: str, word: str, text: str) -> WordVectors:
    """``word`` in the lines of ``text``, as ``slug`` sees it and all the words around it."""
    from core.vectors.occurrences import word_vectors

    return word_vectors(checkpoint(slug), word, text, lambda line: reading(slug, line))


@st.cache_resource(max_entries=96, ttl=_HOUR, show_spinner=False)
def planes(slug: str, word: str, text: str, seed: int | None) -> tuple[Plane, ...]:
    """The points of :func:`word_vectors`, layer by layer: by t-SNE from a ``seed``, or principal components."""
    from core.vectors.plane import planes

    return planes(word_vectors(slug, word, text).stops, seed)


@st.cache_resource(max_entries=96, ttl=_HOUR, show_spinner=False)
def contextual(slug: str, text: str, fewest: int) -> Measured:
    """How contextual each layer of ``slug`` is over the lines of ``text``."""
    from core.vectors.contextual import measure
    from core.vectors.lines import parse
    from core.vectors.occurrences import words

    return measure(words(parse(text), lambda line: reading(slug, line)), fewest)


@st.cache_resource(max_entries=48, ttl=_HOUR, show_spinner=False)
def sums(slug: str, first: str, second: str) -> Sums:
    """What the tokens of a text, or of two, are the sum of before the first layer of ``slug``."""
    from core.vectors.sums import sums

    return sums(checkpoint(slug), first, second)


@st.cache_resource(max_entries=24, ttl=_HOUR, show_spinner=False)
def place_table(slug: str) -> Floats:
    """(n, w) what ``slug`` adds for its first places."""
    from core.vectors.places import table

    return table(checkpoint(slug))


@st.cache_resource(max_entries=24, ttl=_HOUR, show_spinner=False)
def place_terms(slug: str, text: str) -> dict[str, ByDistance]:
    """The parts of the scores of ``slug`` over ``text`` that are about distance."""
    from core.vectors.places import terms

    return terms(checkpoint(slug), text)


@st.cache_resource(max_entries=24, ttl=_HOUR, show_spinner=False)
def turned(slug: str, text: str) -> Turned:
    """Queries and keys of ``slug`` over ``text`` before and after their turns."""
    from core.vectors.places import turned

    return turned(checkpoint(slug), text)


@st.cache_resource(max_entries=24, ttl=_HOUR, show_spinner=False)
def vocabulary(slug: str) -> Vocabulary:
    """What finding the nearest words of ``slug`` needs beside its own table."""
    from core.vectors.nearest import vocabulary

    return vocabulary(checkpoint(slug))


Progress = Callable[[float, str], None]
"""Told the share done, from 0 to 1, and what is being done."""

T = TypeVar("T")

_comparisons: OrderedDict[tuple[object, ...], Comparison] = OrderedDict()
_window_comparisons: OrderedDict[tuple[object, ...], WindowComparison] = OrderedDict()
_comparing = threading.Lock()
_COMPARISONS_KEPT = 64


def comparison(slug: str, long: LongText, sparsity: Sparsity, progress: Progress) -> Comparison:
    """``long`` through sparse and full attention, computed once for the same text and settings.

    One at a time, since two would disturb each other's seconds; who waits is told so. What ``progress`` raises stops
    the waiting and the computing. Not ``st.cache_data``: the computation reports to a bar of the visitor who waits for
    it, which must not be replayed to the next one.
    """
    from core.efficiency.compare import compare

    key = (slug, long.ids, sparsity)
    return _one_at_a_time(
        _comparisons, key, lambda: compare(checkpoint(slug), long, sparsity, progress=progress), progress
    )


def window_comparison(
    slug: str, long: LongText, side: int, global_at: tuple[int, ...], progress: Progress
) -> WindowComparison:
    """``long`` through a window with global tokens and through full attention; otherwise as :func:`comparison`."""
    from core.efficiency.compare_windows import compare

    key = (slug, long.ids, side, global_at)
    return _one_at_a_time(
        _window_comparisons, key, lambda: compare(checkpoint(slug), long, side, global_at, progress=progress), progress
    )


def _one_at_a_time(
    kept: OrderedDict[tuple[object, ...], T], key: tuple[object, ...], compute: Callable[[], T], progress: Progress
) -> T:
    """What is kept under ``key``, computed where it is missing; no two computations at a time."""
    if (known := kept.get(key)) is not None:
        return known
    while not _comparing.acquire(timeout=0.5):
        progress(0.0, "Another comparison is running; yours comes next")
    try:
        if key not in kept:
            kept[key] = compute()
            while len(kept) > _COMPARISONS_KEPT:
                kept.popitem(last=False)
        return kept[key]
    finally:
        _comparing.release()


def compared(slug: str, long: LongText, sparsity: Sparsity) -> bool:
    """Whether :func:`comparison` would answer at once."""
    return (slug, long.ids, sparsity) in _comparisons


_timings: OrderedDict[tuple[object, ...], Timing] = OrderedDict()
_TIMINGS_KEPT = 128


def timing(slug: str, progress: Progress, *, again: bool = False) -> Timing:
    """The time of one forward pass, measured once for the same files: see :mod:`core.efficiency.timing`.

    One at a time and not beside a comparison, since they would disturb each other's seconds. What ``progress`` raises
    stops the waiting and the measuring. ``again`` measures anew what was measured before.
    """
    from core import checkpoints
    from core.checkpoints.sizes import state_of
    from core.efficiency.timing import measure

    key = (slug, state_of(checkpoints.get(slug)))
    if not again and (known := _timings.get(key)) is not None:
        return known
    while not _comparing.acquire(timeout=0.5):
        progress(0.0, "Another measurement is running; yours comes next")
    try:
        if again or key not in _timings:
            _timings[key] = measure(checkpoint(slug), progress)
            while len(_timings) > _TIMINGS_KEPT:
                _timings.popitem(last=False)
        return _timings[key]
    finally:
        _comparing.release()


class Shelf(Generic[T]):
    """Finished results by key, the latest ``most`` of them, for all visitors."""

    def __init__(self, most: int) -> None:
        self._kept: OrderedDict[tuple[object, ...], T] = OrderedDict()
        self._most = most
        self._lock = threading.Lock()

    def get(self, key: tuple[object, ...]) -> T | None:
        """What is kept under ``key``."""
        with self._lock:
            return self._kept.get(key)

    def put(self, key: tuple[object, ...], value: T) -> None:
        """Keep ``value``; the oldest result leaves."""
        with self._lock:
            self._kept[key] = value
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)


texts: Shelf[tuple[GenerationStep, ...]] = Shelf(256)
"""Texts written to their end, by model, what it read, and decoding; without attention."""
trees: Shelf[Tree] = Shelf(128)
"""Beam searches, by the same."""
drafts: Shelf[Drafted] = Shelf(128)
"""Texts written with a draft model."""
draft_bits: Shelf[tuple[RoundBits, ...]] = Shelf(128)
"""What their tokens are to the large model, in bits."""
seconds: Shelf[tuple[float, ...]] = Shelf(128)
"""Seconds without a draft, with one, and of the draft alone."""

_growths: OrderedDict[tuple[object, ...], tuple[Point, ...]] = OrderedDict()


def growth(key: tuple[object, ...], points: Callable[[], Iterator[Point]], progress: Progress) -> tuple[Point, ...]:
    """What a token costs as the text grows, measured once; not beside another measurement."""
    return _one_at_a_time(_growths, key, lambda: tuple(points()), progress)


def grown(key: tuple[object, ...]) -> tuple[Point, ...] | None:
    """What :func:`growth` has found; None while nothing was measured."""
    return _growths.get(key)


def regrow(key: tuple[object, ...]) -> None:
    """Forget what :func:`growth` found, to measure it anew."""
    _growths.pop(key, None)


def seconds_of(key: tuple[object, ...], compute: Callable[[], tuple[float, ...]], progress: Progress) -> None:
    """Measure ways of writing, not beside another measurement, and keep what was found in `seconds`."""
    found: OrderedDict[tuple[object, ...], tuple[float, ...]] = OrderedDict()
    seconds.put(key, _one_at_a_time(found, key, compute, progress))


def timed(spec: CheckpointSpec) -> Timing | None:
    """What :func:`timing` has found for these very files; None while nothing was measured."""
    from core.checkpoints.sizes import state_of
    from core.errors import AtlasError

    try:
        return _timings.get((spec.slug, state_of(spec)))
    except (AtlasError, OSError):
        return None
