"""The demo of XLM: a sentence and its translation, words of either hidden, guessed with the other and without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.figures.predictions import bars_alt, guess_bars
from core.language.tokens import words
from core.links import parameters as link
from core.ui.chart import chart
from core.ui.chips import token_chips
from core.ui.data_table import data_table
from core.ui.demos.cover import uncovered, verdict
from core.ui.demos.cover_masks import FIRST
from core.ui.demos.demo import Demo, DemoView
from core.ui.demos.samples import sample_pills
from core.ui.glossary import noted, told
from core.ui.page import accent, plain, sentences, theme
from core.ui.param import Carried
from core.ui.text_box import standing, text_box

if TYPE_CHECKING:
    from core.language.bilingual import Guess, Joined
    from core.language.types import MaskPrediction, Token
    from core.ui.links import PageState

SAMPLES = (
    ("The cat sleeps on the chair.", "Le chat dort sur la chaise."),
    ("My sister reads a book in the garden.", "Ma sœur lit un livre dans le jardin."),
    ("I would like a cup of tea.", "Je voudrais une tasse de thé."),
    ("We are going home because it is late.", "Nous rentrons à la maison parce qu'il est tard."),
)
GUESSES = 5
_MOST = 4


def bilingual_demo(view: DemoView) -> None:
    """Draw the demo; both sentences and the hidden tokens are kept in the page's state."""
    spec, state = view.spec, view.state
    first, second = _texts(state)
    with sentences():
        hidden = _choose(spec, first, second, state)
        joined, guesses = _answers(spec.slug, first, second, hidden)
        first_one = guesses[0]
        hidden_one = joined.tokens[first_one.position]

        def judge(guess: str) -> str:
            truth = "" if hidden_one.special or len(guesses) > 1 else hidden_one.text
            return verdict(guess, first_one.beside.tokens, first_one.beside.probabilities, truth)

        question = (spec.slug, first, second, hidden)
        if not uncovered(state, question, FIRST, judge):
            return
        _pictures(joined, guesses, state)
        told(
            "**Try** hiding the same word in both sentences: then the translation no longer gives it away.\n\n"
            "**Notice** that beside its translation a hidden word is less a guess than a look: the model finds the "
            "word in the other language. Alone it knows only what kind of word fits."
        )
        _table(joined, guesses)
    _teach()


def _texts(state: PageState) -> tuple[str, str]:
    """The samples and the two boxes."""
    boxes = {
        state.key(f"bilingual.{name}"): standing(state, name, sample, key=f"bilingual.{name}")
        for name, sample in zip(("first", "second"), SAMPLES[0], strict=True)
    }
    sample_pills("Samples", {plain(pair[0]): pair for pair in SAMPLES}, state.key("bilingual.sample"), boxes)
    left, right = st.columns(2, gap="medium")
    return (
        text_box(state, "first", "English", SAMPLES[0][0], key="bilingual.first", place=left),
        text_box(state, "second", "French, saying the same", SAMPLES[0][1], key="bilingual.second", place=right),
    )


def _choose(spec: CheckpointSpec, first: str, second: str, state: PageState) -> tuple[int, ...]:
    """The chips of both sentences; other sentences begin with one hidden word, the second of the English one."""
    joined = _cut(spec.slug, first, second)
    tokens, numbers = joined.tokens, words(joined.tokens)
    now = tuple(token.id for token in tokens)
    slot, cut = state.key("bilingual.hidden"), state.key("bilingual.cut")
    before = st.session_state.get(cut)
    if before != now:
        linked = tuple(i for i in state.integers("mask") if i < len(tokens)) if before is None else ()
        st.session_state[slot] = linked or (() if joined.hidden else _standard(tokens, joined.second))
        st.session_state[cut] = now
    fixed = [i for i, token in enumerate(tokens) if token.special]
    chosen = {numbers[i] for i in st.session_state[slot] if i not in fixed}
    picked = token_chips(
        tokens,
        selected=[i for i, number in enumerate(numbers) if number in chosen and i not in fixed],
        key=state.key("bilingual.chips"),
        multi=True,
        accent="encoder",
        label="Tokens of both sentences; choose words to hide",
        disabled=fixed,
        held=joined.hidden,
        groups=numbers,
    )
    st.session_state[slot] = picked
    state.set(mask=picked)
    return picked


