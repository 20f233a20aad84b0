"""Home, links between pages, and a page in a frame or a lecture hall."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from core import catalogue, checkpoints, links
from core.catalogue.corrections import corrections
from core.catalogue.questions import questions
from core.catalogue.results import names
from core.catalogue.schema import BRANCHES
from core.content import content
from core.ui.home import LAST, SENTENCE, LastView
from core.ui.links import Presented
from core.ui.objectives.objective import ALONE, ENTRIES
from core.ui.page import plain
from core.ui.section import pages
from tests.pages import ROOT, html_of, link, opened, protos, shown, widget


def figures(at: AppTest) -> int:
    return len(protos(at, "plotly_chart"))


def test_home_opens_with_a_prediction_and_three_doors() -> None:
    at = opened("home")
    assert not at.error
    assert at.title[0].value == "Transformer Atlas"
    assert [box.value for box in at.text_input if box.label == SENTENCE.label] == [SENTENCE.default]
    assert figures(at) == 1
    pages = [link.page for link in protos(at, "page_link")]
    doors = [to["page"] for door in content("home", "home").front["doors"] for to in door["links"]]
    assert {page for page in doors if links.exists(page)} <= set(pages)
    assert {*BRANCHES, "catalogue", "glossary"} <= set(doors)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("The king had three sons.", "The king had three [MASK]."),
        ("The [MASK] had three sons.", "The [MASK] had three sons."),
        ("?!", "?[MASK]"),
    ],
)
def test_the_masked_word_and_the_head_open_on_the_attention_page(text: str, masked: str) -> None:
    at = opened("home", text=text)
    (query,) = [link.query_string for link in protos(at, "page_link") if "layer=" in link.query_string]
    assert masked in links.read_query("attention", dict_of(query))[0].values()


def dict_of(query: str) -> dict[str, str]:
    from urllib.parse import parse_qsl

    return dict(parse_qsl(query))


def test_the_view_that_was_left_is_one_link_until_it_is_forgotten() -> None:
    at = opened("home")

    def left(page: str, tab: str, query: str) -> tuple[str, ...]:
        at.session_state["home.1.last--sent"] = LastView(page=page, tab=tab, query=query)
        at.run()
        found = (link for link in protos(at, "page_link") if link.label.startswith("Continue"))
        return next(((link.label.partition(": ")[2], link.page, link.query_string) for link in found), ())

    assert left("encoder", "tree", "") == ("Encoder › Module tree", "encoder", "")
    assert left("glossary", "nowhere", "") == (content("glossary").title, "glossary", "")
    assert left("home", "", "") == left("nowhere", "", "") == ()
    query = "layer=3&head=2"
    assert left("attention", "heads", query) == ("Attention › One head", "attention", query)
    widget(at.button, "Forget").click().run()
    assert not [link for link in protos(at, "page_link") if link.label.startswith("Continue")]
    assert LAST.message is LastView


def test_what_runs_here_names_each_live_model(checkpoint_dir: Path) -> None:
    from core import checkpoints

    at = opened("home")
    live = [spec for spec in checkpoints.available() if spec.ready]
    assert len(live) >= 4
    found: dict[str, Any] = {link.proto.label: link.proto for link in at.get("page_link")}
    for spec in live:
        link = found[plain(spec.name)]
        assert link.page == spec.branch
        assert f"model={spec.slug}" in link.query_string
    own = sum(spec.card is not None and spec.card.base is None for spec in live)
    assert f"Trained here as whole models: {own} of {len(live)}. MiniLM" in shown(at)


def test_what_would_need_a_download_is_named_with_the_way_to_it() -> None:
    captions = [str(caption.value).replace("\\", "") for caption in opened("home").caption]
    (download,) = [caption for caption in captions if caption.startswith("Published checkpoints that need a download")]
    assert "ATLAS_HUB=on" in download
    assert "BERT" in download
    assert "GPT-3" not in download  # it was never published


pages()  # what their links carry is known from here on

DRAWN: dict[str, tuple[str, dict[str, str], int]] = {
    "home": ("home", {}, 30),
    "timeline": ("catalogue", {}, 60),
    "compare": ("catalogue", {"tab": "table", "pins": "bert,gpt-2,t5"}, 60),
    "live models": ("catalogue", {"tab": "models"}, 8),
    "questions of the results": ("catalogue", {"tab": "questions", "question": "leaders"}, 2),
    "corrections": ("glossary", {"tab": "corrections"}, 5),
    "citations": ("glossary", {"tab": "about"}, 5),
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
        **dict.fromkeys(("model", "one", "other"), slugs),
        **dict.fromkeys(("left", "right"), tuple(system.slug for system in here)),
        "branch": BRANCHES,
        "objective": {*ENTRIES, *ALONE},
        "correction": {entry.id for entry in corrections()},
        "source": {f"00{number}" for number in range(5)},
        "paper": set(names().papers),
    }
    return links.read_query(page, dict(parse_qsl(parts.query)), choices)[1] == ()


@pytest.mark.parametrize(("page", "query", "fewest"), DRAWN.values(), ids=DRAWN)
def test_the_links_of_a_page(page: str, query: dict[str, str], fewest: int) -> None:
    at = opened(page, **query)
    hrefs = {unescape(href) for href in re.findall(r'<a href="(/[^"]*)"', html_of(at))}
    hrefs |= {f"/{proto.page}?{proto.query_string.removesuffix('&go=')}" for proto in protos(at, "page_link")}
    assert len(hrefs) >= fewest
    assert [href for href in hrefs if not understood(href)] == []


def test_the_links_of_the_questions() -> None:
    assert [case.link for one in questions() for case in one.cases if case.link and not understood(case.link)] == []


def framed(page: str, **query: str) -> AppTest:
    """A page as another one embeds it."""
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    at.context = {"is_embedded": True}
    at.switch_page(f"pages/{page}.py")
    for name, value in query.items():
        at.query_params[name] = value
    return at.run()


def buttons(at: AppTest) -> set[str]:
    return {button.label for button in at.button}


def test_a_section_in_a_frame_stands_alone_whatever_is_changed_in_it() -> None:
    at = framed("tokenizers", tab="train")
    for text in ("Anything else", "And again"):
        assert not at.sidebar.children
        assert content("tokenizers").label("line") not in shown(at)
        assert "Reset" not in buttons(at)
        assert protos(at, "plotly_chart")
        assert (link(at)["tab"], "embed" in link(at)) == ("train", False)
        at.text_area[0].set_value(text).run()


def test_a_link_in_a_frame_opens_in_a_tab_of_its_own() -> None:
    at = framed("encoder", system="bert", tab="tree")
    assert not protos(at, "page_link")
    assert "(/catalogue?tab=trees" in " ".join(one.value for one in at.markdown)


def test_a_presented_step_is_a_line_above_its_view_which_is_presented_too() -> None:
    at = opened("lessons", lesson="2-attention-by-hand", present="1")
    assert next(text.value for text in at.markdown).startswith("**A score compares a query with a key** ")
    assert "present=1" in str([proto.json for proto in protos(at, "bidi_component")])
    inside = framed("tokenizers", tab="train", present="1")
    assert "Exit" not in str([proto.json for proto in protos(inside, "bidi_component")])


def test_a_presented_demo_names_its_system() -> None:
    at = opened("encoder", model="atlas-deberta", demo="parts", present="1")
    assert at.header[0].value.startswith("DeBERTa: ")


def test_a_presentation_lasts_until_it_is_ended() -> None:
    at = opened("tokenizers", tab="train", present="1")
    for text in ("Anything else", "And again"):
        assert not at.warning
        assert protos(at, "plotly_chart")
        assert not at.get("download_button")
        assert link(at)["present"] == "1"
        at.text_area[0].set_value(text).run()
    at.session_state["present.keys--sent"] = Presented(to="page")
    at.run()
    assert "present" not in link(at)
    assert "Reset" in buttons(at)
