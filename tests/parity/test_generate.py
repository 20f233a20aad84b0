"""Generation against ``model.generate`` of transformers, on tiny random models of several architectures."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from core.checkpoints.spec import Checkpoint
from core.language.decoding.reader import Start
from core.language.generate import generate, prompted, steps, steps_along
from core.language.types import Decoding
from tests import tiny, tinyfamilies

VOCABULARY = 120
PROMPT = (5, 17, 80, 33)
DECODERS = ("gpt2", "gpt_neo", "openai-gpt", "ctrl", "llama")
REWRITERS = ("t5", "bart")
CASES = [(name, False) for name in DECODERS] + [(name, True) for name in REWRITERS]
_SPREAD: dict[str, Any] = {
    "initializer_range": 0.6,
    "init_std": 0.6,
    "initializer_factor": 3.0,
    "num_decoder_layers": 2,
}
"""Weights so large that probabilities are far from uniform; T5 in transformers caches as many layers on both sides."""


def random_checkpoint(name: str, seed: int, ends: Any = None, **settings: Any) -> Checkpoint:
    """A tiny model whose end tokens are ``ends``; the tokenizer only words what comes out."""
    torch.manual_seed(seed)
    family = (tinyfamilies.FAMILIES | tinyfamilies.RELATIVES)[name]
    model = tinyfamilies.build(family, family.settings | _SPREAD | {"vocab_size": VOCABULARY} | settings).eval()
    model.config.eos_token_id = ends
    model.generation_config.eos_token_id = ends
    model.generation_config.pad_token_id = 1
    model.generation_config.forced_eos_token_id = None
    return Checkpoint(model, tiny.bytelevel_tokenizer(), tinyfamilies.spec_of(name, family.kind))


def library_ids(checkpoint: Checkpoint, rewriting: bool, **settings: Any) -> list[int]:
    out = checkpoint.model.generate(
        torch.tensor([PROMPT]), attention_mask=torch.ones(1, len(PROMPT), dtype=torch.long), **settings
    )[0].tolist()
    return out[1:] if rewriting else out[len(PROMPT) :]


def library_best(
    checkpoint: Checkpoint, rewriting: bool, beams: int, ends: list[int] | None, **settings: Any
) -> set[tuple[int, ...]]:
    """The best texts of a search: two whose scores differ by less than rounding change places with the processor."""
    out = checkpoint.model.generate(
        torch.tensor([PROMPT]),
        attention_mask=torch.ones(1, len(PROMPT), dtype=torch.long),
        do_sample=False,
        num_beams=beams,
        num_return_sequences=beams,
        return_dict_in_generate=True,
        output_scores=True,
        **settings,
    )
    scores = [0.0] if beams == 1 else out.sequences_scores.tolist()
    skipped = 1 if rewriting else len(PROMPT)
    texts = (unpadded(ids[skipped:], ends) for ids in out.sequences.tolist())
    return {text for text, score in zip(texts, scores, strict=True) if score >= scores[0] - 1e-6 * abs(scores[0])}


def _ours(checkpoint: Checkpoint, rewriting: bool, decoding: Decoding, **settings: Any) -> list[Any]:
    if rewriting:
        start = checkpoint.model.generation_config.decoder_start_token_id
        return list(steps(checkpoint, Start((start,), PROMPT), decoding, **settings))
    return list(steps(checkpoint, Start(PROMPT), decoding, **settings))


def unpadded(ids: list[int], ends: list[int] | None) -> tuple[int, ...]:
    for i, token in enumerate(ids):
        if ends and token in ends:
            return tuple(ids[: i + 1])
    return tuple(ids)


@pytest.mark.parametrize(("name", "rewriting"), CASES)
@pytest.mark.parametrize("ends", [None, [7, 40, 41, 42, 43, 44, 90]])
def test_greedy_takes_the_same_tokens(name: str, rewriting: bool, ends: list[int] | None) -> None:
    checkpoint = random_checkpoint(name, 0, ends)
    ours = _ours(checkpoint, rewriting, Decoding(max_new_tokens=16))
    theirs = library_ids(checkpoint, rewriting, do_sample=False, max_new_tokens=16)
    assert ours[-1].ids == unpadded(theirs, ends)
    assert ours[-1].finished
    assert ours[-1].reason == ("end" if ends and ours[-1].ids[-1] in ends else "length")


@pytest.mark.parametrize(("name", "rewriting"), CASES)
@pytest.mark.parametrize("ends", [None, list(range(30, 60))])
@pytest.mark.parametrize("beams", [2, 4])
def test_beam_search_finds_the_same_text(name: str, rewriting: bool, ends: list[int] | None, beams: int) -> None:
    checkpoint = random_checkpoint(name, beams, ends)
    ours = _ours(checkpoint, rewriting, Decoding(strategy="beam", beams=beams, max_new_tokens=10))
    assert ours[-1].ids in library_best(checkpoint, rewriting, beams, ends, max_new_tokens=10)
    assert all(len(step.beams) <= beams for step in ours)


@pytest.mark.parametrize(("name", "rewriting"), CASES)
@pytest.mark.parametrize("count", [7, 40])
def test_forced_tokens_are_read_as_if_one_by_one(name: str, rewriting: bool, count: int) -> None:
    """A known text is read in parts of 32 tokens; what follows has the same cache."""
    checkpoint = random_checkpoint(name, 0)
    free = _ours(checkpoint, rewriting, Decoding(max_new_tokens=44))
    again = _ours(checkpoint, rewriting, Decoding(max_new_tokens=44), forced=free[-1].ids[:count])
    assert again[-1].ids == free[-1].ids
    for one, other in zip(free, again, strict=True):
        assert one.token.probability == pytest.approx(other.token.probability, abs=1e-4)
        assert one.spread is not None
        assert other.spread is not None
        assert one.spread.entropy == pytest.approx(other.spread.entropy, abs=1e-3)


def test_some_beam_case_ends_early_and_differs_from_greedy() -> None:
    """Else the comparison above would not have tested ranking by length."""
    ends = list(range(30, 60))
    early = different = False
    for seed in range(3):
        checkpoint = random_checkpoint("gpt2", seed, ends)
        beam = _ours(checkpoint, False, Decoding(strategy="beam", beams=4, max_new_tokens=10))[-1]
        greedy = _ours(checkpoint, False, Decoding(max_new_tokens=10))[-1]
        early |= beam.reason == "end"
        different |= beam.ids != greedy.ids
    assert early
    assert different


def test_reported_probabilities_are_the_models_own() -> None:
    checkpoint = random_checkpoint("gpt2", 0)
    ours = _ours(checkpoint, False, Decoding(strategy="sample", temperature=0.7, top_k=9, seed=3, max_new_tokens=6))
    with torch.inference_mode():
        logits = checkpoint.model(torch.tensor([[*PROMPT, *ours[-1].ids]])).logits[0]
    for step in ours:
        expected = logits[len(PROMPT) - 1 + step.index].softmax(-1)
        for alternative in (*step.alternatives, step.token):
            assert alternative.probability == pytest.approx(float(expected[alternative.id]), abs=1e-5)
        assert sum(a.processed for a in step.alternatives) == pytest.approx(1, abs=1e-4)  # nine of the ten are kept


def test_a_prompt_of_text_and_its_replay() -> None:
    checkpoint = random_checkpoint("gpt2", 0)
    checkpoint.model.resize_token_embeddings(len(checkpoint.tokenizer))
    prompt = "Once upon a time"
    beam = list(generate(checkpoint, prompt, Decoding(strategy="beam", beams=3, max_new_tokens=6)))
    again = steps_along(checkpoint, prompted(checkpoint, prompt), beam[-1].ids)
    assert again[-1].ids == beam[-1].ids
