"""Reward models and policies: the loss, the best of n and the divergence by hand; what is stored is complete."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from statistics import fmean

import pytest
import torch

from core import checkpoints
from core.errors import AtlasError
from core.finetuning.examples import Example
from core.studies import results
from core.table import measured
from lab import preferences
from lab.preferences import (
    BEST,
    BETAS,
    HELD,
    PAIRS,
    SAMPLES,
    UPDATES,
    Policy,
    Preferred,
    against,
    best_of,
    broken,
    counting,
    methods,
    pair_loss,
    reviews,
)


def test_the_loss_of_a_pair_by_hand() -> None:
    """Rewards 1.2 and 0.4: σ(0.8) = 1 / (1 + e^-0.8) = 0.690, and -ln 0.690 = 0.371."""

    def loss(better: Sequence[float], worse: Sequence[float]) -> float:
        return float(pair_loss(torch.tensor(better), torch.tensor(worse)))

    assert loss([1.2], [0.4]) == pytest.approx(0.371, abs=5e-4)
    assert loss([0.4], [1.2]) == pytest.approx(1.171, abs=5e-4), "the wrong order costs the difference more"
    assert loss([3.0], [3.0]) == pytest.approx(math.log(2))
    assert loss([101.2], [100.4]) == pytest.approx(loss([1.2], [0.4]), abs=1e-5), "a constant changes nothing"
    assert loss([1.2, 0.4], [0.4, 1.2]) == pytest.approx((0.371 + 1.171) / 2, abs=5e-4), "the mean over pairs"


def test_the_best_of_n_is_the_mean_over_all_draws() -> None:
    proxy, gold = torch.tensor([0.3, -1.0, 2.0, 0.9]), torch.tensor([10.0, 20.0, 30.0, 40.0])
    for n in range(1, 5):
        best = [max(drawn, key=lambda at: float(proxy[at])) for drawn in combinations(range(4), n)]
        assert best_of(proxy, gold, n) == pytest.approx(fmean(float(gold[at]) for at in best))
    assert best_of(proxy, gold, 2) == pytest.approx((3 * 30 + 2 * 40 + 10) / 6)


def test_a_score_is_preferred_to_the_lower_ones() -> None:
    assert against(torch.tensor([2.0, 0.0]), torch.tensor([1.0, 2.0, 3.0, 4.0])).tolist() == [0.375, 0.0]


def test_words_are_weighed_by_the_pairs() -> None:
    score = counting([("a good day", "a bad day"), ("good soup", "bad soup")])
    good, bad, neither = score(["A good soup!", "bad", "soup day unheard"]).tolist()
    assert good > 0 > bad
    assert neither == pytest.approx(0, abs=0.1)


def test_a_sample_goes_on_from_its_prompt_and_has_its_tokens_probability() -> None:
    policy = Policy(checkpoints.load("atlas-gpt-2"))
    prompts = [policy.ids("Once upon"), policy.ids("The old king of the whole country")]
    rows, sampled = policy.samples(prompts, torch.Generator().manual_seed(1))
    for row, taken, prompt in zip(rows, sampled, prompts, strict=True):
        assert row[: len(prompt)].tolist() == prompt
        assert taken.tolist()[: len(prompt)] == [False] * len(prompt)
        assert taken[len(prompt)]
    again = policy.samples(prompts, torch.Generator().manual_seed(1))[0]
    assert torch.equal(rows, again), "a function of the seed"
    with torch.no_grad():
        logs = policy.model(input_ids=rows).logits.log_softmax(-1)
    by_hand = [
        sum(float(logs[row, at - 1, rows[row, at]]) for at in range(1, rows.shape[1]) if sampled[row, at])
        for row in range(2)
    ]
    assert policy.logs(rows, sampled).tolist() == pytest.approx(by_hand, abs=1e-3)
    padded, counted = policy.padded(["Once upon a time."])
    assert policy.text(padded[0].tolist()) == "Once upon a time."
    assert int(counted.sum()) == len(policy.ids("Once upon a time.")), "its tokens but for the start, and its end"


def corpus(folder: Path, count: int) -> Path:
    lines = [
        f"{label}\tThe {noun} number {n} was {word}."
        for n in range(count)
        for label, word in (("positive", "good"), ("negative", "bad"))
        for noun in ("soup", "hotel")
    ]
    random.Random(0).shuffle(lines)
    (folder / "reviews.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_the_sentences_of_each_use_are_others(tmp_path: Path) -> None:
    parts = reviews(corpus(tmp_path, 40), 30, 20, 10)
    assert (len(parts.demonstrated), len(parts.pairs), len(parts.held_out), len(parts.labeled)) == (30, 20, 10, 70)
    pairs = [text for pair in (*parts.pairs, *parts.held_out) for text in pair]
    used = [*pairs, *parts.demonstrated, *(example.text for example in parts.labeled)]
    assert len(used) == len(set(used)) == 160
    assert all("good" in better and "bad" in worse for better, worse in parts.pairs)
    with pytest.raises(AtlasError, match="too few"):
        reviews(tmp_path, 100, 20, 10)


def test_a_broken_sentence_has_the_words_of_sentences_in_another_order() -> None:
    texts = [
        f"The {noun} in the {place} was very good." for noun in ("soup", "bread", "fish") for place in ("inn", "bar")
    ]
    made = broken([Example("positive", text) for text in texts])
    assert 1 <= len(made) <= 3, "of every second one, those that are changed"
    assert not {example.text for example in made} & {*texts}
    words = {word for text in texts for word in text.split()}
    assert all(set(example.text.split()) <= words and len(example.text.split()) == 8 for example in made)
    assert {example.label for example in made} == {"broken"}


def test_a_study_measures_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    small = {
        "PAIRS": (4,),
        "PASSES": {4: 1},
        "PROMPTS": 2,
        "POOL": 4,
        "SAMPLES": (1, 2),
        "UPDATES": (1, 2),
        "DEMONSTRATIONS": 50,
        "HELD_OUT": 4,
        "STEPS": 2,
        "GROUPS": 2,
        "LONGEST": 12,
        "FOLDER": tmp_path / "state",
    }
    for name, value in small.items():
        monkeypatch.setattr(preferences, name, value)
    folder = corpus(tmp_path, 60)
    full = list(preferences.runs([], folder, 1))
    rows = [row for part in full for row in part]
    assert [part[0].method for part in full] == [HELD, HELD, *BETAS]
    scorers = {row.scorer for row in rows if row.method == HELD}
    assert scorers == {"positive", "well-formed", "reward", "words", "length", "likelihood"}
    sampled = [row for row in rows if row.method != HELD]
    assert all(0 <= row.preferred <= 1 and row.example for row in sampled)
    first = [row.preferred for row in sampled if (row.method, row.amount) == (BEST, 1)]
    assert first == pytest.approx([0.5] * 3), "one sample is like the others"
    assert list(preferences.runs(rows, folder, 1)) == []
    (again,) = preferences.runs([row for row in rows if row.method != rows[-1].method], folder, 1)
    assert again == full[-1], "a resumed study measures the same"


def test_the_stored_rows_are_complete() -> None:
    rows = measured(results("preferences"), Preferred)
    seeds = {row.seed for row in rows}
    wanted = [
        (method, count, seed, amount)
        for count in PAIRS
        for seed in seeds
        for method, amounts in {HELD: (0,), BEST: SAMPLES, **dict.fromkeys(methods(count), UPDATES)}.items()
        for amount in amounts
    ]
    assert {(row.method, row.pairs, row.seed, row.amount) for row in rows if row.pairs} == {*wanted}
    for row in rows:
        if row.method == BEST and row.scorer == "reward":
            assert float(row.divergence) == pytest.approx(
                math.log(row.amount) - (row.amount - 1) / row.amount, abs=1e-4
            )
