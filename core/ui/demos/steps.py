"""Token-by-token generation: streaming, stopping, its steps, and continuing from an alternative token."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import session
from core.content import content
from core.figures.labels import percent
from core.figures.predictions import bars_alt, prediction_bars
from core.language.text import clean_prompt
from core.language.types import Decoding, GenerationStep, Token
from core.links import parameters as link
from core.table import Table
from core.ui.chips import token_chips
from core.ui.demos.demo import paragraph, underlined
from core.ui.glossary import caption
from core.ui.job import Job, job
from core.ui.links import PageState
from core.ui.page import accent, plain, theme
from core.ui.panel import chart, offer_chart
from core.ui.param import Carried
from core.ui.selection import rows
from core.ui.slot import Slot
from core.ui.tables import data_table
from core.words import visible

FORCED = Carried(name="forced", label="Tokens chosen by hand", as_=link.Integers(high=10**6, most=1_000))
"""The token ids up to and including the last token chosen by hand."""
CARET = "▏"
"""At the end of a text while it is generated."""
PAUSE = 0.04
"""Seconds between two drawings of the growing text, and as many more for each visitor who waits: drawing more often
would cost more than the model."""
Ids = tuple[int, ...]


@dataclass(slots=True)
class Generation:
    """One generation: its steps so far, and what it was asked for."""

    wanted: tuple[Any, ...]
    steps: list[GenerationStep] = field(default_factory=list)
    path: tuple[GenerationStep, ...] = ()
    """The steps of the final text; in beam search, ``steps`` may change from one hypothesis to another."""
    over: bool = False

    def ended(self, name: str) -> str:
        """Why the generation of the model called ``name`` stopped, in a sentence."""
        if not self.over:
            return "Stopped."
        return how_it_ended(self.steps[-1], name) if self.steps else ""


def by_hand(state: PageState, owner: object) -> Slot[Ids]:
    """The token ids chosen by hand; cleared when their ``owner``, the text and the vocabulary, changes."""
    return Slot(state, FORCED, (), owner=owner)


def grown(
    state: PageState,
    wanted: tuple[Any, ...],
    strategy: str,
    stream: Callable[[Ids], Iterator[GenerationStep]],
    replay: Callable[[Ids], tuple[GenerationStep, ...]],
    *,
    draw: Callable[[str, bool], None] | None,
    button: DeltaGenerator,
) -> Generation:
    """The generation identified by ``wanted``: from the previous run, from the shared cache, or streamed now.

    Visitors of one link share one generation: the first sees it grow, the others get it when it is complete.

    Args:
        wanted: identifies the generation; begins with the model's slug and ends with the token ids chosen by hand.
        strategy: beam search cannot be resumed half-way, since its other hypotheses are lost.
        stream: generates from the given token ids.
        replay: the steps of a text with the given token ids.
        draw: called with the text while it grows; None if the text may not be shown.
        button: a placeholder for Stop and Continue, above the text so that the growing text does not move it.
    """
    growing = job(state, "grown", wanted)
    run: Generation = growing.part or Generation(wanted)
    growing.part = run
    beam, forced = strategy == "beam", wanted[-1]

    def generate() -> tuple[tuple[GenerationStep, ...], tuple[GenerationStep, ...]]:
        generated = tuple(step.token.id for step in run.steps)
        if beam:
            run.steps.clear()
        resumed = stream(forced if beam or len(generated) < len(forced) else generated)
        growing.goes(button)  # once it is known that the ids can be read
        for step in resumed:
            if step.index < len(run.steps):
                continue
            run.steps.append(step)
            if draw and growing.due(PAUSE):
                draw(step.text, True)
        return tuple(run.steps), replay(run.steps[-1].ids) if beam and run.steps else tuple(run.steps)

    if not run.over and growing.going:
        run.path = ()
        steps, run.path = session.results.get_or_compute(_key(wanted), generate)
        run.steps, run.over = list(steps), True
        button.empty()
    elif not run.over:
        growing.goes(button)
        if run.steps and not run.path:
            run.path = replay(run.steps[-1].ids) if beam else tuple(run.steps)
    return run


def _key(wanted: tuple[Any, ...]) -> tuple[Any, ...]:
    return ("grown", session.files(wanted[0]), *wanted)


def forget_grown(state: PageState) -> None:
    """Discard the generation so that it is streamed again; a callback."""
    forgotten: Job | None = st.session_state.pop(state.key("grown.job"), None)
    if forgotten is not None:
        session.results.forget(_key(forgotten.part.wanted))


def step_chips(
    path: Sequence[GenerationStep], tokens: Sequence[Token], step: Slot[int], branch: str, by_hand: int | None = None
) -> int:
    """Draw the generated tokens as chips, which select the step; return it, from 0.

    Args:
        by_hand: the step, from 0, whose token was chosen by hand.
    """
    notes = [
        f"step {s.index + 1}, probability {percent(s.token.probability)}"
        + (", chosen by hand" if s.index == by_hand else "")
        for s in path
    ]
    (picked,) = token_chips(
        tokens,
        selected=[step.get() - 1],
        key=f"{step.key}.path",
        accent=branch,
        label=content("demos", "text").label("path"),
        bars=[s.token.probability for s in path],
        notes=notes,
        clearable=False,
    ) or (0,)
    step.set(picked + 1)
    return picked


def continue_from(
    state: PageState, forced: Slot[Ids], path: Sequence[GenerationStep], step: int, decoding: Decoding, branch: str
) -> None:
    """Draw the most probable tokens of one step, from 0, as bars and chips; choosing another continues from it."""
    now, words, key = path[step], content("demos", "text"), state.key("candidates")
    options = list(now.alternatives)
    if all(option.id != now.token.id for option in options):
        options.append(now.token)  # a rare token that was sampled, or forced
    labels = [visible(option.text) for option in options]
    chances = [option.probability for option in options]
    taken = next(i for i, option in enumerate(options) if option.id == now.token.id)
    sampling = decoding.strategy == "sample"
    processed = [option.processed for option in options] if sampling else None
    st.subheader(f"Step {step + 1}: candidates", anchor=False)
    alt = bars_alt(labels, chances, f"Alternatives at step {step + 1}")
    chart(
        prediction_bars(labels, chances, accent(branch), processed=processed, chosen=taken, theme=theme()),
        key=f"{key}.bars",
        alt=alt,
    )
    rows = [{"candidate": label, "probability": chance} for label, chance in zip(labels, chances, strict=True)]
    title = f"Step {step + 1}: candidates"
    offer_chart(state, f"{key}.bars", title, f"candidates-{step + 1}", alt, Table.from_records(rows))
    if sampling:
        caption(words.part("Sampled bars"))
    if "\ufffd" in path[-1].text or any(label.startswith("‹") for label in labels):
        caption(words.part("Part of a character"))
    st.caption(words.label("another"))
    # The key holds the step, so that every step starts with its own token selected.
    (picked,) = token_chips(
        labels,
        selected=[taken],
        key=f"{key}.other.{step}.{now.token.id}",
        accent=branch,
        label=words.part("Candidates", step=step + 1),
        notes=[percent(chance) for chance in chances],
        clearable=False,
    ) or (taken,)
    if picked != taken:
        forced.set((*(before.token.id for before in path[:step]), options[picked].id))
        st.rerun()


def beams_table(steps: Sequence[GenerationStep], step: int) -> None:
    """Draw a table of the hypotheses of beam search after a step, best first."""
    if not steps or not steps[0].beams:
        return
    now = steps[min(step, len(steps) - 1)]
    what = "Finished hypotheses" if now.finished else f"Hypotheses after step {now.index + 1}"
    st.subheader(f"{what}, best first", anchor=False)
    data_table(
        [{"text": text, "sum of log-probabilities": score} for text, score in now.beams],
        "beams",
        alt=f"{what} of beam search with their scores",
        column_config={"sum of log-probabilities": st.column_config.NumberColumn(format="%.2f", width="small")},
    )


def steps_table(path: Sequence[GenerationStep], step: Slot[int]) -> None:
    """Draw a table with a row for each step; a click on a row chooses its step."""
    key = f"{step.key}.table"
    every = [
        {
            "step": s.index + 1,
            "token": visible(s.token.text),
            "id": s.token.id,
            "probability": s.token.probability,
            "after temperature and truncation": s.token.processed,
            "others, most probable first": ", ".join(
                f"{visible(a.text)} {percent(a.probability)}" for a in s.alternatives[:5] if a.id != s.token.id
            ),
        }
        for s in path
    ]
    four = st.column_config.NumberColumn(format="%.4f")
    with st.expander(content("demos", "text").label("every")):
        data_table(
            every,
            "steps",
            alt=content("demos", "text").label("steps"),
            key=key,
            column_config={"probability": four, "after temperature and truncation": four},
            **rows(key, step.get() - 1, lambda at: step.set(at + 1)),
        )


def how_it_ended(last: GenerationStep, name: str) -> str:
    """A sentence on why generation stopped; empty if it has not."""
    return content("demos", "text").part(f"Ended: {last.reason}", model=plain(name)) if last.reason else ""


def text_in(placeholder: DeltaGenerator, prompt: str, branch: str, room: str = "5em") -> Callable[[str, bool], None]:
    """A function that draws the prompt and, underlined in the branch's color, the text generated so far.

    Args:
        room: the minimum height.
    """
    begun, style = clean_prompt(prompt), f"font-size:var(--atlas-large);line-height:1.65;min-height:{room}"

    def draw_text(text: str, growing: bool = False) -> None:
        caret = [(CARET, "")] if growing else []
        placeholder.html(paragraph([(begun, ""), (text, underlined(accent(branch))), *caret], style))

    return draw_text
