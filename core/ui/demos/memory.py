"""Transformer-XL's demo: a story processed in segments, with and without the memory of earlier segments."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import streamlit as st

from core import links
from core.figures.bars import saved_alt, saved_bars
from core.language.guesses import among
from core.language.segments import MAX_READ, MemoryReading, compare, longest_memory
from core.language.tokens import words
from core.table import Table
from core.ui.demos.cover import Judge
from core.ui.demos.demo import Demo, DemoView, decimals
from core.ui.glossary import info
from core.ui.links import page_link
from core.ui.page import theme
from core.ui.param import Choice, Integer, Text

TEXT = Text(name="passage", label="Text, longer than a segment", height=150)
SEGMENT = Choice(
    name="segment",
    label="Segment length, tokens",
    default="64",
    options={length: length for length in ("16", "32", "64", "128")},
    style="row",
)
WITH, WITHOUT, SAVED = "bits with the memory", "bits without", "saved"
MEMORY = Integer(name="memory", label="Memory length, tokens", default=4096, low=1, high=4096, style="slider")


def draw_memory(view: DemoView) -> None:
    state = view.state
    text = TEXT.with_(default=view.words.label("story")).draw(state)
    longest = longest_memory(view.checkpoint.model) or MAX_READ
    left, right = st.columns([1, 2], gap="large")
    with left:
        segment = int(SEGMENT.draw(state))
    with right:
        memory = MEMORY.with_(high=longest, default=longest).draw(state)
    reading = view.computed("reading-the-text-three-times", compare, text, segment=segment, memory=memory)
    question = (text, reading.segment, reading.memory)
    # One segment remembers nothing, so that there is nothing to guess.
    single = len(reading.tokens) <= reading.segment
    if single or view.uncovered(view.words.label("guess"), _judge(reading, view), *question):
        _picture(view, reading)
        if not single:
            _by_position(view, reading)
    _reach(view, reading)
    query, _ = links.write_query("vectors", {"tab": "places", "kind": "relative", "asked": view.spec.slug})
    page_link("vectors", view.words.label("terms"), query, icon=":material/grid_on:")
    beyond = view.spec.source == "bundled" and reading.segment + reading.memory > 256
    view.how_it_works(
        "How it works",
        "Reach",
        notes=["Trained"] if beyond else [],
        segment=reading.segment - 1,
        memory=reading.memory,
        tokens=len(reading.tokens),
    )


def _judge(reading: MemoryReading, view: DemoView) -> Judge:
    """The verdict on a guessed word: its rank by bits saved by the memory, after the first segment."""
    saved: dict[int, float] = {}
    texts: dict[int, str] = {}
    for at, (token, number) in enumerate(zip(reading.tokens, words(reading.tokens), strict=True)):
        if at >= reading.segment:
            saved[number] = saved.get(number, 0.0) + float(reading.without[at] - reading.with_memory[at])
            texts[number] = texts.get(number, "") + token.text
    order = sorted(saved, key=lambda number: -saved[number])

    def judge(guess: str) -> str:
        at = among(guess, [texts[number] for number in order])
        if at is None:
            return view.words.part("Guess: no such word")
        part = "Guess: right" if at == 0 else "Guess: wrong"
        return view.words.part(part, bits=f"{saved[order[at]]:.1f}", rank=f"{at + 1:,}", count=f"{len(order):,}")

    return judge


def _picture(view: DemoView, reading: MemoryReading) -> None:
    """Draw the bars, and the mean surprisal after the first segment."""
    saved = (reading.without - reading.with_memory).tolist()
    tokens = [token.text for token in reading.tokens]
    columns = {
        "token": range(1, len(tokens) + 1),
        "reads": tokens,
        "segment": [at // reading.segment + 1 for at in range(len(tokens))],
        WITH: reading.with_memory,
        WITHOUT: reading.without,
        SAVED: saved,
    }
    figure = saved_bars(tokens, saved, reading.segment, view.accent, theme=theme())
    view.picture("bits-by-token", figure, Table.from_columns(columns), alt=saved_alt(saved, reading.segment))
    if len(saved) <= reading.segment:
        info(view.words.part("One segment", tokens=len(saved)))
        return
    later = slice(reading.segment, None)
    means = (reading.with_memory[later].mean(), reading.without[later].mean())
    view.say("Result", memory=f"{means[0]:.2f}", without=f"{means[1]:.2f}")
    view.try_and_notice()


def _by_position(view: DemoView, reading: MemoryReading) -> None:
    """Means over the segments after the first by the position in the segment: 1 to 4, 5 to 8, 9 to 16 and so on."""
    bounds = [0, *(4 * 2**n for n in range(8) if 4 * 2**n < reading.segment), reading.segment]
    later = np.arange(reading.segment, len(reading.tokens))
    rows = []
    for first, last in pairwise(bounds):
        inside = later[(later % reading.segment >= first) & (later % reading.segment < last)]
        if inside.size:
            with_memory, without = reading.with_memory[inside].mean(), reading.without[inside].mean()
            rows.append(
                {
                    "position in its segment": f"{first + 1}–{last}",
                    "tokens": inside.size,
                    WITH: with_memory,
                    WITHOUT: without,
                    SAVED: without - with_memory,
                }
            )
    view.data_table("bits-by-position", rows, decimals(WITH, WITHOUT, SAVED))


def _reach(view: DemoView, reading: MemoryReading) -> None:
    """Draw the distance of the farthest key, and the reach of information through several layers."""
    count = len(reading.furthest_influence)
    st.subheader(view.words.label("reach"), anchor=False)
    rows = [
        {
            "layers combined": "the top layer" if n == 1 else f"the top {n}",
            "the furthest key of a layer": reading.furthest_key[count - n],
            "the furthest influence on the last token": reading.furthest_influence[n - 1],
        }
        for n in range(1, count + 1)
    ]
    view.data_table("memory-reach", rows)


MEMORY_DEMO = Demo("memory", draw_memory, ("memory",), (TEXT, SEGMENT, MEMORY))
