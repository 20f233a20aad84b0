"""A text for a live model: its controls, the part of it that fits, and the attention trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import checkpoints, session
from core.attention.trace import AttentionTrace
from core.checkpoints.spec import Checkpoint, CheckpointSpec, Feature
from core.content import content
from core.errors import AtlasError
from core.language import adapters
from core.language.codes import codes_of
from core.language.makers import inputs
from core.language.segments import SEGMENT, has_memory
from core.language.tasks import Task, tasks
from core.language.text import Count, clean, last_window, window
from core.language.tokens import max_tokens
from core.links import parameters as link
from core.settings import settings
from core.ui.links import PageState, store
from core.ui.page import plain
from core.ui.param import Carried, Choice, Control, Integer, Param, Text, differing, draw_settings, settings_popover

C = TypeVar("C", bound=Control[Any])
NONE = "none"
"""The entry of the menu of adapters that adds nothing."""
TEXT = Text(name="text", label="Text")
SECOND = Text(
    name="second",
    label="Second sentence",
    placeholder="none",
    width=260,
)
COUNT = Integer(
    name="count",
    label="Continue by",
    default=12,
    low=0,
    high=48,
    step=6,
    style="menu",
    format="%d tokens",
    width=130,
)
TASK = Choice(name="task", label="Task", options={}, width=280)
ADAPTERS = Choice(
    name="task",
    label="Adapters for",
    options={},
    width=180,
)
WINDOW = Carried(name="window", label="Part of the text", as_=link.Integers(high=100_000, most=2))
TEXT_PARAMS: tuple[Param[Any], ...] = (TEXT, SECOND, COUNT, TASK, WINDOW)
_MASK = "[MASK]"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The input of a model: a text, its pair, a task."""

    spec: CheckpointSpec
    text: str
    """Of a long text, the selected part."""
    second: str = ""
    task: str | None = None
    """The task of an encoder-decoder, or of the adapters."""
    count: int = 0
    """Tokens that a decoder generates after the text."""
    row: DeltaGenerator | None = field(default=None, compare=False)
    """Between the text and the menu of settings."""
    menu: DeltaGenerator | None = field(default=None, compare=False)
    """The menu of settings, for those of the section."""

    def trace(self, *, vectors: bool = False) -> AttentionTrace:
        """Run the model and trace its attention; ``vectors`` includes queries and keys.

        Raises:
            AtlasError: the text does not fit the model, or the model does not support a trace.
        """
        more: dict[str, Any] = {"task": self.task, "count": self.count, "vectors": vectors}
        with st.spinner(session.waiting("running-the-model")):
            return session.trace(self.spec.slug, self.text, self.second or None, **more)


def chosen_text(spec: CheckpointSpec, state: PageState, *, also: int | None = None, most: int | None = None) -> Chosen:
    """Draw the controls of the input; store the text in the state.

    Args:
        also: settings of the section that differ from their defaults; None if it has none of its own.
        most: the most tokens that the figure can show; of a longer text, a part is selected.

    Raises:
        AtlasError: the text does not fit the model.
    """
    controls = [control(spec) for control in spec.entries(_CONTROLS)]
    menu: DeltaGenerator | None = None
    values: dict[str, Any] = {}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = draw_text(spec, state)
        row = st.container(horizontal=True, vertical_alignment="bottom", width="content", gap="small")
        if controls or also is not None:
            menu = settings_popover(state, differing(state, *controls, tag=spec.slug) + (also or 0))
            with menu:
                values = draw_settings(state, *controls, tag=spec.slug)
    second, count = values.get(SECOND.name, ""), values.get(COUNT.name, 0)
    task = None if values.get(TASK.name) == NONE else values.get(TASK.name)
    part = text_part(spec, state, text, second=second, ahead=count, task=task or "", most=most)
    given = inputs(session.checkpoint(spec.slug), part, task, second=second, target="", joined=True)
    for note in given.notes:
        st.caption(plain(note))
    return Chosen(spec, part, second, task, count, row, menu)


