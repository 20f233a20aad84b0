"""The page Attention in Chromium: heads chosen inside pictures, and what is downloaded."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from playwright.sync_api import BrowserContext, expect

from core.content import content
from tests.browser.alone import choose, step
from tests.browser.conftest import WAIT_MS, Visitor


def test_the_picture_of_all_heads_is_saved_by_the_browser(visitor: Visitor) -> None:
    page = visitor.open("/attention?tab=all&model=dir-tiny-bert&text=The+cat+sat.")
    frame = page.frame_locator("iframe[title^='All heads']")
    expect(frame.get_by_role("application", name="All heads")).to_be_visible(timeout=4 * WAIT_MS)
    saved = visitor.save("Download PNG")
    assert saved.suggested_filename == "attention-all-heads.png"
    assert Path(saved.path()).read_bytes().startswith(b"\x89PNG")
    expect(frame.get_by_role("button", name="Download PNG")).to_be_hidden()
    frame.get_by_role("button", name="Open this head").click()
    expect(page).to_have_url(re.compile("open=1.1"))
    expect(frame.locator("#which")).to_be_visible()


def test_heads_chosen_inside_bertviz_are_in_the_link(visitor: Visitor, bare: BrowserContext, tmp_path: Path) -> None:
    """Where the page is read from a file, or from the link, it begins with them."""
    page = visitor.open("/attention?tab=bertviz&model=dir-tiny-bert&text=The+cat+sat.")
    frame = page.frame_locator("iframe[title^='bertviz']")
    squares = frame.locator("#vis svg > g:last-child > rect")
    expect(squares).to_have_count(2, timeout=4 * WAIT_MS)
    visitor.settle()
    squares.nth(1).dblclick()
    expect(page).to_have_url(re.compile("layer=1&on=2"))
    visitor.settle()
    assert squares.evaluate_all("all => all.map((one) => one.__data__)") == [False, True]  # it was not drawn anew
    visitor.save("Download HTML: page").save_as(tmp_path / "page.html")
    alone = bare.new_page()
    alone.goto((tmp_path / "page.html").as_uri())
    of_file = alone.locator("#vis svg > g:last-child > rect")
    expect(of_file).to_have_count(2)
    assert of_file.evaluate_all("all => all.map((one) => one.__data__)") == [False, True]
    alone.close()
    choose(frame, "Layer", "2")
    expect(page).to_have_url(re.compile("layer=2&on=2"))
    visitor.settle()
    # The neuron view goes on with the layer.
    page.get_by_role("radio", name="Neuron view").click()
    expect(step(frame, "Head").locator(".now")).to_have_text("1")
    expect(step(frame, "Layer").locator(".now")).to_have_text("2")
    visitor.settle()
    choose(frame, "Head", "2")
    expect(page).to_have_url(re.compile("layer=2&head=2"))
    visitor.settle()
    # A picture of the model view is enlarged by a link, and closed by a click.
    page = visitor.open("/attention?tab=bertviz&bertviz=model&model=dir-tiny-bert&text=The+cat+sat.&open=2.1")
    expect(frame.locator("text.detail")).to_have_text("Layer 2, Head 1")
    visitor.settle()
    frame.locator(".attn_background").nth(2).click(force=True)
    expect(frame.locator("text.detail")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("open="))


def test_a_chart_is_downloaded_as_picture_table_and_page(visitor: Visitor, tmp_path: Path) -> None:
    page = visitor.open("/interventions?tab=off&model=dir-tiny-bert&asked=The+[MASK]+sat.&off=e1-2")
    visitor.menu("Download")
    files = {}
    for name in ("SVG", "PNG", "CSV", "HTML"):
        with page.expect_download() as waiting:
            page.get_by_test_id("stPopoverBody").get_by_role("button", name=f"Download {name}", exact=True).first.click(
                timeout=WAIT_MS
            )
        waiting.value.save_as(tmp_path / waiting.value.suggested_filename)
        files[name] = (tmp_path / waiting.value.suggested_filename).read_bytes()
    heads = files["CSV"].decode().count("\n") - 1
    drawn = ElementTree.fromstring(files["SVG"])
    assert any(entry.get("href", "").startswith("data:image/png") for entry in drawn.iter())  # the cells
    assert files["PNG"].startswith(b"\x89PNG")
    assert "<script" not in files["HTML"].decode()
    reader = page.context.new_page()
    reader.set_content(files["HTML"].decode())
    expect(reader.locator("svg image[href]").first).to_be_attached()
    expect(reader.locator("tbody tr")).to_have_count(heads)
    reader.close()


def test_a_token_selected_in_one_view_is_selected_in_all(visitor: Visitor) -> None:
    page = visitor.open("/attention?model=dir-tiny-bert&text=The+cat+sat.&token=2")
    chips = page.get_by_role("group", name="Query")
    pressed = chips.get_by_role("button", pressed=True)
    expect(pressed).to_have_attribute("title", re.compile("token 2"), timeout=4 * WAIT_MS)
    visitor.settle()
    # A click in the third row of the map, at the edge of a cell.
    cells = page.locator(".stPlotlyChart .nsewdrag").first
    box = cells.bounding_box()
    assert box is not None
    rows = chips.get_by_role("button").count()
    cells.hover(position={"x": box["width"] * 0.95, "y": box["height"] * 2.2 / rows})
    cells.click(position={"x": box["width"] * 0.95, "y": box["height"] * 2.2 / rows})
    expect(page).to_have_url(re.compile("token=3"))
    expect(pressed).to_have_attribute("title", re.compile("token 3"))
    expect(page.get_by_role("status").filter(has_text="Query 3 is selected")).to_have_count(1)
    visitor.settle()
    # By keyboard, and in bertviz's lines, which are not drawn anew.
    page.get_by_role("radio", name="bertviz").click()
    lines = page.frame_locator("iframe").locator("#left .background")
    expect(lines).to_have_count(rows)
    expect(lines.nth(2)).to_have_css("opacity", "1")
    pressed.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("token=2"))
    expect(lines.nth(1)).to_have_css("opacity", "1")
    lines.nth(4).click(force=True)
    expect(page).to_have_url(re.compile("token=5"))
    expect(pressed).to_have_attribute("title", re.compile("token 5"))
    # A link at the foot leads to the top of the next view, also on the same page.
    page.get_by_role("radio", name="One head").click()
    page.get_by_role("link", name=content("attention", "heads").front["next"]["label"]).click()
    expect(page).to_have_url(re.compile("tab=roles"))
    expect(page.get_by_role("heading", level=1)).to_be_in_viewport()


def test_a_row_of_the_grid_is_the_selected_token(visitor: Visitor) -> None:
    page = visitor.open("/attention?tab=all&model=dir-tiny-bert&text=The+cat+sat.&open=1.1&token=3")
    said = page.frame_locator("iframe[title^='All heads']").get_by_role("status")
    expect(said).to_contain_text("Token 3,", timeout=4 * WAIT_MS)
    visitor.settle()
    page.frame_locator("iframe[title^='All heads']").locator("#one").press("ArrowUp")
    expect(page).to_have_url(re.compile("token=2"))
    pressed = page.get_by_role("group", name="Query").get_by_role("button", pressed=True)
    expect(pressed).to_have_attribute("title", re.compile("token 2"))
    visitor.settle()
    pressed.press("End")
    page.keyboard.press("Enter")
    expect(said).to_contain_text("Token 6,")
