"""Control codes: one beginning continued under each code, and the code that the model finds in a text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.figures.predictions import bars_alt, guess_bars
from core.language.types import Decoding
from core.links import parameters as link
from core.ui.chart import chart
from core.ui.data_table import data_table
from core.ui.demos.cover import choice, switch, uncovered
from core.ui.demos.covered_codes import card, covered_codes
from core.ui.demos.decoding import DECODING, decoding_controls, decoding_of, effective, explain_decoding, next_seed
from core.ui.demos.demo import Demo, DemoView
from core.ui.glossary import told
from core.ui.page import accent, plain, sentences, theme
from core.ui.param import Carried
from core.ui.text_box import text_box

if TYPE_CHECKING:
    from core.language.codes import CodeVerdict
    from core.ui.links import PageState

PROMPT = "Tom"
"""A name that stands in texts of every kind and language."""
PASSAGE = "The castle is in the north of Germany. It was built in 1240."
MOST = 80
"""New tokens under each code at most."""
_COLUMNS = 3


def codes_demo(view: DemoView) -> None:
    """Draw the demo; beginning, decoding and the text to judge are kept in the page's state."""
    spec, state = view.spec, view.state
    from core.language.codes import listed
    from core.language.text import clean

    labels = list(listed(spec))
    text = text_box(state, "text", "Beginning, the same for every code", PROMPT, key="codes.text")
    decoding = decoding_controls(decoding_of(state), key=state.key("codes.decoding"), most=MOST)
    state.set(
        strategy=decoding.strategy,
        temperature=decoding.temperature,
        top_k=decoding.top_k,
        top_p=decoding.top_p,
        beams=decoding.beams,
        length=decoding.max_new_tokens,
        seed=decoding.seed,
    )
    if decoding.strategy == "sample":
        st.button("Throw the dice again", key=state.key("codes.dice"), on_click=next_seed(state.key("codes.decoding")))
    hidden = switch(state)
    if not hidden:
        state.set(step=None)  # all continuations stand beside each other
    with sentences():
        made = {label: _continued(spec.slug, text, label, effective(decoding)) for label in labels}
        begun = clean(text, newlines=True)
        if not hidden or covered_codes(spec, begun, made, effective(decoding), state):
            _continuations(spec, begun, made)
    st.divider()
    _judge(spec, state, hidden)
    _teach()
    explain_decoding()


def _continuations(spec: CheckpointSpec, begun: str, made: Mapping[str, str]) -> None:
    """A card for each code."""
    labels = list(made)
    for at in range(0, len(labels), _COLUMNS):
        for column, label in zip(st.columns(_COLUMNS), labels[at : at + _COLUMNS], strict=False):
            with column:
                card(spec, label, begun, made[label])
    with st.expander("As a table"):
        data_table(
            [{"code": label, "continuation": made[label]} for label in labels],
            "continuations",
            alt="The continuation under each code",
        )
    told(
        "**Try** a beginning that belongs to one kind of text, such as “Once upon a time”, and read it under the other "
        "codes.\n\n**Notice** that nothing but the first token differs: the weights and the beginning are the same."
    )


def _judge(spec: CheckpointSpec, state: PageState, hidden: bool) -> None:
    """Bars for the probability of each code, given a text."""
    text = text_box(state, "passage", "Which code has this text?", PASSAGE, key="codes.passage", height=68)
    with sentences():
        found = _judged(spec.slug, text)
        order = sorted(range(len(found.labels)), key=lambda i: -found.probabilities[i])
        names, values = [found.labels[i] for i in order], [found.probabilities[i] for i in order]

        def judge(guess: str) -> str:
            return choice(guess, names, values)

        question = (spec.slug, text)
        if not uncovered(state, question, "Your guess at the code", judge, choices=found.labels, on=hidden):
            return
        picture, advice = st.columns([3, 2], gap="large")
        with picture:
            chart(
                guess_bars(names, values, accent(spec.branch), scale=1.0, theme=theme()),
                key=state.key("codes.bars"),
                alt=bars_alt(names, values, "Probability of each code, given the text"),
            )
        with advice:
            told(
                f"{plain(found.best)} explains these {found.tokens} tokens best: under it the text costs "
                f"{min(found.bits):.2f} bits per byte.\n\n"
                "**Try** a longer text, or one sentence in another language.\n\n"
                "**Notice** how sure it is after a few words: every token multiplies the ratio of two codes, so that "
                "small leanings add up, right or wrong."
            )
        with st.expander("The verdict as a table"):
            data_table(
                [
                    {"code": found.labels[i], "probability": found.probabilities[i], "bits per byte": found.bits[i]}
                    for i in order
                ],
                "codes",
                alt="Probability of each code and what the text costs under it",
                column_config={
                    "probability": st.column_config.NumberColumn(format="%.4f"),
                    "bits per byte": st.column_config.NumberColumn(format="%.3f"),
                },
            )


def _teach() -> None:
    with st.expander("How a code works, and how it is found again"):
        st.latex(
            r"p(x \mid c) = \prod_{t=1}^{n} p(x_t \mid c, x_{<t}) \qquad p(c \mid x) = "
            r"\frac{p(x \mid c)}{\sum_{c'} p(x \mid c')}"
        )
        st.markdown(
            "$p$ is the model's probability, $c$ the code, $x_1 \\ldots x_n$ are the tokens of the text $x$, $x_{<t}$ "
            "those before token $t$. In training every window began with the code "
            "of its source. The second formula is Bayes' rule where all codes are equally likely before the text is "
            "read; no classifier was trained for it."
        )
        st.caption("Keskar et al. 2019, arXiv:1909.05858.")


@st.cache_data(max_entries=256, ttl=3600.0, show_spinner="Writing under each code")
def _continued(slug: str, text: str, label: str, decoding: Decoding) -> str:
    from core.language.generate import generate

    last = ""
    for step in generate(session.checkpoint(slug), text, decoding, with_attention=False, code=label):
        last = step.text
    return last


@st.cache_data(max_entries=256, ttl=3600.0, show_spinner="Reading under each code")
def _judged(slug: str, text: str) -> CodeVerdict:
    from core.language.codes import judge

    return judge(session.checkpoint(slug), text)


CODES = Demo(
    "codes",
    codes_demo,
    lambda spec: spec.card is not None and bool(spec.card.extra.get("codes")),
    (
        *DECODING,
        Carried(name="passage", label="Which code has this text?", as_=link.Text()),
        Carried(name="step", label="Step", as_=link.Integer(None, 1, 200)),
    ),
)
