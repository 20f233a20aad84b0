"""Sources: filters, one correction by its link, documents, citations, and everything that a link can get wrong."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from core.catalogue.corrections import corrections
from tests.pages import html_of, opened, shown, widget

ALL = corrections()


def rows(at: AppTest) -> int:
    return html_of(at).count('scope="row"')


def test_all_corrections_stand_in_one_table_with_their_sums() -> None:
    at = opened("sources")
    assert not at.warning
    assert rows(at) == len(ALL)
    assert f"{len(ALL)} corrections" in shown(at)
    table = html_of(at)
    assert "124,439,808 (printed: 117M)" in table
    assert "174,604,259,328 / 1,557,611,200 = 112.1 times (printed: 100)" in table
    assert "= 79.72 (printed: 79.5)" in table


def test_filters_narrow_and_are_in_the_link() -> None:
    at = opened("sources")
    widget(at.selectbox, "Source").set_value("003").run()
    widget(at.selectbox, "Kind").set_value("version").run()
    fitting = [e for e in ALL if e.kind == "version" and "source-003" in {one.key for one in e.claimed_by}]
    assert rows(at) == len(fitting) >= 2
    assert f"{len(fitting)} of {len(ALL)} corrections" in shown(at).replace("**", "")
    assert at.query_params["source"] in ("003", ["003"])
    widget(at.selectbox, "System or topic").set_value("clip").run()
    assert "No correction matches all three filters" in shown(at)


def test_a_link_opens_one_correction_and_leads_back() -> None:
    at = opened("sources", correction="distilbert-mnli")
    assert "86.7" in shown(at)
    assert "79.72" in html_of(at)
    assert rows(at) == 2
    next(button for button in at.button if button.label == "All corrections").click().run()
    assert rows(at) == len(ALL)


def test_documents_and_citations_say_how_they_were_read() -> None:
    at = opened("sources", tab="documents")
    assert rows(at) == 5
    assert "tldr-transformers" in html_of(at)
    at = opened("sources", tab="citations")
    every = rows(at)
    assert every > 60
    assert "149 figures of RoBERTa" in html_of(at)  # 9 + 28 + 26 + 44 + 33 + 9 rows of six files
    widget(at.selectbox, "Evidence").set_value("paper").run()
    assert 10 < rows(at) < every
    at = opened("sources", tab="citations", evidence="from memory, unverified")
    assert rows(at) == 1
