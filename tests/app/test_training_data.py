"""Two models whose texts differ in one thing: measured pairs, and a visitor's own; predictions before the answer."""

from __future__ import annotations

import re

import pytest

from core.content import content
from core.training.compared import measured
from core.training.ready import ready
from core.training.text import Corpus
from core.ui.training.foresight import outcome_of, strange_words
from core.ui.training.source import source_of
from tests.app.history import back
from tests.pages import described, html_of, link, opened, shown, widget

SMALL = {"from": "own", "units": "characters", "depth": "1", "parts": "1", "wide": "32", "context": "32"}
CORPUS = Corpus(("The fox ran to the river and drank.", "A bear sat down."), ("x",))


@pytest.mark.parametrize("pair", content("training", "data").front["pairs"])
def test_a_pair_opens_with_its_numbers_and_its_text_has_what_it_says(pair: str) -> None:
    at = opened("training", tab="data", pair=pair)
    assert not at.exception
    if pair == "own":
        assert "No decoder is trained in this tab" in shown(at)
        return
    run = measured()[pair]
    assert f"Next token after “{run.answers[0].question.prompt}”: " in described(at)
    assert re.search("Mean surprisal: from|Longest copy, mean: from", shown(at))
    last = len(run.answers) - 1
    at = widget(at.selectbox, "Prompt").set_value(str(last)).run()
    assert link(at)["prompt"] == str(last)
    assert f"Next token after “{run.answers[last].question.prompt}”: " in described(at)


def test_a_visitor_trains_a_second_model_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.ui.training.scratch.STEPS", 20)
    at = opened("training", pasted=ready("stories")[:8_000], **SMALL)
    at = widget(at.button, "Train").click().run()
    assert "What will the model say" in shown(at) or "Predict before" in shown(at)
    at = back(at, tab="data", pair="own", word="Nan") or at
    assert "are removed for the second model" in shown(at)
    at = widget(at.button, "Train the second model").click().run()
    assert not at.exception
    assert "There is one seed of each" in shown(at)
    assert "about it: " in described(at)
    assert not [button for button in at.button if button.label == "Train the second model"]
    at = widget(at.text_input, "Word").set_value("nobodysword").run()
    assert "No line of the text has “nobodysword”" in shown(at)


def test_outcomes_by_hand() -> None:
    assert outcome_of("The fox", " ran to the river and sat", CORPUS) == "copies"
    assert outcome_of("The fox", " sat to the bear down river", CORPUS) == "combines"
    assert outcome_of("The fox", " bearer sat ran drank to a", CORPUS) == "invents"


def test_the_source_reaches_into_what_the_model_said() -> None:
    copy = source_of("The fox", " ran away", CORPUS.train)
    assert copy is not None
    assert (copy.start, copy.end, copy.line, copy.at) == (0, len("The fox ran"), 0, 0)
    copy = source_of("The fox ran to", " a bear", CORPUS.train)
    assert copy is not None
    assert (copy.start, copy.end, copy.line, copy.at) == (17, 21, 1, 2)  # “bear”
    assert source_of("The", " zzz", CORPUS.train) is None


def test_strange_words_stand_nowhere_in_the_text() -> None:
    assert strange_words(" bearer sat the foxy", CORPUS) == ("bearer",)  # the last word may be cut off


def test_a_prediction_comes_before_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    at = opened("training")
    assert not at.exception
    assert "The model says" not in html_of(at)
    for number in range(3):
        question = at.button_group[-1]
        assert question.options == ["It copies a line", "Real words, a new sentence", "Words that do not exist"]
        at = question.set_value(question.options[0]).run()
        assert html_of(at).count("The model says") == number + 1
    assert len(at.success) == 1  # only “Now close your eyes.” stands in a line


def test_a_page_argues_below_its_picture_and_in_no_frame_of_another() -> None:
    """Why stands before Try and Notice, the misreading after How it works, each once."""
    at = opened("training", tab="data")
    leads = re.findall(r"\*\*(Why|Try|Notice|A common misreading)\*\*", " ".join(part.value for part in at.markdown))
    assert leads == ["Why", "Try", "Notice", "A common misreading"]
    assert "How it works" in [expander.label for expander in at.expander]
    at.context = {"is_embedded": True}
    at.run()
    assert not re.search(r"\*\*(Why|Try|Notice|A common misreading)\*\*", " ".join(part.value for part in at.markdown))
    assert "How it works" in [expander.label for expander in at.expander]
