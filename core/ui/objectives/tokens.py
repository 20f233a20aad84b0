"""Objectives of encoders that hide tokens, alone or as words, spans and entities, or that shuffle them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import streamlit as st

from core.errors import InputUnusable
from core.figures.masks import epoch_map, epoch_table
from core.objectives import epochs, knowledge, masked, spans, whole_words, word_order
from core.objectives.example import Cell, Example
from core.objectives.shares import tally
from core.table import Table
from core.ui.export import download_csv
from core.ui.objectives import live
from core.ui.objectives.entry import RATE, Entry, Given, Share, Stage, style
from core.ui.objectives.picture import shown
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Choice, Integer, Text
from core.ui.section import View
from core.ui.text_table import TextTable, text_table

_LENGTHS = 4_000
MASKING = Choice(
    name="masking", label="Masks", options={"static": "static (BERT)", "dynamic": "dynamic (RoBERTa)"}, width=160
)
EPOCH = Integer(name="epoch", label="Epoch", default=1, low=1, high=epochs.EPOCHS, width=140)
COPIES = Integer(name="copies", label="Copies", default=epochs.COPIES, low=1, high=epochs.EPOCHS, width=140)
LONGEST = Integer(name="longest", label="Longest span", default=spans.LONGEST, low=1, high=spans.LONGEST, width=140)
LEVEL = Choice(
    name="level",
    label="Level",
    default="entity",
    options={"basic": "basic", "phrase": "phrase", "entity": "entity"},
    width=160,
)
UNITS = Text(name="units", label="Units of your own", width=340)
WITH_MASKS = Choice(name="both", label="Masked tokens", options={"yes": "as well", "no": "left out"}, width=160)


Draw = Callable[[Given, Sequence[str], np.random.Generator], Example]
"""One example: of the text, of the vocabulary that random tokens come from, drawn with the generator."""


def usual(given: Given) -> dict[str, Any]:
    """What every objective that hides tokens of the framed text is told."""
    return {"rate": given.number("rate") / 100, "mask": given.frame["mask"], "fixed": given.fixed}


def masked_example(given: Given, vocabulary: Sequence[str], rng: np.random.Generator) -> Example:
    """The framed text with single tokens hidden."""
    return masked.corrupt(given.framed, vocabulary, rng, **usual(given))


def once(draw: Draw) -> Callable[[Given], tuple[Stage, ...]]:
    """A single stage: one draw with the visitor's seed."""
    return lambda given: (Stage(draw(given, given.vocabulary, given.rng())),)


def _fates(draw: Draw) -> Callable[[Given], tuple[Share, ...]]:
    """The share of tokens with a loss and what became of them, against the published ones."""

    def shares(given: Given) -> tuple[Share, ...]:
        found = tally(lambda rng: draw(given, ("x",), rng))
        return (
            Share("tokens with a loss", 100 * found.share, given.number("rate")),
            Share("of these, [MASK]", 100 * found.change("masked"), 80.0),
            Share("of these, a random token", 100 * found.change("random"), 10.0),
            Share("of these, unchanged", 100 * found.change("unchanged"), 10.0),
        )

    return shares


def _epoch(given: Given) -> tuple[Stage, ...]:
    static = given.word("masking") == "static"
    epoch, copies = given.number("epoch"), given.number("copies")
    example = epochs.corrupt(
        given.framed, given.vocabulary, given.rng(), epoch, copies=copies if static else None, **usual(given)
    )
    seen = f"copy {(epoch - 1) % copies + 1} of {copies}" if static else "sampled for this epoch alone"
    return (Stage(example, f"Epoch {epoch}: {seen}"),)


