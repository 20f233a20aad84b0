"""Pairs of sentences and replaced tokens: the same numbers as transformers' own classes, on tiny random models."""

from __future__ import annotations

import pytest
import torch

from core.checkpoints.spec import Checkpoint
from core.efficiency.timing import FIRST, by_turns
from core.errors import InputEmpty, InputTooLong, InputUnusable, OutOfRange
from core.language import pairs, replaced
from core.language.tokens import tokenise
from tests import tinyfamilies

A, B = "The cat sat on the mat.", "A small dog runs in the garden."


@pytest.fixture(scope="module")
def electra() -> tuple[Checkpoint, Checkpoint]:
    return tinyfamilies.make("electra"), tinyfamilies.make("electra-judge")


@pytest.mark.parametrize("order", [False, True])
def test_the_probability_that_b_follows_is_the_heads_own(order: bool) -> None:
    head = "AlbertForPreTraining" if order else "BertForNextSentencePrediction"
    family = tinyfamilies.FAMILIES["albert" if order else "bert"]._replace(model=head)
    tokenizer = tinyfamilies.tokenizer_of(family.kind)
    torch.manual_seed(0)
    model = tinyfamilies.build(family, family.settings | {"vocab_size": len(tokenizer)})
    part = tinyfamilies.drawn(head, family.kind, model)
    assert pairs.question(part) == ("order" if order else "next")
    found = pairs.judge(part, f"  {A} ", B)
    given = tokenizer(A, B, return_tensors="pt", return_token_type_ids=True)
    assert given["token_type_ids"].sum() > 0
    with torch.no_grad():
        out = model(**given)
    expected = (out.sop_logits if order else out.logits).softmax(-1)[0, 0]
    assert found.probability == pytest.approx(float(expected), rel=1e-5)
    assert found.a == A
    assert pairs.judge(part, B, A).probability != pytest.approx(found.probability, rel=1e-3)
    with pytest.raises(InputEmpty):
        pairs.judge(part, A, " \x00 ")
    with pytest.raises(InputTooLong, match="64"):
        pairs.judge(part, A * 5, B * 5)


def test_second_sentences_are_lines() -> None:
    assert pairs.candidates(" one \n\n two\none") == ("one", "two")
    with pytest.raises(InputEmpty):
        pairs.candidates(" \n ")
    with pytest.raises(OutOfRange, match="9 second sentences"):
        pairs.candidates("\n".join("abcdefghi"))


def test_what_is_judged_is_what_the_generator_wrote(electra: tuple[Checkpoint, Checkpoint]) -> None:
    generator, discriminator = electra
    tokens = tokenise(generator, A)
    found = replaced.replace_and_detect(generator, discriminator, A, [2, 6], seed=3)
    assert found.masked == (2, 6)
    assert [t.id for i, t in enumerate(found.after) if i not in found.masked] == [
        t.id for i, t in enumerate(tokens) if i not in found.masked
    ]
    ids = torch.tensor([[token.id for token in found.after]])
    with torch.no_grad():
        expected = discriminator.model(input_ids=ids).logits[0].sigmoid()
    assert found.probabilities == pytest.approx(expected.tolist(), rel=1e-5)
    masked = torch.tensor([[token.id for token in tokens]])
    masked[0, [2, 6]] = generator.tokenizer.mask_token_id
    with torch.no_grad():
        chances = generator.model(input_ids=masked).logits[0].softmax(-1)
    for place, chance in zip(found.masked, found.sampled, strict=True):
        assert chance == pytest.approx(float(chances[place, found.after[place].id]), rel=1e-4)
    again = replaced.replace_and_detect(generator, discriminator, A, [2, 6], seed=3)
    assert again == found
    others = {replaced.replace_and_detect(generator, discriminator, A, [2, 6], seed=s).after for s in range(4)}
    assert len(others) > 1


def test_right_verdicts_are_counted_over_ordinary_tokens() -> None:
    tokens = tokenise(tinyfamilies.make("bert"), "the cat sat")
    changed = tuple(tokens[2] if i == 1 else token for i, token in enumerate(tokens))  # [CLS] cat cat sat [SEP]
    found = replaced.Detection(tokens, changed, (1, 3), (0.1, 0.9), (0.9, 0.8, 0.7, 0.2, 0.9))
    assert found.replaced == (1,)  # the guess at 3 was right, so it counts as original
    assert found.correct() == (2, 3)  # caught at 1, wrongly accused at 2, left alone at 3
    assert found.correct(threshold=0.75) == (3, 3)


def test_words_are_chosen_by_the_seed_and_whole(electra: tuple[Checkpoint, Checkpoint]) -> None:
    tokens = tokenise(electra[0], "The cat sat on the mat and looked at the dog. " * 2)
    chosen = {replaced.some_words(tokens, seed) for seed in range(10)}
    assert len(chosen) > 3
    assert all(len(c) == round(0.15 * 22) for c in chosen)  # 22 words, each one piece
    with pytest.raises(InputUnusable):
        replaced.some_words(tokenise(electra[0], "?!"), 0)


def test_a_text_of_ones_own_has_nothing_replaced(electra: tuple[Checkpoint, Checkpoint]) -> None:
    found = replaced.detect(electra[1], A)
    assert found.before == found.after
    assert found.replaced == ()
    assert len(found.probabilities) == len(found.after)


def test_speed_is_the_median_of_turns() -> None:
    now = [0.0]
    cost = iter([*[(9.0, 9.0)] * FIRST, (1.0, 5.0), (2.0, 4.0), (9.0, 6.0)])
    current: list[float] = []

    def first() -> None:
        current[:] = next(cost)
        now[0] += current[0]

    def second() -> None:
        now[0] += current[1]

    assert by_turns([first, second], 3, clock=lambda: now[0]) == (2.0, 5.0)
