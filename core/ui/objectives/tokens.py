"""Objectives of encoders that mask tokens, alone or as words, spans and entities, or that shuffle them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from core.errors import InputUnusable
from core.figures.masks import epoch_map, epoch_table
from core.objectives import epochs, knowledge, masked, ngrams, spans, whole_words, word_order
from core.objectives.example import Example, tally
from core.table import Table
from core.ui.grid import Column, Grid
from core.ui.objectives.entry import RATE, Entry, Inputs, Share, Stage, losses_by, style
from core.ui.objectives.picture import shown
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Choice, Integer, Text
from core.ui.section import View

_LENGTHS = 4_000
MASKING = Choice(
    name="masking", label="Masks", options={"static": "static (BERT)", "dynamic": "dynamic (RoBERTa)"}, width=160
)
EPOCH = Integer(name="epoch", label="Epoch", default=1, low=1, high=epochs.EPOCHS, width=140)
COPIES = Integer(name="copies", label="Copies", default=epochs.COPIES, low=1, high=epochs.EPOCHS, width=140)
LONGEST = Integer(name="longest", label="Longest span", default=spans.LONGEST, low=1, high=spans.LONGEST, width=140)
NGRAM = Integer(name="ngram", label="Longest n-gram", default=ngrams.LONGEST, low=1, high=6, width=150)
LEVEL = Choice(
    name="level",
    label="Level",
    default="entity",
    options={"basic": "basic", "phrase": "phrase", "entity": "entity"},
    width=160,
)
UNITS = Text(name="units", label="Units of your own", width=340)
WITH_MASKS = Choice(name="both", label="Masked tokens", options={"yes": "included", "no": "left out"}, width=160)


Draw = Callable[[Inputs, Sequence[str], np.random.Generator], Example]
"""A function of the text, the vocabulary of random tokens and a generator that returns one example."""


def usual(inputs: Inputs) -> dict[str, Any]:
    """The settings common to objectives on masked tokens."""
    return {"rate": inputs.number("rate") / 100, "mask": inputs.frame["mask"], "fixed": inputs.fixed}


def masked_example(inputs: Inputs, vocabulary: Sequence[str], rng: np.random.Generator) -> Example:
    """The framed text with single tokens masked."""
    return masked.corrupt(inputs.framed, vocabulary, rng, **usual(inputs))


def once(draw: Draw) -> Callable[[Inputs], tuple[Stage, ...]]:
    """A single stage with one example."""
    return lambda inputs: (Stage(draw(inputs, inputs.vocabulary, inputs.rng())),)


def _fates(draw: Draw) -> Callable[[Inputs], tuple[Share, ...]]:
    """The share of tokens with a loss and how they were changed, with the published ones."""

    def shares(inputs: Inputs) -> tuple[Share, ...]:
        counts = tally(lambda rng: draw(inputs, ("x",), rng))
        return (
            Share("tokens with a loss", 100 * counts.share, inputs.number("rate")),
            Share("of these, [MASK]", 100 * counts.change("masked"), 80.0),
            Share("of these, a random token", 100 * counts.change("random"), 10.0),
            Share("of these, unchanged", 100 * counts.change("unchanged"), 10.0),
        )

    return shares


def _epoch(inputs: Inputs) -> tuple[Stage, ...]:
    static = inputs.word("masking") == "static"
    epoch, copies = inputs.number("epoch"), inputs.number("copies")
    example = epochs.corrupt(
        inputs.framed, inputs.vocabulary, inputs.rng(), epoch, copies=copies if static else None, **usual(inputs)
    )
    title = (
        inputs.say("Static epoch", epoch=epoch, copy=(epoch - 1) % copies + 1, copies=copies)
        if static
        else inputs.say("Dynamic epoch", epoch=epoch)
    )
    return (Stage(example, title),)


def _all_epochs(view: View, inputs: Inputs, stages: tuple[Stage, ...]) -> None:
    """The masks of the text over all epochs, static and dynamic, and the share of the text that each covers."""
    kind, copies, rate = style(inputs.slug), inputs.number("copies"), inputs.number("rate") / 100
    names = [shown(token, kind, position in inputs.fixed) for position, token in enumerate(inputs.framed)]
    free = masked.ordinary(len(names), inputs.fixed)
    for column, (masking, count) in zip(
        st.columns(2, gap="large"), (("static", copies), ("dynamic", epochs.EPOCHS)), strict=True
    ):
        # The generator is fresh, so that the first epochs of both are the same.
        chosen = epochs.masks(len(names), epochs.EPOCHS, inputs.rng(), copies=count, rate=rate, fixed=inputs.fixed)
        distinct = len({row.tobytes() for row in chosen})
        covered = float(np.mean(chosen[:, free].any(axis=0))) if free else 0.0
        here = inputs.number("epoch") if masking == inputs.word("masking") else None
        with column:
            Panel(
                f"{masking}-masks",
                inputs.say("Masks", masking=masking.capitalize(), distinct=distinct, epochs=epochs.EPOCHS),
                epoch_map(chosen, names, accent("encoder"), theme=theme(), here=here),
                inputs.say("Masks: alt", masking=masking, distinct=distinct),
                Table.from_records(epoch_table(chosen, names)),
                view.words.part(
                    "Coverage",
                    asked=f"{100 * covered:.0f}",
                    rate=f"{rate:.2f}",
                    draws=count,
                    expected=f"{100 * (1 - (1 - rate) ** count):.1f}",
                ),
                heading=True,
            ).draw(view.state)


def _whole(inputs: Inputs, vocabulary: Sequence[str], rng: np.random.Generator) -> Example:
    return whole_words.corrupt(inputs.framed, inputs.words, vocabulary, rng, **usual(inputs))


def _spans(inputs: Inputs, vocabulary: Sequence[str], rng: np.random.Generator) -> Example:
    longest = inputs.number("longest")
    return spans.corrupt(inputs.framed, inputs.words, vocabulary, rng, longest=longest, **usual(inputs))


def _borders(view: View, inputs: Inputs, stages: tuple[Stage, ...]) -> None:
    """The boundary tokens from which each masked token is predicted a second time."""
    cells, kind = stages[0].example.source, style(inputs.slug)
    borders = spans.boundaries(stages[0].example)
    if not borders:
        return

    def name(at: int) -> str:
        return f"{shown(cells[at].token, kind, cells[at].change == 'special')} ({at})"

    def target(row: tuple[int, int, int, int]) -> str:
        return f"{shown(cells[row[0]].target or '', kind)} ({row[0]})"

    def predicted_from(row: tuple[int, int, int, int]) -> str:
        return f"{name(row[1])} and {name(row[2])}, distance {row[3]}"

    columns: tuple[Column[tuple[int, int, int, int]], ...] = (
        Column("Target (position)", lambda row: cells[row[0]].target, width=24, name="target", cell=target),
        Column("position", lambda row: row[0]),
        Column("First loss: predicted from", lambda row: f"its own state, h{row[0]}", width=28, name=""),
        Column("left boundary", lambda row: cells[row[1]].token),
        Column("right boundary", lambda row: cells[row[2]].token),
        Column("distance", lambda row: row[3]),
        Column("Second loss: predicted from the boundaries", predicted_from, width=48, name=""),
    )
    Grid(view.words.label("boundaries"), columns, borders).draw("span-borders", view.state.key("spans.csv"))


def _ngrams(inputs: Inputs, vocabulary: Sequence[str], rng: np.random.Generator) -> Example:
    longest = inputs.number("ngram")
    return ngrams.corrupt(inputs.framed, inputs.words, vocabulary, rng, longest=longest, **usual(inputs))


def _span_shares(inputs: Inputs) -> tuple[Share, ...]:
    return (*_fates(_spans)(inputs), *_lengths(spans.chances(inputs.number("longest"))))


def _ngram_shares(inputs: Inputs) -> tuple[Share, ...]:
    return (*_fates(_ngrams)(inputs), *_lengths(ngrams.chances(inputs.number("ngram"))))


def _lengths(law: NDArray[np.float64]) -> tuple[Share, ...]:
    """Sampled lengths of spans, in words, and the probabilities that they are sampled with."""
    sampled = spans.lengths(_LENGTHS, np.random.default_rng(0), law)
    lengths = np.arange(1, len(law) + 1)
    return (
        Share("mean sampled length, in words", float(sampled.mean()), float(lengths @ law), ""),
        *(
            Share(f"spans of {length}", 100 * float(np.mean(sampled == length)), 100 * float(chance))
            for length, chance in zip(lengths, law, strict=True)
        ),
    )


def _units(inputs: Inputs) -> tuple[tuple[int, ...], ...]:
    """The positions in the framed text of each unit that can be masked."""
    level = inputs.word("level")
    typed = [part.strip() for part in inputs.word("units").split(",") if part.strip()]
    if level == "basic":
        runs: tuple[tuple[int, ...], ...] = tuple((number,) for number in range(len(inputs.spelled)))
    elif typed:
        runs = knowledge.marked(inputs.spelled, typed)
    else:
        runs = knowledge.phrases(inputs.spelled) if level == "phrase" else knowledge.entities(inputs.spelled)
    return tuple(tuple(position for position, number in enumerate(inputs.words) if number in run) for run in runs)


def _masked_units(inputs: Inputs, vocabulary: Sequence[str], rng: np.random.Generator) -> Example:
    return knowledge.corrupt(inputs.framed, _units(inputs), vocabulary, rng, **usual(inputs))


def _knowledge(inputs: Inputs) -> tuple[Stage, ...]:
    units, level = _units(inputs), inputs.word("level")
    if not units:
        raise InputUnusable(
            "The typed units do not occur in this text. Type words as the text has them, with commas between the units."
            if inputs.word("units").strip()
            else f"The rule finds no {level} in this text. Type the units yourself, under Settings, with commas "
            "between them."
        )
    example = _masked_units(inputs, inputs.vocabulary, inputs.rng())
    kind = style(inputs.slug)
    names = "; ".join(" ".join(shown(inputs.framed[position], kind) for position in unit) for unit in units)
    plural = {"phrase": "phrases", "entity": "entities"}
    return (Stage(example, note=f"Detected {plural[level]}: {names}." if level in plural else "", reveals=True),)


def _shuffled(inputs: Inputs) -> tuple[Stage, ...]:
    rate = 0.15 if inputs.word("both") == "yes" else 0.0
    example = word_order.corrupt(
        inputs.framed, inputs.vocabulary, inputs.rng(), rate=rate, mask=inputs.frame["mask"], fixed=inputs.fixed
    )
    groups = {cell.group for cell in example.source if cell.group is not None}
    masks = {position for position in example.targets if example.source[position].group is None}
    free = len(word_order.windows(len(example.source), inputs.fixed | masks))
    note = inputs.say("Shuffled", count=len(groups), free=free) if groups else inputs.say("Nothing shuffled")
    return (Stage(example, note=note),)


def _shuffled_shares(inputs: Inputs) -> tuple[Share, ...]:
    counts = tally(lambda rng: word_order.corrupt(inputs.framed, ("x",), rng, rate=0.0, fixed=inputs.fixed))
    free = len(word_order.windows(len(inputs.framed), inputs.fixed))
    share = counts.groups / counts.draws / free if free else 0.0
    return (Share("trigrams shuffled, no token masked (at least one)", 100 * share, 5.0),)


MASKED = Entry(
    "masked", "encoder", once(masked_example), losses_by("masks"), settings=(RATE,), shares=_fates(masked_example)
)
EPOCHS = Entry(
    "epochs",
    "encoder",
    _epoch,
    losses_by("masks"),
    settings=(EPOCH,),
    rare=(MASKING, RATE, COPIES),
    more=_all_epochs,
)
WHOLE_WORDS = Entry("whole-words", "encoder", once(_whole), losses_by("masks"), settings=(RATE,), shares=_fates(_whole))
SPANS = Entry(
    "spans",
    "encoder",
    once(_spans),
    losses_by("masks"),
    settings=(RATE,),
    rare=(LONGEST,),
    shares=_span_shares,
    more=_borders,
    several=True,
)
NGRAMS = Entry(
    "ngrams",
    "encoder",
    once(_ngrams),
    losses_by("masks"),
    settings=(NGRAM,),
    rare=(RATE,),
    shares=_ngram_shares,
    several=True,
)
KNOWLEDGE = Entry(
    "knowledge",
    "encoder",
    _knowledge,
    losses_by("masks"),
    settings=(LEVEL,),
    rare=(RATE, UNITS),
    shares=lambda inputs: _fates(_masked_units)(inputs) if _units(inputs) else (),
    several=True,
)
WORD_ORDER = Entry(
    "word-order",
    "encoder",
    _shuffled,
    losses_by("masks", "orders"),
    settings=(WITH_MASKS,),
    shares=_shuffled_shares,
    several=True,
)
