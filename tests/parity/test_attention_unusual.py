"""Tiny models as a host may add them: captured rightly or refused in a sentence, never a traceback or a wrong map."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers

from core.attention.capture import capture
from core.attention.generated import continued
from core.attention.trace import AttentionMap, AttentionTrace
from core.attention.word_maps import look
from core.checkpoints.families.family import Kind
from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.errors import NoAttentionMatrix
from tests import tinyfamilies

TEXT = "The cat sat on the mat and looked at the dog."
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
DECODERS = {
    "gemma2": _WINDOW,
    "gemma3_text": _WINDOW | {"layer_types": ["sliding_attention", "full_attention"] * 2},
    "mistral": _WINDOW,
    "gpt_oss": _WINDOW | _EXPERTS,
    "recurrent_gemma": _SMALL | {"num_key_value_heads": 1, "lru_width": 16, "attention_window_size": 8},
    "jamba": _SMALL | _JAMBA,
    "modernbert-decoder": _WINDOW | {"local_attention": 8},
}


def made(name: str, kind: Kind = "causal-lm", **settings: Any) -> Checkpoint:
    tokenizer = tinyfamilies.tokenizer_of(kind)
    auto = {
        "masked-lm": transformers.AutoModelForMaskedLM,
        "causal-lm": transformers.AutoModelForCausalLM,
        "seq2seq-lm": transformers.AutoModelForSeq2SeqLM,
    }[kind]
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(name, **settings, vocab_size=len(tokenizer))
    eager = {} if name == "rwkv" else {"attn_implementation": "eager"}
    model = auto.from_config(config, **eager).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.3)
    model.requires_grad_(False)
    spec = CheckpointSpec(name, name, None, "decoder", kind, "directory", "a test", "-", True)
    return Checkpoint(model, tokenizer, spec)


def computed(found: AttentionMap) -> np.ndarray[Any, np.dtype[np.bool_]]:
    seen = np.True_ if found.allowed is None else found.allowed
    return np.broadcast_to(seen, found.weights.shape)


@pytest.mark.parametrize("name", DECODERS)
def test_what_is_not_computed_is_told_apart_and_stitched_rows_are_those_of_one_pass(name: str) -> None:
    checkpoint = made(name, **DECODERS[name])
    found = continued(checkpoint, TEXT, 12).decoder
    assert found is not None
    np.testing.assert_array_equal(found.weights > 0, computed(found))
    n = len(found.key_tokens)
    assert n > 16  # twice the window and more
    short = capture(checkpoint, TEXT).decoder
    assert short is not None
    m = len(short.key_tokens)
    np.testing.assert_allclose(found.weights[:, :, :m, :m], short.weights, atol=1e-5)
    np.testing.assert_array_equal(computed(short), computed(found)[:, :, :m, :m])
    assert short.note == found.note
    again = _whole(checkpoint, len(found.weights), n)
    np.testing.assert_allclose(found.weights[:, :, m:], again[:, :, m:], atol=1e-4)
    assert look(checkpoint, TEXT).found.note == found.note


def _whole(checkpoint: Checkpoint, layers: int, n: int) -> np.ndarray[Any, Any]:
    """(L, H, n, n) of one pass over the text and its greedy continuation."""
    from core.language.generate import generate, prompt_ids
    from core.language.types import Decoding

    steps = list(generate(checkpoint, TEXT, Decoding(max_new_tokens=13), with_attention=False))
    ids = [*prompt_ids(checkpoint, TEXT), *(step.token.id for step in steps)][:n]
    with torch.inference_mode():
        out = checkpoint.model(input_ids=torch.tensor([ids]), output_attentions=True, use_cache=False)
    kept = [layer[0].float().numpy() for layer in out.attentions if layer is not None]
    assert len(kept) == layers
    return np.stack(kept)


def test_a_griffin_s_shared_modules_keep_no_state_of_a_visitor() -> None:
    checkpoint = made("recurrent_gemma", **DECODERS["recurrent_gemma"])
    continued(checkpoint, TEXT, 3)
    states = [getattr(module, "conv1d_state", None) for module in checkpoint.model.modules()]
    assert not [state for state in states if state is not None]


def test_notes_say_which_layers_are_shown_and_where_the_rest_of_a_row_went() -> None:
    jamba = continued(made("jamba", **DECODERS["jamba"]), TEXT, 6).decoder
    assert jamba is not None
    assert jamba.layers == 2
    assert jamba.note.startswith("Layers 1 to 2 here are the model's layers 2 and 4, of 4")
    griffin = capture(made("recurrent_gemma", **DECODERS["recurrent_gemma"]), TEXT).decoder
    assert griffin is not None
    assert griffin.note.startswith("Layer 1 here is layer 3, of 4")
    sinks = capture(made("gpt_oss", **DECODERS["gpt_oss"]), TEXT).decoder
    assert sinks is not None
    assert sinks.weights.sum(-1).max() < 1
    assert sinks.note.startswith("Rows sum to less than one: every head has a sink")
    assert capture(made("mistral", **DECODERS["mistral"]), TEXT).decoder.note == ""  # type: ignore[union-attr]


def test_modernberts_windows_are_what_the_library_computes() -> None:
    settings = _SMALL | {"local_attention": 6, "num_hidden_layers": 4}
    found = capture(made("modernbert", "masked-lm", **settings), TEXT).encoder
    assert found is not None
    seen = computed(found)
    np.testing.assert_array_equal(found.weights > 0, seen)
    assert [bool(layer.all()) for layer in seen] == [True, False, False, True]
    assert np.flatnonzero(seen[1, 0, 6]).tolist() == [3, 4, 5, 6, 7, 8, 9]
    assert found.note == (
        "2 of 4 layers see 3 tokens on each side and compute nothing beyond; the others see the whole text."
    )
    everywhere = capture(tinyfamilies.make("bert"), TEXT).encoder
    assert everywhere is not None
    assert everywhere.allowed is None


def test_what_has_no_map_of_tokens_is_refused_in_a_sentence() -> None:
    rwkv = made("rwkv", hidden_size=16, num_hidden_layers=2, attention_hidden_size=16)
    for run in (look, capture):
        with pytest.raises(NoAttentionMatrix, match="RWKV carries a state"):
            run(rwkv, TEXT)


def test_the_text_of_a_model_that_sees_pictures_is_mapped() -> None:
    """Its configuration holds that of its text, where the number of layers is."""
    text = {"model_type": "persimmon", **{key: value for key, value in _SMALL.items() if key != "num_key_value_heads"}}
    text["vocab_size"] = len(tinyfamilies.tokenizer_of("causal-lm"))
    checkpoint = made("fuyu", text_config=text, patch_size=2, num_channels=1)
    assert not hasattr(checkpoint.model.config, "num_hidden_layers")
    found = capture(checkpoint, TEXT).decoder
    assert found is not None
    np.testing.assert_array_equal(found.weights > 0, computed(found))
    assert (found.layers, found.note) == (4, "")


def test_the_heads_of_generated_text_know_their_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The panel of a branch page hands on a map whose local layers compute nothing beyond their window."""
    from core.language.generate import generate
    from core.language.tokens import tokenise
    from core.language.types import Decoding
    from core.ui.heads import generated
    from core.ui.links import PageState

    checkpoint = tinyfamilies.make("gpt_neo")
    traces: list[AttentionTrace] = []
    steps = tuple(generate(checkpoint, TEXT, Decoding(max_new_tokens=8)))

    monkeypatch.setattr(generated.session, "checkpoint", lambda _: checkpoint)
    monkeypatch.setattr(generated, "generated", lambda *_: (tokenise(checkpoint, TEXT), steps))
    monkeypatch.setattr(generated, "heads_panel", lambda trace, *_: traces.append(trace))
    generated.generated_heads(checkpoint.spec, PageState("decoder", {}, 1), Decoding(max_new_tokens=8))
    found = traces[0].decoder
    assert found is not None
    np.testing.assert_array_equal(found.weights > 0, computed(found))
    assert not computed(found)[1, 0, -1, 0]


def test_a_decoder_that_has_fewer_layers_than_its_encoder_shows_all_of_them() -> None:
    from core import checkpoints

    checkpoint = checkpoints.load("atlas-byt5")
    assert checkpoint.model.config.num_layers > checkpoint.model.config.num_decoder_layers
    trace = capture(checkpoint, "A cat.", target="A cat.")
    assert [found.note for found in trace.maps] == ["", "", ""]
