"""Window attention by hand, against its mask and Longformer's pass; comparisons, buckets, generation by bytes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from core.attention.capture import capture
from core.attention.scores import scores_by_layer
from core.checkpoints.spec import Checkpoint
from core.efficiency import buckets
from core.efficiency.compare import compare_windows, global_positions, prepare
from core.errors import InputTooLong, InputUnusable, OutOfRange
from core.language.fill_mask import fill_mask
from core.language.generate import generate
from core.language.inputs import Inputs
from core.language.types import Decoding
from core.patterns.layout import GLOBAL, NONE
from core.run.odd.sparse import by_blocks
from core.run.odd.window import allowed
from core.sparse import reformer
from core.sparse import windowed as window_layout
from core.sparse.encoder import by_mask
from core.sparse.longformer import states
from tests import tiny, tinyfamilies
from tests.library import library_model
from tests.tinyfamilies import loaded


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return loaded(tiny.tiny_longformer(tmp_path_factory.mktemp("longformer")), "masked-lm")


@pytest.fixture(scope="module")
def hashed(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return loaded(tiny.tiny_reformer(tmp_path_factory.mktemp("reformer")), "causal-lm")


@pytest.mark.parametrize(("n", "side"), [(1, 1), (7, 2), (40, 5), (33, 40)])
@pytest.mark.parametrize("global_at", [(), (0,), (0, 3, 6)])
def test_scores_and_cells_are_those_of_the_mask(n: int, side: int, global_at: tuple[int, ...]) -> None:
    chosen = tuple(at for at in global_at if at < n)
    seen = allowed(n, side, chosen)
    cost = window_layout.cost(n, side, chosen)
    assert cost.sparse == int(seen.sum())
    assert cost.full == n * n
    assert sum(count for _, count in cost.by_kind) == cost.sparse
    cell = 4
    kinds = window_layout.kinds(n, side, chosen, cell)
    for row, line in enumerate(kinds):
        for column, kind in enumerate(line):
            pairs = seen[row * cell : (row + 1) * cell, column * cell : (column + 1) * cell]
            assert bool(pairs.any()) == (kind != NONE), (row, column)
    assert {int(i) for i in np.flatnonzero((kinds == GLOBAL).all(1))} >= {at // cell for at in chosen}


@pytest.mark.parametrize("global_at", [(), (0,), (9,)])
def test_steps_are_those_of_repeated_attention(global_at: tuple[int, ...]) -> None:
    n, side = 20, 3
    seen = allowed(n, side, global_at).float()
    reached = torch.eye(n)
    steps = torch.full((n, n), -1)
    for step in range(n):
        steps = torch.where((steps < 0) & (reached > 0), step, steps)
        reached = ((reached @ seen) > 0).float()
    for start in range(n):
        for end in range(n):
            assert window_layout.steps(side, global_at, start, end) == int(steps[end, start])


def test_global_words_are_found_wherever_they_stand(window: Checkpoint) -> None:
    long = prepare(window, "the cat sat on the mat and looked at the [MASK].")
    the = window.tokenizer.convert_tokens_to_ids("the")
    places = tuple(at for at, i in enumerate(long.ids) if i == the)
    assert len(places) == 3
    assert global_positions(long, "The", True) == (0, *places)
    assert global_positions(long, "", False) == ()
    with pytest.raises(InputUnusable, match="does not occur in this text"):
        global_positions(long, "the, zebra", True)
    with pytest.raises(InputUnusable, match="up to 8"):
        global_positions(long, "the," * 9, True)
    many = prepare(window, "the " * 20 + "[MASK]")
    with pytest.raises(InputUnusable, match="Choose rarer words"):
        global_positions(many, "the", True)


def test_ways_differ_only_where_the_mask_does(window: Checkpoint) -> None:
    text = "the cat sat on the mat and looked at the dog, " * 6 + "and the [MASK] sat."
    long = prepare(window, text)
    n, progress = len(long.ids), []
    comparison = compare_windows(long, 8, (0,), progress=lambda share, doing: progress.append(share))
    assert progress == sorted(progress)
    assert (comparison.tokens, comparison.layers, comparison.heads) == (n, 2, 2)
    (mask,) = comparison.masks
    for word in mask.answers:
        full, chosen, start, none = word.probabilities
        assert chosen == pytest.approx(start)  # the same global token
        assert min(full, none) >= 0
    assert 0 <= mask.distance <= 1
    assert comparison.sparse.scores == 4 * window_layout.cost(n, 8, (0,)).sparse
    assert comparison.full.scores == 4 * n * n
    assert comparison.sparse.peak_bytes < comparison.full.peak_bytes
    wide = compare_windows(long, n, (0,))
    for word in wide.masks[0].answers:  # a window as wide as the text is full attention
        assert word.probabilities[0] == pytest.approx(word.probabilities[1], rel=1e-4, abs=1e-7)


def test_masks_and_heads_read_with_the_first_token_global(window: Checkpoint) -> None:
    text = "the [MASK] sat on the mat"
    ids = window.tokenizer(text)["input_ids"]
    mask = torch.zeros(1, len(ids), dtype=torch.long)
    mask[0, 0] = 1
    with torch.no_grad():
        theirs = (
            window.model(
                input_ids=torch.tensor([ids]), attention_mask=torch.ones_like(mask), global_attention_mask=mask
            )
            .logits[0, 2]
            .softmax(-1)
        )
    (mask_prediction,) = fill_mask(window, text)
    assert mask_prediction.probabilities[0] == pytest.approx(float(theirs.max()), rel=1e-4)
    trace = capture(window, text)
    assert trace.encoder.weights.shape == (2, 2, len(ids), len(ids))


def test_buckets_of_a_text_are_those_that_the_model_uses(hashed: Checkpoint) -> None:
    ids = buckets.prepare(hashed, "The cat sat on the mat. " * 8, buckets.LEAST)
    hashed_keys = buckets.compute_buckets(hashed, ids, 1, 1, 2, 5)
    keep: dict[int, reformer.Hashed] = {}
    reformer.states(hashed.model, torch.tensor([ids]), rounds=2, seed=5, record=keep)
    np.testing.assert_array_equal(hashed_keys.buckets, keep[1].buckets[1].numpy())
    np.testing.assert_array_equal(hashed_keys.same_bucket, reformer.attended(keep[1].buckets[1], 16).numpy())
    assert [row.rounds for row in hashed_keys.rows] == [1, 2, 4, 8]
    # the row of the rounds that run is computed from the very buckets that run
    weights = reformer.full_weights(keep[1].vectors[1])
    covered = float(reformer.covered_weight(weights, reformer.attended(keep[1].buckets[1], 16))[32:].mean())
    assert hashed_keys.rows[1].covered == pytest.approx(covered, rel=1e-4)
    assert hashed_keys.rows[0].expected < hashed_keys.rows[3].expected <= 1
    with pytest.raises(OutOfRange, match="hashes in layers 2"):
        buckets.compute_buckets(hashed, ids, 0, 0, 1, 0)
    with pytest.raises(OutOfRange):
        buckets.compute_buckets(hashed, ids, 1, 2, 1, 0)


def test_texts_of_bytes_are_measured_in_bytes(hashed: Checkpoint) -> None:
    assert len(buckets.prepare(hashed, "é" * 100)) == 200
    with pytest.raises(InputTooLong):
        buckets.prepare(hashed, "a" * 257)
    with pytest.raises(OutOfRange, match="at least 160"):
        buckets.prepare(hashed, "a" * 159, buckets.LEAST)


def test_cells_and_costs_by_hand() -> None:
    same_bucket = np.array([[1, 0, 0], [1, 0, 0], [1, 1, 0]], dtype=bool)
    assert buckets.shares(same_bucket, 2).tolist() == [[0.5, 0.0], [1.0, 0.0]]
    assert reformer.count_scores(64, 64, 4) == 64 * 64
    assert reformer.count_scores(128, 64, 2) == 2 * 2 * 64 * 128
    assert reformer.count_scores(129, 64, 1) == 3 * 64 * 128


def test_text_is_continued_as_the_librarys_scores_say(hashed: Checkpoint) -> None:
    prompt = "Once upon a time there was a cat"
    steps = list(generate(hashed, prompt, Decoding(max_new_tokens=40)))
    ids = hashed.tokenizer(prompt)["input_ids"]
    for step in steps:
        with torch.no_grad():
            scores = hashed.model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1]
        assert step.token.id == int(scores.argmax())
        assert step.token.probability == pytest.approx(float(scores.softmax(-1).max()), rel=1e-3)
        ids = [*ids, step.token.id]
    best = list(generate(hashed, prompt, Decoding(strategy="beam", beams=2, max_new_tokens=5)))
    assert best[-1].ids
    drawn = capture(hashed, prompt).decoder
    assert drawn.note


@pytest.fixture(scope="module")
def model() -> Any:
    return tinyfamilies.make("longformer", attention_window=[8, 8]).model


def test_pattern_by_hand() -> None:
    yes, no = True, False
    assert allowed(4, 1).tolist() == [
        [yes, yes, no, no],
        [yes, yes, yes, no],
        [no, yes, yes, yes],
        [no, no, yes, yes],
    ]
    assert allowed(4, 1, (0,)).tolist() == [
        [yes] * 4,
        [yes] * 3 + [no],
        [yes] * 4,
        [yes, no, yes, yes],
    ]


def test_weights_by_hand() -> None:
    # keys 0, ln 2, ln 4 and queries of 1: the middle token weighs them 1 : 2 : 4, the first one its two 1 : 2
    query = torch.ones(1, 1, 3, 1)
    key = torch.tensor([1.0, 2.0, 4.0]).log().view(1, 1, 3, 1)
    value = torch.tensor([7.0, 70.0, 700.0]).view(1, 1, 3, 1)
    context = by_blocks(query, key, value, 1)[0, 0, :, 0].tolist()
    assert context == pytest.approx([(7 + 140) / 3, (7 + 140 + 2800) / 7, (140 + 2800) / 6])
    globally = by_blocks(query, key, value, 1, (0,))[0, 0, 2, 0].item()
    assert globally == pytest.approx((7 + 140 + 2800) / 7)


@pytest.mark.parametrize(("n", "side"), [(1, 4), (5, 2), (16, 4), (37, 4), (37, 64)])
@pytest.mark.parametrize("global_at", [(), (0,), (0, 3, 4)])
def test_blocks_give_what_the_mask_gives(n: int, side: int, global_at: tuple[int, ...]) -> None:
    chosen = tuple(at for at in global_at if at < n)
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 3, n, 8).unbind()
    expected, weights = by_mask(query, key, value, allowed(n, side, chosen))
    context = by_blocks(query, key, value, side, chosen)
    others = [at for at in range(n) if at not in chosen]
    torch.testing.assert_close(context[:, :, others], expected[:, :, others])
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, n))
    if side >= n and not chosen:  # a window as wide as the text is full attention
        full = torch.softmax(query @ key.transpose(-1, -2) / math.sqrt(8), -1) @ value
        torch.testing.assert_close(context, full)


@pytest.mark.parametrize("n", [3, 16, 41])
@pytest.mark.parametrize("global_at", [(), (0,), (0, 2)])
def test_states_are_the_librarys(model: Any, n: int, global_at: tuple[int, ...]) -> None:
    torch.manual_seed(1)
    ids = torch.randint(5, 50, (2, n))
    mask = torch.zeros_like(ids)
    mask[:, list(global_at)] = 1
    with torch.no_grad():
        theirs = (
            library_model(model)
            .longformer(
                input_ids=ids, attention_mask=torch.ones_like(ids), global_attention_mask=mask if global_at else None
            )
            .last_hidden_state
        )
        torch.testing.assert_close(states(model, ids, global_at), theirs, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("n", [3, 16, 41])
def test_an_ordinary_pass_is_the_librarys_with_the_first_token_global(model: Any, n: int) -> None:
    torch.manual_seed(2)
    ids = torch.randint(5, 50, (2, n))
    seen, first = torch.ones_like(ids), torch.zeros_like(ids)
    seen[1, n - 2 :] = 0
    first[:, 0] = 1
    with torch.no_grad():
        ours, theirs = model(ids, seen), library_model(model)(ids, seen, first)
        torch.testing.assert_close(ours.logits[0], theirs.logits[0], atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(ours.logits[1, : n - 2], theirs.logits[1, : n - 2], atol=1e-5, rtol=1e-4)
        chosen = first.clone()
        chosen[:, n // 2] = 1
        ours, theirs = model(ids, seen, chosen), library_model(model)(ids, seen, chosen)
        torch.testing.assert_close(ours.logits[0], theirs.logits[0], atol=1e-5, rtol=1e-4)


def test_a_far_word_reaches_a_token_through_a_global_one_only(model: Any) -> None:
    ids = torch.randint(5, 50, (1, 40))
    other = ids.clone()
    other[0, 39] = 5 + (int(ids[0, 39]) - 4) % 45
    with torch.no_grad():
        for global_at, reaches in (((), False), ((0,), True)):
            same = torch.allclose(states(model, ids, global_at)[0, 10], states(model, other, global_at)[0, 10])
            assert same is not reaches, global_at


def test_layers_with_windows_of_their_own_keep_them() -> None:
    from core.sparse import longformer

    checkpoint = tinyfamilies.make("longformer", attention_window=[4, 8])
    model, ids = checkpoint.model, torch.arange(5, 30)
    with torch.inference_mode():
        expected = model.lm_head(longformer.states(model, ids[None]))[0, [3, 20]]
    logits = torch.from_numpy(longformer.forward(model, ids.tolist(), (3, 20)))
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-4)
    kept = scores_by_layer(Inputs(checkpoint, {"input_ids": ids[None]}, ()))["encoder"]
    assert [int((attention_map.weights[0, 12] > 0).sum()) for _, attention_map in kept] == [1 + 5, 1 + 9]
