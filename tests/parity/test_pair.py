"""One pair of tokens step by step: the numbers of the map of the same head, and torch's on the vectors."""

from __future__ import annotations

import math

import pytest

from core import checkpoints
from core.attention.capture import capture
from core.attention.inside.block import block
from core.attention.inside.pair import FIRST, pair_steps
from core.errors import OutOfRange

TEXT = "Once upon a time there was a little girl."


@pytest.mark.parametrize(
    ("slug", "text", "query", "key"),
    [("minilm", "Mary saw herself.", "herself", "mary"), ("atlas-llama", TEXT, "␣girl", "␣little")],
)
def test_the_steps_of_a_pair_are_those_of_its_head(slug: str, text: str, query: str, key: str) -> None:
    checkpoint = checkpoints.load(slug)
    steps = pair_steps(checkpoint, text, 1, 3, query, key)
    result = capture(checkpoint, text).maps[0]
    row = result.weights[1, 3, steps.query]
    assert steps.tokens == result.key_tokens
    assert (steps.tokens[steps.query], steps.tokens[steps.key]) == (query, key)
    assert list(steps.weights) == pytest.approx(row.tolist(), abs=1e-6)
    assert steps.scores[steps.key] == pytest.approx(steps.product / math.sqrt(steps.dimension), rel=1e-5)
    shares = [math.exp(score) for score in steps.scores]
    assert list(steps.weights) == pytest.approx([share / sum(shares) for share in shares], abs=1e-5)
    assert (-math.inf in steps.scores) is result.causal
    assert steps.rotated is (slug == "atlas-llama")
    tensors = {step.slug: step.values for step in block(checkpoint, text, 1).steps}
    value = tensors["attention-values"][3]
    assert list(steps.values) == pytest.approx(value[:, 0].tolist(), abs=1e-5)
    assert list(steps.output) == pytest.approx((row @ value)[:FIRST].tolist(), abs=1e-5)


def test_what_there_is_not_is_refused() -> None:
    checkpoint = checkpoints.load("minilm")
    for layer, head, query in ((99, 0, "mary"), (0, 99, "mary"), (0, 0, "nobody")):
        with pytest.raises(OutOfRange):
            pair_steps(checkpoint, "Mary saw herself.", layer, head, query, "mary")


def test_what_lesson_2_says_of_a_live_head() -> None:
    checkpoint = checkpoints.load("minilm")
    steps = pair_steps(checkpoint, "Mary saw herself.", 1, 3, "herself", "mary")
    assert (round(steps.product, 2), round(steps.scores[steps.key], 2)) == (28.05, 4.96)
    said = {
        "Mary saw herself.": {"mary": 82, "[CLS]": 11},
        "The queen asked the king about herself.": {"queen": 56, "king": 10},
        "Mary told John about herself.": {"mary": 73, "john": 6},
        "John saw himself.": {"john": 41, "[CLS]": 41},
    }
    for text, shares in said.items():
        query = "himself" if "himself" in text else "herself"
        for key, share in shares.items():
            pair = pair_steps(checkpoint, text, 1, 3, query, key)
            assert round(100 * pair.weights[pair.key]) == share, (text, key)
