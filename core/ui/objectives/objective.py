"""One objective on the visitor's text: the damaged input above the target, and what a live model makes of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from html import escape

import streamlit as st

from core import checkpoints
from core.language.guesses import MAX_CHARS
from core.language.losses import BITS, Losses
from core.ui.demos.cover import SENTENCE_CHARS, switch, uncovered
from core.ui.export import download_html, heading, html_page
from core.ui.glossary import told
from core.ui.links import PageState
from core.ui.objectives import controls
from core.ui.objectives.answer_bars import answer_bars
from core.ui.objectives.below import below
from core.ui.objectives.entries import ENTRIES
from core.ui.objectives.entry import Entry, Given, Stage
from core.ui.objectives.given import given, question, style
from core.ui.objectives.guess import label_of, targets_judge
from core.ui.objectives.hide import asking, judges, open_targets
from core.ui.objectives.hide import covered as hide
from core.ui.objectives.picture import picture
from core.ui.page import accent, plain, sentences
from core.ui.text_box import text_box

_FEW = 6
"""More targets than that get a wider box for the guess."""
SETTINGS = frozenset(setting.name for entry in ENTRIES.values() for setting in entry.settings)


def objective(state: PageState) -> None:
    """Draw the section; reads and writes objective, text, seed, model, unit and the objective's settings."""
    names = {spec.slug: spec.name for spec in checkpoints.available()}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        entry = controls.choose_entry(ENTRIES, state)
        often = [setting for setting in entry.settings if not setting.rare]
        options = controls.settings(entry, often, state, SETTINGS)
        seed = controls.choose_seed(state) if entry.random else state.number("seed")
        with st.popover("More"):
            slug = controls.choose_model(entry, names, state)
            rare = [setting for setting in entry.settings if setting.rare]
            options |= controls.settings(entry, rare, state, SETTINGS)
            unit = controls.choose_unit(state)
        hidden = switch(state)
        live = controls.ask_relative(entry, names.get(slug, slug), state)
    told(f"**{entry.name}.** {entry.line}")
    # Covered, the sentence would be the answer: its box is shut, and opens for who wants another one.
    with st.expander("Your text" if entry.several else "Your sentence") if hidden else st.container():
        text = _text(entry, state)
    with sentences():
        asked = given(slug, text, seed, options)
        guessed = question(entry.slug, asked)
        if entry.ask is not None:
            asked = replace(asked, options={**options, **entry.ask(asked, state)})
        stages = entry.build(asked)
        answers = entry.answer(slug, stages, seed) if entry.answer and live else ()
        label, choices = label_of(stages)
        long = len(open_targets(asking(stages).example)) > _FEW
        covered = not uncovered(
            state,
            guessed,
            label,
            targets_judge(asked, stages),
            choices=choices,
            on=hidden,
            most=SENTENCE_CHARS if long else MAX_CHARS,
        )
        # While covered one stage is enough, if another one tells which places of it were chosen.
        seen = [replace(stage, example=hide(stage.example)) for stage in _untold(stages)] if covered else stages
        drawn = _draw(entry, asked, seen, () if covered else answers, unit, covered)
        title = entry.name if covered else f"{entry.name}: {asked.text}"
        download_html(html_page(title, drawn), entry.slug, state.key(f"html.{entry.slug}"))
        if entry.total is not None and answers and not covered:
            st.markdown(plain(entry.total(answers)))
        if entry.more is not None and not covered:
            entry.more(asked, stages)
        told(f"**Try** {entry.try_}\n\n**Notice** that {entry.notice}")
        st.caption(plain(f"{_about(entry, slug, names, live)} {_unknown(asked)}"))
        below(entry, asked, seen, answers, state, covered)


