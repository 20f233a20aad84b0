"""Lessons as files, and guesses at words: what is read, forgiven and refused."""

from __future__ import annotations

import re
import time
import tracemalloc
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from core import catalogue, links, patterns
from core.content import parse
from core.errors import ContentUnusable, InputUnusable, OutOfRange
from core.language.guesses import among, plain_word, same_word
from core.lessons import checks
from core.lessons.lesson import (
    Lesson,
    Step,
    from_content,
    from_text,
    lessons,
    refuse_missing_views,
)
from core.settings import settings
from core.ui.section import pages

FRONT = '+++\ntitle = "A lesson"\nline = "A line."\n+++\n'
VIEW = 'view = "/attention?tab=heads&model=minilm&layer=1"'
ASKED = 'question = "W"\noptions = ["a", "b"]'
SCORES = '{ kind = "scores", pattern = "full", tokens = 4 }'

NUMBER = f'question = "W"\ncheck = {SCORES}'


def step(block: str = VIEW, title: str = "First", text: str = "Some text.") -> str:
    return f"## {title}\n{text}\n\n+++\n{block}\n+++\n"


@pytest.fixture(scope="module", autouse=True)
def _pages() -> None:
    pages()


def test_a_file_becomes_a_lesson() -> None:
    check = 'question = "How many?"\ncheck = { kind = "scores", pattern = "causal", tokens = 4 }\nnote = "Say it."'
    lesson = from_text(FRONT + step() + step(f"{VIEW}\n{check}", "Second"))
    assert (lesson.title, lesson.minutes, lesson.trusted) == ("A lesson", 15, False)
    first, second = lesson.steps
    assert (first.text, first.page, first.query["layer"]) == ("Some text.", "attention", "1")
    assert second.check is not None
    assert second.check.answer() == 1 + 2 + 3 + 4
    assert second.quiz is not None
    assert second.quiz.right(10, 10)
    assert not second.quiz.right(9, 10)
    refuse_missing_views(lesson)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (FRONT, r"has 0 steps"),
        (FRONT + "## First\nNo block.\n", r"step 1 “First”: it needs one block"),
        (FRONT + step() + step("view = ", "Second"), r"step 2 “Second”: the block is not valid TOML"),
        (FRONT + step(VIEW + "\nanswer = 1"), r"step 1 “First”: answer: Extra inputs"),
        (FRONT + step(VIEW + '\nquestion = "Why?"'), r"step 1 “First”: .*a question needs a check"),
        (FRONT + step(VIEW + '\nquestion = "W"\ncheck = { kind = "constant" }'), r"First”: check: .*'constant'"),
        (FRONT + step('view = "/nowhere"'), r"step 1 “First”: there is no page “nowhere”"),
        (FRONT + step('view = "/lessons?lesson=a"'), r"there is no page “lessons”"),
        (FRONT + step('view = "/../attention"'), r"there is no page"),
        (FRONT + step('view = "/attention?tab=nothing"'), r"step 1 “First”: The link asks for tab “nothing”"),
        (FRONT + step('view = "/attention?model=gpt-9"'), r"model “gpt-9”, but it must be one of"),
        (FRONT + step('view = "/encoder?system=bort"'), r"system “bort”, but it must be one of"),
        (FRONT + step('view = "/attention?colour=red"'), r"a parameter “colour”, which this page does not have"),
        (
            FRONT + step(f'{VIEW}\n{ASKED}\ncheck = {{ kind = "prediction", model = "gpt-9", text = "a" }}'),
            r"there is no model “gpt-9”",
        ),
        (
            FRONT + step(f'{VIEW}\nquestion = "W"\noptions = ["a", {{ text = "b", why = "c" }}]'),
            r"options.1.why: Extra",
        ),
        (FRONT + step(f'{VIEW}\nquestion = "W"\noptions = ["a", ""]'), r"an option has 1 to 400 characters"),
        (
            FRONT + step(f'{VIEW}\n{NUMBER}\nmistakes = [{{ answer = "5" }}]'),
            r"First”: mistakes.0.answer: Input should be a valid number",
        ),
        (
            FRONT + step(f"{VIEW}\n{ASKED}\nmistakes = [{{ answer = 5 }}]\ncheck = {SCORES}"),
            r"mistakes are wrong numbers; a wrong option says itself why",
        ),
        (FRONT + step(f'{VIEW}\n{NUMBER}\nasks = "memory"'), r"First”: asks: Input should be 'arithmetic'"),
        (FRONT + step(VIEW + "\n[[again]]"), r"First”: .*only the question of a step is asked again"),
        (FRONT + step(VIEW + '\n[[again]]\nquestion = "W"'), r"First”: again.0: .*a question needs a check"),
        (
            FRONT + step(f'{VIEW}\n{NUMBER}\n[[again]]\nview = "/attention?model=gpt-9"'),
            r"step 1 “First”: .*model “gpt-9”, but it must be one of",
        ),
        (
            FRONT + step(f'{VIEW}\nquestion = "W"\ncheck = {{ kind = "calculation", of = "1 / 0" }}'),
            r"check.calculation.of: “1 / 0” cannot be computed\. Use numbers",
        ),
        (FRONT + step(VIEW + "\ncovered = true"), r"a view is covered until its question is answered"),
        (FRONT + step(f"{VIEW}\n{ASKED}\ncheck = {SCORES}"), r"a check that answers with a text needs options"),
        (
            FRONT + step(VIEW + '\nquestion = "W"\ncheck = { kind = "prediction", model = "minilm", text = "a" }'),
            r"a check that answers with a text needs options",
        ),
        (
            FRONT + step(f'{VIEW}\n{ASKED}\ncheck = {{ kind = "largest", of = {{ a = {SCORES}, c = {SCORES} }} }}'),
            r"step 1 “First”: .*the answer may be “c”, which is no option",
        ),
        (
            FRONT + step(f'{VIEW}\n{ASKED}\ncheck = {{ kind = "same", of = {{ a = {SCORES}, b = {SCORES} }} }}'),
            r"the answer may be “Yes”, which is no option",
        ),
        ("+++\ntitle = 1\n+++\n" + step(), r"front matter: title"),
        ("+++\ntitle = " + "[" * 5_000 + "\n+++\n" + step(), r"front matter .*nests too deeply \(below line 1\)"),
        ("+++\ntitle = " + "1" * 5_000 + "\n+++\n" + step(), r"front matter .*a number that is too long"),
        (FRONT + step("view = " + "[" * 5_000), r"step 1 “First”: the block .*nests too deeply \(below line 8\)"),
        (FRONT + step("view = " + "1" * 5_000), r"step 1 “First”: the block .*a number that is too long"),
        (FRONT + step("\nview = 1 2"), r"step 1 “First”: the block .*at line 10, column 10"),
        (FRONT + step('view = "//[x"'), r"step 1 “First”: Invalid IPv6 URL"),
        ("x" * 200_000, r"has 200,000 characters; a lesson has 100,000 at most"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_step(text: str, reason: str) -> None:
    with pytest.raises(ContentUnusable, match=reason):
        refuse_missing_views(from_text(text))


def test_what_is_asked_again_leaves_out_what_is_the_same_but_what_speaks_of_the_numbers() -> None:
    own = 'because = "4 · 4."\nmistakes = [{ answer = 10, misconception = "A mask.", because = "There is none." }]'
    other = '[[again]]\nquestion = "And of 5?"\ncheck = { kind = "scores", pattern = "full", tokens = 5 }'
    lesson = from_text(FRONT + step(f'{VIEW}\nasks = "transfer"\nhint = "n²."\n{NUMBER}\n{own}\n{other}'))
    first, again = lesson.steps[0].variants
    assert [variant.check.answer() for variant in (first, again) if variant.check] == [16, 25]
    assert (again.path, again.title, again.text, again.asks, again.hint) == (
        first.path,
        "First",
        "Some text.",
        "transfer",
        "n².",
    )
    assert (first.because, again.because, again.mistakes) == ("4 · 4.", "", [])
    assert first.quiz is not None
    assert first.quiz.behind(10) is first.quiz.mistakes[0]


def test_the_view_of_a_hostile_lesson_stays_on_this_host() -> None:
    lesson = from_text(FRONT + step('view = "https://evil.example/attention?tab=heads&text=<script>"'))
    assert lesson.steps[0].path == "/attention?tab=heads&text=%3Cscript%3E"


def bundled() -> list[Lesson]:
    read_lessons = lessons()
    assert all(isinstance(lesson, Lesson) for lesson in read_lessons), read_lessons
    return [lesson for lesson in read_lessons if isinstance(lesson, Lesson)]


@pytest.mark.parametrize("lesson", bundled(), ids=lambda lesson: lesson.slug)
def test_every_view_of_a_bundled_lesson_exists(lesson: Lesson) -> None:
    refuse_missing_views(lesson)


def test_a_link_to_a_lesson_of_before_opens_one_of_today() -> None:
    assert links.current("lessons", {"lesson": "2-bert", "step": "3"}) == ("lessons", {"lesson": "4-bert"})
    slugs = {lesson.slug for lesson in bundled()}
    moved = [row for row in catalogue.moved_views() if "lessons" in row["pages"]]
    assert {row["query"]["lesson"] for row in moved} <= slugs
    assert not {row["when"]["lesson"] for row in moved} & slugs


def test_a_host_adds_lessons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "My own.md").write_text(FRONT + step(), encoding="utf-8")
    monkeypatch.setenv("ATLAS_LESSONS_DIR", str(tmp_path))
    settings.cache_clear()
    try:
        *_, added = lessons()
    finally:
        monkeypatch.undo()
        settings.cache_clear()
    assert isinstance(added, Lesson)
    assert (added.slug, added.trusted, added.bundled) == ("my-own", True, False)


