"""Journeys: the ends of two rounds by keyboard alone, and what Back keeps."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from core.language.rounds import LENGTH, draw
from tests.browser.conftest import Visitor


def test_the_last_of_the_hidden_words_by_keyboard(traveller: Visitor) -> None:
    page = traveller.open("/objectives?tab=rounds&question=9")
    for number, question in list(enumerate(draw("masked", 0)))[8:]:
        _asked(page, number)
        box = page.get_by_label("Your guess, then Enter")
        expect(box).to_be_visible()
        if number == 8:
            box.focus()
        expect(box).to_be_focused()  # from the second question on without a hand at the pointer
        page.keyboard.type("xyzzy" if number == 8 else question.answers[0])
        page.keyboard.press("Enter")
        expect(page.get_by_text(f"Original: {question.answers[0]}")).to_be_visible()
        _on(page, number)
    expect(page.get_by_role("table", name=re.compile(r"^You 1 and Atlas BERT \d of 2 answered"))).to_be_visible()
    traveller.settle()
    page.go_back()
    expect(page).to_have_url(re.compile("question=9"))
    # Until this stands there, the buttons are those of the page before, and a click on them is lost.
    expect(page.get_by_text(f"Original: {draw('masked', 0)[LENGTH - 2].answers[0]}", exact=True)).to_be_visible()
    traveller.settle()
    page.get_by_role("button", name="New round").click()
    expect(page).to_have_url(re.compile("round=1"))
    _asked(page, 0)


def _asked(page: Page, number: int) -> None:
    expect(page.get_by_text(re.compile(rf"^{number + 1}\. [A-Z]"))).to_be_visible()


def _on(page: Page, number: int) -> None:
    if number + 1 < LENGTH:
        # Until the run is over, the button that stood under the question may still be there.
        following = page.get_by_role("button", name="Next question").and_(page.locator("[kind=primary]"))
        expect(following).to_be_focused()
        page.keyboard.press("Enter")
