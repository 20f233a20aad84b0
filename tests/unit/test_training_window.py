"""Longformer grown from RoBERTa: how it begins, what learns, what is shipped, and which text it sees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file

from core.checkpoints.bundled import apply, long_names
from core.training.objectives.encoder import new_encoder as new_model
from core.training.objectives.long import LongModel, grown, stretches, tiled
from core.training.tokens import Ragged
from tests import tinyrecipes


def short_model(vocabulary: int = 60, layers: int = 2) -> Any:
    torch.manual_seed(0)
    return new_model(
        {
            "type": "roberta",
            "hidden_size": 16,
            "num_hidden_layers": layers,
            "num_attention_heads": 2,
            "intermediate_size": 32,
            "max_position_embeddings": 17,
            "type_vocab_size": 1,
        },
        vocabulary,
    ).eval()


def test_positions_are_copied_behind_the_paddings_rows() -> None:
    table = torch.tensor([[0.0], [1.0], [2.0], [3.0]])
    assert tiled(table, 1, 7).flatten().tolist() == [0, 1, 2, 3, 1, 2, 3, 1]


def test_within_the_window_it_begins_as_its_base() -> None:
    short = short_model()
    long = grown(short, 64, 32).eval()
    ids = torch.randint(5, 60, (2, 12))
    with torch.no_grad():
        expected = short(input_ids=ids).logits
        # the first token's own projections begin as copies, so that it sees what it saw
        found = LongModel(long, 4)(ids, torch.ones_like(ids, dtype=torch.bool))
    torch.testing.assert_close(found, expected.flatten(0, 1), atol=1e-5, rtol=1e-4)
    own = long.longformer.encoder.layer[1].attention.self
    assert torch.equal(own.key_global.weight, short.roberta.encoder.layer[1].attention.self.key.weight)


def test_what_learns_is_all_that_is_shipped() -> None:
    model = LongModel(grown(short_model(), 64, 8), 4)
    learning = {name for name, value in model.full.named_parameters() if value.requires_grad}
    assert not [name for name in learning if "word_embeddings" in name or "original" in name]
    assert sum("lora_A" in name for name in learning) == 2 * 6
    assert sum("_global.weight" in name for name in learning) == 2 * 3
    shipped = model.difference()
    assert len(shipped) == len(learning)
    assert "longformer.embeddings.position_embeddings.weight.rows.0" in shipped


def test_base_and_difference_make_it(tiny_world: tuple[Path, Path], tmp_path: Path) -> None:
    from transformers import LongformerConfig, LongformerForMaskedLM

    objective = tinyrecipes.objective("atlas-longformer", *tiny_world)
    tinyrecipes.shaken(objective.model)
    objective.export(tmp_path / "out")
    base = load_file(tiny_world[1] / "atlas-roberta" / "out" / "model.safetensors")
    state = apply(long_names(base), load_file(tmp_path / "out" / "difference.safetensors"))
    loaded = LongformerForMaskedLM(LongformerConfig.from_pretrained(tmp_path / "out")).eval()
    report = loaded.load_state_dict(state, strict=False)
    loaded.tie_weights()
    assert not report.unexpected_keys
    assert set(report.missing_keys) <= {"lm_head.decoder.weight", "lm_head.decoder.bias"}
    batch = objective.batch(0)
    mask = torch.zeros_like(batch["ids"])
    mask[:, 0] = 1
    with torch.no_grad():
        theirs = loaded(
            input_ids=batch["ids"], attention_mask=torch.ones_like(mask), global_attention_mask=mask
        ).logits[batch["chosen"]]
        ours = objective.model.eval()(batch["ids"], batch["chosen"])
    torch.testing.assert_close(ours, theirs, atol=0.03, rtol=0.02)  # float16


def test_stretches_stay_within_a_book() -> None:
    books = Ragged.of([[1, 2, 3, 4], [10, 11], [20, 21, 22]])
    seen = {tuple(row) for row in stretches(books, 3, 400, np.random.default_rng(0)).tolist()}
    assert seen == {(1, 2, 3), (2, 3, 4), (20, 21, 22)}
