"""Every section by keyboard: Tab reaches each control once, shows where it is, and leads out again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from core.ui.section import pages
from tests.browser.conftest import LAPTOP, WAIT_MS, Tab, new_tab, running_app, visiting

SECTIONS = [(page.slug, section.slug) for page in pages().values() for section in page.sections]
_MOST = 4_000
"""Steps after which somebody would have given up."""
BEGIN = """
() => {
  const SIGNS = ["outline", "boxShadow", "borderColor", "backgroundColor", "textDecoration", "stroke", "strokeWidth"];
  const within = (element) => ["IFRAME", "CANVAS"].includes(element.tagName);
  const deep = () => {
    let at = document.activeElement;
    while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
    return at;
  };
  const look = (element) => {
    const near = [...element.querySelectorAll("*")].slice(0, 12);
    for (let at = element; at && near.length < 18; at = at.parentElement ?? at.getRootNode().host) near.push(at);
    return near.map((at) => {
      const style = getComputedStyle(at);
      return SIGNS.map((name) => style[name]).join();
    }).join("|");
  };
  const named = (element) =>
    `${element.tagName} ${element.getAttribute("aria-label") ?? element.textContent.trim().slice(0, 40)}`;
  const every = (root) =>
    [...root.querySelectorAll("*")].flatMap((at) => [at, ...(at.shadowRoot ? every(at.shadowRoot) : [])]);
  window.walk = { reached: new Set(), before: null, blind: [], stuck: null };
  window.step = () => {
    const walk = window.walk, at = deep();
    if (walk.before && walk.before.element.isConnected && walk.before.element !== at
        && look(walk.before.element) === walk.before.look && !within(walk.before.element))
      walk.blind.push(named(walk.before.element));
    // Tab goes on inside a frame and from cell to cell of a table; what does not let go is missed at the end
    if (at === walk.before?.element && !within(at)) walk.stuck = named(at);
    walk.first ??= at;
    const again = at === walk.first && walk.reached.size > 1;
    walk.before = { element: at, look: look(at) };
    walk.reached.add(at);
    return at === document.body || again || Boolean(walk.stuck);
  };
  window.missed = () => every(document.querySelector("[data-testid=stMain]"))
    .filter((at) => at.matches("button, a[href], input, select, textarea, summary, [tabindex='0']")
      && !at.disabled && at.tabIndex >= 0 && at.checkVisibility({ visibilityProperty: true })
      && at.getBoundingClientRect().width > 1
      && !at.closest("[role=radiogroup], [role=tablist], [inert], [aria-hidden=true]"))
    .filter((at) => !window.walk.reached.has(at)).map(named);
}
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("keyboard")
    with running_app(folder, folder) as running:
        yield running


@pytest.fixture(scope="module")
def keys(chromium: Browser, address: str) -> Iterator[Tab]:
    context = chromium.new_context(viewport=LAPTOP, reduced_motion="reduce")
    context.set_default_timeout(WAIT_MS)
    with new_tab(context) as tab:
        tab.page.goto(address)  # the first page of a server is drawn twice
        tab.page.get_by_role("heading", level=1).wait_for()
        yield tab
    context.close()


@pytest.mark.parametrize(("name", "section"), SECTIONS)
def test_tab_walks_through_a_section(keys: Tab, address: str, name: str, section: str) -> None:
    path = "/" if name == "home" else f"/{name}"
    with visiting(keys, address) as person:
        page = person.open(f"{path}?tab={section}" if len(pages()[name].sections) > 1 else path)
        person.settle()
        page.evaluate("() => document.activeElement?.blur()")
        page.evaluate(BEGIN)
        page.mouse.click(1, 1)
        for _ in range(_MOST):
            page.keyboard.press("Tab")
            if page.evaluate("() => window.step()"):
                break
        walk = page.evaluate("() => ({ blind: window.walk.blind, stuck: window.walk.stuck, missed: window.missed() })")
        assert walk == {"blind": [], "stuck": None, "missed": []}
