"""Beside a sentence set right byte by byte: what changed, and what the noise cost readers of bytes and of subwords."""

from __future__ import annotations

import streamlit as st
from rapidfuzz.distance.Levenshtein import distance

from core import checkpoints, session
from core.figures.vocabulary import token_bars
from core.language.noise import RATES, Cut, Noise, changed, characters, cut
from core.ui.demos.demo import DemoView, paragraph, underlined
from core.ui.notices import sentences
from core.ui.page import theme
from core.ui.param import Integer

BYTES = 160
"""Bytes that are written at most, unless the visitor says otherwise."""
_WIDE = 4
RATE = Integer(name="rate", label="Noise rate", low=0, high=100, style="slider", format="%d %%", width=260)


def rate_of(view: DemoView, kind: Noise) -> float | None:
    """How much noise, from 0 to 1; None for a kind that has no rate."""
    if kind not in RATES:
        view.state.set(rate=None)
        return None
    usual = round(100 * RATES[kind])
    trained = view.words.part("Rate", most=2 * usual)
    return RATE.with_(default=usual, high=_WIDE * usual, help=trained).draw(view.state, tag=kind) / 100


def respell_panel(view: DemoView, clean: str, source: str, output: str) -> None:
    """What the model changed, and the same texts as bytes and as subword tokens.

    Args:
        clean: the sentence before the noise.
        source: what the model read.
        output: what it generated.
    """
    _changes(view, clean, source, output)
    with sentences():
        cuts = _cuts(view.spec.slug, clean, source)
        counts = "; ".join(f"{one.reader}: {len(one.clean)} clean, {len(one.noisy)} noisy" for one in cuts)
        rows = [
            {
                "tokenizer": one.reader,
                "text": name,
                "tokens": len(tokens),
                "unknown": one.unknown if name == "noisy" else 0,
                "pieces": " · ".join(tokens),
            }
            for one in cuts
            for name, tokens in (("clean", one.clean), ("noisy", one.noisy))
        ]
        figure = token_bars(cuts, view.accent, theme=theme())
        view.picture("pieces", figure, rows, alt=f"Tokens of the clean and the noisy text. {counts}.")
        if clean == source:
            view.note("No corruption")
        view.try_and_notice("bytes")
    _bytes(view, source)


def _changes(view: DemoView, clean: str, source: str, output: str) -> None:
    """The output with what was changed underlined, and its edit distance to the sentence before the noise."""
    style = f"font-weight:600;{underlined(view.accent)}"
    parts = [(text, style if new else "") for text, new in changed(source, output)]
    st.html(paragraph(parts, "margin:0", "Changed by the model, underlined"))
    edits = distance(output, clean)
    if clean == source:
        view.note("Edits", edits=edits)
    else:
        view.note("Distance", before=distance(source, clean), after=edits)


def _bytes(view: DemoView, source: str) -> None:
    """Every character that the model read with its bytes; most have one."""
    rows = characters(source)
    with st.expander("Input bytes"):
        size, wide = sum(len(row.bytes) for row in rows), sum(len(row.bytes) > 1 for row in rows)
        view.say("UTF-8", characters=len(rows), bytes=size, wide=wide)
        view.data_table(
            "bytes",
            [
                {
                    "character": "␣" if row.text == " " else row.text,
                    "name": row.name.lower(),
                    "bytes": " ".join(f"{value:02x}" for value in row.bytes),
                    "ids": " ".join(str(value + 3) for value in row.bytes),
                }
                for row in rows
            ],
        )


@session.cached("Tokenizing both texts")
def _cuts(slug: str, clean: str, given: str) -> tuple[Cut, ...]:
    ready = {spec.slug for spec in checkpoints.available() if spec.ready}
    return tuple(
        cut(session.checkpoint(reader), clean, given)
        for reader in (slug, *checkpoints.first("respell"))
        if reader == slug or reader in ready
    )
