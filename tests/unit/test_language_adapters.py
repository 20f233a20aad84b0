"""What a text is asked under the tasks of adapters, and which texts cannot be asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, InputTooLong, OutOfRange
from core.figures.bars import update_alt, update_bars, update_rows
from core.language.adapters import judge, tasks, without_mark
from core.theme import LIGHT
from tests import tinyadapters


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """Random adapters for four tasks on the tiny encoder."""
    return tinyadapters.checkpoint(tmp_path_factory.mktemp("package"))


def test_probabilities_and_updates_are_the_models_own(checkpoint: Checkpoint) -> None:
    model: Any = checkpoint.model
    found = judge(checkpoint, " The cat  sat on the mat. ", "genre")
    given = checkpoint.tokenizer("The cat sat on the mat.", return_tensors="pt")
    with torch.no_grad():
        answer = model.answer(given, "genre", watch=True)
        alone = model.answer_alone(given, "genre")
    assert found.adapted == pytest.approx(answer.logits.softmax(-1)[0].tolist())
    assert found.alone == pytest.approx(alone.softmax(-1)[0].tolist())
    assert found.updates == pytest.approx(answer.updates)
    assert found.answer == found.task.answers[int(answer.logits.argmax())]
    assert found.answer_alone == found.task.answers[int(alone.argmax())]
    assert found.read == "The cat sat on the mat."
    assert [info.slug for info in tasks(checkpoint)] == list(tinyadapters.TASKS)
    assert found.task.trained_alone == 16 * 4 + 4
    ordered = replace(checkpoint, spec=replace(checkpoint.spec, tasks=("words", "genre", "speech")))
    assert [info.slug for info in tasks(ordered)] == ["words", "genre", "sentiment", "question"]


def test_a_question_is_asked_about_without_its_mark(checkpoint: Checkpoint) -> None:
    found = judge(checkpoint, "Is the cat in? A dog runs!", "question")
    assert found.read == "Is the cat in"
    assert found.adapted == judge(checkpoint, "Is the cat in.", "question").adapted
    assert judge(checkpoint, "Is the cat in?", "genre").read == "Is the cat in?"
    assert without_mark('"Stay!" said the queen. He went.') == 'Stay!" said the queen'
    assert without_mark("It cost 3.50 in all") == "It cost 3.50 in all"
    assert without_mark("... Well?!") == "Well"
    for text in ("?", "...", '"!"'):
        with pytest.raises(InputEmpty, match="before the punctuation"):
            without_mark(text)


def test_what_cannot_be_asked_is_said(checkpoint: Checkpoint) -> None:
    with pytest.raises(OutOfRange, match="sentiment, genre, words, question"):
        judge(checkpoint, "The cat sat.", "speech")
    with pytest.raises(InputEmpty):
        judge(checkpoint, " \n", "genre")
    with pytest.raises(InputTooLong, match="positions for 48"):
        judge(checkpoint, "cat " * 60, "genre")
    with pytest.raises(InputTooLong, match="at most 1,000"):
        judge(checkpoint, "cat " * 300, "genre")


def test_updates_are_drawn_by_layer_and_place() -> None:
    updates = (0.1, 0.4, 0.2, 0.05)
    first, second = update_bars(updates, "#0072B2", theme=LIGHT).data
    assert (list(first.x), list(first.y)) == (["1", "2"], [0.1, 0.2])
    assert list(second.y) == [0.4, 0.05]
    assert second.marker.pattern.fillmode == "overlay"  # over the color, not in its place
    assert first.marker.pattern.shape != second.marker.pattern.shape  # color is not the only sign
    assert update_rows(updates)[1] == {"layer": 1, "after": "feed-forward", "added, as a share of |h|": 0.4}
    assert "at most 40 % of the hidden state after feed-forward in layer 1; at least 5 %" in update_alt(updates)
    assert "feed-forward in layer 2" in update_alt(updates)
