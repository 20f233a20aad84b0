"""Control codes by Bayes' rule, and the predictions of adapters for their tasks."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from core.checkpoints.spec import Card, Checkpoint
from core.errors import InputEmpty, InputTooLong, InputUnusable, OutOfRange
from core.figures.bars import update_alt, update_bars, update_rows
from core.language.adapters import classify as classify_task
from core.language.adapters import tasks, without_mark
from core.language.codes import classify, codes_of, log_probabilities, posterior
from core.language.generate import generate
from core.language.starts import prompt
from core.language.types import Decoding
from core.theme import LIGHT
from tests import tiny, tinyadapters, tinyfamilies

CODES = {"First": "<|first|>", "Second": "<|second|>"}


class Drawn:
    """Every word is drawn from the distribution of the row's first token, whatever stands between."""

    device = torch.device("cpu")
    table = torch.tensor([[0.5, 0.25, 0.25, 0.0], [0.125, 0.75, 0.125, 0.0]])

    def __call__(self, input_ids: Tensor, use_cache: bool) -> SimpleNamespace:
        rows = self.table[input_ids[:, 0]].log().clamp(min=-1e4)
        return SimpleNamespace(logits=rows[:, None, :].expand(-1, input_ids.shape[1], -1))


def test_bayes_by_hand() -> None:
    logs = log_probabilities(Drawn(), [[0, 0, 2], [1, 1, 1]], [0, 1])
    expected = [[0.5 * 0.5 * 0.25, 0.125**3], [0.25**3, 0.75**3]]
    np.testing.assert_allclose(np.exp(logs), expected, rtol=1e-5)
    np.testing.assert_allclose(posterior(logs), [[32 / 33, 1 / 33], [1 / 28, 27 / 28]], rtol=1e-5)


def test_probabilities_of_long_texts_do_not_vanish() -> None:
    probabilities = posterior(np.array([-5000.0, -5000.0 - math.log(3)]))
    np.testing.assert_allclose(probabilities, [0.75, 0.25])


@pytest.fixture(scope="module")
def checkpoint() -> Checkpoint:
    tokenizer = tiny.bytelevel_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": list(CODES.values())})
    family = tinyfamilies.FAMILIES["ctrl"]
    torch.manual_seed(0)
    settings = family.settings | {"vocab_size": len(tokenizer), "n_positions": 32, "initializer_range": 0.9}
    model = tinyfamilies.build(family, settings).eval()
    card = Card("Tiny", "-", (), (), "-", 0, 0, 0, "-", extra={"codes": CODES})
    return Checkpoint(model, tokenizer, tinyfamilies.spec_of("Tiny", "causal-lm", card=card))


def test_a_probability_follows_from_the_librarys_loss(checkpoint: Checkpoint) -> None:
    text = "Once upon a time"
    prediction = classify(checkpoint, text)
    ids: Any = checkpoint.tokenizer(text)["input_ids"]
    losses = []
    for code in codes_of(checkpoint).values():
        row = torch.tensor([[code, *ids]])
        with torch.no_grad():
            losses.append(float(checkpoint.model(input_ids=row, labels=row).loss) * len(ids))
    weights = np.exp(-np.array(losses))
    assert prediction.labels == ("First", "Second")
    assert prediction.tokens == len(ids)
    assert prediction.probabilities == pytest.approx((weights / weights.sum()).tolist(), rel=1e-4)
    assert prediction.bits == pytest.approx([loss / math.log(2) / len(text) for loss in losses], rel=1e-4)
    assert prediction.best == prediction.labels[int(weights.argmax())]


def test_texts_that_cannot_be_classified_get_a_sentence(checkpoint: Checkpoint) -> None:
    with pytest.raises(InputEmpty):
        classify(checkpoint, "  ")
    with pytest.raises(InputTooLong, match="reads 32 after a code"):
        classify(checkpoint, "zq " * 40)
    with pytest.raises(InputUnusable, match="nothing but codes"):
        classify(checkpoint, "<|first|>")
    plain = Checkpoint(checkpoint.model, checkpoint.tokenizer, tinyfamilies.spec_of("plain", "causal-lm"))
    with pytest.raises(InputUnusable, match="no control codes"):
        classify(plain, "Once")


