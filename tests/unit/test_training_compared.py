"""The difference of two models' answers, and the prompts that are taken from a text."""

from __future__ import annotations

import math
from statistics import fmean

import pytest
import torch

from core.checkpoints.spec import Checkpoint
from core.training import compared
from core.training.changed import PAIRS
from core.training.ready import ready
from core.training.setup import Setup
from core.training.text import Corpus, split
from core.training.train import Training
from core.training.vocabulary import learn


@pytest.fixture(scope="module")
def models() -> tuple[Checkpoint, Checkpoint]:
    """Two random models with one vocabulary."""
    corpus = split(ready("stories")[:10_000])
    setups = [Setup(layers=1, heads=1, width=32, context=32, seed=seed) for seed in (0, 1)]
    tokenizer = learn(corpus.train, setups[0])
    one, other = (Training(corpus, setup, tokenizer).checkpoint("yours", "Your model") for setup in setups)
    return one, other


def test_the_surprisal_of_a_word_is_that_of_its_tokens_in_a_row(models: tuple[Checkpoint, Checkpoint]) -> None:
    model, _ = models
    ids = model.tokenizer("The fox")["input_ids"]
    answer = model.tokenizer(" zigzag")["input_ids"]
    chances = [compared.next_token(model, "The fox")[answer[0]]]
    with torch.no_grad():
        for at in range(1, len(answer)):
            logits = model.model(input_ids=torch.tensor([[*ids, *answer[:at]]])).logits[0, -1]
            chances.append(float(logits.double().softmax(-1)[answer[at]]))
    assert len(answer) > 1, "a word of several tokens"
    assert compared.surprisal(model, "The fox", " zigzag") == pytest.approx(-sum(map(math.log2, chances)), rel=1e-4)


def test_a_model_does_not_differ_from_itself_and_two_seeds_are_the_noise(models: tuple[Checkpoint, Checkpoint]) -> None:
    one, other = models
    question = compared.Question("The fox", " zigzag", True)
    same = compared.compare([one], [one], question)
    assert same.surprisals[0] == same.surprisals[1]
    assert same.noise is None
    assert same.texts[0] == same.texts[1] == compared.continued(one, "The fox")
    bits = [compared.surprisal(model, "The fox", " zigzag") for model in models]
    seeds = compared.compare([one, other], [one], question)
    assert seeds.surprisals == pytest.approx((sum(bits) / 2, bits[0]))
    assert seeds.noise == pytest.approx(abs(bits[0] - bits[1]))
    p, q = (compared.next_token(model, "The fox") for model in models)
    assert p.sum() == pytest.approx(1)
    top = seeds.chances[0]
    assert top[0] == max(top) == pytest.approx(max((p + q) / 2))


def test_questions_end_right_before_the_word_or_come_from_lines_without_it() -> None:
    lines = ("one two three four five six seven cat nine", "cat first", "a cat", "be see dee egg", "be see dee egg")
    corpus = Corpus(lines, ())
    question = compared.Question
    assert compared.questions_about(corpus, "cat") == (question("three four five six seven", " cat", True),)
    assert compared.questions_elsewhere(corpus, "cat") == (question("be see dee", " egg", False),)


def test_the_measured_pairs_bear_out_what_the_page_says() -> None:
    pairs = compared.measured()
    assert list(pairs) == list(PAIRS)
    rises = {
        (name, about): [
            each.surprisals[1] - each.surprisals[0] for each in pair.answers if each.question.about is about
        ]
        for name, pair in pairs.items()
        for about in (True, False)
    }
    noise = {name: max(each.noise or 0.0 for each in pair.answers) for name, pair in pairs.items()}
    for name in ("moss", "cap", "questions"):
        assert min(rises[name, True]) > noise[name] > max(rises[name, False]), name
    assert max(rises["repeated", True]) < -noise["repeated"] < min(rises["repeated", False])
    assert min(rises["tenth", True]) > 0
    assert fmean(rises["tenth", True]) < noise["tenth"]
    assert abs(fmean(rises["tenth", False])) < 1
