"""The grid of all heads in a real browser: walked by keyboard, pointed at, and true to its numbers."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from core.attention import combine
from core.attention.trace import AttentionMap
from core.attention.views import grid
from core.theme import Name
from tests.browser.alone import open_alone

TOKENS = ("[CLS]", "the", "cat", "sat", "[SEP]", "it", "ran", "[SEP]")


def _map() -> AttentionMap:
    """Two layers of three heads: all attend to the first token, but layer 2, head 3 to the previous and the last."""
    weights = np.zeros((2, 3, 8, 8), dtype=np.float32)
    weights[..., 0] = 1.0
    weights[1, 2] = np.eye(8, k=-1) * 0.75
    weights[1, 2, :, 7] = 0.25
    weights[1, 2, 0, 0] = 0.75
    return AttentionMap("encoder", TOKENS, TOKENS, weights, second=5)


def _pixel(page: Page, row: int, column: int) -> list[int]:
    """The color in the middle of a cell of the opened map, once it is drawn."""
    page.wait_for_function("() => layout !== null")
    return page.evaluate(
        """([row, column]) => {
          const dense = window.devicePixelRatio, { side, top, cell } = layout;
          const at = [side + (column + 0.5) * cell, top + (row + 0.5) * cell].map((place) => Math.round(place * dense));
          return [...document.getElementById("one").getContext("2d").getImageData(...at, 1, 1).data].slice(0, 3);
        }""",
        [row, column],
    )


def test_walked_by_keyboard(bare: BrowserContext) -> None:
    page, trouble = open_alone(bare, grid.render(_map(), title="A <b>title</b>"))
    expect(page.get_by_role("heading", level=1)).to_have_text("A <b>title</b>")
    said = page.get_by_role("status")
    expect(said).to_contain_text("Layer 1, head 1. Largest weights: ")
    page.keyboard.press("Tab")
    for _ in range(5):  # the button, two menus and two boxes come before the picture
        page.keyboard.press("Tab")
    expect(page.locator("#all")).to_be_focused()
    for key in ("ArrowDown", "End", "ArrowRight"):
        page.keyboard.press(key)
    expect(said).to_contain_text("Layer 2, head 3.")
    expect(page.get_by_role("combobox", name="Head")).to_have_value("2")
    page.keyboard.press("Enter")
    expect(page.locator("#one")).to_be_focused()
    expect(page.get_by_role("heading", name="Layer 2, head 3")).to_be_visible()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    expect(said).to_contain_text(
        "Token 4, “\u2068sat\u2069”, attends most to “\u2068cat\u2069” 0.75, “\u2068[SEP]\u2069” 0.25."
    )
    rows = page.get_by_role("table", name="The ten keys with the largest weight").locator("tbody tr")
    expect(rows).to_have_text(["1cat 30.75", "2[SEP] 80.25"])
    page.keyboard.press("ArrowLeft")
    expect(said).to_contain_text(
        "Layer 2, head 2. Token 4, “\u2068sat\u2069”, attends most to “\u2068[CLS]\u2069” 1.00."
    )
    page.keyboard.press("Escape")
    expect(page.locator("#all")).to_be_focused()
    expect(page.locator("#row")).to_be_hidden()
    assert trouble == []
    page.close()


def test_pointed_at(bare: BrowserContext) -> None:
    page, trouble = open_alone(bare, grid.render(_map(), theme="dark"))
    box = page.evaluate("overview.boxes[5]")
    page.locator("#all").click(position={"x": box["x"] + 9, "y": box["y"] + 9})
    expect(page.get_by_role("heading", name="Layer 2, head 3")).to_be_visible()
    place = page.evaluate("layout")
    at = {"x": place["side"] + 1.5 * place["cell"], "y": place["top"] + 2.5 * place["cell"]}
    page.locator("#one").hover(position=at)
    expect(page.get_by_role("status")).to_contain_text(
        "Token 3, “\u2068cat\u2069”, attends most to “\u2068the\u2069” 0.75"
    )
    expect(page.get_by_role("status")).to_contain_text("At “\u2068the\u2069”: 0.75.")
    shaded = page.locator("#shaded bdi")
    expect(shaded).to_have_text(list(TOKENS))
    expect(shaded.nth(1)).to_have_css("background-color", "rgb(254, 232, 56)")  # the largest weight: cividis' end
    expect(shaded.nth(3)).to_have_css("background-color", "rgb(18, 22, 27)")  # zero: the page
    expect(page.locator("#shaded .bar")).to_have_count(1)
    page.get_by_role("button", name="All heads").click()
    expect(page.locator("#overview")).to_be_visible()
    assert trouble == []
    page.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_not_computed_is_not_zero(bare: BrowserContext, theme: Name) -> None:
    zeros = np.tri(8, dtype=np.float32)[None, None] * np.array([1.0] + [0.0] * 7, np.float32)
    found = AttentionMap("decoder", TOKENS, TOKENS, zeros)
    page, trouble = open_alone(bare, grid.render(found, theme=theme))
    back = {"light": [255, 255, 255], "dark": [18, 22, 27]}[theme]
    assert _pixel(page, 5, 2) == back
    assert _pixel(page, 2, 5) != back
    expect(page.get_by_text("not computed: masked or outside the attention pattern")).to_be_visible()
    expect(page.locator("#shaded .not")).to_have_count(7)  # the first token attends to itself alone
    assert trouble == []
    page.close()


def test_differences_have_a_color_for_each_sign(bare: BrowserContext) -> None:
    found = _map()
    signed = combine.difference(combine.part(found, layer=1, head=2), combine.part(found, layer=0, head=0))
    page, trouble = open_alone(bare, grid.render(signed))
    red, _, blue = _pixel(page, 3, 2)
    assert blue > red + 60  # more than before: blue
    red, _, blue = _pixel(page, 3, 0)
    assert red > blue + 60  # less: orange
    assert _pixel(page, 3, 5) == [255, 255, 255]
    expect(page.get_by_role("status")).to_contain_text("differs most at “\u2068[CLS]\u2069” ")
    expect(page.locator("#low")).to_have_text("−1.00")
    expect(page.locator("#high")).to_have_text("+1.00")
    assert trouble == []
    page.close()


def test_sixteen_bits_have_more_decimals(bare: BrowserContext) -> None:
    page, trouble = open_alone(bare, grid.render(_map(), layer=1, head=2, bits=16))
    page.locator("#one").press("ArrowDown")
    expect(page.get_by_role("status")).to_contain_text("attends most to “\u2068[CLS]\u2069” 0.7500")
    assert trouble == []
    page.close()


@pytest.mark.parametrize("shape", [(1, 3), (2, 1)])
def test_each_head_has_its_own_gaps(bare: BrowserContext, shape: tuple[int, int]) -> None:
    allowed = np.random.default_rng(0).random((*shape, 8, 8)) < 0.5
    found = AttentionMap("encoder", TOKENS, TOKENS, _map().weights, allowed=allowed)
    page, trouble = open_alone(bare, grid.render(found))
    told = page.evaluate(
        "Array.from({ length: 2 * 3 * 8 * 8 }, (_, i) => computed(Math.floor(i / 64), Math.floor((i % 64) / 8), i % 8))"
    )
    assert (np.reshape(told, (2, 3, 8, 8)) == np.broadcast_to(allowed, (2, 3, 8, 8))).all()
    assert trouble == []
    page.close()


def test_special_tokens_can_be_hidden(bare: BrowserContext) -> None:
    page, trouble = open_alone(bare, grid.render(_map(), layer=1, head=2))
    said = page.get_by_text("the remaining rows no longer sum to one")
    expect(said).to_be_hidden()
    page.get_by_label("Hide special tokens").check()
    expect(said).to_be_visible()
    expect(page.locator("#shaded bdi")).to_have_text(["the", "cat", "sat", "it", "ran"])
    expect(page.get_by_role("status")).to_contain_text("Token 2, “\u2068the\u2069”, has no weight above zero.")
    page.locator("#one").press("ArrowDown")
    expect(page.get_by_role("status")).to_contain_text(
        "Token 3, “\u2068cat\u2069”, attends most to “\u2068the\u2069” 0.75."
    )
    assert page.evaluate("[border('rows'), border('columns')]") == [0.6, 0.6]
    assert trouble == []
    page.close()


def test_one_scale_for_all_heads(bare: BrowserContext) -> None:
    page, trouble = open_alone(bare, grid.render(_map(), layer=1, head=2))
    own = _pixel(page, 3, 2)
    expect(page.locator("#high")).to_have_text("0.75")
    page.get_by_label("One scale for all heads").check()
    expect(page.locator("#high")).to_have_text("1.00")
    assert _pixel(page, 3, 2) != own
    assert trouble == []
    page.close()


def test_it_fits_a_phone(bare: BrowserContext) -> None:
    found = AttentionMap("encoder", TOKENS, TOKENS, np.repeat(np.repeat(_map().weights, 6, 0), 4, 1))
    page, trouble = open_alone(bare, grid.render(found), viewport={"width": 400, "height": 800})
    width = "document.documentElement.scrollWidth"
    assert page.evaluate(width) == 400
    assert page.evaluate("document.getElementById('all').offsetWidth <= 400 - 24")
    page.get_by_role("button", name="Open this head").click()
    expect(page.locator("#one")).to_be_visible()
    assert page.evaluate(width) == 400
    page.set_viewport_size({"width": 1440, "height": 900})
    page.wait_for_function("document.getElementById('one').offsetWidth > 300")
    assert trouble == []
    page.close()


def test_the_picture_follows_the_keys(bare: BrowserContext) -> None:
    """Twelve layers do not fit a low window; the chosen head is scrolled to, below the sentence."""
    found = AttentionMap("encoder", TOKENS, TOKENS, np.repeat(_map().weights, 6, 0))
    page, trouble = open_alone(bare, grid.render(found), viewport={"width": 800, "height": 500})
    page.locator("#all").press("PageDown")
    expect(page.get_by_role("status")).to_contain_text("Layer 12, head 1.")
    bottom = page.evaluate("by('all').getBoundingClientRect().top + overview.boxes[33].y + overview.boxes[33].height")
    assert bottom <= 500
    assert trouble == []
    page.close()
