"""bertviz's views and the grid of all heads in a real browser: drawn offline, walked by keyboard, true to numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from core.attention import bertviz, combine
from core.attention.trace import AttentionMap, AttentionTrace, MapKind
from core.attention.views import grid
from core.theme import DARK, LIGHT, Name
from tests.browser.alone import choose, open_alone, step

TOKENS = ("[CLS]", "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "&lt;", "[SEP]")


def rgb(color: str) -> str:
    """``#rrggbb`` as a browser writes it."""
    return f"rgb({', '.join(str(int(color[at : at + 2], 16)) for at in (1, 3, 5))})"


def _trace() -> AttentionTrace:
    n = len(TOKENS)
    weights = np.zeros((2, 3, n, n), dtype=np.float32)
    weights[..., 0] = 1.0
    weights[1, 2] = np.roll(np.eye(n, dtype=np.float32), -1, axis=0)
    encoder = AttentionMap("encoder", TOKENS, TOKENS, weights)
    return AttentionTrace("x", encoder=encoder, cross=AttentionMap("cross", TOKENS[:2], TOKENS, weights[:, :, :2]))


def test_head_view_draws_offline_and_switches(bare: BrowserContext) -> None:
    page, trouble = open_alone(bare, bertviz.render(_trace(), layer=1, heads=[2], kind="encoder"))
    expect(page.locator("#layer")).to_have_value("2")
    expect(page.locator("line")).to_have_count(3 * 25)
    # Head 3 of layer 2 alone is on, and each token looks at the one after it.
    seen = page.locator("line").evaluate_all("lines => lines.map((line) => +line.getAttribute('stroke-opacity'))")
    assert sum(opacity > 0 for opacity in seen) == 5
    assert seen[2 * 25 + 1] == 1
    # Alone it has the branch's color; beside another, each its own.
    square, line = page.locator("#vis svg > g:last-child > rect"), page.locator("line").nth(2 * 25 + 1)
    expect(line).to_have_css("stroke", rgb(LIGHT.accent("encoder")))
    square.first.click()
    expect(line).to_have_css("stroke", rgb(LIGHT.categorical[2]))
    square.first.click()
    expect(square.last).to_have_css("fill", rgb(LIGHT.accent("encoder")))
    # The lines end at the right tokens, which stand as far to the right as the page allows.
    end = page.locator("line").first.get_attribute("x2")
    assert end == str(225 + 480)
    expect(page.locator("#right")).to_have_attribute("transform", "translate(480)")
    expect(page.locator("svg text").nth(2)).to_have_text("<img src=x …")
    choose(page, "Attention", "Cross")
    expect(page.locator("line")).to_have_count(3 * 10)
    choose(page, "Layer", "1")
    expect(page.locator("line").first).to_have_attribute("stroke-opacity", re.compile("0"))
    assert page.evaluate("document.scripts.length") == 6
    assert trouble == []
    page.close()


def test_layers_and_heads_are_chosen_by_buttons_and_keys_large_enough_for_a_finger(bare: BrowserContext) -> None:
    trace = _trace()
    for html in (bertviz.render(trace, kind="encoder"), grid.render(trace.maps[0])):
        page, trouble = open_alone(bare, html, {"width": 400, "height": 800})
        layer = step(page, "Layer")
        expect(layer.locator(".now")).to_have_text("1")
        after = layer.get_by_role("button", name="Next layer")
        box = after.bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) >= 44
        after.press("Enter")
        expect(layer.locator(".now")).to_have_text("2")
        after.press("ArrowLeft")
        expect(layer.locator(".now")).to_have_text("1")
        assert page.locator("select:visible").count() == 0
        assert trouble == []
        page.close()


def test_model_view_draws_offline_and_opens_a_thumbnail(bare: BrowserContext) -> None:
    page, trouble = open_alone(bare, bertviz.render(_trace(), "model", theme="dark"))
    expect(page.locator(".attn_background")).to_have_count(6)
    page.locator(".attn_background").nth(5).click(force=True)
    expect(page.locator("text.detail")).to_have_text("Layer 2, Head 3")
    lines, token = page.locator(".attn-line-group"), page.locator("g.detail").first.locator("> g").nth(1)
    token.click()
    page.mouse.move(0, 0)
    expect(lines.nth(1)).to_have_css("opacity", "1")
    expect(lines.nth(2)).to_have_css("opacity", "0")
    token.click()
    page.mouse.move(0, 0)
    expect(lines.nth(2)).to_have_css("opacity", "1")
    assert trouble == []
    page.close()


