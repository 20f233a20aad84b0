"""XLM: rows of one and of two sentences by hand, what is shipped, and predictions with a translation and without."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.errors import InputUnusable, OutOfRange
from core.language import bilingual
from core.training import evaluate_encoders
from core.training.objectives.bilingual import END, MASK, PAD, TASKS, Sides, rows
from core.training.tokens import Ragged
from tests import tinypairs, tinyrecipes

ENGLISH = "The cat saw two dogs."
FRENCH = tinypairs.translated(ENGLISH, "é")


@pytest.fixture(scope="module")
def folder(tiny_world: tuple[Path, Path]) -> Path:
    return tiny_world[0]


@pytest.fixture(scope="module")
def objective(tiny_world: tuple[Path, Path]) -> Any:
    return tinyrecipes.objective("atlas-xlm", *tiny_world)


@pytest.fixture(scope="module")
def shipped(objective: Any, tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """The exported folder as transformers loads it, with all its weights."""
    spec = CheckpointSpec("x", "X", "xlm", "encoder", "masked-lm", "bundled", "-", "-", True, max_positions=64)
    made = tinypairs.shipped(objective, tmp_path_factory.mktemp("shipped"), "AutoModelForMaskedLM", spec)
    assert type(made.model).__name__ == "XLMWithLMHeadModel"
    return made


def test_rows_by_hand() -> None:
    text = Sides((Ragged.of([[7, 8], [9]]), Ragged.of([[5, 6, 7], [8]])))
    none = np.arange(11) < 10  # nothing that stands there may be hidden, so that the layout shows
    draws = [np.random.default_rng(n) for n in range(2)]
    made = rows(text, [(TASKS["tlm"], 0), (TASKS["mlm-fr"], 1)], none, draws)
    p, e = PAD, END
    assert made["ids"].tolist() == [
        [e, 7, 8, e, e, 5, 6, 7, e, p, p, p, p, p, p, p],
        [e, 8, e, p, p, p, p, p, p, p, p, p, p, p, p, p],
    ]
    assert made["langs"].tolist() == [[0] * 4 + [1] * 5 + [0] * 7, [1] * 3 + [0] * 13]
    assert made["positions"].tolist() == [[0, 1, 2, 3, 0, 1, 2, 3, 4, *[0] * 7], [0, 1, 2, *[0] * 13]]
    assert made["real"].sum(1).tolist() == [9, 3]
    assert not made["chosen"].any()
    assert text.lengths(TASKS["tlm"]).tolist() == [16, 8]
    assert text.lengths(TASKS["mlm-en"]).tolist() == [8, 8]


def test_pair_and_token_logits_are_the_librarys(shipped: Checkpoint) -> None:
    tokenizer: Any = shipped.tokenizer
    assert shipped.model.config.lang2id == {"en": 0, "fr": 1}
    one, other = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (ENGLISH, FRENCH))
    place = len(one) + 3  # the first token of the second sentence, after three ends
    joined = bilingual.prepare(shipped, ENGLISH, FRENCH, [2, place])
    assert joined.second == len(one) + 2
    assert [t.id for t in joined.tokens] == [END, *one, END, END, *other, END]
    assert joined.row.langs == (0,) * (len(one) + 2) + (1,) * (len(other) + 2)
    assert joined.row.positions == (*range(len(one) + 2), *range(len(other) + 2))
    assert {2, place} <= set(joined.masked)
    assert [joined.row.ids[i] for i in joined.masked] == [MASK] * len(joined.masked)
    with torch.no_grad():
        ids, langs, places = (torch.tensor([part]) for part in dataclasses.astuple(joined.row))
        both = shipped.model(input_ids=ids, langs=langs, position_ids=places).logits[0]
        alone = shipped.model(input_ids=ids[:, joined.second :], langs=langs[:, joined.second :]).logits[0]
    found = bilingual.predict(shipped, joined, 3)
    assert [g.position for g in found] == list(joined.masked)
    first, last = found[0], found[-1]
    assert first.with_translation.ids == tuple(both[first.position].topk(3).indices.tolist())
    assert last.alone.ids == tuple(alone[last.position - joined.second].topk(3).indices.tolist())
    assert last.alone.probabilities == pytest.approx(
        alone[last.position - joined.second].softmax(-1).topk(3).values.tolist(), rel=1e-4
    )


def test_whole_words_are_masked_and_errors_are_sentences(shipped: Checkpoint) -> None:
    typed = bilingual.prepare(shipped, "The [MASK] sat.", FRENCH)
    assert len(typed.masked) == 1
    with pytest.raises(InputUnusable, match="No word is masked"):
        bilingual.predict(shipped, bilingual.prepare(shipped, ENGLISH, FRENCH))
    with pytest.raises(OutOfRange):
        bilingual.prepare(shipped, ENGLISH, FRENCH, [99])
    assert bilingual.prepare(shipped, ENGLISH, FRENCH, [0]).masked == ()
    dumb = Checkpoint(shipped.model, shipped.tokenizer, shipped.spec)
    shipped.model.config.use_lang_emb = False
    try:
        with pytest.raises(InputUnusable, match="no language embeddings for English and French"):
            bilingual.prepare(dumb, ENGLISH, FRENCH)
    finally:
        shipped.model.config.use_lang_emb = True


def test_recovered_words_by_hand(shipped: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that knows every word of a row with a translation and none of a row alone."""
    tokenizer: Any = shipped.tokenizer

    def scores(_: Any, row: bilingual.Row, places: list[int]) -> torch.Tensor:
        one, other = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (ENGLISH, FRENCH))
        whole = [END, *one, END, END, *other, END]
        assert all(row.ids[place] == MASK for place in places)
        out = torch.zeros(len(places), len(tokenizer))
        for number, place in enumerate(places):
            out[number, whole[place] if len(row.ids) == len(whole) else PAD] = 1.0
            out[number, :5] += torch.tensor([0.5, 0.5, 0.5, 0.5, 0.5])  # five others that are no words
        return out

    monkeypatch.setattr(evaluate_encoders, "scores", scores)
    found = evaluate_encoders.bilingual_accuracy(shipped, [(ENGLISH, FRENCH)])
    for name in ("English with French", "French with English"):
        assert found[f"{name} top-1"] == found[f"{name} top-5"] == 100.0
    for name in ("English alone", "French alone"):
        assert found[f"{name} top-1"] == found[f"{name} top-5"] == 0.0
