"""bertviz's pictures leave as files that stand alone: what is drawn, nothing that is hidden, and no token as markup."""

from __future__ import annotations

import io
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import BrowserContext, Page

from core.attention import bertviz
from core.attention.tokens import short
from core.attention.trace import AttentionMap, AttentionTrace
from tests.browser.alone import open_alone
from tests.browser.test_attention_hostile import TOKENS as HOSTILE

SVG = "{http://www.w3.org/2000/svg}"
TOKENS = ("[CLS]", "cat", "sat", "[SEP]")


def _trace(tokens: tuple[str, ...] = TOKENS) -> AttentionTrace:
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
    assert {one.tag for one in drawn.iter()} <= {
        f"{SVG}{tag}" for tag in ("svg", "title", "desc", "g", "rect", "line", "path", "text", "tspan")
    }
    assert not {"style", "class", "id", "href", "onclick"} & {key for one in drawn.iter() for key in one.attrib}
    ground = drawn.find(f"{SVG}rect")
    assert ground is not None
    assert ground.get("fill") == "rgb(18, 22, 27)"
    told = drawn.findtext(f"{SVG}title")
    assert told == "A <b>title</b> · layer 2, head 3"
    texts = ["".join(one.itertext()) for one in drawn.iter(f"{SVG}text")]
    assert texts[-1] == told
    assert all(texts.count(token) == 2 for token in TOKENS)
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
    words = {"".join(one.itertext()) for one in drawn.iter(f"{SVG}text")}
    assert {"Softmax", "q ∙ k"} <= words
    assert "No token selected" not in words
    # A query's and each key's four numbers, their products, and four squares of a dot product are there beside frames.
    numbers = [one for one in drawn.iter(f"{SVG}rect") if one.get("width") == "50"]
    assert len(numbers) == 3 * 4 * 4
    page.get_by_role("button", name="Download SVG").hover()  # the token that was clicked stays selected
    assert page.get_by_text("No token selected").evaluate("one => getComputedStyle(one).opacity") == "0"
    assert trouble == []
    page.close()


@pytest.mark.parametrize("view", ["head", "model", "neuron"])
def test_hostile_tokens_are_text_in_the_saved_picture(bare: BrowserContext, view: bertviz.View) -> None:
    page, trouble = open_alone(bare, bertviz.render(_trace(HOSTILE), view, title=HOSTILE[1] + "\x1b\uffff"))
    if view == "model":
        page.locator(".attn_background").nth(3).click(force=True)
    _, svg = _saved(page, "SVG")
    drawn = ElementTree.fromstring(svg)
    texts = ["".join(one.itertext()) for one in drawn.iter(f"{SVG}text")]
    columns = 10 if view == "model" else 12
    assert {short(token, columns) for token in HOSTILE} <= set(texts)
    # A browser makes spaces of control characters in titles; what is left and no XML can hold is replaced.
    assert drawn.findtext(f"{SVG}title", "").startswith(HOSTILE[1] + " \ufffd")
    assert not {"\u2028", "\u202e", "\x00", "\x1b"} & set(svg.decode())
    # The file by itself, as somebody opens it.
    page.set_content(svg.decode())
    assert page.locator("script, img, [onload], [onerror], a").count() == 0
    assert page.evaluate("typeof struck") == "undefined"
    assert trouble == []
    page.close()
