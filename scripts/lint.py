"""What a linter of ours finds in the sources, beside ruff: ``python scripts/lint.py`` prints each place and its rule.

Each source is parsed once. A rule sees the path, the tree and the text of a file and yields lines with what is wrong.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from core.checkpoints import registry  # noqa: E402
from core.checkpoints.families import FAMILIES  # noqa: E402
from core.ui.glossary import meant, names_pattern  # noqa: E402

Finding = tuple[int, str]


class Source(NamedTuple):
    """A file: its path below the project, its text, its tree and every node of it (none of a style sheet)."""

    path: str
    text: str
    tree: ast.Module
    nodes: list[ast.AST]

    def methods(self, names: set[str]) -> Iterator[tuple[ast.Call, str]]:
        """Calls of an attribute of one of these names, with the name."""
        for node in self.nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names:
                yield node, node.func.attr


def source(path: str, text: str) -> Source:
    """Parse what stands in a file of this name."""
    tree = ast.parse(text if path.endswith(".py") else "")
    return Source(path, text, tree, list(ast.walk(tree)))


# --- No module names a bundled model or tests its kind or architecture: that is the families'

SAY_KINDS = (
    *("core/checkpoints/", "core/catalogue/"),
    # where a layout, a map or an example says what its kind means
    *("core/costs/shape.py", "core/costs/configuration.py", "core/attention/trace.py", "core/ui/objectives/"),
)
ARCHITECTURES = (
    *("core/anatomy/", "core/costs/", "core/run/", "core/sparse/"),
    *("core/attention/layers.py", "core/attention/disentangled.py"),
)
"""The code of an architecture itself, and what reads any configuration."""
OF_ARCHITECTURES = ("is_encoder_decoder", "is_decoder", "model_type", "side", "stack.kind")


@cache
def bundled() -> frozenset[str]:
    """Slugs of the models that come with the app."""
    return frozenset(spec.slug for spec in registry.available() if spec.source in ("bundled", "package"))


def kinds(file: Source) -> Iterator[Finding]:
    """A bundled slug, or a test of a checkpoint's kind or system. Not a choice from a table of all kinds."""
    if file.path.startswith(SAY_KINDS):
        return
    for node, text in _kinds(file):
        if not (file.path.startswith(ARCHITECTURES) and any(field in text for field in OF_ARCHITECTURES)):
            yield getattr(node, "lineno", 0), text


def _kinds(file: Source) -> Iterator[tuple[ast.AST, str]]:
    tables = {ast.unparse(node.target) for node in file.nodes if isinstance(node, ast.AnnAssign) and _has_all(node)}
    links = {id(value) for node in file.nodes if isinstance(node, ast.Dict) for value in _systems(node)}
    for node in file.nodes:
        if isinstance(node, ast.Constant) and node.value in bundled() and id(node) not in links:
            yield node, str(node.value)
        elif isinstance(node, ast.Attribute) and node.attr in ("is_encoder_decoder", "is_decoder"):
            yield node, ast.unparse(node)[-60:]
        elif isinstance(node, ast.Compare):
            if any(map(_tells_kind, (node.left, *node.comparators))) or _compares_kind(node):
                yield node, ast.unparse(node)[:60]
        elif isinstance(node, ast.Match):
            if _tells_kind(node.subject):
                yield node, ast.unparse(node)[:60]
        elif isinstance(node, ast.Subscript) and _tells_kind(node.slice) and ast.unparse(node.value) not in tables:
            yield node, ast.unparse(node)[:60]


def _tells_kind(tested: ast.AST) -> bool:
    """Whether an expression is a checkpoint's kind, its architecture, or the name of a kind."""
    parts = list(ast.walk(tested))
    read: set[object] = {part.attr for part in parts if isinstance(part, ast.Attribute)}
    calls = [part for part in parts if isinstance(part, ast.Call) and ast.unparse(part.func) == "getattr"]
    read |= {call.args[1].value for call in calls if isinstance(call.args[1], ast.Constant)}
    of_spec = isinstance(tested, ast.Attribute) and tested.attr == "kind" and ast.unparse(tested.value).endswith("spec")
    return of_spec or "model_type" in read or bool(_constants(tested) & (FAMILIES.keys() - {"adapters"}))


