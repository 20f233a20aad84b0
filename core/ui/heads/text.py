"""A text for a live model to attend to: the row of controls, and the trace that comes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.attention.trace import AttentionTrace
from core.checkpoints.spec import CheckpointSpec
from core.ui.heads import samples as texts
from core.ui.heads.part import text_part
from core.ui.page import plain
from core.ui.text_box import text_box

if TYPE_CHECKING:
    from core.ui.links import PageState

CONTINUATIONS = (0, 6, 12, 24, 48)
NONE = "none"
"""The entry of the menu of adapters that adds nothing."""
CONTINUED = 12
"""How many tokens follow where nobody has chosen."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a model is to read."""

    spec: CheckpointSpec
    run: Callable[..., AttentionTrace]
    text: str
    """Of a long text the part that was chosen."""
    second: str
    adapters: str | None = None
    """The task whose adapters run."""

    def trace(self, *, vectors: bool = False) -> AttentionTrace:
        """Run the model; with ``vectors``, queries and keys are kept.

        Raises:
            AtlasError: whatever the text or the model does not allow, as a sentence.
        """
        with st.spinner("Running the model"):
            if self.second:
                return session.trace(self.spec.slug, self.text, self.second, vectors=vectors, adapters=self.adapters)
            return self.run(self.text, vectors=vectors)


def text_trace(spec: CheckpointSpec, state: PageState, *, pairs: bool = False, vectors: bool = False) -> AttentionTrace:
    """Draw the controls, run the model, return its trace: `chosen_text` and `Chosen.trace`."""
    return chosen_text(spec, state, pairs=pairs).trace(vectors=vectors)


def chosen_text(spec: CheckpointSpec, state: PageState, *, pairs: bool = False, most: int | None = None) -> Chosen:
    """Draw the controls; the text is kept in the state.

    Args:
        pairs: offer a second sentence where the model can read one.
        most: tokens that what is drawn can take; of a longer text, a part is chosen.

    Raises:
        AtlasError: whatever the text or the model does not allow, as a sentence.
    """
    samples = texts.samples(spec)
    box = f"heads.text.{spec.kind}"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        run = _what_to_run(spec, state)
        drawn = "Of a long text, a part that you choose is drawn"
        text = text_box(state, "text", "Text", samples[0], key=box, help=drawn)
        second = ""
        if pairs and spec.offers("two texts"):
            second = text_box(
                state,
                "second",
                "Second sentence",
                key="heads.second",
                placeholder="none",
                help="Read together with the first, as a pair",
                width=260,
            )
        sample_menu(samples, state.key(box), state)
    ahead = int(run.keywords.get("count", 0))
    part = text_part(spec, state, text, second=second, ahead=ahead, task=state.text("task"), most=most)
    return Chosen(spec, run, part, second, run.keywords.get("adapters"))


def _what_to_run(spec: CheckpointSpec, state: PageState) -> partial[AttentionTrace]:
    """The menu that this kind of model needs before its text, and what to do with the text."""
    if spec.offers("continues"):
        return partial(session.continued_trace, spec.slug, count=_count(state))
    if spec.offers("rewrites"):
        task = task_menu(spec, state)
        return partial(session.rewritten_trace, spec.slug, task=task)
    if spec.offers("answers tasks"):
        return partial(session.trace, spec.slug, adapters=adapters_menu(spec, state))
    return partial(session.trace, spec.slug)


def _count(state: PageState) -> int:
    """How many tokens a decoder is to write."""
    wanted = state.number("count", CONTINUED)
    wanted = min(CONTINUATIONS, key=lambda offered: abs(offered - wanted))
    count = st.selectbox(
        "Continue by",
        CONTINUATIONS,
        index=CONTINUATIONS.index(wanted),
        format_func=lambda n: f"{n} tokens",
        key=state.key("heads.count"),
        width=130,
        help="Tokens that the model writes after your text, greedily; their rows are stitched on",
    )
    state.set(count=None if count == CONTINUED else count)
    return int(count)


def task_menu(spec: CheckpointSpec, state: PageState) -> str:
    """What an encoder-decoder is asked to do, or whose adapters run."""
    from core.language import adapters
    from core.language.tasks import tasks

    checkpoint = session.checkpoint(spec.slug)
    if spec.offers("answers tasks"):
        labels = {task.slug: task.name for task in adapters.tasks(checkpoint)}
    else:
        labels = {task.slug: task.label for task in tasks(checkpoint)}
    wanted = state.text("task")
    task = st.selectbox(
        "Task",
        list(labels),
        index=list(labels).index(wanted) if wanted in labels else 0,
        format_func=labels.__getitem__,
        key=state.key(f"heads.task.{spec.slug}"),
        width=280,
    )
    state.set(task=None if task == next(iter(labels)) else task)
    return str(task)


def adapters_menu(spec: CheckpointSpec, state: PageState) -> str | None:
    """The task whose adapters run; None for the encoder as it is for all of them."""
    from core.language.adapters import tasks

    labels = {task.slug: task.name for task in tasks(session.checkpoint(spec.slug))}
    wanted = state.text("task")
    task = st.selectbox(
        "Adapters for",
        [NONE, *labels],
        index=1 + list(labels).index(wanted) if wanted in labels else 0,
        format_func=lambda task: labels.get(task, "no task"),
        key=state.key(f"heads.adapters.{spec.slug}"),
        width=180,
        help="Without a task nothing is added, and the attention is that of the encoder that all tasks share",
    )
    state.set(task=None if task == NONE else task)
    return None if task == NONE else str(task)


def sample_menu(samples: Sequence[str], slot: str, state: PageState) -> None:
    """Texts to begin with, one click away; ``slot`` is where the text lives."""
    with st.popover("Samples"):
        for number, sample in enumerate(samples):
            button = state.key(f"heads.sample.{number}")
            st.button(plain(texts.short(sample)), key=button, on_click=_take, args=(slot, sample), width="stretch")


def _take(slot: str, sample: str) -> None:
    st.session_state[slot] = sample
