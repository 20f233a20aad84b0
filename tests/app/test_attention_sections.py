"""The sections of the page Attention that change or combine heads: opened, changed, linked, and given nonsense."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np
import pytest

from core import session
from core.attention import bertviz, combine
from core.attention.trace import AttentionMap
from core.attention.views import grid
from core.attention.word_maps import generate_answer, maps_over_words
from core.ui.attention.compared import comparisons
from core.ui.selection import Opened
from tests.app.test_attention_page import page
from tests.pages import shown, widget
from tests.words import words


@pytest.fixture
def grids(monkeypatch: pytest.MonkeyPatch) -> list[AttentionMap]:
    """What each grid draws."""
    drawn: list[AttentionMap] = []
    real = grid.render
    monkeypatch.setattr(grid, "render", lambda found, **more: (drawn.append(found), real(found, **more))[1])
    return drawn


def test_maps_are_drawn_through_the_adapters_of_a_task(grids: list[AttentionMap]) -> None:
    at = page(tab="all", model="atlas-adapter-bert", text="The cat sat on the mat.")
    assert widget(at.selectbox, "Adapters for").value == "none"
    widget(at.selectbox, "Adapters for").set_value("genre").run()
    assert at.query_params["task"] == "genre"
    bare, genre = grids[0], grids[-1]
    assert (bare.weights[0] == genre.weights[0]).all(), "the first layer reads what all tasks read"
    assert abs(bare.weights[1] - genre.weights[1]).max() > 0.001
    widget(at.selectbox, "Adapters for").set_value("none").run()
    assert "task" not in at.query_params
    assert widget(page(model="atlas-adapter-bert", task="genre").selectbox, "Adapters for").value == "genre"
    other = page(
        tab="all",
        model="atlas-adapter-bert",
        text="The cat sat on the mat.",
        task="genre",
        together="models",
        **{"with": "minilm"},
    )
    assert not other.warning
    difference = grids[-1].weights
    page(tab="all", model="minilm", text="The cat sat on the mat.")
    np.testing.assert_allclose(difference, genre.weights - grids[-1].weights, atol=1e-6)


@pytest.mark.parametrize("together", ["all", "rollout", "flow", "heads"])
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
    widget(at.number_input, "From token").set_value(5).run()
    assert at.query_params["window"].startswith("5.")
    widget(at.selectbox, "Shown").set_value("rollout").run()
    assert "window" not in at.query_params
    assert "fit here" not in shown(at)
    widget(at.selectbox, "Shown").set_value("flow").run()
    assert not at.warning
    assert "up to 32 fit here" in shown(at)


def test_two_texts_of_one_length(checkpoint_dir: Path) -> None:
    at = page(tab="all", model="dir-tiny-bert", together="texts", text="The cat sat.")
    assert "Type the same sentence with one word changed." in shown(at)
    other = widget(at.text_input, "Other text, of as many tokens")
    other.set_value("The dog sat.").run()
    assert len(at.get("iframe")) == 1
    widget(at.text_input, "Other text, of as many tokens").set_value("The dog sat on it.").run()
    assert "Replace single words" in words(at.warning[0].value)


def test_two_texts_of_an_encoder_decoder_have_one_answer(checkpoint_dir: Path) -> None:
    query = {"text": "The cat sat on the mat.", "other": "The mat sat on the cat.", "map": "cross"}
    at = page(tab="all", model="dir-tiny-t5", together="texts", **query)
    assert not at.warning, at.warning[0].value
    assert len(at.get("iframe")) == 1
    assert "teacher-forced on the answer to yours" in shown(at)


def test_models_of_other_kinds_are_held_against_their_like_or_told_why_not(checkpoint_dir: Path) -> None:
    at = page(tab="all", model="atlas-xlnet", together="models")
    offered = widget(at.selectbox, "With").options
    assert "Atlas BERT" in offered
    at = page(tab="all", model="atlas-xlnet", together="models", map="query")
    assert "belong to this model alone" in shown(at)
    at = page(tab="all", model="dir-tiny-gpt2", together="models", **{"with": "atlas-gpt-2"})
    assert "needs the same tokens" in words(at.warning[0].value)


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_two_encoder_decoders_are_subtracted_word_by_word(grids: list[AttentionMap], kind: str) -> None:
    query = {"map": kind, "with": "atlas-m2m-100", "text": "The cat sat on the mat.", "compared": "mean"}
    at = page(tab="all", model="atlas-t5", together="models", **query)
    assert not at.warning, at.warning[0].value
    answer = session.computed("", generate_answer, "atlas-t5", query["text"], "en-fr")
    ours, other = (
        next(
            one
            for one in session.computed("", maps_over_words, slug, query["text"], "en-fr", answer).maps
            if one.kind == kind
        )
        for slug in ("atlas-t5", "atlas-m2m-100")
    )
    expected = ours.weights.mean((0, 1)) - other.weights.mean((0, 1))
    np.testing.assert_allclose(grids[-1].weights[0, 0], expected, atol=1e-6)
    assert grids[-1].key_tokens[:2] == (("Le", "chat") if kind == "decoder" else ("The", "cat"))
    assert "Both are compared word by word" in grids[-1].note
    assert "sums to zero" not in grids[-1].note, "the rows of words sum to less than one in both"
    assert ("teacher-forced on the answer" in grids[-1].note) == (kind != "encoder")


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """How each page of bertviz's was asked for."""
    asked: list[dict[str, Any]] = []
    real = bertviz.render
    monkeypatch.setattr(bertviz, "render", lambda *given, **how: (asked.append(how), real(*given, **how))[1])
    return asked


