"""Back, Forward and fast clicks: the view and the address agree, whoever was first."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from playwright.sync_api import Page, expect

from core.content import content
from tests.browser.conftest import Line, Visitor

TEXT = "the cat sat on the mat"


def letter(page: Page, name: str) -> None:
    page.get_by_role("radio", name=name, exact=True).click()


def shows(page: Page, name: str) -> None:
    """The letter is chosen, and the address says so."""
    expect(page.get_by_role("radio", checked=True)).to_have_text(["Glossary", name])
    says = expect(page)
    if name == "All":
        says.not_to_have_url(re.compile("letter="))
    else:
        says.to_have_url(re.compile(f"letter={name}"))


def asks(page: Page, text: str) -> None:
    """The box holds ``text``, and the one of the view before is gone."""
    box = "input[aria-label='Find a term, system or demo']"
    expect(page.locator(f"{box}[value='{text}']")).to_have_count(1)
    expect(page.locator(box)).to_have_count(1)


def test_back_returns_to_the_view_that_was_left(visitor: Visitor) -> None:
    page = visitor.arrive(f"/encoder?{urlencode({'model': 'dir-tiny-bert', 'text': TEXT, 'mask': '2'})}")
    sentence = page.get_by_role("textbox", name="Sentence")
    hidden = page.get_by_role("group", name="Tokens of the sentence").locator("[aria-pressed=true]")
    expect(hidden).to_have_text([re.compile("cat")])
    page.get_by_role("radio", name="Module tree").click()
    expect(page.get_by_role("figure", name=re.compile("^Treemap of BERT"))).to_be_visible()
    expect(page).to_have_url(re.compile("tab=tree"))
    page.go_back()
    expect(sentence).to_have_value(TEXT)
    expect(hidden).to_have_text([re.compile("cat")])
    page.get_by_test_id("stSidebarNav").get_by_role("link", name=content("glossary").title).click()
    expect(page).to_have_url(re.compile("/glossary$"))  # its title stands before that: Back would pass over the encoder
    page.go_back()
    expect(page).to_have_title(re.compile("^Encoder ·"))
    expect(sentence).to_have_value(TEXT)
    expect(hidden).to_have_text([re.compile("cat")])


def test_back_right_after_a_click(visitor: Visitor) -> None:
    page = visitor.arrive("/glossary?letter=A")
    for name in "BCD":
        letter(page, name)
        expect(page).to_have_url(re.compile(f"letter={name}"))
    for name in "CBA":
        page.go_back()
        shows(page, name)
    page.go_forward()
    shows(page, "B")


def test_clicks_that_are_faster_than_the_server(traveller: Visitor) -> None:
    """The second leaves with the address from before the first."""
    line = Line(traveller.page)
    page = traveller.arrive("/glossary")
    line.hold()
    letter(page, "B")
    line.wait_for(b"letter=B")
    page.get_by_role("textbox", name="Find a term, system or demo").fill("bert")
    page.keyboard.press("Enter")
    line.wait_for(b"q=bert")
    line.release()
    expect(page).to_have_url(re.compile("q=bert&letter=B|letter=B&q=bert"))
    shows(page, "B")
    page.go_back()
    asks(page, "")
    shows(page, "B")
    page.go_back()
    shows(page, "All")
    traveller.settle()


def test_back_and_a_click_that_undoes_another_while_the_address_of_a_click_is_on_its_way(traveller: Visitor) -> None:
    """Letters with few terms: what is long, Streamlit's client may have thrown away before it is told to take it up."""
    line = Line(traveller.page)
    page = traveller.arrive("/glossary?letter=Z")
    line.hold()
    letter(page, "K")
    line.wait_for(b"letter=K")
    letter(page, "Z")
    line.wait_for(b"letter=Z")
    line.release()
    traveller.settle()
    shows(page, "Z")
    letter(page, "K")
    shows(page, "K")
    line.hold()
    letter(page, "O")
    line.wait_for(b"letter=O")
    page.evaluate("history.back()")
    page.wait_for_url(re.compile("letter=Z"))
    line.release()
    traveller.settle()
    shows(page, "Z")


def test_the_address_of_a_view_that_moved_is_replaced(visitor: Visitor) -> None:
    """Else Back would find the old one, which shows something else, or leads forward again."""
    page = visitor.arrive("/glossary?letter=B")
    page.goto(f"{visitor.address}/encoder?tab=heads&model=dir-tiny-bert&layer=2&head=2")
    new = re.compile(r"/attention\?(?=.*model=dir-tiny-bert)(?=.*layer=2)")
    expect(page).to_have_url(new)
    expect(page.get_by_role("heading", name="Attention", level=1)).to_be_visible()
    visitor.settle()
    page.get_by_test_id("stSidebarNav").get_by_role("link", name=content("glossary").title).click()
    expect(page).to_have_url(re.compile("/glossary$"))
    visitor.settle()
    page.go_back()
    expect(page).to_have_url(new)
    expect(page.get_by_role("heading", name="Attention", level=1)).to_be_visible()
    page.go_back()
    expect(page).to_have_url(re.compile("letter=B"))


LEAVES_AS_IT_READS = """() => {
  const read = Storage.prototype.getItem;
  Storage.prototype.getItem = function (name) {
    if (name === "atlas.view") {
      Storage.prototype.getItem = read;
      history.pushState({}, "", "/generation");
      dispatchEvent(new PopStateEvent("popstate"));
    }
    return read.call(this, name);
  };
}"""


def test_home_left_while_it_reads_the_last_view_does_not_come_back(visitor: Visitor) -> None:
    page = visitor.arrive("/glossary")  # stored as the last view
    page.evaluate(LEAVES_AS_IT_READS)
    page.get_by_role("link", name="Home").click()
    expect(page).to_have_url(re.compile("/generation"))
    expect(page.get_by_role("heading", name=content("generation").title, level=1)).to_be_visible()