def _all_epochs(view: View, given: Given, stages: tuple[Stage, ...]) -> None:
    """The masks of the text over all epochs, static beside dynamic, and how much of the text each has asked."""
    kind, copies, rate = style(given.slug), given.number("copies"), given.number("rate") / 100
    names = [shown(token, kind, place in given.fixed) for place, token in enumerate(given.framed)]
    free = [place for place in range(len(names)) if place not in given.fixed]
    for column, (way, held) in zip(st.columns(2, gap="large"), (("static", copies), ("dynamic", None)), strict=True):
        # The generator is fresh, so that the first epochs of both are the same.
        asked = epochs.masks(len(names), epochs.EPOCHS, given.rng(), copies=held, rate=rate, fixed=given.fixed)
        distinct = len({row.tobytes() for row in asked})
        once = float(np.mean(asked[:, free].any(axis=0))) if free else 0.0
        draws = min(held or epochs.EPOCHS, epochs.EPOCHS)
        here = given.number("epoch") if way == given.word("masking") else None
        with column:
            Panel(
                f"{way}-masks",
                f"{way.capitalize()}: {distinct} different masks in {epochs.EPOCHS} epochs",
                epoch_map(asked, names, accent("encoder"), theme=theme(), here=here),
                f"{way} masks: epochs by tokens, a filled cell is a target. {distinct} different masks.",
                Table.from_records(epoch_table(asked, names)),
                view.words.part(
                    "Coverage",
                    asked=f"{100 * once:.0f}",
                    rate=f"{rate:.2f}",
                    draws=draws,
                    expected=f"{100 * (1 - (1 - rate) ** draws):.1f}",
                ),
                heading=True,
            ).draw(view.state)


def _whole(given: Given, vocabulary: Sequence[str], rng: np.random.Generator) -> Example:
    return whole_words.corrupt(given.framed, given.words, vocabulary, rng, **usual(given))


def _spans(given: Given, vocabulary: Sequence[str], rng: np.random.Generator) -> Example:
    longest = given.number("longest")
    return spans.corrupt(given.framed, given.words, vocabulary, rng, longest=longest, **usual(given))


def _borders(view: View, given: Given, stages: tuple[Stage, ...]) -> None:
    """From where each hidden token is asked a second time."""
    cells, kind = stages[0].example.source, style(given.slug)

    def said(place: int) -> str:
        return f"{shown(cells[place].token, kind, cells[place].change == 'special')} ({place})"

    borders = spans.boundaries(stages[0].example)
    if not borders:
        return
    rows = tuple(
        (
            f"{shown(cells[b.place].target or '', kind)} ({b.place})",
            f"its own vector, h{b.place}",
            f"{said(b.left)} and {said(b.right)}, distance {b.distance}",
        )
        for b in borders
    )
    headings = ("target (position)", "first loss: predicted from", "second loss: predicted from its borders")
    text_table(TextTable(headings, rows, "Each masked token and what its two losses are predicted from", (24, 28, 48)))
    table = Table(
        ("target", "place", "left border", "right border", "distance"),
        tuple((cells[b.place].target, b.place, cells[b.left].token, cells[b.right].token, b.distance) for b in borders),
    )
    download_csv(table, "span-borders", view.state.key("spans.csv"))


def _span_shares(given: Given) -> tuple[Share, ...]:
    longest = given.number("longest")
    drawn = spans.lengths(_LENGTHS, np.random.default_rng(0), longest=longest)
    law = spans.chances(longest=longest)
    mean = float((np.arange(1, longest + 1) * law).sum())
    return (
        *_fates(_spans)(given),
        Share("mean sampled length, in words", float(drawn.mean()), mean, ""),
        *(
            Share(f"spans of {length}", 100 * float(np.mean(drawn == length)), 100 * float(law[length - 1]))
            for length in range(1, longest + 1)
        ),
    )


