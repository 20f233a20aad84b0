"""Notices that are made while a page runs: first mentions are links, and what a visitor typed is data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import streamlit as st

from core import catalogue, checkpoints
from core.ui import glossary
from core.ui.glossary import quoting_terms
from core.ui.page import pill, plain
from tests.words import words

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _page(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page has just begun."""
    monkeypatch.setattr(st, "session_state", {})


@pytest.mark.parametrize(
    ("kind", "draw"), [("info", glossary.info), ("warning", glossary.warning), ("error", glossary.error)]
)
def test_each_kind_is_drawn_with_its_icon(
    kind: str, draw: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[str, str | None]] = []
    monkeypatch.setattr(st, kind, lambda text, icon: drawn.append((text, icon)))
    draw("The softmax is <b>steep</b>.", icon=":material/info:")
    draw("No more.")
    (text, icon), (again, none) = drawn
    assert '[softmax](/glossary?term=softmax "Softmax' in text
    assert text.endswith(" is \\<b\\>steep\\</b\\>\\.")
    assert (icon, again, none) == (":material/info:", "No more\\.", None)


@pytest.mark.parametrize(
    "typed",
    [
        "softmax",
        "a\nsoftmax",
        "softmax” softmax “softmax",
        "“softmax",
        "“softmax” softmax",
        "$ softmax",
        "`softmax",
        "a.b softmax",
        "[softmax](softmax)",
        "softmax " * 300,
    ],
)
def test_what_is_quoted_is_no_term(typed: str) -> None:
    shown = quoting_terms(f"There is no “{typed}”, but a softmax.")
    assert shown.count("/glossary") == 1
    assert shown.endswith('")\\.')
    assert words(shown) == f"There is no “{typed}”, but a softmax."
    st.session_state.clear()
    assert "/glossary" not in quoting_terms(f"There is no (“{typed}”).")


@pytest.mark.parametrize(
    "typed",
    ["<script>alert(1)</script>", "**a** _b_", "[a](https://example.org)", "$x$ `y` :red[z]", '![a](b "c")', "# a"],
)
def test_markup_that_a_visitor_typed_stays_escaped(typed: str) -> None:
    shown = quoting_terms(f"The temperature “{typed}” is no number.")
    assert shown.count("/glossary") == 1
    assert shown.endswith(plain(f" “{typed}” is no number."))


@pytest.mark.parametrize("name", ["tokenizer.json", "(adapter.safetensors", "gpt-9.toml: live.adapters"])
def test_names_of_files_and_fields_are_no_terms(name: str) -> None:
    assert "/glossary" not in quoting_terms(f"The folder has no {name} here.")


def test_names_of_systems_and_models_are_no_terms() -> None:
    names = {result.name for result in (*catalogue.systems(), *checkpoints.available())}
    assert len(names) > 60
    assert [name for name in names if "/glossary" in quoting_terms(f"{name} keeps nothing.")] == []


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("see www.a.example/b?c=d.", "see `www.a.example/b?c=d.`"),
        ("(HTTP://a.example)", "\\(`HTTP://a.example`\\)"),
        ("mailto:a.b+c@d.example", "mailto\\:`a.b+c@d.example`"),
        ("`www.a.example`", "\\``www.a.example`\\`"),
        ("a@b, www and http: are none", "a@b, www and http\\: are none"),
    ],
)
def test_an_address_is_code_which_no_browser_makes_a_link_of(typed: str, shown: str) -> None:
    assert plain(typed) == shown


def test_what_was_typed_is_shown_as_typed() -> None:
    assert plain("x &lt; y &copy; R&D") == "x \\&lt; y \\&copy; R\\&D"
    assert pill("👩‍👩‍👧 a b") == "👩‍👩‍👧\u00a0a b", "Streamlit takes an emoji before a space as an icon"
    assert pill("the end b") == "the end b"


def test_a_long_text_is_read_once() -> None:
    for piece in ("a", "a.", "a@", "a@b-", "www."):
        plain(piece * 200_000)  # minutes, where every letter could begin an address
