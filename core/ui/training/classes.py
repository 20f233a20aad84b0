"""Classes of texts: a visitor's, or a ready set, learned by a copy of a live model while one watches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import streamlit as st

from core import engine, session
from core.checkpoints.spec import CheckpointSpec
from core.figures.heatmap import heat_map, names
from core.figures.labels import label, percent
from core.figures.plot import cut
from core.finetuning import as_text, fed_to_both
from core.finetuning.examples import READY, TEN, Example, LabeledSet
from core.finetuning.setup import (
    BATCH,
    HEAD_RATE,
    LARGEST,
    SECONDS,
    SIZES,
    TEXT_RATE,
    Epoch,
    Format,
    Setup,
    usual_rate,
)
from core.finetuning.setup import EPOCHS as USUAL_EPOCHS
from core.finetuning.setup import RATE as USUAL_RATE
from core.language.types import Token, labels
from core.objectives.example import Cell
from core.table import Table
from core.ui.glossary import caption
from core.ui.objectives.picture import picture as token_picture
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Choice, Integer, Real, Seed, settings_menu
from core.ui.section import View
from core.ui.tables import data_table
from core.ui.training.run import (
    PAIRED,
    TRAINED,
    Epochs,
    labeled_texts,
    trained_epochs,
    without_network,
)

FORMAT = Choice(name="format", label="Input format", options={})
POOLING = Choice(name="read", label="The head reads", options={})
EPOCHS = Integer(name="epochs", label="Epochs", default=USUAL_EPOCHS, low=1, high=40)
RATE = Real(
    name="rate", label="Learning rate of the backbone", default=USUAL_RATE, low=1e-6, high=0.1, style="box", format="%g"
)
SEED = Seed()
SIZE = Integer(name="size", label="Rank or bottleneck", default=SIZES["adapters"], low=1, high=LARGEST)


def classes(view: View, kind: str, spec: CheckpointSpec) -> None:
    """Train on a set of labeled texts."""
    state, words = view.state, view.words
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        text, both = as_text(spec), fed_to_both(spec)
        readings = words.front["readings"]
        last = spec.family.pooling == "last" or both
        reads = {k: readings[k] for k in (("last",) if last else ("first", "mean"))}
        some = {k: name for k, name in TRAINED.options.items() if not both or k in ("head", "all")}
        trained = "all" if text else TRAINED.with_(options=some).draw(state)
        sized = (SIZE.with_(default=SIZES[trained]),) if trained in SIZES else ()
        rate = RATE.with_(default=TEXT_RATE if text else usual_rate(cast(Any, trained)))
        formats = {name: text for name, text in words.front["formats"].items() if kind in PAIRED or name != "orders"}
        form = (FORMAT.with_(options=formats, default="plain"),) if spec.offers("continues") else ()
        menu = (*(() if text else (POOLING.with_(options=reads),)), *form, EPOCHS, rate, SEED, *sized)
        values = settings_menu(state, *menu, tag=f"{spec.branch}.{trained}")
        button = st.empty()
    data = labeled_texts(view, kind)
    setup = Setup(
        cast(Any, trained),
        values.get(POOLING.name, "first"),
        values[EPOCHS.name],
        values[RATE.name],
        values[SEED.name],
        size=values.get(SIZE.name, 0),
        format=cast(Any, values.get(FORMAT.name, "plain")),
    )
    picture, status = st.empty(), st.empty()
    epochs = trained_epochs(view, spec, data, setup, kind, status, picture, button)
    if epochs is None:
        return
    last = epochs["chosen"][-1]
    variant = "both" if both else "text" if text else "own" if kind not in READY else kind
    view.try_and_notice(variant, **(_compared(data, epochs) if kind == TEN else {}))
    (_as_text if text else _construction)(view, spec, data, last, setup)
    _flipped(view, data, epochs)
    _texts(view, data, epochs)
    view.how_it_works(batch=BATCH, head_rate=f"{HEAD_RATE:g}", seconds=f"{SECONDS:g}", **_sizes(setup))


def _compared(data: LabeledSet, epochs: Mapping[str, Epochs]) -> dict[str, str | int]:
    """The final accuracies of the runs and of the bag of words, in words."""
    last = {name: f"{trained[-1].accuracy:.0%}" if trained else "–" for name, trained in epochs.items()}
    held_out = len(data.held_out)
    return {
        **{"head": "–", "random": "–"},
        **last,
        "words": f"{without_network(data):.0%}",
        "held_out": held_out,
        "one": f"{100 / held_out:g}",
    }


def _sizes(setup: Setup) -> dict[str, Any]:
    """The rank and the bottleneck of the formulas."""
    chosen_size = {setup.trained: setup.size} if setup.trained in SIZES else {}
    return {"rank": (SIZES | chosen_size)["lora"], "bottleneck": (SIZES | chosen_size)["adapters"]}


def _construction(view: View, spec: CheckpointSpec, data: LabeledSet, last: Epoch, setup: Setup) -> None:
    """The first held-out text token by token, with the class predicted where the head reads."""
    example, words = data.held_out[0], view.words
    predicted = data.labels[int(last.probabilities[0].argmax())]
    st.subheader(words.label("construction"), anchor=False)
    tokens = _tokens(spec.slug, example, setup.format)
    if fed_to_both(spec):
        caption(words.front["both"][0])
        _draw_tokens(view, spec, example, tokens, "", setup)
        caption(words.front["both"][1])
    marks = _draw_tokens(view, spec, example, tokens, predicted, setup)
    part = "both" if fed_to_both(spec) else "marked" if marks else "pair" if example.second else "text"
    view.note(f"Construction: {part}", tokens=len(tokens), classes=len(data.labels))


def _draw_tokens(
    view: View, spec: CheckpointSpec, example: Example, tokens: Sequence[Token], target: str, setup: Setup
) -> list[int]:
    """One row of tokens; the positions of GPT's tokens."""
    words, pooling = view.words, setup.pooling
    reads = {"first": 0, "last": len(tokens) - 1}.get(pooling)
    marks = [at for at, token in enumerate(tokens) if token.id == tokens[-1].id] if setup.format != "plain" else []
    roles = dict(zip(marks, (words.label("start"), *[words.label("delimiter")] * (len(marks) - 2)), strict=False))
    roles |= {at: words.label("extract") for at in marks[-1:]}
    ends = [at for at, token in enumerate(tokens) if at and token.special]
    second = ends[0] if example.second and ends else len(tokens)
    second = marks[1] if len(marks) > 2 else second
    cells = [
        Cell(
            token.label,
            target=target or None if at == reads else None,
            change="special" if token.special or at in roles else "none",
            note=roles.get(at, ""),
            segment=int(at > second),
        )
        for at, token in enumerate(tokens)
    ]
    predicted = f". {words.front['readings'][pooling]}: {target}" if target else ""
    alt = f"{words.label('construction')}: {' '.join(labels(tokens))}{predicted}"
    token_picture(cells, "plain", accent(spec.branch), alt=alt)
    return marks