@pytest.mark.parametrize("view", ["head", "model"])
def test_bertviz_shows_the_chosen_layers_and_heads(
    checkpoint_dir: Path, drawn: list[dict[str, Any]], view: str
) -> None:
    at = page(tab="bertviz", bertviz=view, model="dir-tiny-bert", text="The cat sat.", layers="2", heads="1.9")
    assert (drawn[-1]["include_layers"], drawn[-1]["include_heads"]) == ([1], [0])
    assert "There is no head 9 here: this model has 2." in words(at.warning[0].value)
    widget(at.multiselect, "Layers").set_value([]).run()
    assert not at.warning
    assert drawn[-1]["include_layers"] == [0, 1]
    assert "layers" not in at.query_params


def test_ways_and_the_mean_of_everything() -> None:
    weights = np.stack([np.eye(2), np.full((2, 2), 0.5)]).astype(np.float32)
    two = AttentionMap("encoder", ("a", "b"), ("a", "b"), weights[None])
    one = combine.part(two, head=0)
    assert comparisons(two, two) == ["all", "layers", "mean", "heads"]
    assert comparisons(two, one) == ["layers", "mean", "heads"]
    np.testing.assert_allclose(combine.overall(two).weights[0, 0], [[0.75, 0.25], [0.25, 0.75]])


def test_the_sentence_of_a_role_is_in_the_link() -> None:
    at = page(tab="roles", model="minilm")
    box = widget(at.selectbox, "Sentence")
    assert "sentence" not in at.query_params
    box.select_index(3).run()
    kept, chosen = at.query_params["sentence"], widget(at.selectbox, "Sentence").value
    assert kept == chosen
    again = page(tab="roles", model="minilm", sentence=kept)
    assert widget(again.selectbox, "Sentence").value == chosen
    assert "“Sentence” cannot be “nonsense”" in shown(page(tab="roles", model="minilm", sentence="nonsense"))


def test_the_head_that_is_open_in_the_grid_is_in_the_link(
    checkpoint_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int | None, int | None]] = []
    real = grid.render
    monkeypatch.setattr(
        grid, "render", lambda *given, **how: (asked.append((how["layer"], how["head"])), real(*given, **how))[1]
    )
    at = page(tab="all", model="dir-tiny-bert", text="The cat sat.", open="2.1")
    assert asked == [(1, 0)]
    for sent in ([1, 2], [6, 1], [1]):  # as the frame says it; there is no head of these others
        at.session_state["attention.1.maps.watch--sent"] = Opened(open=sent)
        at.run()
    assert at.query_params["open"] == "1.2"
    assert asked[-1] == (1, 0)  # what is drawn already is not drawn anew
    widget(at.text_input, "Text").set_value("The dog sat.").run()
    assert asked[-1] == (0, 1)
    at = page(tab="all", model="dir-tiny-bert", text="The cat sat.", open="9.1")
    assert asked[-1] == (None, None)
    assert "There is no head “9, 1” here" in at.warning[0].value


