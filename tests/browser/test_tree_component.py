"""The module tree and the list of a block's steps, alone in a browser: keys, search, names as text."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from core import anatomy
from core.anatomy.node import ModuleNode
from core.attention.inside.block import wires
from core.attention.inside.steps import Step
from core.ui import tree as tree_view
from core.ui.attention import block as block_list
from tests.browser.conftest import MOUNT
from tests.unit.test_block_pictures import steps


def data_of(root: ModuleNode, selected: str = "", label: str = "a tree") -> dict[str, Any]:
    return {**tree_view.component_data(root, selected=selected, label=label)}


def mount(page: Page, data: dict[str, Any]) -> None:
    page.evaluate(MOUNT, [*tree_view.TREE.files, data])


@pytest.fixture
def page(empty: Page) -> Page:
    empty.set_viewport_size({"width": 800, "height": 700})
    return empty


def focused(page: Page) -> str:
    """The accessible name of the tree item that has the focus."""
    return str(page.evaluate("document.activeElement.shadowRoot.activeElement.getAttribute('aria-label')")).split(":")[
        0
    ]


def press(page: Page, *keys: str) -> str:
    for key in keys:
        page.keyboard.press(key)
    return focused(page)


def test_arrows_home_end_and_letters_walk(page: Page) -> None:
    mount(page, data_of(anatomy.tree("bert", "base")))
    page.get_by_role("treeitem").first.focus()
    assert press(page, "ArrowDown") == "embeddings"
    assert press(page, "ArrowRight") == "word_embeddings"
    assert press(page, "ArrowLeft") == "embeddings"
    assert press(page, "ArrowLeft", "ArrowDown") == "encoder"  # closed: the next row is the encoder
    assert press(page, "End") == "activation"
    assert press(page, "Home") == "whole network"
    assert press(page, "p") == "pooler"
    assert press(page, "Home", "ArrowUp") == "whole network"
    expect(page.get_by_role("treeitem", selected=True)).to_have_count(1)


def test_closed_layers_open_and_the_choice_is_sent_once(page: Page) -> None:
    mount(page, data_of(anatomy.tree("bert", "base")))
    # The component waits a moment for a further move: here until the test says so, however slow the machine is.
    page.evaluate("window.setTimeout = (send) => { window.due = send; }; window.clearTimeout = () => {}")
    layers = page.get_by_role("treeitem", name="0-11: 12 times BertLayer")
    expect(layers).to_have_attribute("aria-expanded", "false")
    layers.focus()
    assert press(page, "ArrowRight") == "0-11"
    expect(layers).to_have_attribute("aria-expanded", "true")
    assert press(page, "ArrowDown", "ArrowDown", "ArrowUp") == "attention"
    page.evaluate("window.due()")
    assert page.evaluate("window.sent") == [{"node": "encoder.layer.0-11.attention"}]


def test_a_choice_is_not_sent_from_a_page_that_was_left(page: Page) -> None:
    page.route("http://localhost/**", lambda route: route.fulfill(content_type="text/html", body=""))
    page.goto("http://localhost/decoder")
    mount(page, data_of(anatomy.tree("bert", "base")))
    page.get_by_role("treeitem").first.focus()
    choose = """leave => {
      const at = document.activeElement.shadowRoot.activeElement;
      at.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true, composed: true }));
      if (leave) history.pushState({}, "", "/encoder?system=bert");
      return new Promise((later) => setTimeout(() => later(window.sent), 300));
    }"""
    assert page.evaluate(choose, False) == [{"node": "embeddings"}]
    assert page.evaluate(choose, True) == [{"node": "embeddings"}]


def test_a_choice_is_not_sent_from_a_tree_that_has_gone(page: Page) -> None:
    mount(page, data_of(anatomy.tree("bert", "base")))
    page.evaluate("window.setTimeout = (send) => { window.due = send; }; window.clearTimeout = () => {}")
    page.get_by_role("treeitem").first.focus()
    page.keyboard.press("ArrowDown")
    page.evaluate("data => window.again(data)", data_of(anatomy.tree("bert", "large")))
    page.evaluate("window.due()")
    assert page.evaluate("window.sent") == []


def test_one_tab_stop_and_levels_for_screen_readers(page: Page) -> None:
    mount(page, data_of(anatomy.tree("bert", "base"), selected="encoder.layer.0-11.output"))
    assert page.locator("[role=treeitem][tabindex='0']").count() == 1
    chosen = page.get_by_role("treeitem", selected=True)
    expect(chosen).to_be_visible()  # its parents were opened
    expect(chosen).to_have_attribute("aria-level", "5")
    expect(chosen).to_have_attribute("aria-posinset", "3")
    expect(chosen).to_have_attribute("aria-setsize", "3")


def test_search_hides_marks_and_counts(page: Page) -> None:
    mount(page, data_of(anatomy.tree("bert", "base")))
    field = page.get_by_role("searchbox")
    field.fill("layernorm")
    expect(page.get_by_role("status")).to_have_text("3 of 30 modules")
    expect(page.locator("mark").first).to_have_text("LayerNorm")
    assert page.get_by_role("treeitem", name="pooler").count() == 0
    field.press("ArrowDown")
    assert focused(page) == "LayerNorm"
    field.fill("self query")  # both words, anywhere in the path
    expect(page.get_by_role("status")).to_have_text("1 of 30 modules")
    field.fill("no such thing")
    expect(page.get_by_role("status")).to_have_text("No module has this in its name")
    field.press("Escape")
    expect(page.get_by_role("status")).to_have_text("30 modules")
    expect(page.get_by_role("treeitem", name="pooler")).to_be_visible()


def test_a_new_answer_keeps_what_is_open_and_a_new_tree_starts_afresh(page: Page) -> None:
    data = data_of(anatomy.tree("bert", "base"))
    mount(page, data)
    embeddings = page.get_by_role("treeitem", name="embeddings: BertEmbeddings")
    embeddings.focus()
    press(page, "ArrowLeft")
    page.evaluate("data => window.again(data)", data)
    expect(embeddings).to_have_attribute("aria-expanded", "false")
    assert focused(page) == "embeddings"
    page.evaluate("data => window.again(data)", data_of(anatomy.tree("gpt-2"), label="another"))
    expect(page.get_by_role("treeitem", name="wte")).to_be_visible()


def test_names_are_text(page: Page) -> None:
    evil = "<img src=x onerror=window.hit=1>"
    root = ModuleNode("", evil, evil, (ModuleNode(evil, "</script><script>window.hit=1</script>", evil),))
    mount(page, data_of(root, label=evil))
    page.get_by_role("searchbox").fill("img")
    assert page.locator("img").count() == 0
    assert page.evaluate("window.hit") is None
    expect(page.locator(".name", has_text=evil).first).to_be_visible()


def test_it_fits_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 700})
    mount(
        page, data_of(anatomy.tree("bert2bert"), selected="decoder.bert.encoder.layer.0-11.crossattention.self.query")
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    expect(page.get_by_role("treeitem", selected=True).locator(".name").first).to_be_visible()


def steps_data(found: list[Step], chosen: str, count: int = 0) -> dict[str, Any]:
    data = block_list.component_data(found, wires(found), chosen=chosen, label="Steps of a block")
    return data | {"accent": "#0072B2", "count": count}


@pytest.fixture
def alone(empty: Page) -> Page:
    empty.set_viewport_size({"width": 420, "height": 700})
    return empty


def mount_steps(page: Page, data: dict[str, Any]) -> None:
    page.evaluate(MOUNT, [*block_list.STEPS.files, data])


def test_arrows_choose_and_only_the_last_is_sent(alone: Page) -> None:
    mount_steps(alone, steps_data(steps(before=True), "attention-scores"))
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
    alone.evaluate("data => window.again(data)", steps_data(steps(before=True), "attention-scores", 2))
    expect(chosen).to_contain_text("weights")
    alone.evaluate("data => window.again(data)", steps_data(steps(before=True), "attention-mix", 4))
    expect(chosen).to_contain_text("mix")
    alone.keyboard.press("End")
    expect(chosen).to_have_attribute("aria-label", re.compile("^residual, step 18 of 18"))
    alone.keyboard.press("Home")
    expect(chosen).to_have_attribute("aria-label", re.compile("^token, step 1 of 18"))
    assert alone.locator("[role=option][tabindex='0']").count() == 1


def test_lines_lead_to_the_chosen_step_and_rows_stand_where_they_are_drawn(alone: Page) -> None:
    drawn_steps = steps(before=False)
    mount_steps(alone, steps_data(drawn_steps, "attention-scores"))
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


def test_names_of_steps_are_text(alone: Page) -> None:
    evil = "<img src=x onerror=window.hit=1>"
    result = [Step("embedding", evil, "X", ("token", "width"), np.ones((1, 1), dtype=np.float32))]
    mount_steps(alone, steps_data(result, "x"))
    assert alone.locator("img").count() == 0
    assert alone.evaluate("window.hit") is None
    expect(alone.get_by_role("option")).to_contain_text(evil)
