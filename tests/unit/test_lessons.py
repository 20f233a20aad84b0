"""Lessons: the format of a file, what is refused and where, the views of all bundled lessons, each kind of check."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from core.content import parse
from core.errors import ContentUnusable, OutOfRange
from core.lessons import checks
from core.lessons.lesson import (
    Draft,
    Lesson,
    Step,
    collected,
    from_content,
    from_text,
    lessons,
    refuse_missing_views,
    write,
)
from core.settings import settings
from core.ui.section import pages

FRONT = '+++\ntitle = "A lesson"\nline = "A line."\n+++\n'
VIEW = 'view = "/attention?tab=heads&model=minilm&layer=1"'


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
    assert second.right(10, 10)
    assert not second.right(9, 10)
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
            FRONT + step(VIEW + '\nquestion = "W"\ncheck = { kind = "prediction", model = "gpt-9", text = "a" }'),
            r"there is no model “gpt-9”",
        ),
        ("+++\ntitle = 1\n+++\n" + step(), r"front matter: title"),
        ("x" * 200_000, r"has 200,000 characters; a lesson has 100,000 at most"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_step(text: str, reason: str) -> None:
    with pytest.raises(ContentUnusable, match=reason):
        refuse_missing_views(from_text(text))


def test_the_view_of_a_hostile_lesson_stays_on_this_host() -> None:
    lesson = from_text(FRONT + step('view = "https://evil.example/attention?tab=heads&text=<script>"'))
    assert lesson.steps[0].path == "/attention?tab=heads&text=%3Cscript%3E"


def bundled() -> list[Lesson]:
    found = lessons()
    assert all(isinstance(lesson, Lesson) for lesson in found), found
    return [lesson for lesson in found if isinstance(lesson, Lesson)]


@pytest.mark.parametrize("lesson", bundled(), ids=lambda lesson: lesson.slug)
def test_every_view_of_a_bundled_lesson_exists(lesson: Lesson) -> None:
    refuse_missing_views(lesson)
    assert 6 <= len(lesson.steps) <= 9
    assert sum(step.check is not None for step in lesson.steps) >= 3
    assert all(step.note for step in lesson.steps)
    assert lesson.sources


def test_a_host_adds_lessons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "My own.md").write_text(FRONT + step(), encoding="utf-8")
    monkeypatch.setenv("ATLAS_LESSONS_DIR", str(tmp_path))
    settings.cache_clear()
    try:
        *_, own = lessons()
    finally:
        monkeypatch.undo()
        settings.cache_clear()
    assert isinstance(own, Lesson)
    assert (own.slug, own.trusted, own.bundled) == ("my-own", True, False)


@pytest.mark.parametrize("lesson", bundled(), ids=lambda lesson: lesson.slug)
def test_a_written_lesson_is_read_again(lesson: Lesson) -> None:
    again = from_text(write(lesson))
    assert again.steps == lesson.steps
    assert (again.title, again.line, again.sources) == (lesson.title, lesson.line, lesson.sources)


HOSTILE = (
    "## Another step\n+++\nview = '/zoo'\n+++\n",
    'A "text" with \\ and """\n\n+++\nview = 1\n+++',
    "a\u2028## b\x85+++\x0c+++\r+++\rc",
    "</script><script>alert(1)</script> \x00\x7f\x1b \U0001f600 \u202e",
    "\n\n   \n",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_collected_lesson_is_read_again_whatever_is_typed(text: str) -> None:
    steps = [{"title": text or "x", "text": text, "view": "/glossary"}, {"title": "B", "text": "", "view": text}]
    lesson = collected(Draft.model_validate({"title": text, "steps": steps}))
    assert [step.view for step in lesson.steps] == ["/glossary", text]
    assert lesson.steps[0].text.split() == text.split()
    assert from_text(write(lesson)) == replace(lesson, file="The lesson")
    assert not lesson.trusted
    with pytest.raises(ContentUnusable, match="step 2 “B”: there is no page"):
        refuse_missing_views(lesson)


def test_a_collected_lesson_that_does_not_fit_is_refused() -> None:
    steps = [{"title": f"Step {n}", "text": "x" * 4_000, "view": "/"} for n in range(1, 41)]
    draft: dict[str, Any] = {"title": "", "steps": steps[:2]}
    assert collected(Draft.model_validate(draft)).title == "Your lesson"
    steps[1]["title"] = " Step\n1 "
    with pytest.raises(ContentUnusable, match="step 2 “Step 1”: an earlier step has this title"):
        collected(Draft.model_validate(draft | {"steps": steps[:2]}))
    steps[1]["title"] = "B"
    with pytest.raises(ContentUnusable, match="a lesson has 100,000 at most"):
        collected(Draft.model_validate(draft | {"steps": steps}))
    for wrong in (steps + steps[:1], [{"title": "\ud800", "text": "", "view": "/"}], [{"title": "A", "view": "/"}]):
        with pytest.raises(ValidationError):
            Draft.model_validate(draft | {"steps": wrong})


def test_comparisons_name_an_option() -> None:
    scores: dict[str, Any] = {
        name: {"kind": "scores", "pattern": pattern, "tokens": 8}
        for name, pattern in (("Encoder", "full"), ("Decoder", "causal"))
    }

    def answer(kind: str) -> checks.Answer:
        fields: dict[str, Any] = {
            "title": "a",
            "text": "",
            "view": "/",
            "question": "?",
            "check": {"kind": kind, "of": scores},
        }
        check = Step(**fields).check
        assert check is not None
        return check.answer()

    assert [answer(kind) for kind in ("largest", "smallest", "same")] == ["Encoder", "Decoder", "No"]
    assert answer("ratio") == pytest.approx(64 / 36)


def test_an_unknown_tokenizer_or_mask_is_refused() -> None:
    with pytest.raises(OutOfRange, match="no tokenizer “abc”"):
        checks.Tokens(kind="tokens", tokenizer="abc", text="a").answer()
    with pytest.raises(OutOfRange, match="no mask “abc”"):
        checks.Scores(kind="scores", pattern="abc", tokens=3).answer()


def test_content_names_the_file() -> None:
    with pytest.raises(ContentUnusable, match=r"^7-mine\.md, step 1 “First”"):
        from_content(parse(FRONT + "## First\n", Path("7-mine.md")), "7-mine")
