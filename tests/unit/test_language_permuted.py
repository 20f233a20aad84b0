"""Predictions in any order, and texts read segment by segment with a memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, InputTooLong, InputUnusable, OutOfRange
from core.language import permuted, segments, side_by_side
from core.language.fill_mask import fill_mask, prepare
from core.language.generate import generate
from core.language.generate import steps as decode
from core.language.inputs import one_text
from core.language.tokens import describe
from core.language.types import Decoding
from tests import tiny
from tests.tinyfamilies import loaded, spec_of

TEXT = "The cat sat on the mat."


@pytest.fixture(scope="module")
def xlnet(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return loaded(tiny.tiny_xlnet(tmp_path_factory.mktemp("xlnet")), "permutation-lm")


def alone(checkpoint: Checkpoint, ids: list[int], order: list[int], step: int) -> torch.Tensor:
    """Log-probabilities of one step by a pass of its own, with its mask written position by position."""
    place = order[step]
    hidden = torch.zeros(1, len(ids), len(ids))
    for later, unseen in enumerate(order):
        hidden[0, :, unseen] = 1
        for sees in order[later + 1 :]:
            hidden[0, sees, unseen] = 0
    where = torch.zeros(1, 1, len(ids))
    where[0, 0, place] = 1
    with torch.no_grad():
        out = checkpoint.model(torch.tensor([ids]), perm_mask=hidden, target_mapping=where, use_mems=False)
    return out.logits[0, 0].log_softmax(-1)


def test_the_steps_of_one_pass_use_the_chain_rule(xlnet: Checkpoint) -> None:
    targets = permuted.prepare(xlnet, TEXT, [5, 2, 3])
    ids = [token.id for token in targets.tokens]
    prediction_steps = permuted.follow(xlnet, TEXT, (5, 2, 3))
    a, b, c = order = list(targets.positions)
    first = alone(xlnet, ids, order, 0)
    assert prediction_steps[0].probability == pytest.approx(math.exp(first[ids[a]]), rel=1e-4)
    assert prediction_steps[0].prediction.ids[0] == int(first.argmax())
    assert prediction_steps[0].rank == int((first > first[ids[a]]).sum()) + 1
    assert prediction_steps[1].probability == pytest.approx(math.exp(alone(xlnet, ids, order, 1)[ids[b]]), rel=1e-4)
    last = alone(xlnet, ids, order, 2)
    assert prediction_steps[2].probability == pytest.approx(math.exp(last[ids[c]]), rel=1e-4)
    assert prediction_steps[2].bits == pytest.approx(-math.log2(prediction_steps[2].probability))
    costs = permuted.costs(xlnet, TEXT, (5, 2, 3))
    assert list(costs) == sorted(targets.positions)
    assert [costs[place] for place in targets.positions] == pytest.approx(
        [step.bits for step in prediction_steps], rel=1e-4
    )


def test_what_comes_later_in_the_order_cannot_be_felt(xlnet: Checkpoint) -> None:
    both = ("The cat sat on the mat.", "The cat sat on the dog.")
    steps, others = (permuted.follow(xlnet, text, (2, 6)) for text in both)
    assert steps[0].probability == pytest.approx(others[0].probability, rel=1e-5)
    swapped, turned = (permuted.follow(xlnet, text, (6, 2)) for text in both)
    assert swapped[1].probability != pytest.approx(turned[1].probability, rel=1e-3)
    # all but the last word of the order are the same for both, so a new known word is felt everywhere
    assert swapped[0].prediction.probabilities == pytest.approx(turned[0].prediction.probabilities, rel=1e-5)


def test_own_predictions_are_fed_back(xlnet: Checkpoint) -> None:
    targets = permuted.prepare(xlnet, TEXT, [2, 3])
    truth = permuted.follow(xlnet, TEXT, (2, 3))
    prediction_steps = permuted.follow(xlnet, TEXT, (2, 3), feed_predictions=True)
    assert prediction_steps[0] == truth[0]
    ids = [token.id for token in targets.tokens]
    ids[targets.positions[0]] = prediction_steps[0].prediction.ids[0]
    again = alone(xlnet, ids, list(targets.positions), 1)
    assert prediction_steps[1].prediction.ids[0] == int(again.argmax())
    assert prediction_steps[1].prediction.probabilities[0] == pytest.approx(float(again.max().exp()), rel=1e-4)


def test_attention_in_the_order_of_the_text(xlnet: Checkpoint) -> None:
    targets = permuted.prepare(xlnet, "The cat sat", [3, 1])  # [CLS] the cat sat [SEP]
    assert [token.text for token in targets.tokens] == ["[CLS]", "the", "cat", "sat", "[SEP]"]
    content, query = (side.astype(int).tolist() for side in permuted.stream_masks(targets))
    context = [1, 0, 1, 0, 1]
    assert query == [context, [1, 0, 1, 1, 1], context, context, context]
    assert content == [context, [1, 1, 1, 1, 1], context, [1, 0, 1, 1, 1], context]


def test_words_of_several_tokens_are_predicted_from_left_to_right(xlnet: Checkpoint) -> None:
    text = "The catdog cat"
    tokens = permuted.tokens_of(xlnet, text)
    pieces = permuted.choices(tokens)
    many = next(number for number, places in pieces.items() if len(places) > 1)
    targets = permuted.prepare(xlnet, text, [max(pieces), many])
    assert targets.positions == (*pieces[max(pieces)], *pieces[many])


def test_masks_filled_at_once_attend_to_no_other_mask(xlnet: Checkpoint) -> None:
    first, second = fill_mask(xlnet, "The [MASK] sat on the [MASK].")
    assert prepare(xlnet, TEXT, [2, 6]).positions == (2, 6)
    guesses = fill_mask(xlnet, TEXT, positions=(2, 6))
    assert guesses[0].probabilities == pytest.approx(first.probabilities, rel=1e-5)
    ids = list(prepare(xlnet, TEXT).ids)
    expected = alone(xlnet, ids, [2, 6], 0).exp().topk(5)
    assert first.ids == tuple(expected.indices.tolist())
    assert first.probabilities == pytest.approx(expected.values.tolist(), rel=1e-4)
    assert second.position == 6
    both = side_by_side.answer(xlnet, TEXT, [1])
    assert isinstance(both, side_by_side.Filled)


def test_refusals_are_sentences(xlnet: Checkpoint) -> None:
    with pytest.raises(InputUnusable, match=r"A prompt needs a model that continues a text\. Choose another than"):
        next(generate(xlnet, "Once"))
    with pytest.raises(InputUnusable, match="No word"):
        permuted.prepare(xlnet, TEXT, [])
    with pytest.raises(OutOfRange, match="no word 99"):
        permuted.prepare(xlnet, TEXT, [99])
    with pytest.raises(OutOfRange):
        permuted.prepare(xlnet, TEXT, [0])  # [CLS] is no word
    with pytest.raises(InputEmpty):
        permuted.prepare(xlnet, "  ", [1])
    with pytest.raises(InputUnusable, match="gives no token"):
        permuted.prepare(xlnet, "\u200b", [1])
    with pytest.raises(InputTooLong):
        permuted.prepare(xlnet, "cat " * 80, [1])
    other = Checkpoint(xlnet.model, xlnet.tokenizer, spec_of("Tiny BERT", "masked-lm"))
    with pytest.raises(InputUnusable, match="Choose an XLNet"):
        permuted.tokens_of(other, TEXT)


STORY = " ".join(tiny.SENTENCES[:6] * 3)


@pytest.fixture(scope="module")
def xl(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return loaded(tiny.tiny_transformer_xl(tmp_path_factory.mktemp("xl")), "causal-lm")


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return loaded(tiny.tiny_transformer_xl(tmp_path_factory.mktemp("short"), memory=6), "causal-lm")


def ids_of(checkpoint: Checkpoint, count: int) -> list[int]:
    return [0, *checkpoint.tokenizer(STORY, verbose=False)["input_ids"]][:count]


def whole(checkpoint: Checkpoint, ids: list[int]) -> torch.Tensor:
    """(n, V) log-probabilities of one pass."""
    with torch.no_grad():
        return checkpoint.model(torch.tensor([ids])).logits[0].log_softmax(-1)


def test_with_a_memory_that_covers_all_segments_cost_what_one_pass_costs(xl: Checkpoint) -> None:
    ids = ids_of(xl, 90)
    logs = whole(xl, ids[:-1])
    expected = -logs[torch.arange(89), torch.tensor(ids[1:])].double().numpy() / np.log(2)
    for segment in (8, 13, 64, 100):
        np.testing.assert_allclose(segments.costs(xl.model, ids, segment=segment), expected, atol=1e-4)


def test_without_memory_each_segment_begins_anew(xl: Checkpoint) -> None:
    ids = ids_of(xl, 41)
    costs = segments.costs(xl.model, ids, segment=10, memory=0)
    for begin in range(0, 40, 10):
        logs = whole(xl, ids[begin : begin + 10])
        expected = [-float(logs[i, ids[begin + i + 1]]) / np.log(2) for i in range(10)]
        np.testing.assert_allclose(costs[begin : begin + 10], expected, atol=1e-4)
    with_memory = segments.costs(xl.model, ids, segment=10)
    np.testing.assert_allclose(with_memory[:10], costs[:10], atol=1e-5)
    assert np.abs(with_memory[10:] - costs[10:]).max() > 0.01


def test_a_memory_can_be_made_shorter(xl: Checkpoint, short: Checkpoint) -> None:
    short.model.load_state_dict(xl.model.state_dict())
    ids = ids_of(xl, 60)
    cut = segments.costs(xl.model, ids, segment=8, memory=6)
    np.testing.assert_allclose(cut, segments.costs(short.model, ids, segment=8), atol=1e-5)


def test_how_far_back_keys_and_influence_reach(short: Checkpoint) -> None:
    ids = ids_of(short, 40)
    seen = segments.weights(short.model, ids, segment=8, memory=6)
    assert seen.shape == (2, 40, 40)
    back = np.arange(40)[:, None] - np.arange(40)[None, :]
    place = np.arange(40)[:, None] % 8
    expected = (back >= 0) & (back <= place + 6)  # its own segment so far, and six more
    for layer in seen:
        assert (layer == expected).all()
    # the last token is the 8th of its segment: 7 + 6 back; the key there is remembered from the segment before, where
    # it was the 3rd, and had itself 2 + 6 tokens before it
    assert segments.influence(seen) == (13, 13 + 8)


def test_influence_by_hand() -> None:
    seen = np.zeros((2, 5, 5), dtype=bool)
    seen[1, 4, 2] = True
    seen[0, 2, 1] = seen[0, 4, 0] = True
    assert segments.influence(seen) == (2, 4)


def test_what_has_no_influence_changes_nothing(short: Checkpoint) -> None:
    ids = ids_of(short, 40)
    seen = segments.weights(short.model, ids, segment=8, memory=6)
    reach = segments.influence(seen)[-1]
    for place, felt in ((39 - reach, True), (39 - reach - 1, False)):
        changed = list(ids)
        changed[place] = (ids[place] + 7) % 90 + 1
        a, b = (segments.costs(short.model, [*row, 5], segment=8)[-1] for row in (ids, changed))
        assert bool(abs(a - b) > 1e-7) is felt


def test_reading(xl: Checkpoint) -> None:
    comparison = segments.compare(xl, STORY, segment=16, memory=32)
    assert len(comparison.tokens) == len(comparison.with_memory) == len(comparison.without)
    assert comparison.tokens[0].text == "The"
    np.testing.assert_allclose(comparison.with_memory[:16], comparison.without[:16], atol=1e-5)
    assert comparison.furthest_key == (47, 47)
    assert (comparison.segment, comparison.memory) == (16, 32)


@pytest.mark.parametrize("prompt", [5, 70])
def test_generation_with_the_memory_is_that_of_the_whole_context(xl: Checkpoint, prompt: int) -> None:
    ids = ids_of(xl, prompt)
    steps = list(decode(one_text(xl, describe(xl.tokenizer, ids)), Decoding(max_new_tokens=12)))
    written = list(ids)
    for step in steps:
        logs = whole(xl, written)[-1]
        assert step.token.id == int(logs.argmax())
        assert step.token.probability == pytest.approx(float(logs.max().exp()), rel=1e-3)
        written.append(step.token.id)
    assert len(steps) == 12


def test_beams_carry_their_own_memories(xl: Checkpoint) -> None:
    ids = ids_of(xl, 5)
    best = list(decode(one_text(xl, describe(xl.tokenizer, ids)), Decoding("beam", beams=3, max_new_tokens=5)))[-1]
    written = list(ids)
    score = 0.0
    for token in best.ids:
        score += float(whole(xl, written)[-1, token])
        written.append(token)
    assert best.beams[0][1] == pytest.approx(score, abs=1e-3)


def test_refusals_of_segments_are_sentences(xl: Checkpoint) -> None:
    with pytest.raises(OutOfRange, match="1 to 96"):
        segments.compare(xl, STORY, memory=97)
    with pytest.raises(OutOfRange, match="8 to 256"):
        segments.compare(xl, STORY, segment=1)
    with pytest.raises(InputEmpty):
        segments.compare(xl, " ")
    with pytest.raises(InputTooLong):
        segments.compare(xl, "a b c d e f g " * 300)
    from transformers import GPT2Config, GPT2LMHeadModel

    gpt: Any = GPT2LMHeadModel(GPT2Config(vocab_size=60, n_embd=8, n_layer=1, n_head=1))
    with pytest.raises(InputUnusable, match="no memory"):
        segments.compare(Checkpoint(gpt, xl.tokenizer, xl.spec), STORY)
