"""The editor's counts against transformers: every published size that it holds, and settings of a visitor's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from core import anatomy, catalogue
from core.anatomy.build import build_model, describe
from core.anatomy.roles import by_role
from core.costs.blueprint import tree, used
from core.costs.configuration import Configuration, start
from core.costs.remarks import no_editor
from core.errors import OutOfRange


def _sizes() -> list[tuple[str, str]]:
    """Every size that is a stack of attention layers over one table of words."""
    return [(s.slug, size.name) for s in catalogue.systems() for size in s.sizes if not no_editor(s.slug, size.name)]


def test_what_the_editor_refuses_has_no_attention_layers_or_two_towers() -> None:
    held = {slug for slug, _ in _sizes()}
    assert {s.slug for s in catalogue.systems() if s.sizes} - held == {"elmo", "clip", "mamba", "jamba"}
    words = [size.name for size in catalogue.get("transformer-xl").sizes if size.architecture == "TransformerXLModel"]
    assert not {("transformer-xl", name) for name in words} & set(_sizes())
    with pytest.raises(OutOfRange, match="splits its vocabulary into bins"):
        start("transformer-xl", words[0])


@pytest.mark.parametrize(("slug", "size"), _sizes())
def test_the_editor_holds_every_size_to_the_last_parameter_and_part(slug: str, size: str) -> None:
    single = tree(start(slug, size))
    assert single.parameters == anatomy.counts(slug)[size]
    assert by_role(single) == by_role(anatomy.tree(slug, size))


_NAMES = {
    "layers": "num_hidden_layers",
    "width": "hidden_size",
    "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads",
    "head_dim": "head_dim",
    "ffn": "intermediate_size",
    "vocabulary": "vocab_size",
    "positions": "max_position_embeddings",
    "segments": "type_vocab_size",
    "experts": "n_routed_experts",
    "common": "n_shared_experts",
    "active": "num_experts_per_tok",
    "inner": "moe_intermediate_size",
    "dense": "first_k_dense_replace",
    "latent": "kv_lora_rank",
    "query_latent": "q_lora_rank",
    "rope_dim": "qk_rope_head_dim",
    "value": "v_head_dim",
}
"""What most configurations of transformers call the editor's fields."""
_XLNET = _NAMES | {"layers": "n_layer", "width": "d_model", "heads": "n_head", "ffn": "d_inner"}
_T5 = {"layers": "num_layers", "decoder_layers": "num_decoder_layers", "ffn": "d_ff"}
_REFORMER = _NAMES | {"head_dim": "attention_head_size", "ffn": "feed_forward_size"}
_QWEN_MOE = _NAMES | {"experts": "num_experts"}
_DEEPSEEK = _NAMES | {"head_dim": "qk_nope_head_dim"}
_SMALL = {"layers": 2, "width": 96, "heads": 6, "ffn": 100, "vocabulary": 501}
_WIDE = {"layers": 2, "width": 256, "heads": 8, "ffn": 600, "vocabulary": 1000}
_LATENT = {
    "width": 96,
    "heads": 6,
    "kv_heads": 6,
    "ffn": 200,
    "latent": 24,
    "rope_dim": 8,
    "head_dim": 16,
    "vocabulary": 500,
}
_ROUTED = {"n_group": 2, "topk_group": 1}
_DISTANCES = {"relative_attention": True, "type_vocab_size": 0, "position_biased_input": False}


@dataclass(frozen=True)
class Own:
    """Settings of a visitor's own, and the class of transformers that they describe.

    ``both`` are set on either side, under the library's ``names``; ``editor`` and ``library`` on one side alone.
    """

    architecture: str
    config: str
    origin: tuple[str, str]
    both: dict[str, Any]
    editor: dict[str, Any] = field(default_factory=dict)
    library: dict[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=lambda: _NAMES)

    def counted(self) -> int:
        """Parameters of the class itself."""
        arguments = {self.names[name]: value for name, value in self.both.items()} | self.library
        return describe(build_model(self.architecture, self.config, arguments)).parameters

    def edited(self) -> Configuration:
        """The editor with the same settings; where none share keys and values, each head has its own."""
        values = self.both | self.editor
        alone = {} if "kv_heads" in values or "heads" not in values else {"kv_heads": values["heads"]}
        return replace(start(*self.origin), **alone | values)


