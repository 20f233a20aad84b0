"""Each model that was pretrained here does on its page what it was trained to do; found by what its folder holds."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import checkpoints
from core.efficiency.timing import by_turns
from core.ui.demos.pairs import PAIRS as PAIRS_DEMO
from tests.app.test_branches import demos, survive_nonsense
from tests.pages import opened, shown

pytestmark = pytest.mark.usefixtures("open_tables")

READY = [spec for spec in checkpoints.available() if spec.ready and spec.source == "bundled"]
PAIRS = [spec for spec in READY if spec.offers("pairs")]
REPLACED = [spec for spec in READY if spec.kind == "replaced-token"]
ENCODERS = [spec for spec in READY if spec.branch == "encoder" and spec.kind == "masked-lm"]


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two models side by side are timed in one round in place of 15; the timing has its test in tests/parity."""
    monkeypatch.setattr("core.ui.demos.variants.by_turns", partial(by_turns, count=1))


def page(spec: Any, **query: str) -> AppTest:
    return opened(spec.branch, system=spec.system, model=spec.slug, **query)


@pytest.mark.parametrize("spec", ENCODERS, ids=lambda spec: spec.slug)
def test_every_demo_of_an_encoder_opens_filled(spec: Any) -> None:
    for demo in demos(spec):
        at = page(spec, **({} if demo == "masks" else {"demo": demo}))
        assert not at.warning
        assert "**Notice**" in shown(at), demo
        assert at.get("plotly_chart"), demo


@pytest.mark.parametrize("spec", PAIRS, ids=lambda spec: spec.slug)
def test_pairs_are_classified_and_nonsense_loses_nothing(spec: Any) -> None:
    at = page(spec, demo="pairs", first="The dog barked.", second="It was hungry.\nThe moon is far away.")
    assert at.text_input[0].value == "The dog barked."
    table = at.dataframe[0].value
    assert table["second"].tolist() == ["It was hungry.", "The moon is far away."]
    assert all(0 < value < 1 for value in table["probability"])
    survive_nonsense(at)
    assert at.text_input[0].value == "The dog barked."
    at.text_area[0].set_value("\n".join(f"Line {i}." for i in range(9))).run()
    assert "Up to 8 work" in shown(at)


def test_bert_tells_a_sentence_that_fits_from_one_that_does_not() -> None:
    spec = next(spec for spec in PAIRS if spec.system == "bert")
    at = page(spec, demo="pairs")
    values = at.dataframe[0].value["probability"].tolist()
    assert values[0] > 0.5 > values[3]


@pytest.mark.parametrize("spec", REPLACED, ids=lambda spec: spec.slug)
def test_replaced_tokens_are_shown_and_nonsense_loses_nothing(spec: Any) -> None:
    at = page(spec)
    assert not at.warning
    first = at.dataframe[0].value
    assert first["replaced"].any() or first["generator's probability"].notna().any()
    next(button for button in at.button if button.label == "Sample again").click().run()
    assert "Sample 2." in shown(at)
    assert at.dataframe[0].value["in the input"].tolist() != first["in the input"].tolist()
    survive_nonsense(at)


def test_a_demo_that_a_model_lacks_is_not_offered_but_named_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.ui.branch.base_path", lambda: "/below")
    at = opened("encoder", system="bert", model="minilm", demo="pairs")
    assert f"Also here: [{PAIRS_DEMO.words.title.lower()}, with Atlas BERT](/below/encoder?" in shown(at)


@pytest.mark.parametrize("demo", ["passes", "beside"])
def test_nonsense_in_a_sentence_gets_a_plain_answer(demo: str) -> None:
    at = page(next(spec for spec in ENCODERS if demo in demos(spec)), demo=demo)
    survive_nonsense(at, "text_input")
    at.text_input[0].set_value("Nothing is hidden here.").run()
    assert "There is no mask in this text" in shown(at)
    at.text_input[0].set_value("A [MASK] barked at the cat.").run()
    assert not at.warning


def test_two_models_share_sizes_that_are_counted() -> None:
    spec = next(spec for spec in ENCODERS if "beside" in demos(spec))
    table = page(spec, demo="beside").table[0].value
    layers = [int(table[name].iloc[0]) for name in table.columns[1:3]]
    assert layers[1] == checkpoints.load(spec.slug).model.config.num_hidden_layers
    assert table.iloc[0, 3] == f"{100 * layers[1] / layers[0]:.0f}%"


def test_a_link_to_a_partner_that_is_none_is_said() -> None:
    at = opened("encoder", system="bert", model="atlas-bert", demo="beside", beside="nosuch")
    assert "nosuch" in shown(at)


@pytest.mark.parametrize(("model", "told", "divided"), [("atlas-t5", True, False), ("atlas-bert2bert", False, True)])
def test_the_formula_is_that_of_the_model(model: str, told: bool, divided: bool) -> None:
    at = opened("encoder-decoder", model=model, length="4")
    assert ("The task is a prefix of the text" in shown(at)) == told
    formula = next(element.value for element in at.markdown if "cross" in element.value and "$$" in element.value)
    assert (r"\sqrt{d}" in formula) == divided


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({}, "times smaller"),
        ({"method": "heads", "heads": "75"}, "of the heads removed"),
        ({"method": "layers", "layers": "2", "model": "atlas-gpt-2"}, "2 layers removed"),
        ({"sentence": "No mask at all."}, "There is no mask in this text"),
        ({"pruned": "31", "bits": "x"}, "must be one of"),
    ],
)
def test_compression_answers_from_measured_points(query: dict[str, str], said: str) -> None:
    at = opened("zoo", tab="compression", **query)
    assert not at.exception
    assert "times smaller" in shown(at)
    assert said in shown(at)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({}, "points from the teacher"),
        ({"alpha": "0", "temperature": "8"}, "from the labels alone"),
        ({"alpha": "1"}, "from the labels alone"),
        ({"alpha": "0.3", "temperature": "hot"}, "must be one of"),
    ],
)
def test_distillation_answers_from_measured_runs(query: dict[str, str], said: str) -> None:
    at = opened("zoo", tab="distillation", **query)
    assert not at.exception
    assert said in shown(at)
    assert "most frequent class" in shown(at)
    assert len(at.get("plotly_chart")) == 2
