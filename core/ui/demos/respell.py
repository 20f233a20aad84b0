"""Beside a sentence set right byte by byte: what changed, and what the noise cost readers of bytes and of subwords."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import streamlit as st
from rapidfuzz.distance.Levenshtein import distance

from core import checkpoints, session
from core.checkpoints.spec import Checkpoint
from core.language.bytewise import Cut, characters, cut
from core.language.noise import RATES, Noise, changed
from core.ui.chart import chart
from core.ui.data_table import data_table
from core.ui.glossary import told
from core.ui.page import accent, sentences, theme

if TYPE_CHECKING:
    from core.ui.links import PageState

BRANCH = "encoder-decoder"
BYTES = 160
"""Bytes that are written at most, unless the visitor says otherwise."""
_WIDE = 4


def rate_slider(kind: Noise, state: PageState) -> float | None:
    """How much noise, from 0 to 1; None for a kind that has no rate."""
    usual = RATES.get(kind)
    if usual is None:
        state.set(rate=None)
        return None
    standard = round(100 * usual)
    slot = state.key(f"respell.rate.{kind}")
    if slot not in st.session_state:
        st.session_state[slot] = min(state.number("rate", standard), _WIDE * standard)
    chosen = int(
        st.slider(
            "Letters hit",
            0,
            _WIDE * standard,
            key=slot,
            persist_state="page",
            format="%d %%",
            width=260,
            help=f"The model was trained with up to {2 * standard} %.",
        )
    )
    state.set(rate=None if chosen == standard else chosen)
    return chosen / 100


def respell_panel(checkpoint: Checkpoint, clean: str, given: str, written: str, state: PageState) -> None:
    """What the model changed, and the same texts as bytes and as pieces.

    Args:
        clean: the sentence before the noise.
        given: what the model read.
        written: what it wrote.
    """
    _changes(clean, given, written)
    told("**What the noise costs a reader of bytes, and readers of subwords**")
    with sentences():
        cuts = _cuts(checkpoint.spec.slug, clean, given)
        _bars(cuts, state)
        if clean == given:
            st.caption("Nothing was damaged here, so both texts are the same. Choose a damage to see what it costs.")
        told(
            "**Try** random case, then the same sentence in A N T S P E A K.\n\n"
            "**Notice** that a wrong letter changes a byte or two, and breaks a word into many pieces that were learnt "
            "for other words. Atlas BERT makes all letters small before it cuts, so capitals cost it nothing and "
            "tell it nothing. The price of bytes is the length: four or five of them for each piece of clean English."
        )
        _table(cuts)
    _bytes(given)


def _changes(clean: str, given: str, written: str) -> None:
    """The answer with what was changed underlined, and how far it is from the sentence before the noise."""
    line = f"font-weight:600;text-decoration:underline 2px {accent(BRANCH)};text-underline-offset:.28em"
    parts = "".join(
        f'<span style="{line}">{html.escape(text)}</span>' if new else html.escape(text)
        for text, new in changed(given, written)
    )
    st.html(
        f'<p dir="auto" style="margin:0;overflow-wrap:anywhere"><small>Changed by the model, underlined</small><br>'
        f"{parts}</p>"
    )
    if clean == given:
        edits = distance(given, written)
        st.caption("Left as it was." if not edits else f"{edits} characters were changed.")
        return
    left, before = distance(written, clean), distance(given, clean)
    st.caption(
        f"From the sentence before the damage the noisy one is {before} edits away, and the written one "
        + ("none: it is exactly right." if not left else f"{left}.")
    )


def _bars(cuts: tuple[Cut, ...], state: PageState) -> None:
    """Tokens of the clean and of the noisy text for each reader."""
    from core.figures.vocabulary import token_bars

    said = "; ".join(f"{one.reader}: {len(one.clean)} clean, {len(one.noisy)} noisy" for one in cuts)
    chart(
        token_bars(cuts, accent(BRANCH), theme=theme()),
        key=state.key("respell.bars"),
        alt=f"Tokens of the clean and the noisy text. {said}.",
    )


def _table(cuts: tuple[Cut, ...]) -> None:
    with st.expander("The pieces as a table"):
        data_table(
            [
                {
                    "read by": one.reader,
                    "text": name,
                    "tokens": len(tokens),
                    "unknown": one.unknown if name == "noisy" else 0,
                    "pieces": " · ".join(tokens),
                }
                for one in cuts
                for name, tokens in (("clean", one.clean), ("noisy", one.noisy))
            ],
            "pieces",
            alt="The pieces of both texts for each reader",
        )


def _bytes(given: str) -> None:
    """Every character that the model read with its bytes; most have one."""
    rows = characters(given)
    wide = [row for row in rows if len(row.bytes) > 1]
    with st.expander("The bytes that it read"):
        st.markdown(
            f"{len(rows)} characters are {sum(len(row.bytes) for row in rows)} bytes in UTF-8"
            + (f"; {len(wide)} of them have more than one." if wide else "; each has one.")
            + " A byte's id is its value plus 3. Type é, ß or an emoji to see two to four."
        )
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


@st.cache_data(max_entries=128, ttl=3600.0, show_spinner="Cutting both texts")
def _cuts(slug: str, clean: str, given: str) -> tuple[Cut, ...]:
    ready = {spec.slug for spec in checkpoints.available() if spec.ready}
    return tuple(
        cut(session.checkpoint(reader), clean, given)
        for reader in (slug, *checkpoints.first("respell"))
        if reader == slug or reader in ready
    )
