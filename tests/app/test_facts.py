"""Facts, sources and licences: nothing is shown without its source, and a link opens one of them."""

from __future__ import annotations

import re
from html import escape
from unittest.mock import patch

import pytest
from streamlit.testing.v1 import AppTest

from core import catalogue
from core.catalogue.corrections import corrections
from core.catalogue.schema import System
from core.words import first_sentence
from tests.pages import html_of, opened, widget
from tests.pages import shown as said


def _panel(slugs: tuple[str, ...]) -> None:
    """Runs inside the app."""
    from core import catalogue
    from core.ui.facts import change, facts_panel

    for slug in slugs:
        change(catalogue.get(slug))
        facts_panel(slug)


def shown(*slugs: str) -> str:
    with patch("streamlit.page_link"):  # it needs the page table; the branch pages' tests open parents' pages
        at = AppTest.from_function(_panel, kwargs={"slugs": slugs}, default_timeout=120).run()
    parts = [str(element.value) for element in (*at.markdown, *at.subheader, *at.caption)]
    return " ".join(parts + [element.proto.body for element in at.get("html")]).replace("\\", "")


def traits(system: System) -> tuple[bool, ...]:
    """What makes the panel of one system another than that of the next."""
    addresses = (bool(citation.url) for citation in system.citations)
    return bool(system.sizes), bool(system.corrections), bool(system.undisclosed), all(addresses), bool(system.live)


@pytest.mark.parametrize("slug", {traits(system): system.slug for system in catalogue.systems()}.values())
def test_every_figure_stands_there_with_its_source(slug: str) -> None:
    page, system = shown(slug), catalogue.get(slug)
    linkless = re.sub(r"<a [^>]*>|</a>", "", page)  # terms are links to the glossary
    for fact in system.facts:
        assert escape(fact.label) in linkless
        assert escape(fact.value) in linkless
        assert escape(system.citation(fact.source).evidence) in page
    for correction in system.corrections:
        assert escape(correction.finding) in linkless
    for citation in system.citations:
        assert citation.url is None or citation.url in page
    for _, statement in system.statements():
        assert statement.sources == ("words",) or escape(statement.text) in linkless
    if system.sizes:
        assert escape(system.default_size.published_as) in page


def test_counts_stand_beside_the_published_figures() -> None:
    page = shown("bert", "m2m-100")
    assert "109,482,240" in page
    assert "-0.5%" in page  # 109,482,240 against 110 million
    assert "+15.8%" in page  # M2M-100's 418M, which counts 483.9 million


def test_a_count_of_other_parts_is_not_compared() -> None:
    from core.ui.facts import size_difference

    size = catalogue.get("deberta").default_size
    assert size_difference(size, 138_601_728) == "not comparable"
    assert size_difference(catalogue.get("bert").default_size, None) == ""


def test_a_live_model_that_is_missing_is_named() -> None:
    assert "not part of this installation" not in shown("gpt-2")
    with patch("core.checkpoints.available", return_value=()):
        assert "The model atlas-gpt-2, which this page would run for this system" in shown("gpt-2")


def test_what_was_not_read_is_named_as_left_out() -> None:
    assert "not listed, because no source on them was read: training budget, batch size." in shown("ernie-2.0")


def test_a_root_changed_nothing_and_its_children_link_to_it() -> None:
    assert "What it changed in the Transformer of 2017" in shown("bart")
    assert "What it changed in T5" in shown("mt5")
    page = shown("transformer")
    assert "What it changed" in page
    assert "What it changed in" not in page


def test_a_note_says_what_it_rests_on_even_when_that_has_no_author() -> None:
    page = shown("transformer", "unilm")
    assert "(computed here, Vaswani et al. 2017)" in page
    assert "(our own words)" in page
    assert "(, " not in page


ALL = corrections()


def rows(at: AppTest, caption: str = "Corrections") -> int:
    """The rows of a table."""
    table = html_of(at).partition(f"<caption>{caption}</caption>")[2].partition("</table>")[0]
    return table.count('scope="row"')


def test_all_corrections_stand_in_one_table_with_their_sums() -> None:
    at = opened("glossary", tab="corrections")
    assert not at.warning
    assert rows(at) == len(ALL)
    assert f"{len(ALL)} corrections" in said(at)
    table = html_of(at)
    assert "124,439,808 (printed: 117M)" in table
    assert "174,604,259,328 / 1,557,611,200 = 112.1 times (printed: 100)" in table
    assert "= 79.72 (printed: 79.5)" in table


def test_filters_narrow_and_are_in_the_link() -> None:
    at = opened("glossary", tab="corrections")
    widget(at.selectbox, "Source").set_value("003").run()
    widget(at.selectbox, "Kind").set_value("version").run()
    fitting = [e for e in ALL if e.kind == "version" and "source-003" in {one.key for one in e.claimed_by}]
    assert rows(at) == len(fitting) >= 2
    assert f"{len(fitting)} of {len(ALL)} corrections" in said(at).replace("**", "")
    assert at.query_params["source"] in ("003", ["003"])
    widget(at.selectbox, "System or topic").set_value("clip").run()
    assert "No correction matches all three filters" in said(at)


def test_a_link_opens_one_correction_and_leads_back() -> None:
    at = opened("glossary", tab="corrections", correction="distilbert-mnli")
    assert "86.7" in said(at)
    assert "79.72" in html_of(at)
    assert html_of(at).count('scope="row"') == 2
    next(button for button in at.button if button.label == "All corrections").click().run()
    assert rows(at) == len(ALL)


def test_documents_and_citations_say_how_they_were_read() -> None:
    at = opened("glossary", tab="about", evidence="source document")
    assert html_of(at).count(" corrections</a>: ") == 5
    assert "Notes on eighteen papers" in html_of(at)
    at = opened("glossary", tab="about")
    every = rows(at, "Citations")
    assert every > 60
    assert "149 figures of RoBERTa" in html_of(at)  # 9 + 28 + 26 + 44 + 33 + 9 rows of six files
    widget(at.selectbox, "Evidence").set_value("paper").run()
    assert 10 < rows(at, "Citations") < every
    at = opened("glossary", tab="about", evidence="from memory, unverified")
    assert rows(at, "Citations") == 1


def test_a_system_leads_with_its_own_change_and_its_reason_stands_below_the_demo() -> None:
    texts = {system.slug: first_sentence(system.change) for system in catalogue.systems()}
    assert len(set(texts.values())) == len(texts)
    assert {slug: text for slug, text in texts.items() if len(text.split()) > 40} == {}
    text = said(opened("efficient", system="bigbird"))
    assert text.index("in blocks, instead of to every token") < text.index(
        "The number of scores of full attention grows"
    )


def test_facts_are_a_fold_below_the_demo_that_a_link_opens() -> None:
    figures = "Properties and figures"
    assert figures not in said(opened("encoder", system="bert"))
    at = opened("encoder", system="bert", facts="open")
    assert figures in said(at)
    assert at.query_params["facts"] == "open"
