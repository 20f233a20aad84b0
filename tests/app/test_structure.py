"""ELMo, SpanBERT, StructBERT and UniLM: each system's page runs a model of its own objective."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core import checkpoints
from core.language import structure
from core.language.fill_mask import prepare
from core.vectors import precomputed
from tests.pages import described, opened, shown, widget


@pytest.mark.parametrize(
    ("page", "system", "label", "figures", "card"),
    [
        ("encoder", "elmo", "Sentence", ("From the left", "From the right", "Both language models"), "Atlas ELMo"),
        ("encoder", "spanbert", "Sentence", ("from the boundaries", "from its own state"), "Atlas BERT, spans"),
        ("encoder", "structbert", "Sentence", ("trained with it", "B comes before A"), "Atlas BERT, orders"),
        ("encoder-decoder", "unilm", "Second text", ("Left to right, trained with it",), "Atlas BERT, attention masks"),
    ],
)
def test_the_page_of_a_system_runs_its_objective(
    page: str, system: str, label: str, figures: tuple[str, ...], card: str
) -> None:
    at = opened(page, system=system)
    assert not at.error
    before = described(at)
    assert all(name in before for name in figures)
    assert f"About this model: {card}" in " ".join(expander.label for expander in at.expander)
    assert "Measured quality" in shown(at)
    assert "{{" not in shown(at)
    widget([*at.text_area, *at.text_input], label).set_value("My sister reads a book in the garden.").run()
    assert described(at) != before
    covered = opened(page, system=system, cover="yes")
    assert not any(name in described(covered) for name in figures)


def test_the_scalar_mix_opens_with_elmos_own_layers() -> None:
    at = opened("vectors", tab="mix")
    assert widget(at.selectbox, "Live model").value == "elmo"
    assert "Atlas ELMo" in shown(at)
    assert len(at.slider) >= 3
    weights = {task: mix.weights for task, mix in precomputed.learned_mixes("elmo").items()}
    assert weights["speech"].index(max(weights["speech"])) == 1
    assert weights["topic"].index(max(weights["topic"])) == 2
    other = opened("vectors", tab="mix", model="atlas-bert")
    assert "Choose Atlas ELMo" in shown(other)


def test_a_span_is_predicted_from_the_token_on_each_side() -> None:
    part = checkpoints.load("atlas-bert", "spans")
    masked = prepare(part, "My sister reads a long book in the garden.", (3, 4, 6))
    bert, head = part.model.bert, part.model.boundary
    with torch.inference_mode():
        states = bert(torch.tensor([masked.ids])).last_hidden_state[0]
        for found, (left, right, distance) in zip(
            structure.from_boundaries(part, masked, 1), [(2, 5, 1), (2, 5, 2), (5, 7, 1)], strict=True
        ):
            y = head.layers(torch.cat([states[left], states[right], head.distances.weight[distance - 1]]))
            chances = part.model.cls.predictions.decoder(y).softmax(-1)
            assert found.ids == (int(chances.argmax()),)
            assert found.probabilities[0] == pytest.approx(float(chances.max()), rel=1e-4)


@pytest.mark.parametrize(
    ("first", "second", "changes"),
    [
        ("The dog sees a bird.", "It runs to the garden.", {"both", "left", "seq2seq"}),
        ("The dog sees a cat.", "It runs to the house.", {"both"}),
        ("The dog sees a cat.", "He runs to the garden.", {"both", "left", "seq2seq"}),
        ("The dog sees a cat.", "It runs on the garden.", set()),
    ],
)
def test_a_masked_word_depends_on_what_its_attention_mask_shows(first: str, second: str, changes: set[str]) -> None:
    part = checkpoints.load("atlas-bert", "unified")
    before = structure.under_masks(part, "The dog sees a cat.", "It runs to the garden.", 2, 1)
    after = structure.under_masks(part, first, second, 2, 1)
    assert {k for k in before if before[k].probabilities != pytest.approx(after[k].probabilities, rel=1e-3)} == changes
    assert len({one.probabilities for one in before.values()}) == len(structure.KINDS)


def test_shuffled_tokens_are_put_right_by_their_probabilities_at_their_places() -> None:
    part = checkpoints.load("atlas-bert", "orders")
    tokens = prepare(part, "My sister reads a long book.").tokens
    found = structure.put_right(part, tokens, 2, 0)
    pieces = [token.piece for token in tokens[2:5]]
    assert sorted(found.read.split()) == sorted(pieces)
    assert found.read.split() != pieces
    assert found.tokens[found.right].split() == pieces
    assert len({*found.tokens}) == 6
    assert sum(found.probabilities) == pytest.approx(1)
    ids = [token.id for token in tokens]
    known = dict(zip(pieces, ids[2:5], strict=True))
    ids[2:5] = [known[piece] for piece in found.read.split()]
    with torch.inference_mode():
        logs = part.model(torch.tensor([ids])).prediction_logits[0, 2:5].log_softmax(-1)
    first, last = (sum(float(logs[at, known[p]]) for at, p in enumerate(order.split())) for order in found.tokens[::5])
    assert first - last == pytest.approx(float(np.log(found.probabilities[0] / found.probabilities[5])), abs=1e-3)


def test_two_texts_are_read_as_two_segments() -> None:
    part = checkpoints.load("atlas-bert", "orders")
    texts = "The king had three sons.", "The youngest of them went into the forest."
    given = part.tokenizer(*texts, return_tensors="pt")
    with torch.inference_mode():
        expected = part.model(**given).seq_relationship_logits[0].softmax(-1).tolist()
    assert structure.three_orders(part, *texts) == pytest.approx(expected, abs=1e-5)
    assert structure.three_orders(part, *texts[::-1]) != pytest.approx(expected, abs=1e-3)