_OWN: dict[str, Own] = {
    "bert": Own("BertModel", "BertConfig", ("bert", "base"), {**_SMALL, "layers": 5, "positions": 77, "segments": 3}),
    "electra": Own(
        "ElectraForPreTraining",
        "ElectraConfig",
        ("electra", "small"),
        _SMALL,
        {"embedding": 40},
        {"embedding_size": 40},
    ),
    "gemma, wide heads, tied": Own(
        "GemmaForCausalLM",
        "GemmaConfig",
        ("llama", "7B"),
        _WIDE | {"heads": 4, "kv_heads": 1, "head_dim": 96},
        {"tied": True},
    ),
    "qwen 3 with experts": Own(
        "Qwen3MoeForCausalLM",
        "Qwen3MoeConfig",
        ("qwen", "3-235B-A22B"),
        {"layers": 2, "width": 256, "heads": 8, "kv_heads": 4, "head_dim": 64, "vocabulary": 1000}
        | {"inner": 60, "experts": 5, "active": 2},
        names=_QWEN_MOE,
    ),
    "deepseek, two dense layers, three shared experts": Own(
        "DeepseekV3ForCausalLM",
        "DeepseekV3Config",
        ("deepseek-v3", "671B"),
        _LATENT
        | {
            "layers": 5,
            "inner": 40,
            "experts": 12,
            "common": 3,
            "active": 2,
            "dense": 2,
            "query_latent": 32,
            "value": 20,
        },
        library=_ROUTED,
        names=_DEEPSEEK,
    ),
    "deepseek without a latent of queries, from llama": Own(
        "DeepseekV3ForCausalLM",
        "DeepseekV3Config",
        ("llama", "7B"),
        _LATENT | {"layers": 3},
        {},
        _ROUTED
        | {"moe_intermediate_size": 40, "n_routed_experts": 8, "n_shared_experts": 1, "num_experts_per_tok": 2}
        | {"first_k_dense_replace": 3, "q_lora_rank": None, "v_head_dim": 16},
        _DEEPSEEK,
    ),
    "deberta 3": Own(
        "DebertaV2Model",
        "DebertaV2Config",
        ("deberta", "v3-small"),
        _SMALL,
        {"positions": 30},
        _DISTANCES
        | {"position_buckets": 30, "norm_rel_ebd": "layer_norm", "share_att_key": True, "pos_att_type": ["p2c", "c2p"]},
    ),
    "xlnet": Own("XLNetLMHeadModel", "XLNetConfig", ("xlnet", "base"), _SMALL, names=_XLNET),
    "reformer": Own(
        "ReformerModelWithLMHead",
        "ReformerConfig",
        ("reformer", "crime-and-punishment"),
        {"width": 96, "heads": 3, "head_dim": 20, "ffn": 100, "vocabulary": 50, "positions": 32},
        {"layers": 5, "axial": 4, "hashed": 2},
        {"attn_layers": ["local", "lsh", "local", "lsh", "local"], "num_buckets": 4, "is_decoder": True}
        | {"axial_pos_shape": [4, 8], "axial_pos_embds_dim": [24, 72]},
        _REFORMER,
    ),
    "t5 with a gate": Own(
        "T5ForConditionalGeneration",
        "T5Config",
        ("t5", "small"),
        {"layers": 3, "decoder_layers": 2, "ffn": 700},
        {"gated": True},
        {"feed_forward_proj": "gated-gelu"},
        _T5,
    ),
}


@pytest.mark.parametrize("name", _OWN)
def test_settings_of_one_s_own_count_as_the_library_counts(name: str) -> None:
    assert tree(_OWN[name].edited()).parameters == _OWN[name].counted()


def test_what_a_token_uses_is_what_the_records_computed() -> None:
    assert used(start("deepseek-v3")) == 37_552_282_624
    assert used(start("qwen", "3-235B-A22B")) == 22_190_763_520
    mixtral = start("mistral").changed(experts=8)
    each = 3 * 4096 * 14336
    assert tree(mixtral).parameters == tree(start("mistral")).parameters + 32 * (7 * each + 8 * 4096) == 46_702_792_704
    assert used(mixtral) == 46_702_792_704 - 32 * 6 * each
    shared = mixtral.changed(shared=True)
    assert used(shared) == tree(shared).parameters - 6 * each
    mixture = start("t5").changed(experts=4, active=1)
    assert used(mixture) == tree(mixture).parameters - 3 * 12 * 2 * 512 * 2048