def _explained(param: C, label: str) -> C:
    """``param`` with its help, which several pages share."""
    return param.with_(help=content("attention", "heads").front["controls"][label])


_CONTROLS: dict[Feature, Callable[[CheckpointSpec], Control[Any]]] = {
    "continues": lambda spec: _explained(COUNT, "count"),
    "rewrites": lambda spec: TASK.with_(options=task_names(spec)),
    "classifies texts": lambda spec: _explained(ADAPTERS, "adapters").with_(
        options={NONE: "no task", **task_names(spec)}, default=NONE
    ),
    "two texts": lambda spec: _explained(SECOND, "second"),
}
"""The settings of a text, by what a model does with it."""


def draw_text(spec: CheckpointSpec, state: PageState) -> str:
    """Draw the text box with its samples; return the text."""
    examples = samples(spec)
    box = _explained(TEXT, "text").with_(
        default=next(iter(examples.values())), samples=examples, sentence=spec.family.sentence
    )
    return box.draw(state, tag=spec.kind)


@dataclass(frozen=True, slots=True)
class Opening:
    """What the page on attention opens with."""

    text: str
    layer: int
    head: int
    pronoun: str
    noun: str
    """What the pronoun stands for; in this head most of its weight is there."""


def opening(spec: CheckpointSpec) -> Opening | None:
    """The opening of the page's first model; others open with a sample of their family and a head of this text."""
    if spec.slug != checkpoints.first("attention")[0]:
        return None
    return Opening(**content("attention", "heads").front["opening"])


def samples(spec: CheckpointSpec) -> dict[str, str]:
    """Sample texts by title, the default first; sparse models also get one longer than their attention window."""
    texts = spec.family.samples
    if (first := opening(spec)) is not None:
        texts = (first.text, *texts)
    if spec.sparse or spec.offers("memory"):
        long = content("attention", "heads").part("Sample: bytes" if spec.offers("hashing") else "Sample: long")
        if _fits(session.checkpoint(spec.slug), long):
            texts = (long, *texts) if spec.sparse else (*texts, long)
    return {f"Sample {number}": text for number, text in enumerate(texts, 1)}


def _fits(checkpoint: Checkpoint, text: str) -> bool:
    most = settings().max_attention_tokens
    return len(checkpoint.tokenizer(text)["input_ids"]) <= min(most, max_tokens(checkpoint) or most)


_TASKS: dict[Feature, Callable[[Checkpoint], tuple[Task | adapters.TaskInfo, ...]]] = {
    "rewrites": tasks,
    "classifies texts": adapters.tasks,
}


def task_names(spec: CheckpointSpec) -> dict[str, str]:
    """Names by slug: the tasks of an encoder-decoder, or those with adapters; other models have none."""
    listed = [read(session.checkpoint(spec.slug)) for read in spec.entries(_TASKS)]
    return {task.slug: task.label for tasks_of_kind in listed for task in tasks_of_kind}


def draw_task(spec: CheckpointSpec, state: PageState) -> str | None:
    """Draw the menu of tasks; None for a model without any."""
    names = task_names(spec)
    return TASK.with_(options=names).draw(state, tag=spec.slug) if names else None


