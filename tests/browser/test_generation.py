"""Journeys through pages: decoding, tokenizers, the Transformer, comparisons, masks."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Locator, expect

from core.table import FORMULA_PREFIXES
from tests.browser.conftest import NOTING, WAIT_MS, Visitor


def test_a_wide_tree_scrolls_in_its_own_box_on_a_narrow_screen(visitor: Visitor) -> None:
    page = visitor.open("/generation?tab=beam&beams=4&depth=3")
    tree = page.get_by_role("figure", name=re.compile("A tree of 3 steps"))
    page.set_viewport_size({"width": 400, "height": 900})
    expect(tree).to_be_visible()
    visitor.settle()
    assert tree.bounding_box()["width"] >= 8 * 66
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 400


def test_what_takes_long_can_be_stopped_and_goes_on(visitor: Visitor) -> None:
    page = visitor.page
    ours = page.get_by_test_id("stMain").get_by_role("button", name="Stop")  # Streamlit has one of its own above
    page.goto(visitor.address + "/generation?length=200&rules=beam-8,beam-7,beam-6,beam-5")
    expect(page.locator("span[title^='step 5: probability']").first).to_be_visible()
    ours.click(delay=500)  # while the button is held down, the text goes on and must not move it from under the pointer
    expect(page.get_by_role("button", name="Continue")).to_be_visible()
    expect(page.get_by_text("Stopped.").first).to_be_visible()
    visitor.settle()
    growing = page.get_by_text("▏")  # the caret of a text as it is written
    expect(growing).to_have_count(0)
    steps = page.locator("span[title*=': probability']")
    done = steps.count()  # of strategies that have ended; a beam has its steps once it is whole, a busy minute later
    page.get_by_role("button", name="Continue").click()
    expect(growing.or_(steps.nth(done)).first).to_be_visible()


def test_a_text_typed_is_cut_at_once_and_travels_in_the_link(visitor: Visitor) -> None:
    page = visitor.open("/tokenizers")
    run = page.get_by_role("group", name=re.compile("^WordPiece: "))
    expect(run.get_by_text("blacksmith")).to_be_visible()
    box = page.get_by_role("textbox", name="Your text")
    box.fill("Ünknown 猫 <b>bold</b>")
    box.press("Control+Enter")
    expect(page.get_by_role("group", name=re.compile("^Bytes: "))).to_contain_text("‹e7›")
    expect(run).to_contain_text("bold")
    expect(page).to_have_url(re.compile("text="))
    assert page.locator(".tk-run b").count() == 0, "what is typed is text, not markup"
    page.get_by_role("radio", name="Tokens", exact=True).click()
    expect(page.get_by_text("The ids decode to", exact=False)).to_be_visible()
    assert visitor.save("Download CSV").suggested_filename.startswith("atlas-")


def test_the_only_file_of_a_table_is_one_that_no_spreadsheet_runs(visitor: Visitor) -> None:
    page = visitor.open(f"/tokenizers?tab=beside&below=pieces&text={quote('=HYPERLINK(1)')}")
    expect(page.get_by_text("The ids decode to", exact=False)).to_be_visible()
    page.get_by_test_id("stDataFrame").hover()
    expect(page.get_by_role("button", name="Search")).to_be_visible()
    expect(page.get_by_role("button", name="Fullscreen")).to_be_visible()
    assert page.locator("[aria-label^='Download as CSV']").count() == 1, "Streamlit names it otherwise now"
    expect(page.locator("[aria-label^='Download as CSV']")).to_be_hidden()
    saved = visitor.save("Download CSV: tokens")
    assert saved.suggested_filename == "atlas-tokens.csv"
    rows = list(csv.DictReader(io.StringIO(Path(saved.path()).read_text(encoding="utf-8"))))
    assert rows[0]["text"] == "'="
    assert not [cell for row in rows for cell in row.values() if cell.startswith(FORMULA_PREFIXES)]


def test_the_picture_is_stepped_by_key_and_drawn_deeper(visitor: Visitor) -> None:
    page = visitor.open("/transformer?text=The+cat+sat+on+the+[MASK].")
    heading = page.locator(".text h3")
    expect(heading).to_have_text("1 of 15. Overview", timeout=4 * WAIT_MS)
    page.locator(".stage").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    expect(heading).to_have_text("2 of 15. Tokens")
    expect(page.locator(".part.active [aria-label='[CLS], position 1']")).to_be_visible()
    expect(page.locator(".text .shapes")).to_be_hidden()
    page.get_by_role("button", name="Tensors", exact=True).click()
    expect(page.locator(".text .shapes")).to_contain_text("9 ids")
    page.get_by_role("button", name="cat, position 3").click()
    expect(page).to_have_url(re.compile("step=embeddings&depth=tensors&.*position=3|depth=tensors.*position=3"))
    expect(visitor.menu("As a table").get_by_role("row", name=re.compile("^token"))).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Numbers", exact=True).click()
    expect(page.get_by_role("row", name=re.compile("^token"))).to_be_visible()
    expect(heading).to_have_text("2 of 15. Tokens")
    heading.evaluate(NOTING)
    page.locator(".stage").focus()
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.wait_for_function("window.noted.length")
    page.keyboard.press(" ")
    assert page.evaluate("window.noted[0]") == "3 of 15. Token embeddings"
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    visitor.settle()


def test_filter_read_the_sources_pin_and_download(visitor: Visitor) -> None:
    page = visitor.open("/catalogue?tab=table")
    region = page.get_by_role("region", name="Systems, property by property")
    expect(region.get_by_role("columnheader")).to_have_count(14)
    page.get_by_role("textbox", name="Search", exact=True).fill("wordpiece")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("any=wordpiece"))
    expect(region.get_by_role("rowheader", name=re.compile("^GPT-2"))).to_have_count(0)
    bert = region.get_by_role("row", name=re.compile("^BERT 2018"))
    source = bert.get_by_text("A stored copy of the paper's own text", exact=False).first
    expect(source).to_be_hidden()
    box = bert.get_by_role("checkbox", name="Sources of BERT", exact=True)
    box.focus()
    page.keyboard.press("Space")
    expect(source).to_be_visible()
    visitor.settle()
    text = Path(visitor.save("Download CSV").path()).read_text(encoding="utf-8")
    assert text.startswith('"Name","Name: read in","Type",')
    names = [row["Name"].partition(";")[0] for row in csv.DictReader(io.StringIO(text))]
    assert "BERT" in names
    assert "GPT-2" not in names


def test_two_trees_by_keyboard(visitor: Visitor) -> None:
    page = visitor.open("/catalogue?tab=trees&left=bert&right=roberta")
    expect(page.get_by_role("figure", name=re.compile("Treemap of BERT base"))).to_be_visible()
    expect(page.get_by_role("figure", name=re.compile("Treemap of RoBERTa base"))).to_be_visible()
    attention = page.locator("summary", has_text="Self-attention")
    queries = page.get_by_role("rowheader", name=re.compile("queries"))
    expect(queries).to_be_hidden()  # a group in which nothing differs is closed at first
    attention.focus()
    page.keyboard.press("Enter")
    expect(queries).to_be_visible()
    page.get_by_text("Differences", exact=True).click()
    expect(page).to_have_url(re.compile("rows=differences"))
    expect(attention).to_have_count(0)
    expect(page.get_by_role("rowheader", name=re.compile("token embeddings.*another size"))).to_be_visible()


def test_a_row_is_a_card_at_400_pixels(telephone: Visitor) -> None:
    page = telephone.open("/catalogue?tab=table&any=wordpiece")
    card = page.get_by_role("row", name=re.compile("^BERT 2018"))
    expect(card.get_by_role("cell", name=re.compile("BooksCorpus"))).to_be_hidden()
    card.get_by_role("checkbox", name="All properties of BERT", exact=True).check()
    expect(card.get_by_text("BooksCorpus", exact=False).first).to_be_visible()


def click_cell(board: Locator, query: int, key: int, size: int) -> None:
    full, cells = board.bounding_box(), board.locator(".ground").bounding_box()
    assert full is not None
    assert cells is not None
    side = cells["width"] / size
    left, top = cells["x"] - full["x"], cells["y"] - full["y"]
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
        == '"query / key","0 one","1 two","2 three"\n"0 one","1","0","1"\n"1 two","1","1","1"\n"2 three","1","1","1"\n'
    )

    page.get_by_role("button", name="Undo edits").click()
    expect(page.get_by_text("6 of 9 pairs", exact=False).first).to_be_visible()
    expect(page).not_to_have_url(re.compile("flips"))
    expect(page.get_by_role("application", name=re.compile("^Causal: 6 of 9 pairs"))).to_be_visible()
