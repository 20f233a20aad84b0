"""The list of a block's steps alone in a browser, walked by keyboard."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from core.attention.inside.block import wires
from core.attention.inside.steps import Step
from core.ui.attention import block as block_list
from tests.browser.conftest import MOUNT
from tests.unit.test_block_pictures import steps


def data_of(found: list[Step], chosen: str, count: int = 0) -> dict[str, Any]:
    data = block_list.component_data(found, wires(found), chosen=chosen, label="Steps of a block")
    return data | {"accent": "#0072B2", "count": count}


@pytest.fixture
def alone(empty: Page) -> Page:
    empty.set_viewport_size({"width": 420, "height": 700})
    return empty


def mount(page: Page, data: dict[str, Any]) -> None:
    page.evaluate(MOUNT, [*block_list.STEPS.files, data])


def test_arrows_choose_and_only_the_last_is_sent(alone: Page) -> None:
    mount(alone, data_of(steps(before=True), "attention-scores"))
    box = alone.get_by_role("listbox", name="Steps of a block")
    expect(box.get_by_role("option")).to_have_count(18)
    expect(box.get_by_role("group", name="Attention")).to_be_visible()
    chosen = box.get_by_role("option", selected=True)
    expect(chosen).to_have_attribute("aria-label", "scores, step 8 of 18, 2 by 3 by 3, from queries, keys")
    chosen.focus()
    # at once: keys pressed one by one may lie further apart on a slow machine than the page waits
    alone.evaluate(
        """keys => {
            const focused = () => {
                let at = document.activeElement;
                while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
                return at;
            };
            for (const key of keys) focused().dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
        }""",
        ["ArrowDown", "ArrowDown", "ArrowUp", "ArrowDown"],
    )
    expect(chosen).to_contain_text("weights")
    alone.wait_for_function("window.sent.length > 0")
    assert alone.evaluate("window.sent") == [{"step": "attention-weights", "count": 4}]
    # the answer to an older click passes by, a newer one counts
    alone.evaluate("data => window.again(data)", data_of(steps(before=True), "attention-scores", 2))
    expect(chosen).to_contain_text("weights")
    alone.evaluate("data => window.again(data)", data_of(steps(before=True), "attention-mix", 4))
    expect(chosen).to_contain_text("mix")
    alone.keyboard.press("End")
    expect(chosen).to_have_attribute("aria-label", re.compile("^residual, step 18 of 18"))
    alone.keyboard.press("Home")
    expect(chosen).to_have_attribute("aria-label", re.compile("^token, step 1 of 18"))
    assert alone.locator("[role=option][tabindex='0']").count() == 1


def test_lines_lead_to_the_chosen_step_and_rows_stand_where_they_are_drawn(alone: Page) -> None:
    found = steps(before=False)
    mount(alone, data_of(found, "attention-scores"))
    expect(alone.locator(".line.into")).to_have_count(2)
    expect(alone.locator(".mark.chosen")).to_have_count(1)
    assert alone.locator(".box").count() == 2
    marks, rows = alone.locator(".flow").evaluate(  # in one call: the list scrolls to the chosen step
        """flow => ["svg .mark", "[role=option]"].map((kind) => [...flow.querySelectorAll(kind)].map((one) => {
            const box = one.getBoundingClientRect();
            return box.top + box.height / 2;
        }))"""
    )
    np.testing.assert_allclose(marks, rows, atol=1.6)
    alone.get_by_role("option", name="mask, step").click()
    expect(alone.locator(".line.into")).to_have_count(0)
    alone.wait_for_function("window.sent.at(-1)?.step == 'attention-mask'")
    assert alone.evaluate("document.documentElement.scrollWidth") <= 420


def test_names_are_text(alone: Page) -> None:
    evil = "<img src=x onerror=window.hit=1>"
    found = [Step("embedding", evil, "X", ("token", "width"), np.ones((1, 1), dtype=np.float32))]
    mount(alone, data_of(found, "x"))
    assert alone.locator("img").count() == 0
    assert alone.evaluate("window.hit") is None
    expect(alone.get_by_role("option")).to_contain_text(evil)