def _long(kind: MapKind = "decoder") -> AttentionTrace:
    """One head over 90 tokens, each of which attends to the previous one alone."""
    tokens = tuple(f"t{i + 1}" for i in range(90))
    weights = np.roll(np.eye(90, dtype=np.float32), -1, axis=1)[None, None]
    weights[..., 0, :] = np.eye(90, dtype=np.float32)[0]
    rng = np.random.default_rng(0)
    queries, keys = (rng.normal(size=(1, 1, 90, 8)).astype(np.float32) for _ in range(2))
    return AttentionTrace("x", **{kind: AttentionMap(kind, tokens, tokens, weights, queries=queries, keys=keys)})


def test_sixteen_bits_are_unpacked(bare: BrowserContext) -> None:
    weights = np.array([[[[0.3, 0.7], [0.12345, 0.87655]]]], dtype=np.float32)
    trace = AttentionTrace("x", encoder=AttentionMap("encoder", ("a", "b"), ("a", "b"), weights))
    page, trouble = open_alone(bare, bertviz.render(trace, bits=16))
    seen = page.locator("line").evaluate_all("lines => lines.map((line) => +line.getAttribute('stroke-opacity'))")
    np.testing.assert_allclose(seen, weights.ravel(), atol=1 / 131_070 + 1e-7)
    assert trouble == []
    page.close()


def test_neuron_view_draws_offline_and_shows_a_computation(bare: BrowserContext) -> None:
    trace = _long()
    assert trace.decoder is not None
    assert trace.decoder.queries is not None
    assert trace.decoder.keys is not None
    page, trouble = open_alone(bare, bertviz.render(trace, "neuron", theme="dark"))
    expect(step(page, "Layer").locator(".now")).to_have_text("1")
    expect(page.locator("#vis > svg")).to_have_attribute("height", f"{70 * 26 + 60}px")
    expect(page.locator("#atlas")).to_have_css("background-color", "rgb(18, 22, 27)")
    token = page.locator("#collapsed #leftText > g").nth(4)
    token.hover()
    token.locator("rect").nth(1).click()
    expect(page.locator("#expanded")).to_have_attribute("visibility", "visible")
    page.mouse.move(0, 0)  # the token stays selected
    expect(page.locator("#queries .vectorborder").first).to_have_css("stroke", rgb(DARK.query))
    expect(page.locator("#keys .vectorborder").first).to_have_css("stroke", rgb(DARK.key))
    signs = page.locator("#queries .element").evaluate_all(
        "all => all.map((element) => [Math.sign(+element.dataset.value), getComputedStyle(element).fill])"
    )
    ends = {sign: rgb(DARK.differences[end][1]) for sign, end in ((-1, 0), (1, -1))}
    assert {(sign, fill) for sign, fill in signs if sign} == set(ends.items())
    # q · k over the root of the head's width, for the keys up to the query.
    shown = page.locator("#dotproducts rect").evaluate_all(
        "all => all.filter((one) => one.style.opacity === '1').map((one) => +one.dataset.value)"
    )
    expected = trace.decoder.keys[0, 0, :5] @ trace.decoder.queries[0, 0, 4] / np.sqrt(8)
    assert len(shown) == 5
    np.testing.assert_allclose(shown, expected, atol=0.05)
    # The other part of the text: one menu moves both sides.
    choose(page, "Part of the text", "tokens 71 to 90")
    expect(page.locator("#expanded #leftText text").first).to_have_text("t71")
    expect(page.locator("#expanded #rightText text").last).to_have_text("t90")
    expect(step(page, "Right")).to_be_hidden()
    assert trouble == []
    page.close()


