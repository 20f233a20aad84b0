"""A training from random weights: its numbers, its stops, and the model that it leaves."""

from __future__ import annotations

import itertools

import pytest
import torch

from core.attention.capture import capture
from core.errors import OutOfRange
from core.training.ready import ready
from core.training.sample import sample
from core.training.setup import Objective, Setup, Units, parameters
from core.training.text import Corpus, split
from core.training.train import EVERY, Training
from core.training.vocabulary import entries

OBJECTIVES: tuple[Objective, ...] = ("next", "masked", "spans")
UNITS: tuple[Units, ...] = ("characters", "bytes", "bpe")
SMALL = {"layers": 1, "width": 32, "heads": 2, "context": 32}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return split(ready("stories")[:20_000])


@pytest.mark.parametrize(("objective", "units"), itertools.product(OBJECTIVES, UNITS))
def test_every_model_is_counted_trained_and_shown(corpus: Corpus, objective: Objective, units: Units) -> None:
    training = Training(corpus, Setup(objective, units, **SMALL))  # type: ignore[arg-type]
    assert training.parameters == parameters(training.setup, training.entries)
    assert training.entries == entries(corpus.train, training.setup)
    points = list(training.run(EVERY + 1, 0.01))
    assert [point.step for point in points] == [0, EVERY, EVERY + 1]
    assert points[-1].held_out < points[0].held_out
    checkpoint = training.checkpoint("yours", "Your model")
    trace = capture(checkpoint, "The fox said hello.")
    assert "".join(trace.maps[0].query_tokens).replace("\u2423", " ").startswith(("The fox", "[CLS]The fox"))


def test_a_wider_model_is_counted_as_well(corpus: Corpus) -> None:
    for objective in OBJECTIVES:
        setup = Setup(objective, layers=3, heads=4, width=64, context=64)
        assert Training(corpus, setup).parameters == parameters(setup, 1_000)


def test_the_same_seed_gives_the_same_numbers_whether_it_stops_or_not(corpus: Corpus) -> None:
    setup = Setup(**SMALL)  # type: ignore[arg-type]
    whole, parts, other = Training(corpus, setup), Training(corpus, setup), Training(corpus, Setup(**SMALL, seed=1))  # type: ignore[arg-type]
    losses = [point.held_out for point in whole.run(2 * EVERY, 0.003)]
    stopped = parts.run(10 * EVERY, 0.003)
    first = [next(stopped).held_out for _ in range(2)]
    stopped.close()
    torch.rand(3)  # nobody else's random numbers matter
    assert first + [point.held_out for point in parts.run(EVERY, 0.003)] == losses
    checkpoints = [training.checkpoint("yours", "Your model") for training in (whole, parts)]
    for weights, same in zip(*(checkpoint.model.parameters() for checkpoint in checkpoints), strict=True):
        assert torch.equal(weights, same)
    assert checkpoints[0].spec.location != checkpoints[1].spec.location  # each is its own visitor's
    assert [point.held_out for point in other.run(EVERY, 0.003)][-1] != losses[1]


def test_the_bits_are_those_of_the_library_for_each_byte(corpus: Corpus) -> None:
    corpus = Corpus(corpus.train, (" ".join(corpus.held_out),))  # one line, longer than a row
    training = Training(corpus, Setup(units="bytes", **SMALL))  # type: ignore[arg-type]
    point = next(training.run(EVERY, 0.003))
    text = "".join(f"{line}\n" for line in corpus.held_out).encode()[: 16 * 32]
    assert text.isascii()
    names = {" ": "\u0120"}  # a printable byte is its own name; a line's end is a token of its own
    end = training.tokenizer.eos_token
    tokens = [end if character == "\n" else names.get(character, character) for character in text.decode()]
    rows = torch.tensor(training.tokenizer.convert_tokens_to_ids(tokens)).reshape(-1, 32)
    with torch.no_grad():
        logits = training.model(input_ids=rows).logits[:, :-1]
    bits = torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten()) / torch.tensor(2.0).log()
    assert point.held_out == pytest.approx(float(bits), rel=1e-5)


def test_a_row_starts_with_its_line_where_the_line_fits() -> None:
    short = [f"{number}+1={number + 1}" for number in range(10, 99)]
    corpus = Corpus((*short, *["a line that is longer than a row " * 3] * 9), tuple(short[:20]))
    training = Training(corpus, Setup(units="characters", layers=1, width=32, heads=2, context=32))
    rows = [row for _ in range(100) for row in training.batch()["input_ids"].tolist()]
    read = {training.tokenizer.decode(row[: len(short[0])]) for row in rows}
    assert read > set(short)
    assert not [start for start in read - set(short) if "+" in start]


@pytest.mark.parametrize(
    "wrong", [{"layers": 5}, {"width": 100}, {"heads": 3}, {"width": 96, "heads": 8, "context": 1}]
)
def test_a_setup_out_of_range_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(OutOfRange):
        Setup(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "given"),
    [("47+08=055", "47+08="), ("Once there was a fox.", "Once there was"), ("abracadabra", "abrac"), ("x", "x")],
)
def test_a_sample_continues_a_beginning_of_a_held_out_line(corpus: Corpus, line: str, given: str) -> None:
    training = Training(corpus, Setup(units="bytes", **SMALL))  # type: ignore[arg-type]
    parts = sample(training.checkpoint("yours", "Your model"), line)
    assert parts[0] == (given, False)
