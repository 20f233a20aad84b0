"""Two trees side by side, and what each tensor of them means: totals, known differences, one meaning for a module."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from itertools import product

import pytest

from core import anatomy, catalogue
from core.anatomy import meaning
from core.anatomy.compare import VERDICTS, Comparison, PairedPart, Verdict, align, compare
from core.anatomy.meaning import Piece, pieces, stacks
from core.anatomy.node import ModuleNode
from core.anatomy.store import tree
from core.attention.inside import modules
from core.checkpoints.families import FAMILIES
from core.errors import OutOfRange, UnknownSystem
from core.figures.parameters import comparison_table

SYSTEMS = [system.slug for system in catalogue.systems() if system.sizes]
KINDS = ("bert", "gpt-2", "t5", "albert", "mamba")
"""Two stacks of one kind, a pair of stacks, a shared layer, and no attention: what each system is laid beside."""
TURNED: dict[Verdict, Verdict] = {"left": "right", "right": "left"}


def by_name(found: Comparison) -> dict[tuple[str, str, str], PairedPart]:
    """Rows by place, group and name."""
    return {(section.stack, section.group.slug, row.name): row for section in found.sections for row in section.rows}


def verdicts(found: Comparison, place: str = "") -> dict[tuple[str, str], Verdict]:
    return {(group, name): row.verdict for (where, group, name), row in by_name(found).items() if where == place}


@pytest.mark.parametrize("left", SYSTEMS)
def test_rows_add_up_to_both_trees_beside_each_kind_and_every_pair_is_told(left: str) -> None:
    for right in KINDS:
        result = compare.__wrapped__(left, right)
        sums = [sum(amounts) for amounts in zip(*(row.parameters for row in result.rows), strict=True)]
        assert sums == [tree(left).total, tree(right).total], (left, right)
        sums = [sum(amounts) for amounts in zip(*(section.parameters for section in result.sections), strict=True)]
        assert sums == [result.left.parameters, result.right.parameters]
        for row in result.rows:
            assert row.verdict in VERDICTS
            assert bool(row.left) == (row.verdict != "right")
            assert bool(row.right) == (row.verdict != "left")


def test_a_tree_against_itself_is_the_same_everywhere() -> None:
    for slug in SYSTEMS:
        comparison = compare(slug, slug)
        assert {row.verdict for row in comparison.rows} == {"same"}, slug
        assert all(row.parameters[0] == row.parameters[1] for row in comparison.rows)


def test_the_reversed_comparison_is_mirrored() -> None:
    for left, right in product(("bert", "gpt-2", "t5", "albert", "xlnet"), repeat=2):
        first, other = by_name(compare(left, right)), by_name(compare(right, left))
        if len(compare(left, right).left.layers) == len(compare(left, right).right.layers):
            assert first.keys() == other.keys()
        for key in first.keys() & other.keys():
            assert other[key].verdict == TURNED.get(first[key].verdict, first[key].verdict)
            assert other[key].parameters == first[key].parameters[::-1]


def test_roberta_changes_the_tables_of_bert_and_nothing_else() -> None:
    comparison = compare("bert", "roberta")
    differ = {key for key, verdict in verdicts(comparison).items() if verdict != "same"}
    assert differ == {("embeddings", name) for name in ("token embeddings", "positions, learned", "segments")}
    words = by_name(comparison)["", "embeddings", "token embeddings"]
    assert words.parameters == (30522 * 768, 50265 * 768)
    assert comparison.right.parameters - comparison.left.parameters == (50265 - 30522 + 514 - 512 + 1 - 2) * 768


def test_distilbert_halves_the_layers_and_drops_segments_and_pooler() -> None:
    comparison = compare("bert", "distilbert")
    assert {key for key, verdict in verdicts(comparison).items() if verdict == "left"} == {
        ("embeddings", "segments"),
        ("head", "pooler"),
    }
    layered = {
        verdict for (group, _), verdict in verdicts(comparison).items() if group in ("attention", "feed-forward")
    }
    assert layered == {"copies"}
    assert [side.layers[0].stored for side in (comparison.left, comparison.right)] == [12, 6]
    for section in comparison.sections:
        if section.group.slug in ("attention", "feed-forward"):
            assert section.parameters[0] == 2 * section.parameters[1]


def test_albert_factorises_its_embeddings_and_shares_its_layer() -> None:
    comparison = compare("bert", "albert")
    rows = by_name(comparison)
    assert rows["", "embeddings", "token embeddings"].parameters == (30522 * 768, 30000 * 128)
    projection = rows["", "embeddings", "projection to the hidden size"]
    assert projection.verdict == "right"
    assert projection.parameters == (0, 128 * 768 + 768)
    assert rows["", "attention", "queries"].verdict == "copies"
    assert comparison.right.layers[0].stored == 1
    assert comparison.right.layers[0].used == 12


def test_llama_against_gpt_2() -> None:
    comparison = compare("gpt-2", "llama")
    rows = by_name(comparison)
    assert rows["", "embeddings", "positions, learned"].verdict == "left"
    assert rows["", "embeddings", "positions, rotary"].verdict == "right"
    assert rows["", "embeddings", "positions, rotary"].parameters == (0, 0)
    assert rows["", "feed-forward", "gate"].verdict == "right"
    norm = rows["", "attention", "norm"]
    assert norm.verdict == "kind"
    assert "layer norm in GPT-2, RMS norm in Llama" in norm.remarks
    joined = rows["", "attention", "queries, keys, values"]
    assert joined.verdict == "fused"
    assert "GPT-2 stores 3 of these in one matrix" in joined.remarks
    assert joined.parameters == (12 * (768 * 2304 + 2304), 32 * 3 * 4096 * 4096)
    assert rows["", "head", "output matrix"].parameters == (0, 32000 * 4096)


def test_t5_has_a_decoder_and_distances_beside_bert() -> None:
    comparison = compare("bert", "t5")
    only = {(place, group) for (place, group, _), row in by_name(comparison).items() if row.verdict != "right"}
    assert all(place != "Decoder" for place, _ in only)
    cross = [section for section in comparison.sections if section.group.slug == "cross"]
    assert [section.stack for section in cross] == ["Decoder"]
    assert cross[0].parameters == (0, 6 * (4 * 512 * 512 + 512))
    bias = by_name(comparison)["Encoder", "attention", "relative-position terms"]
    assert bias.verdict == "right"
    assert bias.parameters == (0, 32 * 8)
    # the one table that both stacks share is laid beside BERT's
    assert by_name(comparison)["Encoder", "embeddings", "token embeddings"].parameters == (30522 * 768, 32128 * 512)


def test_matrices_stored_the_other_way_round_are_the_same() -> None:
    result = by_name(compare("bert", "gpt-2"))
    assert result["", "feed-forward", "up projection"].verdict == "same"
    assert "stored as inputs × outputs in GPT-2" in result["", "feed-forward", "up projection"].remarks
    assert result["", "attention", "norm"].verdict == "moved"
    assert "after the sum in BERT, before the sub-layer in GPT-2" in result["", "attention", "norm"].remarks
    # three matrices of BERT's hold just the numbers of GPT-2's one
    assert len(set(result["", "attention", "queries, keys, values"].parameters)) == 1


def test_unknown_parts_meet_by_name() -> None:
    def network(width: int) -> ModuleNode:
        odd = ModuleNode("gizmo", "Gizmo", "", tensors=(("weight", (3, width)),)).counted()
        return ModuleNode("", "Novel", "", children=(odd,)).counted()

    (section,) = align(network(4), network(5))
    assert [(row.name, row.verdict, row.parameters) for row in section.rows] == [("gizmo", "size", (12, 15))]


def test_unknown_systems_and_sizes_are_sentences() -> None:
    with pytest.raises(UnknownSystem):
        compare("bert", "bird")
    with pytest.raises(OutOfRange, match="no size"):
        compare("bert", "albert", "enormous")


def test_the_table_has_every_parameter() -> None:
    *rows, total = comparison_table(compare("bert", "t5"))
    for side in ("BERT base", "T5 small"):
        assert sum(row[side] for row in rows) == total[side] == anatomy.tree(side.split()[0].lower()).total
    assert total["Difference"] == sum(row["Difference"] for row in rows)
    assert {"BERT base", "BERT base again"} < comparison_table(compare("bert", "bert"))[0].keys()


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
        stored = pieces(root)
        tensors = sorted((piece.path, name) for piece in stored for name, _ in piece.tensors)
        assert tensors == sorted((path, name) for path, node, _ in root.walk() for name, _ in node.tensors)
        assert sum(piece.parameters for piece in stored) == root.total
        assert [piece.path for piece in stored if piece.part.group == meaning.OTHER] == [], f"{slug} {size.name}"


@pytest.mark.parametrize("slug", SYSTEMS)
def test_the_page_of_blocks_agrees(slug: str) -> None:
    """Its table of modules is written for running models; rules beside it must give one module the same meaning."""
    compared = 0
    for kind in ("masked-lm", "causal-lm", "seq2seq-lm"):
        try:
            shown = modules.shown_modules(slug, None, FAMILIES[kind])
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


def test_pre_and_post_norm() -> None:
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
    first, other = pieces(root)
    assert (first.part.group, first.part.name, first.parameters) == ("other", "#.gizmo", 12)
    assert (other.part.group, other.part.name, other.parameters) == ("other", "#.gizmo.twist", 5)


def test_the_longest_name_decides() -> None:
    layer = (("", "X"), ("encoder", "BertEncoder"), ("layer", "ModuleList"), ("0", "BertLayer"))
    assert meaning.meaning((*layer, ("output", "BertOutput"), ("dense", "Linear"))).slugs == ("out",)
    steps = (*layer, ("attention", "BertAttention"), ("output", "BertSelfOutput"), ("dense", "Linear"))
    assert meaning.meaning(steps).group == "attention"


def test_a_path_of_the_table_of_blocks_stands_below_a_base_model_and_in_no_list() -> None:
    base = (("", "LlamaForCausalLM"), ("model", "LlamaModel"), ("norm", "LlamaRMSNorm"))
    assert (meaning.meaning(base).group, meaning.meaning(base).slugs) == ("end", ("norm",))
    inside = (("", "Novel"), ("layers", "ModuleList"), ("0-11", "Box"), ("norm", "LayerNorm"))
    assert meaning.meaning(inside).group == meaning.OTHER


def test_an_output_that_adapters_wrap_is_still_the_output() -> None:
    path = ("encoder", "layer", "0-11", "attention", "output", "output", "dense")
    part = meaning.meaning((("", "AdapterBert"), *((name, "Module") for name in path)))
    assert (part.group, part.slugs) == ("attention", ("output",))


def modules_and_tensors(node: ModuleNode, steps: tuple[meaning.Step, ...]) -> Iterator[tuple[meaning.Step, ...]]:
    """The paths whose meaning is asked for, a tensor's own name the last step."""
    yield from ((*steps, (name, "")) if name not in meaning.PLAIN else steps for name, _ in node.tensors)
    if not node.tensors and not node.children:
        yield steps
    for child in node.children:
        yield from modules_and_tensors(child, (*steps, (child.name, child.cls)))


def test_no_rule_says_what_the_table_of_blocks_says() -> None:
    """A rule of ``meaning.toml`` decides what the table leaves out, or calls something else."""
    roots = [tree(slug, size.name) for slug in SYSTEMS for size in catalogue.get(slug).sizes]
    needed: dict[tuple[str, ...], bool] = {}
    for path in {path for root in roots for path in modules_and_tensors(root, (("", root.cls),))}:
        rule, place = meaning.rule_of(path), meaning.path_of(path)
        if rule is not None:
            explanation = meaning.blocks().get(place or ())
            needed[rule] = needed.get(rule, False) or explanation != meaning.rules()[rule]
    rows = tomllib.loads(meaning.TEXTS.read_text(encoding="utf-8"))["part"]
    names = {name for row in rows for key in ("names", "anywhere") for name in row.get(key, ())}
    for name in names:
        steps = tuple(name.split("."))
        deciding = [rule for rule in needed if rule[-len(steps) :] == steps]
        assert not deciding or any(needed[rule] for rule in deciding), name