def test_a_prompt_begins_with_its_code(checkpoint: Checkpoint) -> None:
    first, second = codes_of(checkpoint).values()
    plain = Checkpoint(checkpoint.model, checkpoint.tokenizer, tinyfamilies.spec_of("plain", "causal-lm"))
    bare = prompt(plain, "Once upon").ids
    assert prompt(checkpoint, "Once upon").ids == (first, *bare)
    assert prompt(checkpoint, "Once upon", "Second").ids == (second, *bare)
    assert prompt(checkpoint, "<|second|>Once upon").ids == (second, *bare)
    assert prompt(checkpoint, "<|second|>Once upon", "First").ids == (first, *bare)
    with pytest.raises(OutOfRange, match="Its codes: First, Second"):
        prompt(checkpoint, "Once upon", "Third")


def test_another_code_is_another_text(checkpoint: Checkpoint) -> None:
    def text(code: str) -> tuple[int, ...]:
        return list(generate(checkpoint, "Once upon", Decoding(max_new_tokens=6), code=code))[-1].ids

    assert text("First") != text("Second")
    row = torch.tensor([prompt(checkpoint, "Once upon", "Second").ids])
    theirs = checkpoint.model.generate(row, attention_mask=torch.ones_like(row), max_new_tokens=6, do_sample=False)
    assert text("Second") == tuple(theirs[0, row.shape[1] :].tolist())


@pytest.fixture(scope="module")
def adapted(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """Random adapters for four tasks on the tiny encoder."""
    return tinyadapters.checkpoint(tmp_path_factory.mktemp("package"))


def test_probabilities_and_updates_are_the_models_own(adapted: Checkpoint) -> None:
    model: Any = adapted.model
    task = classify_task(adapted, " The cat  sat on the mat. ", "genre")
    encoded = adapted.tokenizer("The cat sat on the mat.", return_tensors="pt")
    with torch.no_grad():
        answer = model.answer(encoded, "genre", watch=True)
        alone = model.answer_alone(encoded, "genre")
    assert task.adapted == pytest.approx(answer.logits.softmax(-1)[0].tolist())
    assert task.alone == pytest.approx(alone.softmax(-1)[0].tolist())
    assert task.updates == pytest.approx(answer.updates)
    assert task.answer == task.task.answers[int(answer.logits.argmax())]
    assert task.answer_alone == task.task.answers[int(alone.argmax())]
    assert task.read == "The cat sat on the mat."
    assert [info.slug for info in tasks(adapted)] == list(tinyadapters.TASKS)
    assert task.task.trained_alone == 16 * 4 + 4
    ordered = replace(adapted, spec=replace(adapted.spec, tasks=("words", "genre", "speech")))
    assert [info.slug for info in tasks(ordered)] == ["words", "genre", "sentiment", "question"]


def test_a_question_is_classified_without_its_mark(adapted: Checkpoint) -> None:
    task = classify_task(adapted, "Is the cat in? A dog runs!", "question")
    assert task.read == "Is the cat in"
    assert task.adapted == classify_task(adapted, "Is the cat in.", "question").adapted
    assert classify_task(adapted, "Is the cat in?", "genre").read == "Is the cat in?"
    assert without_mark('"Stay!" said the queen. He went.') == 'Stay!" said the queen'
    assert without_mark("It cost 3.50 in all") == "It cost 3.50 in all"
    assert without_mark("... Well?!") == "Well"
    for text in ("?", "...", '"!"'):
        with pytest.raises(InputEmpty, match="before the punctuation"):
            without_mark(text)


def test_what_cannot_be_asked_is_said(adapted: Checkpoint) -> None:
    with pytest.raises(OutOfRange, match="sentiment, genre, words, question"):
        classify_task(adapted, "The cat sat.", "speech")
    with pytest.raises(InputEmpty):
        classify_task(adapted, " \n", "genre")
    with pytest.raises(InputTooLong, match="positions for 48"):
        classify_task(adapted, "cat " * 60, "genre")
    with pytest.raises(InputTooLong, match="at most 1,000"):
        classify_task(adapted, "cat " * 300, "genre")


def test_updates_are_drawn_by_layer_and_component() -> None:
    updates = (0.1, 0.4, 0.2, 0.05)
    first, second = update_bars(updates, "#0072B2", theme=LIGHT).data
    assert (list(first.x), list(first.y)) == (["1", "2"], [0.1, 0.2])
    assert list(second.y) == [0.4, 0.05]
    assert second.marker.pattern.fillmode == "overlay"  # over the color, not in its place
    assert first.marker.pattern.shape != second.marker.pattern.shape  # color is not the only sign
    assert update_rows(updates)[1] == {"layer": 1, "after": "feed-forward", "added, as a share of |h|": 0.4}
    assert "at most 40% of the hidden state after feed-forward in layer 1; at least 5%" in update_alt(updates)
    assert "feed-forward in layer 2" in update_alt(updates)
