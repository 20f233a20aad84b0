"""Reading a head after each layer: the last reading is the model's own answer, the others those of shorter models."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
import transformers

from core.attention.inside.lens import guesses_by_layer
from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.errors import InputUnusable
from core.language.fill_mask import predict, prepare
from tests import tiny

SIZES = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 32}
SPEC = CheckpointSpec("tiny", "Tiny", None, "encoder", "masked-lm", "directory", "a test", "-", True)
TEXT = "The cat [MASK] on the mat."


def checkpoint(kind: str, layers: int = 3) -> Checkpoint:
    tokenizer = tiny.wordpiece_tokenizer()
    more: dict[str, Any] = {"embedding_size": 8} if kind == "albert" else {}
    config = transformers.AutoConfig.for_model(
        kind,
        vocab_size=len(tokenizer),
        max_position_embeddings=64,
        initializer_range=0.5,
        **(SIZES | more | {"num_hidden_layers": layers}),
    )
    torch.manual_seed(0)
    return Checkpoint(transformers.AutoModelForMaskedLM.from_config(config).eval(), tokenizer, SPEC)


@pytest.mark.parametrize("kind", ["bert", "albert"])
def test_each_reading_is_the_answer_of_a_model_cut_off_there(kind: str) -> None:
    whole = checkpoint(kind)
    masked = prepare(whole, TEXT)
    found = guesses_by_layer(whole, masked, k=4)
    assert [guess.layer for guess in found] == [0, 1, 2, 3]
    for layers in (1, 2, 3):
        if kind == "albert":
            shorter = Checkpoint(checkpoint(kind, layers).model, whole.tokenizer, SPEC)  # one layer, used less often
            shorter.model.load_state_dict(whole.model.state_dict())
        else:
            shorter = Checkpoint(copy.deepcopy(whole.model), whole.tokenizer, SPEC)
            shorter.model.bert.encoder.layer = shorter.model.bert.encoder.layer[:layers]
        expected = predict(shorter, masked, 4)[0]
        assert found[layers].tokens == expected.tokens
        assert found[layers].probabilities == pytest.approx(expected.probabilities, rel=1e-4)


def test_without_a_mask_there_is_nothing_to_read() -> None:
    tiny_bert = checkpoint("bert")
    with pytest.raises(InputUnusable, match=r"\[MASK\]"):
        guesses_by_layer(tiny_bert, prepare(tiny_bert, "The cat sat."))
