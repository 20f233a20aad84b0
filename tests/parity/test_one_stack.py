"""Every bundled model answers with one stack: its heads are shown and ablated, its states are those of the lens."""

from __future__ import annotations

import pytest
import torch

from core import checkpoints
from core.attention import capture
from core.attention.ablation.question import ask, head_site
from core.attention.inside.lens import ask_each_layer
from core.checkpoints.sizes import size_of
from core.language.fill_mask import fill_mask
from core.language.makers import inputs
from core.run.run import Site, run

SLUGS = [spec.slug for spec in checkpoints.available() if spec.source in ("bundled", "package")]


def texts(checkpoint: checkpoints.Checkpoint) -> tuple[str, str]:
    mask = f"{checkpoint.tokenizer.mask_token}." if checkpoint.spec.offers("predicts masked tokens") else "it."
    return f"Bread is what the baker sells, and {mask}", f"The ship sails over the sea to {mask}"


@pytest.mark.parametrize("slug", SLUGS)
def test_the_answer_depends_on_the_last_state_of_the_stack_alone(slug: str) -> None:
    checkpoint = checkpoints.load(slug)
    first, other = (inputs(checkpoint, text, step=0) for text in texts(checkpoint))
    answers = ask_each_layer(first)[-1:]
    intact = ask(first, keep={"final"})
    torch.testing.assert_close(answers, intact.logs, atol=1e-4, rtol=1e-4)  # it is the stack that answers
    if first.task is None:
        read = intact.recorded.tensors[head_site(first)]
        given = ask(other, edits={head_site(other): lambda _: read}).logs
        torch.testing.assert_close(given, answers, atol=1e-4, rtol=1e-4)  # another text changes nothing
    assert not torch.allclose(ask(other).logs, answers, atol=1e-2), "the texts have one answer"


@pytest.mark.parametrize("slug", SLUGS)
def test_a_model_has_as_many_parameters_as_every_page_says(slug: str) -> None:
    checkpoint = checkpoints.load(slug)
    size = size_of(checkpoint.spec)
    assert size is not None
    assert size.parameters == sum(value.numel() for value in checkpoint.model.parameters())


SPARSE = [
    spec.slug
    for spec in checkpoints.available()
    if spec.slug in SLUGS and (spec.offers("blocks") or spec.offers("window"))
]


@pytest.mark.parametrize("slug", SPARSE)
def test_the_prediction_is_made_with_the_weights_that_are_shown(slug: str) -> None:
    checkpoint = checkpoints.load(slug)
    mask = checkpoint.tokenizer.mask_token
    text = " ".join(["The old miller walked to the village."] * 28 + [f"The cat sat on the {mask}."])
    (drawn,) = capture(checkpoint, text).maps
    assert drawn.allowed is not None
    shown = {
        Site("encoder", layer, "pattern"): lambda _, weight=weight: torch.from_numpy(weight.copy())[None]
        for layer, weight in enumerate(drawn.weights)
    }
    (predicted,) = fill_mask(checkpoint, text)
    encoded = checkpoint.tokenizer(text, return_tensors="pt")
    logits = run(checkpoint.model, encoded, edits=shown).output.logits[0, predicted.position]
    chances = logits.softmax(-1)[list(predicted.ids)].tolist()
    assert chances == pytest.approx(predicted.probabilities, abs=1e-5)
