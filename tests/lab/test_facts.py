"""Facts far from their questions: the texts, the patterns, and whether the stored runs are complete."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from core.studies import results
from core.table import measured
from lab import facts
from tests import tinycorpus


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> facts.Words:
    folder: Path = tmp_path_factory.mktemp("corpus")
    tinycorpus.write(folder, books=60)
    return facts.Words(folder, held_out=False)


def test_each_question_has_its_fact_in_the_text(words: facts.Words) -> None:
    ids, answers, where = words.texts(6, 128, np.random.default_rng(1))
    text = ids.numpy()
    assert text.shape == (6, 128)
    for row in range(6):
        for number, at in enumerate(facts.ASKED):
            place = where[row, number]
            assert text[row, at] == words.mask
            assert text[row, place] == answers[row, number]
            assert text[row, place - 3] == text[row, at - 3]
            assert (text[row, place - 2 : place]).tolist() == (text[row, at - 2 : at]).tolist()
        assert len(set(answers[row])) == len(set(where[row])) == facts.FACTS


def test_a_window_ends_and_global_questions_reach_every_token() -> None:
    asked = int(facts.ASKED[-1])
    reach = {pattern: facts.allowed(pattern, 256)[asked] for pattern in facts.TRAINED}
    assert reach["full"].all()
    assert reach["bigbird"].all()
    assert reach["longformer"].all()
    assert reach["window"].nonzero().flatten().tolist() == list(range(asked + facts.SIDE + 1))
    inside = facts.allowed("longformer", 256)[128]
    assert int(inside.sum()) == 2 * facts.SIDE + 1 + 2 + 5 * facts.FACTS


def test_a_model_reads_what_its_pattern_reaches_and_is_a_function_of_the_seed(words: facts.Words) -> None:
    first, again = (facts.trained(words, "window", 3, steps=2) for _ in range(2))
    assert torch.equal(first.embeddings.weight, again.embeddings.weight)
    ids, _, _ = words.texts(1, 256, np.random.default_rng(2))
    beyond = ids.clone()
    beyond[:, int(facts.ASKED[-1]) + 2 * facts.SIDE + 1 :] = words.stop
    with torch.no_grad():
        torch.testing.assert_close(first(ids, "window"), first(beyond, "window"))
        assert not torch.allclose(first(ids, "bigbird"), first(beyond, "bigbird"), atol=1e-3)


def test_accuracy_by_distance_by_hand() -> None:
    right, apart = np.array([True, False, True]), np.array([32, 30, 700])
    assert list(facts.binned(right, apart)) == [(32, 0.5, 2), (768, 1.0, 1)]


def test_the_stored_runs_are_complete() -> None:
    rows = measured(results("facts"), facts.DistanceResult)
    seeds = {row.seed for row in rows}
    runs = {(row.pattern, row.distance, row.seed) for row in rows if row.pattern != "nearest"}
    assert runs == {(name, end, seed) for name in facts.TRAINED for end in facts.EDGES for seed in seeds}
    assert len(rows) == len(runs) + len(facts.EDGES)
