"""The lessons by other texts' tables of contents: every lesson, system and view that a part names is here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core import catalogue
from core.catalogue import load
from core.catalogue import outlines as module
from core.catalogue.corrections import cited, documents
from core.catalogue.outlines import Outline, outlines
from core.errors import ContentUnusable
from core.lessons.lesson import Lesson, Step, refuse_missing_views
from core.search import find
from core.ui.section import pages
from tests.unit.test_lessons import bundled


@pytest.fixture(scope="module", autouse=True)
def _pages() -> None:
    pages()


def views(outline: Outline) -> Lesson:
    """A lesson whose steps have the views of an outline."""
    found = [(part.title, view) for part in outline.parts for view in part.views.values()]
    steps = tuple(Step(title=title, text="", view=view) for title, view in found)
    return Lesson("", "outlines.toml", outline.name, "", 15, (), steps)


@pytest.mark.parametrize("outline", outlines(), ids=lambda outline: outline.key)
def test_every_view_of_an_outline_exists(outline: Outline) -> None:
    lesson = views(outline)
    refuse_missing_views(lesson)
    assert [step.path for step in lesson.steps] == [step.view for step in lesson.steps], "as Copy link writes it"


def test_a_view_that_is_not_here_is_noticed() -> None:
    wrong = Outline.model_validate(
        {"key": "slp3", "name": "A", "parts": [{"title": "One", "views": {"Beams": "/generation?tab=beams"}}]}
    )
    with pytest.raises(ContentUnusable, match="step 1 “One”: The link asks for tab “beams”"):
        refuse_missing_views(views(wrong))


def test_every_lesson_of_an_outline_is_here_and_every_lesson_stands_in_one() -> None:
    named = {slug for outline in outlines() for part in outline.parts for slug in part.lessons}
    assert named == {lesson.slug for lesson in bundled()}


def test_the_five_sources_a_book_and_a_course_have_one() -> None:
    keys = [outline.key for outline in outlines()]
    assert keys == [document.key for document in documents()] + ["slp3", "cs224n"]
    assert {outline.citation for outline in outlines()} <= set(cited())
    for outline in outlines():
        titles = [part.title for part in outline.parts]
        assert len(set(titles)) == len(titles) >= 10
        assert all(catalogue.get(slug) for part in outline.parts for slug in part.systems)


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(module, "DATA", tmp_path)
    outlines.cache_clear()
    yield tmp_path / "outlines.toml"
    outlines.cache_clear()


@pytest.mark.parametrize(
    ("key", "part", "reason"),
    [
        ("slp4", 'title = "A"', "there is no citation slp4"),
        ("slp3", 'title = "A"\nsystems = ["bort"]', "there is no system bort"),
        ("slp3", 'title = "A"\nlesson = "4-bert"', "outlines.toml: .*lesson"),
        ("slp3", 'title = ""', "is empty"),
    ],
)
def test_what_does_not_fit_is_refused(stored: Path, key: str, part: str, reason: str) -> None:
    stored.write_text(f'[[outlines]]\nkey = "{key}"\nname = "N"\n[[outlines.parts]]\n{part}\n', encoding="utf-8")
    with pytest.raises(load.BadData, match=reason):
        outlines()


@pytest.mark.parametrize(
    ("query", "key"), [("jurafsky", "slp3"), ("cs224n", "cs224n"), ("tldr-transformers slides", "source-002")]
)
def test_they_are_found(query: str, key: str) -> None:
    assert ("lessons", (("by", key),)) in [(hit.page, hit.query) for hit in find(query)]
