"""bertviz's views in a real browser: they draw offline, and a token stays a token."""

from __future__ import annotations

import re

import numpy as np
from playwright.sync_api import BrowserContext, expect

from core.attention import bertviz
from core.attention.trace import AttentionMap, AttentionTrace, MapKind
from tests.browser.alone import open_alone

TOKENS = ("[CLS]", "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "&lt;", "[SEP]")


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
    # The lines end at the right tokens, which stand as far to the right as the page allows.
    end = page.locator("line").first.get_attribute("x2")
    assert end == str(225 + 480)
    expect(page.locator("#right")).to_have_attribute("transform", "translate(480)")
    expect(page.locator("svg text").nth(2)).to_have_text("<img src=x …")
    page.get_by_label("Attention").select_option(label="Cross")
    expect(page.locator("line")).to_have_count(3 * 10)
    page.get_by_label("Layer").select_option("1")
    expect(page.locator("line").first).to_have_attribute("stroke-opacity", re.compile("0"))
    assert page.evaluate("document.scripts.length") == 6
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
    expect(page.get_by_label("Layer").locator("option")).to_have_text(["1"])
    expect(page.locator("#vis > svg")).to_have_attribute("height", f"{70 * 26 + 60}px")
    expect(page.locator("#atlas")).to_have_css("background-color", "rgb(18, 22, 27)")
    token = page.locator("#collapsed #leftText > g").nth(4)
    token.hover()
    token.locator("rect").nth(1).click()
    expect(page.locator("#expanded")).to_have_attribute("visibility", "visible")
    page.mouse.move(0, 0)  # the token stays selected
    # q · k over the root of the head's width, for the keys up to the query.
    shown = page.locator("#dotproducts rect").evaluate_all(
        "all => all.filter((one) => one.style.opacity === '1').map((one) => +one.dataset.value)"
    )
    expected = trace.decoder.keys[0, 0, :5] @ trace.decoder.queries[0, 0, 4] / np.sqrt(8)
    assert len(shown) == 5
    np.testing.assert_allclose(shown, expected, atol=0.05)
    # The other part of the text: one menu moves both sides.
    page.get_by_label("Part of the text").select_option(label="tokens 71 to 90")
    expect(page.locator("#expanded #leftText text").first).to_have_text("t71")
    expect(page.locator("#expanded #rightText text").last).to_have_text("t90")
    expect(page.get_by_label("Right")).to_be_hidden()
    assert trouble == []
    page.close()


def test_a_long_text_is_shown_by_parts(bare: BrowserContext) -> None:
    trace = _long("encoder")
    page, trouble = open_alone(bare, bertviz.render(trace, "model"))
    expect(page.get_by_label("Left")).to_be_hidden()  # one head of 90 tokens can be drawn at once
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
    expect(page.get_by_label("Left").locator("option")).to_have_text(parts)
    page.get_by_label("Left").select_option(label="tokens 65 to 90")
    expect(page.locator("#left text").first).to_have_text("t65")
    expect(page.locator("#right text").last).to_have_text("t90")  # both sides move together
    page.get_by_label("Right").select_option(label="tokens 1 to 64")
    expect(page.locator("#left text").last).to_have_text("t90")
    expect(page.locator("#right text").last).to_have_text("t64")
    # t65 looks at t64: the last line of the first row of the first head.
    expect(page.locator("line").nth(63)).to_have_attribute("stroke-opacity", re.compile(r"^0\.083"))
    page.get_by_label("Left").select_option(label="second sentence")
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
