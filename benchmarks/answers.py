"""How soon a page answers what was typed: from the key that sends the text to the answer, in Chromium.

The goal is 300 ms on a machine that does nothing else, for the pages on which one types a text of one's own. The
clock is the browser's: it starts when Enter goes down, and stops when the first picture or text of the answer is there;
when the page has come to rest, with formulas, tables and proportions below, stands beside it. Each text is new, so that
nothing is found in a cache; the first one, which also loads the model, is left out. What the server had the processors
for stands there, too: on a machine that does other work, it tells what the app itself needs.
"""

from __future__ import annotations

import os
import statistics
import sys
from typing import TYPE_CHECKING, Any

from _app import App, app, chromium
from _harness import goal

if TYPE_CHECKING:
    from playwright.sync_api import Page

GOAL_MS = 300
TEXTS = 5
OBJECTIVES = (
    "masked",
    "epochs",
    "whole-words",
    "spans",
    "knowledge",
    "next-sentence",
    "sentence-order",
    "three-orders",
    "word-order",
    "replaced",
    "translation",
    "distillation",
    "causal",
    "permutation",
    "sentinels",
    "denoise",
    "gaps",
    "prefix",
    "unified",
)
DRAWN = "[data-testid=stMain] :is([data-testid=stHtml], [data-testid=stPlotlyChart], [data-testid=stMarkdown])"
"""What an answer is drawn in: our own pictures, charts, and sentences."""
CASES: tuple[str, ...] = (
    *(f"/objectives?objective={objective}" for objective in OBJECTIVES),
    *(f"/tokenizers?tab={tab}" for tab in ("beside", "steps", "noise", "train")),
    *(f"/tokenizers?tab=steps&method={method}" for method in ("wordpiece", "unigram")),
    *(f"/generation?tab={tab}" for tab in ("side", "step", "beam", "draft")),
    *(f"/vectors?tab={tab}" for tab in ("word", "sum")),
    *(f"/vectors?tab=places&kind={kind}" for kind in ("relative", "rotary")),
)
"""Links. Into the first text box that holds several words is typed; where none does, into the first."""
STANDS = """
() => document.querySelector("[data-testid=stApp][data-test-script-state=notRunning]")
  && [...document.querySelectorAll("h1")].some((title) => title.checkVisibility())
"""
REST = """
(drawn) => new Promise((done) => {
  const app = document.querySelector("[data-testid=stApp]");
  const stands = () => app.dataset.testScriptState === "notRunning";
  const lines = "path[d], image";
  const strokes = (one) => [...one.querySelectorAll(lines)].map((line) => line.getAttribute("d") ?? line.href.baseVal);
  const written = () => [...document.querySelectorAll(drawn)].map((one) => one.textContent + strokes(one)).join();
  const before = written();
  let start = null, first = null, rest = null;
  const end = () => { observer.disconnect(); done({ first: first ?? rest, rest }); };
  let quiet = null;
  const look = () => {
    if (start === null) return;
    if (first === null && written() !== before) first = performance.now() - start;
    clearTimeout(quiet);
    // A component may ask for another run as soon as it is drawn.
    if (stands()) {
      if (rest === null) rest = performance.now() - start;
      quiet = setTimeout(end, 400);
    } else rest = null;
  };
  const observer = new MutationObserver(look);
  observer.observe(document.body, {
    subtree: true, childList: true, characterData: true, attributeFilter: ["data-test-script-state"],
  });
  addEventListener("keydown", (event) => {
    if (event.key === "Enter") start ??= performance.now();
  }, { capture: true });
  window.listening = true;
})
"""


def answers(page: Page, server: App, path: str) -> tuple[list[dict[str, float]], float]:
    """Milliseconds until the first answer and until rest for each new text; the server's seconds for all."""
    page.goto(server.address + path)
    page.wait_for_function(STANDS)
    boxes = page.get_by_test_id("stMain").get_by_role("textbox")
    boxes.first.wait_for()
    page.wait_for_function(STANDS)
    held = [(box, box.input_value().strip()) for box in boxes.all()]
    box, usual = next((pair for pair in held if " " in pair[1]), held[0])
    many_lines = box.evaluate("box => box.tagName") == "TEXTAREA"
    found, busy = [], 0.0
    for number in range(TEXTS + 1):
        ending = "abcdefgh"[number]
        # A word more in front, since some sections read no further than two sentences; but behind the sense of a line.
        sense, bar, sentence = usual.rpartition("|") if "|" not in usual else usual.partition("|")
        new = f"{ending * 2} {sentence.strip()}" if " " in usual else usual + ending
        box.fill(f"{sense}{bar} {new}".strip())
        page.evaluate(f"void (window.measured = ({REST})({DRAWN!r}))")
        before = server.processor_seconds()
        box.press("Control+Enter" if many_lines else "Enter")
        times: dict[str, float] = page.evaluate("window.measured")
        if number:
            found.append(times)
            busy += server.processor_seconds() - before
    assert page.get_by_test_id("stException").count() == 0, path
    return found, busy


def all_cases(wanted: list[str]) -> bool:
    """Measure every case, or those whose link contains one of ``wanted``; print one line for each."""
    good = True
    with chromium() as browser, app() as server:
        if browser is None:
            return True
        server.wait()
        for path in CASES:
            if wanted and not any(word in path for word in wanted):
                continue
            page: Any = browser.new_context(viewport={"width": 1280, "height": 720}, reduced_motion="reduce").new_page()
            page.set_default_timeout(120_000)
            found, busy = answers(page, server, path)
            rest = statistics.median(times["rest"] for times in found)
            name = f"{path} (server on the processor {busy / len(found) * 1e3:.0f} ms, at rest after {rest:.0f} ms)"
            good &= goal(name, statistics.median(times["first"] for times in found), GOAL_MS, "ms")
            sys.stdout.flush()
            page.context.close()
    return good


if __name__ == "__main__":
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"{os.cpu_count()} cores{load}")
    sys.exit(0 if all_cases(sys.argv[1:]) else 1)
