"""Two models' answers wait for a guess, too."""

from __future__ import annotations

import pytest

from tests.app.test_covered import page_text, verdicts
from tests.app.test_guess_first import button
from tests.pages import opened as branch


@pytest.mark.parametrize(
    ("left", "right", "asked", "told"),
    [
        ("minilm", "atlas-bert", "Your guess at the first masked word", "xyzzy"),
        ("atlas-gpt-2", "atlas-electra", "Your guess at their outputs", "most likely replaced is “"),
    ],
)
def test_what_two_models_say_waits_for_a_guess(left: str, right: str, asked: str, told: str) -> None:
    at = branch("catalogue", tab="beside", one=left, other=right, cover="yes")
    assert not at.get("plotly_chart")
    before = page_text(at)
    (guess,) = [box for box in at.text_input if box.label == asked]
    at = guess.set_value("xyzzy").run()
    assert told in verdicts(at)
    assert "Atlas" in verdicts(at)
    assert at.get("plotly_chart")
    assert page_text(button(at, "Cover again")) == before