def test_comparisons_name_an_option() -> None:
    scores: dict[str, Any] = {
        name: {"kind": "scores", "pattern": pattern, "tokens": 8}
        for name, pattern in (("Encoder", "full"), ("Decoder", "causal"))
    }

    def answer(kind: str) -> checks.Answer:
        options = {"largest": [*scores], "smallest": [*scores], "same": ["Yes", "No"]}
        fields: dict[str, Any] = {
            "title": "a",
            "text": "",
            "view": "/",
            "question": "?",
            "options": options.get(kind, []),
            "check": {"kind": kind, "of": scores},
        }
        check = Step(**fields).check
        assert check is not None
        return check.answer()

    assert [answer(kind) for kind in ("largest", "smallest", "same")] == ["Encoder", "Decoder", "No"]
    assert answer("ratio") == pytest.approx(64 / 36)


def test_a_check_says_where_its_answer_comes_from() -> None:
    of: dict[str, Any] = {
        test: {"kind": "published", "table": "albert-sentences", "variant": variant, "dataset": f"{test} task"}
        for test, variant in (("sentence-order", "next sentence"), ("next-sentence", "sentence order"))
    }
    published = checks.Largest(kind="largest", of=of)
    assert (published.way(), published.sources()) == ("Published", ("Lan et al. 2019, ALBERT, table 5",))
    counted = {system: {"kind": "parameters", "system": system} for system in ("bert", "albert")}
    assert checks.Ratio.model_validate({"kind": "ratio", "of": counted}).way() == "Counted"
    assert checks.BestHead(kind="best-head", model="minilm", score="previous").way() == "Measured"
    scores = {"kind": "scores", "pattern": "full", "tokens": 3}
    mixed = checks.Ratio.model_validate({"kind": "ratio", "of": {"a": counted["bert"], "b": scores}})
    assert (mixed.way(), mixed.sources()) == ("Computed", ())


