"""A journey through the masks: cells changed by a click and by keys, the link, undo, reach, and what can be saved."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Locator, expect

from tests.browser.conftest import Visitor


def click_cell(board: Locator, query: int, key: int, size: int) -> None:
    whole, cells = board.bounding_box(), board.locator(".ground").bounding_box()
    assert whole is not None
    assert cells is not None
    side = cells["width"] / size
    left, top = cells["x"] - whole["x"], cells["y"] - whole["y"]
    board.click(position={"x": left + (key + 0.5) * side, "y": top + (query + 0.5) * side})


def test_a_mask_is_changed_followed_and_saved(visitor: Visitor) -> None:
    page = visitor.open("/objectives?tab=masks&text=one+two+three")
    board = page.get_by_role("application", name=re.compile("^Causal: 6 of 9 pairs"))
    expect(board).to_be_visible()
    click_cell(board, 0, 2, 3)
    expect(page.get_by_text("7 of 9 pairs", exact=False).first).to_be_visible()
    expect(page).to_have_url(re.compile(r"flips=2(&|$)"))
    visitor.settle()

    board = page.get_by_role("application")
    board.focus()
    for pressed in ("Home", "ArrowDown", "End", "Enter"):
        page.keyboard.press(pressed)
    expect(page.get_by_text("two (1) attends to three (2), changed by hand")).to_be_visible()
    expect(page).to_have_url(re.compile(r"flips=2\.5"))
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_text("two (1) attends to two (1)", exact=True)).to_be_visible()
    page.keyboard.press(" ")
    expect(page).to_have_url(re.compile(r"flips=2\.4\.5"))
    page.keyboard.press(" ")
    expect(page).to_have_url(re.compile(r"flips=2\.5(&|$)"))
    visitor.settle()

    page.get_by_text("Reach", exact=True).click()
    expect(page.get_by_text("9 of 9 pairs are connected", exact=False)).to_be_visible()
    expect(
        page.get_by_role("figure", name=re.compile("^two: after 2 layers, the output can depend on 3 of 3 tokens"))
    ).to_be_visible()

    saved = visitor.save("Download SVG")
    drawing = Path(saved.path()).read_text(encoding="utf-8")
    assert saved.suggested_filename == "mask-causal.svg"
    assert drawing.startswith("<svg")
    assert "three" in drawing
    assert "var(" not in drawing
    assert Path(visitor.save("Download PNG").path()).read_bytes()[:4] == b"\x89PNG"
    assert (
        Path(visitor.save("Download CSV: mask").path()).read_text()
        == "query / key,0 one,1 two,2 three\n0 one,1,0,1\n1 two,1,1,1\n2 three,1,1,1\n"
    )

    page.get_by_role("button", name="Undo edits").click()
    expect(page.get_by_text("6 of 9 pairs", exact=False).first).to_be_visible()
    expect(page).not_to_have_url(re.compile("flips"))
    expect(page.get_by_role("application", name=re.compile("^Causal: 6 of 9 pairs"))).to_be_visible()
