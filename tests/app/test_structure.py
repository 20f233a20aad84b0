"""ELMo, SpanBERT and UniLM: each system's page runs a model of its own objective."""

from __future__ import annotations

import pytest

from core.vectors import precomputed
from tests.pages import described, opened, shown, widget


@pytest.mark.parametrize(
    ("page", "system", "label", "figures", "card"),
    [
        ("encoder", "elmo", "Sentence", ("From the left", "From the right", "Both language models"), "Atlas ELMo"),
        ("encoder", "spanbert", "Sentence", ("from the boundaries", "from its own state"), "Atlas BERT, spans"),
        ("encoder-decoder", "unilm", "Second text", ("Left to right, trained with it",), "Atlas BERT, attention masks"),
    ],
)
def test_the_page_of_a_system_runs_its_objective(
    page: str, system: str, label: str, figures: tuple[str, ...], card: str
) -> None:
    at = opened(page, system=system)
    assert not at.exception
    assert not at.error
    before = described(at)
    assert all(name in before for name in figures)
    assert f"About this model: {card}" in " ".join(expander.label for expander in at.expander)
    assert "Measured quality" in shown(at)
    assert "{{" not in shown(at)
    widget([*at.text_area, *at.text_input], label).set_value("My sister reads a book in the garden.").run()
    assert not at.exception
    assert described(at) != before
    covered = opened(page, system=system, cover="yes")
    assert not any(name in described(covered) for name in figures)


def test_the_scalar_mix_opens_with_elmos_own_layers() -> None:
    at = opened("vectors", tab="mix")
    assert not at.exception
    assert widget(at.selectbox, "Live model").value == "elmo"
    assert "Atlas ELMo" in shown(at)
    assert len(at.slider) >= 3
    weights = {task: mix.weights for task, mix in precomputed.learned_mixes("elmo").items()}
    assert weights["speech"].index(max(weights["speech"])) == 1
    assert weights["topic"].index(max(weights["topic"])) == 2
    other = opened("vectors", tab="mix", model="atlas-bert")
    assert "Choose Atlas ELMo" in shown(other)
