"""Inside a block: every step follows from those before it, and is a module of the tree."""

from __future__ import annotations

import copy
import dataclasses
import re
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
import pytest
import torch

from core import anatomy, checkpoints
from core.attention.capture import capture
from core.attention.inside.block import Block, block, wires
from core.attention.inside.modules import node_of, size_for, step_of
from core.attention.inside.steps import Step, step_text
from core.attention.scores import attention_layers
from core.checkpoints.adapters import AdapterBert, running
from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, InputTooLong, NoAttentionMatrix, OutOfRange
from core.language.fill_mask import prepare
from core.language.makers import inputs
from tests import tinyfamilies
from tests.library import library_model

TEXT = "The cat sat on the mat and looked at the dog."
FAMILIES = [*tinyfamilies.FAMILIES]


@lru_cache
def made(name: str) -> Checkpoint:
    return tinyfamilies.make(name)


@lru_cache
def blocks(name: str) -> dict[str, tuple[Block, ...]]:
    """Every block of a family, by its side; tests read it only."""
    layers = attention_layers(made(name))
    return {
        side: tuple(block(made(name), TEXT, layer, side) for layer in range(len(layers[side])))
        for side in ("encoder", "decoder")
        if side in layers
    }


def of(found: Block, part: str, name: str) -> Step:
    return next(step for step in found.steps if (step.part, step.name) == (part, name))


def states(checkpoint: Checkpoint, side: str) -> list[np.ndarray[Any, Any]]:
    """(n, w) after the embedding and after each layer, as transformers gives them."""
    model: Any = library_model(checkpoint.model)
    if checkpoint.spec.kind == "seq2seq-lm":
        tensors = inputs(checkpoint, TEXT).tensors
    else:
        ids = checkpoint.tokenizer(TEXT, return_tensors="pt")["input_ids"]
        tensors = {"input_ids": ids}
        if model.config.model_type == "xlm":
            tensors["langs"] = torch.full_like(ids, 1)
    with torch.inference_mode():
        out = model(**tensors, output_hidden_states=True)
    kept = getattr(out, f"{side}_hidden_states", None) or out.hidden_states
    return [state[0].numpy() for state in kept]


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in ("longformer", "reformer")])
def test_the_last_step_is_the_librarys_state(name: str) -> None:
    for side, layers in blocks(name).items():
        expected = states(made(name), side)
        for layer, result in enumerate(layers):
            assert result.layers == len(layers) == len(expected) - 1
            np.testing.assert_allclose(result.steps[-1].values, expected[layer + 1], atol=2e-4, rtol=1e-4)
            first = [step for step in result.steps if step.part == "embedding"]
            np.testing.assert_allclose(first[-1].values, expected[layer], atol=2e-5, rtol=1e-4)


def test_longformers_last_step_is_the_state_that_its_head_reads() -> None:
    from core.sparse.longformer import states as windowed

    checkpoint = made("longformer")
    with torch.inference_mode():
        expected = windowed(checkpoint.model, checkpoint.tokenizer(TEXT, return_tensors="pt")["input_ids"])[0]
    computed = block(checkpoint, TEXT, 1)
    np.testing.assert_allclose(computed.steps[-1].values, expected.numpy(), atol=1e-4)
    np.testing.assert_allclose(block(checkpoint, TEXT, 0).steps[-1].values, computed.steps[0].values, atol=1e-4)
    assert of(computed, "attention", "global queries").values.shape[1] == 1


@pytest.mark.parametrize("name", FAMILIES)
def test_every_step_follows_from_those_before_it(name: str) -> None:
    checkpoint = made(name)
    for side, (_, found, *_) in blocks(name).items():
        parts = [part for part in ("attention", "cross-attention") if any(step.part == part for step in found.steps)]
        assert len(parts) == 1 + (side == "decoder" and checkpoint.spec.kind == "seq2seq-lm")
        for part in parts:
            scores, mask, weights = (of(found, part, key).values for key in ("scores", "mask", "weights"))
            again = torch.tensor(scores + mask).softmax(-1).numpy()
            np.testing.assert_allclose(again, weights, atol=1e-5)
            terms = [step.values for step in found.steps if step.part == part and step.name.startswith("scores: ")]
            if terms:
                np.testing.assert_allclose(sum(terms), scores, atol=1e-4)
            mixed = weights @ of(found, part, "values").values
            # Longformer's first row is global; a Reformer's meets itself alone, at a score of -1e5 in single precision
            rows = slice(1 if name in ("longformer", "reformer") else 0, None)
            np.testing.assert_allclose(of(found, part, "mix").values[:, rows], mixed[:, rows], atol=1e-5)
            queries = len(found.tokens)
            assert weights.shape[1:] == (queries, len(found.source) if part == "cross-attention" else queries)
        if name != "reformer":  # which has two streams
            _streams_add_up(found)
        _modules_are_there(checkpoint, found)


