"""A journey through the decoder: a step back and another token."""

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
    expect(page.get_by_text("Step 3: candidates")).to_be_visible()
    others(visitor, 3).and_(page.locator("[aria-pressed=false]")).first.click()
    expect(page.get_by_text("Step 3 was chosen by hand")).to_be_visible()
    expect(path(visitor)).to_have_count(8)
    after = path(visitor).all_inner_texts()
    assert after[:2] == before[:2]
    assert after[2] != before[2]
    expect(page).to_have_url(re.compile(r"forced=\d+\.\d+\.\d+(&|$)"))