def _standard(tokens: tuple[Token, ...], second: int) -> tuple[int, ...]:
    """The second word of the first sentence, or its only one."""
    starts = [i for i in range(second) if not tokens[i].special and not tokens[i].continuation]
    return tuple(starts[1:2] or starts[:1])


def _pictures(joined: Joined, guesses: tuple[Guess, ...], state: PageState) -> None:
    """For each hidden token two pictures on one scale."""
    scale = max(side.probabilities[0] for guess in guesses for side in (guess.beside, guess.alone))
    for guess in guesses[:_MOST]:
        token = joined.tokens[guess.position]
        if not token.special:
            st.caption(plain(f"In place of “{token.text}” (token {guess.position})"))
        ways = (("With the other sentence beside it", guess.beside), ("Its own sentence alone", guess.alone))
        for column, (name, side) in zip(st.columns(2, gap="large"), ways, strict=True):
            with column:
                _bars(name, side, scale, state.key(f"bilingual.{guess.position}.{name}"))
    if len(guesses) > _MOST:
        st.caption(f"The first {_MOST} of {len(guesses)} hidden tokens are drawn; the table has all of them.")


def _bars(name: str, side: MaskPrediction, scale: float, key: str) -> None:
    st.markdown(f"**{name}**")
    chart(
        guess_bars(side.tokens, side.probabilities, accent("encoder"), scale=scale, theme=theme()),
        key=key,
        alt=bars_alt(side.tokens, side.probabilities, f"Guesses: {name.lower()}"),
    )


def _table(joined: Joined, guesses: tuple[Guess, ...]) -> None:
    with st.expander("As a table"):
        data_table(
            [
                {
                    "token": guess.position,
                    "stood there": "" if joined.tokens[guess.position].special else joined.tokens[guess.position].text,
                    "read": name,
                    "rank": rank,
                    "guess": word,
                    "probability": chance,
                }
                for guess in guesses
                for name, side in (("both sentences", guess.beside), ("one sentence", guess.alone))
                for rank, (word, chance) in enumerate(zip(side.tokens, side.probabilities, strict=True), 1)
            ],
            "hidden-tokens",
            alt="Guesses for every hidden token with and without the other sentence",
            column_config={"probability": st.column_config.NumberColumn(format="%.4f")},
        )


def _teach() -> None:
    with st.expander("How the two sentences are joined"):
        st.latex(r"h^{0}_i = \mathrm{LayerNorm}\big(e_{x_i} + p_{k(i)} + l_{a(i)}\big)")
        st.markdown(
            "$h^0_i$ is what the first layer reads at token $i$. $e_{x_i}$ is the vector of token $i$'s piece, from "
            "one vocabulary for both languages; $p_{k(i)}$ that of "
            "its place, which counts from 0 again in the second sentence, so that words that translate each other "
            "stand near each other; $l_{a(i)}$ that of its language. Every layer looks at both sentences."
        )
        noted("Translation language modelling: Lample & Conneau 2019, arXiv:1901.07291.")


@st.cache_data(max_entries=128, ttl=3600.0, show_spinner=False)
def _cut(slug: str, first: str, second: str) -> Joined:
    from core.language.bilingual import prepare

    return prepare(session.checkpoint(slug), first, second)


@st.cache_data(max_entries=128, ttl=3600.0, show_spinner="Guessing")
def _answers(slug: str, first: str, second: str, hidden: tuple[int, ...]) -> tuple[Joined, tuple[Guess, ...]]:
    from core.language.bilingual import guess, prepare

    checkpoint = session.checkpoint(slug)
    joined = prepare(checkpoint, first, second, hidden)
    return joined, guess(checkpoint, joined, GUESSES)


TRANSLATION = Demo(
    "translation",
    bilingual_demo,
    lambda spec: spec.offers("fills masks") and spec.offers("languages"),
    (
        *(Carried(name=name, label=name, as_=link.Text()) for name in ("first", "second")),
        Carried(name="mask", label="Masked tokens", as_=link.Integers(high=511, most=64)),
    ),
)
