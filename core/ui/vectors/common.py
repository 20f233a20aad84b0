"""What several sections share: the live model, the word and its sentences."""

from __future__ import annotations

import streamlit as st

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.ui.links import PageState
from core.ui.page import plain
from core.ui.param import Integer, Model, Text
from core.vectors.occurrences import EXAMPLES, MAX_LINE, MAX_LINES, MAX_SENSE, MAX_WORD, WordVectors, missing, parse
from core.vectors.reading import readable

FIRST = next(iter(EXAMPLES))
MODEL = Model(
    name="model",
    first="vectors",
    fits=readable,
    resets=("layer",),
    width=410,
    help="The model that runs here; Models says how each was trained",
)
WORD = Text(
    name="word",
    label="Word",
    default=FIRST,
    most=MAX_WORD,
    width=150,
    help="A whole word, in the form in which it occurs",
)
TEXT = Text(
    name="text",
    label="Sentences",
    default=EXAMPLES[FIRST],
    height=400,
    help=f"One per line, up to {MAX_LINES}, each of at most {MAX_LINE} characters. What stands before a bar names the "
    f"sense (up to {MAX_SENSE} characters); it is optional",
)
ASKED = Model(
    name="asked",
    first="vectors-positions",
    fits=lambda spec: spec.offers("learned positions") or spec.offers("relative positions"),
    width=350,
)
WIDTH = Integer(name="width", label="Dimension", low=4, high=512, default=192)


def model_of(state: PageState, param: Model = MODEL) -> CheckpointSpec:
    """The menu of live models, those that ``param`` fits."""
    specs = param.offered()
    return specs[param.here().draw(state, tag=str(len(specs)))]


def stepped(param: Integer, values: tuple[int, ...], state: PageState, *, tag: str = "") -> int:
    """A slider over a few ``values``; of a link's number it takes the nearest."""
    asked = state.number(param.name, param.default)
    chosen = st.select_slider(
        param.label,
        values,
        value=min(values, key=lambda value: abs(value - asked)),
        key=state.key(tag or param.name),
        format_func="{:,}".format,
        width=260,
        help=param.help,
    )
    state.set(**{param.name: None if chosen == param.default else chosen})
    return int(chosen)


def word_box(state: PageState) -> str:
    """The box of the word, and examples beside it, each with its sentences."""
    word = WORD.draw(state)
    with st.popover("Examples"):
        for example, lines in EXAMPLES.items():
            senses = dict.fromkeys(line.sense for line in parse(lines))
            st.button(
                f"{example}: {', '.join(senses)}",
                key=state.key(f"example.{example}"),
                on_click=_take,
                args=(state.key("word"), state.key("text"), example),
                width="stretch",
            )
    return word


def text_for(state: PageState) -> Text:
    """The parameter of the sentences: by default those of the word that the link names."""
    return TEXT.with_(default=EXAMPLES.get(WORD.value(state), EXAMPLES[FIRST]))


def word_vectors(spec: CheckpointSpec, word: str, text: str) -> WordVectors:
    """The word's vectors and those of all words; says which lines have no such word.

    Raises:
        AtlasError: what was typed, or the model, does not allow it.
    """
    with st.spinner("Running the model"):
        vectors = session.word_vectors(spec.slug, word, text)
    if lines := missing(vectors.own):
        st.caption(plain(lines))
    return vectors


def _take(word: str, text: str, example: str) -> None:
    st.session_state[word], st.session_state[text] = example, EXAMPLES[example]