def _as_text(view: View, spec: CheckpointSpec, data: LabeledSet, last: Epoch, setup: Setup) -> None:
    """The first held-out text as T5 takes it, and the tokens of the most probable label."""
    best = int(last.probabilities[0].argmax())
    inputs, target = _pieces(spec.slug, data.held_out[0], data.labels[best])
    before = (session.checkpoint(spec.slug).tokenizer.pad_token, *target)
    rows = ([Cell(piece) for piece in inputs], [Cell(a, target=b) for a, b in zip(before, target, strict=False)])
    st.subheader(view.words.label("construction"), anchor=False)
    for cells, name in zip(rows, view.words.front["sides"], strict=True):
        caption(name)
        alt = f"{name}: {' '.join(cell.token for cell in cells)}"
        token_picture(cells, "sentencepiece", accent(spec.branch), alt=alt)
    chances = last.probabilities[0]
    view.note("Construction: as text", chance=percent(float(chances[best])), rest=percent(max(0.0, 1 - chances.sum())))


@session.cached()
def _pieces(slug: str, example: Example, label: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tokens of the input and of the label."""
    from core.finetuning.text_to_text import pieces, source

    return engine.run(pieces, slug, source(example)), engine.run(pieces, slug, label)


@session.cached()
def _tokens(slug: str, example: Example, form: Format) -> tuple[Token, ...]:
    """The tokens of a text or a pair."""
    from core.finetuning.train import tokens

    return engine.run(tokens, slug, example, form)


def _flipped(view: View, data: LabeledSet, epochs: Mapping[str, Epochs]) -> None:
    """The held-out texts whose prediction differs between frozen and fine-tuned features."""
    runs = [epochs[name][-1] for name in ("head", "chosen") if epochs.get(name)]
    if len(runs) < 2 or not all(run.last for run in runs):
        return
    words = view.words
    predicted = [[data.labels[int(best)] for best in run.probabilities.argmax(1)] for run in runs]
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


def _texts(view: View, data: LabeledSet, epochs: Mapping[str, Epochs]) -> None:
    """The probability of each held-out text's class, epoch by epoch."""
    trained, labels = epochs["chosen"], data.labels
    truth = [labels.index(example.label) for example in data.held_out]
    values = np.array([[epoch.probabilities[row, label] for epoch in trained] for row, label in enumerate(truth)])
    order = np.argsort(values[:, -1])
    texts = [f"{data.held_out[row].label}: {data.held_out[row].whole}" for row in order]
    figure = heat_map(
        values[order],
        names([cut(text, 26) for text in texts]),
        names([str(epoch.number) for epoch in trained], every=max(1, len(trained) // 5)),
        theme(),
        height=120 + 22 * len(texts),
        ends=(0.0, 1.0),
        colorbar=view.words.label("probability"),
        text=[[label(text)] * len(trained) for text in texts],
        hovertemplate="%{text}: %{z:.2f}<extra></extra>",
    )
    before = [epochs.get("head") or trained][0][-1].probabilities
    rows = [
        (
            data.held_out[row].whole,
            data.held_out[row].label,
            labels[int(before[row].argmax())],
            labels[int(trained[-1].probabilities[row].argmax())],
            float(values[row, -1]),
        )
        for row in order
    ]
    worst, best = texts[0], texts[-1]
    panel = Panel(
        "held-out",
        view.words.label("texts"),
        figure,
        f"{view.words.label('texts')}. “{worst}” ends at {percent(float(values[order[0], -1]))}, "
        f"“{best}” at {percent(float(values[order[-1], -1]))}.",
        Table(("text", "class", "predicted by the head alone", "predicted", "probability of its class"), tuple(rows)),
    )
    with st.expander(view.words.label("texts")):
        panel.draw(view.state)


PARAMS = (POOLING, FORMAT, EPOCHS, RATE, SEED, SIZE)