READ = {
    ("1-tokens", 1): "the view says the two counts, to divide and square",
    ("1-tokens", 2): "the view stands before the merge",
    ("1-tokens", 3): "the view is of another word",
    ("1-tokens", 4): "the view is of another word",
    ("1-tokens", 5): "the view is of another word",
    ("1-tokens", 6): "the view is of another text",
    ("1-tokens", 7): "the view is of the word after another",
    ("1-tokens", 8): "the chart is of tokens, not of losses",
    ("3-block", 1): "the numbers are made up, the view is a model's",
    ("3-block", 2): "the numbers are made up, the view is a model's",
    ("3-block", 3): "the numbers are made up, the view is a model's",
    ("3-block", 4): "the view is of another order of the words",
    ("3-block", 5): "the view has a model with positions",
    ("3-block", 6): "the tree is of another model",
    ("3-block", 7): "the view says both losses, to compare",
    ("4-bert", 1): "the bars are those of another sentence",
    ("4-bert", 2): "the bars say p, of which the loss is to be computed",
    ("4-bert", 3): "the view is of a single sentence",
    ("4-bert", 5): "the bars are those of another sentence",
    ("4-bert", 6): "the bars are those of another sentence",
    ("4-bert", 8): "the tree says one of the two counts",
    **{("2-attention-by-hand", step): "the picture ends before the step that is asked" for step in (1, 3, 4, 5)},
    ("2-attention-by-hand", 2): "the picture has another dimension",
    ("2-attention-by-hand", 7): "the picture has other vectors, to compare",
    ("2-attention-by-hand", 8): "the picture has another dimension",
    ("5-gpt", 1): "the view says losses, not passes",
    ("5-gpt", 2): "the view is of another text",
    ("5-gpt", 4): "the view is of a prompt that ends where a token ends",
    ("5-gpt", 5): "the ratio is made up, the chart is a model's",
    ("5-gpt", 6): "the probabilities are made up, the chart is a model's",
    ("5-gpt", 7): "the probabilities are made up, the tree is a model's",
    ("6-encoder-decoder", 1): "the view is of another text",
    ("6-encoder-decoder", 2): "the view is of other lengths",
    ("6-encoder-decoder", 3): "the view is of another text",
    ("6-encoder-decoder", 4): "the mask is of another length",
    ("6-encoder-decoder", 6): "the view is of another text",
    ("7-objectives", 1): "the view is of another length",
    ("7-objectives", 2): "the view has surprisals of a model, not the factors",
    ("7-objectives", 3): "the view is of another length",
    ("7-objectives", 7): "the view is of another text",
    ("8-bert-family", 1): "the view is of masks, not of the paper's figures",
    ("8-bert-family", 3): "the chart has scores and parameters, not times",
    ("8-bert-family", 5): "the chart has scores and times, not the share",
    ("8-bert-family", 6): "the chart has the scores, not the share",
    ("8-bert-family", 7): "the chart has the paper's rows, not the case's",
    ("8-bert-family", 8): "the view is of a live model, not of the paper's figures",
    ("9-word-vectors", 1): "the view is of a word, not of these vectors",
    ("9-word-vectors", 2): "the view is of a word, not of these vectors",
    ("9-word-vectors", 3): "the view has predictions, not states",
    ("9-word-vectors", 5): "the view has a model's vectors, not these",
    ("9-word-vectors", 7): "the view has a model's cosines, not these",
    ("9-word-vectors", 8): "the view is of another model, not of the paper's figures",
    ("10-fine-tuning", 2): "the view has the labels, not their number of parameters",
    ("10-fine-tuning", 3): "the view is of an encoder",
    ("10-fine-tuning", 5): "the view has a model's accuracies, not these vectors",
    ("10-fine-tuning", 6): "the view has the parameters of another model",
    ("10-fine-tuning", 7): "the chart has accuracies, not the share",
    ("11-circuits", 1): "the bars are measured, the numbers are made up",
    ("11-circuits", 7): "the sequence is another one",
    ("12-long-texts", 1): "the mask is of another length",
    ("12-long-texts", 2): "the chart has measured times of one head, not the share of a layer",
    ("12-long-texts", 3): "the view says the counts at the length that one chooses, to divide",
    ("12-long-texts", 5): "the chart has accuracies, not layers",
    ("12-long-texts", 7): "the chart has times and bytes, to compare",
    ("12-long-texts", 8): "the table has the layers, not the factor",
    ("13-smaller", 1): "the view counts another size",
    ("13-smaller", 2): "the trees say what is stored, not what is computed",
    ("13-smaller", 4): "the bars are those of a sentence",
    ("13-smaller", 6): "the chart has losses and bytes, not a weight",
    ("13-smaller", 7): "the chart is of another model",
    ("13-smaller", 8): "the view computes another model",
    ("14-scale", 1): "the view is of another network",
    ("14-scale", 2): "the view has the best sizes of one budget, not the factor",
    ("14-scale", 3): "the view is of another budget",
    ("14-scale", 7): "the view is of other sentences",
    ("14-scale", 8): "the view finds copies, not shares of a score",
    ("15-assistant", 2): "the view is of one prompt, and the question of another day",
    ("15-assistant", 3): "the losses are those of another text",
    ("15-assistant", 4): "the chart is of accuracy, not of the pair's loss",
    ("15-assistant", 5): "the chart is of other chances",
    ("15-assistant", 6): "the bars are of other continuations and rewards",
    ("15-assistant", 7): "the chart is of one reward",
    ("15-assistant", 8): "the bars are of other continuations",
    ("16-modern-decoder", 1): "the numbers are of another key and another position",
    ("16-modern-decoder", 2): "the vectors are those of a text",
    ("16-modern-decoder", 3): "the view is of another model",
    ("16-modern-decoder", 4): "the view says what is stored, not the weights",
    ("16-modern-decoder", 5): "the tree is of another model",
    ("16-modern-decoder", 6): "the tree is of another model, without a size of its cache",
    ("16-modern-decoder", 7): "the tree says one of the two counts",
    ("16-modern-decoder", 8): "the view is of one text, not of the formula",
    ("17-results", 2): "the view has the two shares, not how uncertain they are",
    ("17-results", 5): "the chart has one of the eight gains",
    ("17-results", 6): "the view is of other counts",
    ("18-images", 1): "the tree is of another size",
    ("18-images", 3): "the view has cosines of six pairs, not these scores",
    ("18-images", 5): "the view has the three shares, to subtract and divide",
    ("18-images", 6): "the bars are of the colors, not of the shapes",
    ("18-images", 7): "the view has a mask over a smaller image",
}
"""The questions whose view is open before they are answered, and why that does not print the answer."""


