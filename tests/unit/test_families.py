"""A model of a known architecture needs its folder and its card alone: no module of core names a model or its kind."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

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
    assert (
        {entry.kind for entry in capture(checkpoint, TEXT, target=target).maps} == streams == set(spec.family.streams)
    )
    assert isinstance(answer(checkpoint, TEXT, (5,)), answered)
    page = runpy.run_path(str(ROOT / "pages" / f"{spec.branch}.py"), run_name="page")
    assert {demo.slug for demo in page["DEMOS"] if demo.fits(spec)} == demos


def test_every_kind_of_a_bundled_model_is_a_family() -> None:
    for spec in checkpoints.available():
        family = spec.family
        assert (family.kind, FAMILIES[spec.kind]) == (spec.kind, family)
        assert all((family.samples, family.question_text, family.answers))
        assert all(spec.offers(ability) for ability in family.offers)
