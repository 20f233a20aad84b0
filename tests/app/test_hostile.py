"""Nonsense in every parameter of a link of every section, and hostile texts in the boxes of the pages that read."""

from __future__ import annotations

import pytest

from core import links
from core.ui.param import Choice, Text
from core.ui.section import Section, pages
from tests.pages import FEW, NASTY, html_of, opened, widget
from tests.words import words

PAGES = (
    *("tokenizers", "calculators", "zoo", "compare", "timeline", "results", "sources", "glossary", "search"),
    *("attention", "vectors", "generation", "objectives", "transformer"),
)
SECTIONS = {f"{page}-{section.slug}": (page, section) for page in PAGES for section in pages()[page].sections}
NOT_DRAWN = {"tokenizers-beside": {"look"}, "vectors-places": {"query", "key"}}
"""Menus that these sections draw only for some choices; that of tasks is drawn for models that have some."""


def tab(page: str, section: Section) -> dict[str, str]:
    return {"tab": section.slug} if len(pages()[page].sections) > 1 else {}


@pytest.mark.parametrize("name", SECTIONS)
def test_nonsense_in_every_parameter_gets_a_sentence_each(name: str) -> None:
    page, section = SECTIONS[name]
    typed = [param for param in section.params if not isinstance(param, Text)]
    wrong = {param.name: "</script><script>" for param in typed} | {"nonsense": "1"}
    at = opened(page, **tab(page, section), **wrong)
    said = words(" ".join(warning.value for warning in at.warning))
    refused = links.read(page, wrong)[1]
    assert [refusal.name for refusal in refused if refusal.sentence not in said] == []
    menus = {p.name: p.label for p in typed if isinstance(p, Choice) and not p.options}  # judged by the section
    unheard = {name for name, label in menus.items() if f"“{label}” cannot be" not in said}
    assert unheard - {"task"} == NOT_DRAWN.get(name, set())
    assert "<script>" not in html_of(at)


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("tokenizers-beside", "Your text"),
        ("tokenizers-steps", "A word"),
        ("tokenizers-train", "Training text"),
        ("tokenizers-train", "Test sentence"),
        ("compare-table", "Search"),
        ("compare-table", "Data"),
        ("glossary-terms", "Find a term"),
        ("search-search", "Search the Atlas"),
    ],
)
def test_whatever_is_typed_gets_answers_or_sentences_and_is_kept(name: str, label: str) -> None:
    page, section = SECTIONS[name]
    at = opened(page, **tab(page, section))
    for kind, text in (NASTY if name == "tokenizers-beside" else FEW).items():  # one after the other
        boxes = [box for box in (*at.text_area, *at.text_input) if box.key != "atlas.search"]
        widget(boxes, label).set_value(text).run()
        boxes = [box for box in (*at.text_area, *at.text_input) if box.key != "atlas.search"]
        assert text.startswith(value := widget(boxes, label).value), kind
        assert value or not text, kind
        assert "<script>" not in html_of(at), kind
        assert page != "tokenizers" or at.warning or "tk-run" in html_of(at), kind
