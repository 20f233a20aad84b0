"""A model of a known architecture needs its folder and its card alone: no module of core names a model or its kind."""

from __future__ import annotations

import ast
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core import checkpoints
from core.attention.capture import capture
from core.checkpoints import registry
from core.checkpoints.families import FAMILIES
from core.language.side_by_side import Answer, Continued, Filled, Rewritten, answer
from tests import tiny

ROOT = Path(__file__).parents[2]
CARD = """
name = "Built next door"
summary = "A model that this test has just made."
recipe = "none"
steps = 1
tokens = 1
seed = 0
licence = "Apache-2.0"
system = "{system}"
"""
TEXT = "The cat sat on the mat."


@pytest.fixture
def assets(tmp_path: Path, use_assets: Callable[[Path], None], use_checkpoints: Callable[[Path], None]) -> Path:
    """An empty folder of bundled checkpoints."""
    use_assets(tmp_path)
    use_checkpoints(tmp_path / "nowhere")
    return tmp_path / "checkpoints"


@pytest.mark.parametrize(
    ("make", "system", "streams", "answered", "branch", "demos"),
    [
        (tiny.tiny_bert, "bert", {"encoder"}, Filled, "encoder", {"masks"}),
        (tiny.tiny_gpt2, "gpt-2", {"decoder"}, Continued, "decoder", {"text"}),
        (tiny.tiny_t5, "t5", {"encoder", "decoder", "cross"}, Rewritten, "encoder-decoder", {"rewrite"}),
        (tiny.tiny_xlnet, "xlnet", {"encoder", "decoder", "query"}, Filled, "decoder", {"masks", "orders"}),
        (tiny.tiny_transformer_xl, "transformer-xl", {"decoder"}, Continued, "decoder", {"memory", "text"}),
        (tiny.tiny_longformer, "longformer", {"encoder"}, Filled, "efficient", {"window"}),
    ],
)
def test_a_folder_with_a_card_is_all_that_a_model_needs(
    assets: Path,
    make: Callable[[Path], Path],
    system: str,
    streams: set[str],
    answered: type[Answer],
    branch: str,
    demos: set[str],
) -> None:
    folder = make(assets / "next-door")
    (folder / "card.toml").write_text(CARD.format(system=system), encoding="utf-8")

    (spec,) = checkpoints.for_system(system)
    assert (spec.slug, spec.name, spec.source, spec.branch, spec.ready) == (
        "next-door",
        "Built next door",
        "bundled",
        branch,
        True,
    )
    assert spec in registry.for_branch(spec.branch)
    checkpoint = checkpoints.load("next-door")

    target = "Le chat." if spec.offers("rewrites") else None
    assert {one.kind for one in capture(checkpoint, TEXT, target=target).maps} == streams == set(spec.family.streams)
    assert isinstance(answer(checkpoint, TEXT, (5,)), answered)
    page = runpy.run_path(str(ROOT / "pages" / f"{spec.branch}.py"), run_name="page")
    assert {demo.slug for demo in page["DEMOS"] if demo.fits(spec)} == demos


def test_every_kind_of_a_bundled_model_is_a_family() -> None:
    for spec in checkpoints.available():
        family = spec.family
        assert (family.kind, FAMILIES[spec.kind]) == (spec.kind, family)
        assert all((family.samples, family.question_text, family.answers))
        assert all(spec.offers(ability) for ability in family.offers)


def _told(tree: ast.AST, slugs: set[str]) -> Iterator[tuple[int, str]]:
    """Line and text of what a module must not say: a bundled slug, or a test of a checkpoint's kind or system.

    The choice from a table that has a row for every kind is no such test.
    """
    nodes = list(ast.walk(tree))
    tables = {ast.unparse(node.target) for node in nodes if isinstance(node, ast.AnnAssign) and _has_all(node)}
    links = {id(value) for node in nodes if isinstance(node, ast.Dict) for value in _systems(node)}
    for node in nodes:
        if isinstance(node, ast.Constant) and node.value in slugs and id(node) not in links:
            yield node.lineno, str(node.value)
        if isinstance(node, ast.Attribute) and node.attr in ("is_encoder_decoder", "is_decoder"):
            yield node.lineno, ast.unparse(node)[-60:]
        tested: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            tested = [node.left, *node.comparators]
        elif isinstance(node, ast.Match):
            tested = [node.subject]
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) not in tables:
            tested = [node.slice]
        for one in tested:
            if isinstance(one, ast.Attribute) and one.attr == "kind" and ast.unparse(one.value).endswith("spec"):
                yield node.lineno, ast.unparse(node)[:60]
            if "model_type" in _read(one):
                yield node.lineno, ast.unparse(node)[:60]
            if isinstance(node, ast.Compare) and _names(node, "kind", "branch", "architecture", "side"):
                yield node.lineno, ast.unparse(node)[:60]
            constants = {other.value for other in ast.walk(one) if isinstance(other, ast.Constant)}
            if constants & (FAMILIES.keys() - {"adapters"}):
                yield node.lineno, ast.unparse(node)[:60]


def _has_all(node: ast.AnnAssign) -> bool:
    """Whether it assigns a dictionary with a value for every family."""
    keys = node.value.keys if isinstance(node.value, ast.Dict) else []
    return {key.value for key in keys if isinstance(key, ast.Constant)} == FAMILIES.keys()


def _names(test: ast.Compare, *fields: str) -> bool:
    """Whether it compares one of these fields with the name of a kind of model, or of a stack of its layers."""
    names = {stream for family in FAMILIES.values() for stream in family.streams}
    names |= {*FAMILIES, *(family.side for family in FAMILIES.values()), "efficient"} - {"adapters"}
    constants = {node.value for node in ast.walk(test) if isinstance(node, ast.Constant)}
    sides = (test.left, *test.comparators)
    return bool(constants & names) and any(isinstance(side, ast.Attribute) and side.attr in fields for side in sides)


def _read(node: ast.expr) -> set[object]:
    """The attributes that an expression reads, by name or by ``getattr``."""
    named = {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call) and ast.unparse(one.func) == "getattr"]
    return named | {one.args[1].value for one in calls if isinstance(one.args[1], ast.Constant)}


def _systems(node: ast.Dict) -> Iterator[Any]:
    """The values that a link has for a system, whose slug may be a model's, too."""
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == "system":
            yield value


def test_no_module_names_a_bundled_model_or_tests_its_kind_or_its_architecture() -> None:
    apart = ("core/checkpoints/", "core/catalogue/")
    # where a layout, a map or an example says what its kind means
    apart += ("core/costs/shape.py", "core/costs/configuration.py", "core/attention/trace.py", "core/ui/objectives/")
    # the code of an architecture itself, and what reads any configuration
    slugs = {spec.slug for spec in registry.available() if spec.source in ("bundled", "package")}
    architectures = (
        "core/anatomy/",
        "core/costs/",
        "core/attention/layers.py",
        "core/attention/disentangled.py",
        "core/run/",
        "core/sparse/",
    )
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in sorted([*(ROOT / "core").rglob("*.py"), *(ROOT / "pages").glob("*.py")])
        if not path.relative_to(ROOT).as_posix().startswith(apart)
        for line, text in _told(ast.parse(path.read_text(encoding="utf-8")), slugs)
        if not any(field in text for field in ("is_encoder_decoder", "is_decoder", "model_type", "side", "stack.kind"))
        or not path.relative_to(ROOT).as_posix().startswith(architectures)
    ]
    assert not found, "\n".join(found)
