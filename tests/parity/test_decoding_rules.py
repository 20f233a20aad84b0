"""Decoding rules, stop texts, rows at once and beam trees against transformers' processors and generate."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some
from transformers import GenerationConfig, GPT2Config, GPT2LMHeadModel

from core.language.decoding import rules
from core.language.decoding.reader import apply_at, scores_at, summarize_rules
from core.language.decoding.search import grow
from core.language.generate import batch, steps
from core.language.types import Decoding
from tests import tiny
from tests.parity.test_generate import CASES as KINDS
from tests.parity.test_generate import PROMPT, begun, library_best, library_ids, random_checkpoint, unpadded

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


def scores_of(seed: int, spread: float) -> torch.Tensor:
    return torch.randn(SIZE, generator=torch.Generator().manual_seed(seed)) * spread


def before_of(seed: int, length: int) -> list[int]:
    """A text with repeats: few different tokens."""
    return torch.randint(0, 9, (length,), generator=torch.Generator().manual_seed(seed)).tolist()


def same(ours: torch.Tensor, other: torch.Tensor) -> None:
    assert torch.equal(ours.isinf(), other.isinf())
    torch.testing.assert_close(ours.softmax(-1), other.softmax(-1), rtol=1e-5, atol=1e-7)


@settings(max_examples=100)
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
    full = {rule: int(value) if rule in ("top_k", "no_repeat") else value for rule, value in on.items()}
    scores, before = scores_of(seed, spread), before_of(seed, length)
    ours = rules.chain(scores, Decoding("sample", **full), before)  # type: ignore[arg-type]
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


@pytest.mark.parametrize(("name", "rewriting"), KINDS)
@pytest.mark.parametrize(("penalty", "no_repeat"), [(1.5, 0), (1.3, 3)])
@pytest.mark.parametrize("beams", [1, 3])
def test_penalty_and_ban(name: str, rewriting: bool, penalty: float, no_repeat: int, beams: int) -> None:
    checkpoint = random_checkpoint(name, 0, [7, 40])
    decoding = Decoding(
        "beam" if beams > 1 else "greedy", beams=beams, penalty=penalty, no_repeat=no_repeat, max_new_tokens=12
    )
    *_, ours = steps(begun(checkpoint, rewriting), decoding)
    assert ours.ids in library_best(
        checkpoint,
        rewriting,
        beams,
        [7, 40],
        repetition_penalty=penalty,
        no_repeat_ngram_size=no_repeat,
        max_new_tokens=12,
    )


@pytest.mark.parametrize("alpha", [-1.0, 0.5, 2.0])
def test_length_penalty(alpha: float) -> None:
    ends = list(range(30, 60))
    result = set()
    for seed in range(4):
        checkpoint = random_checkpoint("gpt2", seed, ends)
        ours = grow(begun(checkpoint, False), Decoding("beam", length_penalty=alpha, max_new_tokens=10))
        theirs = library_ids(checkpoint, False, do_sample=False, num_beams=4, length_penalty=alpha, max_new_tokens=10)
        assert ours.ids == unpadded(theirs, ends)
        result.add(len(ours.ids))
    assert len(result) > 1, "else no length was chosen"


@pytest.mark.parametrize("beams", [1, 3])
def test_stop_texts(beams: int) -> None:
    stopped = 0
    for seed in range(4):
        checkpoint = random_checkpoint("gpt2", seed, None)
        *_, free = steps(begun(checkpoint, False), Decoding(max_new_tokens=16))
        stop = next((c for c in free.text[3:] if c.isascii() and c.isprintable()), "e")
        decoding = Decoding("beam" if beams > 1 else "greedy", beams=beams, max_new_tokens=16, stop=(stop,))
        *_, ours = steps(begun(checkpoint, False), decoding)
        theirs = library_ids(
            checkpoint,
            False,
            do_sample=False,
            num_beams=beams,
            max_new_tokens=16,
            stop_strings=[stop],
            tokenizer=tiny.bytelevel_tokenizer(),
        )
        while beams > 1 and theirs[-1] == 1:  # padding
            theirs.pop()
        assert ours.ids == tuple(theirs)
        if ours.reason == "stop":
            stopped += 1
            assert stop in ours.text
            assert stop not in checkpoint.tokenizer.decode(ours.ids[:-1])
    assert stopped >= 2


ROWS = (
    Decoding(max_new_tokens=9),
    Decoding("sample", seed=3, max_new_tokens=12),
    Decoding("sample", seed=3, top_p=0.8, max_new_tokens=5),
    Decoding("sample", seed=3, typical=0.5, min_p=0.05, penalty=1.3, max_new_tokens=12),
)


@pytest.mark.parametrize(("name", "rewriting"), KINDS)
def test_rows_of_a_batch_are_what_each_writes_alone(name: str, rewriting: bool) -> None:
    checkpoint = random_checkpoint(name, 1, [7, 40, 41])
    start = begun(checkpoint, rewriting)
    rows: dict[int, list[Any]] = {}
    for row, step in batch(start, ROWS):
        rows.setdefault(row, []).append(step)
    for row, decoding in enumerate(ROWS):
        single = list(steps(start, decoding))
        assert [s.ids for s in rows[row]] == [s.ids for s in single]
        assert rows[row][-1].reason == single[-1].reason != ""
        for first, other in zip(rows[row], single, strict=True):
            assert first.spread.surprisal == pytest.approx(other.spread.surprisal, abs=1e-3)
            assert first.spread.remaining == other.spread.remaining
            assert first.token.processed == pytest.approx(other.token.processed, abs=1e-4)


def test_a_row_stops_at_the_last_position() -> None:
    start = begun(random_checkpoint("gpt2", 0, None, n_positions=len(PROMPT) + 6), False)
    *_, (_, last) = batch(start, [Decoding(max_new_tokens=9)])
    assert (len(last.ids), last.reason) == (6, "positions")
    *_, (_, last) = batch(start, [Decoding(max_new_tokens=6)])
    assert last.reason == "length"


def test_the_inspected_step_has_the_probabilities_of_generate() -> None:
    """Its bars are what ``generate`` samples from: the scores that it returns for the same settings."""
    checkpoint = random_checkpoint("gpt2", 2)
    start = begun(checkpoint, False)
    settings = {"penalty": 1.3, "temperature": 0.7, "top_k": 30, "top_p": 0.9}
    torch.manual_seed(0)
    out = checkpoint.model.generate(
        torch.tensor([PROMPT]),
        attention_mask=torch.ones(1, len(PROMPT), dtype=torch.long),
        do_sample=True,
        repetition_penalty=1.3,
        temperature=0.7,
        top_k=30,
        top_p=0.9,
        max_new_tokens=6,
        return_dict_in_generate=True,
        output_scores=True,
    )
    ids = out.sequences[0, len(PROMPT) :].tolist()
    for step, scores in enumerate(out.scores):
        result = apply_at(start, ids[:step], "top_p", 0.9, [("top_k", 30), ("temperature", 0.7), ("penalty", 1.3)], 200)
        expected = scores[0].softmax(-1)
        for row in result.rows:
            assert row.after == pytest.approx(float(expected[row.id]), abs=1e-5)
        assert sum(row.after for row in result.rows) == pytest.approx(1, abs=1e-4)
        assert result.summary.remaining == int((expected > 0).sum())
    assert list(processors(settings))


def test_rules_by_themselves_and_the_rest_of_the_vocabulary() -> None:
    checkpoint = random_checkpoint("gpt2", 2)
    start = begun(checkpoint, False)
    probabilities = scores_at(start, (5, 6)).softmax(-1)
    (cut,) = summarize_rules(start, (5, 6), [("top_k", 10)])
    assert (cut.remaining, cut.of) == (10, 120)
    assert cut.mass == pytest.approx(float(probabilities.topk(10).values.sum()), abs=1e-5)
    result = apply_at(start, (5, 6), "top_k", 10, count=7)
    assert [row.reached for row in result.rows] == pytest.approx(
        probabilities.topk(7).values.cumsum(0).tolist(), abs=1e-5
    )
    assert result.rest[0] == 113
    assert result.rest[1] == pytest.approx(1 - float(probabilities.topk(7).values.sum()), abs=1e-5)
    assert result.rest[2] == pytest.approx(1 - float(probabilities.topk(7).values.sum()) / cut.mass, abs=1e-4)


@pytest.mark.parametrize("beams", [1, 2, 4])
def test_the_tree_holds_the_search(beams: int) -> None:
    checkpoint = random_checkpoint("gpt2", 1, [7, *range(30, 50)])
    start = begun(checkpoint, False)
    grown = grow(start, Decoding("beam", beams=beams, max_new_tokens=8))
    theirs = library_ids(checkpoint, False, do_sample=False, num_beams=beams, max_new_tokens=8)
    assert grown.ids == unpadded(theirs, [7, *range(30, 50)])
    names = {(): 0.0}
    for number, row in enumerate(grown.rows):
        assert sum(node.fate == "kept" for node in row) <= beams
        assert [node.score for node in row] == sorted((node.score for node in row), reverse=True)
        for node in row:
            assert len(node.ids) == number + 1
            assert node.score == pytest.approx(names[node.ids[:-1]] + node.own, abs=1e-4)
        names = {node.ids: node.score for node in row if node.fate == "kept"}
    assert any(node.fate == "pruned" for row in grown.rows for node in row)
    assert [node.ids for row in grown.rows for node in row if node.best] == [
        grown.ids[: n + 1] for n in range(len(grown.ids))
    ]
    replayed = steps(start, Decoding(max_new_tokens=len(grown.ids)), forced=grown.ids)
    score = sum(-step.spread.surprisal for step in replayed if step.spread) * torch.log(torch.tensor(2.0)).item()
    best = next(node for row in grown.rows for node in row if node.ids == grown.ids)
    assert best.score == pytest.approx(score, abs=1e-3)
