"""The search box of every page and the page of all matches: places are found, nonsense gets a sentence."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core.content import content
from tests.pages import html_of, opened, protos, shown
from tests.words import words

NOTHING = content("glossary", "terms").part("No match")


def found(at: AppTest) -> list[tuple[str, str]]:
    return [(link.page, link.query_string) for link in protos(at, "page_link")]


@pytest.mark.parametrize("page", ["encoder", "glossary"])  # the sidebar is drawn before any page
def test_every_page_has_the_box_and_its_results_are_links(page: str) -> None:
    at = opened(page, **({"facts": "open"} if page == "encoder" else {}))
    at.text_input(key="atlas.search").set_value("sop").run()
    suffix = {page: "&go="}  # a link to the page where it stands is marked as a link
    assert ("glossary", "term=sentence-order-prediction" + suffix.get("glossary", "")) in found(at)
    assert ("encoder", "system=albert&facts=open" + suffix.get("encoder", "")) in found(at)


def test_at_most_eight_and_a_way_to_the_rest() -> None:
    at = opened("glossary", tab="about")
    at.text_input(key="atlas.search").set_value("bert").run()
    links = found(at)[1:]  # the first leads on from the page
    assert len(links) == 9
    assert links[0] == ("encoder", "system=bert")
    assert links[-1] == ("glossary", "q=bert&go=")  # on the page itself


def test_a_query_changes_nothing_on_the_page() -> None:
    at = opened("glossary", tab="corrections", source="003", kind="version")
    before = shown(at)
    at.text_input(key="atlas.search").set_value("bert").run()
    assert before.split("corrections")[0] in shown(at)
    assert at.query_params["source"] in ("003", ["003"])


def test_the_page_shows_what_its_link_asks_for_by_kind() -> None:
    at = opened("glossary", q="bert")
    headings = [heading.value for heading in at.subheader]
    assert headings[0] == "Systems"
    assert {"Terms", "Live models", "Corrections"} <= set(headings)
    assert found(at)[0] == ("encoder", "system=bert")


def test_the_page_says_that_nothing_fits() -> None:
    assert NOTHING in words(shown(opened("glossary", q="zzqqxxyyvv")))
    at = opened("glossary", q="x" * 10_000)
    assert at.warning or NOTHING in words(shown(at))


def test_what_is_typed_on_the_page_is_in_its_link() -> None:
    at = opened("glossary")
    next(box for box in at.text_input if box.key != "atlas.search").set_value("rotary").run()
    assert at.query_params["q"] in ("rotary", ["rotary"])
    assert 'href="/glossary?term=rotary-positions"' in html_of(at)