def test_a_view_that_prints_the_answer_is_covered() -> None:
    asked = {
        (lesson.slug, number): step.covered
        for lesson in bundled()
        for number, step in enumerate(lesson.steps, 1)
        if step.check
    }
    assert {place for place, covered in asked.items() if not covered} == READ.keys()


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        ({"kind": "learned", "pair": "cap", "prompt": "abc"}, "pair “cap” has no prompt “abc”"),
        ({"kind": "learned", "pair": "abc", "prompt": "Now close your"}, "pair “abc” has no prompt"),
        ({"kind": "study", "study": "scaling", "number": "abc"}, "no number “abc” of a study “scaling”"),
        ({"kind": "study", "study": "../scaling", "number": "few"}, "no number “few” of a study “../scaling”"),
        ({"kind": "measure", "model": "minilm", "measure": "abc", "on": "d"}, "has no “abc” on “d”"),
    ],
)
def test_what_was_not_measured_is_refused(check: dict[str, Any], sentence: str) -> None:
    with pytest.raises(OutOfRange, match=sentence):
        TypeAdapter(checks.AnyCheck).validate_python(check).answer()


def test_what_was_measured_is_said_to_be() -> None:
    before, after = (
        checks.Learned(kind="learned", pair="moss", prompt="Now close your", model=model).answer()
        for model in ("first", "second")
    )
    assert (before, after) == ("eyes", "s")
    small = checks.StudyNumber(kind="study", study="scaling", number="small")
    assert (small.answer(), small.way()) == (pytest.approx((4.04444 + 4.05777) / 2), "Measured")