def test_a_long_text_is_shown_by_parts(bare: BrowserContext) -> None:
    trace = _long("encoder")
    page, trouble = open_alone(bare, bertviz.render(trace, "model"))
    expect(step(page, "Left")).to_be_hidden()  # one head of 90 tokens can be drawn at once
    page.close()
    assert trace.encoder is not None
    many = AttentionMap(
        "encoder",
        trace.encoder.query_tokens,
        trace.encoder.key_tokens,
        np.repeat(trace.encoder.weights, 12, 1),
        second=70,
    )
    page, more = open_alone(bare, bertviz.render(AttentionTrace("x", encoder=many)))
    parts = ["tokens 1 to 64", "tokens 65 to 90", "second sentence"]
    expect(step(page, "Left").locator("option")).to_have_text(parts)
    choose(page, "Left", "tokens 65 to 90")
    expect(page.locator("#left text").first).to_have_text("t65")
    expect(page.locator("#right text").last).to_have_text("t90")  # both sides move together
    choose(page, "Right", "tokens 1 to 64")
    expect(page.locator("#left text").last).to_have_text("t90")
    expect(page.locator("#right text").last).to_have_text("t64")
    # t65 looks at t64: the last line of the first row of the first head.
    expect(page.locator("line").nth(63)).to_have_attribute("stroke-opacity", re.compile(r"^0\.083"))
    choose(page, "Left", "second sentence")
    expect(page.locator("#left text").first).to_have_text("t71")
    assert trouble + more == []
    page.close()


def test_a_frame_of_the_page_cannot_reach_its_surroundings(bare: BrowserContext) -> None:
    page = bare.new_page()
    page.set_content(f'<title>outside</title><iframe src="{bertviz.data_url(bertviz.render(_trace()))}"></iframe>')
    frame = page.frame_locator("iframe")
    expect(frame.locator("line")).to_have_count(75)
    assert frame.locator("body").evaluate("() => origin") == "null"
    page.close()


WORDS = ("[CLS]", "the", "cat", "sat", "[SEP]", "it", "ran", "[SEP]")


def _map() -> AttentionMap:
    """Two layers of three heads: all attend to the first token, but layer 2, head 3 to the previous and the last."""
    weights = np.zeros((2, 3, 8, 8), dtype=np.float32)
    weights[..., 0] = 1.0
    weights[1, 2] = np.eye(8, k=-1) * 0.75
    weights[1, 2, :, 7] = 0.25
    weights[1, 2, 0, 0] = 0.75
    ends = tuple(i for i, word in enumerate(WORDS) if word in ("[CLS]", "[SEP]"))
    return AttentionMap("encoder", WORDS, WORDS, weights, second=5, special_queries=ends, special_keys=ends)


def _pixel(page: Page, row: int, column: int) -> list[int]:
    """The color in the middle of a cell of the opened map, once it is drawn."""
    page.wait_for_function("() => layout !== null")
    return page.evaluate(
        """([row, column]) => {
          const dense = window.devicePixelRatio, { side, top, cell } = layout;
          const at = [side + (column + 0.5) * cell, top + (row + 0.5) * cell].map((place) => Math.round(place * dense));
          return [...document.getElementById("one").getContext("2d").getImageData(...at, 1, 1).data].slice(0, 3);
        }""",
        [row, column],
    )


def _colors(page: Page, row: int, column: int) -> set[tuple[int, ...]]:
    """The colors of a cell of the opened map, without its edge."""
    page.wait_for_function("() => layout !== null")
    colors = page.evaluate(
        """([row, column]) => {
          const dense = window.devicePixelRatio, { side, top, cell } = layout, inner = Math.floor((cell - 6) * dense);
          const at = [side + column * cell + 3, top + row * cell + 3].map((place) => Math.round(place * dense));
          return [...document.getElementById("one").getContext("2d").getImageData(...at, inner, inner).data];
        }""",
        [row, column],
    )
    return {tuple(colors[i : i + 3]) for i in range(0, len(colors), 4)}


