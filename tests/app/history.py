"""The browser's history, where there is no browser."""

from __future__ import annotations

from unittest.mock import patch

from streamlit.testing.v1 import AppTest


def back(at: AppTest, **query: str) -> AppTest:
    """Come to an address by Back or Forward: every widget is as it was, and Streamlit marks the run."""
    at.query_params.clear()
    for name, value in query.items():
        at.query_params[name] = value
    with patch("core.ui.links.by_history", return_value=True):
        return at.run()
