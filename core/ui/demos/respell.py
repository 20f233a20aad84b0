"""Beside a sentence set right byte by byte: what changed, and what the noise cost readers of bytes and of subwords."""

from __future__ import annotations

import streamlit as st
from rapidfuzz.distance.Levenshtein import distance

from core import checkpoints, session
from core.figures.vocabulary import token_bars
from core.language.noise import RATES, Cut, Noise, changed, characters, cut
from core.table import Table
from core.ui.data_table import data_table
from core.ui.demos.demo import DemoView, paragraph, underlined
from core.ui.links import PageState
from core.ui.notices import sentences
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Integer

BYTES = 160
"""Bytes that are written at most, unless the visitor says otherwise."""
_WIDE = 4
RATE = Integer(name="rate", label="Noise rate", low=0, high=100, style="slider", format="%d %%", width=260)


def rate_of(kind: Noise, state: PageState) -> float | None:
    """How much noise, from 0 to 1; None for a kind that has no rate."""
    usual = RATES.get(kind)
    if usual is None:
        state.set(rate=None)
        return None
    standard = round(100 * usual)
    trained = f"The model was trained with up to {2 * standard} %."
    return RATE.with_(default=standard, high=_WIDE * standard, help=trained).draw(state, tag=kind) / 100


def respell_panel(view: DemoView, clean: str, given: str, written: str) -> None:
    """What the model changed, and the same texts as bytes and as subword tokens.

    Args:
        clean: the sentence before the noise.
        given: what the model read.
        written: what it generated.
    """
    _changes(view, clean, given, written)
    with sentences():
        cuts = _cuts(view.spec.slug, clean, given)
        said = "; ".join(f"{one.reader}: {len(one.clean)} clean, {len(one.noisy)} noisy" for one in cuts)
        rows = tuple(
            (one.reader, name, len(tokens), one.unknown if name == "noisy" else 0, " · ".join(tokens))
            for one in cuts
            for name, tokens in (("clean", one.clean), ("noisy", one.noisy))
        )
        Panel(
            "pieces",
            "Tokens of the clean and the noisy text, by bytes and by subwords",
            token_bars(cuts, view.accent, theme=theme()),
            f"Tokens of the clean and the noisy text. {said}.",
            Table(("tokenizer", "text", "tokens", "unknown", "pieces"), rows),
            heading=True,
        ).draw(view.state)
        if clean == given:
            view.note("Nothing corrupted")
        view.try_and_notice("bytes")
    _bytes(view, given)


def _changes(view: DemoView, clean: str, given: str, written: str) -> None:
    """The answer with what was changed underlined, and how far it is from the sentence before the noise."""
    style = f"font-weight:600;{underlined(view.accent)}"
    parts = [(text, style if new else "") for text, new in changed(given, written)]
    st.html(paragraph(parts, "margin:0", "Changed by the model, underlined"))
    if clean == given:
        edits = distance(given, written)
        st.caption("Unchanged." if not edits else f"{edits} characters were changed.")
        return
    left, before = distance(written, clean), distance(given, clean)
    st.caption(
        f"Edit distance to the clean sentence: noisy text {before}, generated text "
        + ("0, an exact reconstruction." if not left else f"{left}.")
    )


def _bytes(view: DemoView, given: str) -> None:
    """Every character that the model read with its bytes; most have one."""
    rows = characters(given)
    wide = [row for row in rows if len(row.bytes) > 1]
    with st.expander("Input bytes"):
        size = sum(len(row.bytes) for row in rows)
        more = f"{len(wide)} of them have more than one" if wide else "each has one"
        view.say("UTF-8", characters=len(rows), bytes=size, wide=more)
        data_table(
            [
                {
                    "character": "␣" if row.text == " " else row.text,
                    "name": row.name.lower(),
                    "bytes": " ".join(f"{value:02x}" for value in row.bytes),
                    "ids": " ".join(str(value + 3) for value in row.bytes),
                }
                for row in rows
            ],
            "bytes",
            alt="Each character with its name, its bytes and their ids",
        )


@session.cached("Tokenizing both texts")
def _cuts(slug: str, clean: str, given: str) -> tuple[Cut, ...]:
    ready = {spec.slug for spec in checkpoints.available() if spec.ready}
    return tuple(
        cut(session.checkpoint(reader), clean, given)
        for reader in (slug, *checkpoints.first("respell"))
        if reader == slug or reader in ready
    )
