"""A model whose vocabulary is hostile: what shows attention and interventions shows tokens as text and runs none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote, urlencode

from playwright.sync_api import Page, expect

from core.attention.tokens import short
from tests.browser.conftest import HOSTILE, PLANTED, Visitor

TEXT = " ".join(("the cat sat", *HOSTILE, *PLANTED))
SHORT = " ".join((HOSTILE[0], HOSTILE[4], HOSTILE[6], *PLANTED))
"""As much as fits side by side, where marks count as words: a script, markup, a link, and what a tokenizer plants."""
SECTIONS = ("heads", "bertviz", "block", "off", "lens", "beside")
"""The grid of all heads is drawn alone in ``test_attention_hostile.py``."""
WRITTEN = ("heads", "block", "beside")
"""Sections that write the tokens of the text on the page itself; others draw them in a frame, or have answers alone."""
CUT = {"heads": "gnp.exe", "block": "gnp.e…", "lens": "gnp.exe"}
"""What these show of a token that would turn the direction; a step inside a block has less room."""


def sections(visitor: Visitor) -> Iterator[tuple[str, Page]]:
    """Each section with the text in it."""
    for tab in SECTIONS:
        wanted = {"tab": tab, "model": "dir-strange", "text": TEXT, "layer": "1", "head": "1"}
        if tab == "off":  # which predicts a masked token
            wanted["asked"] = f"[MASK] {TEXT}"
        if tab == "lens":  # which names the tokens before the mask
            wanted["asked"] = f"{TEXT} [MASK]"
        if tab == "beside":  # where three models read it, each with its own tokens
            wanted |= {"beside": "dir-strange,atlas-gpt-2,atlas-t5", "text": SHORT}
            del wanted["model"], wanted["layer"], wanted["head"]
        link = {"beside": "/transformer?", "off": "/interventions?", "lens": "/interventions?"}.get(
            tab, "/attention?"
        ) + urlencode(wanted, quote_via=quote)
        yield tab, visitor.open(link) if tab == SECTIONS[0] else visitor.go(link)


def test_sections_show_hostile_tokens_and_what_a_tokenizer_plants_as_text(visitor: Visitor) -> None:
    """Separators, a turn of direction and a token of 10 kB: made visible, in their positions, and cut."""
    for tab, page in sections(visitor):
        main = page.get_by_test_id("stMain")
        expect(main.locator("figure, [role=figure], iframe").first).to_be_visible()
        if tab in WRITTEN:  # below the first picture, and so a moment after it
            expect(main).to_contain_text(re.compile(r"bold</b>|onerror|struck=1"), use_inner_text=True)
        for element in main.locator("summary").all():
            element.click()
        shown = main.inner_text() + (main.text_content() or "")  # the second has what stands in pictures
        assert "Traceback" not in shown, tab
        assert not set("\u2028\u2029\u202e\u2066") & set(shown), tab
        assert "<b>long</b>" * 100 not in shown, tab
        assert CUT.get(tab, "") in shown, tab
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), tab
        for frame in page.frames:
            assert frame.locator(":root").evaluate("() => typeof struck") == "undefined", tab  # which has a limit
            planted = "img[src=x], svg[onload], [onerror], a[href^=javascript], b:text-is('long')"
            assert frame.locator(planted).count() == 0, tab
        if tab == "bertviz":
            drawn = page.frame_locator("iframe[title^='bertviz']").locator("#left text")
            tokens = (short(element, 12) for element in (*HOSTILE, *PLANTED.values()))
            expect(drawn).to_have_text(["[CLS]", "the", "cat", "sat", *tokens, "[SEP]"])
