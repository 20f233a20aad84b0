"""What fine-tuning changed in the backbone: attention, layers, features, predictions."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import numpy as np
import streamlit as st

from core.attention.trace import AttentionMap
from core.attention.views.export import head_table
from core.checkpoints.spec import CheckpointSpec
from core.figures.attention import attention_map as attention_figure
from core.figures.labels import percent
from core.figures.lines import Line, line_alt, line_chart
from core.finetuning.changes import Changes
from core.finetuning.examples import LabeledSet
from core.finetuning.setup import (
    Epoch,
    Setup,
    baselines,
    usual_pooling,
    usual_rate,
)
from core.table import Table
from core.ui.export import download_csv
from core.ui.finetuning.run import CHOOSES, MODEL, SENTENCE, TEXTS, TRAINED, labeled_texts, set_and_model, train_runs
from core.ui.glossary import markdown
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Choice
from core.ui.section import Section, View
from core.ui.tables import TextTable, data_table, text_table

CHANGED_HEAD = Choice(name="head", label="Head", options={}, width=285)


def what_changed(view: View) -> None:
    """Draw the section: one run's backbone before and after."""
    state, words = view.state, view.words
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind, spec = set_and_model(view, *CHOOSES)
        trained = TRAINED.with_(options={name: text for name, text in TRAINED.options.items() if name != "head"}).draw(
            state
        )
        button = st.empty()
    data = labeled_texts(view, kind)
    setup = Setup(cast(Any, trained), usual_pooling(spec), rate=usual_rate(cast(Any, trained)))
    runs = {"chosen": setup, "head": baselines(setup)["head"]}
    picture = st.empty()
    epochs, recorded = train_runs(view, spec, data, runs, kind, picture, button)
    picture.empty()
    if not all(found and found[-1].last for found in epochs.values()):
        markdown(words.part("Not trained"))
        return
    chosen, head = epochs["chosen"][-1], epochs["head"][-1]
    changes = chosen.changes
    _attention(view, spec, data, changes)
    view.try_and_notice()
    left, right = st.columns(2, gap="large")
    with left:
        _moved(view, spec, changes)
    with right:
        _features(view, changes, head.accuracy, chosen.accuracy)
    _flipped(view, data, head, chosen)
    view.note("Recorded" if recorded else "Measured", epochs=setup.epochs, seconds=f"{chosen.seconds:.1f}")
    view.how_it_works()


def _attention(view: View, spec: CheckpointSpec, data: LabeledSet, changes: Changes) -> None:
    """One head on one held-out text, before and after."""
    state, words = view.state, view.words
    if not changes.texts:
        view.note("No attention")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        texts = {str(number): data.held_out[text].whole for number, text in enumerate(changes.texts)}
        at = int(SENTENCE.with_(options=texts, default="0").draw(state))
        both = [part[at].astype(np.float32) for part in (changes.before, changes.after)]
        distance = abs(both[1] - both[0]).sum(-1).mean(-1) / 2  # (L, H)
        order = np.argsort(-distance, axis=None)
        heads = {
            f"{layer + 1}.{number + 1}": words.part(
                "Head", layer=layer + 1, head=number + 1, share=percent(float(distance[layer, number]))
            )
            for layer, number in (divmod(int(rank), distance.shape[1]) for rank in order)
        }
        layer, number = (int(part) - 1 for part in CHANGED_HEAD.with_(options=heads).draw(state).split("."))
    tokens = changes.tokens[at]
    mask = np.tril(np.ones((1, 1, len(tokens), len(tokens)), bool)) if spec.offers("continues") else None
    for column, values, name in zip(st.columns(2, gap="medium"), both, ("before", "after"), strict=True):
        shown = AttentionMap(spec.family.streams[0], tokens, tokens, values, mask)
        title = f"{words.label(name)}: layer {layer + 1}, head {number + 1}"
        query, key = divmod(int(values[layer, number].argmax()), len(tokens))
        largest = f"{float(values[layer, number, query, key]):.2f}"
        figure = attention_figure(shown, layer, number, theme=theme())
        figure.data[0].zmax = max(float(part[layer, number].max()) for part in both)
        with column:
            st.markdown(words.label(name))
            Panel(
                name,
                title,
                figure,
                f"{title}. {words.label('largest')}: {tokens[query]} → {tokens[key]}, {largest}",
                partial(head_table, shown, layer, number),
            ).draw(state)


def _moved(view: View, spec: CheckpointSpec, changes: Changes) -> None:
    """The distance that each layer moved, of outputs and of weights."""
    words, look = view.words, theme()
    layers = ["embeddings", *(str(number) for number in range(1, len(changes.outputs)))]
    values = {
        name: [None if np.isnan(v) else float(v) for v in getattr(changes, name)] for name in ("outputs", "weights")
    }
    lines = [
        Line(words.label(name), list(range(len(layers))), found, color, dash)
        for (name, found), color, dash in zip(
            values.items(), (accent(spec.branch), look.muted), ("solid", "dash"), strict=True
        )
    ]
    figure = line_chart(
        lines, words.label("distance"), layers, hover="%{y:.3f}", yaxis={"rangemode": "tozero"}, height=320, theme=look
    )
    table = Table(("layer", *map(words.label, values)), tuple(zip(layers, *values.values(), strict=True)))
    alt = line_alt(lines, words.label("distance"), layers)
    Panel("moved", words.label("moved"), figure, alt, table, heading=True).draw(view.state)


def _features(view: View, changes: Changes, frozen: float, tuned: float) -> None:
    """The texts' states, frozen and fine-tuned, as a table."""
    words = view.words
    st.subheader(words.label("features"), anchor=False)
    rows = [
        (words.label(name), percent(accuracy), *(f"{value:.2f}" for value in found.tolist()))
        for name, accuracy, found in zip(("frozen", "tuned"), (frozen, tuned), changes.similarity, strict=True)
    ]
    columns = tuple(words.front["columns"])
    text_table(TextTable(columns, rows, words.label("features"), (28, 24, 24, 24), (1, 2, 3)))
    download_csv(Table(columns, tuple(rows)), "frozen-and-fine-tuned", view.state.key("features.csv"))


def _flipped(view: View, data: LabeledSet, head: Epoch, chosen: Epoch) -> None:
    """The held-out texts whose prediction differs between frozen and fine-tuned features."""
    words, names_of = view.words, data.labels
    predicted = [[names_of[int(best)] for best in run.probabilities.argmax(1)] for run in (head, chosen)]
    rows = [
        (example.whole, example.label, before, after, words.label("right" if after == example.label else "wrong"))
        for example, before, after in zip(data.held_out, *predicted, strict=True)
        if before != after
    ]
    rows.sort(key=lambda row: row[-1])
    st.subheader(words.label("flipped"), anchor=False)
    right = sum(row[-1] == words.label("right") for row in rows)
    view.say("Flipped", flipped=len(rows), texts=len(data.held_out), right=right)
    columns = ("text", "class", "predicted from frozen features", "predicted after fine-tuning", "now")
    if rows:
        data_table([dict(zip(columns, row, strict=True)) for row in rows], "flipped", alt=words.label("flipped"))


CHANGED = Section("changed", what_changed, (*TEXTS, MODEL, TRAINED, SENTENCE, CHANGED_HEAD))
