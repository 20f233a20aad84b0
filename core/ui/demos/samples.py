"""Samples of tasks, and a row of pills, one click each; the one that stands in its boxes is marked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import streamlit as st

from core.content import content

if TYPE_CHECKING:
    from core.language.tasks import Task


def sample_pills(
    label: str, samples: Mapping[str, tuple[str, ...]], pills: str, boxes: Mapping[str, str]
) -> str | None:
    """Draw the row above its boxes; the name of the sample that stands in them, if one does.

    :param samples: what the pills say, ready for Markdown, and a text for each box.
    :param pills: key of the row.
    :param boxes: the text that stands in each box, by the box's key.
    """
    standing = tuple(boxes.values())
    st.session_state[pills] = marked = next((name for name, texts in samples.items() if texts == standing), None)

    def take() -> None:
        name = st.session_state[pills]
        if name is not None:
            for box, text in zip(boxes, samples[name], strict=True):
                st.session_state[box] = text

    st.pills(
        label, list(samples), key=pills, persist_state="page", on_change=take, label_visibility="collapsed", wrap=True
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
