"""Where a section's main picture begins, and how much stands above it."""

from __future__ import annotations

from dataclasses import dataclass

from playwright.sync_api import Page

_FIRST = r"""
() => {
  const main = document.querySelector("[data-testid=stMain]");
  const every = (root, wanted) => [...root.querySelectorAll("*")].flatMap((element) => [
    ...(element.matches(wanted) ? [element] : []),
    ...(element.shadowRoot ? every(element.shadowRoot, wanted) : [])]);
  const top = main.getBoundingClientRect().top - main.scrollTop;
  const seen = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const declared = [...main.querySelectorAll(".st-key-atlas-picture")];
  const found = declared.length ? declared : every(main, ".stPlotlyChart, iframe, canvas, svg, table, [role=img]");
  const pictures = found
    .map((element) => ({ element, box: element.getBoundingClientRect() }))
    .filter(({ element, box }) => seen(element) && box.width >= 120 && box.height >= 60)
    .sort((one, other) => one.box.top - other.box.top);
  if (!pictures.length) return null;
  const y = pictures[0].box.top;
  const above = (box) => box.width > 2 && box.height > 2 && box.top + box.height / 2 < y;
  const words = [];
  const roots = [main, ...every(main, "*").map((element) => element.shadowRoot).filter(Boolean)];
  for (const root of roots) {
    const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let text; (text = texts.nextNode()); ) {
      const parent = text.parentElement;
      if (!parent || !seen(parent) || parent.closest("style, script, [data-testid=stIconMaterial]")) continue;
      if (parent.getBoundingClientRect().width < 2) continue;  // for screen readers
      if (parent.closest(".st-key-atlas-title")) continue;
      const range = document.createRange();
      range.selectNodeContents(text);
      if (above(range.getBoundingClientRect())) words.push(text.textContent);
    }
  }
  const group = "[role=radiogroup], [role=group], .stNumberInput, .stSelectbox, .stMultiSelect";
  const controls = every(main, "button, input, textarea, select, summary, [role=radio], [role=slider]").filter(
    (part) => seen(part) && above(part.getBoundingClientRect()) && !part.closest("[data-testid=stTooltipIcon]"));
  return {
    y: Math.round(y - top),
    said: words.join(" "),
    controls: new Set(controls.map((part) => part.closest(group) ?? part)).size,
  };
}
"""
"""A picture is what has the key ``atlas-picture``, else a chart, a drawing, a table or a framed page, of at least 120
by 60 pixels. A row of choices, of tokens or the parts of one widget are one control; helps are none."""


@dataclass(frozen=True)
class Picture:
    """The first picture of a page."""

    y: int
    """Its top, in pixels of the unscrolled page."""
    said: str
    """What a visitor reads above it; what stands in boxes is not read, but typed or chosen."""
    controls: int
    """Above it, links aside."""

    @property
    def words(self) -> int:
        return len([word for word in self.said.split() if any(map(str.isalnum, word))])


def first_picture(page: Page) -> Picture:
    """Wait until a picture stands on the page, and until it stays where it is."""
    before = page.wait_for_function(_FIRST, polling=50).json_value()
    while before != (now := _settled(page)):
        before = now
    return Picture(**now)


def _settled(page: Page) -> dict[str, object]:
    """The first picture after two more frames, when the script has run."""
    page.wait_for_function("() => document.querySelector('[data-testid=stApp][data-test-script-state=notRunning]')")
    page.evaluate("() => new Promise((end) => requestAnimationFrame(() => setTimeout(end, 100)))")
    return page.wait_for_function(_FIRST, polling=50).json_value()  # type: ignore[no-any-return]
