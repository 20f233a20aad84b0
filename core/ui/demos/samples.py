"""Samples of tasks, and a row of pills, one click each; the one that stands in its boxes is marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from core.content import content
from core.language.tasks import Task
from core.ui.links import PageState
from core.ui.page import plain
from core.ui.param import Text


def sample_pills(
    state: PageState,
    label: str,
    samples: Mapping[str, Sequence[str]] | Sequence[Sequence[str]],
    *boxes: Text,
    tag: str = "",
) -> str | None:
    """Draw the row above its boxes; the name of the sample that stands in them, if one does.

    :param samples: a text for each box, by the name on the pill; without names the first text is on it.
    :param boxes: the parameters whose boxes stand below, and the ``tag`` with which they are drawn.
    """
    named = samples if isinstance(samples, Mapping) else {plain(texts[0]): texts for texts in samples}
    slots = {f"{box.name}.{tag}" if tag else box.name: box for box in boxes}
    shown = [box.standing(state, slot) for slot, box in slots.items()]
    pills = state.key(f"{tag}.sample")
    st.session_state[pills] = marked = next((name for name, texts in named.items() if list(texts) == shown), None)

    def take() -> None:
        name = st.session_state[pills]
        if name is not None:
            for slot, text in zip(slots, named[name], strict=True):
                st.session_state[state.key(slot)] = text

    st.pills(
        label, list(named), key=pills, persist_state="page", on_change=take, label_visibility="collapsed", wrap=True
    )
    return marked


def task_samples(task: Task) -> tuple[str, ...]:
    """Sentences to try, in the language that the task reads."""
    every = every_sample()
    for name in ("repairs", "respells", "denoises"):
        if getattr(task, name):
            return every[name]
    return every.get(task.slug) or every.get(task.languages[0] if task.languages else "en") or every["en"]


def every_sample() -> dict[str, tuple[str, ...]]:
    """The samples by language, and by what is done with them."""
    return {name: tuple(texts) for name, texts in content("demos", "rewrite").front["samples"].items()}
