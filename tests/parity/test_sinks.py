"""Weights, norms of values and their products against sums made by hand of the library's own pass."""

from __future__ import annotations

import pytest
import torch

from core import checkpoints
from core.errors import NoAttentionMatrix
from core.interventions.sinks import sinks
from core.language.makers import inputs
from tests.library import library_model

TEXT = "The old man went to the market and bought a small dog."


def test_a_key_adds_weight_times_the_norm_of_its_projected_value() -> None:
    checkpoint = checkpoints.load("minilm")
    found = sinks(checkpoint, TEXT)
    library = library_model(checkpoint.model)
    layer, head, size = 3, 1, 32
    block = library.bert.encoder.layer[layer].attention
    values: list[torch.Tensor] = []
    hook = block.self.value.register_forward_hook(lambda _, __, out: values.append(out[0]))
    with torch.inference_mode():
        weights = library(**inputs(checkpoint, TEXT).tensors, output_attentions=True).attentions[layer][0, head]
    hook.remove()
    here = slice(head * size, (head + 1) * size)
    for key in (0, 5):
        vector = block.output.dense.weight[:, here] @ values[0][key, here]
        assert found.norms[layer, head, key] == pytest.approx(float(vector.norm()), rel=1e-4)
        assert found.weights[layer, head, key] == pytest.approx(float(weights[:, key].mean()), rel=1e-4)
        added = torch.stack([weight * vector for weight in weights[:, key]]).norm(dim=-1).mean()
        assert found.added[layer, head, key] == pytest.approx(float(added), rel=1e-4)
    assert found.weights.sum(-1) == pytest.approx(1, abs=1e-4)
    on_cls = found.weights[:, :, 0].mean(1)
    assert on_cls[1:5].min() > 0.5  # a sink
    assert (found.norms[1:5, :, 0].mean(1) < 0.12 * found.norms[1:5, :, 1:].mean((1, 2))).all()


def test_a_causal_mask_favors_the_first_token_without_any_sink() -> None:
    found = sinks(checkpoints.load("atlas-gpt-2"), TEXT)
    count = len(found.tokens)
    assert found.uniform[0] == pytest.approx(sum(1 / i for i in range(1, count + 1)) / count, rel=1e-5)
    assert found.weights[:, :, 0].mean() < 1.4 * found.uniform[0]


def test_models_without_projected_values_are_refused() -> None:
    with pytest.raises(NoAttentionMatrix, match="is not known here"):
        sinks(checkpoints.load("atlas-xlnet"), TEXT)


@pytest.mark.parametrize(("slug", "most"), [("minilm", 0.70), ("atlas-bigbird", 0.70), ("atlas-roberta", 0.44)])
def test_an_encoder_has_a_sink(slug: str, most: float) -> None:
    checkpoint = checkpoints.load(slug)
    found = sinks(checkpoint, checkpoint.spec.family.question_text)
    assert found.tokens[0] == "[CLS]"
    assert found.weights[:, :, 0].mean(1).max() == pytest.approx(most, abs=0.01)


@pytest.mark.parametrize("slug", ["atlas-gpt-2", "atlas-gpt-neo", "atlas-llama"])
def test_a_small_decoder_has_none(slug: str) -> None:
    checkpoint = checkpoints.load(slug)
    found = sinks(checkpoint, checkpoint.spec.family.question_text)
    assert (found.weights.mean(1) - found.uniform).max() < 0.11
