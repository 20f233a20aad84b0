"""Tokens are data: whatever they hold, no picture of attention runs it, asks for it, or is turned round by it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from core.attention import bertviz
from core.attention.tokens import short
from core.attention.trace import AttentionMap, AttentionTrace
from core.attention.views import grid
from tests.browser.alone import open_alone

TOKENS = (
    "plain",
    "</script><script>struck=1</script>",
    "<!--<script>struck=1",
    "-->]]><script>struck=1</script>",
    "\"'><svg onload=struck=1>",
    "<img src=x onerror=struck=1>",
    "<img src=http://elsewhere.example/x.png>",
    "`${struck=1}`",
    "${struck=1}",
    '\\u003c\\"];struck=1;//',
    "a\u2028struck=1\u2029b",
    "\u202egnp.exe\u2066",
    "&lt;b&gt;&#60;",
    "%3Cscript%3E",
    "\x00\x1b[31m\ufeff",
    "javascript:struck=1",
    "__proto__",
    "<b>long</b>" * 930,  # 10 kB
)


def _map() -> AttentionMap:
    n = len(TOKENS)
    weights = np.random.default_rng(0).dirichlet(np.ones(n), (2, 2, n)).astype(np.float32)
    vectors = np.random.default_rng(1).normal(size=(2, 2, n, 4)).astype(np.float32)
    return AttentionMap("encoder", TOKENS, TOKENS, weights, second=9, queries=vectors, keys=vectors)


def _bertviz(view: bertviz.View) -> Callable[[], str]:
    return lambda: bertviz.render(AttentionTrace(TOKENS[1], encoder=_map()), view, title=TOKENS[1])


def _look(page: Page, view: str) -> list[str]:
    """Do what a visitor does with the view; the tokens as it shows them, in the order of the text."""
    if view == "model":
        page.locator(".attn_background").nth(3).click(force=True)
        return page.locator("text.detail, .detail .token").all_text_contents()[1 : 1 + len(TOKENS)]
    if view == "neuron":
        token = page.locator("#collapsed #leftText > g").nth(1)
        token.hover()
        token.locator("rect").nth(1).click()
        return page.locator("#expanded #leftText text").all_text_contents()
    if view == "head":
        page.locator("#left text").nth(5).hover()
        return page.locator("#left text").all_text_contents()
    page.locator("#all").press("Enter")
    for _ in TOKENS:
        page.locator("#one").press("ArrowDown")
    page.locator("#one").hover()
    return page.locator("#shaded bdi").all_text_contents()


@pytest.mark.parametrize(
    ("view", "render", "columns"),
    [
        ("head", _bertviz("head"), 12),
        ("model", _bertviz("model"), 10),
        ("neuron", _bertviz("neuron"), 12),
        ("grid", lambda: grid.render(_map(), title=TOKENS[1]), 60),
    ],
)
def test_hostile_tokens_are_drawn_as_text(
    bare: BrowserContext, view: str, render: Callable[[], str], columns: int
) -> None:
    html = render()
    # Nothing that ends the data, turns a line round or breaks it is in the file as such.
    assert not {"\u2028", "\u2029", "\u202e", "\u2066", "\x00", "\x1b"} & set(html)
    assert html.count("</script>") == (2 if view == "grid" else 6)
    page, trouble = open_alone(bare, html)
    shown = _look(page, view)
    assert shown == [short(token, columns) for token in TOKENS]
    assert shown[5].startswith("<img src=")
    assert shown[11].startswith("‹u+202e›")
    assert page.evaluate("typeof struck") == "undefined"
    assert page.evaluate("({}).struck === undefined && document.scripts.length") == (2 if view == "grid" else 6)
    assert page.locator("img, iframe, object, embed, link, b, [onload], [onerror]").count() == 0
    expect(page).to_have_title(TOKENS[1])
    page.wait_for_load_state("networkidle")
    assert trouble == []
    page.close()


def test_names_from_right_to_left_leave_the_picture_where_it_is(bare: BrowserContext) -> None:
    """Hebrew is drawn as it is read; the labels beside it keep their positions."""
    tokens = ("one", "שלום", "two")
    found = AttentionMap("encoder", tokens, tokens, np.full((1, 1, 3, 3), 1 / 3, np.float32))
    page, trouble = open_alone(bare, bertviz.render(AttentionTrace("x", encoder=found)))
    boxes = [page.locator("#left text").nth(i).bounding_box() for i in range(3)]
    rights = [box["x"] + box["width"] for box in boxes if box]
    assert max(rights) - min(rights) < 2
    page.close()
    page, more = open_alone(bare, grid.render(found))
    places = page.locator("#shaded bdi").evaluate_all("all => all.map((one) => one.getBoundingClientRect().left)")
    assert places == sorted(places)
    assert trouble + more == []
    page.close()
