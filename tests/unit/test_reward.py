"""The log-probability of a candidate, the policy of a reward, and pass@k, by hand and by enumeration."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch

from core import checkpoints
from core.errors import AtlasError
from core.language.metrics import estimate, passed
from core.language.reward import candidates, policy, rewarded, score


def test_the_sum_is_that_of_one_forward_pass() -> None:
    checkpoint, prompt = checkpoints.load("atlas-gpt-2"), "Once upon a time"
    (candidate,) = score(checkpoint, prompt, ["there was a king."])
    ids = checkpoint.tokenizer(f"{prompt} there was a king.", return_tensors="pt")["input_ids"]
    with torch.no_grad():
        logs = checkpoint.model(ids).logits.log_softmax(-1)[0, :-1]
    token_logs = logs.gather(-1, ids[0, 1:, None])[-len(candidate.logs) :, 0]
    assert candidate.total == pytest.approx(float(token_logs.sum()), abs=1e-3)
    assert candidate.mean == pytest.approx(float(token_logs.mean()), abs=1e-4)
    assert "".join(candidate.tokens).replace("·", "").strip().endswith("king.")


def test_the_policy_maximizes_the_reward_less_the_divergence() -> None:
    logs, rewards, beta = [-2.0, -3.0, -5.0], [0.0, 1.0, 3.0], 0.7
    updated = policy(logs, rewards, beta)
    assert updated.before == pytest.approx(np.exp(logs) / np.exp(logs).sum())
    best = updated.expected[1] - beta * updated.kl
    assert best == pytest.approx(beta * np.log(updated.before @ np.exp(np.array(rewards) / beta)))
    for other in np.random.default_rng(0).dirichlet([1, 1, 1], 200):
        assert other @ rewards - beta * np.sum(other * np.log(other / updated.before)) <= best + 1e-9
    assert policy(logs, [2, 2, 2], beta).kl == pytest.approx(0, abs=1e-12)
    assert policy(logs, rewards, 0.001).after == pytest.approx([0, 0, 1])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: candidates("one"), "at least two"),
        (lambda: candidates("a\n" * 9), "At most 8"),
        (lambda: rewarded("1: a\nb"), "Line 2 has no reward"),
        (lambda: rewarded("1: a\nnan: b"), "Line 2 has no reward"),
        (lambda: rewarded("1: a\n1e9: b"), "outside"),
        (lambda: policy([0.0], [0.0], float("nan")), "above 0"),
        (lambda: passed(" ", 5), "no results"),
        (lambda: passed("1, 6", 5), "“6” is no number"),
        (lambda: passed("1, -1", 5), "“-1” is no number"),
        (lambda: passed("1 " * 201, 5), "at most 200"),
    ],
)
def test_bad_input_gets_a_sentence(call: object, said: str) -> None:
    with pytest.raises(AtlasError, match=said):
        call()  # type: ignore[operator]


def test_pass_at_k_is_the_share_of_subsets_with_a_sample_that_passed() -> None:
    n, counts = 6, (0, 2, 5)
    estimates = estimate(counts, n)
    for k in range(1, n + 1):
        shares = [np.mean([any(i < c for i in drawn) for drawn in combinations(range(n), k)]) for c in counts]
        assert estimates.unbiased[k - 1] == pytest.approx(np.mean(shares))
        assert estimates.naive[k - 1] == pytest.approx(np.mean([1 - (1 - c / n) ** k for c in counts]))
    rng = np.random.default_rng(1)
    drawn = np.array([estimate(rng.binomial(n, np.array(counts) / n).tolist(), n).unbiased for _ in range(3000)])
    assert drawn.mean(0) == pytest.approx(estimates.naive, abs=0.01), "unbiased"
    assert drawn.std(0) == pytest.approx(estimates.deviation, abs=0.01)
    assert (estimates.naive_mean <= estimates.naive + 1e-12).all()
    assert estimates.naive_mean[3] < estimates.naive[3] - 0.005, "biased low"
