"""Objectives of encoder-decoders: spans with sentinels, the five corruptions, gap sentences."""

from __future__ import annotations

import re
from typing import get_args

import streamlit as st

from core.language.text import sentences
from core.objectives import denoising, gaps, sentinels
from core.table import Table
from core.ui.export import download_csv
from core.ui.objectives import live
from core.ui.objectives.entry import RATE, Entry, Given, Stage
from core.ui.param import Choice, Integer, Words
from core.ui.section import View
from core.ui.text_table import TextTable, text_table

MEAN = Integer(name="mean", label="Mean span length", default=3, low=1, high=10, width=140)
DAMAGE = Words(
    name="damage",
    label="Corruptions",
    default=("infill",),
    options={
        "permute": "Sentence permutation",
        "rotate": "Document rotation",
        "delete": "Token deletion",
        "mask": "Token masking",
        "infill": "Text infilling",
    },
    most=5,
    may_be_empty=True,
)
CHOOSE = Choice(
    name="choose",
    label="Sentence selection",
    options={
        "ind-orig": "Principal, each by itself (Ind-Orig)",
        "ind-uniq": "Principal, words counted once (Ind-Uniq)",
        "seq-orig": "Principal, one after the other (Seq-Orig)",
        "seq-uniq": "Both (Seq-Uniq)",
        "lead": "The first ones",
        "random": "Random",
    },
    width=160,
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def _sentences(given: Given) -> list[tuple[str, ...]]:
    """The sentences of the text as pieces."""
    return [tuple(token.piece for token in given.cut(part)) for part in sentences(given.text)]


def _sentinels(given: Given) -> tuple[Stage, ...]:
    example = sentinels.corrupt(
        [token.piece for token in given.tokens],
        given.rng(),
        rate=given.number("rate") / 100,
        mean=float(given.number("mean")),
        special=given.special,
    )
    return (Stage(example),)


def _denoised(given: Given) -> tuple[Stage, ...]:
    kinds = [kind for kind in given.word("damage").split(",") if kind]
    example = denoising.corrupt(_sentences(given), given.rng(), kinds, special=given.special)
    note = "" if kinds else "No corruption is chosen: the decoder copies."
    return (Stage(example, note=note),)


def _chosen(given: Given) -> tuple[list[list[str]], tuple[int, ...], gaps.Choice]:
    """The words of each sentence, the sentences to take out, and how they were found."""
    how: gaps.Choice = next(name for name in get_args(gaps.Choice) if name == given.word("choose"))
    words = [_WORD.findall(part) for part in sentences(given.text)]
    if len(words) < 2:
        return words, (), how
    return words, gaps.choose(words, given.rng(), how, given.number("rate") / 100), how


def _gaps(given: Given) -> tuple[Stage, ...]:
    return (Stage(gaps.corrupt(_sentences(given), given.rng(), chosen=_chosen(given)[1], special=given.special)),)


def _scores(view: View, given: Given, stages: tuple[Stage, ...]) -> None:
    """ROUGE1-F1 of every sentence against the others, and which were taken out."""
    words, chosen, how = _chosen(given)
    scores = zip(sentences(given.text), gaps.scores(words, unique=how.endswith("uniq")), strict=True)
    found = [(part, score, number in chosen) for number, (part, score) in enumerate(scores)]
    st.markdown("**ROUGE1-F1 of each sentence against the others**")
    rows = [(part, f"{score:.2f}", "removed" if gone else "kept") for part, score, gone in found]
    text_table(TextTable(("Sentence", "ROUGE1-F1", ""), rows, "Every sentence with its score", (66, 17, 17), (1,)))
    table = Table(("sentence", "ROUGE1-F1", "removed"), tuple(found))
    download_csv(table, "gap-sentences", view.state.key("gaps.csv"))
    if how.startswith("seq"):
        view.note("One after the other")


SENTINELS = Entry(
    "sentinels",
    "encoder-decoder",
    _sentinels,
    settings=(RATE, MEAN),
)
DENOISE = Entry(
    "denoise",
    "encoder-decoder",
    _denoised,
    live.by("written"),
    settings=(DAMAGE,),
    several=True,
)
GAPS = Entry(
    "gaps",
    "encoder-decoder",
    _gaps,
    settings=(
        CHOOSE,
        RATE.with_(label="Gap-sentence ratio, %", default=30, low=10, high=70),
    ),
    more=_scores,
    several=True,
)
