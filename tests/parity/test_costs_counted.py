"""Costs against the library: operations that torch counts, bytes of a real cache, what the way back keeps."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers as t
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from core import catalogue
from core.anatomy.build import describe
from core.anatomy.own import ElmoConfig, ElmoModel, ProjectedLSTM
from core.catalogue.schema import System
from core.costs import Shape, cache_bytes, forward
from core.costs import shape as shapes
from core.costs.operations import (
    LETTERS,
    activation_bytes_per_token,
    activation_bytes_per_word,
    of_tree,
    state_bytes_per_token,
    towers,
)
from core.costs.shape import shape_of_config

_BERT = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 97}
_LLAMA = {**_BERT, "num_key_value_heads": 2, "max_position_embeddings": 64}
_BART = {
    "vocab_size": 97,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 80,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "max_position_embeddings": 64,
}
CASES: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "bert": ("BertForMaskedLM", "BertConfig", "encoder", _BERT),
    "albert": (
        "AlbertModel",
        "AlbertConfig",
        "encoder",
        {**_BERT, "embedding_size": 16, "num_hidden_layers": 6},
    ),
    "gpt2": (
        "GPT2LMHeadModel",
        "GPT2Config",
        "decoder",
        {"n_embd": 32, "n_layer": 3, "n_head": 4, "vocab_size": 97, "n_positions": 64},
    ),
    "llama": ("LlamaForCausalLM", "LlamaConfig", "decoder", _LLAMA),
    "bart": ("BartForConditionalGeneration", "BartConfig", "encoder-decoder", _BART),
    "t5": (
        "T5ForConditionalGeneration",
        "T5Config",
        "encoder-decoder",
        {
            "d_model": 32,
            "d_kv": 8,
            "d_ff": 64,
            "num_layers": 2,
            "num_decoder_layers": 3,
            "num_heads": 4,
            "vocab_size": 97,
            "feed_forward_proj": "gated-gelu",
        },
    ),
}
TOKENS, SOURCE = 11, 7


def _built(case: str) -> tuple[Any, Shape, Any]:
    architecture, config, branch, settings = CASES[case]
    made = getattr(t, config)(**settings)
    made._attn_implementation = "eager"
    torch.manual_seed(0)
    model = getattr(t, architecture)(made).eval()
    root = describe(model)
    return model, shape_of_config(made, architecture, branch, root), root


def test_the_operations_of_two_towers_are_those_that_torch_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    halves: dict[str, dict[str, Any]] = {
        "text_config": {
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "vocab_size": 97,
            "max_position_embeddings": TOKENS,
        },
        "vision_config": {
            "hidden_size": 48,
            "intermediate_size": 80,
            "num_hidden_layers": 3,
            "num_attention_heads": 6,
            "patch_size": 4,
            "image_size": 12,
        },
    }
    model = t.CLIPModel(t.CLIPConfig(projection_dim=16, attn_implementation="eager", **halves)).eval()
    size = catalogue.get("clip").default_size.model_copy(update={"overrides": halves})
    monkeypatch.setattr("core.costs.operations.size_of", lambda *_: size)
    monkeypatch.setattr("core.costs.operations.anatomy.tree", lambda *_: describe(model))
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(input_ids=_ids(TOKENS), pixel_values=torch.zeros(1, 3, 12, 12))
    cosine = 2 * 16  # the one pair, compared
    assert counter.get_total_flops() - cosine == sum(tower.forward.total for tower in towers("clip"))


def test_the_operations_of_a_word_of_elmo_are_those_that_torch_counts() -> None:
    model = ElmoModel(ElmoConfig(units=24, d_model=8, num_layers=2, num_highways=1))
    with torch.no_grad(), FlopCounterMode(display=False) as counter:  # the skeleton has no pass of its own
        for module in model.modules():
            if isinstance(module, torch.nn.Conv1d):
                module(torch.zeros(1, module.in_channels, LETTERS))
            elif isinstance(module, torch.nn.Linear):
                module(torch.zeros(1, module.in_features))
    work = of_tree(describe(model))
    assert counter.get_total_flops() == work.total
    assert work.recurrent == 36 * 2 * 24 * 8


def _ids(count: int) -> torch.Tensor:
    return torch.arange(3, 3 + count)[None]


@pytest.mark.parametrize("case", CASES)
def test_the_operations_of_a_pass_are_those_that_torch_counts(case: str) -> None:
    model, shape, root = _built(case)
    two_sided = shape.two_sided
    inputs = {"input_ids": _ids(SOURCE if two_sided else TOKENS)}
    if two_sided:
        inputs["decoder_input_ids"] = _ids(TOKENS)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(**inputs, **({} if shape.kind == "encoder" else {"use_cache": False}))
    poolers = [module for name, module in model.named_modules() if name.split(".")[-1] == "pooler"]
    once = sum(2 * weight.numel() for pooler in poolers for weight in pooler.parameters() if weight.dim() > 1)
    work = forward(shape, root, TOKENS, SOURCE if two_sided else 0)
    assert counter.get_total_flops() - once == work.total


@pytest.mark.parametrize("case", ["gpt2", "llama"])
def test_the_cache_holds_what_is_computed(case: str) -> None:
    model, shape, _ = _built(case)
    with torch.no_grad():
        cache = model(_ids(TOKENS).repeat(3, 1), use_cache=True).past_key_values
    held = sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers)
    assert held == cache_bytes(shape, TOKENS, batch=3, width=4)


@pytest.mark.parametrize("case", ["bart", "t5"])
def test_a_decoder_keeps_what_the_encoder_read_as_well(case: str) -> None:
    model, shape, _ = _built(case)
    with torch.no_grad():
        out = model(input_ids=_ids(SOURCE), decoder_input_ids=_ids(TOKENS), use_cache=True).past_key_values
    layers = [*out.self_attention_cache.layers, *out.cross_attention_cache.layers]
    held = sum(layer.keys.nbytes + layer.values.nbytes for layer in layers)
    assert held == cache_bytes(shape, TOKENS, width=4, source=SOURCE)


@pytest.mark.parametrize("system", catalogue.systems(), ids=lambda system: system.slug)
def test_kept_shapes_are_those_of_the_configurations(system: System) -> None:
    for size in system.sizes:
        assert f"{system.slug} {size.name}" in shapes.stored_shapes(), "run: python -m lab trees"
        assert shapes.shape_of(system.slug, size.name) == shapes.read_shape(system, size)


def test_a_token_pays_for_the_experts_that_it_uses() -> None:
    config = t.MixtralConfig(**{**_LLAMA, "num_local_experts": 8, "num_experts_per_tok": 2})
    with torch.device("meta"):
        model = t.MixtralForCausalLM(config)
    root = describe(model)
    shape = shape_of_config(config, "MixtralForCausalLM", "decoder", root)
    layer_parameters = 2 * 3 * 32 * 64 * 2 + 2 * 32 * 8  # two experts of three matrices, and the router
    attention = 2 * (32 * 32 + 2 * 32 * 16 + 32 * 32)
    assert forward(shape, root, 1).matrices == 3 * (layer_parameters + attention) + 2 * 32 * 97


def test_deepseek_keeps_a_latent_and_a_rotary_key() -> None:
    small = {
        **_BERT,
        "num_hidden_layers": 2,
        "num_key_value_heads": 4,
        "kv_lora_rank": 12,
        "q_lora_rank": 16,
        "qk_rope_head_dim": 4,
        "qk_nope_head_dim": 8,
        "v_head_dim": 6,
        "first_k_dense_replace": 2,
    }
    config = t.DeepseekV3Config(**small)
    model = t.DeepseekV3ForCausalLM(config).eval()
    shape = shape_of_config(config, "DeepseekV3ForCausalLM", "decoder", describe(model))
    with torch.no_grad():
        cache = model(_ids(TOKENS), use_cache=True).past_key_values
    held = sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers)
    assert held == cache_bytes(shape, TOKENS, width=4) == 2 * TOKENS * (12 + 4) * 4
    full = shape_of_config(t.DeepseekV3Config(), "DeepseekV3ForCausalLM", "decoder", describe(model))
    assert cache_bytes(full, 1) == 61 * (512 + 64) * 2


class Kept:
    """The tensors that a forward pass keeps, each once, without parameters."""

    def __init__(self, *parameters: nn.Module) -> None:
        self._own = {value.data_ptr() for module in parameters for value in module.parameters()}
        self.parts: dict[tuple[int, int], Tensor] = {}

    def __enter__(self) -> Kept:
        self._hooks = torch.autograd.graph.saved_tensors_hooks(self._pack, lambda kept: kept)
        self._hooks.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._hooks.__exit__(*error)

    def _pack(self, value: Tensor) -> Tensor:
        if value.data_ptr() not in self._own:
            self.parts[value.data_ptr(), value.numel()] = value
        return value

    @property
    def numbers(self) -> int:
        """How many they hold."""
        return sum(value.numel() for value in self.parts.values())


def test_an_lstm_keeps_two_inputs_and_seven_times_its_units_of_a_word() -> None:
    d, c = 6, 10
    lstm = ProjectedLSTM(d, c)
    x, h, cell = (torch.randn(1, size, requires_grad=True) for size in (d, d, c))
    with Kept(lstm) as kept:
        gates = lstm.from_input(x) + lstm.from_state(h)
        i, f, g, o = (
            bend(part)
            for bend, part in zip(
                (torch.sigmoid, torch.sigmoid, torch.tanh, torch.sigmoid),
                gates.chunk(4, dim=-1),
                strict=True,
            )
        )
        after = f * cell + i * g
        lstm.projection(o * torch.tanh(after))
    assert kept.numbers == 2 * d + 7 * c  # of the two cells, the one before is kept here
    assert activation_bytes_per_word(describe(lstm)) == 2 * (2 * d + 7 * c)


class Scan(torch.autograd.Function):
    """The scan as Mamba's kernel does it: it keeps what it reads, and no state."""

    @staticmethod
    def forward(ctx: Any, u: Tensor, step: Tensor, b: Tensor, c: Tensor) -> Tensor:
        ctx.save_for_backward(u, step, b, c)
        state, out = torch.zeros(u.shape[-1], b.shape[-1]), []
        for at in range(len(u)):
            state = torch.exp(-step[at])[:, None] * state + (step[at] * u[at])[:, None] * b[at]
            out.append(state @ c[at])
        return torch.stack(out)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        raise NotImplementedError


