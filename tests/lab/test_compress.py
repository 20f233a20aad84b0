"""Compressed models and growing caches: bytes and times by hand, and what is measured again."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from core import checkpoints
from core.attention.ablation.ablate import ablate_heads, heads_of
from core.checkpoints.spec import Checkpoint
from core.content import content
from core.errors import OutOfRange
from core.studies import results
from core.table import measured
from lab import compress, evaluate, heldout
from lab.compress import BITS, Compressed, Compression, recipes

STORED: dict[str, dict[Compression, Compressed]] = {}
for point in measured(results("compression"), Compressed):
    STORED.setdefault(point.model, {})[point.recipe] = point
TEXT = "The old king lived in a [MASK] by the sea."


@pytest.fixture(scope="module")
def bert() -> Checkpoint:
    return checkpoints.load("atlas-bert")


def matrices(model: Any) -> dict[str, torch.Tensor]:
    return {name: value for name, value in model.named_parameters() if value.dim() == 2}


def test_pruning_sets_the_smallest_weights_of_all_layers_to_zero(bert: Checkpoint) -> None:
    before = {name: value.clone() for name, value in bert.model.named_parameters()}
    pruned = matrices(compress.compress(bert, Compression(pruned=70)))
    inside = [name for name in pruned if ".layer." in name]
    left = torch.cat([pruned[name][pruned[name] != 0].abs() for name in inside])
    gone = torch.cat([before[name][pruned[name] == 0].abs() for name in inside])
    assert len(gone) / (len(gone) + len(left)) == pytest.approx(0.7, abs=1e-3)
    assert float(gone.max()) <= float(left.min())
    for name in pruned.keys() - set(inside):
        assert torch.equal(pruned[name], before[name]), name
    assert all(torch.equal(value, before[name]) for name, value in bert.model.named_parameters()), "a copy is pruned"


@pytest.mark.parametrize(("bits", "columns"), [(4, 32), (8, None)])
def test_rounded_weights_are_multiples_of_a_scale(bert: Checkpoint, bits: int, columns: int | None) -> None:
    model: Any = bert.model
    weight = model.bert.encoder.layer[0].intermediate.dense.weight.detach()
    copied = torch.nn.ParameterList([torch.nn.Parameter(weight.clone())])
    compress.round_weights(copied, bits)
    rows, rounded = (value.reshape(-1, columns or weight.shape[1]) for value in (weight, copied[0].detach()))
    highest = 2 ** (bits - 1) - 1
    scale = rows.abs().amax(1, keepdim=True) / highest
    assert torch.allclose(rounded / scale, (rounded / scale).round(), atol=1e-3)
    assert float(((rounded - rows).abs() / scale).max()) <= 0.5 + 1e-4


def test_bytes_by_hand(bert: Checkpoint) -> None:
    model: Any = bert.model
    parameters = list(model.parameters())
    inside = {id(value) for value in model.bert.encoder.layer.parameters()}

    def stored(recipe: Compression) -> int:
        return compress.stored_bytes(bert, recipe)

    assert stored(Compression()) == 4 * sum(value.numel() for value in parameters)
    assert stored(Compression(bits=16)) == 2 * sum(value.numel() for value in parameters)
    expected = 0.0
    for value in parameters:
        if value.dim() != 2:
            expected += 2 * value.numel()
        elif id(value) in inside:  # half of the bytes, a bit for each weight, a scale of two bytes for each row
            expected += value.numel() / 2 + value.numel() / 8 + 2 * len(value)
        else:
            expected += value.numel() + 2 * len(value)
    assert stored(Compression(pruned=50, bits=8)) == round(expected)
    layer = sum(value.numel() for value in model.bert.encoder.layer[0].parameters())
    assert stored(Compression(layers=2)) == stored(Compression()) - 2 * 4 * layer
    assert stored(Compression(heads=25)) == stored(Compression()) - 4 * 6 * 4 * 192 * 32, (
        "6 of 24 heads, four matrices each"
    )


def test_bytes_of_a_combination_by_hand(bert: Checkpoint) -> None:
    model: Any = bert.model
    layer = list(model.bert.encoder.layer[0].parameters())
    inside = {id(value) for value in model.bert.encoder.layer.parameters()}
    expected = 0.0
    for value in [value for value in model.parameters() if id(value) not in inside] + 3 * layer:
        if value.dim() != 2:
            expected += 2 * value.numel()
        elif any(value is entry for entry in layer):
            expected += value.numel() * (0.7 + 1 / 8) + 2 * len(value)
        else:
            expected += value.numel() + 2 * len(value)
    expected -= 9 * (4 * 192 * 32 * (0.7 + 1 / 8) + 2 * 3 * 32)  # 9 of the 18 heads that three layers have
    recipe = Compression(pruned=30, heads=50, layers=1, bits=8)
    assert compress.stored_bytes(bert, recipe) == round(expected)
    llama = checkpoints.load("atlas-llama")  # 6 heads share 2 of keys and values, which stay
    before, after = (compress.stored_bytes(llama, Compression(heads=heads)) for heads in (0, 25))
    assert before - after == 4 * 6 * 2 * 192 * 32
    xlnet = checkpoints.load("atlas-xlnet")  # a fifth matrix, of relative positions, has an axis for the heads, too
    before, after = (compress.stored_bytes(xlnet, Compression(heads=heads)) for heads in (0, 25))
    assert before - after == 4 * 6 * 5 * 192 * 32


def test_each_half_of_an_encoder_decoder_is_compressed() -> None:
    t5 = checkpoints.load("atlas-t5")
    model: Any = compress.compress(t5, Compression(pruned=50, layers=1))
    assert [len(model.encoder.block), len(model.decoder.block)] == [1, 1]
    for half in (model.encoder, model.decoder):
        assert any(float((value == 0).float().mean()) > 0.3 for value in matrices(half.block).values())
    removed = compress.least_effect(t5, 75, 1)
    assert {head.layer for head in removed} == {0}
    assert {head.kind for head in removed} == {"encoder", "decoder", "cross"}
    gone = sum(value.numel() for half in (t5.model.encoder, t5.model.decoder) for value in half.block[1].parameters())  # type: ignore[attr-defined]
    assert compress.stored_bytes(t5, Compression()) - compress.stored_bytes(t5, Compression(layers=1)) == 4 * gone


@pytest.mark.parametrize(
    ("slug", "most"), [("atlas-t5", 0.7), ("atlas-bert2bert", 0.3), ("atlas-electra", 0.4), ("atlas-adapter-bert", 0.3)]
)
def test_a_held_out_truth_is_what_the_model_was_trained_for(slug: str, most: float) -> None:
    """A shifted truth, or another task, would cost bits."""
    checkpoint = checkpoints.load(slug)
    numbers = evaluate.measure("compression", checkpoint)[heldout.ON]
    stored = STORED[slug][Compression()]
    assert numbers["bits per token"] < most
    assert numbers["accuracy"] / 100 == pytest.approx(stored.accuracy, abs=0.02)
    assert numbers["bits per token"] == pytest.approx(stored.bits_per_token, abs=0.02)
    assert min(value.shape[-1] for value in heldout.window(checkpoint).inputs.values()) >= heldout.WINDOW


def test_a_detector_is_measured_against_the_more_frequent_class() -> None:
    truth = torch.cat([entry.truth for entry in heldout.passes(checkpoints.load("atlas-electra"))])
    assert 1 - float(truth.float().mean()) == pytest.approx(0.85, abs=0.01), "the page says so"


def test_bytes_in_memory_are_those_of_the_tensors(bert: Checkpoint) -> None:
    model: Any = bert.model
    buffers = sum(value.nbytes for value in model.buffers())
    full = 4 * sum(value.numel() for value in model.parameters()) + buffers
    assert compress.memory_bytes(model) == full
    for recipe in (Compression(pruned=90), Compression(heads=75), Compression(bits=16), Compression(bits=4)):
        assert compress.memory_bytes(compress.compress(bert, recipe)) == full, "zeros and rounded weights take space"
    expected = full
    for module in model.modules():
        if isinstance(module, torch.nn.Linear):  # a byte for each weight, a scale and a zero point for each row
            expected += module.weight.numel() + 16 * module.out_features
            # of the tied output layer, matrix and bias have a second owner, which stays
            tied = module.weight is model.get_input_embeddings().weight
            expected += 4 * module.out_features if tied else -4 * module.weight.numel()
    assert compress.memory_bytes(compress.compress(bert, Compression(bits=8))) == expected


@pytest.mark.parametrize("slug", ["atlas-bert", "atlas-gpt-2", "atlas-llama"])
def test_heads_stay_removed_in_a_combination(slug: str) -> None:
    checkpoint = checkpoints.load(slug)
    ids = torch.tensor([[5, 6, 7, 8, 9]])
    full, heads, both = (
        compress.compress(checkpoint, recipe)(input_ids=ids).logits
        for recipe in (Compression(layers=1), Compression(heads=75, layers=1), Compression(heads=75, layers=1, bits=8))
    )
    assert float((both - heads).norm()) < 0.2 * float((heads - full).norm())
    left = {head.layer for head in compress.least_effect(checkpoint, 75, 1)}
    assert left <= set(range(checkpoint.model.config.num_hidden_layers - 1))  # type: ignore[attr-defined]


def test_removed_heads_are_ablated_heads(bert: Checkpoint) -> None:
    removed = compress.least_effect(bert, 50)
    assert len(removed) == len(heads_of(bert)) // 2
    expected = ablate_heads(bert, TEXT, removed).after
    ids: Any = bert.tokenizer(TEXT, return_tensors="pt")
    at = ids["input_ids"][0].tolist().index(bert.tokenizer.mask_token_id)
    with torch.inference_mode():
        logits = compress.compress(bert, Compression(heads=50))(**ids).logits[0, at]
    assert logits.softmax(-1).topk(len(expected.probabilities)).values.tolist() == pytest.approx(
        list(expected.probabilities), abs=1e-4
    )


@pytest.mark.parametrize(
    "recipe", [Compression(pruned=31), Compression(bits=3), Compression(heads=99), Compression(layers=-1)]
)
def test_other_numbers_are_refused(bert: Checkpoint, recipe: Compression) -> None:
    with pytest.raises(OutOfRange):
        compress.compress(bert, recipe)


def test_a_layer_is_left() -> None:
    short = checkpoints.load("atlas-albert")
    with pytest.raises(OutOfRange, match="at least one must be left"):
        compress.compress(short, Compression(layers=1))


def test_every_bundled_model_was_measured() -> None:
    bundled = {spec.slug for spec in checkpoints.available() if spec.source in ("bundled", "package")}
    assert STORED.keys() == bundled
    assert list(compress.runs(measured(results("compression"), Compressed), None, 1)) == []


@pytest.mark.parametrize("slug", sorted(STORED))
def test_every_model_has_all_points(slug: str) -> None:
    points = STORED[slug]
    layers = max(recipe.layers for recipe in points) + 1
    heads = not any(map(checkpoints.get(slug).offers, compress.SHARED))
    assert set(points) == set(recipes(layers, heads))
    assert all("processors" in point.machine and point.memory_bytes > 1e6 for point in points.values())
    assert all(0 < point.fastest <= point.seconds <= point.slowest for point in points.values())
    for bits in BITS[1:]:
        assert points[Compression(bits=bits)].stored_bytes < points[Compression()].stored_bytes
    assert points[Compression(bits=8)].bits_per_token == pytest.approx(points[Compression()].bits_per_token, abs=0.2), (
        "the page says that eight bits are nearly free"
    )


def test_the_notice_names_the_models_that_eight_bits_cost_something() -> None:
    cost = {
        slug: points[Compression(bits=8)].bits_per_token - points[Compression()].bits_per_token
        for slug, points in STORED.items()
    }
    first, *_ = content("experiments", "compression").part("Notice").split(" Without half of their heads")
    assert {slug for slug in cost if cost[slug] > 0.05} == {
        slug for slug in cost if checkpoints.get(slug).short_name in first
    }