def test_an_unknown_tokenizer_or_mask_is_refused() -> None:
    with pytest.raises(OutOfRange, match="no tokenizer “abc”"):
        checks.Tokens(kind="tokens", tokenizer="abc", text="a").answer()
    with pytest.raises(OutOfRange, match="no mask “abc”"):
        checks.Scores(kind="scores", pattern="abc", tokens=3).answer()


MASKED = {"text": "a [MASK]"}


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        ({"kind": "continuation", "model": "minilm", "text": "a", "strategy": "beam"}, "a model that continues a text"),
        ({"kind": "repetition", "model": "atlas-t5", "text": "a", "tokens": 4}, "a model that continues a text"),
        ({"kind": "prediction", "model": "atlas-adapter-bert", **MASKED}, "a model that predicts masked tokens"),
        ({"kind": "probability", "model": "atlas-gpt-2", "token": "b", **MASKED}, "a model that predicts masked"),
        ({"kind": "rewrite", "model": "minilm", "text": "a", "task": "en-fr"}, "a model that rewrites a text"),
        ({"kind": "replaced", "model": "minilm", "text": "a"}, "a model that detects replaced tokens"),
        ({"kind": "scores", "pattern": "column", "tokens": 9}, "“Image columns” is a mask of an image"),
        (
            {
                "kind": "ratio",
                "of": {
                    name: {"kind": "scores", "pattern": f"random-{each}", "tokens": 9}
                    for name, each in (("a", 1), ("b", 0))
                },
            },
            "“b” is 0, and nothing can be divided by it",
        ),
    ],
)
def test_a_check_that_does_not_fit_its_model_is_a_sentence(check: dict[str, Any], sentence: str) -> None:
    read: checks.Check = TypeAdapter(checks.AnyCheck).validate_python(check)
    with pytest.raises(InputUnusable, match=sentence):
        checks.compute(read)


