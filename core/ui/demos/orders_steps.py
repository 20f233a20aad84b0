"""The steps of XLNet's demo: what the model expects in each, which may wait for a guess, as bars and as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core.checkpoints.spec import CheckpointSpec
from core.figures.predictions import bars_alt, guess_bars, percent
from core.language.guesses import MAX_CHARS
from core.ui.chart import chart
from core.ui.data_table import data_table
from core.ui.demos.cover import SENTENCE_CHARS, uncovered
from core.ui.demos.masking import judge_of
from core.ui.glossary import told
from core.ui.page import accent, plain, theme

if TYPE_CHECKING:
    from core.language.permuted import Found, Unknown
    from core.ui.links import PageState

_IN_A_ROW = 3
_MOST_PICTURES = 9


def steps_or_guess(
    spec: CheckpointSpec, text: str, unknown: Unknown, found: tuple[Found, ...], fed: str, state: PageState
) -> bool:
    """Draw the steps, or ask for a guess at their words first; whether the steps are shown.

    :param fed: what is fed back after each step, which changes the answers.
    """
    several = len(unknown.words) > 1
    label = "What does the model expect? One word for each step" if several else "What does the model expect?"
    place = st.empty()
    judge = judge_of(unknown.tokens, [step.guess for step in found])
    question = ("orders", spec.slug, text, unknown.places, fed)
    if not uncovered(state, question, label, judge, most=SENTENCE_CHARS if several else MAX_CHARS):
        place.markdown(f"**Step 1**: {plain(_sees(unknown, 1))}")
        return False
    _pictures(unknown, found, state)
    _table(found)
    return True


def _pictures(unknown: Unknown, found: tuple[Found, ...], state: PageState) -> None:
    """Bars for each step: what the model expects, given what it knows by then."""
    scale = max(step.guess.probabilities[0] for step in found)
    for start in range(0, min(len(found), _MOST_PICTURES), _IN_A_ROW):
        row = found[start : min(start + _IN_A_ROW, _MOST_PICTURES)]
        for number, (column, step) in enumerate(zip(st.columns(_IN_A_ROW, gap="large"), row, strict=False), start + 1):
            with column:
                st.markdown(f"**Step {number}**: {plain(_sees(unknown, number))}")
                words, chances = step.guess.tokens, step.guess.probabilities
                at = next((i for i, word in enumerate(words) if word == step.truth), None)
                chart(
                    guess_bars(
                        words,
                        chances,
                        accent("decoder"),
                        chosen=at,
                        scale=scale,
                        theme=theme(),
                    ),
                    key=state.key(f"orders.bars.{number}"),
                    alt=bars_alt(words, chances, f"Guesses in step {number}"),
                )
                st.caption(
                    plain(f"“{step.truth}” stood there: {percent(step.probability)}, {step.bits:.1f} bits, rank ")
                    + f"{step.rank:,}"
                )
    if len(found) > _MOST_PICTURES:
        st.caption(f"The first {_MOST_PICTURES} of {len(found)} steps are drawn; the table has all of them.")
    told(
        "**Try** Right to left, then Shuffle; then All words, where the first step knows only how long the text is.\n\n"
        "**Notice** that a word is as a rule the cheaper the more is known when its turn comes. No mask token stands "
        "in its place: the model is told where the word is and cannot see what it is. ▸ marks what stood there."
    )


def _sees(unknown: Unknown, step: int) -> str:
    """The sentence as this step sees it: ▢ for what is not found yet, ▣ for the place that is asked for."""
    asked, later = unknown.places[step - 1], set(unknown.places[step:])
    parts: list[str] = []
    end = -1
    for place, token in enumerate(unknown.tokens):
        if token.special:
            continue
        shown = "▣" if place == asked else "▢" if place in later else token.text
        parts.append(shown if token.continuation or token.start == end else f" {shown}")
        end = token.end
    return "".join(parts).strip()


def _table(found: tuple[Found, ...]) -> None:
    with st.expander("The steps as a table"):
        data_table(
            [
                {
                    "step": number,
                    "token": step.guess.position,
                    "stood there": step.truth,
                    "probability": step.probability,
                    "bits": step.bits,
                    "rank": step.rank,
                    "best guesses": ", ".join(
                        f"{word} {percent(chance)}"
                        for word, chance in zip(step.guess.tokens, step.guess.probabilities, strict=True)
                    ),
                }
                for number, step in enumerate(found, 1)
            ],
            "steps-in-order",
            alt="Every step with its best guesses and what the word that stood there cost",
            column_config={
                "probability": st.column_config.NumberColumn(format="%.4f"),
                "bits": st.column_config.NumberColumn(format="%.2f"),
            },
        )
