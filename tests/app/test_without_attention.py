"""What pages say where there is nothing to draw: a model without attention, a system without an architecture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from core import catalogue
from core.ui.section import pages
from tests.pages import opened, shown
from tests.words import words

INSTEAD = "no attention matrix: Mamba carries a state"


@pytest.fixture(scope="module")
def mamba(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests import tiny

    root = tmp_path_factory.mktemp("without")
    tiny.tiny_mamba(root / "tiny-mamba")
    return root


@pytest.mark.parametrize(
    "section", [one.slug for one in pages()["attention"].sections if one.slug not in ("every", "beside", "grammar")]
)
def test_every_view_of_heads_says_what_mamba_has_instead(
    section: str, mamba: Path, use_checkpoints: Callable[[Path], None]
) -> None:
    use_checkpoints(mamba)
    assert INSTEAD in shown(opened("attention", model="dir-tiny-mamba", tab=section))


def test_the_branch_page_writes_with_mamba_and_says_that_it_has_no_heads(
    mamba: Path, use_checkpoints: Callable[[Path], None]
) -> None:
    use_checkpoints(mamba)
    at = opened("efficient", system="mamba", model="dir-tiny-mamba")
    assert not at.warning
    assert "tokens, each with its probability" in shown(at)
    assert INSTEAD in shown(opened("efficient", system="mamba", model="dir-tiny-mamba", tab="heads"))


@pytest.mark.parametrize("query", [{}, {"size": "</script>", "node": "h.0", "drawing": "sunburst"}])
def test_in_place_of_gpt_4s_tree_stands_a_sentence(query: dict[str, str]) -> None:
    at = opened("decoder", system="gpt-4", tab="tree", **query)
    said = words(at.info[0].value)
    assert catalogue.get("gpt-4").undisclosed in said
    assert not at.get("iframe")
    assert not at.error
    links = [element.proto for element in at.get("page_link")]
    assert any("known tree: GPT-3" in link.label.replace("\\", "") for link in links)


def test_gpt_4s_facts_say_why_there_are_no_sizes_and_mark_the_rumor() -> None:
    at = opened("decoder", system="gpt-4", tab="facts")
    tables = " ".join(element.proto.body for element in at.get("html"))
    assert "1.8 trillion (rumor)" in tables
    assert "gives no further details" in shown(at)
    assert "Counted by building" not in shown(at)


def test_mambas_tree_is_described_without_attention() -> None:
    said = shown(opened("efficient", system="mamba", tab="tree"))
    assert "there is no attention and no feed-forward block; the mixers have 70.1% of all" in said


def test_a_link_to_the_wrong_page_leads_to_the_right_one() -> None:
    at = opened("decoder", system="mamba", tab="facts")
    assert "“System” cannot be “mamba”" in shown(at)
    link = next(element.proto for element in at.get("page_link") if element.proto.page == "efficient")
    assert link.label == "Mamba is on the page Efficient"
    assert not [
        one for one in opened("decoder", system="x", tab="facts").get("page_link") if "stands" in one.proto.label
    ]