def test_what_a_library_refuses_is_a_sentence_too(monkeypatch: pytest.MonkeyPatch) -> None:
    check = checks.Scores(kind="scores", pattern="full", tokens=3)
    for failure in (ValueError("a visitor's text"), RecursionError(), IndexError(), ZeroDivisionError()):

        def answer(self: object, failure: Exception = failure) -> int:
            raise failure

        monkeypatch.setattr(checks.Scores, "answer", answer)
        with pytest.raises(InputUnusable, match=r"The check “scores” cannot be computed") as caught:
            checks.compute(check)
        assert "visitor" not in str(caught.value)
    monkeypatch.setattr(checks.Scores, "answer", lambda self: float("inf"))
    with pytest.raises(InputUnusable, match="gives inf, which is no answer"):
        checks.compute(check)


@pytest.mark.parametrize("pattern", ["permutation-1", "random-2", "bigbird-4"])
def test_a_check_counts_many_scores_in_little_memory_with_steps_between(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValidationError, match="less than or equal to 16384"):
        checks.Scores(kind="scores", pattern=pattern, tokens=16_385)
    steps: list[float] = []
    monkeypatch.setattr(patterns.turns, "step", lambda **_: steps.append(time.thread_time()))
    tracemalloc.start()
    try:
        assert checks.Scores(kind="scores", pattern=pattern, tokens=4_000).answer() > 0
        assert tracemalloc.get_traced_memory()[1] < 28e6, "a byte for each pair takes 16 MB, its negation as much"
    finally:
        tracemalloc.stop()
    assert max(after - before for before, after in pairwise(steps)) < 0.5


