"""The glossary's page, its links, and terms that are linked on other pages."""

from __future__ import annotations

import re
from html import unescape

import pytest
from streamlit.testing.v1 import AppTest

from core.catalogue import glossary
from core.ui import glossary as ui
from tests.pages import html_of, opened, protos
from tests.words import words

TERMS = glossary.terms()


def shown(at: AppTest) -> str:
    """With the links, unlike elsewhere."""
    return " ".join(str(element.value) for element in (*at.markdown, *at.warning, *at.caption, *at.info, *at.error))


def rows(at: AppTest) -> int:
    return html_of(at).count('scope="row"')


def test_all_terms_stand_there_with_links() -> None:
    at = opened("glossary")
    assert rows(at) == len(TERMS)
    assert 'href="/glossary?term=softmax"' in html_of(at)
    assert 'href="/decoder?system=gpt-j&amp;facts=open"' in html_of(at)


def test_a_link_opens_a_term_with_its_formula_and_neighbors() -> None:
    at = opened("glossary", term="rotary-positions")
    assert at.subheader[0].value == "Rotary positions"
    assert "R_{n-m}" in at.latex[0].value
    pages = {(link.page, link.query_string) for link in protos(at, "page_link")}
    assert ("glossary", "term=relative-positions&go=") in pages  # marked as a link, since it leads to the page itself
    assert ("decoder", "system=gpt-j&facts=open") in pages
    next(button for button in at.button if button.label == "All terms").click().run()
    assert not at.latex
    assert rows(at) == len(TERMS)


def test_letters_and_words_narrow() -> None:
    at = opened("glossary", letter="S")
    assert rows(at) == sum(glossary.letter(term) == "S" for term in TERMS)
    box = next(box for box in at.text_input if box.key != "atlas.search")
    box.set_value("mlm").run()
    assert "No matching term" in shown(at)  # M is another letter
    at = opened("glossary", q="mlm")
    assert 1 <= rows(at) < 20
    assert "Masked language modeling" in html_of(at)


def test_facts_link_the_first_mention_of_a_term() -> None:
    at = opened("encoder", system="albert", facts="open")
    everything = html_of(at) + shown(at)
    assert everything.count("/glossary?term=sentence-order-prediction") == 1
    assert everything.count("/glossary?term=masked-language-modelling") == 1


@pytest.mark.parametrize(
    ("page", "query", "term", "words"),
    [
        ("catalogue", {"tab": "memory", "use": "train"}, "logit", "Buffers and the library"),
        ("catalogue", {"tab": "trees"}, "rotary-positions", "Components are matched"),
        ("glossary", {"tab": "corrections"}, "module-tree", "of them have a computation"),
        ("decoder", {"system": "mistral"}, "rotary-positions", "The small Llama trained here"),
        ("encoder", {"tab": "tree"}, "embedding", "Areas show parameters"),
    ],
)
def test_lines_that_are_made_as_the_page_runs_link_their_terms(
    page: str, query: dict[str, str], term: str, words: str
) -> None:
    at = opened(page, **query)
    lines = [str(element.value) for element in (*at.caption, *at.markdown) if words in str(element.value)]
    assert any(f"/glossary?term={term} " in line for line in lines)


def never_linked(at: AppTest) -> set[str]:
    """Terms that the page names somewhere and links nowhere; quotations, links and columns' headings do not count."""
    html = html_of(at)
    linked = set(re.findall(r"/glossary\?term=([\w-]+)", shown(at) + html))
    bare = re.sub(
        r"<style>.*?</style>|<caption>.*?</caption>|<thead>.*?</thead>|<a .*?</a>|“[^”]*”", "·", html, flags=re.DOTALL
    )
    texts = [shown(at), *map(unescape, re.split(r"<[^>]+>", re.sub(r'<small class="src">.*?</small>', "", bare)))]
    return {result.slug for text in texts for _, _, result in ui.find_mentions(text)} - linked


@pytest.mark.parametrize(
    ("page", "query", "names"),
    [
        ("catalogue", {"tab": "table"}, set()),
        (
            "glossary",
            {"tab": "corrections"},
            {"human-preferences", "hidden-size"},
        ),  # as a name under a claim, and beside a sum
        ("catalogue", {"line": "bert"}, set()),
        ("catalogue", {"tab": "questions"}, set()),
        ("encoder", {"system": "bert", "facts": "open"}, {"skeleton"}),  # in a citation's title
    ],
)
def test_texts_that_are_data_have_their_terms_linked_once(page: str, query: dict[str, str], names: set[str]) -> None:
    at = opened(page, **query)
    assert never_linked(at) <= names
    links = re.findall(r"/glossary\?term=([\w-]+)", shown(at) + html_of(at))
    assert len(links) > 1
    assert len(links) == len(set(links))


def test_a_notice_links_nothing_that_was_typed() -> None:
    at = opened("objectives", tab="masks", pattern="softmax <b>")
    (notice,) = at.warning
    assert "There is no mask “softmax <b>”. There are: full, causal, " in words(notice.value)
    assert "“softmax \\<b\\>”" in notice.value
    assert "/glossary?term=softmax" not in notice.value
