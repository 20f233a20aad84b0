"""Home: the picture, the doors, what runs here, and links that lead somewhere."""

from __future__ import annotations

from pathlib import Path

from streamlit.testing.v1 import AppTest

from core import catalogue
from core.ui.page import plain
from tests.pages import opened, protos


def text(at: AppTest) -> str:
    return " ".join(str(element.value) for element in (*at.markdown, *at.caption, *at.subheader))


def test_home_opens_with_picture_entries_and_starting_points() -> None:
    at = opened("home")
    assert not at.error
    assert at.title[0].value == "Transformer Atlas"
    assert any(proto.component_name.endswith("atlas_timeline") for proto in protos(at, "bidi_component"))
    assert "What runs on this machine" in text(at)
    assert "Where to begin" in text(at)
    pages = [link.page for link in protos(at, "page_link")]
    for page in (*catalogue.BRANCHES, "timeline"):
        assert page in pages


def test_every_system_is_a_link_beside_the_picture() -> None:
    queries = {(link.page, link.query_string) for link in protos(opened("home"), "page_link")}
    for system in catalogue.systems():
        for branch in system.branches:
            assert (branch, f"system={system.slug}") in queries


def test_what_runs_here_names_each_live_model(checkpoint_dir: Path) -> None:
    from core import checkpoints

    at = opened("home")
    live = [spec for spec in checkpoints.available() if spec.ready]
    assert len(live) >= 4
    links = {link.proto.label: link.proto for link in at.get("page_link")}
    for spec in live:
        link = links[plain(spec.name)]
        assert link.page == spec.branch
        assert f"model={spec.slug}" in link.query_string
    own = sum(spec.card is not None and spec.card.base is None for spec in live)
    captions = [str(caption.value).replace("\\", "") for caption in at.caption]
    assert any(f"Trained here as whole models: {own} of {len(live)}. MiniLM" in caption for caption in captions)


def test_what_would_need_a_download_is_named_with_the_way_to_it() -> None:
    captions = [str(caption.value).replace("\\", "") for caption in opened("home").caption]
    (download,) = [caption for caption in captions if caption.startswith("Published checkpoints that need a download")]
    assert "ATLAS_HUB=on" in download
    assert "BERT" in download
    assert "GPT-3" not in download  # it was never published
