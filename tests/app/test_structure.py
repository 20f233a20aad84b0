"""UniLM: its page runs a model of its own objective."""

from __future__ import annotations

from tests.pages import described, opened, shown, widget


def test_the_page_of_unilm_runs_its_attention_masks() -> None:
    at = opened("encoder-decoder", system="unilm")
    assert not at.exception
    assert not at.error
    before = described(at)
    assert "Left to right, trained with it" in before
    assert "About this model: Atlas BERT, attention masks" in " ".join(expander.label for expander in at.expander)
    assert "Measured quality" in shown(at)
    widget(at.text_input, "Second text").set_value("My sister reads a book in the garden.").run()
    assert not at.exception
    assert described(at) != before
    covered = opened("encoder-decoder", system="unilm", cover="yes")
    assert "Left to right, trained with it" not in described(covered)
