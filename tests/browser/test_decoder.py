"""The decoder's journeys: text that streams, a step back, another token, and the same view from a link."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from playwright.sync_api import Locator, expect

from tests.browser.conftest import Visitor

TINY = "dir-tiny-gpt2"
PROMPT = "Once upon a time"


def link(**query: object) -> str:
    return f"/decoder?{urlencode({'model': TINY, 'text': PROMPT, 'length': 8, **query})}"


def path(visitor: Visitor) -> Locator:
    return visitor.page.get_by_role("group", name="Generated tokens").get_by_role("button")


def others(visitor: Visitor, step: int) -> Locator:
    return visitor.page.get_by_role("group", name=f"Tokens for step {step};").get_by_role("button")


def test_another_token_at_an_earlier_step_rewrites_what_follows(visitor: Visitor) -> None:
    page = visitor.open(link())
    expect(path(visitor)).to_have_count(8)
    before = path(visitor).all_inner_texts()
    path(visitor).nth(2).click()
    expect(page.get_by_text("Step 3: what could have come here")).to_be_visible()
    others(visitor, 3).and_(page.locator("[aria-pressed=false]")).first.click()
    expect(page.get_by_text("Step 3 was chosen by hand")).to_be_visible()
    expect(path(visitor)).to_have_count(8)
    after = path(visitor).all_inner_texts()
    assert after[:2] == before[:2]
    assert after[2] != before[2]
    expect(page).to_have_url(re.compile(r"forced=\d+\.\d+\.\d+(&|$)"))

    again = visitor.context.new_page()
    again.goto(page.url)
    expect(again.get_by_text("Step 3 was chosen by hand")).to_be_visible()
    shown = again.get_by_role("group", name="Generated tokens").get_by_role("button")
    expect(shown).to_have_count(8)
    assert shown.all_inner_texts() == after


def test_sampling_settings_come_from_the_link_and_give_the_same_text(visitor: Visitor) -> None:
    wanted = {"strategy": "sample", "temperature": 1.5, "top_k": 20, "top_p": 0.9, "seed": 7}
    page = visitor.open(link(**wanted))
    expect(path(visitor)).to_have_count(8)
    expect(page.get_by_role("spinbutton", name="Seed")).to_have_value("7")
    expect(page.get_by_role("spinbutton", name="Top-k")).to_have_value("20")
    first = path(visitor).all_inner_texts()
    page.reload()
    visitor.settle()
    expect(path(visitor)).to_have_count(8)
    assert path(visitor).all_inner_texts() == first
    page.get_by_role("button", name="Throw the dice again").click()
    expect(page.get_by_role("spinbutton", name="Seed")).to_have_value("8")


def test_beam_search_shows_its_hypotheses(visitor: Visitor) -> None:
    page = visitor.open(link(strategy="beam", beams=3))
    expect(page.get_by_text("best first", exact=False).first).to_be_visible()
