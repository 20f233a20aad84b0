"""Broken parts against transformers' own models, whose weights and modules are changed by hand here."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from core import checkpoints
from core.checkpoints.spec import Checkpoint
from core.content import content
from core.errors import InputTooLong, InputUnusable
from core.interventions.breaking import PADS, SWITCHES, break_part, offered, part_losses
from core.language.makers import inputs
from tests import tiny, tinyfamilies
from tests.library import library_model
from tests.tinyfamilies import loaded

Tensors = dict[str, torch.Tensor]
TEXTS = {
    "bert": "The cat [MASK] on the mat and looked at the dog.",
    "gpt2": "Once upon a time there was a little",
    "t5": "The cat sat on the mat.",
    "bart": "The cat sat on the mat.",
}
STEP = 3
"""The token of an encoder-decoder's output that is predicted, from 0."""
MADE: dict[str, tuple[Callable[..., Path], Any]] = {
    "bert": (tiny.tiny_bert, "masked-lm"),
    "gpt2": (tiny.tiny_gpt2, "causal-lm"),
    "t5": (tiny.tiny_t5, "seq2seq-lm"),
    "bart": (tiny.tiny_bart, "seq2seq-lm"),
}
LAYERS = {
    "bert": ("bert.encoder.layer",),
    "gpt2": ("transformer.h",),
    "t5": ("encoder.block", "decoder.block"),
    "bart": ("model.encoder.layers", "model.decoder.layers"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Checkpoint]:
    """A tiny model of each kind with three layers, and weights so large that each part matters."""
    models = {}
    for name, (make, kind) in MADE.items():
        model = loaded(make(tmp_path_factory.mktemp(name) / name, layers=3), kind)
        with torch.no_grad():
            random = torch.Generator().manual_seed(5)
            for parameter in model.model.parameters():
                if parameter.ndim == 2:
                    parameter.copy_(torch.randn(parameter.shape, generator=random) * parameter.shape[-1] ** -0.5 * 1.5)
        models[name] = model
    return models


def ending(model: Any, *ends: str) -> list[Any]:
    """The modules of a model by the ends of their paths."""
    return [module for path, module in model.named_modules() if path.endswith(ends)]


def joint(model: Any) -> list[tuple[torch.Tensor, int]]:
    """GPT-2's joint projections: weight and bias, with queries, keys and values one after the other."""
    return [(part, part.shape[-1] // 3) for c in ending(model, "c_attn") for part in (c.weight, c.bias)]


def unscaled(_: str, model: Any, tensors: Tensors) -> Tensors:
    for module in model.modules():
        if hasattr(module, "scaling"):
            module.scaling = 1.0
    return tensors


def four_axes(allowed: torch.Tensor) -> torch.Tensor:
    """(n, n) pairs that may attend as the mask that transformers adds to the scores."""
    return torch.where(allowed, 0.0, torch.finfo(torch.float32).min)[None, None]


def masked(hide: Callable[[torch.Tensor], torch.Tensor], name: str, model: Any, tensors: Tensors) -> Tensors:
    """Self-attention of a single stack, or of the decoder or the encoder of two, under the mask of ``hide``."""
    if "decoder_input_ids" not in tensors:
        return {**tensors, "attention_mask": four_axes(hide(tensors["input_ids"][0]))}
    read = hide(torch.arange(9))
    if read[0, -1]:  # the decoder without its causal mask
        return {**tensors, "decoder_attention_mask": four_axes(hide(tensors["decoder_input_ids"][0]))}
    encoder = {"input_ids": tensors["input_ids"], "attention_mask": four_axes(hide(tensors["input_ids"][0]))}
    return {**tensors, "encoder_outputs": model.get_encoder()(**encoder)}


def filled(name: str, model: Any, tensors: Tensors) -> Tensors:
    ids = tensors["input_ids"]
    pads = torch.zeros(1, PADS, dtype=torch.long)
    if name == "gpt2":
        places = torch.cat((pads, torch.arange(ids.shape[1])[None]), 1)
        padded = torch.cat((pads, ids), 1)
        return {"input_ids": padded, "attention_mask": torch.ones_like(padded), "position_ids": places}
    padded = torch.cat((ids, pads), 1)
    return {**tensors, "input_ids": padded, "attention_mask": torch.ones_like(padded)}


def no_positions(name: str, model: Any, tensors: Tensors) -> Tensors:
    for table in ending(model, "position_embeddings", "wpe", "embed_positions", "relative_attention_bias"):
        table.weight.zero_()
    return tensors


def reversed_positions(name: str, model: Any, tensors: Tensors) -> Tensors:
    if name == "t5":
        for attention in ending(model, "block.0.layer.0.SelfAttention"):
            bias = attention.compute_bias
            attention.compute_bias = lambda *given, bias=bias, **more: bias(*given, **more).transpose(-1, -2)
    elif name == "bart":
        for table in ending(model, "embed_positions"):
            table.register_forward_hook(lambda _, __, rows: rows.flip(-2))
    else:
        places = torch.arange(tensors["input_ids"].shape[1]).flip(0)[None]
        return {**tensors, "position_ids": places, "attention_mask": torch.ones_like(places)}
    return tensors


def same_keys(name: str, model: Any, tensors: Tensors) -> Tensors:
    if name == "gpt2":
        for part, width in joint(model):
            part[..., width : 2 * width] = part[..., :width]
        return tensors
    pairs = {"bert": ("query", "key"), "t5": ("SelfAttention.q", "SelfAttention.k")}
    queries, keys = pairs.get(name, ("self_attn.q_proj", "self_attn.k_proj"))
    for query, key in zip(ending(model, queries), ending(model, keys), strict=True):
        key.load_state_dict(query.state_dict())
    return tensors


def raw_values(name: str, model: Any, tensors: Tensors) -> Tensors:
    if name == "gpt2":
        for part, width in joint(model):
            part[..., 2 * width :] = torch.eye(width) if part.ndim == 2 else 0.0
    for value in ending(model, "self.value", "SelfAttention.v", "self_attn.v_proj"):
        value.weight.copy_(torch.eye(len(value.weight)))
        if value.bias is not None:
            value.bias.zero_()
    return tensors


def uniform(name: str, model: Any, tensors: Tensors) -> Tensors:
    for part, width in joint(model):
        part[..., :width] = 0.0
    for query in ending(model, "self.query", "Attention.q", "attn.q_proj", "relative_attention_bias"):
        for parameter in query.parameters():
            parameter.zero_()
    return tensors


def less_what_reads(first: Any, last: Any) -> None:
    """Let the module ``last`` return what it computes less the input of the module ``first``."""
    first.register_forward_pre_hook(lambda module, args: setattr(module, "read", args[0]))
    last.register_forward_hook(lambda _, __, output: output - first.read)


def without_residual(name: str, model: Any, tensors: Tensors) -> Tensors:
    """What was added is taken away again from what each module leaves, or is never added."""

    def less(_: Any, args: Any, kwargs: Any, output: Any) -> Any:
        read = args[0] if args else kwargs["hidden_states"]
        return (output[0] - read, *output[1:]) if isinstance(output, tuple) else output - read

    if name == "bert":
        for module in (*ending(model, "attention.output"), *(layer.output for layer in model.bert.encoder.layer)):
            module.forward = lambda added, _, module=module: module.LayerNorm(module.dense(added))
    elif name == "gpt2":
        for block in model.transformer.h:
            less_what_reads(block.ln_1, block.attn.c_proj)
            less_what_reads(block.ln_2, block.mlp.c_proj)
    elif name == "t5":
        for path, module in model.named_modules():
            if path.rpartition(".")[0].endswith("layer"):
                module.register_forward_hook(less, with_kwargs=True)
    else:
        for module in ending(model, "self_attn", "encoder_attn"):
            module.register_forward_hook(less, with_kwargs=True)
        for side in (model.model.encoder, model.model.decoder):
            for layer in side.layers:
                less_what_reads(layer.fc1, layer.fc2)
    return tensors


def without_norms(name: str, model: Any, tensors: Tensors) -> Tensors:
    for layers in LAYERS[name]:
        for _, module in model.get_submodule(layers).named_modules():
            for child, part in module.named_children():
                if "norm" in type(part).__name__.lower():
                    setattr(module, child, nn.Identity())
    return tensors


def without_feed_forward(name: str, model: Any, tensors: Tensors) -> Tensors:
    outer = [layer.output.dense for layer in model.bert.encoder.layer] if name == "bert" else []
    for module in (*outer, *ending(model, "mlp.c_proj", "DenseReluDense.wo", "fc2")):
        for parameter in module.parameters():
            parameter.zero_()
    return tensors


def other_layers(change: Callable[[list[Any]], list[Any]], name: str, model: Any, tensors: Tensors) -> Tensors:
    for path in LAYERS[name]:
        parent, _, child = path.rpartition(".")
        layers = model.get_submodule(path)
        setattr(model.get_submodule(parent), child, nn.ModuleList(change([*layers])))
    return tensors


BY_HAND: dict[str, Callable[[str, Any, Tensors], Tensors]] = {
    "scale": unscaled,
    "causal": partial(masked, lambda ids: torch.ones(len(ids), len(ids), dtype=torch.bool)),
    "causal-added": partial(masked, lambda ids: torch.ones(len(ids), len(ids), dtype=torch.bool).tril()),
    "mask-hidden": partial(masked, lambda ids: (ids != 4).expand(len(ids), -1)),
    "padding": filled,
    "positions": no_positions,
    "reversed": reversed_positions,
    "keys": same_keys,
    "values": raw_values,
    "uniform": uniform,
    "residual": without_residual,
    "norm": without_norms,
    "feed-forward": without_feed_forward,
    "first": partial(other_layers, lambda layers: layers[:1]),
    "order": partial(other_layers, lambda layers: layers[::-1]),
}


def test_every_switch_is_checked() -> None:
    assert BY_HAND.keys() == SWITCHES.keys()


@pytest.mark.parametrize("switch", BY_HAND)
@pytest.mark.parametrize("name", MADE)
def test_a_switch_is_a_change_of_the_library(name: str, switch: str, made: dict[str, Checkpoint]) -> None:
    checkpoint = made[name]
    if lack := offered(checkpoint)[switch]:
        with pytest.raises(InputUnusable, match="no part that the switch"):
            break_part(checkpoint, TEXTS[name], switch)
        assert (name, lack) in LACKS.get(switch, set())
        return
    assert (name, switch) not in {(other, s) for s, pairs in LACKS.items() for other, _ in pairs}
    question = inputs(checkpoint, TEXTS[name], step=STEP)
    result = break_part(checkpoint, TEXTS[name], switch, step=STEP, k=10_000)
    library = library_model(checkpoint.model)
    with torch.inference_mode():
        tensors = BY_HAND[switch](name, library, question.tensors)
        at = question.position + (PADS if switch == "padding" and name == "gpt2" else 0)
        expected = library(**tensors, use_cache=False).logits[0, at].softmax(-1)
    after = torch.tensor([change.after for change in sorted(result.changes, key=lambda change: change.id)])
    assert len(after) == len(expected)
    assert after.numpy() == pytest.approx(expected.numpy(), abs=2e-5)
    assert result.bits > 1e-4  # so that a switch that does nothing cannot pass


LACKS: dict[str, set[tuple[str, str]]] = {
    "causal": {("bert", "bidirectional")},
    "causal-added": {("gpt2", "causal")},
    "mask-hidden": {("gpt2", "no mask"), ("t5", "no mask"), ("bart", "no mask")},
    "scale": {("t5", "unscaled")},
    "order": {("t5", "first bias")},
}


@pytest.mark.parametrize("name", MADE)
def test_padding_with_the_right_mask_changes_nothing(name: str, made: dict[str, Checkpoint]) -> None:
    control = break_part(made[name], TEXTS[name], "padding", step=STEP).control
    assert control == pytest.approx(0, abs=1e-5)


def no_rotation(model: Any) -> None:
    model.model.rotary_emb.inv_freq.zero_()


def no_sinusoids(model: Any) -> None:
    model.transformer.pos_encoding[:] = model.transformer.pos_encoding[0].clone()


def no_distances(model: Any) -> None:
    for layer in model.transformer.layer:
        layer.rel_attn.r.zero_()


@pytest.mark.parametrize(
    ("name", "change"), [("llama", no_rotation), ("ctrl", no_sinusoids), ("xlnet-left", no_distances)]
)
def test_positions_of_other_kinds_are_taken_away(name: str, change: Callable[[Any], None]) -> None:
    checkpoint = tinyfamilies.make(name)
    text = "The cat sat on the mat and looked at the dog."
    result = break_part(checkpoint, text, "positions", k=10_000)
    library = library_model(checkpoint.model)
    with torch.inference_mode():
        change(library)
        (*_, expected) = library(**inputs(checkpoint, text, step=0).tensors, use_cache=False).logits[0].softmax(-1)
    after = [change.after for change in sorted(result.changes, key=lambda change: change.id)]
    assert after == pytest.approx(expected.tolist(), abs=1e-5)
    assert result.bits > 1e-6


@pytest.mark.parametrize("name", tinyfamilies.FAMILIES | tinyfamilies.RELATIVES)
def test_each_switch_of_each_architecture_is_offered_or_refused_with_a_reason(name: str) -> None:
    checkpoint = tinyfamilies.make(name)
    if name in ("xlnet", "reformer"):
        with pytest.raises(InputUnusable, match="several streams"):
            offered(checkpoint)
        return
    text, lacks = tinyfamilies.text_for(checkpoint), offered(checkpoint)
    words = content("interventions", "break")
    assert all(words.has(f"Lacks: {lack}") for lack in lacks.values() if lack)
    for switch, lack in lacks.items():
        if not lack:
            result = break_part(checkpoint, text, switch, step=int(checkpoint.spec.offers("rewrites")))
            assert math.isfinite(result.bits)
            assert result.control is None or result.control < 1e-5


def test_padding_needs_positions_of_its_own(made: dict[str, Checkpoint]) -> None:
    text = "The cat [MASK] on the mat. " * 7  # 58 tokens of 64
    assert break_part(made["bert"], text, "uniform").bits > 0
    with pytest.raises(InputTooLong, match=f"{len(inputs(made['bert'], text).tokens) + PADS} tokens"):
        break_part(made["bert"], text, "padding")


def test_a_reversed_stack_leaves_the_model_as_it_is(made: dict[str, Checkpoint]) -> None:
    model: Any = made["bert"].model
    layers = [*model.bert.encoder.layer]
    before = break_part(made["bert"], TEXTS["bert"], "first")
    break_part(made["bert"], TEXTS["bert"], "order")
    assert [*model.bert.encoder.layer] == layers
    assert break_part(made["bert"], TEXTS["bert"], "first") == before


def test_equal_keys_make_symmetric_scores(made: dict[str, Checkpoint]) -> None:
    from core.run.run import run

    checkpoint = made["bert"]
    tensors = inputs(checkpoint, TEXTS["bert"], step=0).tensors
    for switch, symmetric in (("keys", True), ("values", False)):
        broken = SWITCHES[switch].broken(checkpoint, tensors)
        (scores, *_) = run(checkpoint.model, tensors, keep={"scores"}, edits=broken.edits).layers("encoder", "scores")
        assert torch.allclose(scores, scores.mT, atol=1e-5) is symmetric


def test_the_losses_are_those_of_the_library() -> None:
    """A BERT on its masked story, whole and with its first layer alone."""
    from core.interventions.heldout import held_out

    checkpoint = checkpoints.load("atlas-bert")
    losses = part_losses(checkpoint)
    assert losses is not None
    (text,) = held_out(checkpoint, PADS)
    library = library_model(checkpoint.model)
    found = []
    with torch.inference_mode():
        for layers in (4, 1):
            library.bert.encoder.layer = library.bert.encoder.layer[:layers]
            logits = library(**text.tensors).logits[:, list(text.positions)]
            nats = nn.functional.cross_entropy(logits.flatten(0, 1), text.truth.flatten())
            found.append(float(nats) / math.log(2))
    assert (losses.intact, losses.broken["first"]) == pytest.approx(tuple(found), abs=1e-3)
    assert losses.uniform == pytest.approx(math.log2(8000))
    assert losses.tokens == text.truth.numel()
    assert [*losses.broken.values()] == sorted(losses.broken.values(), reverse=True)
