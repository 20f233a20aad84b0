"""Guess first: the switch that covers the answers of demos."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from tests import pages
from tests.app.test_objectives import opened
from tests.pages import html_of
from tests.words import unlinked


def button(at: AppTest, label: str) -> AppTest:
    return next(b for b in at.button if b.label == label).click().run()


def said(at: AppTest) -> str:
    return " ".join(unlinked(str(element.value)) for element in (*at.markdown, *at.caption, *at.warning, *at.info))


def charts(at: AppTest) -> list[str]:
    """Pictures of answers; the learning curve on a model's card is none."""
    return [chart.key for chart in at.get("plotly_chart") if "learning-curve" not in chart.key]


def everything(at: AppTest) -> str:
    return " ".join((html_of(at), said(at), *(str(f.proto) for f in at.get("plotly_chart"))))


def guess(at: AppTest, typed: str) -> AppTest:
    return (
        next(box for box in at.text_input if "guess" in box.label.lower() or "replaced" in box.label)
        .set_value(typed)
        .run()
    )


def test_hidden_words_wait_for_a_guess() -> None:
    at = pages.opened("encoder", model="minilm", cover="yes")
    assert not charts(at)
    assert "paris" not in everything(at).lower()
    at = guess(at, "   ")
    assert not charts(at)
    at = guess(at, "Paris")
    assert charts(at)
    assert "Right: it is the model's top prediction" in said(at).replace("\\", "")
    at = button(at, "Cover again")
    assert not charts(at)
    at = button(at, "Show")
    assert charts(at)
    at = next(t for t in at.toggle if t.label == "Guess first").set_value(False).run()
    assert "cover" not in at.query_params


def test_each_next_token_waits_for_a_guess() -> None:
    at = pages.opened("decoder", cover="yes", length="6", text="Once upon a")
    assert " time" not in html_of(at)
    assert not charts(at)
    at = guess(at, "time")
    assert "Right: that is the original." in said(at).replace("\\", "")
    assert " time" in html_of(at)
    at = button(at, "Next token")
    assert at.query_params["step"] == "2"
    assert not charts(at)


def test_pairs_and_replaced_tokens_wait_too() -> None:
    at = pages.opened("encoder", model="atlas-bert", demo="pairs", cover="yes")
    assert not charts(at)
    (lines,) = [group for group in at.radio if group.label == "Which line gets the highest probability?"]
    at = lines.set_value(lines.options[0].replace("\\", "")).run()
    assert charts(at)
    at = pages.opened("encoder", system="electra", model="atlas-electra", cover="yes")
    assert not charts(at)
    assert "<s " not in html_of(at)
    at = guess(at, "king")
    assert charts(at)


def test_objectives_share_the_switch() -> None:
    at = opened(objective="masked", cover="yes", text="The king gave his daughter a golden ring.")
    assert '<span class="a">?</span>' in html_of(at)
    at = guess(at, "xyzzy")
    assert "0 of" in said(at)
    assert '<span class="a">?</span>' not in html_of(at)


def test_another_sentence_is_covered_anew_and_the_first_stays_shown() -> None:
    at = guess(pages.opened("encoder", model="minilm", cover="yes"), "rome")
    assert charts(at)
    box = at.text_input[0]
    first = box.value
    at = box.set_value("The sky is [MASK].").run()
    assert not charts(at)
    at = at.text_input[0].set_value(first).run()
    assert charts(at)
    assert "rome" in said(at)
