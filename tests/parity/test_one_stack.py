"""Every bundled model answers with one stack: its heads are shown and ablated, its states are those of the lens."""

from __future__ import annotations

import pytest
import torch

from core import checkpoints
from core.attention import capture
from core.attention.ablation.question import Reader, prepare_question
from core.attention.architectures.recording import private_twin
from core.attention.inside.lens import states
from core.checkpoints.sizes import size_of

SLUGS = [spec.slug for spec in checkpoints.available() if spec.source in ("bundled", "package")]


def texts(checkpoint: checkpoints.Checkpoint) -> tuple[str, str]:
    mask = f"{checkpoint.tokenizer.mask_token}." if checkpoint.spec.offers("predicts masked tokens") else "it."
    return f"Bread is what the baker sells, and {mask}", f"The ship sails over the sea to {mask}"


@pytest.mark.parametrize("slug", SLUGS)
def test_the_answer_depends_on_the_last_state_of_the_stack_alone(slug: str) -> None:
    checkpoint = checkpoints.load(slug)
    one, other = (prepare_question(checkpoint, text) for text in texts(checkpoint))
    last = states(one)[-1:]
    answers = Reader(one).answers_of(last)
    torch.testing.assert_close(answers, Reader(one).answers(), atol=1e-4, rtol=1e-4)  # it is the stack that answers
    assert torch.equal(Reader(other).answers_of(last), answers), "another text changes what the head is given"
    assert not torch.allclose(Reader(other).answers(), answers, atol=1e-2), "the texts have one answer"


@pytest.mark.parametrize("slug", SLUGS)
def test_a_model_has_as_many_parameters_as_every_page_says(slug: str) -> None:
    checkpoint = checkpoints.load(slug)
    size = size_of(checkpoint.spec)
    assert size is not None
    assert size.parameters == sum(value.numel() for value in checkpoint.model.parameters())


SPARSE = [spec.slug for spec in checkpoints.available() if spec.slug in SLUGS and spec.offers("blocks")]


@pytest.mark.parametrize("slug", SPARSE)
@pytest.mark.parametrize("sentences", [2, 30])
def test_a_map_says_where_answers_come_from_other_weights(slug: str, sentences: int) -> None:
    checkpoint = checkpoints.load(slug)
    text = "The old miller walked to the village. " * sentences
    (drawn,) = capture(checkpoint, text).maps
    with torch.inference_mode():
        answering = private_twin(checkpoint)(**checkpoint.tokenizer(text, return_tensors="pt"), output_attentions=True)
    weights = torch.stack(answering.attentions)[:, 0]
    other = not torch.allclose(torch.from_numpy(drawn.weights.copy()), weights, atol=1e-4)
    assert other == (sentences > 2) == ("full attention" in drawn.note)
