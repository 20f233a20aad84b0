"""The sections of the page Attention that change or combine heads: opened, changed, and given nonsense."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core import session
from core.attention.trace import AttentionMap
from core.attention.views import grid
from tests.app.test_attention_page import page, widget
from tests.app.test_branches import shown
from tests.words import words

MODELS = ("dir-tiny-bert", "dir-tiny-gpt2", "dir-tiny-t5", "dir-tiny-bigbird")


def click(at: AppTest, label: str) -> None:
    widget(at.button, label).click().run()  # type: ignore[attr-defined]
    assert not at.exception


def test_switching_off_opens_with_the_head_that_matters_most() -> None:
    at = page(tab="off")
    assert not at.warning
    ranked = at.dataframe[0].value
    assert ranked["bits lost"].is_monotonic_decreasing
    assert widget(at.multiselect, "Off").value == [f"e{ranked['layer'][0]}-{ranked['head'][0]}"]  # type: ignore[attr-defined]
    assert f"Without 1 head the answer loses **{ranked['bits lost'][0]:.2f} bits**" in shown(at)
    assert "off" not in at.query_params
    click(at, "All on")
    assert "All heads are on." in shown(at)
    assert at.query_params["off"] == ""


def test_a_link_switches_heads_off_and_names_those_that_are_not_there(checkpoint_dir: Path) -> None:
    at = page(tab="off", model="dir-tiny-bert", asked="The cat [MASK].", off="e1-2,e9-9,x1-1,e0-1")
    assert widget(at.multiselect, "Off").value == ["e1-2"]  # type: ignore[attr-defined]
    assert "“e9-9, x1-1, e0-1”, which this model has not. Its heads are written like e" in shown(at).replace("\\", "")
    at.run()
    assert not at.warning
    click(at, "Keep only these")
    assert sorted(widget(at.multiselect, "Off").value) == ["e1-1", "e2-1", "e2-2"]  # type: ignore[attr-defined]
    click(at, "Layer 2")
    assert sorted(widget(at.multiselect, "Off").value) == ["e2-1", "e2-2"]  # type: ignore[attr-defined]
    assert "Without 2 heads" in shown(at)


def test_a_text_without_a_mask_is_told_what_would_work(checkpoint_dir: Path) -> None:
    at = page(tab="off", model="dir-tiny-bert", asked="no mask here")
    assert "[MASK]" in words(at.warning[0].value)
    assert at.text_input[0].value == "no mask here"


def test_a_model_with_adapters_answers_by_its_task() -> None:
    at = page(tab="off", model="atlas-adapter-bert")
    assert not at.warning
    assert "**Have two neighbouring words changed places?**" in shown(at)
    assert set(at.dataframe[0].value["best answer after"]) == {"swapped"}
    assert len(at.dataframe[0].value) == 72
    assert widget(at.multiselect, "Off").value == ["e4-7"]  # type: ignore[attr-defined]
    assert "“swapped” goes from 97 % to " in shown(at)
    words = at.dataframe[0].value["bits lost"].max()
    widget(at.selectbox, "Task").set_value("genre").run()  # type: ignore[attr-defined]
    assert not at.exception
    assert at.query_params["task"] == "genre"
    assert "**Where does the sentence come from?**" in shown(at)
    assert at.dataframe[0].value["bits lost"].max() != words
    again = page(tab="off", model="atlas-adapter-bert", task="genre", asked="The soup was cold and tasted of nothing.")
    assert {"story", "conversation"} <= set(again.dataframe[0].value["best answer after"])
    bare = page(tab="off", model="atlas-adapter-bert", task="question", asked="?!")
    assert "nothing before the mark" in bare.warning[0].value


def test_maps_are_drawn_through_the_adapters_of_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[AttentionMap] = []
    real = grid.render
    monkeypatch.setattr(grid, "render", lambda found, **more: (drawn.append(found), real(found, **more))[1])
    at = page(tab="all", model="atlas-adapter-bert")
    assert widget(at.selectbox, "Adapters for").value == "none"  # type: ignore[attr-defined]
    widget(at.selectbox, "Adapters for").set_value("genre").run()  # type: ignore[attr-defined]
    assert not at.exception
    assert at.query_params["task"] == "genre"
    bare, genre = drawn[0], drawn[-1]
    assert (bare.weights[0] == genre.weights[0]).all(), "the first layer reads what all tasks read"
    assert abs(bare.weights[1] - genre.weights[1]).max() > 0.001
    widget(at.selectbox, "Adapters for").set_value("none").run()  # type: ignore[attr-defined]
    assert "task" not in at.query_params
    assert widget(page(model="atlas-adapter-bert", task="genre").selectbox, "Adapters for").value == "genre"  # type: ignore[attr-defined]
    other = page(tab="all", model="atlas-adapter-bert", task="genre", together="models", **{"with": "minilm"})
    assert not other.warning
    difference = drawn[-1].weights
    page(tab="all", model="minilm")
    np.testing.assert_allclose(difference, genre.weights - drawn[-1].weights, atol=1e-6)


def test_a_head_of_two_streams_is_off_in_both_or_in_one() -> None:
    at = page(tab="off", model="atlas-xlnet", off="d4-1")
    assert not at.warning
    assert "the answer loses **0.00 bits**" in shown(at)
    assert set(at.dataframe[0].value["attention"]) == {"Both streams", "Content stream", "Query stream"}
    assert len(at.dataframe[0].value) == 72
    other = page(tab="off", model="atlas-xlnet", off="q4-1,c1-1", map="query")
    assert widget(other.multiselect, "Off").value == ["q4-1"]  # type: ignore[attr-defined]
    assert "“c1-1”, which this model has not" in shown(other).replace("\\", "")
    assert "Layer 4" in [button.label for button in other.button]


@pytest.mark.parametrize("together", ["all", "mean", "maximum", "rollout", "flow", "heads", "layers"])
def test_maps_made_of_maps(checkpoint_dir: Path, together: str) -> None:
    at = page(tab="all", model="dir-tiny-bert", together=together, text="The cat sat on the mat.")
    assert not at.warning
    assert len(at.get("iframe")) == 1
    assert "**Notice**" in shown(at)


def test_of_a_long_text_a_part_flows_and_the_whole_comes_back(checkpoint_dir: Path) -> None:
    at = page(tab="all", model="dir-tiny-bert", together="flow", text="the cat sat on the mat " * 6)
    assert not at.warning
    assert len(at.get("iframe")) == 1
    assert "up to 32 fit here" in shown(at)
    widget(at.number_input, "From token").set_value(5).run()  # type: ignore[attr-defined]
    assert not at.exception
    assert at.query_params["window"].startswith("5.")
    widget(at.selectbox, "Shown").set_value("rollout").run()  # type: ignore[attr-defined]
    assert not at.exception
    assert "window" not in at.query_params
    assert "fit here" not in shown(at)
    widget(at.selectbox, "Shown").set_value("flow").run()  # type: ignore[attr-defined]
    assert not at.warning
    assert "up to 32 fit here" in shown(at)


def test_two_texts_of_one_length(checkpoint_dir: Path) -> None:
    at = page(tab="all", model="dir-tiny-bert", together="texts", text="The cat sat.")
    assert "Type the same sentence with one word changed." in shown(at)
    other = widget(at.text_input, "Other text, of as many tokens")
    other.set_value("The dog sat.").run()  # type: ignore[attr-defined]
    assert not at.exception
    assert len(at.get("iframe")) == 1
    widget(at.text_input, "Other text, of as many tokens").set_value("The dog sat on it.").run()  # type: ignore[attr-defined]
    assert not at.exception
    assert "Change single words" in words(at.warning[0].value)


def test_two_texts_of_a_decoder_without_what_it_writes(checkpoint_dir: Path) -> None:
    at = page(tab="all", model="dir-tiny-gpt2", together="texts", text="The cat sat.", other="The dog sat.")
    assert not at.warning
    assert len(at.get("iframe")) == 1
    assert "Over the text alone" in shown(at)
    at = page(tab="all", model="dir-tiny-gpt2", together="texts", text="The cat.", other="The dog sat down.", count="0")
    assert "Change single words" in words(at.warning[0].value)
    assert "Over the text alone" not in shown(at)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_two_texts_of_an_encoder_decoder_have_one_answer(checkpoint_dir: Path, kind: str) -> None:
    query = {"text": "The cat sat on the mat.", "other": "The mat sat on the cat.", "map": kind}
    at = page(tab="all", model="dir-tiny-t5", together="texts", **query)
    assert not at.warning, at.warning[0].value
    assert len(at.get("iframe")) == 1
    assert ("as if its answer were the one to yours" in shown(at)) == (kind != "encoder")


def test_models_of_other_kinds_are_held_against_their_like_or_told_why_not(checkpoint_dir: Path) -> None:
    at = page(tab="all", model="atlas-xlnet", together="models")
    offered = widget(at.selectbox, "With").options  # type: ignore[attr-defined]
    assert "Atlas BERT" in offered
    at = page(tab="all", model="atlas-xlnet", together="models", map="query")
    assert "belong to this model alone" in shown(at)
    at = page(tab="all", model="dir-tiny-gpt2", together="models", **{"with": "atlas-gpt-2"})
    assert "needs the same tokens" in words(at.warning[0].value)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_two_encoder_decoders_are_subtracted_word_by_word(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    drawn: list[AttentionMap] = []
    real = grid.render
    monkeypatch.setattr(grid, "render", lambda found, **more: (drawn.append(found), real(found, **more))[1])
    query = {"map": kind, "with": "atlas-m2m-100", "text": "The cat sat on the mat.", "compared": "mean"}
    at = page(tab="all", model="atlas-t5", together="models", **query)
    assert not at.warning, at.warning[0].value
    answer = session.answer_words("atlas-t5", query["text"], "en-fr")
    ours, other = (
        next(one for one in session.trace_in_words(slug, query["text"], "en-fr", answer).maps if one.kind == kind)
        for slug in ("atlas-t5", "atlas-m2m-100")
    )
    expected = ours.weights.mean((0, 1)) - other.weights.mean((0, 1))
    np.testing.assert_allclose(drawn[-1].weights[0, 0], expected, atol=1e-6)
    assert drawn[-1].key_tokens[:2] == (("Le", "chat") if kind == "decoder" else ("The", "cat"))
    assert "Both are compared word by word" in drawn[-1].note
    assert "sums to zero" not in drawn[-1].note, "the rows of words sum to less than one in both"
    assert ("as if it were its own" in drawn[-1].note) == (kind != "encoder")
