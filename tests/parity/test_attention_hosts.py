"""Architectures that a host may add: maps, scores and heads as the library has them, or a sentence."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from core import checkpoints
from core.attention.ablation.ablate import Head, HeadMask, heads_of, switch_off
from core.attention.ablation.question import Reader, ask
from core.attention.architectures import layout
from core.attention.architectures.layout import ADAPTERS
from core.attention.architectures.vectors import attention_layers, scores
from core.attention.capture import capture
from core.attention.generated import continued
from core.attention.inside import blueprint
from core.attention.inside.block import block
from core.attention.inside.lens import trajectory
from core.attention.inside.wiring import wires
from core.attention.word_maps import look
from core.checkpoints.spec import Checkpoint
from core.errors import AtlasError, NoAttentionMatrix
from core.vectors import places as positions
from core.vectors.nearest import table
from core.vectors.reading import read
from tests import tinyhosts
from tests.parity.test_ablate import mutilated
from tests.parity.test_block import _streams_add_up, of, states
from tests.parity.test_vectors import inputs_of, of_the_library, softmax
from tests.tinyfamilies import PLAIN, answer_of, text_for, tokenizer_of

READ = [*tinyhosts.LISTED, *tinyhosts.HOOKED]


@pytest.mark.parametrize("name", READ)
def test_scores_made_of_queries_and_keys_are_what_the_model_attends_to(name: str) -> None:
    check_scores(tinyhosts.make(name))


def check_scores(checkpoint: Checkpoint) -> None:
    given = inputs_of(checkpoint)
    expected, found = of_the_library(checkpoint, given), scores(checkpoint, given)
    assert found.keys() == expected.keys()
    for kind, weights in expected.items():
        assert found[kind].shape == weights.shape
        assert np.abs(weights - 1 / weights.shape[-1]).max() > 1e-3  # there is something to tell apart
        beside = sinks_of(checkpoint, kind)
        for score, sinks, own in zip(found[kind], beside, weights, strict=True):
            with_sink = np.concatenate([score, np.broadcast_to(sinks, (*score.shape[:2], 1))], axis=-1)
            np.testing.assert_allclose(softmax(with_sink)[..., :-1], own, atol=1e-5)
        assert any(np.isfinite(sinks).any() for sinks in beside) == bool((weights.sum(-1) < 0.99).any())


def sinks_of(checkpoint: Checkpoint, kind: Any) -> list[Any]:
    """(H, 1, 1) for each layer what the model itself keeps beside a row's scores; minus infinity where nothing is.

    A Granite with windows has sinks, too, which make its heads' values smaller and not their weights.
    """
    found = []
    for layer in attention_layers(checkpoint)[kind]:
        own = getattr(checkpoint.model.get_submodule(layer.module), "sinks", None)
        within = own is not None and checkpoint.model.config.model_type != "granite_swa"
        found.append(own.numpy()[:, None, None] if within else np.full((layer.heads, 1, 1), -np.inf))
    return found


@pytest.mark.parametrize("name", READ)
def test_maps_have_their_queries_and_keys_and_say_what_is_not_computed(name: str) -> None:
    check_maps(tinyhosts.make(name))


def check_maps(checkpoint: Checkpoint) -> None:
    seq2seq = checkpoint.spec.kind == "seq2seq-lm"
    trace = capture(checkpoint, PLAIN, target="The dog sat on the mat." if seq2seq else None, vectors=True)
    assert len(trace.maps) == (3 if seq2seq else 1)
    for found in trace.maps:
        assert found.queries is not None
        assert found.keys is not None
        assert found.queries.shape[:3] == found.weights.shape[:3]
        assert found.keys.shape[:3] == (*found.weights.shape[:2], found.weights.shape[3])
        if "Rows sum to less than one" in found.note:
            assert any(np.isfinite(one).any() for one in sinks_of(checkpoint, found.kind))
            assert (found.weights.sum(-1) < 0.99).any()
            assert found.weights.sum(-1).max() < 1 + 1e-4
        else:
            np.testing.assert_allclose(found.weights.sum(-1), 1.0, atol=1e-4)
        for layer in range(found.layers):
            for head in range(found.heads):
                np.testing.assert_array_equal(found.weights[layer, head] > 0, found.computed(layer, head))


@pytest.mark.parametrize("name", READ)
def test_a_head_off_is_its_columns_at_zero(name: str) -> None:
    check_heads(tinyhosts.make(name))


def check_heads(checkpoint: Checkpoint) -> None:
    question = ask(checkpoint, text_for(checkpoint))
    every = heads_of(checkpoint)
    last = set().union(*(alike(checkpoint, head) for head in {head.kind: head for head in every}.values()))
    off = [set(), alike(checkpoint, every[1]), last, set(every)]
    reader = Reader(question)
    HeadMask(reader.model, checkpoint).ablate(off)
    found = reader.answers(len(off))
    for row, heads in enumerate(off):
        expected = answer_of(mutilated(checkpoint, heads), question)
        torch.testing.assert_close(found[row], expected, atol=2e-4, rtol=1e-4)
        assert row == 0 or not torch.allclose(found[row], found[0], atol=1e-4), "nothing was switched off"
    assert switch_off(checkpoint, text_for(checkpoint), every[:1]).bits >= 0


def alike(checkpoint: Checkpoint, head: Head) -> set[Head]:
    """A head of one layer, and the same of all layers that are this module once more: its columns serve them all."""
    layers = attention_layers(checkpoint)[head.kind]
    return {head._replace(layer=i) for i, one in enumerate(layers) if one.module == layers[head.layer].module}


def sides_of(name: str) -> list[str]:
    side, _, type_ = name.partition(" ")
    sides = ("encoder", "decoder") if side == "both" else (side,)
    return [one for one in sides if one in blueprint.TABLE.get(type_, {})]


@pytest.mark.parametrize("name", [name for name in tinyhosts.LISTED if sides_of(name)])
def test_a_blocks_steps_end_in_the_librarys_state(name: str) -> None:
    checkpoint = tinyhosts.make(name)
    for side in sides_of(name):
        expected = states(checkpoint, side)
        for layer in range(len(attention_layers(checkpoint)[side])):  # type: ignore[index]
            found = block(checkpoint, PLAIN, layer, side)  # type: ignore[arg-type]
            assert found.layers == len(expected) - 1
            np.testing.assert_allclose(found.steps[-1].values, expected[layer + 1], atol=2e-4, rtol=1e-4)
            first = [one for one in found.steps if one.part == "embedding"]
            np.testing.assert_allclose(first[-1].values, expected[layer], atol=2e-5, rtol=1e-4)
        _streams_add_up(found)
        scores, mask, weights = (of(found, "attention", key).values for key in ("scores", "mask", "weights"))
        np.testing.assert_allclose(torch.tensor(scores + mask).softmax(-1).numpy(), weights, atol=1e-5)
        mixed = weights @ of(found, "attention", "values").values
        np.testing.assert_allclose(of(found, "attention", "mix").values, mixed, atol=1e-5)
        for wire, one in zip(wires(found.steps), found.steps, strict=True):
            assert all(number < found.steps.index(one) for number in wire.of)
            assert one.path in dict(checkpoint.model.named_modules()) or not one.path


def test_blocks_of_another_build_are_refused_in_a_sentence() -> None:
    for name in ("decoder qwen3", "decoder xglm"):
        with pytest.raises(NoAttentionMatrix, match="cannot be shown step by step"):
            block(tinyhosts.make(name), PLAIN, 0)
    assert set(blueprint.TABLE) - {ADAPTERS} <= set(layout.TABLE)


@pytest.mark.parametrize("name", tinyhosts.UNREAD)
def test_what_is_not_read_has_its_maps_and_a_sentence(name: str) -> None:
    checkpoint = tinyhosts.make(name)
    target = "The dog sat." if checkpoint.spec.kind == "seq2seq-lm" else None
    for found in capture(checkpoint, PLAIN, target=target).maps:
        np.testing.assert_allclose(found.weights.sum(-1), 1.0, atol=1e-4)
    for view in (
        lambda: capture(checkpoint, PLAIN, target=target, vectors=True),
        lambda: heads_of(checkpoint),
        lambda: block(checkpoint, text_for(checkpoint), 0),
    ):
        with pytest.raises(NoAttentionMatrix, match="queries, keys and heads cannot be read here"):
            view()


@pytest.mark.parametrize("name", [*tinyhosts.HOOKED, *tinyhosts.UNREAD])
def test_every_view_has_an_answer_or_a_sentence(name: str) -> None:
    checkpoint = tinyhosts.make(name)
    text = text_for(checkpoint)
    views: list[Callable[[], object]] = [
        lambda: trajectory(checkpoint, text),
        lambda: look(checkpoint, PLAIN),
        lambda: read(checkpoint, PLAIN),
        lambda: positions.terms(checkpoint, PLAIN),
        lambda: positions.table(checkpoint),
        lambda: positions.turned(checkpoint, PLAIN),
        lambda: table(checkpoint),
        lambda: continued(checkpoint, PLAIN, 3) if checkpoint.spec.kind == "causal-lm" else None,
    ]
    for view in views:
        try:
            view()
        except AtlasError as error:
            assert str(error).endswith("."), error  # noqa: PT017


def test_the_decoder_of_an_encoder_decoder_alone_shows_all_its_layers() -> None:
    """What such a configuration calls the number of layers is that of the encoder which is not there."""
    made = tinyhosts.make("both pegasus")
    config = copy.deepcopy(made.model.config)
    config.vocab_size = len(tokenizer_of("causal-lm"))
    config.is_decoder, config.is_encoder_decoder = True, False
    assert config.num_hidden_layers == 2 < config.decoder_layers
    model = transformers.PegasusForCausalLM._from_config(config, attn_implementation="eager").eval()
    alone = Checkpoint(model, tokenizer_of("causal-lm"), dataclasses.replace(made.spec, kind="causal-lm"))
    found = capture(alone, "The cat sat.", vectors=True).decoder
    assert found is not None
    assert found.note == ""
    ids = alone.tokenizer("The cat sat.", return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        expected = torch.cat(model(input_ids=ids, output_attentions=True, use_cache=False).attentions)
    np.testing.assert_allclose(found.weights, expected.numpy(), atol=1e-6)


def test_a_shared_bigbird_pegasus_attends_fully_from_the_start(
    tmp_path: Path, use_checkpoints: Callable[[Path], None]
) -> None:
    """The library would switch it over on the first short text, for good and for everybody."""
    blocks = {"attention_type": "block_sparse", "block_size": 4, "num_random_blocks": 1}
    made = tinyhosts.build("both bigbird_pegasus", "seq2seq-lm", tinyhosts.BART | blocks)
    made.model.save_pretrained(tmp_path / "pegasus")
    made.tokenizer.save_pretrained(tmp_path / "pegasus")
    use_checkpoints(tmp_path)
    checkpoint = checkpoints.load("dir-pegasus")
    assert checkpoint.model.model.encoder.attention_type == "original_full"
    short = capture(checkpoint, "The cat sat.", target="The dog.")
    assert short.encoder is not None
    assert (short.encoder.weights > 0).all()
    assert checkpoint.model.model.encoder.attention_type == "original_full"
