"""Samples as a row of pills: one click puts a sample into its boxes, and the one that stands there is marked."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st


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
