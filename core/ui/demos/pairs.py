"""The demo of an encoder's second objective: does B follow A, or which of the two came first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.figures.predictions import bars_alt, guess_bars
from core.links import parameters as link
from core.ui.chart import chart
from core.ui.data_table import data_table
from core.ui.demos.cover import choice, uncovered
from core.ui.demos.demo import Demo, DemoView
from core.ui.glossary import noted, told
from core.ui.page import accent, sentences, theme
from core.ui.param import Carried
from core.ui.text_box import text_box

if TYPE_CHECKING:
    from core.language.pairs import PairVerdict

FIRST = "The king had three daughters."
SECOND = (
    "The youngest was so beautiful that the sun itself wondered.",
    "All of them were clever, but the eldest was the cleverest.",
    "The city lies on the river and has a large harbour.",
    "Oxygen is a gas that most animals need to live.",
)
_WORDS = {
    "next": (
        "Probability that the line follows the sentence",
        "**Try** a line of your own about daughters, one about something else, and the same line without the word that "
        "links it to the first.\n\n"
        "**Notice** that what decides is the topic: a line about the same things is taken for the next one even where "
        "it contradicts. RoBERTa dropped this question, and ALBERT asks for the order instead, which no topic tells.",
    ),
    "order": (
        "Probability that the sentence comes before the line",
        "**Try** to turn a pair round: put a line into the upper box and the sentence into the lower one.\n\n"
        "**Notice** that the topic does not help here, since both come from one text: what helps are words such as "
        "*he* or *then*, which lean on something said before.",
    ),
}


def pairs_demo(view: DemoView) -> None:
    """Draw the demo; the sentence and the lines are kept in the page's state."""
    spec, state = view.spec, view.state
    left, right = st.columns(2, gap="large")
    with left:
        first = text_box(state, "first", "First sentence", FIRST, key="pairs.first")
        label = "What might follow, one on each line"
        second = text_box(state, "second", label, "\n".join(SECOND), key="pairs.second", height=172)
    with sentences():
        asked, verdicts = _answers(spec.slug, first, second)
        title, advice = _WORDS[asked]
        labels = [_short(verdict.b) for verdict in verdicts]
        values = [verdict.probability for verdict in verdicts]
        lines = [verdict.b for verdict in verdicts]
        with right:
            question = (spec.slug, first, tuple(lines))
            label = "Which line gets the highest probability?"
            if not uncovered(state, question, label, lambda guess: choice(guess, lines, values), choices=lines):
                return
            st.caption(title)
            chart(
                guess_bars(labels, values, accent("encoder"), scale=1.0, theme=theme()),
                key=state.key("pairs.bars"),
                alt=bars_alt(labels, values, title),
            )
        st.markdown(advice)
        _more(asked, verdicts)


def _short(text: str) -> str:
    return text if len(text) <= 24 else text[:23].rstrip() + "…"


def _more(asked: str, verdicts: tuple[PairVerdict, ...]) -> None:
    with st.expander("As a table"):
        data_table(
            [{"first": v.a, "second": v.b, "probability": v.probability} for v in verdicts],
            "pairs",
            alt="Each pair with its probability",
            column_config={"probability": st.column_config.NumberColumn(format="%.4f")},
        )
    with st.expander("How the answer is made"):
        st.latex(r"p(\text{follows} \mid A, B) = \mathrm{softmax}\big(V \tanh(W h_{[CLS]} + b) + c\big)_0")
        if asked == "next":
            told(
                "$p$ is the model's probability for the sentences $A$ and $B$. $h_{[CLS]}$ is the last vector of the "
                "token that stands before both sentences; $W, b$ are the pooler, "
                "$V, c$ a layer with two outputs. In training half of the second parts really followed, the others "
                "came from another document."
            )
            noted("Next-sentence prediction: Devlin et al. 2018, arXiv:1810.04805.")
        else:
            told(
                "$p$ is the model's probability for the sentences $A$ and $B$. $h_{[CLS]}$ is the last vector of the "
                "token that stands before both sentences; $W, b$ are the pooler, "
                "$V, c$ a layer with two outputs. In training the two parts always followed each other in one text, "
                "and in half of the pairs they had changed places."
            )
            noted("Sentence-order prediction: Lan et al. 2019, arXiv:1909.11942.")


@st.cache_data(max_entries=256, ttl=3600.0, show_spinner="Reading the pairs")
def _answers(slug: str, first: str, second: str) -> tuple[str, tuple[PairVerdict, ...]]:
    from core.language.pairs import candidates, judge, question

    part = session.checkpoint(slug, "pairs")
    return question(part), tuple(judge(part, first, line) for line in candidates(second))


PAIRS = Demo(
    "pairs",
    pairs_demo,
    lambda spec: spec.offers("pairs"),
    tuple(Carried(name=name, label=name, as_=link.Text()) for name in ("first", "second")),
)
