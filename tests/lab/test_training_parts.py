"""The part for pairs of a finished encoder: what is learned, shipped and loaded, and the rule beside it."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from core.checkpoints import loading
from core.checkpoints.spec import CheckpointSpec
from core.language.pairs import pair_scores
from lab import ngrams
from lab.documents import Documents, Pairs
from lab.evaluate_pairs import shared_words, words_before
from lab.tokens import Ragged
from tests import tinyrecipes

World = tuple[Path, Path]


def test_a_part_for_pairs_is_its_checkpoint_with_updates(
    tiny_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objective = tinyrecipes.objective("atlas-bert-pairs", *tiny_world)
    before = {name: value.clone() for name, value in objective.model.full.state_dict().items()}
    tinyrecipes.shaken(objective.model)
    changed = {n for n, value in objective.model.full.state_dict().items() if not torch.equal(value, before[n])}
    assert changed
    assert not [name for name in changed if "predictions" in name or "embeddings" in name]
    folder = tmp_path / "atlas-bert"
    shutil.copytree(tiny_world[1] / "atlas-bert" / "out", folder)
    objective.export(folder / "pairs")
    monkeypatch.setattr(loading, "bundled_root", lambda: tmp_path)
    spec = CheckpointSpec(
        *("atlas-bert:pairs", "x", "bert", "encoder", "masked-lm", "bundled", "-", str(folder), True),
        architecture="bert",
        parts=("pairs",),
    )
    assert [file.parent.name for file in loading.weight_files(spec)[0]] == ["pairs"]
    part, batch = loading.read_checkpoint(spec), objective.batch(0)
    with torch.no_grad():
        expected = objective.model.eval()(batch["ids"], batch["types"], batch["real"])
    logits = pair_scores(part, batch["ids"], batch["types"], batch["real"])
    torch.testing.assert_close(logits, expected, atol=0.01, rtol=0.01)
    assert not (batch["ids"] == objective.train.words.mask).any()  # pairs are read unmasked


def test_segment_embeddings_may_be_trained_and_are_shipped(tiny_world: World) -> None:
    model = tinyrecipes.objective("atlas-albert-pairs", *tiny_world).model
    names = {*model.difference()}
    assert "albert.embeddings.token_type_embeddings.weight" in names
    assert not [name for name in names if "word_embeddings" in name or "predictions" in name]
    bert = tinyrecipes.objective("atlas-bert-pairs", *tiny_world).model
    assert not [name for name in bert.difference() if "embeddings" in name]


def test_the_baseline_of_order_learns_which_words_come_first() -> None:
    train = [([5, 6], [7, 8], 0), ([7, 8], [5, 6], 1)] * 20
    assert words_before(train, [([5, 9], [7, 3], 0), ([7, 3], [5, 9], 1)]) == 100.0
    assert words_before(train, [([7, 3], [5, 9], 0)]) == 0.0


def test_the_baseline_of_three_orders_reads_common_words_too() -> None:
    train = [([5, 6], [5, 7], 0), ([5, 7], [5, 6], 1), ([5, 6], [8, 7], 2)] * 30
    assert words_before(train, [([5, 6], [5, 7], 0), ([5, 7], [5, 6], 1), ([5, 6], [8, 7], 2)], shared=True) == 100.0


def test_the_other_text_may_be_of_another_source(tiny_world: World) -> None:
    objective = tinyrecipes.objective("atlas-bert-pairs", *tiny_world)
    text = objective.train.text
    pools = [Pairs(text, "next", anywhere=anywhere)._of_source for anywhere in (False, True)]
    for source in pools[0]:
        assert set(text.source[pools[0][source]]) <= {source}
        assert len(pools[1][source]) == sum(len(pool) for pool in pools[0].values())


def test_the_topic_baseline_by_hand() -> None:
    rows = [([5, 6], [5, 7], 0), ([8, 9], [3, 4], 1)]
    assert shared_words(rows) == 100.0
    assert shared_words([(a, b, 1 - label) for a, b, label in rows]) == 0.0
    assert np.isfinite(shared_words([([2], [2], 0), ([2], [3], 1)]))


@pytest.mark.parametrize(("name", "part"), [(f"atlas-bert-{part}", part) for part in ("spans", "unified", "orders")])
def test_a_part_of_structure_is_shipped_as_its_model(
    name: str, part: str, tiny_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objective = tinyrecipes.objective(name, *tiny_world)
    tinyrecipes.shaken(objective.model)
    folder = tmp_path / "atlas-bert"
    shutil.copytree(tiny_world[1] / "atlas-bert" / "out", folder)
    objective.export(folder / part)
    monkeypatch.setattr(loading, "bundled_root", lambda: tmp_path)
    where = ("bert", "encoder", "masked-lm", "bundled", "-", str(folder), True)
    loaded = loading.read_checkpoint(CheckpointSpec(f"atlas-bert:{part}", "x", *where, architecture="bert"))
    batch = objective.batch(0)
    with torch.no_grad():
        scores = objective.scores(batch, loaded.model)
        torch.testing.assert_close(scores, objective.scores(batch), atol=0.05, rtol=0.03)
        if part == "spans":
            heads = (objective.model.full.boundary, loaded.model.boundary)
            states = torch.randn(1, 5, heads[0].distances.embedding_dim)
            ours, theirs = (head(states, *torch.tensor([[0], [1], [3], [1]])) for head in heads)
            torch.testing.assert_close(ours, theirs, atol=0.02, rtol=0.02)
    measures = {measure.name: measure.value for measure in objective.measures()}
    assert measures
    assert all(np.isfinite(value) for value in measures.values())


def test_the_mask_of_a_row_is_that_of_its_example(tiny_world: World) -> None:
    objective = tinyrecipes.objective("atlas-bert-unified", *tiny_world)
    objective.kind = "left"
    rng = np.random.default_rng(0)
    example = objective.example([objective.names[i] for i in objective.train.chunk(0)], rng)
    batch = objective.rows([example], 64)
    allowed = batch["mask"][0, 0] == 0
    count = len(example.source)
    assert allowed[:count, :count].tolist() == np.tri(count, dtype=bool).tolist()
    assert not allowed[:, count:].any()
    assert batch["ids"][0, count:].eq(objective.words.pad).all()


def test_bigrams_by_hand() -> None:
    """Two texts, 5 6 and 5 7, between 2 and 3."""
    chunks = np.array([[0, 1, 1, 2, 0, 0], [1, 2, 2, 2, 0, 1]])
    left, right = ngrams.of_chunks(Documents(Ragged.of([[5, 6], [5, 7]]), chunks), 2, 3, 8)
    assert left.total.tolist() == [0, 0, 2, 0, 0, 2, 1, 1]
    unigram = (1 + 1) / (6 + 8)  # of 6 pairs' second tokens one is a 6
    assert np.exp(left.log(np.array([5]), np.array([6])))[0] == pytest.approx(0.25 / 2 + 0.75 * 2 / 2 * unigram)
    assert np.exp(right.log(np.array([6]), np.array([5])))[0] == pytest.approx(0.25 + 0.75 * 3 / 14)
    every = np.arange(8)
    for model in (left, right):
        assert np.exp(model.log(np.full(8, 5), every)).sum() == pytest.approx(1)


def test_a_connective_is_measured_in_what_the_model_writes(tiny_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    objective = tinyrecipes.objective("atlas-bert2bert", *tiny_world)
    written = [torch.from_numpy(objective.held[1].rows(np.array([i]), 64, 0)) for i in range(len(objective.held[1]))]
    rows_by_ids = {
        tuple(objective.held[0].rows(np.array([i]), 64, 0)[0].tolist()): row for i, row in enumerate(written)
    }

    def generate(input_ids: torch.Tensor, **_: object) -> torch.Tensor:
        padded = torch.nn.functional.pad(input_ids, (0, 64 - input_ids.shape[1]))
        return torch.cat([rows_by_ids[tuple(row.tolist())] for row in padded])

    monkeypatch.setattr(objective.model.full, "generate", generate)
    with torch.no_grad():
        measures = objective.measure()
        monkeypatch.setattr(objective.model.full, "generate", lambda input_ids, **_: input_ids)
        assert objective.measure()["connective"] == 0.0
    assert measures["connective"] == 100.0
    assert 100 / 9 <= measures["connective, the most frequent one always"] < 100


def test_the_baseline_of_a_warm_start_is_random_and_learns_everything(tiny_world: World) -> None:
    warm, full, random = (
        tinyrecipes.objective(f"atlas-bert2bert{name}", *tiny_world).model for name in ("", "-whole", "-random")
    )
    assert all(value.requires_grad for model in (full, random) for value in model.parameters())
    assert not any(value.requires_grad for value in warm.full.encoder.embeddings.parameters())
    same = "encoder.embeddings.word_embeddings.weight"
    assert not torch.equal(random.full.state_dict()[same], warm.full.state_dict()[same])
    assert torch.equal(full.full.state_dict()[same], warm.full.state_dict()[same])
    assert warm.full.state_dict().keys() == random.full.state_dict().keys()
