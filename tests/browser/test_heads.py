"""bertviz's views in a real browser: they draw offline, and a token stays a token."""

from __future__ import annotations

import re

import numpy as np
from playwright.sync_api import Browser, Page, expect

from core.attention import bertviz
from core.attention.trace import AttentionMap, AttentionTrace
from tests.browser.conftest import WAIT_MS, Visitor

TOKENS = ("[CLS]", "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "&lt;", "[SEP]")


def _trace() -> AttentionTrace:
    n = len(TOKENS)
    weights = np.zeros((2, 3, n, n), dtype=np.float32)
    weights[..., 0] = 1.0
    weights[1, 2] = np.roll(np.eye(n, dtype=np.float32), -1, axis=0)
    encoder = AttentionMap("encoder", TOKENS, TOKENS, weights)
    return AttentionTrace("x", encoder=encoder, cross=AttentionMap("cross", TOKENS[:2], TOKENS, weights[:, :, :2]))


def _open(chromium: Browser, html: str) -> tuple[Page, list[str]]:
    """The page in a frame of its own, as the app shows it, and everything that went wrong or was asked for."""
    page = chromium.new_page()
    page.set_default_timeout(WAIT_MS)
    trouble: list[str] = []
    page.on("request", lambda request: None if request.url.startswith("data:") else trouble.append(request.url))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("dialog", lambda dialog: (trouble.append("dialog"), dialog.dismiss()))
    page.on("console", lambda message: trouble.append(message.text) if message.type == "error" else None)
    page.goto(bertviz.data_url(html))
    return page, trouble


def test_head_view_draws_offline_and_switches(chromium: Browser) -> None:
    page, trouble = _open(chromium, bertviz.render(_trace(), layer=1, heads=[2], kind="encoder"))
    expect(page.locator("#layer")).to_have_value("2")
    expect(page.locator("line")).to_have_count(3 * 25)
    # Head 3 of layer 2 alone is on, and each token looks at the one after it.
    seen = page.locator("line").evaluate_all("lines => lines.map((line) => +line.getAttribute('stroke-opacity'))")
    assert sum(opacity > 0 for opacity in seen) == 5
    assert seen[2 * 25 + 1] == 1
    expect(page.locator("svg text").nth(2)).to_have_text("<img src=x …")
    page.get_by_label("Attention").select_option(label="Cross")
    expect(page.locator("line")).to_have_count(3 * 10)
    page.get_by_label("Layer").select_option("1")
    expect(page.locator("line").first).to_have_attribute("stroke-opacity", re.compile("0"))
    assert page.evaluate("document.scripts.length") == 5
    assert trouble == []
    page.close()


def test_model_view_draws_offline_and_opens_a_thumbnail(chromium: Browser) -> None:
    page, trouble = _open(chromium, bertviz.render(_trace(), "model", theme="dark"))
    expect(page.locator(".attn_background")).to_have_count(6)
    page.locator(".attn_background").nth(5).click(force=True)
    expect(page.locator("text.detail")).to_have_text("Layer 2, Head 3")
    assert trouble == []
    page.close()


def test_a_frame_of_the_page_cannot_reach_its_surroundings(chromium: Browser) -> None:
    page = chromium.new_page()
    page.set_content(f'<title>outside</title><iframe src="{bertviz.data_url(bertviz.render(_trace()))}"></iframe>')
    frame = page.frame_locator("iframe")
    expect(frame.locator("line")).to_have_count(75)
    assert frame.locator("body").evaluate("() => origin") == "null"
    page.close()


def _heads(visitor: Visitor, path: str) -> Page:
    """The section with its head drawn. The first visit of a server loads torch and a model, hence the long wait."""
    page = visitor.open(path)
    expect(page.get_by_text("Where each token looks")).to_be_visible(timeout=4 * WAIT_MS)
    return page


def test_heads_of_a_live_model_from_a_link(visitor: Visitor) -> None:
    page = _heads(visitor, "/encoder?tab=heads&model=dir-tiny-bert&layer=2&head=1&view=bertviz&text=The+cat+sat")
    frame = page.frame_locator("iframe[title^='bertviz head view of layer 2, head 1']")
    expect(frame.locator("svg text", has_text="cat").first).to_be_visible()
    assert {"layer=2", "head=1", "view=bertviz"} <= set(visitor.query.split("&"))


def test_head_and_view_travel_in_the_link(visitor: Visitor) -> None:
    page = _heads(visitor, "/encoder?tab=heads&model=dir-tiny-bert&text=The+cat+sat")
    page.get_by_role("button", name="Table", exact=True).or_(page.get_by_role("radio", name="Table")).first.click()
    visitor.settle()
    expect(page).to_have_url(re.compile("view=table"))
    expect(page).to_have_url(re.compile("layer=[12]&head=[12]"))


def test_a_layer_that_is_not_there_is_named(visitor: Visitor) -> None:
    page = _heads(visitor, "/encoder?tab=heads&model=dir-tiny-bert&layer=9&text=The+cat+sat")
    expect(page.get_by_text("There is no layer 9 here: this model has 2.")).to_be_visible()
