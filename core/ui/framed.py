"""A page of ours within a page of the app, in a frame of its own origin: it cannot touch the app."""

from __future__ import annotations

from urllib.parse import urlsplit

import streamlit as st

from core.attention.views.page import data_url


def framed(page: str, height: int, alt: str) -> None:
    """Draw ``page``, which is complete, in a frame so many pixels high; ``alt`` is its accessible name.

    Streamlit asks urllib what kind of address it was given, and urllib remembers the last 128 that it took apart. Ours
    holds the page itself, up to 16 MB of it, so urllib is made to forget.
    """
    st.iframe(data_url(page), height=height, alt=alt)
    urlsplit.cache_clear()  # type: ignore[attr-defined]
