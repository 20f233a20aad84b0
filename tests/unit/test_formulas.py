"""What is written about the code: formulas with their letters and papers, links, names and sizes that are true."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from core import studies
from core.attention.masks.kinds import KINDS, describe
from core.content import ROOT as CONTENT
from core.content import content
from core.language.decoding.cards import PROCESSORS
from core.settings import Settings, accepted
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
    symbols = WORDS.sub(" ", latex)
    greek = set(re.findall(rf"\\({GREEK})(?![A-Za-z])", symbols))
    return greek | set(re.findall(r"[A-Za-z]", re.sub(r"\\[A-Za-z]+", " ", symbols)))


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
    values = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return " ".join(values + [PARTS[text] for text in values if text in PARTS])


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
    assert "$$" in words.part(f"How it works: {rule}")
    assert re.search(r"arXiv \d{4}\.\d{5}", words.part(f"Paper: {rule}"))


@pytest.mark.parametrize("key", KINDS)
def test_a_mask_names_its_letters_and_has_a_paper(key: str) -> None:
    words = describe(key)
    alone = re.compile(r"(?<!\w)([A-Za-z])(?!\w)")  # a letter among words, as in "the g global tokens"
    meant = " ".join(
        f"${latex}$ {' '.join(f'${letter}$' for letter in alone.findall(text))}" for latex, text in words.symbols
    )
    assert not unnamed(words.formula, f"{meant} {content('objectives', 'masks').part('Symbols')}")
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
    papers = " ".join(entry.text for entry in words.parts.values())
    if page == "experiments" and section in studies.names():  # a study names the paper of its claim
        papers += studies.get(section).source
    assert re.search(r"arXiv[ :]\d{4}\.\d{5}|from memory|(19|20)\d\d, ", papers)


@pytest.mark.parametrize("where", DRAWN)
def test_what_a_function_draws_it_names(where: str) -> None:
    assert not unnamed(*DRAWN[where])


def test_the_functions_are_found() -> None:
    assert len(DRAWN) + len(FORMULAS) > 40
    assert ("generation", "cache", "How it works") in FORMULAS
    assert ("vectors", "word", "t-SNE: how") in FORMULAS


def test_letters_with_an_index_are_set_as_the_formula_sets_them() -> None:
    assert symbols("w_t a token, W^O and gate_proj") == r"$w_{t}$ a token, $W^{O}$ and gate\_proj"
    assert symbols("d_model the width") == r"$d_{\text{model}}$ the width"


ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
HOSTING = (ROOT / "docs" / "hosting.md").read_text()
CHECKPOINTS = ROOT / "assets" / "checkpoints"
MB = 10**6


def allotted() -> dict[str, float]:
    """Megabytes of weights by checkpoint, from the table of docs/weights.md."""
    table = (ROOT / "docs" / "weights.md").read_text()
    rows = re.findall(r"^\| `?([\w.-]+)`? \|.*\| ([\d.]+) \|$", table, re.MULTILINE)
    return {name: float(size) for name, size in rows}


def test_the_weights_share_170_megabytes() -> None:
    assert sum(allotted().values()) == pytest.approx(170)
    assert max(size for name, size in allotted().items() if name not in ("free", "atlas-m2m-100")) <= 12  # two models


def test_every_bundled_checkpoint_keeps_within_its_share() -> None:
    folders = [folder for folder in CHECKPOINTS.iterdir() if folder.is_dir()] if CHECKPOINTS.is_dir() else []
    sizes = {folder.name: sum(f.stat().st_size for f in folder.rglob("*.safetensors")) for folder in folders}
    assert sizes.keys() <= allotted().keys()
    assert {name: size / MB for name, size in sizes.items() if size > allotted()[name] * MB} == {}


def test_every_difference_has_8_and_a_half_megabytes_at_most() -> None:
    assert [path for path in CHECKPOINTS.rglob("difference.safetensors") if path.stat().st_size > 8.5 * MB] == []


@pytest.mark.parametrize(
    "path", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda path: path.name
)
def test_links_and_pictures_lead_somewhere(path: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", path.read_text())
    for file, _, heading in (target.partition("#") for target in targets if "://" not in target):
        there = path.parent / file
        assert there.is_file(), file
        headings = re.findall(r"^#+ (.*)$", there.read_text(), re.MULTILINE) if heading else []
        assert not heading or heading in [title.lower().replace(" ", "-") for title in headings]


def test_pictures_of_the_docs_are_small() -> None:
    pictures = list((ROOT / "docs" / "pictures").iterdir())
    assert pictures
    assert max(picture.stat().st_size for picture in pictures) < 150_000


@pytest.mark.parametrize("text", [README, CONTRIBUTING], ids=["README", "CONTRIBUTING"])
def test_named_files_exist(text: str) -> None:
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    named = set(re.findall(r"`((?:core|tests|assets|scripts|benchmarks|pages)/[\w./-]+)`", prose))
    named |= set(re.findall(r"!\[[^]]*\]\(([^)]+)\)", prose))
    named |= {word for word in re.findall(r"^    ([\w./]+)  +\w", prose, re.MULTILINE) if "/" in word or "." in word}
    assert named
    assert sorted(name for name in named if not (ROOT / name).exists()) == []


def test_hosting_lists_every_setting_with_its_default() -> None:
    cells = re.findall(r"^\| `(ATLAS_\w+)` \|([^|]*)\|([^|]*)\|", HOSTING, re.MULTILINE)
    rows = {name: default for name, default, _ in cells}
    fields = {f"ATLAS_{name.upper()}": field.default for name, field in Settings.model_fields.items()}
    assert rows.keys() == fields.keys()
    for name, default in fields.items():
        assert default is None or rows[name].strip("` ") == str(default)
    for name, _, takes in cells:
        match = re.search(r"(\S+) to (\S+)$", accepted(name.removeprefix("ATLAS_").lower()))
        assert match is None or takes.strip() == match[0]


def test_names_in_the_readmes_example_exist() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom):
            assert node.module is not None
            module = importlib.import_module(node.module)
            for alias in node.names:
                if not hasattr(module, alias.name):
                    importlib.import_module(f"{node.module}.{alias.name}")
