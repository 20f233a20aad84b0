"""What a model of each family reads of a text."""

from __future__ import annotations

import pytest

from core.errors import InputUnusable, OutOfRange
from core.language.inputs import Inputs, as_typed
from core.language.makers import inputs
from tests import tinyfamilies
from tests.tinyfamilies import MASKED, PLAIN, text_for

NAMES = ("bert", "electra", "gpt2", "t5", "xlnet")


def _agree(given: Inputs) -> None:
    """Tokens are those of the tensors, and predicted positions are among them."""
    read = given.tensors["decoder_input_ids" if given.source else "input_ids"]
    assert read.tolist() == [[token.id for token in given.tokens]]
    assert given.tensors["input_ids"].tolist() == [[token.id for token in given.of_text]]
    assert all(0 <= position < len(given.tokens) for position in given.positions)
    special = given.checkpoint.tokenizer.all_special_ids
    unknown = given.checkpoint.tokenizer.unk_token_id
    assert all(token.special == (token.id in special) for token in given.of_text if token.id != unknown)


@pytest.mark.parametrize("name", NAMES)
def test_tokens_are_those_of_the_tensors(name: str) -> None:
    checkpoint = tinyfamilies.make(name)
    whole, asked = inputs(checkpoint, text_for(checkpoint)), inputs(checkpoint, text_for(checkpoint), step=0)
    for given in (whole, asked, as_typed(checkpoint, PLAIN)):
        _agree(given)
    assert len(asked.positions) == 1
    assert bool(asked.source) == (len(checkpoint.spec.family.sides) == 2)


@pytest.mark.parametrize("name", NAMES)
def test_offsets_count_in_the_text(name: str) -> None:
    given = inputs(tinyfamilies.make(name), text_for(tinyfamilies.make(name)))
    placed = [token for token in given.of_text if not token.special and token.start >= 0]
    assert len(placed) > 5
    assert [given.text[token.start : token.end].lower() for token in placed] == [token.text.lower() for token in placed]


def test_an_output_is_read_but_for_its_last_token() -> None:
    t5 = tinyfamilies.make("t5")
    given = inputs(t5, PLAIN)
    prompt = given.position + 1
    assert [token.id for token in given.output[:-1]] == [token.id for token in given.tokens[prompt:]]
    assert len(given.output) == len(given.positions)
    step = inputs(t5, PLAIN, step=1)
    assert step.tokens == given.tokens[: prompt + 1]
    assert step.positions == (prompt,)
    with pytest.raises(OutOfRange, match="no token -1"):
        inputs(t5, PLAIN, step=-1)


def test_a_prediction_needs_a_mask_a_reading_does_not() -> None:
    bert = tinyfamilies.make("bert")
    assert inputs(bert, PLAIN).positions == ()
    with pytest.raises(InputUnusable, match="no mask"):
        inputs(bert, PLAIN, step=0)
    assert inputs(bert, MASKED, step=0).tokens[3].special


def test_the_second_text_begins_after_the_first() -> None:
    given = as_typed(tinyfamilies.make("bert"), PLAIN, "a dog")
    assert given.second is not None
    assert given.labels[given.second - 1] == "[SEP]"
    assert given.labels[given.second] == "a"