def test_content_names_the_file() -> None:
    with pytest.raises(ContentUnusable, match=r"^7-mine\.md, step 1 “First”"):
        from_content(parse(FRONT + "## First\n", Path("7-mine.md")), "7-mine")


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        ("  Milk! ", "milk"),
        ("the door", "door"),
        ("A DOG", "dog"),
        ("cafe", "café"),
        ("freind", "friend"),
        ("daugther", "daughter"),
        ("aple s"[:4] + "s", "aples"),
        ("tomorow", "tomorrow"),
        ("ＭＩＬＫ", "milk"),
        ("the", "the"),
        ("a", "a"),
        (",", ","),
    ],
)
def test_a_slip_is_forgiven(typed: str, word: str) -> None:
    assert same_word(typed, word)
    assert same_word(word, typed)


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        ("house", "horse"),
        ("dogs", "dog"),
        ("form", "from"),
        ("too", "to"),
        ("", "milk"),
        ("😀", "milk"),
        ("!!!", "milk"),
        ("😀", ""),
        ("", ""),
        ("abcde", "baced"),
        ("milk and honey", "milk"),
        ("water", "wate"),
        (",", "."),
    ],
)
def test_another_word_is_not(typed: str, word: str) -> None:
    assert not same_word(typed, word)


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_two_texts_compare(one: str, other: str) -> None:
    assert same_word(one, other) == same_word(other, one)
    assert len(plain_word(one)) <= 60


def test_the_first_that_fits_is_found() -> None:
    assert among("Couch", ("bed", "couch", "couch")) == 1
    assert among("floor", ("bed", "couch")) is None


def test_a_guess_is_held_against_what_stood_there_and_against_the_model() -> None:
    from core.ui.demos.cover import choice, verdict

    words, chances = ("milk", "water", "tea"), (0.5, 0.25, 0.1)
    assert verdict("Milk", words, chances) == "Right: it is the model's top prediction, at 50.0%."
    assert verdict("tea", words, chances) == "Wrong, but close: it has rank 3 among the predictions, at 10.0%."
    assert verdict("wine", words, chances) == "Wrong: it is not among the model's top 3 predictions."
    assert (
        verdict("water", words, chances, "water")
        == "Right: that is the original. Your word has rank 2 among the predictions, at 25.0%."
    )
    assert verdict("milk", words, chances, "wine").startswith("Wrong: the original is “wine”. Your word has rank 1")
    assert choice("b", ("a", "b"), (0.2, 0.8)) == "Right: it has the highest probability, 80.0%."
    assert choice("a", ("a", "b"), (0.2, 0.8)) == "Wrong: “b” has the highest probability, 80.0%."


DOCUMENT = Path(__file__).parents[2] / "docs" / "lessons.md"


def test_the_documented_lesson_is_one() -> None:
    lines = DOCUMENT.read_text(encoding="utf-8").splitlines()
    start = lines.index("    +++")
    end = next(number for number, line in enumerate(lines) if number > start and line.startswith("- "))
    lesson = from_text("\n".join(line[4:] for line in lines[start:end]))
    refuse_missing_views(lesson)
    (first,) = lesson.steps
    assert first.check is not None
    assert first.quiz is not None
    assert first.check.answer() in first.quiz.texts


def test_the_document_names_every_check_with_its_fields() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \|[^|]*\| (.*) \|$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    union, *_ = get_args(checks.AnyCheck)
    kinds = {get_args(kind.model_fields["kind"].annotation)[0]: kind for kind in get_args(union)}
    documented = {kind: re.findall(r"`(\w+)`", fields) for kind, fields in rows if kind != "kind"}
    assert documented == {kind: [name for name in cls.model_fields if name != "kind"] for kind, cls in kinds.items()}