def _compares_kind(test: ast.Compare) -> bool:
    """Whether it compares a field with the name of a kind of model, or of a stack of its layers."""
    names: set[object] = {stream for family in FAMILIES.values() for stream in family.streams}
    names |= {*FAMILIES, *(family.side for family in FAMILIES.values()), "efficient"} - {"adapters"}
    fields = {"kind", "branch", "architecture", "side"}
    sides = (test.left, *test.comparators)
    named = any(isinstance(side, ast.Attribute) and side.attr in fields for side in sides)
    return named and bool(_constants(test) & names)


def _constants(node: ast.AST) -> set[object]:
    return {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}


def _has_all(node: ast.AnnAssign) -> bool:
    """Whether it assigns a dictionary with a value for every family."""
    keys = node.value.keys if isinstance(node.value, ast.Dict) else []
    return {key.value for key in keys if isinstance(key, ast.Constant)} == FAMILIES.keys()


def _systems(node: ast.Dict) -> Iterator[ast.expr]:
    """The values that a link has for a system, whose slug may be a model's, too."""
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == "system":
            yield value


# --- What is drawn: terms are linked, sentences stand in content files, no widget forgets its value

DRAWN = {"caption", "markdown", "info", "warning", "error", "success"}
PLAIN_NOTICES = {
    "core/ui/lessons/lessons.py": "a note, linked where the lesson is ours",
    "core/ui/links.py": "names parameters of a link and their values, as they would be typed",
    "core/ui/quiz.py": "a verdict, whose caller links what is ours in it",
    "core/ui/room.py": "above the page, which has not begun",
    "core/ui/search.py": "in the sidebar, where the page has not begun",
}


def unlinked(file: Source) -> Iterator[Finding]:
    """A notice, or a literal sentence with a term of the glossary in it, that the glossary does not see."""
    pattern, names = names_pattern()
    for call, name in file.methods(DRAWN):
        if "terms(" in ast.unparse(call):
            continue
        notice = name not in ("caption", "markdown") and ast.unparse(call.func) == f"st.{name}"
        if notice and file.path not in PLAIN_NOTICES:
            yield call.lineno, ast.unparse(call)[:60]
        said = " ".join(value for part in call.args for value in _constants(part) if isinstance(value, str))
        for match in pattern.finditer(said):
            if match.group("term") and meant(match.group("term"), names):
                yield call.lineno, match.group("term")


WORDS = 4
"""A label of as many words ends without a stop."""
_WORD = re.compile(r"(?<![\w{])[“(*]*[A-Za-z][a-z’'-]*(?=[\s.,;:?!…*)”]|$)")
_STOP = re.compile(r"[a-z})*”%](?<! al)[.?!](?:\s|$)")


def sentences(file: Source) -> Iterator[Finding]:
    """A literal that reads as a sentence.

    Left out are docstrings, what is raised, a text with a visitor's words in “…”, which never enter a content file, and
    samples: what a :class:`Text` starts from, and constants that are called so.
    """
    todo: list[ast.AST] = [file.tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Constant | ast.JoinedStr):
            text = _literal(node)
            if _STOP.search(text) and "“{" not in text and len(_WORD.findall(text)) >= WORDS:
                yield node.lineno, text[:60]
        elif not (isinstance(node, ast.Raise) or _is_docstring(node) or _is_sample(node)):
            todo.extend(ast.iter_child_nodes(node))


def _literal(node: ast.Constant | ast.JoinedStr) -> str:
    """The text, with ``{}`` for each value in it; "" for a literal that is no text."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return node.value if isinstance(node.value, str) else ""


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_sample(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign):
        return all(isinstance(to, ast.Name) and re.search("SAMPLE|SENTENCE", to.id) for to in node.targets)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Text"


VALUE_AT = {
    **dict.fromkeys(("text_input", "text_area", "toggle", "checkbox"), 1),
    **dict.fromkeys(("selectbox", "multiselect", "radio", "select_slider"), 2),
    **dict.fromkeys(("slider", "number_input"), 3),
    **dict.fromkeys(("pills", "segmented_control"), 99),
}
"""Widgets, and the place of the value among their positional arguments."""


def forgetful(file: Source) -> Iterator[Finding]:
    """A keyed widget that neither is given its value nor can send it again. The sidebar's search box starts empty."""
    for call, name in file.methods(set(VALUE_AT)):
        named = {keyword.arg for keyword in call.keywords}
        given = bool(named & {"value", "index", "default"}) or len(call.args) > VALUE_AT[name]
        if "key" in named and not given and "persist_state" not in named and file.path != "core/ui/search.py":
            yield call.lineno, ast.unparse(call)[:60]


