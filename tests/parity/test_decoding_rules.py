"""Every rule, alone and in any combination, leaves the scores that transformers' own processors leave."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some
from transformers import GenerationConfig, GPT2Config, GPT2LMHeadModel
from transformers.generation import logits_process as theirs

from core.language.decoding import rules
from core.language.types import Decoding

SIZE = 97
CASES: dict[rules.Rule, list[float]] = {
    "penalty": [0.7, 1.2, 1.8],
    "no_repeat": [1, 2, 3],
    "temperature": [0.2, 0.7, 1.9],
    "top_k": [1, 5, 40, 500],
    "top_p": [0.05, 0.5, 0.9, 0.999],
    "min_p": [0.01, 0.1, 0.6, 1.0],
    "typical": [0.05, 0.3, 0.9, 0.999],
}
PROCESSORS: dict[rules.Rule, Any] = {
    "penalty": theirs.RepetitionPenaltyLogitsProcessor,
    "no_repeat": theirs.NoRepeatNGramLogitsProcessor,
    "temperature": theirs.TemperatureLogitsWarper,
    "top_k": theirs.TopKLogitsWarper,
    "top_p": theirs.TopPLogitsWarper,
    "min_p": theirs.MinPLogitsWarper,
    "typical": theirs.TypicalLogitsWarper,
}


def scores_of(seed: int, spread: float, ties: bool) -> torch.Tensor:
    found = torch.randn(SIZE, generator=torch.Generator().manual_seed(seed)) * spread
    return found.round() if ties else found


def before_of(seed: int, length: int) -> list[int]:
    """A text with repeats: few different tokens."""
    return torch.randint(0, 9, (length,), generator=torch.Generator().manual_seed(seed)).tolist()


def same(ours: torch.Tensor, other: torch.Tensor) -> None:
    assert torch.equal(ours.isinf(), other.isinf())
    torch.testing.assert_close(ours.softmax(-1), other.softmax(-1), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("rule", "value"), [(rule, value) for rule, values in CASES.items() for value in values])
@pytest.mark.parametrize("ties", [False, True])
def test_one_rule(rule: rules.Rule, value: float, ties: bool) -> None:
    changed = False
    for seed in range(12):
        scores, before = scores_of(seed, 0.3 + seed / 3, ties), before_of(seed, 3 + 4 * seed)
        ours = rules.apply(scores, rule, value, before)
        other = PROCESSORS[rule](int(value) if rule in ("top_k", "no_repeat") else value)
        same(ours, other(torch.tensor([before]), scores[None])[0])
        changed |= not torch.equal(ours, scores)
    assert changed or value in (500, 0.999) or (rule, ties) == ("min_p", True), "else the rule was not tested"


@settings(max_examples=200)
@given(
    seed=some.integers(0, 10_000),
    spread=some.floats(0.1, 6),
    length=some.integers(1, 60),
    chosen=some.fixed_dictionaries({rule: some.none() | some.sampled_from(values) for rule, values in CASES.items()}),
)
def test_any_combination_in_the_order_of_generate(
    seed: int, spread: float, length: int, chosen: dict[rules.Rule, float | None]
) -> None:
    on = {rule: value for rule, value in chosen.items() if value is not None}
    whole = {rule: int(value) if rule in ("top_k", "no_repeat") else value for rule, value in on.items()}
    scores, before = scores_of(seed, spread, False), before_of(seed, length)
    ours = rules.chain(scores, Decoding("sample", **whole), before)  # type: ignore[arg-type]
    same(ours, processors(on)(torch.tensor([before]), scores[None])[0])


def processors(on: dict[Any, float]) -> Any:
    """The list that ``generate`` itself makes for these settings."""
    config = GenerationConfig(
        do_sample=True,
        repetition_penalty=on.get("penalty", 1.0),
        no_repeat_ngram_size=int(on.get("no_repeat", 0)),
        temperature=on.get("temperature", 1.0),
        top_k=int(on.get("top_k", 0)),
        top_p=on.get("top_p", 1.0),
        min_p=on.get("min_p"),
        typical_p=on.get("typical", 1.0),
    )
    MODEL._prepare_special_tokens(config)
    return MODEL._get_logits_processor(config, input_ids_seq_length=1, device="cpu")


MODEL = GPT2LMHeadModel(GPT2Config(vocab_size=SIZE, n_embd=8, n_layer=1, n_head=1, n_positions=8))


def test_their_list_has_all_of_them_in_our_order() -> None:
    found = [type(one) for one in processors({rule: values[0] for rule, values in CASES.items()})]
    assert found == [PROCESSORS[rule] for rule in rules.ORDER]
