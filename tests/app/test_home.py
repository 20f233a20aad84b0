"""Home: a word masked by a click, three doors, the view that was left, and what runs here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import links
from core.catalogue.schema import BRANCHES
from core.content import content
from core.ui.home import LAST, SENTENCE, LastView
from core.ui.page import plain
from tests.pages import opened, protos, shown, widget


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
    assert {*BRANCHES, "timeline", "results", "glossary"} <= set(doors)


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
    assert masked in links.read("attention", dict_of(query))[0].values()


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

    assert left("encoder", "facts", "") == ("Encoder › Facts", "encoder", "")
    assert left("glossary", "nowhere", "") == ("Glossary", "glossary", "")
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
