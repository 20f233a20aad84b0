"""axe-core on a page as it stands: what keeps somebody from reading or using it."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.browser.conftest import ROOT, STANDS

_SCRIPT = ROOT / "tests/vendor/axe-core-4.10.3/axe.min.js"
_RUN = """
async () => {
  let begun = false;
  const runs = new MutationObserver(() => { begun = true; });
  runs.observe(document.body, { subtree: true, attributeFilter: ["data-test-script-state", "data-stale"] });
  const rules = axe._audit.rules.filter(({ enabled, impact }) => enabled && ["serious", "critical"].includes(impact));
  const runOnly = rules.map(({ id }) => id);
  const options = { runOnly, resultTypes: ["violations"], iframes: false, preload: { assets: ["media"] } };
  const { violations } = await axe.run(document, options);
  runs.disconnect();
  if (begun || document.getAnimations().some(({ transitionProperty }) => transitionProperty === "opacity")) return null;
  return violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.target.flat().join(" ")}: ${node.html.slice(0, 99)}`));
}
"""
"""What axe-core finds with the rules whose findings are serious or critical; others took a third of its time.

Null if the script ran meanwhile: the page is pale then, as it was for nobody who reads it.
"""


def findings(page: Page) -> list[str]:
    """The serious and critical findings, each with its element."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(_SCRIPT.read_text(encoding="utf-8"))
    page.wait_for_function("() => !document.querySelector('[data-testid=stSidebarNavItems]:not([role=none])')")
    for _ in range(10):
        page.wait_for_function(STANDS, polling=50)  # what a run leaves behind is pale until the next has drawn it
        violations: list[str] | None = page.evaluate(_RUN)
        if violations is not None:
            return violations
    raise AssertionError("the page's script runs again and again")
