"""The page of lessons: the list, a step with its view and question, a lesson from a link, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from pathlib import Path
from statistics import fmean
from typing import get_args

import pytest
from streamlit.testing.v1 import AppTest

from core.attention.tokens import token_of
from core.content import content
from core.lessons.checks import (
    Ablated,
    AnyCheck,
    Attended,
    BestHead,
    CardMeasure,
    FineTuned,
    Probability,
    Replaced,
    Tokens,
    Weight,
    Written,
)
from core.lessons.lesson import Lesson, Step, from_text, lessons
from core.settings import settings
from core.training.compared import measured
from core.ui.lessons.handout import handout, key, qr_code
from core.ui.selection import usual_token
from core.vectors import image_text
from tests.pages import html_of, opened, protos, shown, widget
from tests.words import words

FIRST = "4-bert"
WORDS = content("lessons", "lessons")


def test_the_list_and_a_lesson() -> None:
    at = opened("lessons")
    titles = [lesson.title for lesson in lessons() if isinstance(lesson, Lesson)]
    labels = [proto.label.strip("*") for proto in protos(at, "page_link")]
    assert [label for label in labels if label in titles] == titles


def test_the_lessons_are_listed_by_the_parts_of_a_book() -> None:
    at = opened("lessons", by="slp3")
    drawn = html_of(at)
    assert '<a href="/lessons?lesson=4-bert">4 · BERT and masked language modeling</a>' in drawn
    assert '<a href="/generation?tab=beam">Beam search</a>' in drawn
    assert '<a href="/encoder-decoder?system=m2m-100" title="M2M-100">M2M-100</a>' in drawn
    assert "https://web.stanford.edu/~jurafsky/slp3/" in shown(at)
    titles = {lesson.title for lesson in lessons() if isinstance(lesson, Lesson)}
    assert not titles & {proto.label.strip("*") for proto in protos(at, "page_link")}
    at.selectbox[0].set_value("order").run()
    assert titles <= {proto.label.strip("*") for proto in protos(at, "page_link")}


def test_a_question_is_answered_by_what_is_computed() -> None:
    at = opened("lessons", lesson=FIRST, step="3")
    step = lesson_of(FIRST).steps[2]
    value = WORDS.part("Calculated", answer="1,200")
    widget(at.button, "Check").click().run()  # nothing is answered yet
    assert not (*at.info, *at.success)
    at.number_input[0].set_value(99).run()
    widget(at.button, "Check").click().run()
    assert [words(info.value) for info in at.info] == [f"{WORDS.part('Not this')}\n\n{step.because}"]
    widget(at.button, WORDS.label("show")).click().run()
    assert [words(info.value) for info in at.info] == [f"{value}\n\n{step.because}"]
    at.number_input[0].set_value(1200).run()
    widget(at.button, "Check").click().run()
    said = f"{WORDS.part('Right')} {value}\n\n{step.because}"
    assert [words(success.value) for success in at.success] == [said]
    widget(at.button, "Next").click().run()
    assert at.query_params["step"] == "4"


def test_a_wrong_option_says_its_misconception() -> None:
    wrong = [option for option in lesson_of(FIRST).steps[0].options if option.because]
    at = opened("lessons", lesson=FIRST)
    for option in wrong:
        at.pills[0].set_value(option.text).run()
        widget(at.button, "Check").click().run()
        (said,) = (words(info.value) for info in at.info)
        assert said.startswith(WORDS.part("Not this"))
        assert [other for other in wrong if other.misconception in said or other.because in said] == [option]


MADE = """+++
title = "Made"
line = "A line."
can = ["divide by **two**"]
recap = ["One *sentence*."]
+++
## Halves
A text.
+++
view = "/glossary"
asks = "arithmetic"
covered = true
question = "What is half of 6?"
check = { kind = "calculation", of = "6 / 2" }
because = "3 + 3 = 6."
hint = "Divide by 2."
mistakes = [{ answer = 12, misconception = "Half is twice.", because = "12 is 6 · 2." }]
[[again]]
view = "/catalogue"
question = "What is half of 5?"
tolerance = 0.01
check = { kind = "calculation", of = "5 / 2" }
because = "2.5 + 2.5 = 5."
+++
"""


def test_a_wrong_number_says_its_mistake_and_a_question_is_asked_again() -> None:
    at = opened("lessons", file=MADE)
    drawn = " ".join(str(element.value) for element in at.caption)
    assert WORDS.part("Can") in drawn
    assert "divide by \\*\\*two" in drawn

    def answer(number: float) -> list[str]:
        at.number_input[0].set_value(number).run()
        widget(at.button, "Check").click().run()
        return [words(box.value) for box in (*at.info, *at.success)]

    again = WORDS.label("again")
    assert again not in [button.label for button in at.button]
    assert answer(12) == [f"{WORDS.part('Not this')} *Half is twice.* 12 is 6 · 2."]
    assert answer(11) == [f"{WORDS.part('Not this')}\n\nDivide by 2."]
    assert answer(3) == [f"{WORDS.part('Right')} {WORDS.part('Calculated', answer='3')}\n\n3 + 3 = 6."]
    assert covered(at) == [False]
    widget(at.button, again).click().run()
    assert (at.number_input[0].value, covered(at), [*at.success]) == (None, [True], [])
    assert '"/catalogue' in str(protos(at, "bidi_component")).replace("\\", "")
    assert answer(2.5) == [f"{WORDS.part('Right')} {WORDS.part('Calculated', answer='2.5')}\n\n2.5 + 2.5 = 5."]
    widget(at.button, again).click().run()
    assert at.number_input[0].value is None
    widget(at.button, "Next").click().run()
    assert "1. One \\*sentence\\*\\." in [element.value for element in at.markdown]
    assert WORDS.part("Score", right=0, questions=1) in shown(at)
    assert WORDS.part("Missed") not in shown(at), "it was right at once when it was asked again"


def lesson_of(slug: str) -> Lesson:
    match = next(lesson for lesson in lessons() if lesson.slug == slug)
    assert isinstance(match, Lesson)
    return match


def test_a_view_that_prints_the_answer_is_covered_until_there_is_one() -> None:
    at = opened("lessons", lesson=FIRST, step="7")
    assert covered(at) == [True]
    at.pills[0].set_value("She baked a cake.").run()
    widget(at.button, "Check").click().run()
    assert covered(at) == [False]
    assert covered(opened("lessons", lesson=FIRST, step="3")) == [False]


def covered(at: AppTest) -> list[bool]:
    drawn = [json.loads(proto.json) for proto in protos(at, "bidi_component") if "covered" in proto.json]
    return [data["covered"] for data in drawn if "covered" in data]


def test_a_published_figure_names_its_paper() -> None:
    at = opened("lessons", lesson="13-smaller", step="3")
    at.pills[0].set_value("Attention shared").run()
    widget(at.button, "Check").click().run()
    widget(at.button, WORDS.label("show")).click().run()
    (said,) = (info.value for info in at.info)
    published = WORDS.part("Published", answer="Feed-forward shared")
    assert said.replace("\\", "").startswith(f"{published} (Lan et al. 2019, ALBERT")
    assert "Computed" not in said


def test_a_lesson_ends_with_its_recap_what_was_right_and_the_next_one() -> None:
    at = opened("lessons", lesson=FIRST, step="8")
    at.number_input[0].set_value(0.61).run()
    widget(at.button, "Check").click().run()
    assert at.success
    widget(at.button, "Next").click().run()
    assert at.query_params["step"] == "9"
    lesson = lesson_of(FIRST)
    assert all(sentence in words(shown(at)) for sentence in lesson.recap)
    asked = [step.title for step in lesson.steps if step.check]
    assert WORDS.part("Score", right=1, questions=len(asked)) in shown(at)
    links = [proto.label for proto in protos(at, "page_link")]
    assert [label for label in links if any(title in label.replace("\\", "") for title in asked[:-1])] == links[:-2]
    assert "Next lesson: 5 · GPT" in links[-2].replace("\\", "")
    assert "Next" not in [button.label for button in at.button]
    widget(at.button, "Previous").click().run()
    assert at.query_params["step"] == "8"


@pytest.mark.parametrize(
    ("lesson", "number", "step"),
    [
        pytest.param(lesson.slug, number, variant, id=f"{lesson.slug}-{number}-{at}")
        for lesson in lessons()
        if isinstance(lesson, Lesson)
        for number, step in enumerate(lesson.steps, 1)
        for at, variant in enumerate(step.variants)
        if isinstance(variant.check, Attended | Weight)
    ],
)
def test_the_selected_token_is_the_one_that_the_question_is_about(lesson: str, number: int, step: Step) -> None:
    assert isinstance(step.check, Attended | Weight)
    assert (step.query["layer"], step.query["head"]) == (str(step.check.layer), str(step.check.head))
    attention_map = step.check.row()[0]
    tokens, special = attention_map.query_tokens, attention_map.special_queries
    shown = [token_of(label, special=i in special) for i, label in enumerate(tokens)]
    at = int(step.query["token"]) - 1 if "token" in step.query else usual_token(shown)
    assert tokens[at] == step.check.query


def test_a_lesson_of_a_link_is_data() -> None:
    text = '+++\ntitle = "**Bold** [a](http://b.example)"\nline = "A line."\n+++\n'
    text += '## <b>First</b>\n# Heading ![x](http://b.example/y.png)\n+++\nview = "/glossary"\n+++\n'
    at = opened("lessons", file=text)
    drawn = " ".join(str(element.value) for element in (*at.markdown, *at.caption, *at.subheader))
    drawn += " ".join(proto.text for proto in protos(at, "progress"))
    assert "](http" not in drawn
    assert "\\*\\*Bold" in drawn


def test_the_handout_has_every_step_with_its_address_and_the_key_is_apart() -> None:
    lesson = lesson_of(FIRST)
    page = handout(lesson, "https://atlas.example/a", notes=True)
    assert page.count("<section>") == page.count("<svg") == len(lesson.steps)
    assert all(escape(f"https://atlas.example/a{step.path}<")[:-4] in page for step in lesson.steps)
    assert "<script" not in page
    answers = key(lesson, lambda step: f"<{step.title}>")
    asked = [step for step in lesson.steps if step.question]
    assert answers.count("<section>") == len(asked)
    assert all(escape(f"<{step.title}>") in answers and escape(f"<{step.title}>") not in page for step in asked)


def test_a_lesson_of_a_file_prints_as_data() -> None:
    evil = from_text('+++\ntitle = "<b>"\nline = "<i>"\n+++\n## <u>\n<s> **x**\n+++\nview = "/glossary"\n+++\n')
    page = handout(evil, "", notes=True)
    assert not any(tag in page.partition("<body>")[2].replace("<b></b>", "") for tag in ("<u>", "<s>", "<i>", "<b>"))


def test_a_view_whose_address_fits_no_qr_code_has_its_address_alone() -> None:
    assert qr_code("x" * 2_953).startswith("<svg")
    assert qr_code("x" * 2_954) == ""


def test_what_does_not_fit_is_said() -> None:
    assert "step 1 “First”: there is no page “nowhere”" in shown(
        opened("lessons", file='+++\ntitle = "A"\nline = "B"\n+++\n## First\n+++\nview = "/nowhere"\n+++\n')
    )
    assert WORDS.part("No such lesson", lesson="nothing") in shown(opened("lessons", lesson="nothing"))


def test_lessons_of_the_host_that_do_not_fit_are_said_and_the_others_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    front = '+++\ntitle = "{}"\nline = "A line."\n+++\n'
    step = '## First\n\n+++\nview = "{}"\nnote = "Ask **this**."\n+++\n'
    (tmp_path / "1 broken.md").write_text(front.format("Broken") + "## First\n+++\nview =\n+++\n", encoding="utf-8")
    (tmp_path / "2.md").write_bytes(b"\xff\xfe")
    (tmp_path / "3.md").write_text(front.format("Missing") + step.format("/nowhere"), encoding="utf-8")
    (tmp_path / "4.md").write_text(front.format("Whole") + step.format("/catalogue"), encoding="utf-8")
    monkeypatch.setenv("ATLAS_LESSONS_DIR", str(tmp_path))
    settings.cache_clear()
    try:
        at = opened("lessons")
        assert [error.value.replace("\\", "").partition(":")[0] for error in at.error] == [
            "1 broken.md, step 1 “First”",
            "2.md cannot be read as UTF-8 text.",
        ]
        assert [proto.label for proto in protos(at, "page_link")][-2:] == [
            "**Whole**",
            "Next: the Transformer in one picture",
        ]
        assert "3.md, step 1 “First”: there is no page “nowhere”" in shown(opened("lessons", lesson="3"))
        at = opened("lessons", lesson="4", notes="yes")
        assert [info.value for info in at.info] == ["Ask **this**."]
    finally:
        monkeypatch.undo()
        settings.cache_clear()


POURED = "She poured the [MASK] into her cup of "


@pytest.mark.parametrize(
    ("text", "token", "percent"),
    [
        ("The man went to the [MASK].", "door", 12),
        ("The man went to the [MASK].", "park", 7),
        ("The children went to the [MASK] to swim.", "pool", 37),
        ("The children went to the [MASK].", "school", 27),
        ("The children went to the [MASK].", "zoo", 12),
        (f"{POURED}[MASK].", "coffee", 37),
        (f"{POURED}tea.", "coffee", 12),
        (f"{POURED}tea.", "tea", 8),
        (f"{POURED}tea.", "milk", 34),
        (f"{POURED}coffee.", "coffee", 7),
        (f"{POURED}coffee.", "tea", 5),
        (f"{POURED}coffee.", "water", 31),
        (f"{POURED}coffee.", "milk", 24),
        ("The cat saw the mouse, but the [MASK] ran back into its hole.", "dog", 18),
        ("The cat saw the mouse, but the [MASK] ran back into its hole.", "cat", 11),
        ("The cat saw the mouse, but the [MASK] ran back into its hole.", "mouse", 8),
        ("A robin is a [MASK].", "bird", 85),
        ("A robin is not a [MASK].", "bird", 43),
        ("They were married the next day, and they lived happily ever [MASK].", "before", 33),
        ("They were married the next day, and they lived happily ever [MASK].", "after", 5),
    ],
)
def test_the_shares_that_lesson_4_names_are_the_models(text: str, token: str, percent: int) -> None:
    share = Probability(kind="probability", model="minilm", text=text, token=token).answer()
    assert round(100 * share) == percent
    assert f"{percent}%" in said("4-bert")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("The cat sat on the mat.", 7),
        ("Die Katze saß auf der Matte.", 16),
        ("Кошка сидит на ковре.", 38),
        ("Once upon a time", 4),
        ("Once upon a time ", 5),
        ("the garden", 2),
        ("a castle", 2),
    ],
)
def test_the_counts_that_lesson_1_names_are_the_tokenizers(text: str, count: int) -> None:
    assert Tokens(kind="tokens", tokenizer="atlas-gpt-2", text=text).answer() == count


def said(slug: str) -> str:
    """All that a lesson says."""
    lesson = lesson_of(slug)
    return " ".join(
        [step.text for step in lesson.steps]
        + [text for step in lesson.steps for v in step.variants for text in (v.question or "", v.because)]
        + [wrong.because for step in lesson.steps for v in step.variants for wrong in (*v.options, *v.mistakes)]
    )


def test_the_accuracy_that_lesson_18_names_for_sides_is_the_models() -> None:
    scenes, images = image_text.sample("seen", 4, 5)
    clip, sides = image_text.model(), tuple(image_text.SIDES)
    right = 0
    for scene, image in zip(scenes, images, strict=True):
        prompt = f"a {scene.color} {scene.shape} {{}}"
        right += sides[image_text.zero_shot(clip, image[None], sides, [prompt])[0].argmax()] == scene.side
    assert len(scenes) == 240
    assert f"finds the side of {round(100 * right / 240)}%" in lesson_of("18-images").steps[5].text


@pytest.mark.parametrize(
    ("image", "classes", "prompt", "shares"),
    [
        ((1, 6), image_text.COLORS, "a {} shape", {"blue": 35, "green": 35, "purple": 15}),
        ((1, 6), image_text.COLORS, "a {} ring", {"gray": 48, "green": 27, "blue": 21}),
        ((3, 3), image_text.SHAPES, "a blue {}", {"square": 70, "triangle": 13}),
        ((3, 3), image_text.SHAPES, "a picture of a {}", {"triangle": 60}),
        ((4, 4), image_text.SHAPES, "a yellow {}", {"cross": 72, "diamond": 21}),
    ],
)
def test_the_shares_that_lesson_18_names_are_the_models(
    image: tuple[int, int], classes: Iterable[str], prompt: str, shares: dict[str, int]
) -> None:
    seed, number = image
    drawn = image_text.one_of_each_shape("held out", seed)[1][number - 1 : number]
    chances = image_text.zero_shot(image_text.model(), drawn, [*classes], [prompt])[0]
    by_class = {name: round(100 * chance) for name, chance in zip(classes, chances, strict=True)}
    assert {name: by_class[name] for name in shares} == shares


def test_the_measures_that_lessons_14_and_17_name_are_the_stored_ones() -> None:
    cap, repeated = measured()["cap"], measured()["repeated"]
    shares = dict(zip(cap.answers[0].tokens, zip(*cap.answers[0].chances, strict=True), strict=True))
    assert [round(100 * p) for p in (shares[" cap"][0], shares[" barn"][1])] == [44, 47]
    assert round(max(answer.noise or 0 for answer in cap.answers), 1) == 2.9
    means = [
        f"{fmean(answer.surprisals[model] for answer in repeated.answers if answer.question.about is about):.1f}"
        for about in (True, False)
        for model in (0, 1)
    ]
    assert means == ["40.7", "19.3", "43.3", "43.4"]
    text = " ".join(step.text for step in lesson_of("14-scale").steps)
    assert all(mean in text for mean in means)
    story = "a story written for this project"
    held = "books, articles and sentences of the corpus held out from training"
    found = [
        round(CardMeasure(kind="measure", model=f"atlas-{model}", measure="top-1", on=on).answer(), 1)
        for on in (story, held)
        for model in ("roberta", "deberta")
    ]
    assert found == [43.4, 51.2, 39.4, 44.2]
    assert round(CardMeasure(kind="measure", model="atlas-xlnet", measure="top-1", on=story).answer(), 1) == 50.6


def test_each_kind_of_check_is_computed_once() -> None:
    """The first question of each kind; the nightly tests compute all of them."""
    steps = [step for lesson in lessons() if isinstance(lesson, Lesson) for step in lesson.steps if step.check]
    first = {type(step.check): step for step in reversed(steps)}
    unused = set(get_args(get_args(AnyCheck)[0])) - first.keys()
    elsewhere = {"Ablated", "BestHead", "Calculation", "Follows", "Parameters", "Probability", "Published", "Replaced"}
    elsewhere |= {"CardMeasure", "FineTuned", "Repetition", "Similar", "StudyNumber", "Weight", "Written"}
    assert {kind.__name__ for kind in unused} <= elsewhere, "computed below, in a comparison, or in tests of their own"
    assert BestHead(kind="best-head", model="minilm", score="previous").answer() == "1-3"
    assert FineTuned(kind="fine-tuned", task="ten", run="all").answer() > 0.9
    previous = Weight(kind="weight", model="minilm", text="The cat sat.", layer=1, head=3, query="cat", key="the")
    assert previous.answer() > 0.99
    writers = Written(kind="written", model="atlas-gpt-2", text="The girl was sad because", answers=["she", "he"])
    assert writers.answer() == "4-5"
    replaced = Replaced(kind="replaced", model="atlas-electra", text="The little girl ate a red sea under the tree.")
    assert replaced.answer() == "sea"
    text = "The man went to the [MASK] to borrow some money."
    layer = [[4, head] for head in range(1, 13)]
    assert Ablated(kind="ablated", model="minilm", text=text, heads=layer).answer() == "bank"
    text = "The capital of France is [MASK]."
    assert Probability(kind="probability", model="minilm", text=text, token="paris").answer() > 0.9
    assert [step.title for step in first.values() if not is_answerable(step)] == []


def is_answerable(step: Step) -> bool:
    assert step.check is not None
    answer = step.check.answer()
    return answer in {option.text for option in step.options} if step.options else isinstance(answer, int | float)
