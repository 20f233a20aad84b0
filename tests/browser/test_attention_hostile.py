"""Tokens are data: no picture of attention runs them, drawn or saved as a file."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import BrowserContext, Page, expect

from core.attention import bertviz
from core.attention.tokens import short
from core.attention.trace import AttentionMap, AttentionTrace
from core.attention.views import grid
from tests.browser.alone import open_alone

TOKENS = (
    "plain",
    "</script><script>struck=1</script>",
    "<!--<script>struck=1",
    "-->]]><script>struck=1</script>",
    "\"'><svg onload=struck=1>",
    "<img src=x onerror=struck=1>",
    "<img src=http://elsewhere.example/x.png>",
    "`${struck=1}`",
    "${struck=1}",
    '\\u003c\\"];struck=1;//',
    "a\u2028struck=1\u2029b",
    "\u202egnp.exe\u2066",
    "&lt;b&gt;&#60;",
    "%3Cscript%3E",
    "\x00\x1b[31m\ufeff",
    "javascript:struck=1",
    "__proto__",
    "<b>long</b>" * 930,  # 10 kB
)


def _map() -> AttentionMap:
    n = len(TOKENS)
    weights = np.random.default_rng(0).dirichlet(np.ones(n), (2, 2, n)).astype(np.float32)
    vectors = np.random.default_rng(1).normal(size=(2, 2, n, 4)).astype(np.float32)
    return AttentionMap("encoder", TOKENS, TOKENS, weights, second=9, queries=vectors, keys=vectors)


def _bertviz(view: bertviz.View) -> Callable[[], str]:
    return lambda: bertviz.render(AttentionTrace(TOKENS[1], encoder=_map()), view, title=TOKENS[1])


def _look(page: Page, view: str) -> list[str]:
    """Do what a visitor does with the view; the tokens as it shows them, in the order of the text."""
    if view == "model":
        page.locator(".attn_background").nth(3).click(force=True)
        return page.locator("text.detail, .detail .token").all_text_contents()[1 : 1 + len(TOKENS)]
    if view == "neuron":
        token = page.locator("#collapsed #leftText > g").nth(1)
        token.hover()
        token.locator("rect").nth(1).click()
        return page.locator("#expanded #leftText text").all_text_contents()
    if view == "head":
        page.locator("#left text").nth(5).hover()
        return page.locator("#left text").all_text_contents()
    page.locator("#all").press("Enter")
    for _ in TOKENS:
        page.locator("#one").press("ArrowDown")
    page.locator("#one").hover()
    return page.locator("#shaded bdi").all_text_contents()


@pytest.mark.parametrize(
    ("view", "render", "columns"),
    [
        ("head", _bertviz("head"), 12),
        ("model", _bertviz("model"), 10),
        ("neuron", _bertviz("neuron"), 12),
        ("grid", lambda: grid.render(_map(), title=TOKENS[1]), 60),
    ],
)
def test_hostile_tokens_are_drawn_as_text(
    bare: BrowserContext, view: str, render: Callable[[], str], columns: int
) -> None:
    html = render()
    # Nothing that ends the data, turns a line round or breaks it is in the file as such.
    assert not {"\u2028", "\u2029", "\u202e", "\u2066", "\x00", "\x1b"} & set(html)
    assert html.count("</script>") == (2 if view == "grid" else 6)
    page, trouble = open_alone(bare, html)
    shown = _look(page, view)
    assert shown == [short(token, columns) for token in TOKENS]
    assert shown[5].startswith("<img src=")
    assert shown[11].startswith("‹u+202e›")
    assert page.evaluate("typeof struck") == "undefined"
    assert page.evaluate("({}).struck === undefined && document.scripts.length") == (2 if view == "grid" else 6)
    assert page.locator("img, iframe, object, embed, link, b, [onload], [onerror]").count() == 0
    expect(page).to_have_title(TOKENS[1])
    page.wait_for_load_state("networkidle")
    assert trouble == []
    page.close()


def test_names_from_right_to_left_leave_the_picture_where_it_is(bare: BrowserContext) -> None:
    """Hebrew is drawn as it is read; the labels beside it keep their positions."""
    tokens = ("one", "שלום", "two")
    attention_map = AttentionMap("encoder", tokens, tokens, np.full((1, 1, 3, 3), 1 / 3, np.float32))
    page, trouble = open_alone(bare, bertviz.render(AttentionTrace("x", encoder=attention_map)))
    boxes = [page.locator("#left text").nth(i).bounding_box() for i in range(3)]
    rights = [box["x"] + box["width"] for box in boxes if box]
    assert max(rights) - min(rights) < 2
    page.close()
    page, more = open_alone(bare, grid.render(attention_map))
    places = page.locator("#shaded bdi").evaluate_all("all => all.map((one) => one.getBoundingClientRect().left)")
    assert places == sorted(places)
    assert trouble + more == []
    page.close()


SVG = "{http://www.w3.org/2000/svg}"
FOUR = ("[CLS]", "cat", "sat", "[SEP]")


def _trace(tokens: tuple[str, ...] = FOUR) -> AttentionTrace:
    """Two layers of three heads; in each, every token attends to itself and the first alone."""
    n = len(tokens)
    weights = np.zeros((2, 3, n, n), np.float32)
    weights[..., 0] = 0.25
    weights += 0.75 * np.eye(n, dtype=np.float32)
    vectors = np.random.default_rng(1).normal(size=(2, 3, n, 4)).astype(np.float32)
    return AttentionTrace("x", encoder=AttentionMap("encoder", tokens, tokens, weights, queries=vectors, keys=vectors))


def _saved(page: Page, kind: str) -> tuple[str, bytes]:
    """What the button for that kind of file gives, pressed by keyboard; its name and its bytes."""
    button = page.get_by_role("button", name=f"Download {kind}")
    button.focus()
    with page.expect_download() as waiting:
        page.keyboard.press("Enter")
    return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()


@pytest.mark.parametrize(
    ("view", "name", "lines"),
    # Seven weights of a head are not zero; one head is on, or six are drawn and one of them again, or one is collapsed.
    [
        ("head", "head-view-layer2-head3", 7),
        ("model", "model-view-layer2-head3", 7 * 7),
        ("neuron", "neuron-view-layer2-head3", 7),
    ],
)
def test_a_view_leaves_as_svg_and_as_png(
    bare: BrowserContext, tmp_path: Path, view: bertviz.View, name: str, lines: int
) -> None:
    """From a page that was saved, opened as a file."""
    html = bertviz.render(_trace(), view, layer=1, heads=[2], theme="dark", title="A <b>title</b>")
    (tmp_path / "page.html").write_text(html, encoding="utf-8")
    page, trouble = open_alone(bare, html)
    page.goto((tmp_path / "page.html").as_uri())
    trouble.clear()  # the request for that file
    if view == "model":  # begins with that picture enlarged
        page.wait_for_function(
            "() => Number(document.querySelectorAll('.attn_background')[5]?.getAttribute('stroke-opacity')) > 0"
        )
    stem, svg = _saved(page, "SVG")
    assert stem == f"{name}.svg"
    drawn = ElementTree.fromstring(svg)
    assert {entry.tag for entry in drawn.iter()} <= {
        f"{SVG}{tag}" for tag in ("svg", "title", "desc", "g", "rect", "line", "path", "text", "tspan")
    }
    assert not {"style", "class", "id", "href", "onclick"} & {key for entry in drawn.iter() for key in entry.attrib}
    ground = drawn.find(f"{SVG}rect")
    assert ground is not None
    assert ground.get("fill") == "rgb(18, 22, 27)"
    title = drawn.findtext(f"{SVG}title")
    assert title == "A <b>title</b> · layer 2, head 3"
    texts = ["".join(entry.itertext()) for entry in drawn.iter(f"{SVG}text")]
    assert texts[-1] == title
    assert all(texts.count(token) == 2 for token in FOUR)
    assert len(list(drawn.iter(f"{SVG}line"))) == lines
    stem, png = _saved(page, "PNG")
    assert stem == f"{name}.png"
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGBA")).astype(int)
    assert pixels.shape[:2] == (2 * int(drawn.get("height", 0)), 2 * int(drawn.get("width", 0)))
    assert (pixels[..., 3] == 255).all()
    assert pixels[0, 0].tolist() == [18, 22, 27, 255]
    ink = np.abs(pixels[..., :3] - [18, 22, 27]).sum(axis=-1) > 60
    assert 0.01 < ink.mean() < 0.6
    assert trouble == []
    page.close()


def test_a_computation_is_saved_though_the_pointer_has_left_it(bare: BrowserContext) -> None:
    page, trouble = open_alone(bare, bertviz.render(_trace(), "neuron"))
    token = page.locator("#collapsed #leftText > g").nth(2)
    token.hover()
    token.locator("rect").nth(1).click()
    page.locator("#expanded #leftText > g").nth(2).hover()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download SVG").click()
    drawn = ElementTree.parse(waiting.value.path())
    words = {"".join(entry.itertext()) for entry in drawn.iter(f"{SVG}text")}
    assert {"Softmax", "q ∙ k"} <= words
    assert "No token selected" not in words
    # A query's and each key's four numbers, their products, and four squares of a dot product are there beside frames.
    numbers = [entry for entry in drawn.iter(f"{SVG}rect") if entry.get("width") == "50"]
    assert len(numbers) == 3 * 4 * 4
    page.get_by_role("button", name="Download SVG").hover()  # the token that was clicked stays selected
    assert page.get_by_text("No token selected").evaluate("one => getComputedStyle(one).opacity") == "0"
    assert trouble == []
    page.close()


@pytest.mark.parametrize("view", ["head", "model", "neuron"])
def test_hostile_tokens_are_text_in_the_saved_picture(bare: BrowserContext, view: bertviz.View) -> None:
    page, trouble = open_alone(bare, bertviz.render(_trace(TOKENS), view, title=TOKENS[1] + "\x1b\uffff"))
    if view == "model":
        page.locator(".attn_background").nth(3).click(force=True)
    _, svg = _saved(page, "SVG")
    drawn = ElementTree.fromstring(svg)
    texts = ["".join(entry.itertext()) for entry in drawn.iter(f"{SVG}text")]
    columns = 10 if view == "model" else 12
    assert {short(token, columns) for token in TOKENS} <= set(texts)
    # A browser makes spaces of control characters in titles; what is left and no XML can hold is replaced.
    assert drawn.findtext(f"{SVG}title", "").startswith(TOKENS[1] + " \ufffd")
    assert not {"\u2028", "\u202e", "\x00", "\x1b"} & set(svg.decode())
    # The file by itself, as somebody opens it.
    page.set_content(svg.decode())
    assert page.locator("script, img, [onload], [onerror], a").count() == 0
    assert page.evaluate("typeof struck") == "undefined"
    assert trouble == []
    page.close()
