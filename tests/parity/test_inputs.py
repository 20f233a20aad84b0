"""What a model of each family reads of a text."""

from __future__ import annotations

import numpy as np
import pytest

from core import checkpoints
from core.attention.capture import capture
from core.attention.inside.block import block
from core.errors import InputUnusable, OutOfRange
from core.language.inputs import Inputs
from core.language.makers import inputs
from core.language.tasks import tasks
from core.language.types import labels
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
    full, asked = inputs(checkpoint, text_for(checkpoint)), inputs(checkpoint, text_for(checkpoint), step=0)
    for text_inputs in (full, asked):
        _agree(text_inputs)
    assert len(asked.positions) == 1
    assert bool(asked.source) == (len(checkpoint.spec.family.sides) == 2)


@pytest.mark.parametrize("name", NAMES)
def test_offsets_count_in_the_text(name: str) -> None:
    text_inputs = inputs(tinyfamilies.make(name), text_for(tinyfamilies.make(name)))
    placed = [token for token in text_inputs.of_text if not token.special and token.start >= 0]
    assert len(placed) > 5
    assert [text_inputs.text[token.start : token.end].lower() for token in placed] == [
        token.text.lower() for token in placed
    ]


def test_an_output_is_read_but_for_its_last_token() -> None:
    t5 = tinyfamilies.make("t5")
    text_inputs = inputs(t5, PLAIN)
    prompt = text_inputs.position + 1
    assert [token.id for token in text_inputs.output[:-1]] == [token.id for token in text_inputs.tokens[prompt:]]
    assert len(text_inputs.output) == len(text_inputs.positions)
    step = inputs(t5, PLAIN, step=1)
    assert step.tokens == text_inputs.tokens[: prompt + 1]
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
    text_inputs = inputs(tinyfamilies.make("bert"), PLAIN, second="a dog")
    assert text_inputs.second is not None
    assert labels(text_inputs.tokens[text_inputs.second - 1 : text_inputs.second + 1]) == ("[SEP]", "a")


@pytest.mark.parametrize("slug", ["atlas-bert", "atlas-xlm", "atlas-ctrl", "atlas-t5", "atlas-m2m-100", "atlas-xlnet"])
def test_map_and_block_read_the_same_tokens(slug: str) -> None:
    checkpoint = checkpoints.load(slug)
    masks = checkpoint.spec.offers("predicts masked tokens")
    text = "The <mask> sat." if masks else "The cat sat."
    for attention_map in capture(checkpoint, text).maps:
        if attention_map.kind in ("encoder", "decoder"):
            shown = block(checkpoint, text, 0, attention_map.kind if not masks else None)
            assert shown.tokens == attention_map.key_tokens, attention_map.kind
            np.testing.assert_allclose(
                next(step.values for step in shown.steps if step.slug == "attention-weights"),
                attention_map.weights[0],
                atol=1e-5,
            )
        if masks:
            assert checkpoint.tokenizer.mask_token in attention_map.key_tokens
            break


def test_what_a_model_reads_is_what_its_task_and_its_code_say() -> None:
    t5, ctrl = checkpoints.load("atlas-t5"), checkpoints.load("atlas-ctrl")
    prefix = tasks(t5)[0].prefix
    read = capture(t5, "The cat sat.").own.key_tokens
    assert prefix
    assert "".join(read).replace("␣", " ").strip().startswith(prefix.strip())
    assert capture(ctrl, "The cat sat.").own.special_keys == (0,)
    text_inputs = inputs(checkpoints.load("atlas-bert"), "The <mask> sat.")
    assert any("is the mask of RoBERTa" in note for note in text_inputs.notes)


def test_a_second_text_needs_an_encoder() -> None:
    with pytest.raises(InputUnusable, match="reads one text"):
        inputs(tinyfamilies.make("gpt2"), PLAIN, second="a dog")
