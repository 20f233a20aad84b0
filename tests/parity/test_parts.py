"""What is computed in parts is the whole: scores, a layer on several devices, layers that run backwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import DebertaV2Config, DebertaV2ForMaskedLM

from core import checkpoints
from core.attention.disentangled import run_with_terms
from core.checkpoints.spec import Checkpoint
from core.efficiency.buckets import BUCKETS, prepare, recalls
from core.efficiency.parallel import Layer, split_layer, splits
from core.efficiency.reversible import saved_bytes, stored_by_depth
from core.errors import InputEmpty, OutOfRange
from core.run.odd import COMPONENTS
from core.run.prepare import prepare as prepare_model
from core.sparse import reformer
from tests import tiny, tinyfamilies


def library(span: int, shared: bool, **more: Any) -> DebertaV2ForMaskedLM:
    torch.manual_seed(0)
    config = DebertaV2Config(
        vocab_size=40,
        hidden_size=12,
        num_hidden_layers=3,
        num_attention_heads=3,
        intermediate_size=16,
        max_position_embeddings=32,
        max_relative_positions=span,
        type_vocab_size=0,
        relative_attention=True,
        position_biased_input=False,
        pos_att_type=["c2p", "p2c"],
        share_att_key=shared,
        norm_rel_ebd="layer_norm",
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        **more,
    )
    made = DebertaV2ForMaskedLM(config).eval()
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, 0.0, 0.3)
    return made


@pytest.mark.parametrize(
    ("span", "shared", "length", "more"),
    [
        (-1, True, 11, {}),
        (5, True, 11, {}),
        (-1, False, 2, {}),
        (-1, True, 1, {}),
        (32, True, 20, {"position_buckets": 6}),  # as in the published versions 2 and 3
        (-1, True, 11, {"conv_kernel_size": 3, "conv_act": "gelu"}),  # as in version 2
    ],
)
def test_the_softmax_of_the_sum_is_what_the_library_returns(
    span: int, shared: bool, length: int, more: dict[str, Any]
) -> None:
    model, ids = library(span, shared, **more), torch.arange(4, 4 + length)[None]
    with torch.no_grad():
        expected = model(input_ids=ids, output_attentions=True, output_hidden_states=True)
    prepare_model(model, ("encoder",))
    with torch.inference_mode():
        scored_pass = run_with_terms(model, ids)
        heads = model.cls(scored_pass.states)
    for layer, attention in enumerate(expected.attentions):
        torch.testing.assert_close(scored_pass.scores[layer].sum(0).softmax(-1), attention[0], atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(scored_pass.weights[layer], attention[0], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(scored_pass.states, expected.hidden_states[-1], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(heads, expected.logits, atol=1e-4, rtol=1e-4)


def test_a_part_left_out_is_the_librarys_model_without_it() -> None:
    model, ids = library(-1, False), torch.arange(4, 15)[None]
    with torch.no_grad():
        for layer in model.deberta.encoder.layer:
            for projection in (layer.attention.self.pos_key_proj,):
                projection.weight.zero_()
                projection.bias.zero_()
        expected = model(input_ids=ids).logits  # its content-to-position term is nought
    prepare_model(model, ("encoder",))
    with torch.inference_mode():
        cls = model.cls(run_with_terms(model, ids, [part for part in COMPONENTS if part != "c2p"]).states)
    torch.testing.assert_close(cls, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("slug", [spec.slug for spec in checkpoints.available() if splits(spec)])
def test_the_parts_of_every_layout_add_up_to_the_layer(slug: str) -> None:
    result = split_layer(checkpoints.load(slug), "Once upon a time there was a king.", 1, 2)
    assert result.layer_error < 2e-6 * max(1, result.largest)
    assert result.attention_error < 1e-6 * max(10, result.largest)
    assert result.parameters * 2 == result.whole


def test_a_key_head_that_several_devices_need_is_copied() -> None:
    """Four heads of two keys on four devices: each key is on two of them."""
    tiny = tinyfamilies.make("llama")
    checkpoint = replace(tiny, spec=replace(tiny.spec, architecture="llama"))
    result = split_layer(checkpoint, "The cat sat on the mat.", 1, 4)
    assert (result.heads, result.key_heads, result.gated) == (4, 2, True)
    assert result.layer_error < 1e-5 * max(1, result.largest)
    copied = 2 * 2 * result.head_width * result.width  # two more of each of K and V
    assert 4 * result.parameters == result.whole + copied
    shares = Layer(checkpoint, "The cat sat on the mat.", 1).split(4)
    assert torch.equal(shares[0].columns[1].weight, shares[1].columns[1].weight)
    assert not torch.equal(shares[1].columns[1].weight, shares[2].columns[1].weight)


@pytest.mark.parametrize("degree", [1, 2, 4, 8])
def test_the_parts_add_up_to_the_layer(degree: int) -> None:
    checkpoint = checkpoints.load("atlas-gpt-2")
    result = split_layer(checkpoint, "Once upon a time there was a king.", 2, degree)
    assert result.layer_error < 1e-5 * result.largest
    assert result.attention_error < 1e-4
    assert result.reduced_bytes == result.tokens * 256 * 4
    assert (result.inner, result.head_width) == (1024, 32)
    assert result.parameters * degree == result.whole  # norms and output biases, which are copied, are left out
    assert result.whole == 3 * 256 * 256 + 3 * 256 + 256 * 256 + 2 * 256 * 1024 + 1024


def test_parts_that_are_put_side_by_side_are_the_matrices() -> None:
    checkpoint = checkpoints.load("atlas-gpt-2")
    block, parts = checkpoint.model.transformer.h[0], Layer(checkpoint, "A king.", 0).split(4)
    assert torch.equal(torch.cat([part.output.weight for part in parts], dim=1), block.attn.c_proj.weight.T)
    assert torch.equal(torch.cat([part.firsts[0].weight for part in parts]), block.mlp.c_fc.weight.T)
    query = block.attn.c_attn.weight[:, :256]
    assert torch.equal(torch.cat([part.columns[0].weight[:64] for part in parts]), query.T)


def test_what_cannot_be_split_is_refused() -> None:
    checkpoint = checkpoints.load("atlas-gpt-2")
    for degree in (0, 3, 16):
        with pytest.raises(OutOfRange, match="these can: 1, 2, 4, 8"):
            split_layer(checkpoint, "text", 0, degree)
    with pytest.raises(OutOfRange, match="layers 1 to 4"):
        split_layer(checkpoint, "text", 4, 2)
    with pytest.raises(InputEmpty):
        split_layer(checkpoint, "", 0, 2)
    with pytest.raises(OutOfRange, match="cannot be split here"):
        split_layer(checkpoints.load("atlas-t5"), "text", 0, 2)


@pytest.fixture
def checkpoint(tmp_path: Path, use_checkpoints: Callable[[Path], None]) -> Checkpoint:
    tiny.tiny_reformer(tmp_path / "atlas-reformer", axial=(32, 32), chunk=64, buckets=32)
    use_checkpoints(tmp_path)
    return checkpoints.load("dir-atlas-reformer")


def test_saved_bytes_of_a_product_are_its_factors() -> None:
    a, b = (torch.randn(8, 8, requires_grad=True) for _ in range(2))
    assert saved_bytes(lambda: a @ b, set()) == 2 * 8 * 8 * 4
    assert saved_bytes(lambda: a @ b, {b.untyped_storage().data_ptr()}) == 8 * 8 * 4
    with torch.no_grad():
        assert saved_bytes(lambda: a + 1, set()) == 0


def test_activations_grow_with_depth_only_without_reversible_layers(checkpoint: Checkpoint) -> None:
    ids = prepare(checkpoint, "a text of some length, " * 12)
    before = [parameter.requires_grad for parameter in checkpoint.model.parameters()]
    rows = stored_by_depth(checkpoint, ids, (1, 4, 8))
    layers = len(checkpoint.model.reformer.encoder.layers)
    assert rows[2].plain == pytest.approx(2 * rows[1].plain, rel=0.1)
    assert rows[2].reversible == rows[1].reversible or layers > 4
    assert rows[2].reversible < rows[2].plain
    assert rows[0].reversible - rows[0].plain == 2 * 320 * checkpoint.model.config.hidden_size * 4, "two streams"
    assert [parameter.requires_grad for parameter in checkpoint.model.parameters()] == before


def test_recall_is_whole_where_all_pairs_meet_and_rounds_only_add(checkpoint: Checkpoint) -> None:
    ids = prepare(checkpoint, "the cat sat on the mat and the dog sat on the cat. " * 5)
    layer = reformer.shape_of(checkpoint.model)[0][0]
    rows = {(row.buckets, row.rounds): row for row in recalls(checkpoint, ids, layer, 0, 0)}
    assert len(rows) == len(BUCKETS) * len(reformer.ROUNDS)
    for count in BUCKETS:
        assert rows[count, 1].work == pytest.approx(4 / count, rel=0.05)
        assert rows[count, 8].work == pytest.approx(8 * rows[count, 1].work)
        assert rows[count, 8].recall >= rows[count, 1].recall - 0.05  # other rotations, but eight of them
    assert rows[4, 1].recall == 1  # two chunks of half the text each
    assert 0 < rows[64, 1].recall < 1
