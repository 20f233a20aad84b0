"""Two copies of an encoder joined: what learns, and what a file keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from core.checkpoints.bundled import apply, as_encoder_decoder
from core.errors import AtlasError
from lab import models
from lab.objectives.encoder import new_encoder as new_model
from lab.objectives.pairs import LEARNED, JoinedModel, JoinedObjective, join, shifted
from lab.tokens import Ragged


def test_a_stage_that_was_not_trained_is_named(tmp_path: Path) -> None:
    with pytest.raises(AtlasError, match="no-such-stage"):
        models.finished("no-such-stage", tmp_path, models.DIFFERENCE)


@pytest.fixture
def base() -> Any:
    torch.manual_seed(0)
    return new_model(
        {
            "type": "bert",
            "hidden_size": 16,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 32,
            "max_position_embeddings": 32,
        },
        60,
    ).eval()


def batch() -> dict[str, torch.Tensor]:
    inputs = Ragged.of([[2, 7, 8, 9, 3], [2, 10, 3]])
    outputs = Ragged.of([[11, 12, 3], [13, 3]])
    return shifted(inputs, outputs, pad=0, start=2)


def test_rows_are_shifted_and_padded() -> None:
    made = batch()
    assert made["ids"].tolist() == [[2, 7, 8, 9, 3], [2, 10, 3, 0, 0]]
    assert made["real"].tolist() == [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
    assert made["decoder_ids"].tolist() == [[2, 11, 12], [2, 13, 3]]
    assert made["labels"].tolist() == [[11, 12, 3], [13, 3, -100]]


def test_both_halves_are_the_base_and_their_layers_alone_learn(base: Any) -> None:
    model = JoinedModel(join(base))
    state, ours = base.state_dict(), model.full.state_dict()
    for name, value in as_encoder_decoder(state).items():
        if name in ours:
            assert torch.equal(ours[name], value), name
    learning = {name for name, p in model.full.named_parameters() if p.requires_grad}
    assert learning == {name for name, _ in model.full.named_parameters() if name.startswith(LEARNED)}
    assert any("crossattention" in name for name in learning)
    assert not [
        n for n in ours if n not in as_encoder_decoder(state) and "crossattention" not in n and "position_ids" not in n
    ]


def test_training_logits_are_the_librarys_and_causal(base: Any) -> None:
    model = JoinedModel(join(base)).eval()
    made = batch()
    targets = made["labels"] != -100
    with torch.no_grad():
        ours = model(made["ids"], made["real"], made["decoder_ids"], targets)
        theirs = model.full(
            input_ids=made["ids"], attention_mask=made["real"], decoder_input_ids=made["decoder_ids"]
        ).logits
        torch.testing.assert_close(ours, theirs[targets])
        changed = made["decoder_ids"].clone()
        changed[:, 2] = 40
        later = model.full(input_ids=made["ids"], attention_mask=made["real"], decoder_input_ids=changed).logits
    torch.testing.assert_close(later[:, :2], theirs[:, :2])


def test_base_and_difference_make_the_merged_model(base: Any, tmp_path: Any) -> None:
    from transformers import AutoModelForSeq2SeqLM, EncoderDecoderConfig

    from tests import tiny

    objective = JoinedObjective.__new__(JoinedObjective)
    objective.model = JoinedModel(join(base)).eval()
    objective.full_tokenizer = tiny.wordpiece_tokenizer()
    objective.export(tmp_path)
    state = apply(as_encoder_decoder(base.state_dict()), load_file(tmp_path / "difference.safetensors"))
    loaded = AutoModelForSeq2SeqLM.from_config(EncoderDecoderConfig.from_pretrained(tmp_path))
    report = loaded.load_state_dict(state, strict=False)
    assert not [name for name in report.missing_keys if "decoder.cls.predictions.decoder" not in name]
    loaded.tie_weights()
    made = batch()
    inputs = {"input_ids": made["ids"], "attention_mask": made["real"], "decoder_input_ids": made["decoder_ids"]}
    with torch.no_grad():
        torch.testing.assert_close(
            loaded.eval()(**inputs).logits, objective.model.full(**inputs).logits, atol=2e-3, rtol=2e-3
        )
