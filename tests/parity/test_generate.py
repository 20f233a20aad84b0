"""Generation against ``model.generate`` of transformers, on tiny random models of several architectures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    CTRLConfig,
    CTRLLMHeadModel,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoConfig,
    GPTNeoForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    OpenAIGPTConfig,
    OpenAIGPTLMHeadModel,
    T5Config,
    T5ForConditionalGeneration,
)
from transformers.generation.logits_process import (
    LogitsProcessorList,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.language import decode
from core.language.decoding import rules
from core.language.decoding.reader import Start
from core.language.generate import generate, prompted
from core.language.types import Decoding
from tests import tiny

VOCABULARY = 120
PROMPT = (5, 17, 80, 33)


def _spec(positions: int | None = None) -> CheckpointSpec:
    return CheckpointSpec(
        "dir-tiny", "tiny", None, "decoder", "causal-lm", "directory", "a test", "-", True, max_positions=positions
    )


_GPT: dict[str, Any] = {"n_embd": 24, "n_layer": 2, "n_head": 2, "n_positions": 64}
_COMMON: dict[str, Any] = {"vocab_size": VOCABULARY, "initializer_range": 0.6, "attn_implementation": "eager"}


def _gpt2() -> Any:
    return GPT2LMHeadModel(GPT2Config(**_GPT, **_COMMON))


def _gpt() -> Any:
    return OpenAIGPTLMHeadModel(OpenAIGPTConfig(**_GPT, **_COMMON))


def _ctrl() -> Any:
    return CTRLLMHeadModel(CTRLConfig(**_GPT, **_COMMON, dff=48))


def _gpt_neo() -> Any:
    config = GPTNeoConfig(
        hidden_size=24,
        num_layers=2,
        num_heads=2,
        max_position_embeddings=64,
        attention_types=[[["global", "local"], 1]],
        window_size=4,
        **_COMMON,
    )
    return GPTNeoForCausalLM(config)


def _llama() -> Any:
    config = LlamaConfig(
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=6,
        num_key_value_heads=2,
        intermediate_size=48,
        max_position_embeddings=64,
        tie_word_embeddings=True,
        **_COMMON,
    )
    return LlamaForCausalLM(config)


def _t5() -> Any:
    sizes = {"d_model": 24, "d_kv": 12, "d_ff": 48, "num_layers": 2, "num_heads": 2}
    return T5ForConditionalGeneration(T5Config(**sizes, **_COMMON, initializer_factor=3.0, decoder_start_token_id=0))


def _bart() -> Any:
    config = BartConfig(
        d_model=24,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        max_position_embeddings=64,
        init_std=0.6,
        forced_eos_token_id=None,
        **_COMMON,
    )
    return BartForConditionalGeneration(config)


DECODERS: dict[str, Callable[[], Any]] = {
    "gpt2": _gpt2,
    "gpt-neo": _gpt_neo,
    "gpt": _gpt,
    "ctrl": _ctrl,
    "llama": _llama,
}
REWRITERS: dict[str, Callable[[], Any]] = {"t5": _t5, "bart": _bart}


def _checkpoint(make: Callable[[], Any], seed: int, ends: list[int] | None) -> Checkpoint:
    """A tiny model whose end tokens are ``ends``; the tokeniser only words what comes out."""
    torch.manual_seed(seed)
    model = make().eval()
    model.config.eos_token_id = ends
    model.generation_config.eos_token_id = ends
    model.generation_config.pad_token_id = 1
    model.generation_config.forced_eos_token_id = None
    return Checkpoint(model, tiny.bytelevel_tokenizer(), _spec())


def _theirs(checkpoint: Checkpoint, rewriting: bool, **settings: Any) -> list[int]:
    out = checkpoint.model.generate(
        torch.tensor([PROMPT]), attention_mask=torch.ones(1, len(PROMPT), dtype=torch.long), **settings
    )[0].tolist()
    return out[1:] if rewriting else out[len(PROMPT) :]


def _ours(checkpoint: Checkpoint, rewriting: bool, decoding: Decoding, **settings: Any) -> list[Any]:
    if rewriting:
        start = checkpoint.model.generation_config.decoder_start_token_id
        return list(decode.steps(checkpoint, Start((start,), PROMPT), decoding, **settings))
    return list(decode.steps(checkpoint, Start(PROMPT), decoding, **settings))


def _unpadded(ids: list[int], ends: list[int] | None) -> tuple[int, ...]:
    for i, token in enumerate(ids):
        if ends and token in ends:
            return tuple(ids[: i + 1])
    return tuple(ids)


CASES = [(name, False) for name in DECODERS] + [(name, True) for name in REWRITERS]


@pytest.mark.parametrize(("name", "rewriting"), CASES)
@pytest.mark.parametrize("ends", [None, [7, 40, 41, 42, 43, 44, 90]])
def test_greedy_takes_the_same_tokens(name: str, rewriting: bool, ends: list[int] | None) -> None:
    for seed in range(3):
        checkpoint = _checkpoint((DECODERS | REWRITERS)[name], seed, ends)
        ours = _ours(checkpoint, rewriting, Decoding(max_new_tokens=16))
        theirs = _theirs(checkpoint, rewriting, do_sample=False, max_new_tokens=16)
        assert ours[-1].ids == _unpadded(theirs, ends)
        assert ours[-1].finished
        assert ours[-1].reason == ("end" if ends and ours[-1].ids[-1] in ends else "length")


@pytest.mark.parametrize(("name", "rewriting"), CASES)
@pytest.mark.parametrize("ends", [None, [7], list(range(30, 60))])
@pytest.mark.parametrize("beams", [1, 2, 4])
def test_beam_search_finds_the_same_text(name: str, rewriting: bool, ends: list[int] | None, beams: int) -> None:
    for seed in range(3):
        checkpoint = _checkpoint((DECODERS | REWRITERS)[name], seed, ends)
        decoding = Decoding(strategy="beam", beams=beams, max_new_tokens=10)
        ours = _ours(checkpoint, rewriting, decoding)
        theirs = _theirs(checkpoint, rewriting, do_sample=False, num_beams=beams, max_new_tokens=10)
        assert ours[-1].ids == _unpadded(theirs, ends)
        assert all(len(step.beams) <= beams for step in ours)


def test_some_beam_case_ends_early_and_differs_from_greedy() -> None:
    """Else the comparison above would not have tested ranking by length."""
    ends = list(range(30, 60))
    early = different = False
    for seed in range(3):
        checkpoint = _checkpoint(_gpt2, seed, ends)
        beam = _ours(checkpoint, False, Decoding(strategy="beam", beams=4, max_new_tokens=10))[-1]
        greedy = _ours(checkpoint, False, Decoding(max_new_tokens=10))[-1]
        early |= beam.reason == "end"
        different |= beam.ids != greedy.ids
    assert early
    assert different


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.7])
@pytest.mark.parametrize(("top_k", "top_p"), [(0, 1.0), (5, 1.0), (0, 0.6), (20, 0.8), (1, 0.05)])
def test_cuts_leave_the_distribution_that_transformers_leaves(temperature: float, top_k: int, top_p: float) -> None:
    scores = torch.randn(3, 200, generator=torch.Generator().manual_seed(1)) * 3
    warpers = LogitsProcessorList([TemperatureLogitsWarper(temperature)])
    if top_k:
        warpers.append(TopKLogitsWarper(top_k))
    if top_p < 1:
        warpers.append(TopPLogitsWarper(top_p))
    theirs = warpers(torch.zeros(3, 1, dtype=torch.long), scores).softmax(-1)
    decoding = Decoding(strategy="sample", temperature=temperature, top_k=top_k, top_p=top_p)
    for row in range(3):
        ours = rules.chain(scores[row], decoding, ()).softmax(-1)
        torch.testing.assert_close(ours, theirs[row])


def test_reported_probabilities_are_the_models_own() -> None:
    checkpoint = _checkpoint(_gpt2, 0, None)
    ours = _ours(checkpoint, False, Decoding(strategy="sample", temperature=0.7, top_k=9, seed=3, max_new_tokens=6))
    with torch.inference_mode():
        logits = checkpoint.model(torch.tensor([[*PROMPT, *ours[-1].ids]])).logits[0]
    for step in ours:
        expected = logits[len(PROMPT) - 1 + step.index].softmax(-1)
        for alternative in (*step.alternatives, step.token):
            assert alternative.probability == pytest.approx(float(expected[alternative.id]), abs=1e-5)
        assert sum(a.kept for a in step.alternatives) == pytest.approx(1, abs=1e-4)  # nine of the ten are kept


def test_a_prompt_of_text_and_its_replay() -> None:
    checkpoint = _checkpoint(_gpt2, 0, None)
    checkpoint.model.resize_token_embeddings(len(checkpoint.tokenizer))
    prompt = "Once upon a time"
    beam = list(generate(checkpoint, prompt, Decoding(strategy="beam", beams=3, max_new_tokens=6)))
    again = decode.along(checkpoint, prompted(checkpoint, prompt), beam[-1].ids)
    assert again[-1].ids == beam[-1].ids
