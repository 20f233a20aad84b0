"""The panel of facts: nothing is shown without its source, and where the sources err it says so."""

from __future__ import annotations

from html import escape

import pytest
from streamlit.testing.v1 import AppTest

from core import catalogue


def _panel(slugs: tuple[str, ...]) -> None:
    """Runs inside the app."""
    from core.ui.facts import facts_panel

    for slug in slugs:
        facts_panel(slug)


def shown(*slugs: str) -> str:
    at = AppTest.from_function(_panel, kwargs={"slugs": slugs}, default_timeout=120).run()
    assert not at.exception
    parts = [str(element.value) for element in (*at.markdown, *at.subheader, *at.caption)]
    return " ".join(parts + [element.proto.body for element in at.get("html")])


# Others link to their parent's page, which needs the page table; the branch pages' tests open those.
ROOTED = [system.slug for system in catalogue.systems() if system.parent == "transformer"]


@pytest.mark.parametrize("slug", ROOTED)
def test_every_figure_stands_there_with_its_source(slug: str) -> None:
    page, system = shown(slug), catalogue.get(slug)
    for fact in system.facts:
        assert escape(fact.label) in page
        assert escape(fact.value) in page
        assert escape(system.citation(fact.source).evidence) in page
    for correction in system.corrections:
        assert escape(correction.finding) in page
    for citation in system.citations:
        assert citation.url is None or citation.url in page
    if system.sizes:
        assert escape(system.default_size.published_as) in page


def test_counts_stand_beside_the_published_figures() -> None:
    page = shown("bert", "m2m-100")
    assert "109,482,240" in page
    assert "-0.5%" in page  # 109,482,240 against 110 million
    assert "+15.8%" in page  # M2M-100's 418M, which counts 483.9 million


def test_a_count_of_other_parts_is_not_compared() -> None:
    from core.ui.facts import _difference

    size = catalogue.get("deberta").default_size
    assert _difference(size, 138_601_728) == "counts other parts"
    assert _difference(catalogue.get("bert").default_size, None) == ""


def test_what_was_not_read_is_named_as_left_out() -> None:
    assert "Left out because no text on it was read: training budget." in shown("m2m-100")