def _streams_add_up(found: Block) -> None:
    """Every sum is what came in and what the sub-layer gave."""
    stream = [step for step in found.steps if step.part == "embedding"][-1].values
    for step, before in zip(found.steps[1:], found.steps, strict=False):
        if before.name == "projected" and step.part == "feed-forward":  # both parts are added at once
            stream = stream + before.values
        if step.name == "residual":
            np.testing.assert_allclose(step.values, stream + before.values, atol=1e-5)
            stream = step.values
        elif step.name == "norm" and before.name == "residual" and step.part == before.part:
            stream = step.values  # the norm stands after its sub-layer


def _modules_are_there(checkpoint: Checkpoint, found: Block) -> None:
    modules = dict(checkpoint.model.named_modules())
    for step in found.steps:
        listed = step.path in modules or step.path.endswith("pos_encoding") or not step.path
        assert listed, step.path
        assert step.formula
        assert not step.values.flags.writeable
        assert step.values.dtype == np.float32
        assert step.shape == step.values.shape
        assert len(step.axes) == step.values.ndim


def test_reformers_two_streams_are_those_of_its_pass() -> None:
    from core.sparse.reformer import states as hashed

    checkpoint = made("reformer")
    ids = checkpoint.tokenizer(TEXT, return_tensors="pt")["input_ids"]
    first, second = block(checkpoint, TEXT, 0), block(checkpoint, TEXT, 1)
    assert len(first.tokens) == ids.shape[1] > 8  # more than a chunk
    assert ids.shape[1] % 8 != 0  # so that something is filled up
    last, chunked = second.steps[-1].values, hashed(checkpoint.model, ids)[0].numpy()
    np.testing.assert_allclose(last[1:], chunked[1:], atol=1e-4)
    # The first token attends to itself alone, with a score so low that the library's sum over rounds is rounded.
    np.testing.assert_allclose(last[0], chunked[0], atol=1e-2)
    for part, stream in (("attention", "first stream"), ("feed-forward", "second stream")):
        np.testing.assert_allclose(
            of(second, "embedding", stream).values, of(first, part, "residual").values, atol=1e-5
        )
    assert ("attention", "keys") in {(step.part, step.name) for step in first.steps}
    names = [step.name for step in second.steps]
    assert "keys, of one length" in names
    assert "scores: rounds" in names
    keys = of(second, "attention", "keys, of one length").values
    np.testing.assert_allclose((keys**2).mean(-1), 1.0, atol=1e-3)
    drawn = capture(checkpoint, TEXT).decoder
    for layer, result in enumerate((first, second)):
        np.testing.assert_allclose(of(result, "attention", "weights").values, drawn.weights[layer], atol=1e-5)
        outputs = of(result, "attention", "mix").values  # what transformers' own layer mixed
        mixed = drawn.weights[layer] @ of(result, "attention", "values").values
        np.testing.assert_allclose(outputs[:, 1:], mixed[:, 1:], atol=1e-4)
        np.testing.assert_allclose(outputs[:, 0], mixed[:, 0], atol=1e-2)


@pytest.mark.parametrize("name", FAMILIES)
def test_norms_are_the_models_own(name: str) -> None:
    """A norm put by hand on the step that it is drawn to read is the norm's step."""
    _, result, *_ = next(iter(blocks(name).values()))
    for after, wire in zip(result.steps, wires(result.steps), strict=True):
        if after.name in ("norm", "output norm", "final norm"):
            module: Any = made(name).model.get_submodule(after.path)
            with torch.inference_mode():
                expected = module(torch.tensor(result.steps[wire.of[0]].values)).numpy()
            np.testing.assert_allclose(after.values, expected, atol=1e-4, rtol=1e-4)


def test_bigbird_shows_its_blocks_and_a_transformer_xl_one_segment() -> None:
    text = " ".join([TEXT] * 4)
    checkpoint = made("big_bird")
    drawn = capture(checkpoint, text).encoder
    computed = block(checkpoint, text, 1)
    np.testing.assert_allclose(of(computed, "attention", "weights").values, drawn.weights[1], atol=1e-5)
    assert np.isneginf(of(computed, "attention", "mask").values).any()
    with pytest.raises(InputTooLong, match="one segment"):
        block(made("xlnet-left"), " ".join([TEXT] * 9), 0)