def text_part(
    spec: CheckpointSpec,
    state: PageState,
    text: str,
    *,
    second: str = "",
    ahead: int = 0,
    task: str = "",
    segment: bool = False,
    name: str = WINDOW.name,
    answered: bool = False,
    most: int | None = None,
) -> str:
    """``text``, or the part of it that two boxes select if it is too long; stored under the parameter ``name``.

    Args:
        second: the second sentence of a pair.
        ahead: tokens that the model generates after the text.
        task: of an encoder-decoder.
        segment: limit a model with recurrent memory to one segment.
        answered: select by default the part that the prediction depends on: the end of a prompt, or the mask.
        most: the most tokens that the figure can show, if fewer than an attention map.
    """
    checkpoint = session.checkpoint(spec.slug)
    try:
        typed = clean(text, newlines=spec.offers("continues"))
    except AtlasError:
        return text  # the model's own error says what is wrong
    fits = _most(checkpoint, ahead, segment, most)
    count_input, count_text = _counts(checkpoint, second, task)
    if fits < 1 or count_input(typed) <= fits:
        state.set(**{name: None})
        return text
    usual = window(typed, count_input, count_text, fits)
    if answered and (spec.offers("continues") or (_MASK in typed and _MASK not in usual.text)):
        usual = last_window(typed, count_input, count_text, fits)

    def reach(first: int) -> tuple[int, int]:
        span = window(typed, count_input, count_text, fits, first)
        return span.first, span.last

    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = part_numbers(state, name, "token", spec.slug, usual.total, (usual.first, usual.last), reach)
        span = window(typed, count_input, count_text, fits, *chosen)
        numbers = {"total": span.total, "first": span.first, "last": span.last, "most": fits}
        part = content("attention", "heads").part(
            "Part of the text", model=spec.name, **{name: f"{number:,}" for name, number in numbers.items()}
        )
        st.caption(plain(part))
    return span.text


def part_numbers(
    state: PageState,
    name: str,
    unit: str,
    tag: str,
    total: int,
    usual: tuple[int, int],
    reach: Callable[[int], tuple[int, int]],
) -> tuple[int, int]:
    """Draw “From ... to ...”; return the first and the last of ``total`` units to read, counted from 1.

    Args:
        name: of the parameter that stores both.
        tag: what else the boxes depend on.
        usual: the default bounds.
        reach: the lowest and the highest end of a part that begins at a given unit.
    """
    linked = state.integers(name)
    first, last = linked if len(linked) == 2 else usual
    begin = min(max(first, 1), total)
    step = 16 if unit == "token" else 10
    key = state.key(f"{name}.first.{tag}.{total}")
    arguments: tuple[Any, ...] = (name, key, None, last)
    first = int(
        st.number_input(f"From {unit}", 1, total, begin, step, key=key, width=140, on_change=_sent, args=arguments)
    )
    low, high = reach(first)
    end = max(low, min(last, high)) if last >= first else high
    key = state.key(f"{name}.last.{tag}.{total}.{first}")
    arguments = (name, key, first, None)
    last = int(st.number_input(f"to {unit}", low, high, end, step, key=key, width=140, on_change=_sent, args=arguments))
    state.set(**{name: None if (first, last) == usual else (first, last)})
    return first, last


def _sent(name: str, key: str, first: int | None, last: int | None) -> None:
    """Store a bound as it arrives, before a run draws its box; the other one is given."""
    number = int(st.session_state[key])
    store(key, {name: (first or number, last or number)})


def _most(checkpoint: Checkpoint, ahead: int, segment: bool, drawn: int | None) -> int:
    """The most tokens that fit, special tokens and prefix included."""
    most = SEGMENT if segment and has_memory(checkpoint.model) else settings().max_attention_tokens
    most = most if drawn is None else min(most, drawn)
    limit = max_tokens(checkpoint) or most
    if checkpoint.spec.offers("continues"):
        return min(most - ahead, limit - ahead - 1)  # a row is computed when its token is read, one step later
    return min(most, limit)


def _counts(checkpoint: Checkpoint, second: str, task: str) -> tuple[Count, Count]:
    """Two functions of a text: the tokens of the whole input, and those of the text alone."""
    tokenizer = checkpoint.tokenizer
    prefix, more = "", 1 if codes_of(checkpoint) else 0
    if checkpoint.spec.offers("rewrites"):
        offered = {candidate.slug: candidate for candidate in tasks(checkpoint)}
        chosen = offered.get(task) or next(iter(offered.values()))
        prefix, more = chosen.prefix, 2 if chosen.opens else 0

    def count_input(text: str) -> int:
        pair = (prefix + text, second) if second.strip() else (prefix + text,)
        return len(tokenizer(*pair, verbose=False)["input_ids"]) + more

    def count_text(text: str) -> int:
        return len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    return count_input, count_text