def _text(entry: Entry, state: PageState) -> str:
    """The visitor's text; a text of one's own stays when the objective changes."""
    return text_box(
        state,
        "text",
        "Your text" if entry.several else "Your sentence",
        entry.text,
        key=f"{entry.slug}.text",
        height=96 if entry.several else 68,
        placeholder="Several sentences" if entry.several else "A sentence",
        hidden_label=True,
    )


def _untold(stages: Sequence[Stage]) -> Sequence[Stage]:
    """The stages that may stand beside each other before the guess: a judge's alone, without what was hidden first."""
    return stages[-1:] if judges(stages[-1]) else stages


def _draw(
    entry: Entry, asked: Given, stages: Sequence[Stage], answers: Sequence[Losses], unit: str, covered: bool
) -> list[str]:
    """Draw the stages; returns what was drawn, as HTML."""
    colour, kind, drawn = accent(entry.branch), style(asked.slug), [f"<p>{escape(entry.line)}</p>"]
    for index, stage in enumerate(stages):
        losses = answers[index] if index < len(answers) else Losses()
        if stage.title:
            st.markdown(f"**{plain(stage.title)}**")
            drawn.append(heading(stage.title))
        example = stage.example
        told_alt = (
            f"{entry.name}: {len(example.asked)} of {len(example.source)} places carry a loss; the table has all."
        )
        ceiling = math.log(losses.options) if losses.options else 0.0
        drawn.append(
            picture(
                example.source,
                kind,
                colour,
                paid=losses.source or None,
                unit=unit,
                scale=ceiling,
                alt=told_alt,
            )
        )
        if example.decoder:
            st.markdown("**What the decoder reads, above what it must answer**")
            drawn.append(heading("What the decoder reads, above what it must answer"))
            drawn.append(
                picture(
                    example.decoder,
                    kind,
                    colour,
                    paid=losses.decoder or None,
                    unit=unit,
                    scale=ceiling,
                    alt=f"{entry.name}: the decoder's input and targets; the table has all.",
                )
            )
        for number, label in enumerate(example.labels):
            drawn.append(answer_bars(label, number, losses, colour, unit, covered))
        if legend := _legend(stage, losses, unit, covered):
            st.caption(plain(legend))
            drawn.append(f"<p>{escape(legend)}</p>")
    return drawn


def _legend(stage: Stage, losses: Losses, unit: str, covered: bool) -> str:
    """What the rows are, and what it cost in all, as plain text."""
    cells = (*stage.example.source, *stage.example.decoder)
    asks = sum(cell.target is not None for cell in cells)
    where = "where a question mark stands" if covered else f"at {asks} of {len(cells)} places"
    words = [f"Above: what the model reads. Below it: what it must answer, {where}."] if asks else []
    mean = losses.mean
    if mean is not None:
        size = BITS if unit == "bits" else 1.0
        words.append(f"Bars: −log p of the answer, mean {mean * size:.2f} {unit}; under them {stage.under}.")
        if losses.options:
            nothing = math.log(losses.options) * size
            words.append(f"A blind guess among {losses.options:,} {stage.among} costs {nothing:.1f} {unit}.")
    if stage.note and not (covered and stage.tells):
        words.append(stage.note)
    return " ".join(words)


def _unknown(asked: Given) -> str:
    """What became of words that the vocabulary cannot spell."""
    count = sum(token.piece == asked.frame.get("unknown") and not token.special for token in asked.tokens)
    if not count:
        return ""
    name = asked.frame["unknown"]
    return f"{count} {'word is' if count == 1 else 'words are'} not in its vocabulary: {name} stands for any of them."


def _about(entry: Entry, slug: str, names: dict[str, str], live: bool) -> str:
    name = names.get(slug, slug)
    said = entry.relative if live and entry.relative else entry.notes.get(slug, entry.about)
    if not live:
        ask = f" “Ask {name}, a relative” shows what the same places cost it." if entry.relative else ""
        return f"Cut by the tokeniser of {name}. {said}{ask}"
    return f"Cut and answered by {name}. {said}"