def test_bert_begins_with_three_summands_and_an_order_of_its_own() -> None:
    bert = made("bert")
    first = block(bert, TEXT, 0)
    before = "token position segment sum norm queries keys values scores mask weights mix projected residual norm"
    assert [step.name for step in first.steps] == f"{before} inner activation outer residual norm".split()
    assert first.tokens[0] == "[CLS]"
    queries = of(first, "attention", "queries")
    assert queries.shape == (2, len(first.tokens), 8)
    assert queries.path == "bert.encoder.layer.0.attention.self.query"
    assert "b^Q" in queries.formula
    second = block(bert, TEXT, 1)
    assert second.steps[0].name == "input"
    np.testing.assert_allclose(second.steps[0].values, first.steps[-1].values, atol=1e-6)


def test_what_is_particular_is_there() -> None:
    llama = block(made("llama"), TEXT, 1)
    names = [(step.part, step.name) for step in llama.steps]
    assert names.index(("attention", "norm")) < names.index(("attention", "queries"))
    assert ("attention", "keys, rotated") in names
    assert ("feed-forward", "gate") in names
    assert names[-1] == ("end", "final norm")
    assert of(llama, "attention", "keys").shape[0] == 2
    assert of(llama, "attention", "keys, rotated").shape[0] == 4
    assert "square" in of(llama, "attention", "norm").note
    gate, inner, active = (of(llama, "feed-forward", key).values for key in ("gate", "inner", "activation"))
    np.testing.assert_allclose(gate / (1 + np.exp(-gate)) * inner, active, atol=1e-5)
    terms = {step.name for step in block(made("deberta-v2"), TEXT, 0).steps if step.name.startswith("scores: ")}
    assert terms == {"scores: content to content", "scores: content to position", "scores: position to content"}
    four = {"scores: content", "scores: distance", "scores: content bias", "scores: position bias"}
    assert four <= {step.name for step in block(made("xlnet"), TEXT, 0).steps}
    assert "b^Q" not in of(block(made("t5"), TEXT, 0), "attention", "queries").formula
    assert of(block(made("t5"), TEXT, 0), "attention", "scores: distance").values[0, 0, 0] == pytest.approx(
        float(made("t5").model.encoder.block[0].layer[0].SelfAttention.relative_attention_bias.weight[0, 0]), abs=1e-6
    )
    local = of(block(made("gpt_neo"), TEXT, 1), "attention", "mask").values[0]
    assert np.isfinite(local[-1]).sum() == 4
    assert "language" in {step.name for step in block(made("xlm"), TEXT, 0).steps}
    assert block(made("deberta-v2-conv"), TEXT, 0).steps[-1].name == "convolution"
    assert r"\sqrt w" in of(block(made("ctrl"), TEXT, 0), "embedding", "token").formula
    albert = made("albert")
    ones = [block(albert, TEXT, layer) for layer in (0, 2)]
    assert len({of(step, "attention", "queries").path for step in ones}) == 1
    assert not np.allclose(*(of(step, "attention", "queries").values for step in ones))


def test_an_encoder_with_adapters_is_its_backbone_where_no_task_runs() -> None:
    plain = made("bert")
    adapted = AdapterBert(copy.deepcopy(plain.model.bert), {"mood": 2}, 4).eval().requires_grad_(False)
    computed = block(Checkpoint(adapted, plain.tokenizer, dataclasses.replace(plain.spec, kind="adapters")), TEXT, 1)
    expected = block(plain, TEXT, 1)
    assert [step.name for step in computed.steps] == [step.name for step in expected.steps]
    for step, other in zip(computed.steps, expected.steps, strict=True):
        np.testing.assert_allclose(step.values, other.values, atol=1e-6)
    assert computed.steps[-1].path == "backbone.encoder.layer.1.output.output.LayerNorm"


