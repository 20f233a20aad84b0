"""Every letter of every formula that a page draws is named in the words beside it, and whose it is stands there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.attention.masks.kinds import KINDS, describe
from core.content import ROOT as CONTENT
from core.content import content
from core.language.decoding.cards import PROCESSORS
from core.ui.formulas import symbols

ROOT = Path(__file__).resolve().parents[2]
GREEK = (
    "alpha|beta|gamma|Gamma|delta|Delta|epsilon|varepsilon|zeta|eta|theta|Theta|kappa|lambda|Lambda|mu|nu|xi|pi|rho|"
    "sigma|Sigma|tau|phi|Phi|chi|psi|Psi|omega|Omega|ell"
)
WORDS = re.compile(
    r"\\(?:text|mathrm|operatorname\*?|begin|end|phantom)\s*\{(?:[^{}]|\{[^{}]*\})*\}|\[(?:CLS|MASK)\]|\d+(?:pt|em)"
)
EULER = {"e"}


def letters(latex: str) -> set[str]:
    """The letters of a formula: Latin ones by themselves, Greek ones as their commands; no names of functions."""
    rest = WORDS.sub(" ", latex)
    greek = set(re.findall(rf"\\({GREEK})(?![A-Za-z])", rest))
    return greek | set(re.findall(r"[A-Za-z]", re.sub(r"\\[A-Za-z]+", " ", rest)))


def unnamed(formula: str, words: str) -> list[str]:
    """Letters of a formula that no formula within the words has."""
    named: set[str] = set()
    for inner in re.findall(r"\$([^$]+)\$", words):
        named |= letters(inner)
    return sorted(letters(formula) - named - EULER)


PARTS = {
    name: part.text
    for path in CONTENT.rglob("*.md")
    for name, part in content(path.parent.name, path.stem).parts.items()
}


def strings(node: ast.AST) -> str:
    """All literal texts, and the parts of content files that they name."""
    found = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return " ".join(found + [PARTS[text] for text in found if text in PARTS])


def drawn() -> Iterator[tuple[str, str, str]]:
    """Each function of a page that draws formulas of its own: where it is, its formulas, all that it says."""
    for path in sorted((ROOT / "core" / "ui").rglob("*.py")):
        code = path.read_text(encoding="utf-8")
        if "latex" not in code:  # to take a file apart takes long, and few draw formulas
            continue
        for function in ast.walk(ast.parse(code)):
            if not isinstance(function, ast.FunctionDef):
                continue
            calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
            formulas = [strings(c) for c in calls if isinstance(c.func, ast.Attribute) and c.func.attr == "latex"]
            if any(letters(formula) for formula in formulas):
                yield f"{path.relative_to(ROOT)}:{function.name}", " ".join(formulas), strings(function)


DRAWN = {name: (formula, words) for name, formula, words in drawn()}


def test_letters_are_found_and_words_are_not() -> None:
    assert letters(r"\mathrm{softmax}(\tfrac{Q_i}{\sqrt{d_k}}) \cdot \tilde x_\theta \text{ if } [MASK] \\[4pt]") == {
        "Q",
        "i",
        "d",
        "k",
        "x",
        "theta",
    }
    assert unnamed(r"a = b^{\tau}", "$a$ is what $b$ makes") == ["tau"]


@pytest.mark.parametrize("rule", PROCESSORS)
def test_a_logits_processor_has_a_formula_and_a_paper(rule: str) -> None:
    words = content("generation", "step")
    assert "$$" in words.part(f"Formula: {rule}")
    assert re.search(r"arXiv \d{4}\.\d{5}", words.part(f"Paper: {rule}"))


@pytest.mark.parametrize("key", KINDS)
def test_a_mask_names_its_letters_and_has_a_paper(key: str) -> None:
    words = describe(key)
    alone = re.compile(r"(?<!\w)([A-Za-z])(?!\w)")  # a letter among words, as in "the g global tokens"
    meant = " ".join(
        f"${latex}$ {' '.join(f'${letter}$' for letter in alone.findall(text))}" for latex, text in words.symbols
    )
    assert not unnamed(words.formula + words.count, f"{meant} {content('objectives', 'masks').part('Symbols')}")
    assert words.papers or words.paper


FORMULAS = [
    (path.parent.name, path.stem, name)
    for path in sorted(CONTENT.rglob("*.md"))
    for name, part in content(path.parent.name, path.stem).parts.items()
    if "$$" in part.text
]


@pytest.mark.parametrize(("page", "section", "part"), FORMULAS, ids="/".join)
def test_formulas_in_content_files_are_named_in_their_part_and_have_a_paper(page: str, section: str, part: str) -> None:
    words = content(page, section)
    text = re.sub(r"\{\{\w+\}\}", "", words.parts[part].text)
    formulas = " ".join(re.findall(r"\$\$(.+?)\$\$", text, re.DOTALL))
    assert not unnamed(formulas, re.sub(r"\$\$.+?\$\$", " ", text, flags=re.DOTALL))
    papers = " ".join(one.text for one in words.parts.values())
    assert re.search(r"arXiv[ :]\d{4}\.\d{5}|from memory|(19|20)\d\d, ", papers)


@pytest.mark.parametrize("where", DRAWN)
def test_what_a_function_draws_it_names(where: str) -> None:
    assert not unnamed(*DRAWN[where])


def test_the_functions_are_found() -> None:
    assert len(DRAWN) + len(FORMULAS) > 40
    assert ("generation", "cache", "Formula") in FORMULAS
    assert ("vectors", "word", "t-SNE: how") in FORMULAS


def test_letters_with_an_index_are_set_as_the_formula_sets_them() -> None:
    assert symbols("w_t a token, W^O and gate_proj") == r"$w_{t}$ a token, $W^{O}$ and gate\_proj"
    assert symbols("d_model the width") == r"$d_{\text{model}}$ the width"
