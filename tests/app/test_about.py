"""About: every licence that has to be shown is shown, and versions are those of the installed packages."""

from __future__ import annotations

from html import escape
from importlib.metadata import version
from pathlib import Path

from core import __version__
from core.ui.about import LIBRARIES, attribution, short_license
from tests.pages import opened

ROOT = Path(__file__).resolve().parents[2]


def shown() -> str:
    at = opened("glossary", tab="about")
    assert not at.error
    parts = [str(element.value) for element in (*at.markdown, *at.subheader, *at.title, *at.code)]
    parts += [element.proto.body for element in at.get("html")]
    return " ".join(parts)


def test_all_that_was_used_is_credited() -> None:
    page = shown()
    used = attribution()
    for work in (*used.texts, *used.weights, *used.scripts):
        assert escape(work.name) in page
        assert escape(work.by) in page
        assert escape(work.licence) in page
    assert "https://tatoeba.org" in page
    assert "2006 Princeton University" in page


def test_versions_are_the_installed_ones() -> None:
    page = shown()
    for name in ("streamlit", "torch", "transformers"):
        assert name in LIBRARIES
        assert version(name) in page
    assert f"version = {{{__version__}}}" in page


def test_the_license_is_there_in_full() -> None:
    page = shown()
    assert "END OF TERMS AND CONDITIONS" in page
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").strip() in page


def test_a_license_field_with_a_whole_text_is_cut_to_its_first_line() -> None:
    assert short_license("MIT License\n\nPermission is hereby granted") == "MIT License"
    assert short_license("") == "see the package"
    assert len(short_license("x" * 500)) == 40
