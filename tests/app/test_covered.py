"""“Guess first” in every demo that answers: the answer is nowhere on the page until a guess was made or it is shown."""

from __future__ import annotations

import re
from html import unescape
from typing import NamedTuple
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

from core.ui.demos.cover import BACK, reconstruction_grade, words_shared
from tests.app.test_guess_first import button, everything, said
from tests.pages import html_of
from tests.pages import opened as branch

pytestmark = pytest.mark.usefixtures("open_tables")


def rows(at: AppTest, column: str) -> list[str]:
    """What the tables with this column say in it."""
    return [str(value) for frame in at.dataframe if column in frame.value for value in frame.value[column]]


def page_text(at: AppTest) -> str:
    """All that can be read on the page: text, pictures, what is said of pictures, and tables."""
    tables = " ".join(frame.value.to_csv() for frame in at.dataframe)
    tables += " ".join(table.value.to_csv() for table in at.table)
    alts = " ".join(str(element.proto) for kind in ("plotly_chart", "arrow_data_frame") for element in at.get(kind))
    return " ".join((everything(at), tables, alts))


def verdicts(at: AppTest) -> str:
    return " ".join(str(m.value).replace("\\", "") for m in at.info if "You guessed" in str(m.value))


class Case(NamedTuple):
    """One demo by its link: where a guess goes, what is said of it, and how what it hides can be read once shown."""

    link: str
    """As in the address: the page, the model, and more."""
    label: str
    guess: str
    told: str
    column: str
    """A column of a table that the answer has, and the covered page has not."""
    charts: int


CASES = {
    "orders": Case(
        "decoder?model=atlas-xlnet",
        "What does the model predict? One word for each step",
        "xyzzy talking",
        "“talking”: Right: that is the original.",
        "top predictions",
        3,
    ),
    "parts": Case(
        "encoder?model=atlas-deberta&demo=parts",
        "Your guess at the masked word",
        "xyzzy",
        "Wrong: it is not among the model's top 5 predictions.",
        "left out",
        4,
    ),
    "memory": Case(
        "decoder?model=atlas-transformer-xl",
        "Your guess at the word on which the memory saves most",
        "xyzzy",
        "There is no such word after the first segment.",
        "saved",
        1,
    ),
    "sparse": Case(
        "efficient?model=atlas-bigbird&tokens=256",
        "Your guess at the masked word",
        "xyzzy",
        "This is the prediction with sparse attention.",
        "",
        1,
    ),
    "window": Case(
        "efficient?model=atlas-longformer&tokens=256",
        "Your guess at the masked word",
        "xyzzy",
        "This is the prediction with the window and your global tokens.",
        "",
        1,
    ),
    "passes": Case(
        "encoder?model=atlas-albert&demo=passes",
        "Your guess at the masked word",
        "time",
        "Right: it is the model's top prediction",
        "pass",
        4,
    ),
    "hashing": Case(
        "efficient?model=atlas-reformer",
        "Of full attention's weight, how much does one round keep?",
        "Less than 25%",
        "one round keeps",
        "",
        1,
    ),
    "reading": Case(
        "efficient?model=atlas-reformer&demo=reading", "The last 128 bytes", "It rises", "bits per byte", "", 1
    ),
    "translation": Case(
        "encoder-decoder?model=atlas-t5",
        "Your guess at the text",
        "xyzzy",
        "generated words are in your guess, in the same order: 0%",
        "",
        2,
    ),
    "denoising": Case(
        "encoder-decoder?model=atlas-bart",
        "How much of your text is reconstructed?",
        BACK[0],
        "Right: Reconstructed word for word",
        "",
        2,
    ),
    "respelling": Case(
        "encoder-decoder?model=atlas-byt5", "How much of your text is reconstructed?", BACK[2], ":", "", 3
    ),
    "two languages": Case(
        "encoder?model=atlas-xlm",
        "Your guess at the first masked word",
        "cat",
        "Right: that is the original. Your word has rank 1",
        "original",
        2,
    ),
}


def guessed(at: AppTest, label: str, guess: str) -> AppTest:
    for box in at.text_input:
        if box.label.startswith(label):
            return box.set_value(guess).run()
    (group,) = [group for group in (*at.button_group, *at.radio) if group.label.startswith(label)]
    return group.set_value(guess).run()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_answer_is_absent_until_a_guess_was_made(case: Case) -> None:
    page, _, query = case.link.partition("?")
    covered = branch(page, cover="yes", **dict(parse_qsl(query)))
    assert not covered.warning
    assert not case.column or not rows(covered, case.column)
    before, pictures = page_text(covered), {chart.key for chart in covered.get("plotly_chart")}
    at = guessed(covered, case.label, case.guess)
    assert case.told in verdicts(at)
    assert rows(at, case.column) or not case.column
    assert len({chart.key for chart in at.get("plotly_chart")} - pictures) == case.charts
    # Words and their chances, as bars and their descriptions have them: none was on the page before.
    for chart in at.get("plotly_chart"):
        if chart.key not in pictures:
            for pair in re.findall(r"[^\s,]+ \d[\d.]* %", chart.proto.alt):
                assert pair not in before
    at = button(at, "Cover again")
    assert not case.column or not rows(at, case.column)
    assert {chart.key for chart in at.get("plotly_chart")} == pictures
    assert page_text(at) == before


def test_a_written_text_is_nowhere_on_the_covered_page() -> None:
    at = branch("encoder-decoder", cover="yes", model="atlas-m2m-100", task="fr-de")
    before = html_of(at)
    at = button(at, "Show")
    (written,) = re.findall(r"min-height:2.2em\">(.+?)</p>", html_of(at))
    assert len(written.split()) > 2
    assert written not in before + said(at)
    assert "tokens. " in said(at)
    at = guessed(button(at, "Cover again"), "Your guess at the text", written.lower())
    assert "Right: word for word" in verdicts(at)