# --- One door each

_LINK = re.compile(r"\b(?:page_link|switch_page)\([^)]*query_params", re.DOTALL)
_COLOR = re.compile(r"(?<![\w&])#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{3})\b")


def links(file: Source) -> Iterator[Finding]:
    """A link of the app made past ``links.py``, which marks one to the page where it stands, lest it be a click."""
    if file.path != "core/ui/links.py":
        yield from _lines(file, _LINK)


def colors(file: Source) -> Iterator[Finding]:
    """A color outside the theme."""
    if file.path != "core/theme.py":
        yield from _lines(file, _COLOR)


def _lines(file: Source, pattern: re.Pattern[str]) -> Iterator[Finding]:
    for match in pattern.finditer(file.text):
        yield file.text.count("\n", 0, match.start()) + 1, match.group()[:60]


DOORS = {
    **dict.fromkeys(("writer", "DictWriter", "to_csv"), "core/table.py"),
    "download_button": "core/ui/export.py",
    "dataframe": "core/ui/tables.py",
}


def doors(file: Source) -> Iterator[Finding]:
    """A writer of CSV, a download or a table to sort past the module for all of them."""
    for node in file.nodes:
        names = [node.attr] if isinstance(node, ast.Attribute) else []
        if isinstance(node, ast.ImportFrom) and node.module in ("csv", "streamlit"):
            names = [alias.name for alias in node.names]
        for name in names:
            if DOORS.get(name, file.path) != file.path:
                yield getattr(node, "lineno", 0), name


def private(file: Source) -> Iterator[Finding]:
    """A test that reaches for a private name of core."""
    imports = [node for node in file.nodes if isinstance(node, ast.ImportFrom) and str(node.module).startswith("core")]
    names = {alias.asname or alias.name: node.lineno for node in imports for alias in node.names}
    reached = [(line, name) for name, line in names.items()]
    for node in file.nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
            reached.append((node.lineno, node.attr))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("setattr") and len(node.args) > 1:
            of_core = ast.unparse(node.args[0]) in names
            reached += [(node.lineno, ast.unparse(node.args[1]).strip("'"))] * of_core
    for line, name in reached:
        if name.startswith("_") and not name.endswith("__") and name != "_from_config":  # a library's
            yield line, name


CORE = ("core/", "pages/")
UI = ("core/ui/", "pages/", "app.py")
PROSE = ("core/anatomy/", "core/attention/inside/", "core/attention/views/", "core/costs/", "core/figures/", *UI[:2])
RULES: dict[Callable[[Source], Iterator[Finding]], tuple[str, ...]] = {
    kinds: CORE,
    unlinked: UI,
    sentences: PROSE,
    forgetful: UI,
    links: (*CORE, "app.py"),
    colors: (*CORE, "assets/styles/"),
    doors: ("core/",),
    private: ("tests/",),
}
"""Each rule, and where it holds."""


def check(file: Source) -> list[str]:
    """What the rules find in one file: place, what stands there, and the rule."""
    return [
        f"{file.path}:{line}: {text} ({' '.join(str(rule.__doc__).split())})"
        for rule, places in RULES.items()
        if file.path.startswith(places)
        for line, text in rule(file)
    ]


def paths() -> list[Path]:
    """Every file that a rule holds for."""
    folders = ("core", "pages", "tests", "assets/styles")
    files = [file for folder in folders for file in sorted((ROOT / folder).rglob("*"))]
    return [ROOT / "app.py", *(file for file in files if file.suffix in (".py", ".css"))]


def read(path: Path) -> Source:
    """Parse a file."""
    return source(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    found = [line for path in paths() for line in check(read(path))]
    print("\n".join(found) or "All rules of ours are kept.")
    sys.exit(bool(found))
