"""A wide sweep of architectures that a host may add: as the library has them, or refused in a sentence.

Relatives of what comes with the app hold what that holds; of others the calls of attention are read, or nothing is.
Not among the tests of every change: ``python -m pytest tests/nightly``.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from core import checkpoints
from core.attention.ablation.ablate import heads_of, switch_off
from core.attention.architectures import layout
from core.attention.architectures.layout import ADAPTERS, listed
from core.attention.architectures.vectors import each, vectors
from core.attention.capture import capture
from core.attention.generated import continued
from core.attention.inside import blueprint
from core.attention.inside.block import block
from core.attention.inside.lens import lens, trajectory
from core.attention.trace import AttentionMap
from core.attention.word_maps import look
from core.checkpoints.spec import Checkpoint
from core.errors import AtlasError, NoAttentionMatrix
from core.vectors import positions
from core.vectors.nearest import table
from core.vectors.reading import read
from tests import tinyfamilies
from tests import tinyhosts as tiny
from tests.parity import test_ablate, test_block, test_block_wiring, test_lens, test_twin, test_vectors
from tests.parity.test_attention_hooks import check_heads, check_maps, check_scores
from tests.parity.test_vectors import inputs_of
from tests.tinyfamilies import PLAIN, POSITIONS, text_for, tokenizer_of

_GPT: dict[str, Any] = {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": POSITIONS}
_STATE = tiny.SHARED | {
    "mamba_n_heads": 4,
    "mamba_d_head": 8,
    "mamba_d_state": 4,
    "mamba_d_conv": 2,
    "mamba_expand": 2,
    "mamba_chunk_size": 4,
}
_SEES = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 8,
    "patch_size": 4,
}
_GEMMA = tiny.IN_TURN | {"query_pre_attn_scalar": 7}
_GEMMA_N = tiny.IN_TURN | {"vocab_size_per_layer_input": 2_000, "hidden_size_per_layer_input": 4}
_PROPHETNET: dict[str, Any] = {
    "hidden_size": 16,
    "num_encoder_layers": 2,
    "num_decoder_layers": 2,
    "num_encoder_attention_heads": 4,
    "num_decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 20,
    "ngram": 2,
    "num_buckets": 8,
    "max_position_embeddings": POSITIONS,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 1,
    "decoder_start_token_id": 1,
}
_FUNNEL: dict[str, Any] = {
    "block_sizes": [2, 1, 1],
    "block_repeats": [1, 2, 1],
    "num_decoder_layers": 2,
    "d_model": 16,
    "n_head": 2,
    "d_head": 6,
    "d_inner": 24,
    "pad_token_id": 0,
}
_LONG = tiny.BART | {"block_size": 4, "max_position_embeddings": 128}
_LONGT5 = tiny.T5 | {"num_decoder_layers": 2, "local_radius": 3, "global_block_size": 4}
ENCODERS: dict[str, dict[str, Any]] = {
    "esm": tiny.PADDED | {"mask_token_id": 4, "position_embedding_type": "rotary", "token_dropout": True},
    "esm-absolute": tiny.PADDED | {"mask_token_id": 4, "emb_layer_norm_before": True},
    "eurobert": tiny.SHARED,
    "gte": tiny.WIDTHS,
    "jina_embeddings_v3": tiny.WIDTHS,
    "layoutlm": tiny.WIDTHS,
    "mobilebert": tiny.WIDTHS | {"intra_bottleneck_size": 16, "embedding_size": 8},
    "roberta-prelayernorm": tiny.PADDED,
    "roc_bert": tiny.WIDTHS | {"pronunciation_vocab_size": 300, "shape_vocab_size": 300},
    "xlm-roberta-xl": tiny.PADDED,
    "xmod": tiny.PADDED | {"languages": ["en_XX"], "default_language": "en_XX"},
    "esmc": tiny.WIDTHS,
}
DECODERS: dict[str, dict[str, Any]] = {
    "apertus": tiny.SHARED,
    "arcee": tiny.WIDER,
    "biogpt": tiny.WIDTHS,
    "bitnet": tiny.SHARED,
    "cohere": tiny.SHARED | {"use_qk_norm": True},
    "cohere2": tiny.IN_TURN,
    "ernie4_5": tiny.SHARED,
    "ernie4_5_moe": tiny.EXPERTS | {"moe_num_experts": 2, "moe_k": 1, "moe_num_shared_experts": 1},
    "exaone4": tiny.IN_TURN | {"sliding_window_pattern": 2},
    "flex_olmo": tiny.EXPERTS,
    "glm": tiny.WIDER | {"partial_rotary_factor": 0.5, "head_dim": 8},
    "glm4": tiny.WIDER | {"partial_rotary_factor": 0.5, "head_dim": 8},
    "gpt_bigcode": _GPT | {"n_inner": 24},
    "gpt_bigcode-every": _GPT | {"n_inner": 24, "multi_query": False, "scale_attn_weights": False},
    "granite": tiny.SHARED | {"attention_multiplier": 0.3},
    "granitemoe": tiny.EXPERTS | {"attention_multiplier": 0.3},
    "helium": tiny.SHARED | {"head_dim": 4},
    "mellum": tiny.EXPERTS | {"head_dim": 4},
    "mixtral": tiny.EXPERTS,
    "modernbert-decoder": tiny.WIDTHS | {"local_attention": 8, "num_hidden_layers": 3, "head_dim": 4},
    "nemotron": tiny.WIDER | {"partial_rotary_factor": 0.5, "head_dim": 4},
    "olmo": tiny.SHARED | {"clip_qkv": 0.5},
    "olmoe": tiny.EXPERTS | {"clip_qkv": 0.5},
    "persimmon": tiny.WIDTHS | {"qk_layernorm": True, "partial_rotary_factor": 0.5, "hidden_size": 32},
    "phimoe": tiny.EXPERTS,
    "qwen2_moe": tiny.EXPERTS,
    "qwen3_moe": tiny.EXPERTS | {"head_dim": 6},
    "stablelm": tiny.SHARED | {"qk_layernorm": True, "hidden_size": 32, "partial_rotary_factor": 0.5},
    "starcoder2": tiny.SHARED | {"sliding_window": 5},
    "vaultgemma": tiny.IN_TURN | {"attn_logit_softcapping": 2.0, "query_pre_attn_scalar": 7},
    "afmoe": tiny.EXPERTS | {"head_dim": 4},
    "bamba": _STATE | {"attn_layer_indices": [1]},
    "deepseek_v2": tiny.LATENT | {"topk_method": "group_limited_greedy"},
    "doge": tiny.SHARED,
    "exaone_moe": tiny.EXPERTS,
    "falcon_h1": _STATE | {"head_dim": 4, "mamba_d_ssm": 32},
    "flint": tiny.EXPERTS | {"head_dim": 4},
    "gemma3": {"text_config": _GEMMA, "vision_config": _SEES},
    "gemma4_text": _GEMMA_N | {"global_head_dim": 8},
    "glm4_moe": tiny.EXPERTS | {"n_routed_experts": 2, "first_k_dense_replace": 1},
    "granite_swa": tiny.IN_TURN,
    "granitemoehybrid": _STATE
    | {
        "layer_types": ["mamba", "attention"],
        "num_local_experts": 2,
        "num_experts_per_tok": 1,
        "shared_intermediate_size": 12,
        "attention_multiplier": 0.3,
    },
    "hrm_text": tiny.WIDTHS | {"num_hidden_layers": 1, "H_cycles": 1, "L_cycles": 2},
    "hunyuan_v1_dense": tiny.WIDER,
    "inkling_text": tiny.SHARED
    | {
        "head_dim": 4,
        "swa_num_attention_heads": 4,
        "swa_num_key_value_heads": 2,
        "swa_head_dim": 6,
        "d_rel": 2,
        "rel_extent": 8,
        "sliding_window_size": 5,
        "layer_types": ["hybrid_sliding", "hybrid"],
    },
    "jais2": tiny.SHARED,
    "jamba": tiny.EXPERTS
    | {"attn_layer_period": 2, "attn_layer_offset": 1, "mamba_d_state": 4, "mamba_d_conv": 2, "mamba_dt_rank": 2},
    "kimi_linear": tiny.LATENT
    | {
        "linear_head_dim": 4,
        "linear_num_heads": 2,
        "linear_conv_kernel_dim": 2,
        "topk_group": 1,
        "num_local_experts": 4,
        "layer_types": ["linear_attention", "full_attention"],
        "mlp_layer_types": ["dense", "sparse"],
    },
    "lfm2": tiny.SHARED | {"layer_types": ["conv", "full_attention"], "block_auto_adjust_ff_dim": False},
    "llama4_text": tiny.SHARED
    | {
        "head_dim": 4,
        "attention_chunk_size": POSITIONS,
        "num_local_experts": 2,
        "intermediate_size_mlp": 24,
        "no_rope_layers": [1, 0],
        "layer_types": ["chunked_attention", "full_attention"],
    },
    "mimo_v2_flash": tiny.EXPERTS
    | {"head_dim": 6, "v_head_dim": 4, "sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"]},
    "minicpm3": tiny.LATENT,
    "minimax_m2": tiny.EXPERTS | {"head_dim": 4},
    "nemotron_h": tiny.SHARED
    | {
        "head_dim": 4,
        "mamba_num_heads": 4,
        "mamba_head_dim": 4,
        "ssm_state_size": 4,
        "chunk_size": 4,
        "n_groups": 1,
        "conv_kernel": 2,
        "n_routed_experts": 2,
        "num_experts_per_tok": 1,
        "moe_intermediate_size": 12,
    },
    "olmo_hybrid": tiny.MIXED,
    "qwen3_5_text": tiny.MIXED,
    "recurrent_gemma": tiny.SHARED
    | {
        "num_hidden_layers": 3,
        "attention_window_size": 5,
        "block_types": ["recurrent", "recurrent", "attention"],
        "lru_width": 16,
    },
    "zamba2": tiny.WIDTHS
    | {
        "num_hidden_layers": 5,
        "layers_block_type": ["mamba", "hybrid", "mamba", "hybrid", "hybrid"],
        "layer_types": ["mamba", "hybrid", "mamba", "hybrid", "hybrid"],
        "mamba_d_state": 4,
        "mamba_d_conv": 2,
        "n_mamba_heads": 2,
        "chunk_size": 4,
        "num_mem_blocks": 2,
        "use_mem_rope": True,
        "adapter_rank": 2,
        "use_shared_attention_adapter": True,
    },
}
BOTH: dict[str, dict[str, Any]] = {
    "blenderbot-small": tiny.BART,
    "nllb-moe": tiny.BART | {"num_experts": 2, "encoder_sparse_step": 2, "decoder_sparse_step": 2},
    "switch_transformers": tiny.T5 | {"num_experts": 2, "num_sparse_encoder_layers": 0, "num_sparse_decoder_layers": 0},
}
READ = {
    **tiny.named("encoder", "masked-lm", ENCODERS),
    **tiny.named("decoder", "causal-lm", DECODERS),
    **tiny.named("both", "seq2seq-lm", BOTH),
}
UNREAD = {
    **tiny.named(
        "encoder",
        "masked-lm",
        {
            "deberta": tiny.WIDTHS | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
            "convbert-one": tiny.WIDTHS | {"embedding_size": 8, "head_ratio": 8, "conv_kernel_size": 3},
            "funnel": _FUNNEL,
            "ibert": tiny.PADDED,
            "nystromformer": tiny.WIDTHS | {"conv_kernel_size": 3},
            "roformer": tiny.WIDTHS | {"embedding_size": 8},
            "squeezebert": tiny.WIDTHS | {"embedding_size": 16, "q_groups": 2, "k_groups": 2, "v_groups": 4},
            "yoso": tiny.WIDTHS,
        },
    ),
    **tiny.named(
        "decoder",
        "causal-lm",
        {
            "codegen": _GPT | {"n_embd": 32, "n_head": 8, "rotary_dim": 2, "n_ctx": POSITIONS},
            "falcon": tiny.WIDTHS,
            "falcon-sloped": tiny.WIDTHS | {"alibi": True, "multi_query": False, "parallel_attn": False, "bias": True},
            "gpt_neox_japanese": tiny.WIDTHS | {"rotary_pct": 0.5},
            "mpt": {"d_model": 16, "n_heads": 4, "n_layers": 2, "max_seq_len": POSITIONS, "expansion_ratio": 2},
        },
    ),
    **tiny.named(
        "both",
        "seq2seq-lm",
        {
            "fsmt": {name: value for name, value in tiny.BART.items() if name != "bos_token_id"}
            | {"langs": ["en", "de"]},
            "led": {name: value for name, value in tiny.BART.items() if name != "max_position_embeddings"}
            | {"attention_window": [4, 6], "max_encoder_position_embeddings": 128},
            "longt5": _LONGT5,
            "pegasus_x": _LONG | {"num_global_tokens": 3, "encoder_layers": 3},
            "prophetnet": _PROPHETNET,
        },
    ),
}


def made(name: str) -> Checkpoint:
    if name in tiny.HOOKED or name in tiny.UNREAD:
        return tiny.make(name)
    return tiny.build(name, *(READ | UNREAD)[name], eager=name not in ("encoder nystromformer", "encoder yoso"))


OF_HEADS = (
    test_ablate.test_a_head_off_is_its_columns_at_zero,
    test_twin.test_a_twin_answers_as_the_shared_model_and_shares_its_numbers,
    test_vectors.test_factor_times_query_times_key_is_the_score_where_it_is_said_to_be,
    test_vectors.test_the_softmax_of_the_scores_is_what_the_model_attends_to,
)
OF_BLOCKS = (
    test_block.test_every_step_follows_from_those_before_it,
    test_block.test_norms_are_the_models_own,
    test_block.test_the_last_step_is_the_librarys_state,
    test_block_wiring.test_every_letter_of_a_formula_is_named,
    test_block_wiring.test_lines_run_down_where_no_step_stands,
    test_block_wiring.test_sums_and_terms_are_those_of_their_sources,
    test_block_wiring.test_where_norms_stand_is_what_the_architecture_says,
    test_lens.test_each_reading_is_the_answer_of_a_model_cut_off_there,
)


@pytest.mark.parametrize("name", tinyfamilies.RELATIVES)
def test_relatives_hold_what_holds_of_the_bundled(name: str) -> None:
    checkpoint = tinyfamilies.make(name)
    for check in OF_HEADS:
        check(name)
    if all(stack.type in blueprint.TABLE for stack in layout.stacks(checkpoint)):
        for check in OF_BLOCKS:
            check(name)
        return
    with pytest.raises(NoAttentionMatrix, match="cannot be shown step by step"):
        block(checkpoint, PLAIN, 0)
    with pytest.raises(AtlasError, match="no head that can be put after each layer"):
        lens(checkpoint, text_for(checkpoint))


def test_every_architecture_of_the_tables_is_tested() -> None:
    tried = {
        stack.type
        for name in (*tinyfamilies.FAMILIES, *tinyfamilies.RELATIVES)
        for stack in layout.stacks(tinyfamilies.make(name))
    }
    assert set(blueprint.TABLE) <= set(layout.TABLE) <= tried | {ADAPTERS}


@pytest.mark.parametrize("name", [*tiny.HOOKED, *READ])
def test_queries_keys_and_heads_are_the_librarys(name: str) -> None:
    checkpoint = made(name)
    assert not listed(checkpoint)
    check_scores(checkpoint)
    check_maps(checkpoint)
    if name != "decoder bitnet":  # it norms what all heads together made before the projection reads it
        check_heads(checkpoint)


@pytest.mark.parametrize("name", [*tiny.UNREAD, *UNREAD])
def test_what_is_not_read_has_a_map_or_a_sentence(name: str) -> None:
    checkpoint = made(name)
    target = "The dog sat." if checkpoint.spec.kind == "seq2seq-lm" else None
    try:
        maps = capture(checkpoint, PLAIN, target=target).maps
    except NoAttentionMatrix:
        maps = ()
    for found in maps:
        sums = found.weights.sum(-1)
        assert found.weights.min() >= 0
        assert np.abs(sums - 1).max() < 1e-2 or "Rows" in found.note
    for run in (
        lambda: capture(checkpoint, PLAIN, target=target, vectors=True),
        lambda: heads_of(checkpoint),
        lambda: switch_off(checkpoint, text_for(checkpoint)),
        lambda: block(checkpoint, text_for(checkpoint), 0),
    ):
        with pytest.raises(NoAttentionMatrix):
            run()
    for go in (lens, look):
        with suppress(AtlasError):
            go(checkpoint, text_for(checkpoint))  # type: ignore[operator]


@pytest.mark.parametrize("name", [*tiny.HOOKED, *tiny.UNREAD])
def test_every_view_has_an_answer_or_a_sentence(name: str) -> None:
    checkpoint = made(name)
    text = text_for(checkpoint)
    views: list[Callable[[], object]] = [
        lambda: trajectory(checkpoint, text),
        lambda: look(checkpoint, PLAIN),
        lambda: read(checkpoint, PLAIN),
        lambda: positions.distance_terms(checkpoint, PLAIN),
        lambda: positions.position_embeddings(checkpoint),
        lambda: positions.rotary_vectors(checkpoint, PLAIN),
        lambda: table(checkpoint),
        lambda: continued(checkpoint, PLAIN, 3) if checkpoint.spec.kind == "causal-lm" else None,
    ]
    for view in views:
        try:
            view()
        except AtlasError as error:
            assert str(error).endswith("."), error  # noqa: PT017


def test_heads_of_one_model_may_differ_in_width() -> None:
    """Layers of a Gemma 4 that see all have wider heads; zeros fill up the others and change no product."""
    checkpoint = made("decoder gemma4_text")
    found = vectors(checkpoint, inputs_of(checkpoint))["decoder"]
    near, far = (met for _, met in each(checkpoint, inputs_of(checkpoint))["decoder"])
    assert (near.query.shape[-1], far.query.shape[-1]) == (6, 8)
    assert found.queries.shape == found.keys.shape == (2, 4, 14, 8)
    assert np.abs(found.queries[0, :, :, :6]).min() > 0
    assert not found.queries[0, :, :, 6:].any()
    np.testing.assert_allclose(
        found.queries[0] @ found.keys[0].transpose(0, 2, 1) * found.factor[0], near.terms["content"], atol=1e-5
    )


def test_the_decoder_of_an_encoder_decoder_alone_shows_all_its_layers() -> None:
    """What such a configuration calls the number of layers is that of the encoder which is not there."""
    made = tinyfamilies.make("pegasus")
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
    made = tiny.build("both bigbird_pegasus", "seq2seq-lm", tiny.BART | blocks)
    made.model.save_pretrained(tmp_path / "pegasus")
    made.tokenizer.save_pretrained(tmp_path / "pegasus")
    use_checkpoints(tmp_path)
    checkpoint = checkpoints.load("dir-pegasus")
    assert checkpoint.model.model.encoder.attention_type == "original_full"
    short = capture(checkpoint, "The cat sat.", target="The dog.")
    assert short.encoder is not None
    assert (short.encoder.weights > 0).all()
    assert checkpoint.model.model.encoder.attention_type == "original_full"


_SMALL: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 4,
    "intermediate_size": 24,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
    "bos_token_id": 0,
    "eos_token_id": None,
}
_WINDOW = _SMALL | {"sliding_window": 8}
_EXPERTS = {"num_local_experts": 2, "num_experts_per_tok": 1}
_JAMBA = {
    "attn_layer_offset": 1,
    "attn_layer_period": 2,
    "num_experts": 2,
    "mamba_d_state": 4,
    "mamba_dt_rank": 2,
    "use_mamba_kernels": False,
}
UNUSUAL = {
    "gemma2": _WINDOW,
    "gemma3_text": _WINDOW | {"layer_types": ["sliding_attention", "full_attention"] * 2},
    "mistral": _WINDOW,
    "gpt_oss": _WINDOW | _EXPERTS,
    "recurrent_gemma": _SMALL | {"num_key_value_heads": 1, "lru_width": 16, "attention_window_size": 8},
    "jamba": _SMALL | _JAMBA,
    "modernbert-decoder": _WINDOW | {"local_attention": 8},
}


def unusual(name: str) -> Checkpoint:
    return tiny.build(f"decoder {name}", "causal-lm", UNUSUAL[name])


def computed(found: AttentionMap) -> np.ndarray[Any, np.dtype[np.bool_]]:
    seen = np.True_ if found.allowed is None else found.allowed
    return np.broadcast_to(seen, found.weights.shape)


@pytest.mark.parametrize("name", UNUSUAL)
def test_what_is_not_computed_is_told_apart_and_stitched_rows_are_those_of_one_pass(name: str) -> None:
    checkpoint = unusual(name)
    found = continued(checkpoint, PLAIN, 12).decoder
    assert found is not None
    np.testing.assert_array_equal(found.weights > 0, computed(found))
    n = len(found.key_tokens)
    assert n > 16  # twice the window and more
    short = capture(checkpoint, PLAIN).decoder
    assert short is not None
    m = len(short.key_tokens)
    np.testing.assert_allclose(found.weights[:, :, :m, :m], short.weights, atol=1e-5)
    np.testing.assert_array_equal(computed(short), computed(found)[:, :, :m, :m])
    assert short.note == found.note
    again = _whole(checkpoint, len(found.weights), n)
    np.testing.assert_allclose(found.weights[:, :, m:], again[:, :, m:], atol=1e-4)
    assert look(checkpoint, PLAIN).found.note == found.note


def _whole(checkpoint: Checkpoint, layers: int, n: int) -> np.ndarray[Any, Any]:
    """(L, H, n, n) of one pass over the text and its greedy continuation."""
    from core.language.generate import generate, prompt_ids
    from core.language.types import Decoding

    steps = list(generate(checkpoint, PLAIN, Decoding(max_new_tokens=13), with_attention=False))
    ids = [*prompt_ids(checkpoint, PLAIN), *(step.token.id for step in steps)][:n]
    with torch.inference_mode():
        out = checkpoint.model(input_ids=torch.tensor([ids]), output_attentions=True, use_cache=False)
    kept = [layer[0].float().numpy() for layer in out.attentions if layer is not None]
    assert len(kept) == layers
    return np.stack(kept)


def test_a_griffin_s_shared_modules_keep_no_state_of_a_visitor() -> None:
    checkpoint = unusual("recurrent_gemma")
    continued(checkpoint, PLAIN, 3)
    states = [getattr(module, "conv1d_state", None) for module in checkpoint.model.modules()]
    assert not [state for state in states if state is not None]


def test_notes_say_which_layers_are_shown_and_where_the_rest_of_a_row_went() -> None:
    jamba = continued(unusual("jamba"), PLAIN, 6).decoder
    assert jamba is not None
    assert jamba.layers == 2
    assert jamba.note.startswith("Layers 1 to 2 here are the model's layers 2 and 4, of 4")
    griffin = capture(unusual("recurrent_gemma"), PLAIN).decoder
    assert griffin is not None
    assert griffin.note.startswith("Layer 1 here is layer 3, of 4")
    sinks = capture(unusual("gpt_oss"), PLAIN).decoder
    assert sinks is not None
    assert sinks.weights.sum(-1).max() < 1
    assert sinks.note.startswith("Rows sum to less than one: every head has a sink")
    assert capture(unusual("mistral"), PLAIN).decoder.note == ""  # type: ignore[union-attr]


def test_modernberts_windows_are_what_the_library_computes() -> None:
    settings = _SMALL | {"local_attention": 6, "num_hidden_layers": 4}
    found = capture(tiny.build("encoder modernbert", "masked-lm", settings), PLAIN).encoder
    assert found is not None
    seen = computed(found)
    np.testing.assert_array_equal(found.weights > 0, seen)
    assert [bool(layer.all()) for layer in seen] == [True, False, False, True]
    assert np.flatnonzero(seen[1, 0, 6]).tolist() == [3, 4, 5, 6, 7, 8, 9]
    assert found.note == (
        "2 of 4 layers see 3 tokens on each side and compute nothing beyond; the others attend to the whole text."
    )
    everywhere = capture(tinyfamilies.make("bert"), PLAIN).encoder
    assert everywhere is not None
    assert everywhere.allowed is None


def test_what_has_no_map_of_tokens_is_refused_in_a_sentence() -> None:
    settings = {"hidden_size": 16, "num_hidden_layers": 2, "attention_hidden_size": 16}
    rwkv = tiny.build("decoder rwkv", "causal-lm", settings, eager=False)
    for run in (look, capture):
        with pytest.raises(NoAttentionMatrix, match="RWKV carries a state"):
            run(rwkv, PLAIN)


def test_the_text_of_a_model_that_sees_pictures_is_mapped() -> None:
    """Its configuration holds that of its text, where the number of layers is."""
    text = {"model_type": "persimmon", **{key: value for key, value in _SMALL.items() if key != "num_key_value_heads"}}
    text["vocab_size"] = len(tinyfamilies.tokenizer_of("causal-lm"))
    checkpoint = tiny.build("decoder fuyu", "causal-lm", {"text_config": text, "patch_size": 2, "num_channels": 1})
    assert not hasattr(checkpoint.model.config, "num_hidden_layers")
    found = capture(checkpoint, PLAIN).decoder
    assert found is not None
    np.testing.assert_array_equal(found.weights > 0, computed(found))
    assert (found.layers, found.note) == (4, "")
