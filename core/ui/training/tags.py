"""Token labels: parts of speech, word by word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import engine, session
from core.checkpoints.spec import CheckpointSpec
from core.finetuning import tags
from core.finetuning.examples import Example, LabeledSet
from core.finetuning.setup import Setup
from core.language.tokens import style
from core.language.types import Token
from core.objectives.example import Cell
from core.table import Table
from core.ui.objectives.picture import picture as token_picture
from core.ui.page import accent
from core.ui.panel import offer_table
from core.ui.section import View
from core.ui.training.run import SENTENCE, TRAINED, trained_epochs


def token_labels(view: View, row: DeltaGenerator, spec: CheckpointSpec) -> None:
    """Train on parts of speech; ``row`` takes the controls."""
    state, words, data = view.state, view.words, tags.treebank()
    with row:
        trained = TRAINED.draw(state)
        button = st.empty()
    setup = Setup(cast(Any, trained), spec.family.pooling, tags.EPOCHS)
    status, picture = st.empty(), st.empty()
    epochs = trained_epochs(view, spec, data, setup, tags.NAME, status, picture, button)
    if epochs is None:
        return
    view.try_and_notice()
    predicted = [data.labels[int(best)] for best in epochs["chosen"][-1].probabilities.argmax(1)]
    st.subheader(words.label("construction"), anchor=False)
    options = {str(number): example.text for number, example in enumerate(data.held_out)}
    at = int(SENTENCE.with_(options=options, default="0").draw(state))
    start = sum(len(example.words) for example in data.held_out[:at])
    draw_tagged(view, spec, data.held_out[at], predicted[start:])
    _words(view, data, predicted)
    view.how_it_works(size=len(data.labels))


def draw_tagged(view: View, spec: CheckpointSpec, example: Example, predicted: Sequence[str]) -> None:
    """A sentence token by token, with the tag predicted at the first token of each word."""
    tokens, first = _first_tokens(spec.slug, example)
    cells = []
    for number, token in enumerate(tokens):
        word = first.index(number) if number in first else None
        tag, truth = (None, None) if word is None else (predicted[word], example.targets[word])
        note = view.words.part("Wrong", tag=truth) if tag and truth and tag != truth else ""
        cells.append(Cell(token.piece, target=tag, change="special" if token.special else "none", note=note))
    alt = f"{view.words.label('construction')}: " + ", ".join(
        f"{word} {tag}" for word, tag in zip(example.words, predicted, strict=False)
    )
    token_picture(cells, style(session.checkpoint(spec.slug).tokenizer), accent(spec.branch), alt=alt)


@session.cached()
def _first_tokens(slug: str, example: Example) -> tuple[tuple[Token, ...], tuple[int, ...]]:
    """The tokens of a sentence, and of each word the position of its first."""
    from core.finetuning.train import first_tokens

    return engine.run(first_tokens, slug, example)


def _words(view: View, data: LabeledSet, predicted: Sequence[str]) -> None:
    """The held-out words that the model or the baseline tags wrong."""
    usual = iter(zip(tags.most_frequent(data), predicted, strict=True))
    rows: list[dict[str, str | int | float | None]] = []
    for example in data.held_out:
        for word, tag in zip(example.words, example.targets, strict=True):
            baseline, model = next(usual)
            if {baseline, model} != {tag}:
                rows.append({"word": word, "tag": tag, "baseline": baseline, "model": model, "sentence": example.text})
    offer_table(view.state, Table.from_records(rows), view.words.label("mistakes"), "tags")
