"""Lessons in the browser: arrow keys, one frame for all steps, progress; and a lesson of the visitor's own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from core.content import content
from tests.browser.conftest import LAPTOP, TELEPHONE, Visitor

WORDS = content("lessons", "lessons")


def test_arrow_keys_open_steps_but_not_while_typing(traveller: Visitor) -> None:
    page = traveller.arrive("/lessons?lesson=4-bert&step=3")
    number = page.get_by_role("spinbutton").first
    number.fill("1200")
    number.press("ArrowLeft")
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.get_by_test_id("stAlert").filter(has_text="1,200")).to_be_visible()
    expect(page).to_have_url(re.compile("step=3"))
    page.get_by_role("heading", name="A training example").click()
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("step=4"))
    frame = page.frame_locator("iframe[title='What goes in: three embeddings']")
    expect(frame.get_by_role("heading", name=content("vectors", "sum").title)).to_have_count(1)
    expect(page.locator(".view.loading")).to_have_count(0)
    expect(page.get_by_test_id("stExpandSidebarButton")).to_be_visible()
    assert '"far":4' in page.evaluate("localStorage.getItem('atlas.lessons')")


def test_a_remote_steps_a_presented_lesson_wherever_the_focus_is(traveller: Visitor) -> None:
    page = traveller.arrive("/lessons?lesson=4-bert&step=2&present=1")
    expect(page.locator(".view.loading")).to_have_count(0)
    page.locator(".view iframe").click(position={"x": 5, "y": 5})
    page.keyboard.press("PageDown")
    page.keyboard.press("PageDown")  # before the page has answered the first
    expect(page).to_have_url(re.compile("step=4"))
    expect(page.locator(".view.loading")).to_have_count(0)
    page.keyboard.press("PageUp")
    expect(page).to_have_url(re.compile("step=3"))


def top(locator: Locator) -> float:
    box = locator.bounding_box()
    assert box is not None
    return box["y"]


@pytest.mark.parametrize("size", [LAPTOP, TELEPHONE], ids=["laptop", "phone"])
def test_a_step_shows_its_verdict_beside_the_answers_and_the_next_one_begins_at_its_top(traveller, size) -> None:
    traveller.page.set_viewport_size(size)
    page = traveller.arrive("/lessons?lesson=4-bert&step=7")
    view, frame = page.locator(".view"), page.locator("iframe[title='Does sentence B follow A?']")
    expect(page.get_by_text("It opens once you have answered")).to_be_visible()
    expect(frame).to_be_hidden()
    option = page.get_by_text("She baked a cake.", exact=True)
    check = page.get_by_role("button", name="Check", exact=True)
    beside = size is LAPTOP
    heading = page.get_by_role("heading", name="Does sentence B follow A?")
    assert top(heading) < 150  # the page’s own title and sentence are not above it
    assert (top(option) > top(view) + view.bounding_box()["height"]) is not beside
    option.click()
    check.click()
    verdict = page.get_by_test_id("stAlert").filter(has_text="Not this one.")
    expect(verdict).to_be_in_viewport(ratio=1)
    expect(verdict).to_contain_text("The answer is random.")
    expect(frame).to_be_visible()
    expect(verdict).to_be_in_viewport(ratio=1)
    assert top(verdict) < top(option)
    page.get_by_role("button", name=WORDS.label("show")).click()
    answer = page.get_by_test_id("stAlert").filter(has_text="Computed just now: The rain was not rain.")
    expect(answer).to_be_in_viewport(ratio=0.5)
    if beside:  # a telephone shows where the next one begins
        return
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("heading", name="Where the parameters are")).to_be_in_viewport(ratio=1)
    inside = page.frame_locator("iframe[title='Where the parameters are']")
    expect(inside.get_by_role("heading", level=1)).to_have_count(1)
    expect(page.locator(".view.loading")).to_have_count(0)
    assert "Notice" not in inside.locator("[data-testid=stMain]").inner_text()
    page.keyboard.press("End")
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("heading", name=WORDS.label("end"))).to_be_in_viewport(ratio=1)


def test_a_lesson_ends_at_its_top_and_leads_to_the_next(traveller: Visitor) -> None:
    traveller.page.set_viewport_size(TELEPHONE)
    page = traveller.arrive("/lessons?lesson=4-bert&step=8")
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("heading", name=WORDS.label("end"))).to_be_in_viewport(ratio=1)
    expect(page.locator("iframe")).to_have_count(0)
    page.get_by_role("link", name="Next lesson: 5 · GPT").click()
    expect(page.get_by_test_id("stProgress").get_by_text("5 · GPT")).to_be_in_viewport(ratio=1)
    expect(page).to_have_url(re.compile("lesson=5-gpt$"))


def test_a_lesson_file_of_the_visitor_opens_as_data(traveller: Visitor, tmp_path: Path) -> None:
    file = tmp_path / "mine.md"
    step = '## {}\nA text\n\n+++\nview = "{}"\n+++\n'
    front = '+++\ntitle = "<b>Mine</b>"\nline = "A line."\n+++\n'
    file.write_text(front + step.format("One", "/glossary") + step.format("Two", "/catalogue"), encoding="utf-8")
    page = traveller.open("/lessons")
    page.get_by_role("button", name=WORDS.label("file")).click()
    page.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_text("<b>Mine</b> · 1 / 2")).to_be_visible()
    expect(page.frame_locator("iframe").get_by_role("heading", name="Glossary", exact=True)).to_have_count(1)
