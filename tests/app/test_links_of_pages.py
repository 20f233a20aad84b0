"""Every link that a page draws to another one is a link that the other one understands."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from core import catalogue, checkpoints, links
from core.catalogue.corrections import corrections
from core.catalogue.questions import questions
from core.catalogue.results import names
from core.catalogue.schema import BRANCHES
from core.ui.objectives.objective import ENTRIES
from core.ui.section import pages
from tests.pages import html_of, opened, protos

pages()  # what their links carry is known from here on

DRAWN: dict[str, tuple[str, dict[str, str], int]] = {
    "home": ("home", {}, 30),
    "timeline": ("timeline", {}, 60),
    "compare": ("compare", {"pins": "bert,gpt-2,t5"}, 60),
    "live models": ("zoo", {}, 8),
    "questions of the results": ("results", {"question": "leaders"}, 2),
    "all results": ("results", {"tab": "all"}, 5),
    "corrections": ("sources", {"tab": "corrections"}, 5),
    "documents": ("sources", {"tab": "documents"}, 5),
    "citations": ("sources", {"tab": "citations"}, 5),
}
"""Pages by their links, with the fewest links that they have."""


def understood(href: str) -> bool:
    """Whether the page to which a link leads refuses nothing in it."""
    parts = urlsplit(href)
    page = parts.path.strip("/")
    slugs = [spec.slug for spec in checkpoints.available()]
    here = catalogue.by_branch(page) if page in BRANCHES else catalogue.systems()
    choices: dict[str, Any] = {
        "system": {system.slug for system in here},
        **dict.fromkeys(("model", "left", "right"), [system.slug for system in here] if page == "compare" else slugs),
        "branch": BRANCHES,
        "objective": set(ENTRIES),
        "correction": {entry.id for entry in corrections()},
        "source": {f"00{number}" for number in range(5)},
        "paper": set(names().papers),
    }
    return links.read(page, dict(parse_qsl(parts.query)), choices)[1] == ()


@pytest.mark.parametrize(("page", "query", "fewest"), DRAWN.values(), ids=DRAWN)
def test_the_links_of_a_page(page: str, query: dict[str, str], fewest: int) -> None:
    at = opened(page, **query)
    hrefs = {unescape(href) for href in re.findall(r'<a href="(/[^"]*)"', html_of(at))}
    hrefs |= {f"/{proto.page}?{proto.query_string.removesuffix('&go=')}" for proto in protos(at, "page_link")}
    assert len(hrefs) >= fewest
    assert [href for href in hrefs if not understood(href)] == []


def test_the_links_of_the_questions() -> None:
    assert [case.link for one in questions() for case in one.cases if case.link and not understood(case.link)] == []