def test_walked_by_keyboard(bare: BrowserContext) -> None:
    page, trouble = open_alone(bare, grid.render(_map(), title="A <b>title</b>"))
    expect(page.get_by_role("heading", level=1)).to_have_text("A <b>title</b>")
    said = page.get_by_role("status")
    expect(said).to_contain_text("Layer 1, head 1. Largest weights: ")
    page.keyboard.press("Tab")
    for _ in range(7):  # the button, two choices of two buttons and two boxes come before the picture
        page.keyboard.press("Tab")
    expect(page.locator("#all")).to_be_focused()
    for key in ("ArrowDown", "End", "ArrowRight"):
        page.keyboard.press(key)
    expect(said).to_contain_text("Layer 2, head 3.")
    expect(step(page, "Head").locator(".now")).to_have_text("3")
    page.keyboard.press("Enter")
    expect(page.locator("#one")).to_be_focused()
    expect(page.get_by_role("heading", name="Layer 2, head 3")).to_be_visible()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    expect(said).to_contain_text(
        "Token 4, “\u2068sat\u2069”, attends most to “\u2068cat\u2069” 0.75, “\u2068[SEP]\u2069” 0.25."
    )
    rows = page.get_by_role("table", name="The ten keys with the largest weight").locator("tbody tr")
    expect(rows).to_have_text(["1cat 30.75", "2[SEP] 80.25"])
    page.keyboard.press("ArrowLeft")
    expect(said).to_contain_text(
        "Layer 2, head 2. Token 4, “\u2068sat\u2069”, attends most to “\u2068[CLS]\u2069” 1.00."
    )
    page.keyboard.press("Escape")
    expect(page.locator("#all")).to_be_focused()
    expect(page.locator("#row")).to_be_hidden()
    assert trouble == []
    page.close()


def test_pointed_at(bare: BrowserContext) -> None:
    page, trouble = open_alone(bare, grid.render(_map(), theme="dark"))
    page.wait_for_function("overview.boxes")
    box = page.evaluate("overview.boxes[5]")
    page.locator("#all").click(position={"x": box["x"] + 9, "y": box["y"] + 9})
    expect(page.get_by_role("heading", name="Layer 2, head 3")).to_be_visible()
    page.wait_for_function("layout")
    place = page.evaluate("layout")
    at = {"x": place["side"] + 1.5 * place["cell"], "y": place["top"] + 2.5 * place["cell"]}
    page.locator("#one").hover(position=at)
    expect(page.get_by_role("status")).to_contain_text(
        "Token 3, “\u2068cat\u2069”, attends most to “\u2068the\u2069” 0.75"
    )
    expect(page.get_by_role("status")).to_contain_text("At “\u2068the\u2069”: 0.75.")
    shaded = page.locator("#shaded bdi")
    expect(shaded).to_have_text(list(WORDS))
    expect(shaded.nth(1)).to_have_css("background-color", "rgb(209, 230, 241)")  # the largest weight: the scale's end
    expect(shaded.nth(3)).to_have_css("background-color", "rgb(18, 22, 27)")  # zero: the page
    expect(page.locator("#shaded .bar")).to_have_count(1)
    page.get_by_role("button", name="All heads").click()
    expect(page.locator("#overview")).to_be_visible()
    assert trouble == []
    page.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_not_computed_is_not_zero(bare: BrowserContext, theme: Name) -> None:
    zeros = np.tri(8, dtype=np.float32)[None, None] * np.array([1.0] + [0.0] * 7, np.float32)
    attention_map = AttentionMap("decoder", WORDS, WORDS, zeros)
    page, trouble = open_alone(bare, grid.render(attention_map, theme=theme))
    back = {"light": (255, 255, 255), "dark": (18, 22, 27)}[theme]
    assert _colors(page, 5, 2) == {back}
    hatched = _colors(page, 2, 5)
    assert back in hatched, "a flat color looks like a value"
    assert len(hatched) > 1
    expect(page.get_by_text("not computed: masked or outside the attention pattern")).to_be_visible()
    expect(page.locator("#shaded .not")).to_have_count(7)  # the first token attends to itself alone
    assert trouble == []
    page.close()


def test_differences_have_a_color_for_each_sign(bare: BrowserContext) -> None:
    attention_map = _map()
    signed = combine.difference(
        combine.part(attention_map, layer=1, head=2), combine.part(attention_map, layer=0, head=0)
    )
    page, trouble = open_alone(bare, grid.render(signed))
    red, _, blue = _pixel(page, 3, 2)
    assert blue > red + 60  # more than before: blue
    red, _, blue = _pixel(page, 3, 0)
    assert red > blue + 60  # less: orange
    assert _pixel(page, 3, 5) == [255, 255, 255]
    expect(page.get_by_role("status")).to_contain_text("differs most at “\u2068[CLS]\u2069” ")
    expect(page.locator("#low")).to_have_text("−1.00")
    expect(page.locator("#high")).to_have_text("+1.00")
    assert trouble == []
    page.close()


