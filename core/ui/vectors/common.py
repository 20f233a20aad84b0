"""What several sections share: the live model, the word and its sentences."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.ui.links import PageState
from core.ui.page import plain
from core.ui.param import Model, Text
from core.vectors.occurrences import EXAMPLES, MAX_LINE, MAX_LINES, MAX_SENSE, MAX_WORD, WordVectors, missing, parse
from core.vectors.reading import readable

FIRST = next(iter(EXAMPLES))
MODEL = Model(
    name="model",
    first="vectors",
    fits=readable,
    resets=("layer",),
    width=350,
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


@dataclass(frozen=True, slots=True)
class Query:
    """What the visitor typed."""

    word: str
    text: str


def model_of(state: PageState, param: Model = MODEL) -> CheckpointSpec:
    """The menu of live models, those that ``param`` fits."""
    specs = param.offered()
    return specs[param.here().draw(state, tag=str(len(specs)))]


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


def word_vectors(spec: CheckpointSpec, query: Query) -> WordVectors:
    """The word's vectors and those of all words; says which lines have no such word.

    Raises:
        AtlasError: what was typed, or the model, does not allow it.
    """
    with st.spinner("Running the model"):
        vectors = session.word_vectors(spec.slug, query.word, query.text)
    if lines := missing(vectors.own):
        st.caption(plain(lines))
    return vectors


def _take(word: str, text: str, example: str) -> None:
    st.session_state[word], st.session_state[text] = example, EXAMPLES[example]