def test_the_adapters_of_a_task_stand_in_its_block() -> None:
    plain = made("bert")
    model = AdapterBert(copy.deepcopy(plain.model.bert), {"mood": 2, "order": 3}, 4).eval().requires_grad_(False)
    torch.manual_seed(1)
    for value in model.tasks.parameters():
        value.add_(0.1 * torch.randn_like(value))
    model.config.adapter_tasks = {
        name: {"name": name, "question": "?", "answers": ["a"], "form": "whole"} for name in model.tasks
    }
    adapted = Checkpoint(model, plain.tokenizer, dataclasses.replace(plain.spec, kind="adapters"))
    ids = torch.tensor([prepare(adapted, TEXT).ids])
    with running(model.tasks["order"]):
        after = model.backbone(input_ids=ids, output_hidden_states=True).hidden_states
    for layer in range(len(after) - 1):
        computed = block(adapted, TEXT, layer, task="order")
        np.testing.assert_allclose(computed.steps[-1].values, after[layer + 1][0], atol=1e-5)
        for part, number in (("attention", 2 * layer), ("feed-forward", 2 * layer + 1)):
            adapter = model.tasks["order"].adapters[number]
            before = of(computed, part, "projected" if part == "attention" else "outer").values
            added = adapter.update(torch.from_numpy(before.copy())).numpy()
            np.testing.assert_allclose(of(computed, part, "adapter: up").values, added, atol=1e-5)
            np.testing.assert_allclose(of(computed, part, "adapted").values, before + added, atol=1e-5)
            assert of(computed, part, "adapter: down").shape == (len(before), 4)
            hang = wires(computed.steps)
            at = computed.steps.index(of(computed, part, "adapted"))
            assert [computed.steps[i].name for i in hang[at].of] == [computed.steps[at - 4].name, "adapter: up"]
            assert [computed.steps[i].name for i in hang[at + 1].of][-1] == "adapted"
    with pytest.raises(OutOfRange, match="no adapters for"):
        block(adapted, TEXT, 0, task="weather")


def test_what_is_not_there_is_refused_in_a_sentence() -> None:
    bert = made("bert")
    with pytest.raises(OutOfRange, match="2 layers"):
        block(bert, TEXT, 2)
    with pytest.raises(OutOfRange, match="The decoder of bert has 0 layers"):
        block(bert, TEXT, 0, "decoder")
    with pytest.raises(InputEmpty):
        block(bert, "  ", 0)
    strange = tinyfamilies.make("bert")
    strange.model.config.model_type = "fnet"
    del strange.model._plan
    with pytest.raises(NoAttentionMatrix, match="FNet mixes the tokens"):
        block(strange, TEXT, 0)


_COMMANDS = re.compile(r"\\(text\{[^}]*\}|[A-Za-z]+)")


@pytest.mark.parametrize("name", FAMILIES)
def test_input_embeddings_and_terms_are_those_of_their_sources(name: str) -> None:
    for result in chain(*blocks(name).values()):
        hang = wires(result.steps)
        assert len({wire.slug for wire in hang}) == len(hang)
        for i, (step, wire) in enumerate(zip(result.steps, hang, strict=True)):
            assert all(source < i for source in wire.of)
            assert wire.of or wire.outside, wire.slug
            several = step.name == "scores" and any(entry.name.startswith("scores: ") for entry in result.steps)
            if step.name in ("residual", "sum") or (several and step.part == "attention"):
                total = sum(result.steps[source].values for source in wire.of)
                np.testing.assert_allclose(step.values, total, atol=1e-4, err_msg=wire.slug)
        used = {source for wire in hang for source in wire.of}
        assert used == set(range(len(hang) - 1)), [hang[i].slug for i in set(range(len(hang) - 1)) - used]


@pytest.mark.parametrize("name", FAMILIES)
def test_every_letter_of_a_formula_is_named(name: str) -> None:
    for result in chain(*blocks(name).values()):
        for step in result.steps:
            words = step_text(step)
            assert words.text.endswith(".")
            formula = step.formula
            for latex, meaning in sorted(words.symbols, key=lambda symbol: -len(symbol[0])):
                assert meaning
                formula = formula.replace(latex, " ") if len(latex) > 1 else formula
            formula = _COMMANDS.sub(" ", formula.replace(r"\sum_i", " "))
            for latex, _ in words.symbols:
                formula = formula.replace(latex, " ") if len(latex) == 1 else formula
            assert not re.search("[A-Za-z]", formula), (step.formula, formula)


TEXTS = {"causal-lm": "The old man went", "seq2seq-lm": "The cat sleeps."}
MODELS = [spec.slug for spec in checkpoints.available() if spec.source in ("bundled", "package") and spec.ready]
SAME_MODULE = ("scores", "mix")
"""Steps that no module of their own gives: their module leads to the weights."""


