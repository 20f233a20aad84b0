"""Answers in passages: the facts, the baselines, valid spans, the loss, and a stored run that beats the baselines."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core import checkpoints
from core.finetuning import record, spans
from core.finetuning.examples import Example, LabeledSet
from core.finetuning.setup import Setup, baselines
from core.finetuning.train import Learner, fine_tune, span_loss

ASKED = Example("", "Where is Oslo?", "Two kings met. Oslo is in the far North. He saw Big Red Dogs.", answer=(34, 39))


def test_the_facts_share_no_passage_and_each_has_all_questions() -> None:
    data = spans.facts()
    passages = [[example.second for example in half] for half in (data.train, data.held_out)]
    assert set(passages[0]).isdisjoint(passages[1])
    for half in passages:
        assert {half.count(passage) for passage in half} == {4}
    for example in (*data.train, *data.held_out):
        assert spans.truth(example)[0].isalpha()


def test_the_baselines_by_hand() -> None:
    assert spans.truth(ASKED) == "North"
    assert spans.capitalized(ASKED) == "Two"
    assert spans.overlap(ASKED) == "North"
    exact, f1 = spans.random_span(Example("", "", "a b", answer=(0, 1)))
    assert exact == pytest.approx(1 / 3), "a, a b, b"
    assert f1 == pytest.approx((1 + 2 / 3) / 3)
    assert spans.exact_and_f1(["the North", "North"], [ASKED, ASKED]) == pytest.approx((0.5, (2 / 3 + 1) / 2))
    assert spans.f1("", "North") == 0


def test_the_best_span_is_valid() -> None:
    start, end = [0.1, 0.1, 0.8], [0.7, 0.1, 0.2]
    assert spans.best_span(np.array([start, end]).T) == (2, 2), "0 as an end comes before 2 as a start"
    far = np.full((spans.LONGEST + 2, 2), 0.01)
    far[0, 0] = far[-1, 1] = 0.9
    first, last = spans.best_span(far)
    assert last - first < spans.LONGEST


def test_the_loss_is_over_each_passage_alone() -> None:
    scores, goals = torch.zeros(5, 2), [torch.tensor([[0, 1]]), torch.tensor([[2, 2]])]
    assert float(span_loss(scores, goals, [2, 3])) == pytest.approx((np.log(2) + np.log(3)) / 2)


@pytest.mark.parametrize("slug", ["atlas-bert", "atlas-gpt-2", "minilm"])
def test_answers_are_found_again_among_the_tokens(slug: str) -> None:
    examples = spans.facts().held_out
    for example, passage in zip(examples, spans.tokenized(checkpoints.load(slug), examples), strict=True):
        assert example.answer
        assert passage.text(example.second, passage.span(example.answer)) == spans.truth(example)


def test_a_run_learns_its_passages() -> None:
    data = LabeledSet(spans.facts().train[:8], spans.facts().train[:8])
    checkpoint = checkpoints.load("atlas-bert")
    reads = Learner(checkpoint, 2, Setup()).encode(data.train)["reads"]
    assert reads.sum(1).tolist() == [len(passage.at) for passage in spans.tokenized(checkpoint, data.train)]
    first, *_, last = fine_tune(checkpoint, data, Setup(epochs=12, rate=1e-3))
    assert first.loss == pytest.approx(float(reads.sum(1).log().mean()))
    assert last.loss < 0.5 * first.loss
    assert last.accuracy > first.accuracy


def test_the_stored_run_beats_the_baselines() -> None:
    data = spans.facts()
    setup = spans.setup("all", checkpoints.get("atlas-bert"))
    runs = {"chosen": setup, **baselines(setup)}
    exact = {name: record.stored("atlas-bert", spans.NAME, run)[-1].accuracy for name, run in runs.items()}
    assert exact["chosen"] > max(exact["head"], exact["random"], spans.floor(data)) + 0.1, exact
