"""How many doors a visitor meets: pages, their sections, and the controls of each at first sight.

Run it in the folder whose ``core`` and ``app.py`` are meant::

    python scripts/doors.py                       # every section, then a table of the pages, as Markdown
    python scripts/doors.py --only catalogue    # one page
    python scripts/doors.py --most 5              # exits with 1 where a section has more

A **control** is what a visitor can set or press where a section opens: menus, boxes, sliders, switches, rows of
options, rows of tabs, buttons, closed popovers. What is in a closed popover, expander or tab is not at first sight.
What a page has anyway (section row, System, Live model, Demo, Copy link, Present, Reset, downloads, *As a table*) is no
section's own. Each demo of a branch page counts as a section, on the first live model that has it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

sys.path.insert(0, str(Path.cwd()))

_FRAME = ("Show", "Reset", "Search the atlas", "As a table", "Download", "System", "Live model", "Demo")
_CHOICES = ("selectbox", "multiselect", "radio", "button_group", "select_slider", "slider")
_CONTROLS = (*_CHOICES, "number_input", "text_input", "text_area", "toggle", "checkbox", "button", "file_uploader")


def views(only: str | None) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Page, section and query of each section."""
    from core import checkpoints
    from core.ui.section import pages

    for slug, page in pages().items():
        if only not in (None, slug):
            continue
        for section in page.sections:
            tab = {"tab": section.slug} if len(page.sections) > 1 else {}
            demos = getattr(import_module(f"pages.{slug}"), "DEMOS", ()) if section.slug == "demo" else ()
            for demo in demos:
                spec = next((s for s in checkpoints.for_branch(slug) if s.ready and demo.fits(s)), None)
                if spec is not None:
                    yield slug, f"demo {demo.slug}", {**tab, "model": spec.slug, "demo": demo.slug}
            if not demos:
                yield slug, section.slug, tab


def opened(page: str, query: dict[str, str]) -> Any:
    """The page behind a link, run to its end."""
    from streamlit.testing.v1 import AppTest

    at = AppTest.from_file(str(Path.cwd() / "app.py"), default_timeout=300)
    at.switch_page(f"pages/{page}.py")
    for name, value in query.items():
        at.query_params[name] = value
    return at.run()


def at_sight(node: Any) -> Iterator[str]:
    """The label of each control that is visible before anything is opened."""
    for child in getattr(node, "children", {}).values():
        kind, proto = child.type, getattr(child, "proto", None)
        label = str(getattr(child, "label", "") or "")
        if kind == "popover":
            label = proto.popover.label  # type: ignore[union-attr]
        if kind in (*_CONTROLS, "popover") and label not in _FRAME:
            yield label
        if kind == "tab_container":
            tabs = list(child.children.values())
            yield f"[{' | '.join(str(tab.label) for tab in tabs)}]"
            yield from at_sight(tabs[0])
        elif kind != "popover" and not (kind == "expander" and not proto.expanded):  # type: ignore[union-attr]
            yield from at_sight(child)


def count(only: str | None) -> dict[str, dict[str, list[str]]]:
    """The labels of the controls at first sight, by page and section."""
    from streamlit.components.v2 import manifest_scanner
    from streamlit.logger import set_log_level

    set_log_level("error")
    manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
    found: dict[str, dict[str, list[str]]] = {}
    for page, section, query in views(only):
        labels = list(at_sight(opened(page, query).main))
        found.setdefault(page, {})[section] = labels
        print(f"{len(labels):3}  {page}?{urlencode(query)}  {', '.join(labels)[:400]}", file=sys.stderr, flush=True)
    return found


def table(found: dict[str, dict[str, list[str]]], most: int) -> str:
    """A row for each page, and their sum."""
    counts = {page: [len(labels) for labels in sections.values()] for page, sections in found.items()}
    every = [number for numbers in counts.values() for number in numbers]
    lines = [
        f"| page | sections | controls | most in one | sections over {most} |",
        "|---|--:|--:|--:|--:|",
        *(_row(page, numbers, most) for page, numbers in counts.items()),
        _row(f"all {len(counts)}", every, most),
    ]
    return "\n".join(lines)


def _row(name: str, numbers: list[int], most: int) -> str:
    return f"| {name} | {len(numbers)} | {sum(numbers)} | {max(numbers)} | {sum(n > most for n in numbers)} |"


def main() -> int:
    """Count, print, compare with ``--most``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="PAGE", help="one page, such as attention")
    parser.add_argument("--most", type=int, metavar="N", help="fail where a section has more controls")
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ["ATLAS_HUB"] = "off"
    os.environ.pop("ATLAS_CHECKPOINT_DIR", None)
    found = count(given.only)
    print(table(found, given.most or 5))
    over = [number for sections in found.values() for labels in sections.values() if (number := len(labels))]
    return int(given.most is not None and max(over, default=0) > given.most)


if __name__ == "__main__":
    sys.exit(main())