@pytest.mark.parametrize("model", MODELS)
def test_every_module_of_a_step_is_in_the_tree_and_leads_back(model: str) -> None:
    spec = checkpoints.get(model)
    assert spec.system is not None
    root = anatomy.tree(spec.system)
    layers_by_kind = attention_layers(checkpoints.load(model))
    met = 0
    for side in (side for side in ("encoder", "decoder") if side in layers_by_kind):
        for layer in {0, len(layers_by_kind[side]) - 1}:
            for step in block(checkpoints.load(model), TEXTS.get(spec.kind, "The cat"), layer, side).steps:
                node = node_of(root, step.path)
                if not step.path or step.path.endswith("pos_encoding"):  # CTRL's sinusoids are no module
                    assert node is None
                    continue
                if model == "atlas-deberta" and step.path.endswith(("query_proj", "key_proj", "value_proj")):
                    assert node == "encoder.layer.0-11.attention.self.in_proj"  # version 1 has one matrix for all three
                    back = step_of(spec, node, near=layer)
                    assert (back.layer, back.slug) == (layer, "attention-queries")
                    continue
                assert node is not None, step.path
                last, step_name = node.rpartition(".")[2], step.path.rpartition(".")[2]
                run = last.split("-")
                assert last == step_name or int(run[0]) <= int(step_name) <= int(run[1])
                assert root.find(node) is not None
                back = step_of(spec, node, near=layer)
                assert (back.side, back.layer) in ((side, layer), (side, None))
                alike = step.path.endswith(("c_attn", "rel_attn")) or step.name in SAME_MODULE
                assert alike or back.slug == step.slug
                met += 1
    assert met > 15


def test_a_run_of_layers_is_one_node_and_names_its_first() -> None:
    bert = checkpoints.get("atlas-bert")
    node = "encoder.layer.0-11.attention.self.query"
    assert node_of(anatomy.tree("bert"), "bert.encoder.layer.3.attention.self.query") == node
    assert node_of(anatomy.tree("bert"), "bert.encoder.layer.12.attention.self.query") is None
    first, fourth = step_of(bert, node), step_of(bert, node, near=3)
    assert (first.layer, fourth.layer) == (0, 3)
    large = step_of(bert, "encoder.layer.0-23.attention.self.query", "large", near=20)
    assert large.layer == 20


def test_what_is_no_part_of_a_step_leads_nowhere() -> None:
    bert = checkpoints.get("atlas-bert")
    for node in ("", "pooler.dense", "encoder", "no.such.module", "embeddings.dropout"):
        assert step_of(bert, node) is None
    assert node_of(anatomy.tree("bert"), "") is None
    assert node_of(anatomy.tree("bert"), "bert.encoder.layer.x.attention") is None


def test_two_halves_of_one_kind_are_told_apart() -> None:
    both = checkpoints.get("atlas-bert2bert")
    encoder = step_of(both, "encoder.encoder.layer.0-11.attention.self.query")
    decoder = step_of(both, "decoder.bert.encoder.layer.0-11.crossattention.self.key")
    assert (encoder.side, encoder.slug) == ("encoder", "attention-queries")
    assert (decoder.side, decoder.slug) == ("decoder", "cross-attention-keys")


def test_both_adapters_of_a_layer_lead_to_their_steps() -> None:
    adapted = checkpoints.get("atlas-adapter-bert")
    for sub_layer, node in (("attention", "attention.output"), ("feed-forward", "output")):
        for module, name in (("adapter.down", "adapter-down"), ("adapter.up", "adapter-up"), ("adapter", "adapted")):
            module_step = step_of(adapted, f"encoder.layer.0-11.{node}.{module}", near=2)
            assert (module_step.layer, module_step.slug) == (2, f"{sub_layer}-{name}")


def test_the_norm_after_the_last_block_is_that_of_the_last_layer() -> None:
    module_step = step_of(checkpoints.get("atlas-gpt-2"), "transformer.ln_f", near=2)
    assert (module_step.layer, module_step.slug) == (None, "end-final-norm")


@pytest.mark.parametrize(
    ("name", "system", "size"),
    [
        ("qwen2", "qwen", "2-0.5B"),
        ("deberta-v2", "deberta", None),
        ("mistral", "mistral", None),
    ],
)
def test_a_models_steps_are_looked_for_in_a_tree_with_blocks_like_its_own(
    name: str, system: str, size: str | None
) -> None:
    checkpoint = tinyfamilies.make(name)
    computed = block(checkpoint, tinyfamilies.PLAIN, 1)
    assert size_for(system, computed.type) == size
    root = anatomy.tree(system, size)
    assert [step.name for step in computed.steps if step.path and node_of(root, step.path) is None] == []
