"""Finding the views of a page: what is known of its links, and what its controls write into the URL."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from inventory_items import counted, nodes, options_of, plain, value_of
from inventory_visit import ARROW, CHOICES, ROOT, Step, Visitor, query_of, take, written

_OPTIONS = 24
"""A menu with more options is tried at a few of them."""


class Finder:
    """Finds the views of a page: what is known of its links, and what its controls write into the URL."""

    def __init__(self, page: str, visitor: Visitor) -> None:
        from core import links

        self.page, self.visitor = page, visitor
        self.parameters = links.PAGES[page]
        self.views: dict[str, None] = {}
        self.steps: dict[str, None] = {}

    def find(self) -> list[str]:
        """Links first, sorted; then steps, since what they compute stays in the caches of the process."""
        from core.links.parameters import Choice

        tab = self.parameters.get("tab")
        sections = tab.allowed if isinstance(tab, Choice) else ()
        homes = [self.page, *(f"{self.page}?tab={name}" for name in sections)]
        for link in (*homes, *self._branch(sections), *self._table(), *told_links().get(self.page, ())):
            self._add(link)
        for home in homes[1:] or homes:
            self._explore(home, set(), 3)
            print(f"{home}: {len(self.views)} links, {len(self.steps)} steps", file=sys.stderr, flush=True)
        return [*sorted(self.views), *sorted(self.steps)]

    def _add(self, link: str) -> bool:
        link = f"{self.page}?{query_of(link)}".rstrip("?")
        new = link not in self.views
        self.views[link] = None
        return new

    def _branch(self, sections: Sequence[str]) -> Iterator[str]:
        """Every system and every model of a branch in every section."""
        from core import catalogue, search
        from core.catalogue.schema import BRANCHES

        if self.page not in BRANCHES:
            return
        for section in sections:
            for system in catalogue.by_branch(self.page):
                yield f"{self.page}?system={system.slug}&tab={section}"
            for spec in search.models():
                if spec.branch == self.page and spec.system and section == "demo":
                    yield f"{self.page}?system={spec.system}&model={spec.slug}&tab={section}"

    def _table(self) -> Iterator[str]:
        """Each parameter at values that it takes, and at one that it refuses, which names all that it takes."""
        from core.links.parameters import Choice, Integer, Integers, Real, Text

        yield f"{self.page}?unheard=of"
        for name, parameter in self.parameters.items():
            match parameter:
                case Choice(allowed=words):
                    values = [*words, "zzz"]
                case Integer(low=low, high=high) | Real(low=low, high=high):
                    values = [str(low), str(low + 2), str(high * 2 + 1)]
                case Integers(high=high):
                    values = ["1.2", str(high + 1)]
                case Text():
                    values = ["The dog barked."]
                case _:
                    values = ["zzz"]
            yield from (f"{self.page}?{urlencode({name: value})}" for value in values)

    def _explore(self, link: str, known: set[tuple[str, str]], depth: int) -> None:
        """Change each control of ``link`` that is not ``known`` yet; look into what shows further controls."""
        try:
            at = self.visitor.open(link)
        except Exception:
            return
        fresh = [key for key in controls(at) if like(key) not in known]
        known |= {like(key) for key in fresh}
        deeper: list[str] = []
        for kind, label, number in fresh:
            at = self.visitor.open(link)
            for option in tries(at, kind, label, number):
                step: Step = (kind, label, number, option)
                before = written(at)
                try:
                    if take(at, step):
                        break
                except Exception:
                    self.steps[f"{link}{ARROW}{json.dumps(step, ensure_ascii=False)}"] = None
                    break
                now = written(at)
                if now == before:
                    self.steps[f"{link}{ARROW}{json.dumps(step, ensure_ascii=False)}"] = None
                    continue
                new = f"{self.page}?{now}".rstrip("?")
                if self._add(new) and depth > 1 and any(like(key) not in known for key in controls(at)):
                    deeper.append(new)
                if kind == "button":
                    break
        for new in deeper:
            self._explore(new, known, depth - 1)


def controls(at: Any) -> list[tuple[str, str, int]]:
    """The controls of a page with which one can try something: type, label, which of that label."""
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    samples = 0
    for node in nodes(at._tree):
        kind, label = node.type, plain(getattr(node, "label", ""))
        if kind not in (*CHOICES, *_OTHERS) or getattr(node.proto, "disabled", False) or label in _LEFT:
            continue
        if kind == "button" and len(label.split()) > _WORDS:  # one of them is enough
            samples += 1
            if samples > 1:
                continue
        number = seen[kind, label]
        seen[kind, label] += 1
        if number < 2:
            found.append((kind, label, number))
    return found


_WORDS = 4
"""A button with more words is a sample text."""
_OTHERS = ("multiselect", "slider", "number_input", "checkbox", "toggle", "button", "text_input", "text_area")
_LEFT = ("Search the atlas", "Reset", "Show")
"""What is the same everywhere, and the row of sections, whose options are links already."""


def like(key: tuple[str, str, int]) -> tuple[str, str]:
    """The same for controls of one sort, such as those of the tokens of a text, and samples."""
    kind, label, _ = key
    return kind, "" if kind == "button" and len(label.split()) > _WORDS else counted(label)


def tries(at: Any, kind: str, label: str, number: int) -> list[str]:
    """What to set a control to, one after the other."""
    there = [node for node in nodes(at._tree) if node.type == kind and plain(getattr(node, "label", "")) == label]
    if number >= len(there):
        return []
    node = there[number]
    if kind in CHOICES or kind == "multiselect":
        options = [option for option in options_of(node) if option not in value_of(node).split(", ")]
        if len(options) > _OPTIONS:
            options = [*options[:5], options[len(options) // 2], options[-1]]
        return options[:2] if kind == "multiselect" else options
    if kind in ("number_input", "slider"):
        now = node.value
        if not isinstance(now, int | float) or isinstance(now, bool):
            return []
        bound = {name: getattr(node.proto, f"has_{name}", True) for name in ("min", "max")}
        low = node.proto.min if bound["min"] else now
        high = node.proto.max if bound["max"] else now
        step = node.proto.step or 1
        return [f"{value:g}" for value in dict.fromkeys((low, now + step)) if value != now and low <= value <= high]
    if kind in ("text_input", "text_area"):
        return ["The quick dog sat down."]
    return [""]


def told_links() -> dict[str, list[str]]:
    """Links by page that search leads to, that texts and code of the project spell out, and that tests open."""
    from core import links, search

    found: dict[str, dict[str, None]] = defaultdict(dict)
    for entry in search.entries(search.models()):
        queries = [entry.query, *(text.query for text in entry.texts if text.query)]
        for query in queries:
            found[entry.page][f"{entry.page}?{urlencode(query)}"] = None
    spelled = re.compile(rf"[/\"'(`]({'|'.join(links.PAGES)})\?([\w%=&.,+:-]+=[\w%=&.,+:-]*)")
    for path in sorted({*ROOT.glob("*.md"), *ROOT.glob("assets/**/*.md"), *ROOT.glob("assets/**/*.toml")}):
        _spelled(path, spelled, found)
    for folder in ("core", "pages", "tests", "benchmarks"):
        for path in sorted([*ROOT.glob(f"{folder}/**/*.py"), *ROOT.glob(f"{folder}/**/*.toml")]):
            _spelled(path, spelled, found)
            if folder == "tests" and path.suffix == ".py":
                for page, query in _opened(path, links.PAGES):
                    found[page][f"{page}?{urlencode(query)}"] = None
    return {page: [link for link in at_page if "dir-" not in link] for page, at_page in found.items()}


def _spelled(path: Path, spelled: re.Pattern[str], found: dict[str, dict[str, None]]) -> None:
    for page, query in spelled.findall(path.read_text(encoding="utf-8", errors="replace")):
        found[page][f"{page}?{query}".rstrip(".,:&")] = None


def _opened(path: Path, pages: Iterable[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Links that a test opens by a helper: ``opened("encoder", tab="tree")``, or one that names its page itself."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    known = set(pages)
    helpers: dict[str, str] = {}
    for made in (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name[:5] != "test_"):
        for call in (node for node in ast.walk(made) if isinstance(node, ast.Call) and node.args):
            named = call.args[0]
            if isinstance(named, ast.Constant):
                page = str(named.value).removeprefix("pages/").removesuffix(".py")
                if page in known:
                    helpers[made.name] = page
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        first = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        page = first if first in known else helpers.get(name)
        given = {key.arg: key.value.value for key in call.keywords if key.arg and isinstance(key.value, ast.Constant)}
        if page and given and all(isinstance(value, str | int) for value in given.values()):
            yield str(page), {name: str(value) for name, value in given.items()}
