"""BERT2BERT's page draws its learning curves beside those from random weights."""

from __future__ import annotations

from tests.pages import described, opened, shown


def test_a_warm_start_is_drawn_beside_random_weights() -> None:
    at = opened("encoder-decoder", system="bert2bert")
    said = described(at)
    for measure in ("Loss on held-out fusions", "Correct connectives on held-out fusions"):
        drawn = said[said.index(measure) :]
        for name in ("warm start from", "warm start, embeddings kept from", "random weights from"):
            assert name in drawn
    assert said.count("most frequent connective from") == 1
    assert "66.2% from random weights, 61.1%" in shown(at)
    assert "Loss on held-out fusions" not in described(opened("encoder-decoder", model="atlas-t5"))
