"""The steps of a generation, one at a time: what else could have come, and going on from another choice."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from core.figures.predictions import bars_alt, guess_bars, percent
from core.language.tokens import visible
from core.language.types import Decoding, GenerationStep, Token
from core.ui.chart import chart
from core.ui.chips import token_chips
from core.ui.data_table import data_table
from core.ui.glossary import noted
from core.ui.page import accent, plain, theme

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator


def step_chips(
    path: Sequence[GenerationStep], tokens: Sequence[Token], step: int, *, key: str, branch: str, by_hand: int | None
) -> int:
    """Generated tokens as chips; returns the step that is looked at, from 0.

    :param by_hand: the step whose token was chosen by hand, None if there is none.
    """
    notes = [
        f"step {s.index + 1}, probability {percent(s.token.probability)}"
        + (", chosen by hand" if s.index == by_hand else "")
        for s in path
    ]
    (picked,) = token_chips(
        tokens,
        selected=[min(max(step, 0), len(path) - 1)],
        key=f"{key}.path",
        accent=branch,
        label="Generated tokens; choose a step to see what else could have come",
        bars=[s.token.probability for s in path],
        notes=notes,
        clearable=False,
    ) or (0,)
    return picked


def alternatives_panel(
    path: Sequence[GenerationStep], step: int, decoding: Decoding, *, key: str, branch: str
) -> int | None:
    """The most probable tokens of one step as bars; returns the id of another one to go on with, if it was chosen."""
    now = path[step]
    options = list(now.alternatives)
    if all(option.id != now.token.id for option in options):
        options.append(now.token)  # a rare token that was drawn, or forced
    labels = [visible(option.text) for option in options]
    taken = next(i for i, option in enumerate(options) if option.id == now.token.id)
    sampling = decoding.strategy == "sample"
    st.markdown(f"**Step {step + 1}: what could have come here**")
    chart(
        guess_bars(
            labels,
            [option.probability for option in options],
            accent(branch),
            kept=[option.kept for option in options] if sampling else None,
            chosen=taken,
            theme=theme(),
        ),
        key=f"{key}.bars",
        alt=bars_alt(labels, [option.probability for option in options], f"Alternatives at step {step + 1}"),
    )
    if sampling:
        noted("Coloured: the model's own probability. Grey, and after the arrow: after temperature and cuts.")
    st.caption("Take another token here and go on from it:")
    # The key holds the step, so that every step starts with its own token selected.
    (picked,) = token_chips(
        labels,
        selected=[taken],
        key=f"{key}.other.{step}.{now.token.id}",
        accent=branch,
        label=f"Tokens for step {step + 1}; choosing another one generates anew from there",
        notes=[percent(option.probability) for option in options],
        clearable=False,
    ) or (taken,)
    return None if picked == taken else options[picked].id


def beams_table(steps: Sequence[GenerationStep], step: int) -> None:
    """The hypotheses of beam search after a step, best first."""

    if not steps or not steps[0].beams:
        return
    now = steps[min(step, len(steps) - 1)]
    what = "Finished texts" if now.finished else f"Running after step {now.index + 1}"
    st.markdown(f"**{what}, best first**")
    data_table(
        [{"text": text, "sum of log-probabilities": score} for text, score in now.beams],
        "beams",
        alt=f"{what}: hypotheses of beam search with their scores",
        column_config={"sum of log-probabilities": st.column_config.NumberColumn(format="%.2f", width="small")},
    )


def steps_table(path: Sequence[GenerationStep]) -> None:
    """Every step as a row."""
    rows = [
        {
            "step": s.index + 1,
            "token": visible(s.token.text),
            "id": s.token.id,
            "probability": s.token.probability,
            "after temperature and cuts": s.token.kept,
            "others, most probable first": ", ".join(
                f"{visible(a.text)} {percent(a.probability)}" for a in s.alternatives[:5] if a.id != s.token.id
            ),
        }
        for s in path
    ]
    with st.expander("Every step, as a table"):
        data_table(
            rows,
            "steps",
            alt="Every step with its token, probability and alternatives",
            column_config={
                name: st.column_config.NumberColumn(format="%.4f")
                for name in ("probability", "after temperature and cuts")
            },
        )


def how_it_ended(last: GenerationStep, name: str) -> str:
    """Why generation stopped, in a sentence; empty while it has not."""
    return {
        "end": "The model chose its end token.",
        "length": "It stopped at the number of tokens that you asked for.",
        "positions": plain(f"It stopped because {name} has no positions left for more tokens."),
    }.get(last.reason, "")


def draw_text(
    place: DeltaGenerator, prompt: str, text: str, branch: str, *, growing: bool = False, room: str = "5em"
) -> None:
    """The beginning and, underlined in the branch's colour, what was generated; ``room`` is kept free for it."""
    from core.language.text import clean

    begun = html.escape(clean(prompt, newlines=True)).replace("\n", "<br>")
    made = html.escape(text).replace("\n", "<br>")
    caret = '<span aria-hidden="true">▏</span>' if growing else ""
    style = f"font-size:1.2rem;line-height:1.65;min-height:{room};overflow-wrap:anywhere"
    line = f"text-decoration:underline 2px {accent(branch)};text-underline-offset:.28em"
    place.html(f'<p dir="auto" style="{style}">{begun}<span style="{line}">{made}</span>{caret}</p>')
