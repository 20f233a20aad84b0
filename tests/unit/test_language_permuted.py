"""Words predicted in any order: the chain rule, attention masks, words of several tokens, and errors."""

from __future__ import annotations

import math

import pytest
import torch

from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, InputTooLong, InputUnusable, OutOfRange
from core.language import permuted, side_by_side
from core.language.fill_mask import fill_mask, predict, prepare
from core.language.generate import generate
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
    found = permuted.follow(xlnet, targets)
    a, b, c = order = list(targets.positions)
    first = alone(xlnet, ids, order, 0)
    assert found[0].probability == pytest.approx(math.exp(first[ids[a]]), rel=1e-4)
    assert found[0].prediction.ids[0] == int(first.argmax())
    assert found[0].rank == int((first > first[ids[a]]).sum()) + 1
    assert found[1].probability == pytest.approx(math.exp(alone(xlnet, ids, order, 1)[ids[b]]), rel=1e-4)
    last = alone(xlnet, ids, order, 2)
    assert found[2].probability == pytest.approx(math.exp(last[ids[c]]), rel=1e-4)
    assert found[2].bits == pytest.approx(-math.log2(found[2].probability))
    costs = permuted.costs(xlnet, targets)
    assert list(costs) == sorted(targets.positions)
    assert [costs[place] for place in targets.positions] == pytest.approx([step.bits for step in found], rel=1e-4)


def test_what_comes_later_in_the_order_cannot_be_felt(xlnet: Checkpoint) -> None:
    first = permuted.prepare(xlnet, "The cat sat on the mat.", [2, 6])
    other = permuted.prepare(xlnet, "The cat sat on the dog.", [2, 6])
    steps, others = (permuted.follow(xlnet, targets) for targets in (first, other))
    assert steps[0].probability == pytest.approx(others[0].probability, rel=1e-5)
    swapped, turned = (permuted.follow(xlnet, permuted.reordered(u, "backward")) for u in (first, other))
    assert swapped[1].probability != pytest.approx(turned[1].probability, rel=1e-3)
    # all but the last word of the order are the same for both, so a new known word is felt everywhere
    assert swapped[0].prediction.probabilities == pytest.approx(turned[0].prediction.probabilities, rel=1e-5)


def test_own_predictions_are_fed_back(xlnet: Checkpoint) -> None:
    targets = permuted.prepare(xlnet, TEXT, [2, 3])
    truth, own = permuted.follow(xlnet, targets), permuted.follow(xlnet, targets, own=True)
    assert own[0] == truth[0]
    ids = [token.id for token in targets.tokens]
    ids[targets.positions[0]] = own[0].prediction.ids[0]
    again = alone(xlnet, ids, list(targets.positions), 1)
    assert own[1].prediction.ids[0] == int(again.argmax())
    assert own[1].prediction.probabilities[0] == pytest.approx(float(again.max().exp()), rel=1e-4)


def test_attention_in_the_order_of_the_text(xlnet: Checkpoint) -> None:
    targets = permuted.prepare(xlnet, "The cat sat", [3, 1])  # [CLS] the cat sat [SEP]
    assert [token.text for token in targets.tokens] == ["[CLS]", "the", "cat", "sat", "[SEP]"]
    content, query = (side.astype(int).tolist() for side in permuted.stream_masks(targets))
    known = [1, 0, 1, 0, 1]
    assert query == [known, [1, 0, 1, 1, 1], known, known, known]
    assert content == [known, [1, 1, 1, 1, 1], known, [1, 0, 1, 1, 1], known]


def test_words_of_several_tokens_are_predicted_from_left_to_right(xlnet: Checkpoint) -> None:
    text = "The catdog cat"
    tokens = permuted.tokens_of(xlnet, text)
    pieces = permuted.choices(tokens)
    many = next(number for number, places in pieces.items() if len(places) > 1)
    targets = permuted.prepare(xlnet, text, [max(pieces), many])
    assert targets.positions == (*pieces[max(pieces)], *pieces[many])
    assert targets.words == (max(pieces), many)
    assert permuted.reordered(targets, "forward").words == (many, max(pieces))
    assert permuted.reordered(targets, "backward").positions == targets.positions
    shuffled = permuted.reordered(permuted.prepare(xlnet, TEXT, range(1, 7)), "shuffled", 1)
    assert sorted(shuffled.positions) == list(range(1, 7))
    assert shuffled.positions != tuple(range(1, 7))


def test_masks_filled_at_once_attend_to_no_other_mask(xlnet: Checkpoint) -> None:
    one, two = fill_mask(xlnet, "The [MASK] sat on the [MASK].")
    tokens = prepare(xlnet, TEXT, [2, 6])
    assert tokens.positions == (2, 6)
    guesses = predict(xlnet, tokens)
    assert guesses[0].probabilities == pytest.approx(one.probabilities, rel=1e-5)
    ids = [token.id for token in tokens.tokens]
    expected = alone(xlnet, ids, [2, 6], 0).exp().topk(5)
    assert one.ids == tuple(expected.indices.tolist())
    assert one.probabilities == pytest.approx(expected.values.tolist(), rel=1e-4)
    assert two.position == 6
    both = side_by_side.answer(xlnet, TEXT, [1])
    assert isinstance(both, side_by_side.Filled)


def test_refusals_are_sentences(xlnet: Checkpoint) -> None:
    with pytest.raises(InputUnusable, match="does not continue"):
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