def test_a_continuation_does_not_say_its_code() -> None:
    at = branch("decoder", system="ctrl", model="atlas-ctrl", length="6")
    made = dict(zip(rows(at, "code")[:6], rows(at, "continuation"), strict=True))
    assert len(set(made.values())) == 6
    at = branch("decoder", system="ctrl", model="atlas-ctrl", length="6", cover="yes")
    orders = []
    for number in range(1, 7):
        assert f"**Continuation {number} of 6**" in said(at)
        assert not rows(at, "continuation")
        shown = unescape(html_of(at).replace("<br>", "\n"))
        (code,) = [label for label, text in made.items() if text in shown]
        orders.append(code)
        guess = code if number % 2 else next(label for label in made if label != code)
        at = guessed(at, "Under which code was this generated?", guess)
        assert f"{'Right' if number % 2 else 'Wrong'}: it was generated under “{code}”." in verdicts(at)
        if number < 6:
            at = button(at, "Next continuation")
            assert at.query_params["step"] == str(number + 1)
    assert orders != list(made)
    assert rows(at, "continuation") == list(made.values())
    assert "**Your guess at the code**" not in said(at)  # the text below has a question of its own, still open
    assert not [chart for chart in at.get("plotly_chart") if "codes.bars" in chart.key]


def test_other_tasks_answers_stay_covered() -> None:
    at = branch("encoder", system="adapter-bert", model="atlas-adapter-bert", cover="yes")
    assert not rows(at, "task")
    at = button(at, "Show")
    answers = rows(at, "adapters")
    assert "%" in answers[0]
    assert answers[1:] == ["covered"] * (len(answers) - 1)
    at = next(t for t in at.toggle if t.label == "Guess first").set_value(False).run()
    assert "covered" not in rows(at, "adapters")


def test_hidden_words_of_both_languages_wait_for_a_guess_and_a_new_sentence_is_covered_anew() -> None:
    at = branch("encoder", system="xlm", model="atlas-xlm")
    (frame,) = [frame.value for frame in at.dataframe if "original" in frame.value]
    second = frame[(frame["read"] == "both sentences") & (frame["rank"] == 2)]["prediction"].iloc[0]
    at = branch("encoder", system="xlm", model="atlas-xlm", cover="yes")
    at = guessed(at, "Your guess at the first masked word", second)
    assert "Wrong: the original is “cat”. Your word has rank 2" in verdicts(at)
    at = at.text_input[0].set_value("The dog sleeps on the chair.").run()
    assert not rows(at, "original")
    assert not verdicts(at)


def test_one_segment_has_nothing_to_guess() -> None:
    at = branch("decoder", system="transformer-xl", model="atlas-transformer-xl", cover="yes", passage="A king.")
    assert "the memory stays empty" in " ".join(str(info.value) for info in at.info)


def test_a_word_that_the_memory_helps_most_is_found() -> None:
    at = branch("decoder", system="transformer-xl", model="atlas-transformer-xl")
    (frame,) = [frame.value for frame in at.dataframe if "reads" in frame.value]
    later = frame[frame["segment"] > 1]
    word = later.loc[later["saved"].idxmax(), "reads"]
    at = branch("decoder", system="transformer-xl", model="atlas-transformer-xl", cover="yes")
    at = guessed(at, "Your guess", word)
    assert re.search(r"Right: the memory saves most on it|it has rank [2-9] of", verdicts(at))


@pytest.mark.parametrize(
    ("original", "written", "which"),
    [
        ("a b c d", "a b c d", 0),
        ("a b c d", "a x c d", 1),
        ("a b c d", "a b c d e f", 1),
        ("a b c d", "a", 2),
        ("a b c d", "d c b a", 2),
    ],
)
def test_how_much_comes_back_by_hand(original: str, written: str, which: int) -> None:
    assert reconstruction_grade(original, written) == which


@pytest.mark.parametrize(
    ("guess", "written", "told"),
    [
        ("le CHAT dort", "Le chat dort.", "Right: word for word"),
        (
            "le chien dort",
            "Le chat dort.",
            "2 of the 3 generated words are in your guess, in the same order: 67%.",
        ),
        ("dort chat le", "Le chat dort.", "1 of the 3 generated words"),
        ("le chat dort bien", "Le chat dort.", "3 of the 3 generated words"),
        ("le", "…", "It generated no word."),
    ],
)
def test_a_guess_at_a_text_by_hand(guess: str, written: str, told: str) -> None:
    assert words_shared(guess, written).startswith(told)


def test_a_strange_guess_at_a_text_is_harmless() -> None:
    typed = "<script>alert(1)</script> " + "word " * 200
    at = guessed(branch("encoder-decoder", system="t5", model="atlas-t5", cover="yes"), "Your guess at the text", typed)
    assert "are in your guess" in verdicts(at)
    assert "<script>" not in everything(at)


def _one_question() -> None:
    from core.ui.demos.cover import uncovered
    from core.ui.links import close_page, keep_address, open_page, reset_button

    state = open_page("encoder")
    uncovered(state, "sky", "Your guess", lambda guess: "Right.", on=True)
    keep_address(state)
    reset_button(state)
    close_page(state)


def test_reset_forgets_what_was_guessed() -> None:
    at = guessed(AppTest.from_function(_one_question, default_timeout=120).run(), "Your guess", "blue")
    assert "blue" in verdicts(at)
    at = button(at, "Reset")
    assert not verdicts(at)
    assert at.text_input[0].value == ""
