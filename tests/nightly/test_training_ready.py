"""What the page *Training* promises of its ready texts: each is learned in minutes of one processor core."""

from __future__ import annotations

import pytest
import torch

from core.training.counts import bits_per_byte
from core.training.ready import READY, ready
from core.training.setup import LEARNING_RATE, STEPS
from core.training.text import split
from core.training.train import Training

SECONDS = 180
"""Of one core, for each text."""


def right(training: Training) -> float:
    """The share of the held-out sums whose most probable continuation is right, to its end."""
    tokenizer, lines = training.tokenizer, training.corpus.held_out
    asked = [line[: line.index("=") + 1] for line in lines]
    ids = torch.tensor(tokenizer(asked)["input_ids"])
    given = ids.shape[1]
    with torch.no_grad():
        for _ in range(4):
            ids = torch.cat([ids, training.model.eval()(input_ids=ids).logits[:, -1:].argmax(-1)], 1)
    answers = [tokenizer.decode(row).split(tokenizer.eos_token)[0] for row in ids[:, given:]]
    return sum(question + answer == line for question, answer, line in zip(asked, answers, lines, strict=True)) / len(
        lines
    )


@pytest.mark.parametrize("name", READY)
def test_a_ready_text_is_learned_better_than_by_counting(name: str) -> None:
    training = Training(split(ready(name)), READY[name].opens_with)
    for point in training.run(READY[name].steps, LEARNING_RATE):
        print(f"{name}: step {point.step}, {point.seconds:.0f} s, {point.train:.3f}, {point.held_out:.3f}", flush=True)
    assert training.points[-1].held_out < min(bits_per_byte(training.corpus))
    assert training.seconds < SECONDS


def test_held_out_sums_come_out_right() -> None:
    training = Training(split(ready("sums")), READY["sums"].opens_with)
    for point in training.run(READY["sums"].steps, LEARNING_RATE):
        if point.step % STEPS == 0:
            print(f"sums: step {point.step}, {point.seconds:.0f} s, {point.held_out:.3f}: {right(training):.1%} right")
    assert right(training) > 0.95
    assert training.seconds < SECONDS