@pytest.mark.parametrize(
    ("view", "query", "said", "link", "before", "after"),
    [
        ("head", {"layer": "2", "on": "2"}, (1,), {"layer": "1"}, (1, (1,)), (0, None)),
        ("neuron", {"layer": "2", "head": "2"}, (1, 2), {"layer": "1", "head": "2"}, (1, (1,)), (0, (1,))),
        ("model", {"open": "2.1"}, (), {}, (1, (0,)), (None, None)),
    ],
)
def test_what_is_chosen_in_a_view_of_bertviz_is_in_the_link(
    checkpoint_dir: Path,
    drawn: list[dict[str, Any]],
    view: str,
    query: dict[str, str],
    said: tuple[int, ...],
    link: dict[str, str],
    before: object,
    after: object,
) -> None:
    def begun() -> tuple[object, object]:
        heads = drawn[-1]["heads"]
        return drawn[-1]["layer"], heads and tuple(heads)

    at = page(tab="bertviz", bertviz=view, model="dir-tiny-bert", text="The cat sat.", **query)
    assert not at.warning
    assert begun() == before
    at.session_state[f"attention.1.bertviz.{view}.encoder.watch--sent"] = Opened(
        open=list(said)
    )  # as the frame says it
    at.run()
    assert {name: at.query_params.get(name) for name in ("layer", "head", "on", "open")} == {
        name: link.get(name) for name in ("layer", "head", "on", "open")
    }
    assert begun() == before  # what is drawn already is not drawn anew
    widget(at.text_input, "Text").set_value("The dog sat.").run()
    assert begun() == after
    # Back from another section, where the frame was taken down, it begins with what was chosen by then.
    at.session_state[f"attention.1.bertviz.{view}.encoder.watch--sent"] = Opened(open=[2, 2])
    at.run()
    assert begun() == after
    for section in ("roles", "bertviz"):
        widget(at.button_group, "Show").set_value(section).run()
    assert begun() == (1, (1,))


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ({"layer": "1", "on": "2.7"}, "1, 2, 7"),
        ({"bertviz": "neuron", "layers": "2", "layer": "1", "head": "2"}, "1, 2"),
        ({"bertviz": "model", "open": "1"}, "1"),
    ],
)
def test_a_link_to_a_head_that_bertviz_does_not_show(
    checkpoint_dir: Path, drawn: list[dict[str, Any]], query: dict[str, str], numbers: str
) -> None:
    at = page(tab="bertviz", model="dir-tiny-bert", text="The cat sat.", **query)
    assert f"The link’s choice {numbers} (a layer, then heads) is not among" in words(at.warning[0].value)
    assert (drawn[-1]["layer"], drawn[-1]["heads"]) == (None, None)
    at.run()
    assert not at.warning


@pytest.mark.parametrize(
    ("step", "more"),
    [
        ("attention-scores", {"model": "minilm"}),
        ("cross-attention-queries", {"model": "atlas-t5", "side": "decoder", "map": "cross"}),
    ],
)
def test_a_step_of_queries_and_keys_leads_to_bertvizs_neuron_view(step: str, more: dict[str, str]) -> None:
    wanted = {name: value for name, value in more.items() if name != "map"}
    at = page(tab="block", step=step, layer="2", head="3", **wanted)
    links = (parse_qs(found.proto.query_string) for found in at.get("page_link"))
    (query,) = ({name: value for name, (value,) in link.items()} for link in links if "bertviz" in link)
    assert query.items() >= {"tab": "bertviz", "bertviz": "neuron", "layer": "2", "head": "3", **more}.items() - {
        ("side", "decoder")
    }
    opened_there = page(**{name: value for name, value in query.items() if name != "go"})
    assert not opened_there.warning
    assert widget(opened_there.button_group, "View of bertviz").value == "neuron"
