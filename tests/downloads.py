"""The files that a page under AppTest offers, read without a browser."""

from __future__ import annotations

import pytest


def catch_downloads(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """A dictionary that fills with each file by its name when a page draws the button for it."""
    files: dict[str, bytes] = {}

    def button(label: str, data: object, name: str, *_: object, **__: object) -> None:
        content = data() if callable(data) else data
        assert isinstance(content, str | bytes)
        files[name] = content.encode() if isinstance(content, str) else content

    monkeypatch.setattr("core.ui.export.st.download_button", button)
    draw_at_once(monkeypatch)
    return files


def draw_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The buttons of the list "Download" stand where a section offers their files."""
    monkeypatch.setattr("core.ui.export.offer", lambda key, button: button())
