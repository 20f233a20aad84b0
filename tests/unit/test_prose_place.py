"""A sentence that a page shows stands in its content file, where a host can change it, not in Python."""

from __future__ import annotations

import ast
import re

from core.content import content
from core.settings import ROOT

FOLDERS = ("anatomy", "attention/inside", "attention/views", "costs", "figures", "ui", "../pages")
FILES = [path for folder in FOLDERS for path in sorted((ROOT / "core" / folder).resolve().rglob("*.py"))]
WORDS = 4
"""A label of as many words ends without a stop."""
_WORD = re.compile(r"(?<![\w{])[“(*]*[A-Za-z][a-z’'-]*(?=[\s.,;:?!…*)”]|$)")
_STOP = re.compile(r"[a-z})*”%](?<! al)[.?!](?:\s|$)")


def sentences(tree: ast.AST) -> list[tuple[int, str]]:
    """Line and text of every literal that reads as a sentence.

    Left out are docstrings, what is raised, a text with a visitor's words in “…”, which never enter a content file, and
    samples: what a :class:`Text` starts from, and constants that are called so.
    """
    found, todo = [], [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Constant | ast.JoinedStr):
            text = literal(node)
            if _STOP.search(text) and "“{" not in text and len(_WORD.findall(text)) >= WORDS:
                found.append((node.lineno, text))
        elif not (isinstance(node, ast.Raise) or is_docstring(node) or is_sample(node)):
            todo.extend(ast.iter_child_nodes(node))
    return sorted(found)


def literal(node: ast.Constant | ast.JoinedStr) -> str:
    """The text, with ``{}`` for each value in it; "" for a literal that is no text."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return node.value if isinstance(node.value, str) else ""


def is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_sample(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign):
        return all(isinstance(to, ast.Name) and re.search("SAMPLE|SENTENCE", to.id) for to in node.targets)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Text"


def test_sentences_are_told_from_labels_quotations_and_samples() -> None:
    prose = 'st.caption("The first 12 of 40 are drawn.")\nst.info(f"It has {n} layers. Choose another.")'
    assert [line for line, _ in sentences(ast.parse(prose))] == [1, 2]
    rest = """
def f():
    '''A docstring is no prose of a page.'''
    raise OutOfRange("What is raised says what works.")
st.button("Run the model again")
warning(f"The link names “{typed}”, which is not here.")
SAMPLES = ("The cat sat on the mat.",)
BOX = Text(name="text", default="The cat sat on the mat.")
"""
    assert sentences(ast.parse(rest)) == []


def test_no_sentence_of_a_page_stands_in_python() -> None:
    """Each that is found moves to ``assets/content``, with the run's numbers as placeholders."""
    found = {path: sentences(ast.parse(path.read_text(encoding="utf-8"))) for path in FILES}
    assert len(found) > 150
    assert {str(path): there for path, there in found.items() if there} == {}


def test_all_that_a_visitor_waits_for_has_words() -> None:
    words = content("frame", "waiting")
    calls = re.compile(r'(?:session\.|view\.|@)(?:cached|computed|waiting)\(\s*"([^"]+)"')
    assert {
        work
        for path in (*FILES, ROOT / "core" / "session.py")
        for work in calls.findall(path.read_text(encoding="utf-8"))
    } == ({*words.front, *words.parts} - {"title"})
