"""Texts drawn while they are generated: samples in one batch, beam search after them; results are cached.

Visitors who open one link share one generation: the first sees it grow, the others get it when it is complete.

The Stop button is above the texts: below them it would move with every new line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from streamlit.delta_generator import DeltaGenerator

from core import engine, session
from core.language.generate import steps_along, steps_in_batch
from core.language.translate import rewrite
from core.language.types import Decoding, GenerationStep
from core.ui.generation.setup import Setup
from core.ui.job import Job, job

_PAUSE = 0.2
"""Seconds between two drawings of a growing text, and as many more for each visitor who waits."""
Steps = tuple[GenerationStep, ...]


@dataclass(frozen=True, slots=True)
class Canvas:
    """Functions that draw a text with its steps, and the best hypothesis of a beam so far."""

    button: DeltaGenerator
    """A placeholder above the texts for Stop and Continue."""
    steps: Callable[[int, Sequence[GenerationStep], bool], None]
    text: Callable[[int, str], None]


def generate_all(setup: Setup, decodings: Sequence[Decoding], canvas: Canvas) -> tuple[list[Steps], bool]:
    """The steps of each decoding, drawn while they are computed, and whether the visitor stopped it.

    Raises:
        AtlasError: the text or a setting cannot be used.
    """
    state = setup.state
    setup.start()  # raises what is wrong with the text
    keys = [("text", *setup.key, decoding) for decoding in decodings]
    texts: list[Steps | None] = [session.results.get(key) for key in keys]
    for number, text in enumerate(texts):
        if text is not None:
            canvas.steps(number, text, False)
    missing = [number for number, text in enumerate(texts) if text is None]
    if not missing:
        return [text or () for text in texts], False
    writing = job(state, "writing", keys)
    if not writing.goes(canvas.button):
        stopped: dict[int, list[GenerationStep]] = writing.part or {}
        for number in missing:
            texts[number] = tuple(stopped.get(number, ()))
            canvas.steps(number, texts[number] or (), False)
        return [text or () for text in texts], True
    growing: dict[int, list[GenerationStep]] = {}
    writing.part = growing

    def generate() -> list[Steps]:
        _generate_missing(setup, {number: decodings[number] for number in missing}, writing, canvas)
        for number in missing:
            session.results.put(keys[number], tuple(growing[number]))
        return [tuple(growing[number]) for number in missing]

    both = ("texts", *(keys[number] for number in missing))
    shared = session.results.get_or_compute(both, generate, store=False)  # each text is stored by itself
    for number, text in zip(missing, shared, strict=True):
        texts[number] = text
        if number not in growing:  # generated for another visitor
            canvas.steps(number, text, False)
    canvas.button.empty()
    return [text or () for text in texts], False


def _generate_missing(
    setup: Setup,
    decodings: Mapping[int, Decoding],
    writing: Job,
    canvas: Canvas,
) -> None:
    """Generate and draw texts, by number, as the part of ``writing``: samples in one batch, each beam search alone."""
    slug, text, task = setup.spec.slug, setup.text, setup.task
    growing: dict[int, list[GenerationStep]] = writing.part
    rows = [number for number, decoding in decodings.items() if decoding.strategy != "beam"]
    for row, step in engine.stream(steps_in_batch, slug, text, [decodings[number] for number in rows], task):
        number = rows[row]
        growing.setdefault(number, []).append(step)
        if writing.due(_PAUSE, number) or step.finished:
            canvas.steps(number, growing[number], not step.finished)
    for number in (number for number in decodings if number not in rows):
        for step in engine.stream(rewrite, slug, text, task, decodings[number]):
            if writing.due(_PAUSE, number):
                canvas.text(number, step.text)
        *steps, last = engine.run(steps_along, slug, text, step.ids, task)
        # the reason is the search's own: along its text everything is forced
        growing[number] = [*steps, replace(last, reason=step.reason, finished=True)]
        canvas.steps(number, growing[number], False)
