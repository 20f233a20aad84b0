"""Components alone in a browser, where answers come late: what is newer stands, and drawings may overlap.

Streamlit draws anew whenever data comes. While a script loads, two drawings may wait for it: then the second is drawn
before the first is ended.
"""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Frame, Page

from core.ui.component import Component
from core.ui.demos.rewrite import ROWS
from core.ui.lessons.lessons import VIEW
from core.ui.links import PRESENTATION
from core.ui.selection import FRAME
from tests.browser.conftest import MOUNT

HALL = {"on": False, "label": "Exit (Esc)", "news": "", "count": 0}
STEP = {"src": "", "lesson": "", "step": 2, "steps": 5, "presented": True, "covered": False, "cover": "", "count": 0}
WORDS = [{"text": word, "title": word, "special": False} for word in ("the", "cat", "sat")]
ALIGNED = {"source": WORDS, "target": WORDS, "lines": [[1, 1, 0.5]], "selected": 0, "count": 0}
ALIGNED |= {"label": "Generated", "accent": "#D55E00", "onAccent": "#000000"}
TOKEN = {"frame": "token", "now": [1], "show": 1, "count": 0}


def mount(page: Page, component: Component[Any], data: dict[str, Any]) -> None:
    page.evaluate(MOUNT, [*component.files, data])


def answer(page: Page, data: dict[str, Any], **new: Any) -> None:
    page.evaluate("data => window.again(data)", data | new)


def sent(page: Page) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = page.evaluate("window.sent")
    return messages


@pytest.mark.parametrize(
    ("component", "data", "key", "message"),
    [
        (PRESENTATION, HALL, "p", {"to": "hall", "count": 1}),
        (VIEW, STEP, "PageDown", {"step": 3, "count": 1}),
    ],
    ids=["present", "lesson"],
)
def test_a_drawing_that_ends_late_takes_no_key_from_the_next(
    empty: Page, component: Component[Any], data: dict[str, Any], key: str, message: dict[str, Any]
) -> None:
    mount(empty, component, data)
    empty.evaluate("data => window.overlap(data)", data)
    empty.evaluate("window.end()")  # a key between two drawings is heard, too
    empty.keyboard.press(key)
    assert sent(empty) == [message]


def test_escape_ends_a_presentation_that_has_not_come_yet(empty: Page) -> None:
    mount(empty, PRESENTATION, HALL)
    for key in ("p", "Escape"):
        empty.keyboard.press(key)
    assert sent(empty) == [{"to": "hall", "count": 1}, {"to": "page", "count": 2}]
    answer(empty, HALL, on=True, count=1)
    empty.keyboard.press("Escape")
    answer(empty, HALL, count=2)
    assert len(sent(empty)) == 2


def test_an_answer_to_an_older_click_leaves_the_newer_token_selected(empty: Page) -> None:
    mount(empty, ROWS, ALIGNED)
    chips = empty.locator(".written button")
    chips.nth(1).click()
    chips.nth(2).click()
    answer(empty, ALIGNED, selected=1, count=1)
    assert chips.nth(2).get_attribute("aria-pressed") == "true"
    answer(empty, ALIGNED, selected=0, count=2)
    assert chips.nth(0).get_attribute("aria-pressed") == "true"


@pytest.fixture
def inner(empty: Page) -> Frame:
    """A frame of the page beside the component, which notes in ``window.told`` what the component tells it."""
    mount(empty, FRAME, TOKEN)
    empty.evaluate("window.setTimeout = (send) => { window.due = send; return 1; }; window.clearTimeout = () => {}")
    empty.evaluate("document.body.append(document.createElement('iframe'))")
    inner = empty.frames[1]
    inner.evaluate("() => { window.told = []; window.onmessage = ({ data }) => window.told.push(data.show); }")
    return inner


def select(inner: Frame, token: int) -> None:
    """Select a token inside, and wait until the component knows."""
    inner.evaluate("parent.due = null")
    inner.evaluate("open => parent.postMessage({ atlas: 'token', open }, '*')", [token])
    inner.wait_for_function("parent.due !== null")


def told(inner: Frame) -> list[int]:
    """What the frame has been told to show since the last call."""
    inner.evaluate("parent.frames[0].postMessage({ show: 'mark' }, '*')")
    inner.wait_for_function("window.told.includes('mark')")
    messages: list[int] = inner.evaluate("window.told.splice(0).slice(0, -1)")
    return messages


def test_an_answer_to_an_older_selection_leaves_a_frame_at_the_newer(empty: Page, inner: Frame) -> None:
    select(inner, 3)
    empty.evaluate("window.due()")
    assert sent(empty) == [{"open": [3], "count": 1}]
    select(inner, 5)
    answer(empty, TOKEN, now=[3], show=3, count=1)  # before 5 has left
    assert told(inner) == []
    empty.evaluate("window.due()")
    assert sent(empty)[1:] == [{"open": [5], "count": 2}]
    answer(empty, TOKEN, now=[3], show=3, count=1)  # before the answer to 5
    assert told(inner) == []
    answer(empty, TOKEN, now=[7], show=7, count=2)  # selected outside since
    assert told(inner) == [7]


def test_going_back_to_a_token_is_sent_before_the_answer_to_the_one_between(empty: Page, inner: Frame) -> None:
    for token in (4, 1):  # 1 is what the page has shown all the time
        select(inner, token)
        empty.evaluate("window.due()")
    assert sent(empty) == [{"open": [4], "count": 1}, {"open": [1], "count": 2}]


def test_a_frame_is_heard_after_a_drawing_that_ends_late(empty: Page, inner: Frame) -> None:
    empty.evaluate("data => window.overlap(data)", TOKEN)
    select(inner, 2)
    empty.evaluate("window.due()")
    assert sent(empty) == [{"open": [2], "count": 1}]