def _units(given: Given) -> tuple[tuple[int, ...], ...]:
    """The places in the framed text of each unit that the level lets be chosen."""
    level = given.word("level")
    typed = [part.strip() for part in given.word("units").split(",") if part.strip()]
    if level == "basic":
        runs: tuple[tuple[int, ...], ...] = tuple((number,) for number in range(len(given.spelled)))
    elif typed:
        runs = knowledge.marked(given.spelled, typed)
    else:
        runs = knowledge.phrases(given.spelled) if level == "phrase" else knowledge.entities(given.spelled)
    return tuple(tuple(place for place, number in enumerate(given.words) if number in run) for run in runs)


def _hidden_units(given: Given, vocabulary: Sequence[str], rng: np.random.Generator) -> Example:
    return knowledge.corrupt(given.framed, _units(given), vocabulary, rng, **usual(given))


def _knowledge(given: Given) -> tuple[Stage, ...]:
    units, level = _units(given), given.word("level")
    if not units:
        raise InputUnusable(
            "The typed units do not occur in this text. Type words as the text has them, with commas between the units."
            if given.word("units").strip()
            else f"The rule finds no {level} in this text. Type the units yourself, under More, with commas between "
            "them."
        )
    example = _hidden_units(given, given.vocabulary, given.rng())
    kind = style(given.slug)
    found = "; ".join(" ".join(shown(given.framed[place], kind) for place in unit) for unit in units)
    named = {"phrase": "phrases", "entity": "entities"}
    return (Stage(example, note=f"Found {named[level]}: {found}." if level in named else "", tells=True),)


def _shuffled(given: Given) -> tuple[Stage, ...]:
    rate = 0.15 if given.word("both") == "yes" else 0.0
    example = word_order.corrupt(
        given.framed, given.vocabulary, given.rng(), rate=rate, mask=given.frame["mask"], fixed=given.fixed
    )
    groups = {cell.group for cell in example.source if cell.change in ("moved", "unchanged") and cell.group is not None}
    free = len(word_order.windows(len(example.source), {*given.fixed, *_masked_places(example.source)}))
    if not groups:
        return (Stage(example, note="No three neighboring tokens are free here, so nothing is shuffled."),)
    return (Stage(example, note=f"Shuffled: {len(groups)} of {free} trigrams without a masked token."),)


def _masked_places(source: tuple[Cell, ...]) -> set[int]:
    return {place for place, cell in enumerate(source) if cell.target is not None and cell.group is None}


def _shuffled_shares(given: Given) -> tuple[Share, ...]:
    found = tally(lambda rng: word_order.corrupt(given.framed, ("x",), rng, rate=0.0, fixed=given.fixed))
    free = len(word_order.windows(len(given.framed), given.fixed))
    share = found.groups / found.draws / free if free else 0.0
    return (Share("trigrams shuffled, no token masked (one at least)", 100 * share, 5.0),)


MASKED = Entry(
    "masked",
    "encoder",
    once(masked_example),
    live.by("masks"),
    settings=(RATE,),
    shares=_fates(masked_example),
)
EPOCHS = Entry(
    "epochs",
    "encoder",
    _epoch,
    live.by("masks"),
    settings=(MASKING, EPOCH),
    rare=(RATE, COPIES),
    more=_all_epochs,
)
WHOLE_WORDS = Entry("whole-words", "encoder", once(_whole), live.by("masks"), settings=(RATE,), shares=_fates(_whole))
SPANS = Entry(
    "spans",
    "encoder",
    once(_spans),
    live.by("masks"),
    settings=(RATE,),
    rare=(LONGEST,),
    shares=_span_shares,
    more=_borders,
    several=True,
)
KNOWLEDGE = Entry(
    "knowledge",
    "encoder",
    _knowledge,
    live.by("masks"),
    settings=(LEVEL,),
    rare=(RATE, UNITS),
    shares=lambda given: _fates(_hidden_units)(given) if _units(given) else (),
    several=True,
)
WORD_ORDER = Entry(
    "word-order",
    "encoder",
    _shuffled,
    live.by("masks"),
    settings=(WITH_MASKS,),
    shares=_shuffled_shares,
    several=True,
)
