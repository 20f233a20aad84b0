"""What a visitor has, written down: every page, section, live model and deep link, with all that stands there.

Run it in the folder whose ``core`` and ``app.py`` are meant, before a change and after it::

    python scripts/inventory.py --write before.json                   # finds the views, visits them
    python scripts/inventory.py --compare before.json --write after.json   # visits the same views again
    python scripts/inventory.py --compare before.json --saved after.json   # compares two files, visits nothing

``--only PAGE`` keeps to one page, ``--jobs 2`` visits two pages at a time, ``--resume`` goes on with the pages that the
file of ``--write`` lacks, ``--list`` only finds the views. It exits with 1 where something differs.

A **view** is a link (``attention?tab=all&model=minilm``), or a link and one step for what no link carries
(``... >> ["button", "Measure", 0, ""]``: type, label, which of that label, option). Without ``--compare`` the views are
found: every section, what search, pages and tests link to, every parameter of the link table at values that it takes
and refuses, and whatever each control of a section writes into the URL, one change at a time (:class:`Finder`).

A view's **items** are lines, sorted, so that the order on a page makes no difference: ``control | label: Head | ...``.
What is drawn when it is opened (menus, tabs, boxes) counts as open. Computed figures become ``#``, so times, memory
and dates make no difference. Each page has a process of its own, so what one page has cached changes no other.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from typing import Any

Views = dict[str, list[str]]
ARROW = " >> "
_ALIKE = 0.6
"""From here on, one item became the other; below, one is gone and the other new."""
_PAIRS = 2500
_SUBJECTS = re.compile(r"control \| label: (?:System|Live model) \| .*?value: ([^|·(]+)")
"""Whom a page is about; where that is another, its items are not told one by one."""


def pages_of(only: str | None) -> list[str]:
    """The pages, each read, so that what a link to it can carry is known."""
    from core import links

    for path in Path("pages").glob("*.py"):
        import_module(f"pages.{path.stem}")
    return [page for page in sorted(links.PAGES) if only in (None, page)]


def _find(page: str) -> tuple[str, list[str]]:
    from inventory_find import Finder
    from inventory_visit import Visitor

    return page, Finder(page, Visitor()).find()


def _visit(work: tuple[str, list[str]]) -> tuple[str, Views, list[tuple[float, str]]]:
    from inventory_visit import Visitor

    page, views = work
    visitor = Visitor()
    found: Views = {}
    seconds = []
    for view in sorted(views, key=lambda view: (ARROW in view, view)):
        start = time.monotonic()
        found[view] = visitor.items(view)
        seconds.append((time.monotonic() - start, view))
    return page, found, sorted(seconds)[-5:]


def each(
    pages: Sequence[str], views: Mapping[str, Sequence[str]], jobs: int, *, visit: bool
) -> Iterator[tuple[str, Views, list[tuple[float, str]]]]:
    """The pages as they are ready: found where ``views`` lacks them, then visited, each in processes of its own."""
    import torch
    import transformers  # noqa: F401
    from streamlit.logger import set_log_level
    from streamlit.testing.v1 import AppTest  # noqa: F401

    set_log_level("error")
    torch.set_num_threads(1)
    done: SimpleQueue[Any] = SimpleQueue()
    told = {"callback": done.put, "error_callback": done.put}
    with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=1) as pool:
        for page in pages:
            what = (_visit, ((page, list(views[page])),)) if page in views else (_find, (page,))
            pool.apply_async(*what, **told)
        left = len(pages)
        while left:
            found = done.get()
            if isinstance(found, BaseException):
                raise found
            if len(found) == 2 and visit:
                pool.apply_async(_visit, (found,), **told)
                continue
            left -= 1
            yield (found[0], {view: [] for view in found[1]}, []) if len(found) == 2 else found


def read(path: Path, only: str | None = None) -> dict[str, Views]:
    pages = json.loads(path.read_text(encoding="utf-8"))["pages"]
    return {page: views for page, views in pages.items() if only in (None, page)}


def save(path: Path, pages: Mapping[str, Views]) -> None:
    found = {"counts": counts(pages), "pages": {page: dict(sorted(pages[page].items())) for page in sorted(pages)}}
    path.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def counts(pages: Mapping[str, Views]) -> dict[str, int]:
    """How many views there are, and how many different items of each kind, and in all views together."""
    views = [view for page in pages.values() for view in page]
    steps = sum(ARROW in view for view in views)
    found: dict[str, int] = {"pages": len(pages), "views": len(views), "links": len(views) - steps, "steps": steps}
    lines = [line for page in pages.values() for items in page.values() for line in items]
    for kind, number in sorted(Counter(line.partition(" | ")[0] for line in lines).items()):
        found[kind] = number
    for kind, number in sorted(Counter(line.partition(" | ")[0] for line in set(lines)).items()):
        found[f"different: {kind}"] = number
    return found


def fields(line: str) -> tuple[str, dict[str, str]]:
    """A line taken apart: its kind, and its fields by name."""
    kind, *parts = line.split(" | ")
    return kind, {name: value for name, _, value in (part.partition(": ") for part in parts)}


@cache
def alike(old: str, new: str) -> float:
    """How sure it is that ``new`` is what became of ``old``: by the fields that stayed, then by their letters."""
    before, after = fields(old)[1], fields(new)[1]
    names = before.keys() | after.keys()
    same = sum(before.get(name) == after.get(name) for name in names)
    return same / max(len(names), 1) + SequenceMatcher(None, old, new, autojunk=False).ratio()


def change(old: str, new: str) -> str:
    """What of ``old`` became otherwise in ``new``, without what stayed."""
    kind, before = fields(old)
    _, after = fields(new)
    told = []
    for name in dict.fromkeys((*before, *after)):
        was, now = before.get(name, ""), after.get(name, "")
        if was == now:
            continue
        if name == "options":
            told.append(f"options {parts(was, now, ' · ') or 'in another order'}")
        elif name in ("to", "query") and was.partition("?")[0] == now.partition("?")[0]:
            told.append(f"{name}: {was.partition('?')[0]} {parts(was.partition('?')[2], now.partition('?')[2], '&')}")
            before = {}  # whatever it is called, so that it is told once
        else:
            told.append(f"{name} “{was}” -> “{now}”")
    same = "label" in before and before["label"] == after.get("label")
    return f"{kind}{' “' + before['label'] + '”' if same else ''}: {'; '.join(told)}"


def parts(was: str, now: str, sign: str) -> str:
    """What of a list in one line is gone, and what is new; empty where only the order is another."""
    gone, new = (
        [part for part in one.split(sign) if part not in other.split(sign)] for one, other in ((was, now), (now, was))
    )
    return f"{gone} -> {new}" if gone or new else ""


def differences(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """What differs between two lists of items, each changed item once, as its change."""
    shown, now_shown = (
        [found.group(1).strip() for line in lines if (found := _SUBJECTS.match(line))] for lines in (before, after)
    )
    if shown != now_shown:
        return [f"another subject: {' with '.join(shown)} -> {' with '.join(now_shown)}"]
    gone, come = Counter(before) - Counter(after), Counter(after) - Counter(before)
    told = []
    for kind in dict.fromkeys(fields(line)[0] for line in gone):
        old, new = ([line for line in lines if fields(line)[0] == kind] for lines in (gone, come))
        if len(old) * len(new) > _PAIRS:  # another page altogether
            continue
        for near, was, now in sorted(((alike(was, now), was, now) for was in old for now in new), reverse=True):
            many = min(gone[was], come[now])
            if near >= _ALIKE and many:
                gone[was] -= many
                come[now] -= many
                told.append(change(was, now))
    return [*told, *(f"gone: {line}" for line in gone.elements()), *(f"new: {line}" for line in come.elements())]


def compare(before: Mapping[str, Views], after: Mapping[str, Views]) -> list[tuple[str, list[str]]]:
    """Each difference once, with all views that have it, whatever model and number it names there; most views first."""
    models = model_names(before)
    found: dict[str, tuple[str, list[str]]] = {}

    def add(told: str, view: str) -> None:
        alike = re.sub(r"\d[\d,.]*", "#", models.sub("MODEL", told) if models.pattern else told)
        views = found.setdefault(alike, (told, []))[1]
        if view not in views[-1:]:
            views.append(view)

    for page in sorted(before.keys() | after.keys()):
        old, new = before.get(page, {}), after.get(page, {})
        for view in sorted(old.keys() | new.keys()):
            if view not in new or view not in old:
                add("view is gone" if view in old else "view is new", view)
                continue
            lost = [line for line in new[view] if line.startswith("lost |")]
            for told in lost or dict.fromkeys(differences(old[view], new[view])):
                add(told, view)
    return sorted(found.values(), key=lambda entry: (-len(entry[1]), entry[0]))


def model_names(pages: Mapping[str, Views]) -> re.Pattern[str]:
    """Slugs and names of the live models, the longest first."""
    views = {view: items for page in pages.values() for view, items in page.items()}
    names = {slug for view in views for slug in re.findall(r"[?&]model=([\w-]+)", view)}
    chosen = re.compile(r"control \| label: Live model \| .*?value: (.+?) (?:·|\|)")
    names |= {match.group(1) for items in views.values() for line in items if (match := chosen.match(line))}
    return re.compile("|".join(re.escape(name) for name in sorted(names, key=lambda name: (-len(name), name))))


def report(found: Sequence[tuple[str, list[str]]], examples: int = 2) -> str:
    lines = []
    for told, views in found:
        named = "".join(f"\n        {view}" for view in views[:examples])
        lines.append(f"{len(views):5} {'view: ' if len(views) == 1 else 'views:'} {told}{named}")
    return "\n".join(lines)


def main() -> int:
    """Find, visit and compare, as the arguments say."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--write", type=Path, metavar="FILE", help="save what was found")
    asked.add_argument("--compare", type=Path, metavar="FILE", help="visit the views of FILE and tell what differs")
    asked.add_argument("--saved", type=Path, metavar="FILE", help="compare with this file instead of visiting")
    asked.add_argument("--only", metavar="PAGE", help="one page, such as attention")
    asked.add_argument("--jobs", type=int, default=1, metavar="N", help="pages at a time")
    asked.add_argument("--resume", action="store_true", help="go on with the pages that the file of --write lacks")
    asked.add_argument("--list", action="store_true", help="find the views and print them")
    asked.add_argument("--examples", type=int, default=2, metavar="N", help="views named with each difference")
    given = asked.parse_args()
    before = read(given.compare, given.only) if given.compare else {}
    if given.saved:
        after = read(given.saved, given.only)
    else:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        os.environ["ATLAS_HUB"] = "off"
        os.environ.pop("ATLAS_CHECKPOINT_DIR", None)
        sys.path.insert(0, str(Path.cwd()))
        after = read(given.write) if given.resume and given.write and given.write.exists() else {}
        wanted = [page for page in before or pages_of(given.only) if page not in after]
        start = time.monotonic()
        for page, found, slowest in each(wanted, before, given.jobs, visit=not given.list):
            after[page] = found
            slow = "; ".join(f"{seconds:.0f} s {view}" for seconds, view in reversed(slowest) if seconds > 5)
            print(
                f"{page}: {len(found)} views after {time.monotonic() - start:.0f} s. {slow}",
                file=sys.stderr,
                flush=True,
            )
            if given.write:
                save(given.write, after)
        if given.list:
            print("\n".join(view for page in sorted(after) for view in after[page]))
            return 0
    if not given.compare:
        print(json.dumps(counts(after), indent=1))
        return 0
    found = compare(before, after)
    print(report(found, given.examples))
    print(f"{len(found)} differences in {len({view for _, views in found for view in views})} views")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
