"""What surrounds every page: the way in, search, links, notices, a presentation; nothing jumps."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import ViewportSize, expect

from core.content import content
from tests.browser.alone import DRAWN
from tests.browser.conftest import LAPTOP, NOTING, ROOT, Visitor, comes_true

PAGES = sorted({path.stem for path in (ROOT / "pages").glob("*.py")} - {"home"})


CONTENTS = 700
"""Where the sidebar's list of pages ends at the latest, above the end of a laptop's window."""


def test_sidebar_names_every_page_and_leads_there(visitor: Visitor) -> None:
    """That each page opens, under its title, is tested with its widths."""
    page = visitor.arrive("/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Transformer Atlas")
    assert visitor.requests
    side = page.get_by_test_id("stSidebarNav")
    for name in PAGES:
        link = side.get_by_role("link", name=content(name).title, exact=True)
        expect(link).to_have_attribute("href", re.compile(f"/{name}$"))
    entries = side.get_by_test_id("stSidebarNavLink")
    # each as bold as where it is the open page's
    boxes = entries.evaluate_all(
        "links => links.map((link) => { link.style.fontWeight = link.lastChild.style.fontWeight = 600;"
        " return link.getBoundingClientRect(); }).map((box) => [box.height, box.bottom])"
    )
    assert len(boxes) == len(PAGES) + 1
    assert all(height == 32 and bottom <= CONTENTS for height, bottom in boxes)
    side.get_by_role("link", name=content("glossary").title, exact=True).click()
    expect(page).to_have_title(f"{content('glossary').title} · Transformer Atlas")
    expect(page).to_have_url(re.compile("/glossary($|[?])"))
    visitor.settle()
    assert entries.last.evaluate("link => link.getBoundingClientRect().bottom") <= CONTENTS


def test_unknown_path_says_so_and_shows_home(visitor: Visitor) -> None:
    page = visitor.page
    page.goto(visitor.address + "/no-such-page")
    expect(page.get_by_role("dialog")).to_contain_text("Page not found")
    page.keyboard.press("Escape")
    visitor.settle()
    expect(page.get_by_role("heading", level=1)).to_have_text("Transformer Atlas")
    visitor.forgive("does not seem to exist")


TEXT = "the cat sat on the mat"


def test_copy_link_and_reset(visitor: Visitor) -> None:
    page = visitor.open(f"/encoder?{urlencode({'model': 'dir-tiny-bert', 'text': TEXT, 'mask': '2'})}")
    visitor.menu()
    page.locator("button:text-is('Copy link') + [role=status]").evaluate(NOTING)
    page.get_by_role("button", name="Copy link").click()
    page.wait_for_function("window.noted.length")
    assert page.evaluate("window.noted[0]") == "Copied"
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    page.get_by_role("button", name="Reset").click()
    expect(page.get_by_role("textbox", name="Sentence")).not_to_have_value(TEXT)
    expect(page).not_to_have_url(re.compile("text="))


ADDRESSES = (
    "www.login.example/pay",
    "(HTTPS://login.example/?a=b&c=d)",
    "`mailto:a.b+c@login.example*x*`",
)


def test_an_address_in_a_link_of_the_app_is_quoted_and_leads_nowhere(visitor: Visitor) -> None:
    page = visitor.open("/encoder?" + urlencode(dict(zip(("model", "system", "tab"), ADDRESSES, strict=True))))
    for typed in ADDRESSES:
        expect(page.get_by_test_id("stAlert").filter(has_text=f"“{typed}”").first).to_be_visible()
    assert page.locator("a[href*='login.example' i]").count() == 0


def test_a_search_by_keyboard_leads_to_a_place_and_keeps_the_page_until_then(visitor: Visitor) -> None:
    page = visitor.open("/catalogue?tab=models&branch=decoder")
    side = page.get_by_test_id("stSidebar")
    box = side.get_by_role("textbox", name="Search the Atlas")
    box.focus()
    page.keyboard.type("sop")
    page.keyboard.press("Enter")
    term = side.get_by_role("link", name="Sentence-order prediction", exact=True)
    expect(term).to_be_visible()
    expect(page).to_have_url(re.compile("branch=decoder"))  # nothing is lost
    expect(page.get_by_role("table", name="Live models").get_by_role("rowheader", name="Atlas GPT-2")).to_be_visible()
    page.keyboard.press("Tab")
    expect(term).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/glossary.term=sentence-order-prediction"))
    visitor.settle()
    expect(page.get_by_role("heading", name="Sentence-order prediction")).to_be_visible()
    page.go_back()
    expect(page).to_have_url(re.compile("/catalogue.tab=models&branch=decoder"))


def test_the_list_of_the_family_opens_a_system_by_keyboard(visitor: Visitor) -> None:
    page = visitor.open("/catalogue")
    page.locator("summary").filter(has_text="As a list").focus()
    page.keyboard.press("Enter")
    system = page.get_by_role("link", name="ALBERT (2019)").first  # listed under Efficient as well
    expect(system).to_be_visible()
    system.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/encoder.*system=albert"))


def test_tree_is_walked_and_searched_by_keyboard(visitor: Visitor) -> None:
    page = visitor.open("/decoder?system=gpt-3&tab=tree")
    page.get_by_role("radio", name="Tree", exact=True).click()
    expect(page.get_by_text(re.compile("174[.,]6")).first).to_be_visible()
    tree = page.get_by_role("tree")
    root = tree.get_by_role("treeitem").first
    root.focus()
    page.keyboard.press("ArrowDown")
    chosen = tree.locator("[aria-selected=true]").first
    expect(chosen).to_be_focused()
    expect(page).to_have_url(re.compile("node="))
    page.get_by_role("searchbox").fill("LayerNorm")
    expect(tree.locator("mark").first).to_have_text("LayerNorm")


SHIFTS = """
() => new Promise((done) => {
  const found = [];
  new PerformanceObserver((list) => {
    for (const shift of list.getEntries()) if (!shift.hadRecentInput) found.push(shift.value);
  }).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done(found.reduce((sum, value) => sum + value, 0)), 500);
})
"""
"""The cumulative layout shift since the page was loaded."""


POOR = 0.25
"""What Web Vitals call poor. These pages have at most 0.1 on a busy machine; not held steady, 0.7."""


def test_nothing_jumps_while_a_page_loads(visitor: Visitor) -> None:
    """Every section, on a telephone too: ``tests/nightly/test_axe.py``."""
    page = visitor.arrive("/catalogue?tab=parameters")
    assert page.evaluate(SHIFTS) < POOR


HALL = """
() => {
  const [main] = document.querySelectorAll("[data-testid=stMain]"), said = [];
  const scale = (one) => one.getBoundingClientRect().width / one.offsetWidth;
  const moves = (one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX !== "visible";
  const scrolls = (one) => one && one !== main && (moves(one) || scrolls(one.parentElement));
  const look = (root) => root.querySelectorAll("*").forEach((one) => {
    if (one.shadowRoot) look(one.shadowRoot);
    const text = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const { left, right, width, height } = one.getBoundingClientRect();
    if (!text || width < 3 || height < 3 || !one.checkVisibility({ visibilityProperty: true })) return;
    if (one.closest(".katex, style, script, [role=status], [style*='70%']")) return;
    const { a, b } = one.getScreenCTM?.() ?? {};
    const enlarged = a !== undefined ? Math.hypot(a, b) : scale(one.offsetWidth ? one : one.parentElement);
    const size = parseFloat(getComputedStyle(one).fontSize) * enlarged;
    if (size < 27.5) said.push(`${size.toFixed(1)} px: ${one.textContent.slice(0, 40)}`);
    if ((left < -2 || right > innerWidth + 2) && !scrolls(one)) said.push(`cut: ${one.textContent.slice(0, 40)}`);
  });
  look(main);
  return main.scrollWidth > main.clientWidth + 1 ? ["wider than the screen", ...said] : said;
}
"""
"""What a lecture hall could not read: type of less than 28 pixels of the screen, and what its edges cut.

Formulas and exponents have sizes of their own, and The Transformer is drawn whole.
"""


def test_p_presents_a_section_in_large_type_and_escape_returns(visitor: Visitor) -> None:
    page = visitor.open("/tokenizers?tab=train")
    box = page.get_by_role("textbox", name="Text").first
    box.press("p")
    expect(page).not_to_have_url(re.compile("present"))
    icon = page.get_by_test_id("stTooltipIcon").locator("svg").first
    width = icon.evaluate("icon => icon.getBoundingClientRect().width")
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Exit")).to_be_visible()
    expect(page).to_have_url(re.compile("present=1"))
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    visitor.settle()
    assert page.evaluate(HALL) == []
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("present"))
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
    visitor.settle()
    assert icon.evaluate("icon => icon.getBoundingClientRect().width") == width, "the page's size again"


def test_all_of_the_menu_is_reached_by_keyboard(visitor: Visitor) -> None:
    page = visitor.open("/tokenizers?tab=train")
    page.get_by_role("button", name="More").focus()
    page.keyboard.press("Enter")
    menu = page.get_by_test_id("stPopoverBody")
    expect(menu.get_by_role("button", name="Copy link")).to_be_visible()
    page.evaluate(DRAWN)  # Tab leads into the menu once that has its place
    for name in ("Present (P)", "Reset", "Copy link"):
        page.keyboard.press("Tab")
        expect(menu.get_by_role("button", name=name)).to_be_focused()
    for name in ("Download", "As a table", "Room"):
        page.keyboard.press("Tab")
        expect(menu.locator("summary").filter(has_text=name)).to_be_focused()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(menu.get_by_test_id("stDataFrame").first).to_be_visible()
    menu.get_by_role("button", name="Present (P)").click()
    expect(page).to_have_url(re.compile("present=1"))
    page.get_by_role("button", name="Exit").press("Enter")
    expect(page).not_to_have_url(re.compile("present"))
    expect(menu).to_be_hidden()


def test_a_screen_reader_hears_what_the_picture_shows_while_the_menu_is_closed(visitor: Visitor) -> None:
    page = visitor.open("/catalogue?tab=sizes")
    page.get_by_text("Every size", exact=True).click()
    news = page.locator(".st-key-atlas-present [role=status]")
    expect(news).to_have_text(re.compile("^Parameters by role of [0-9]{2} networks"))


@pytest.mark.parametrize(
    "path", ["/attention?tab=heads&model=dir-tiny-bert", "/objectives?tab=masks", "/catalogue?tab=sizes"]
)
def test_a_section_can_be_read_from_the_last_row(visitor: Visitor, path: str) -> None:
    """A map, a board and bars; every section is in ``tests/nightly/test_axe.py``."""
    can_be_read_from_the_last_row(visitor, path)


def can_be_read_from_the_last_row(visitor: Visitor, path: str) -> None:
    """In large type, with the picture at the top."""
    page = visitor.open(f"{path}&present=1")
    assert page.evaluate(HALL) == []
    picture = page.locator(".js-plotly-plot, .st-key-atlas-tall, .st-key-atlas-board").first.bounding_box()
    assert picture is not None
    assert picture["y"] <= 180


def test_a_presented_figure_is_hovered_where_it_is_drawn(visitor: Visitor) -> None:
    page = visitor.open("/catalogue?tab=sizes&present=1")
    bar = page.locator(".js-plotly-plot .bars .point path").first.bounding_box()
    assert bar is not None
    page.mouse.move(bar["x"] + bar["width"] - 4, bar["y"] + bar["height"] - 4)
    expect(page.locator(".hoverlayer")).to_contain_text("BERT base")


def test_a_presented_map_is_clicked_where_it_is_drawn(visitor: Visitor) -> None:
    page = visitor.open("/attention?model=dir-tiny-bert&text=The+cat+sat.&token=1&present=1")
    visitor.settle()
    rows = page.get_by_role("group", name="Query").get_by_role("button").count()
    cells = page.locator(".stPlotlyChart .nsewdrag").first.bounding_box()
    assert cells is not None
    # A click in the third row, at the edge of a cell.
    page.mouse.click(cells["x"] + cells["width"] * 0.95, cells["y"] + cells["height"] * 2.2 / rows)
    expect(page).to_have_url(re.compile("token=3"))


PROJECTOR: ViewportSize = {"width": 1920, "height": 1080}


def test_a_larger_screen_shows_a_presentation_larger(visitor: Visitor) -> None:
    page = visitor.open("/tokenizers?tab=languages&present=1")
    unit = page.locator(".js-plotly-plot .xtitle").first
    expect(unit).to_be_in_viewport(ratio=0.999)  # of pixels that are rounded
    box = unit.bounding_box()
    assert box is not None
    page.set_viewport_size(PROJECTOR)
    comes_true(unit, f"(unit) => Math.abs(unit.getBoundingClientRect().height / {1.5 * box['height']} - 1) < 0.05")
    expect(unit).to_be_in_viewport(ratio=0.999)


def test_a_presentation_shows_all_of_bertviz_and_of_the_transformer(visitor: Visitor) -> None:
    text = "+".join(["the"] * 15)
    page = visitor.open(f"/attention?tab=bertviz&model=dir-tiny-bert&present=1&text={text}")
    frame = page.frame_locator("iframe")
    last = frame.locator("#right text").last
    expect(last).to_have_text("[SEP]")
    expect(frame.locator("#right text")).to_have_count(17)
    expect(last).to_be_in_viewport(ratio=0.999)
    page.set_viewport_size(PROJECTOR)
    expect(last).to_be_in_viewport(ratio=0.999)
    page = visitor.open("/transformer?present=1")
    for size in (PROJECTOR, LAPTOP):
        page.set_viewport_size(size)
        for column in ("Tokens", "Prediction"):
            expect(page.locator("text.title").get_by_text(column, exact=True)).to_be_in_viewport(ratio=0.999)
    for key, step in (("PageDown", "2"), ("PageDown", "3"), ("PageUp", "2")):
        page.keyboard.press(key)
        expect(page.get_by_role("heading", name=re.compile(rf"^{step} of "))).to_be_visible()


def test_on_paper_a_section_is_alone_and_whole(visitor: Visitor) -> None:
    page = visitor.open("/glossary?letter=Z")
    page.emulate_media(media="print")
    try:
        expect(page.get_by_test_id("stSidebar")).to_be_hidden()
        main = page.get_by_test_id("stMain")
        assert main.evaluate("main => getComputedStyle(main).overflowY") == "visible", "more than a screen is printed"
    finally:
        page.emulate_media(media="screen")
