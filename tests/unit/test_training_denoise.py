"""Denoising: what the model reads and writes, its loss against the library's; what is shipped is what was learnt."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core.objectives.corruptions import CORRUPTIONS
from core.training import recipe as recipes
from core.training.documents import Documents
from core.training.objectives import build
from core.training.objectives.denoise import BEGIN, END, MASK, PAD, rows
from core.training.objectives.pairs import shifted, shown
from core.training.recipe import SourceFile
from core.training.tokens import Ragged
from core.training.train import Trainer
from tests import tinycorpus

SOURCES = (SourceFile("stories.txt", sentences=True), SourceFile("lines.txt", group=2))


def halves(d_model: int, **sizes: int) -> dict[str, int]:
    """An encoder and a decoder of these sizes."""
    return {"d_model": d_model} | {f"{half}_{k}": v for half in ("encoder", "decoder") for k, v in sizes.items()}


@pytest.fixture(scope="module")
def objective(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tinycorpus.write(tmp_path_factory.mktemp("corpus"))
    found = recipes.load("atlas-bart")
    model = found.model | halves(d_model=16, layers=1, attention_heads=2, ffn_dim=32)
    data = found.data | {"vocabulary": 320, "width": 48, "hold_out_every": 10}
    recipe = dataclasses.replace(
        found,
        sources=SOURCES,
        model=model,
        data=data,
        step_tokens=256,
        tokens=0,
        optimizer={"rate": 5e-3, "warmup": 0.1, "bfloat16": False},
    )
    return build(recipe, folder, folder / "states" / "bart" / "data")


def text() -> Documents:
    bounds = np.array([[0, 2, 2, 5], [2, 3, 3, 2]])
    return Documents(Ragged.of([[7, 8, 9], [10, 11], [12, 13]]), bounds, np.zeros(2, np.int64), np.array([0, 1]))


def test_a_turned_text_and_its_target_by_hand() -> None:
    made = rows(text(), np.array([0, 1]), [np.random.default_rng(0), np.random.default_rng(1)], 48, "permute")
    assert made["ids"].tolist() == [[BEGIN, 10, 11, 7, 8, 9, END], [BEGIN, 12, 13, END, PAD, PAD, PAD]]
    assert made["real"].tolist() == [[1] * 7, [1, 1, 1, 1, 0, 0, 0]]
    assert made["labels"].tolist() == [[7, 8, 9, 10, 11, END], [12, 13, END, -100, -100, -100]]
    assert made["given"].tolist() == [[END, 7, 8, 9, 10, 11], [END, 12, 13, END, PAD, PAD]]
    assert shown(made) == 11 + 9


def test_every_corruption_is_drawn_but_none_that_changes_nothing() -> None:
    seen = {}
    for seed in range(300):
        made = rows(text(), np.array([0]), [np.random.default_rng(seed)], 48)
        ids = tuple(made["ids"][0].tolist())
        seen[ids] = seen.get(ids, 0) + 1
    whole = (BEGIN, 7, 8, 9, 10, 11, END)
    assert whole not in seen
    permuted, turned = (BEGIN, 10, 11, 7, 8, 9, END), (BEGIN, 8, 9, 10, 11, 7, END)
    assert seen[permuted] > 40  # one text in five, and one rotation in four is the same
    assert turned in seen
    assert any(MASK in ids and len(ids) == 7 for ids in seen)
    assert any(MASK not in ids and len(ids) < 7 for ids in seen)
    assert any(MASK in ids and len(ids) < 7 for ids in seen)


def test_a_damaged_text_is_cut_to_the_positions() -> None:
    made = rows(text(), np.array([0]), [np.random.default_rng(0)], 5, "permute")
    assert made["ids"].tolist() == [[BEGIN, 10, 11, 7, END]]


def test_a_short_target_ends_in_what_is_ignored() -> None:
    made = shifted(Ragged.of([[5, 6]]), Ragged.of([[7]]), pad=0, start=9)
    assert {name: value.tolist() for name, value in made.items()} == {
        "ids": [[5, 6]],
        "real": [[1, 1]],
        "given": [[9]],
        "labels": [[7]],
    }


def test_it_learns_and_ships_what_it_learnt(objective: Any, tmp_path: Path) -> None:
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    batch = objective.batch(0)
    whole = objective.model.full(input_ids=batch["ids"], attention_mask=batch["real"], labels=batch["labels"])
    torch.testing.assert_close(objective.loss(batch), whole.loss, rtol=1e-4, atol=1e-4)  # it shifts by itself
    before = objective.measure()
    assert set(before) == {"loss", *(f"loss {kind}" for kind in CORRUPTIONS)}
    Trainer(objective.recipe, objective, tmp_path / "state", steps=60).run(quiet=True, measure_share=0.5)
    assert objective.measure()["loss"] < 0.95 * before["loss"]
    weights = objective.model.full.lm_head.weight.detach().clone()
    objective.export(tmp_path / "out")
    assert torch.equal(objective.model.full.lm_head.weight, weights)  # shipping rounds a copy
    loaded, report = AutoModelForSeq2SeqLM.from_pretrained(
        tmp_path / "out", output_loading_info=True, dtype=torch.float32
    )
    assert not report["missing_keys"]
    assert (objective.model.full.config.dropout, loaded.config.dropout) == (0.0, 0.1)
    given = {"input_ids": batch["ids"], "attention_mask": batch["real"], "decoder_input_ids": batch["given"]}
    with torch.no_grad():
        ours, theirs = objective.model.full.eval()(**given).logits, loaded.eval()(**given).logits
    torch.testing.assert_close(theirs, ours, atol=0.03, rtol=0.02)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    assert tokenizer("the cat")["input_ids"][0] == BEGIN
    assert (tokenizer.mask_token_id, tokenizer.pad_token_id, tokenizer.eos_token_id) == (MASK, PAD, END)
