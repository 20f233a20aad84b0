"""A model whose vocabulary is hostile: the sections of the page Attention show its tokens as text and run none."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import BrowserContext, expect

from tests import tiny
from tests.browser.conftest import running_app, visiting

TOKENS = (
    "</script><script>struck=1</script>",
    "<!--<script>struck=1",
    "-->]]><script>struck=1</script>",
    "\"'><svg/onload=struck=1>",
    "<img/src=x/onerror=struck=1>",
    "`${struck=1}`",
    "[x](javascript:struck=1)",
    "<a/href=javascript:struck=1>y</a>",
    "$\\href{javascript:struck=1}{z}$",
    "<b>bold</b>",
)
TEXT = "the cat sat " + " ".join(TOKENS)
SECTIONS = ("heads", "all", "bertviz", "block", "off")
WRITTEN = ("heads", "block")
"""Sections that write the tokens of the text on the page itself; others draw them in a frame, or have answers alone."""


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A checkpoint directory with one BERT, into whose vocabulary the tokens were put."""
    import torch
    from transformers import BertConfig, BertForMaskedLM

    torch.manual_seed(0)
    tokenizer = tiny.wordpiece_tokenizer()
    assert tokenizer.add_tokens(list(TOKENS)) == len(TOKENS)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=64, pad_token_id=0,
    )  # fmt: skip
    folder = tmp_path / "checkpoints" / "strange"
    BertForMaskedLM(config).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder.parent


def test_sections_show_hostile_tokens_as_text(window: BrowserContext, hostile: Path, tmp_path: Path) -> None:
    def link(tab: str) -> str:
        wanted = {"tab": tab, "model": "dir-strange", "text": TEXT}
        if tab == "off":  # which asks for a hidden word
            wanted["asked"] = f"[MASK] {TEXT}"
        return "/attention?" + urlencode(wanted, quote_via=quote)

    with running_app(hostile, tmp_path) as address, visiting(window, address) as visitor:
        page = visitor.open(link(SECTIONS[0]))
        for tab in SECTIONS:
            if tab != SECTIONS[0]:
                visitor.go(link(tab))
            expect(page.get_by_test_id("stMain").locator("figure, [role=figure], iframe").first).to_be_visible()
            shown = page.get_by_test_id("stMain").inner_text()
            assert "Traceback" not in shown, tab
            if tab in WRITTEN:
                assert re.search(r"bold</b>|onerror|struck=1", shown), tab
            for frame in page.frames:
                assert frame.evaluate("typeof struck") == "undefined", tab
                assert frame.locator("img[src=x], svg[onload], [onerror], a[href^=javascript]").count() == 0, tab
