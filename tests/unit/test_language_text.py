"""The gate for visitors' texts."""

from __future__ import annotations

import pytest

from core.errors import InputEmpty, InputTooLong
from core.language.text import clean


@pytest.mark.parametrize("text", ["", "   ", "\n\t\n", "\x00\x01\x1f", "\u202e\u2066", "\ud83d"])
def test_nothing_readable_is_empty(text: str) -> None:
    with pytest.raises(InputEmpty, match="choose a sample"):
        clean(text)


def test_controls_go_and_blanks_run_together() -> None:
    assert clean("a\x00b\x07c  d\te\r\nf") == "abc d e f"


def test_lines_stay_when_asked() -> None:
    assert clean("a  b \r\n\r\n\r\n\r\nc\u2028d", newlines=True) == "a b\n\nc\nd"


@pytest.mark.parametrize(
    "text",
    [
        "שלום עולם",
        "مرحبا بالعالم",
        "🤖👩\u200d🔬🎈",
        "</script><script>alert(1)</script>",
        "**bold** $x^2$ [a](b)",
        "日本語 テスト",
    ],
)
def test_text_of_any_kind_stays(text: str) -> None:
    assert clean(text) == text


def test_accents_are_composed() -> None:
    assert clean("Cafe\u0301") == "Café"


def test_overrides_of_direction_go_but_joiners_stay() -> None:
    assert clean("a\u202ebc\u202c 👩\u200d🔬") == "abc 👩\u200d🔬"


def test_too_long_says_both_numbers() -> None:
    with pytest.raises(InputTooLong, match="100,000 characters; at most 2,000"):
        clean("x" * 100_000, 2_000)
    assert len(clean("x" * 2_000, 2_000)) == 2_000
