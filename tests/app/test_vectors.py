"""The page of vectors: every section opens filled, for every model, and whatever one types or links gets a sentence."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.vectors.occurrences import EXAMPLES
from tests.pages import html_of, opened, shown, widget


def page(**query: str) -> AppTest:
    return opened("vectors", **({"model": "atlas-bert"} | query))


def charts(at: AppTest) -> int:
    return len(at.get("plotly_chart"))


def say(at: AppTest, kind: str, label: str, value: Any) -> AppTest:
    widget(getattr(at, kind), label).set_value(value).run()
    return at


@pytest.mark.parametrize("model", ["minilm", "atlas-t5"])
def test_one_word_opens_filled(model: str) -> None:
    at = page(model=model)
    assert not at.warning
    assert charts(at) == 1
    assert "12 occurrences" in shown(at)
    assert html_of(at).count('scope="row"') == 12  # the nearest words of each


@pytest.mark.parametrize("model", ["dir-tiny-gpt2", "dir-tiny-bigbird"])
def test_models_of_a_host_open_too(model: str, checkpoint_dir: Path) -> None:
    for tab in ("word", "sum"):
        at = page(model=model, tab=tab, word="cat", text="The cat sat on the mat.\nA cat drinks milk.\nOur cat sleeps.")
        assert not at.warning
        assert charts(at) >= 1
    at = page(show="context", over="own", models=model)
    assert charts(at) == 2


@pytest.mark.parametrize(("show", "layer"), [("near", "-1"), ("distances", "0"), ("depth", "3"), ("how", "3")])
def test_what_stands_below(show: str, layer: str) -> None:
    at = page(show=show, layer=layer)
    assert not at.warning
    assert charts(at) == (2 if show in ("distances", "depth") else 1)


def test_static_is_one_spot_and_tsne_is_another_map() -> None:
    at = page(layer="-1")
    assert "on one point" in shown(at)
    at = page(map="neighbours", seed="3")
    assert "perplexity 3.7" in shown(at)
    widget(at.button, "New seed").click().run()
    assert at.query_params["seed"] in ("4", ["4"])


def test_a_ready_word_brings_its_sentences() -> None:
    at = page()
    widget(at.button, "spring: season, water, metal, jump").click().run()
    assert widget(at.text_area, "Sentences").value == EXAMPLES["spring"]
    assert at.query_params["word"] in ("spring", ["spring"])
    assert "text" not in at.query_params  # they are the ready ones
    assert "9 occurrences" in shown(at)


def test_a_word_that_is_missing_says_where() -> None:
    at = page(word="cat", text="a | The cat sleeps.\nb | The dog sleeps.\nA cat!\nNo animal.")
    assert "does not occur in lines 2 and 4" in shown(at)
    assert "2 occurrences" in shown(at)
    at = say(at, "text_input", "Word", "horse")
    assert "occurs in none of the 4 sentences" in shown(at)
    assert widget(at.text_area, "Sentences").value.startswith("a | The cat")  # nothing is lost
    at = say(at, "text_input", "Word", "cat")
    assert "2 occurrences" in shown(at)


def test_one_occurrence_and_none_at_all() -> None:
    for show in ("near", "distances", "depth"):
        at = page(word="cat", text="The cat sleeps.", show=show, map="neighbours")
        assert not at.warning
        assert "One occurrence is one point" in shown(at)
        assert charts(at) == 1


def test_the_mix_opens_filled() -> None:
    at = opened("encoder", system="elmo", demo="mix")
    assert not at.warning
    assert charts(at) == 6  # the sixth is the learning curve on its card
    assert "the largest weight" in shown(at)


def test_weights_travel_in_the_link() -> None:
    mix = partial(opened, "encoder", system="elmo", demo="mix")
    assert "share $s_0$ = 1.00" in " ".join(slider.label for slider in mix(weights="80.0.0").slider)
    at = mix(weights="80.0.0.0.0")  # of a model with more layers: even ones instead
    assert "share $s_0$ = 0.33" in " ".join(slider.label for slider in at.slider)
    widget(at.button, "Learned: position").click().run()
    assert at.query_params["weights"]
    assert "share $s_2$ = 0.5" in " ".join(slider.label for slider in at.slider)


@pytest.mark.parametrize(
    ("measure", "over"), [("self", "kept"), ("intra", "own"), ("explained", "own"), ("strangers", "kept")]
)
def test_how_contextual_opens_filled(measure: str, over: str) -> None:
    at = page(show="context", measure=measure, over=over, models="atlas-bert,atlas-gpt-2")
    assert not at.warning
    assert charts(at) == 2
    assert "**Notice**" in shown(at)


def test_no_model_and_a_word_of_one_sentence() -> None:
    at = page(show="context", models="")
    assert "No model is chosen" in shown(at)
    at = page(show="context", over="own", models="atlas-bert", word="play", text="Only one play here.")
    assert "No word occurs in two of your sentences" in shown(at)


@pytest.mark.parametrize(
    ("number", "model", "drawn"), [("share", "minilm", 3), ("length", "atlas-reformer", 2), ("cosine", "atlas-t5", 2)]
)
def test_all_numbers_of_a_sum(number: str, model: str, drawn: int) -> None:
    at = page(tab="sum", number=number, part="3", model=model)
    assert charts(at) == drawn  # the grid, the parts, the norm where there is one
    assert not at.warning
    assert "On average the sum is token" in shown(at)


@pytest.mark.parametrize(
    "query",
    [
        {"kind": "learned", "asked": "atlas-reformer", "picture": "cosines"},
        {"kind": "sinusoidal", "width": "64", "order": "tensor2tensor"},
        *({"kind": "relative", "asked": f"atlas-{name}"} for name in ("t5", "transformer-xl")),
        {"kind": "relative", "asked": "atlas-deberta", "term": "p2c", "level": "4", "head": "6"},
        {"kind": "rotary", "query": "4", "key": "2", "base": "500000"},
        {"kind": "linear", "heads": "12"},
    ],
    ids=str,
)
def test_places_open_filled(query: dict[str, str]) -> None:
    at = page(tab="places", **query)
    assert not at.warning
    memory = query.get("asked") == "atlas-transformer-xl"
    assert charts(at) == (3 if memory else {"linear": 1, "rotary": 3}.get(query["kind"], 2))
    assert "**Notice**" in shown(at)


@pytest.mark.usefixtures("open_tables")
def test_the_four_terms_of_a_score_are_one_picture_and_its_table_sums_them() -> None:
    at = page(
        tab="places", kind="relative", asked="atlas-transformer-xl", level="2", head="3", passage="A king saw a king."
    )
    assert "**(d)** Distances that every query favors" in shown(at)
    pairs = next(frame.value for frame in at.dataframe if "weight" in frame.value)
    terms = [name for name in pairs if name.startswith("(")]
    assert len(terms) == 4
    assert pairs[terms].sum(axis=1).tolist() == pytest.approx(pairs["Sum: the score"].tolist(), abs=1e-4)
    assert pairs.groupby("query")["weight"].sum().tolist() == pytest.approx([1] * pairs["query"].nunique(), abs=1e-4)
    assert pairs.groupby("key")[terms[2]].std().max() < 1e-4 < 0.1 < pairs.groupby("distance")[terms[2]].std().max()
    assert pairs.groupby("distance")[terms[3]].std().max() < 1e-4


@pytest.mark.parametrize(
    ("query", "refused"),
    [
        ({"layer": "99"}, 1),  # held at the last
        ({"tab": "mix", "weights": "1.2.x", "gamma": "9"}, 2),
        ({"tab": "sum", "part": "64"}, 0),  # no such token here: the usual one
        ({"tab": "places", "kind": "rotary", "query": "200", "key": "256", "level": "9", "head": "99"}, 4),
        ({"tab": "places", "kind": "relative", "asked": "minilm", "term": "c2p"}, 1),  # not of this kind: its first
    ],
    ids=str,
)
def test_nonsense_in_a_link_gets_a_sentence(query: dict[str, str], refused: int) -> None:
    at = page(**query)
    assert len(at.warning) == refused
    assert charts(at) >= 1


def test_a_link_opens_what_was_left() -> None:
    at = page(model="atlas-bert", layer="2", show="distances", map="neighbours", seed="7", word="bank")
    assert widget(at.select_slider, "Layer").value == 2
    assert widget(at.text_input, "Word").value == "bank"
    assert widget(at.selectbox, "Live model").value == "atlas-bert"
