"""Search: the right place first, typos forgiven, nothing hostile believed, and links that their pages understand."""

from __future__ import annotations

import re
import time
from urllib.parse import parse_qsl

import pytest

from core import catalogue, checkpoints, links
from core.catalogue import glossary
from core.catalogue.corrections import corrections, documents
from core.catalogue.schema import BRANCHES
from core.content import content, names
from core.links.parameters import Choice
from core.search import MAX_QUERY, Entry, Hit, entries, find, fitting, models
from core.ui.section import pages

HOSTILE = [
    "<script>alert(1)</script>",
    "x" * 10_000,
    "😀🎉👩‍👩‍👧",
    "שלום עליכם مرحبا",
    "a\x00b\x07c\x1b[31m",
    "'; DROP TABLE systems; --",
    "[a](javascript:alert(1)) **b** $\\frac{1}{0}$",
    "((((((((((((((((((((((((",
    "\u202eevil\u202c",
    " \t\n",
    "",
    ".*+?^${}()|[]\\",
    "word " * 3000,
    "\ud800 lone",
]


def titles(query: str, most: int = 8) -> list[str]:
    return [hit.title for hit in find(query, most)]


def kinds(query: str) -> list[tuple[str, str]]:
    return [(hit.kind, hit.title) for hit in find(query)]


def test_an_abbreviation_finds_its_term_and_the_system_that_uses_it() -> None:
    assert find("sop")[0].title == "Sentence-order prediction"
    albert = next(hit for hit in find("sop") if hit.title == "ALBERT")
    assert "entence-order prediction" in albert.line
    assert dict(albert.query) == {"system": "albert", "facts": "open"}


def test_a_prefix_finds_the_term_and_the_system() -> None:
    assert ("Term", "Rotary positions") in kinds("rotary")
    gpt_j = next(hit for hit in find("rotary") if hit.title == "GPT-J")
    assert "rotary" in gpt_j.line.lower()


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("bert", "BERT"),
        ("gpt2", "GPT-2"),
        ("gpt-2", "GPT-2"),
        ("t5", "T5"),
        ("bert-base-uncased", "BERT"),
        ("mlm", "Masked language modeling"),
        ("kv cache", "Key-value cache"),
        ("trasnformer-xl", "Transformer-XL"),
        ("electar", "ELECTRA"),
        ("perplexty", "Perplexity"),
        ("atlas bert", "Atlas BERT"),
        ("what does bert look at", "Roles of heads"),
        ("errata", "Corrections"),
        ("bibtex", "About the Atlas"),
        ("will it fit", "Will it fit"),
        ("training memory", "Training memory"),
        ("two trees", "Two trees"),
        ("line of descent", "Line of descent"),
        ("attention flow", "Attention flow"),
    ],
)
def test_what_is_meant_comes_first(query: str, title: str) -> None:
    assert titles(query)[0] == title


def test_names_inside_names_and_words_inside_texts() -> None:
    assert {"RoBERTa", "ALBERT", "DistilBERT"} <= set(titles("bert", 30))
    assert "BERT-large has 340 million parameters." in titles("340 million")
    assert ("Model", "Atlas Reformer") in kinds("reformer")


def test_all_words_of_a_query_count() -> None:
    assert titles("rotary bananas")[0] == "Rotary positions"  # what nothing matches is passed over
    assert titles("bananas") == []
    assert "Sentence-order prediction" in titles("order sentence prediction")


@pytest.mark.parametrize("query", HOSTILE)
def test_hostile_queries_are_looked_up_and_nothing_else(query: str) -> None:
    start = time.process_time()
    assert isinstance(find(query), tuple)
    assert time.process_time() - start < 1.0


def test_nonsense_and_signs_find_nothing() -> None:
    assert find("zzqqxxyyvv") == find("😀") == find("---") == ()


def test_what_is_beyond_the_limit_is_cut() -> None:
    assert find("bert" + " " * MAX_QUERY + "zzzzqqqq") == find("bert")


def test_at_most_as_many_as_asked() -> None:
    assert len(find("a model of words", 3)) <= 3
    assert len(find("bert", 8)) == 8


def test_terms_alone() -> None:
    assert fitting("norm", "Term")[:1] != []
    assert "Layer normalization" in fitting("layer norm", "Term")
    assert "BERT" not in fitting("bert", "Term")


ENTRIES = entries(models())

pages()  # each says what its links can carry


def choices(page: str) -> dict[str, set[str]]:
    if page in BRANCHES:
        return {
            "system": {system.slug for system in catalogue.by_branch(page)},
            "model": {spec.slug for spec in checkpoints.for_branch(page)},  # type: ignore[arg-type]
        }
    if page == "glossary":
        return {
            "term": {term.slug for term in glossary.terms()},
            "correction": {entry.id for entry in corrections()},
            "source": {document.key.removeprefix("source-") for document in documents()},
        }
    return {}


def test_every_link_in_a_text_opens_a_view() -> None:
    found = [
        (name, page, dict(parse_qsl(query)))
        for name in names()
        for part in content(*name).parts.values()
        for page, query in re.findall(r"\]\(([a-z-]+)\?([^)\s]*)\)", part.text)
    ]
    assert len(found) >= 5
    for name, page, query in found:
        assert links.read_query(page, query, choices(page))[1] == (), (name, page, query)


def test_every_entry_is_a_link_that_its_page_understands() -> None:
    assert len(ENTRIES) > 300
    choices_of = {page: choices(page) for page in links.PAGES}

    def check(entry: Entry | Hit, query: tuple[tuple[str, str], ...]) -> None:
        assert links.read_query(entry.page, dict(query), choices_of[entry.page])[1] == (), (entry.title, query)

    for entry in ENTRIES:
        check(entry, entry.query)
        for text in entry.texts:
            check(entry, text.query)


def test_every_page_can_be_found_by_its_name() -> None:
    for page in links.PAGES:
        assert any(entry.page == page for entry in ENTRIES), f"no content file has a search row for {page}"


BRANCHES = frozenset(BRANCHES)


def sections() -> list[tuple[str, str]]:
    """Every section of every page by its value of ``tab``; the branches, which have the same, count as one page."""
    result: dict[tuple[str, str], None] = {}
    for page, parameters in links.PAGES.items():
        tab = parameters.get("tab")
        for section in tab.allowed if isinstance(tab, Choice) else ():
            result["branch" if page in BRANCHES else page, section] = None
    return list(result)


def opens_with(page: str) -> str:
    """The section of a page whose link carries no ``tab``: the default, or the first."""
    tab = links.PAGES["encoder" if page == "branch" else page]["tab"]
    assert isinstance(tab, Choice)
    return tab.default or tab.allowed[0]


@pytest.mark.parametrize(("page", "section"), sections())
def test_every_section_has_a_row_of_its_own_or_is_its_pages_first(page: str, section: str) -> None:
    pages = BRANCHES if page == "branch" else {page}
    named = {
        dict(entry.query).get("tab") for entry in ENTRIES if entry.page in pages and entry.kind in ("Demo", "Page")
    }
    assert section in named or section == opens_with(page), f"no search row for {page}?tab={section}"


def test_every_system_and_every_live_model_is_in_the_index() -> None:
    result = {(entry.kind, entry.title) for entry in ENTRIES}
    assert {("System", system.name) for system in catalogue.systems()} <= result
    assert {("Model", spec.name) for spec in models()} <= result
    for system in catalogue.systems():
        assert titles(system.name)[0] == system.name, system.name
