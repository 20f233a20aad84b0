"""The section Masks of the page Objectives: every mask and every view, links that carry anything, and edits."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core import links
from core.ui.masks.masks import EXAMPLES
from core.ui.page import MAIN_PICTURE
from tests.downloads import catch_downloads
from tests.pages import html_of, link, opened, protos, shown, widget


def page(**query: str) -> AppTest:
    return opened("objectives", tab="masks", **query)


def board(at: AppTest) -> dict[str, Any]:
    """What the browser is given for the board."""
    (found,) = [json.loads(proto.json) for proto in protos(at, "bidi_component") if "bits" in proto.json]
    return dict(found)


def test_it_opens_with_a_causal_mask_on_a_sentence() -> None:
    at = page()
    assert "**Causal** · 45 of 81 pairs, 55.6%" in shown(at)
    assert "Two masks define" in shown(at)
    assert board(at)["bits"][:18] == "100000000110000000"
    assert not at.warning
    assert link(at) == {"tab": "masks"}


def test_a_link_carries_everything() -> None:
    at = page(
        pattern="causal.and.window-1-0.or.global-0-3", tokens="6", flips="5.35", below="reach", layers="3", place="4"
    )
    assert not at.warning
    data = board(at)
    assert data["flips"] == [5, 35]
    assert len(data["bits"]) == 36
    # the diagonal and the one left of it are 11; rows and columns 0 and 3 are 20, of which 5 are there already; both
    # cells by hand are taken away: 0 looks at 5, and 5 at itself
    assert "24 of 36 pairs" in shown(at)
    assert "2 cells changed by hand" in shown(at)
    assert "pattern" in at.query_params
    assert at.query_params["flips"] == "5.35"


def test_choosing_another_mask_forgets_the_edits_and_writes_the_link() -> None:
    at = page(pattern="prefix-2", flips="3")
    assert board(at)["flips"] == [3]
    widget(at.selectbox, "Mask").set_value("window").run()
    assert board(at)["flips"] == []
    assert at.query_params["pattern"] == "window"
    assert "flips" not in at.query_params
    widget(at.number_input, "To the right").set_value(0).run()
    assert at.query_params["pattern"] == "window-2-0"
    widget(at.selectbox, "Combine").set_value("or").run()
    assert at.query_params["pattern"] == "window-2-0.or.window"
    widget(at.selectbox, "Mask 2").set_value("global").run()
    widget(at.text_input, "Positions, from 0").set_value("4 and 1").run()
    assert at.query_params["pattern"] == "window-2-0.or.global-1-4"


def test_undo_takes_all_edits_back_and_is_offered_only_for_them() -> None:
    at = page(flips="1.2")
    widget(at.button, "Undo edits").click().run()
    assert board(at)["flips"] == []
    assert "flips" not in at.query_params
    assert not any(button.label == "Undo edits" for button in at.button)


def test_only_padding_is_offered_beside_cross_attention() -> None:
    at = page(pattern="cross.and.padding-2", queries="Le roi", text="The king .")
    assert widget(at.selectbox, "Mask 2").options == ["Padding", "Cross"]
    assert board(at)["bits"] == "1110011100"
    assert "Cross and padding** · 6 of 10 pairs" in shown(at)


def test_what_is_counted_can_be_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    found = html_of(page(pattern="window-256-256.or.global", below="count", tokens="64"))
    assert "2,043,134" in found
    assert "Longformer" in found
    files = catch_downloads(monkeypatch)
    page(pattern="causal", below="count", tokens="8")
    first, *others = files["atlas-mask-scores-causal.csv"].decode().splitlines()
    assert first == "mask,queries,keys,scores computed,all pairs,share"
    assert others[0] == "This mask,8,8,36,64,0.5625"
    assert any(row.endswith(",4096,4096,8390656,16777216,0.500122") for row in others)


def test_reach_beside_the_formula() -> None:
    at = page(pattern="window-2-2", tokens="40", below="reach", layers="3")
    assert "l times w = 3 times 4 = 12$" in shown(at)
    assert "Counted at the middle token: 12." in shown(at)
    assert "cut off at the end" in shown(page(pattern="window-2-2", tokens="10", below="reach", layers="3"))
    assert "its own token never does" in shown(page(pattern="permutation-3-1", below="reach"))


@pytest.mark.parametrize("pattern", ["longer", "x" * 3000, "<script>alert(1)</script>"])
def test_a_mask_that_is_none_is_a_sentence(pattern: str) -> None:
    at = page(pattern=pattern)
    assert "The mask in the link cannot be read" in shown(at)
    assert "**Causal**" in shown(at)


def test_numbers_that_this_text_does_not_have_are_passed_over() -> None:
    at = page(tokens="3", flips="0.4000", place="63", below="reach", layers="24")
    assert board(at)["flips"] == [0]
    assert "1 row attends to nothing" in shown(at)


def test_the_pages_links_are_understood() -> None:
    for word, _, _ in EXAMPLES:
        assert links.read("objectives", {"tab": "masks", "pattern": word})[1] == ()
    assert not page(pattern=EXAMPLES[-1][0]).warning


def test_the_board_is_the_main_picture_of_a_presentation() -> None:
    at = page(present="1")
    assert at.session_state[MAIN_PICTURE] == "board"  # so that the frame hides all figures
