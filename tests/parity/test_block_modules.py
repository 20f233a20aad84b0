"""Steps of the bundled models and the modules of the published trees, there and back."""

from __future__ import annotations

import pytest

from core import anatomy, checkpoints
from core.attention.architectures.vectors import attention_layers
from core.attention.inside.block import block
from core.attention.inside.modules import node_of, size_for, step_of
from tests import tinyfamilies

TEXTS = {"causal-lm": "The old man went", "seq2seq-lm": "The cat sleeps."}
MODELS = [spec.slug for spec in checkpoints.available() if spec.source in ("bundled", "package") and spec.ready]
SAME_MODULE = ("scores", "mix")
"""Steps that no module of their own gives: their module leads to the weights."""


@pytest.mark.parametrize("model", MODELS)
def test_every_module_of_a_step_is_in_the_tree_and_leads_back(model: str) -> None:
    spec = checkpoints.get(model)
    assert spec.system is not None
    root = anatomy.tree(spec.system)
    found = attention_layers(checkpoints.load(model))
    met = 0
    for side in (side for side in ("encoder", "decoder") if side in found):
        for layer in {0, len(found[side]) - 1}:
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
                last, own = node.rpartition(".")[2], step.path.rpartition(".")[2]
                run = last.split("-")
                assert last == own or int(run[0]) <= int(own) <= int(run[1])
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


def test_the_norm_after_the_last_block_is_that_of_the_last_layer() -> None:
    found = step_of(checkpoints.get("atlas-gpt-2"), "transformer.ln_f", near=2)
    assert (found.layer, found.slug) == (None, "end-final-norm")


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
    found = block(checkpoint, tinyfamilies.PLAIN, 1)
    assert size_for(system, found.type) == size
    root = anatomy.tree(system, size)
    assert [step.name for step in found.steps if step.path and node_of(root, step.path) is None] == []