def test_mamba_keeps_nine_times_its_inner_width_of_a_token() -> None:
    from transformers import MambaConfig
    from transformers.models.mamba.modeling_mamba import MambaMixer

    d, e, n, r, tokens = 5, 10, 3, 4, 7
    config = MambaConfig(hidden_size=d, expand=2, state_size=n, time_step_rank=r)
    mixer = MambaMixer(config, layer_idx=0)
    normed = torch.randn(tokens, d, requires_grad=True)
    with Kept(mixer) as kept:
        x, z = (part.contiguous() for part in mixer.in_proj(normed).chunk(2, dim=-1))
        convolved = functional.conv1d(x.T[None], mixer.conv1d.weight, mixer.conv1d.bias, padding=3, groups=e)
        convolved = convolved[0, :, :tokens].T.contiguous()
        u = functional.silu(convolved)
        step, b, c = (part.contiguous() for part in mixer.x_proj(u).split([r, n, n], dim=-1))
        y = Scan.apply(u, functional.softplus(mixer.dt_proj(step)), b, c)  # type: ignore[no-untyped-call]
        mixer.out_proj(y * functional.silu(z))
    norm = tokens * d  # what came into the norm, which is no part of the mixer
    root = describe(mixer)
    assert 2 * (kept.numbers + norm) == tokens * activation_bytes_per_token(root)
    assert state_bytes_per_token(root) == 2 * n * e