def test_sixteen_bits_have_more_decimals(bare: BrowserContext) -> None:
    page, trouble = open_alone(bare, grid.render(_map(), layer=1, head=2, bits=16))
    page.locator("#one").press("ArrowDown")
    expect(page.get_by_role("status")).to_contain_text("attends most to “\u2068[CLS]\u2069” 0.7500")
    assert trouble == []
    page.close()


@pytest.mark.parametrize("shape", [(1, 3), (2, 1)])
def test_each_head_has_its_own_gaps(bare: BrowserContext, shape: tuple[int, int]) -> None:
    allowed = np.random.default_rng(0).random((*shape, 8, 8)) < 0.5
    attention_map = AttentionMap("encoder", WORDS, WORDS, _map().weights, allowed=allowed)
    page, trouble = open_alone(bare, grid.render(attention_map))
    told = page.evaluate(
        "Array.from({ length: 2 * 3 * 8 * 8 }, (_, i) => computed(Math.floor(i / 64), Math.floor((i % 64) / 8), i % 8))"
    )
    assert (np.reshape(told, (2, 3, 8, 8)) == np.broadcast_to(allowed, (2, 3, 8, 8))).all()
    assert trouble == []
    page.close()


def test_special_tokens_can_be_hidden(bare: BrowserContext) -> None:
    page, trouble = open_alone(bare, grid.render(_map(), layer=1, head=2))
    said = page.get_by_text("the remaining rows no longer sum to one")
    expect(said).to_be_hidden()
    page.get_by_label("Hide special tokens").check()
    expect(said).to_be_visible()
    expect(page.locator("#shaded bdi")).to_have_text(["the", "cat", "sat", "it", "ran"])
    expect(page.get_by_role("status")).to_contain_text("Token 2, “\u2068the\u2069”, has no weight above zero.")
    page.locator("#one").press("ArrowDown")
    expect(page.get_by_role("status")).to_contain_text(
        "Token 3, “\u2068cat\u2069”, attends most to “\u2068the\u2069” 0.75."
    )
    assert page.evaluate("[border('rows'), border('columns')]") == [0.6, 0.6]
    assert trouble == []
    page.close()


def test_one_scale_for_all_heads(bare: BrowserContext) -> None:
    page, trouble = open_alone(bare, grid.render(_map(), layer=1, head=2))
    pixel = _pixel(page, 3, 2)
    expect(page.locator("#high")).to_have_text("0.75")
    page.get_by_label("One scale for all heads").check()
    expect(page.locator("#high")).to_have_text("1.00")
    assert _pixel(page, 3, 2) != pixel
    assert trouble == []
    page.close()


def test_it_fits_a_phone(bare: BrowserContext) -> None:
    attention_map = AttentionMap("encoder", WORDS, WORDS, np.repeat(np.repeat(_map().weights, 6, 0), 4, 1))
    page, trouble = open_alone(bare, grid.render(attention_map), viewport={"width": 400, "height": 800})
    width = "document.documentElement.scrollWidth"
    assert page.evaluate(width) == 400
    assert page.evaluate("document.getElementById('all').offsetWidth <= 400 - 24")
    page.get_by_role("button", name="Open this head").click()
    expect(page.locator("#one")).to_be_visible()
    assert page.evaluate(width) == 400
    page.set_viewport_size({"width": 1440, "height": 900})
    page.wait_for_function("document.getElementById('one').offsetWidth > 300")
    assert trouble == []
    page.close()


def test_the_picture_follows_the_keys(bare: BrowserContext) -> None:
    """Twelve layers do not fit a low window; the chosen head is scrolled to, below the sentence."""
    attention_map = AttentionMap("encoder", WORDS, WORDS, np.repeat(_map().weights, 6, 0))
    page, trouble = open_alone(bare, grid.render(attention_map), viewport={"width": 800, "height": 500})
    page.locator("#all").press("PageDown")
    expect(page.get_by_role("status")).to_contain_text("Layer 12, head 1.")
    page.wait_for_function("overview.boxes")
    bottom = page.evaluate("by('all').getBoundingClientRect().top + overview.boxes[33].y + overview.boxes[33].height")
    assert bottom <= 500
    assert trouble == []
    page.close()
