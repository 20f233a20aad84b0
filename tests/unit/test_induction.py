"""Induction: a circuit written by hand, the scores that it has, and a training that finds one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.attention.roles.rolefiles import roles
from core.checkpoints import available
from core.interventions import induction
from core.interventions.induction import STEPS, Setup, examine, forward, initial, measure, repeats, train

PERIOD = 8


def circuit() -> dict[str, torch.Tensor]:
    """A decoder whose first head attends to the token before and writes it beside the token, and whose third head
    attends to a token that has the present one beside it. Each of 64 tokens has a dimension, then each token before,
    each token predicted, and each of 32 positions; the second head of each layer writes nothing."""
    sharp, width, half = 200.0, 224, 112
    tokens, before, predicted, positions = (slice(*ends) for ends in ((0, 64), (64, 128), (128, 192), (192, 224)))
    eye = torch.eye(64)
    weights = {
        "E": torch.zeros(64, width),
        "P": torch.zeros(32, width),
        "QKV": torch.zeros(2, 3, width, 2 * half),
        "O": torch.zeros(2, 2 * half, width),
        "U": torch.zeros(width, 64),
    }
    weights["E"][:, tokens] = eye
    weights["P"][:, positions] = torch.eye(32)
    weights["U"][predicted] = eye
    weights["U"][tokens] = -0.1 * eye  # no token follows itself
    query, key, value = weights["QKV"][0]
    query[positions, :32] = sharp * torch.eye(32)
    key[positions, 1:32] = torch.eye(32)[:, :31]  # of position j where the query of j + 1 has its number
    value[tokens, :64] = eye
    weights["O"][0, :64, before] = eye
    query, key, value = weights["QKV"][1]
    query[tokens, :64] = sharp * eye
    key[before, :64] = eye
    value[tokens, :64] = eye
    weights["O"][1, :64, predicted] = eye
    return weights


def sequence() -> tuple[torch.Tensor, torch.Tensor]:
    """A sequence of 8 tokens, four times."""
    return torch.arange(32)[None] % PERIOD + 3, torch.tensor([[PERIOD]])


def test_a_circuit_by_hand_has_both_scores_and_copies() -> None:
    measured = measure(circuit(), *sequence())
    assert measured.copied == 1
    np.testing.assert_allclose(measured.previous[0, 0], 1, atol=1e-5)
    # the first position has no token before it and writes itself: the first token's copies attend to it, too
    sharp = np.mean([1 if i % PERIOD else (i // PERIOD) / (i // PERIOD + 1) for i in range(8, 31)])
    np.testing.assert_allclose(measured.induction[1, 0], sharp, atol=1e-5)
    # a head without queries attends evenly: over the keys up to 1, ..., 7, and to 1 of 9, ..., 3 of 31
    np.testing.assert_allclose(measured.previous[0, 1], np.mean([1 / (i + 1) for i in range(1, 8)]), atol=1e-5)
    even = np.mean([(i // PERIOD) / (i + 1) for i in range(8, 31)])
    np.testing.assert_allclose(measured.induction[0, 1], even, atol=1e-5)


@pytest.mark.parametrize(("off", "copies"), [((0, 0), False), ((0, 1), True), ((1, 0), False), ((1, 1), True)])
def test_copying_needs_both_heads_of_the_circuit(off: tuple[int, int], copies: bool) -> None:
    measured = measure(circuit(), *sequence(), off)
    assert measured.copied == 1 if copies else measured.copied < 0.2
    assert measured.induction[1, 0] > 0.9 if off != (0, 0) else measured.induction[1, 0] < 0.2


def test_sequences_repeat_different_tokens_to_the_end() -> None:
    tokens, periods = repeats(200, torch.Generator().manual_seed(1))
    assert tokens.shape == (200, 32)
    assert {int(period) for period in periods} == set(range(8, 17))
    for row, period in zip(tokens.tolist(), periods[:, 0].tolist(), strict=True):
        assert len(set(row[:period])) == period
        assert all(row[i] == row[i - period] for i in range(period, 32))


def learns_to_copy(seed: int) -> bool:
    """Whether two layers do before their training ends."""
    return any(progress.steps[-1].copied > 0.9 for progress in train(Setup(2, seed)))


def test_two_layers_learn_to_copy() -> None:
    """From other weights: ``tests/nightly/test_training_learns.py``."""
    assert learns_to_copy(0)


def test_one_layer_does_not() -> None:
    progress = next(progress for progress in train(Setup(1, 0)) if progress.step == 180)
    assert max(measured.copied for measured in progress.steps) < 0.4


def test_a_training_repeats_and_its_ablation_is_that_of_its_weights() -> None:
    progress, again = (next(train(Setup(2, 5))) for _ in range(2))
    assert progress.step == 0
    for name, array in progress.weights.items():
        np.testing.assert_array_equal(array, again.weights[name])
    assert progress.steps[0].first == pytest.approx(np.log(64), abs=0.5)
    assert sum(array.size for array in progress.weights.values()) == 64 * 64 + 32 * 64 + 2 * 4 * 64 * 64 + 64 * 64
    examined = examine(progress, 5)
    assert examined.measured.copied == progress.steps[0].copied
    assert examined.tokens[:8] == examined.tokens[8:]
    np.testing.assert_allclose(examined.patterns.sum(-1), 1, atol=1e-5)


def test_threads_are_as_before_a_training_that_is_left() -> None:
    before = torch.get_num_threads()
    training = train(Setup())
    next(training)
    training.close()
    assert torch.get_num_threads() == before


def test_the_pass_equals_torchs_own_attention() -> None:
    """Against `torch.nn.functional.scaled_dot_product_attention`, head by head; a head that is off adds nothing."""
    weights = initial(2, torch.Generator().manual_seed(3))
    tokens, _ = repeats(2, torch.Generator().manual_seed(4))
    for off in (None, (0, 1), (1, 0)):
        stream = weights["E"][tokens]
        for layer in range(2):
            placed, added = stream + weights["P"], torch.zeros_like(stream)
            for head in range(2):
                part = slice(32 * head, 32 * head + 32)
                query, key, value = (
                    read @ matrix[:, part]
                    for read, matrix in zip((placed, placed, stream), weights["QKV"][layer], strict=True)
                )
                output = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
                if off != (layer, head):
                    added += output @ weights["O"][layer, part]
            stream = stream + added
        logits, patterns = forward(weights, tokens, off)
        torch.testing.assert_close(logits, stream @ weights["U"], atol=1e-4, rtol=1e-4)
        assert patterns.shape == (2, 2, 2, 32, 32)


def test_steps_are_a_whole_number_of_measurements() -> None:
    assert STEPS % induction.EVERY == 0


def test_the_bundled_decoders_score_as_the_page_says() -> None:
    measured = {spec.slug: roles(spec.slug) for spec in available()}
    scores = {slug: by_role["induction"] for slug, by_role in measured.items() if "induction" in by_role}
    assert len(scores) == 6
    best = scores.pop("atlas-gpt-2")
    assert np.unravel_index(best.argmax(), best.shape) == (3, 3)
    assert best.max() == pytest.approx(0.18, abs=0.005)
    assert max(score.max() for score in scores.values()) < 0.07
