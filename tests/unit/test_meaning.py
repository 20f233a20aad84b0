"""What each tensor means: names of many classes against one meaning, and against what runs here knows of them."""

from __future__ import annotations

import pytest

from core import catalogue
from core.anatomy import meaning
from core.anatomy.meaning import Piece, pieces, stacks
from core.anatomy.node import ModuleNode
from core.anatomy.store import tree
from core.attention.inside import modules
from core.checkpoints.families import FAMILIES

NAMED = {
    ("bert", "encoder.layer.0-11.attention.self.query"): ("attention", ("queries",)),
    ("bert", "encoder.layer.0-11.attention.output.dense"): ("attention", ("output",)),
    ("bert", "encoder.layer.0-11.output.dense"): ("feed-forward", ("out",)),
    ("bert", "encoder.layer.0-11.output.LayerNorm"): ("feed-forward", ("norm",)),
    ("bert", "embeddings.LayerNorm"): ("embeddings", ("norm",)),
    ("t5", "decoder.block.1-5.layer.0.SelfAttention.q"): ("attention", ("queries",)),
    ("t5", "decoder.block.1-5.layer.1.EncDecAttention.q"): ("cross", ("queries",)),
    ("t5", "decoder.block.1-5.layer.1.layer_norm"): ("cross", ("norm",)),
    ("t5", "encoder.block.1-5.layer.1.layer_norm"): ("feed-forward", ("norm",)),
    ("t5", "encoder.final_layer_norm"): ("end", ("norm",)),
    ("gpt-2", "transformer.h.0-11.attn.c_attn"): ("attention", ("queries", "keys", "values")),
    ("gpt-2", "transformer.h.0-11.attn.c_proj"): ("attention", ("output",)),
    ("gpt-2", "transformer.h.0-11.mlp.c_proj"): ("feed-forward", ("out",)),
    ("bart", "model.decoder.layers.0-5.fc1"): ("feed-forward", ("in",)),
    ("bart", "model.decoder.layers.0-5.final_layer_norm"): ("feed-forward", ("norm",)),
    ("m2m-100", "model.decoder.layer_norm"): ("end", ("norm",)),
    ("ctrl", "transformer.h.0-47.ffn.0"): ("feed-forward", ("in",)),
    ("ctrl", "transformer.h.0-47.ffn.2"): ("feed-forward", ("out",)),
    ("albert", "encoder.embedding_hidden_mapping_in"): ("embeddings", ("projection",)),
    ("byt5", "encoder.block.0.layer.1.DenseReluDense.wi_0"): ("feed-forward", ("gate",)),
    ("llama", "model.layers.0-31.post_attention_layernorm"): ("feed-forward", ("norm",)),
    ("reformer", "reformer.encoder.layers.1.attention.self_attention.query_key"): ("attention", ("queries", "keys")),
    ("adapter-bert", "encoder.layer.0-11.output.adapter.down"): ("feed-forward", ("adapter",)),
    ("adapter-bert", "encoder.layer.0-11.attention.output.adapter.down"): ("attention", ("adapter",)),
}
SYSTEMS = [system.slug for system in catalogue.systems() if system.sizes]
STEPS = {
    "queries": "queries",
    "keys": "keys",
    "values": "values",
    "projected": "output",
    "inner": "in",
    "outer": "out",
    "gate": "gate",
    "norm": "norm",
}
"""Steps inside a block, as that page names them, and parts as the comparison names them."""


def found(slug: str, path: str) -> Piece:
    return next(piece for piece in pieces(tree(slug)) if piece.path == path)


@pytest.mark.parametrize(("slug", "path"), NAMED)
def test_a_module_means_what_its_paper_says(slug: str, path: str) -> None:
    part = found(slug, path).part
    assert (part.group, part.slugs) == NAMED[slug, path]


@pytest.mark.parametrize("slug", SYSTEMS)
def test_every_tensor_of_every_size_means_something_once(slug: str) -> None:
    for size in catalogue.get(slug).sizes:
        root = tree(slug, size.name)
        told = pieces(root)
        tensors = sorted((piece.path, name) for piece in told for name, _ in piece.tensors)
        assert tensors == sorted((path, name) for path, node, _ in root.walk() for name, _ in node.tensors)
        assert sum(piece.parameters for piece in told) == root.total
        assert [piece.path for piece in told if piece.part.group == meaning.OTHER] == [], f"{slug} {size.name}"


@pytest.mark.parametrize("slug", SYSTEMS)
def test_the_page_of_blocks_agrees(slug: str) -> None:
    """Its tables of modules are written for running models; both must give one module one meaning."""
    compared = 0
    for kind in ("masked-lm", "causal-lm", "seq2seq-lm"):
        try:
            shown = modules._shown(slug, None, FAMILIES[kind])
        except (KeyError, StopIteration):
            continue
        by_path = {piece.path: piece.part for piece in pieces(tree(slug))}
        for path, steps in shown.items():
            what = next(iter(steps.values())).slug
            stem, _, last = what.rpartition("-")
            part = by_path.get(path)
            if part is None or last not in STEPS or "global" in what or stem not in ("attention", "feed-forward"):
                continue
            assert STEPS[last] in part.slugs, (path, what, part)
            compared += 1
    assert compared >= 8 or slug not in TABLED


TABLED = {"bert", "t5", "bart", "albert", "distilbert", "llama", "m2m-100", "ctrl", "xlm", "roberta"}
"""Systems that the tables of that page certainly have, each with eight modules that both name."""


@pytest.mark.parametrize(
    ("slug", "kinds"),
    [("bert", ["encoder"]), ("gpt-2", ["decoder"]), ("xlm", ["encoder"]), ("llama", ["decoder"])]
    + [(slug, ["encoder", "decoder"]) for slug in ("t5", "bart", "bert2bert", "m2m-100", "byt5")],
)
def test_stacks(slug: str, kinds: list[str]) -> None:
    assert [stack.kind for stack in stacks(tree(slug))] == kinds


def test_norms_know_their_place() -> None:
    places = {
        "bert": False,
        "gpt": False,
        "gpt-2": True,
        "t5": True,
        "bart": False,
        "m2m-100": True,
        "ctrl": True,
        "llama": True,
        "xlm": False,
        "albert": False,
        "distilbert": False,
        "reformer": True,
        "xlnet": False,
    }
    for slug, before in places.items():
        norms = [p for p in pieces(tree(slug)) if p.part.norm and p.part.group in ("attention", "feed-forward")]
        assert norms
        assert {piece.before for piece in norms} == {before}, slug


def test_what_no_name_fits_is_kept_under_its_own_name() -> None:
    odd = ModuleNode("gizmo", "Gizmo", "", tensors=(("weight", (3, 4)), ("twist", (5,)))).counted()
    root = ModuleNode("", "Novel", "", children=(ModuleNode("7", "Box", "", children=(odd,)).counted(),)).counted()
    one, other = pieces(root)
    assert (one.part.group, one.part.name, one.parameters) == ("other", "#.gizmo", 12)
    assert (other.part.group, other.part.name, other.parameters) == ("other", "#.gizmo.twist", 5)


def test_the_longest_name_decides() -> None:
    steps = (("", "X"), ("layer", "ModuleList"), ("0", "BertLayer"), ("output", "BertOutput"), ("dense", "Linear"))
    assert meaning.meaning(steps).slugs == ("out",)
    steps = (("", "X"), ("attention", "BertAttention"), ("output", "BertSelfOutput"), ("dense", "Linear"))
    assert meaning.meaning(steps).group == "attention"
