"""Samples as a row of pills: one click puts a sample into its boxes, and the one that stands there is marked."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st


def sample_pills(label: str, samples: Mapping[str, tuple[str, ...]], pills: str, boxes: tuple[str, ...]) -> str | None:
    """Draw the row above its boxes, whose keys are ``boxes``; the name of the sample that stands in them, if one does.

    :param samples: what the pills say, ready for Markdown, and a text for each box.
    :param pills: key of the row.
    """
    standing = tuple(st.session_state[box] for box in boxes)
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
