"""Dragging, by pointer and by keyboard: the order in which tokens are found, and points on a circle."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Locator, Page, expect

from core.ui.component import Component
from core.ui.objectives.language_modeling import ORDER_ROW
from core.ui.objectives.points import CIRCLE
from tests.browser.conftest import MOUNT, Visitor


@pytest.fixture
def page(empty: Page) -> Page:
    empty.set_viewport_size({"width": 800, "height": 700})
    return empty


def row_data(*words: str, order: list[int], asked: int = 2) -> dict[str, Any]:
    tokens = [{"text": word, "title": f"token {i}", "mark": ""} for i, word in enumerate(words)]
    return {
        "tokens": tokens,
        "order": order,
        "asked": asked,
        "label": "Order",
        "accent": "#D55E00",
        "onAccent": "#000000",
        "count": 0,
    }


def mount(page: Page, component: Component[Any], data: dict[str, Any]) -> None:
    page.evaluate(MOUNT, [*component.files, data])


def shown(page: Page) -> list[str]:
    return page.locator(".row .chip bdi").all_text_contents()


def sent(page: Page, name: str) -> list[Any]:
    return [value[name] for value in page.evaluate("window.sent")]


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_a_token_is_moved_by_keyboard_and_put_back(page: Page) -> None:
    mount(page, ORDER_ROW, row_data("a", "b", "c", "d", order=[0, 1, 2, 3]))
    # The component waits a moment for a further move: here until the test says so, however slow the machine is.
    page.evaluate("window.setTimeout = (send) => { window.due = send; }; window.clearTimeout = () => {}")
    page.locator(".chip").first.focus()
    press(page, "ArrowRight", "Space", "ArrowRight", "End")
    assert shown(page) == ["a", "c", "d", "b"]
    expect(page.get_by_role("status")).to_have_text("b: 4 of 4")
    press(page, "Space")
    assert sent(page, "order") == []
    page.evaluate("window.due()")
    assert sent(page, "order") == [[0, 2, 3, 1]], "moves that follow each other are sent together"
    press(page, "Space", "Home")
    assert shown(page) == ["b", "a", "c", "d"]
    press(page, "Escape")
    assert shown(page) == ["a", "c", "d", "b"]
    assert page.locator(".chip.asked bdi").all_text_contents() == ["d", "b"]


def test_a_token_is_dragged(page: Page) -> None:
    mount(page, ORDER_ROW, row_data("alpha", "beta", "gamma", order=[0, 1, 2], asked=1))
    page.locator(".chip", has_text="alpha").hover()
    page.mouse.down()
    there = page.locator(".chip", has_text="gamma").bounding_box()
    assert there is not None
    page.mouse.move(there["x"] + there["width"] - 4, there["y"] + 8, steps=12)
    page.mouse.up()
    assert shown(page) == ["beta", "gamma", "alpha"]
    page.wait_for_function("window.sent.length == 1")
    assert sent(page, "order") == [[1, 2, 0]]
    # an answer to an older move changes nothing, one to this move does
    page.evaluate("data => window.again(data)", row_data("alpha", "beta", "gamma", order=[0, 1, 2], asked=1))
    assert shown(page) == ["beta", "gamma", "alpha"]
    page.evaluate(
        "data => window.again(data)", row_data("alpha", "beta", "gamma", order=[2, 1, 0], asked=1) | {"count": 1}
    )
    assert shown(page) == ["gamma", "beta", "alpha"]


def test_tokens_are_text(page: Page) -> None:
    mount(page, ORDER_ROW, row_data("<img src=x onerror=alert(1)>", "b", order=[1, 0]))
    assert page.locator("img").count() == 0
    assert shown(page) == ["b", "<img src=x onerror=alert(1)>"]


def point_data(*angles: int) -> dict[str, Any]:
    points = [
        {
            "name": f"image {i + 1}",
            "text": str(i + 1),
            "angle": angle,
            "pull": 20.0,
            "shape": "circle",
            "color": "#0072B2",
            "ink": "#ffffff",
            "lane": 0,
        }
        for i, angle in enumerate(angles)
    ]
    return {"points": points, "ties": [[0, 1]], "keys": [], "label": "Points", "title": "<b>", "count": 0}


def angle(point: Locator) -> int:
    return int(point.get_attribute("aria-valuenow") or -1)


def test_a_point_is_rotated_by_keyboard(page: Page) -> None:
    mount(page, CIRCLE, point_data(0, 90))
    first = page.get_by_role("slider", name="image 1")
    first.focus()
    press(page, "ArrowRight", "ArrowUp", "Shift+ArrowLeft", "PageDown")
    assert angle(first) == 339  # 5 + 5 - 1 - 30
    page.wait_for_function("window.sent.at(-1).angles[0] == 339")
    press(page, "Home")
    assert angle(first) == 0
    assert angle(page.get_by_role("slider", name="image 2")) == 90


def test_a_point_is_dragged_along_the_circle(page: Page) -> None:
    mount(page, CIRCLE, point_data(0, 90))
    point = page.get_by_role("slider", name="image 1")
    plane = page.locator("svg.plane").bounding_box()
    assert plane is not None
    middle = (plane["x"] + plane["width"] / 2, plane["y"] + plane["height"] / 2)
    point.hover()
    page.mouse.down()
    page.mouse.move(middle[0] - 30, middle[1] + 30, steps=10)  # down to the left of the middle: 225 degrees
    page.mouse.up()
    assert abs(angle(point) - 225) <= 1
    page.wait_for_function("window.sent.length > 0 && Math.abs(window.sent.at(-1).angles[0] - 225) <= 1")
    with page.expect_download() as saved:
        page.locator("button.svg").evaluate("button => button.click()")  # as the menu Download does
    drawing = ElementTree.fromstring(Path(saved.value.path()).read_text(encoding="utf-8"))
    space = "{http://www.w3.org/2000/svg}"
    assert saved.value.suggested_filename == "atlas-points.svg"
    assert drawing.findtext(f"{space}title") == "<b>"
    assert len(drawing.findall(f"{space}g")) == 3  # two points and the legend
    assert len(drawing.findall(f"{space}path")) == 4  # an arrow and its tip for each


def test_an_order_by_keyboard_changes_the_losses_and_the_link(visitor: Visitor) -> None:
    page = visitor.open("/objectives?objective=permutation&text=The+king+had+a+golden+ring.&k=3")
    row = page.get_by_role("group", name="Tokens in the order in which they are predicted")
    known = page.get_by_text("Predicted in this order", exact=False).first
    expect(known).to_be_visible()
    row.get_by_role("button", name=re.compile("^[^,]*king")).focus()
    press(page, "Space", "Home", "Space")
    expect(page).to_have_url(re.compile("order=1"))
    expect(known).to_contain_text("1. “ring”; 2. “the”")
    press(page, "Space", "End", "Space")  # the focus is still there
    expect(known).to_contain_text("1. “the”; 2. “king”")
    expect(page).not_to_have_url(re.compile("order="))  # as drawn
    press(page, "ArrowLeft", "Space", "Home", "End", "ArrowLeft", "Home", "Space")  # faster than the page answers
    expect(known).to_contain_text("1. “ring”; 2. “king”")
    visitor.settle()
    expect(page.get_by_role("figure", name=re.compile("^The known tokens are there from the start"))).to_be_visible()
