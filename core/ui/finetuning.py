"""Fine-tuning: a visitor's labeled texts, or a ready set, learned by a copy of a live model while one watches.

Runs on ready sets are stored for all visitors. What is trained on a visitor's own texts stays in the session, and only
the last of it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import engine, session
from core.attention.heads import is_special
from core.attention.trace import AttentionMap, MapKind
from core.attention.views.export import head_table
from core.checkpoints.spec import CheckpointSpec
from core.content import content
from core.figures.attention import attention_map as attention_figure
from core.figures.heatmap import heat_map, names
from core.figures.labels import percent
from core.figures.lines import Line, line_alt, line_chart
from core.finetuning import curve, record, tags, trainable
from core.finetuning.changes import Changes
from core.finetuning.examples import READY, Example, LabeledSet, parse, ready
from core.finetuning.setup import (
    BATCH,
    HEAD_RATE,
    LARGEST,
    SECONDS,
    SIZES,
    Epoch,
    Setup,
    baselines,
    usual_pooling,
)
from core.finetuning.setup import EPOCHS as USUAL_EPOCHS
from core.finetuning.setup import RATE as USUAL_RATE
from core.language.tokens import style
from core.objectives.example import Cell
from core.table import Table
from core.turns import turns
from core.ui.data_table import data_table
from core.ui.demos.steps import going
from core.ui.export import download, download_csv
from core.ui.glossary import markdown, terms
from core.ui.objectives.picture import picture as token_picture
from core.ui.page import accent, theme
from core.ui.panel import Panel, chart
from core.ui.param import Choice, Integer, Model, Real, Seed, Text, settings_menu
from core.ui.section import Section, View
from core.ui.text_table import TextTable, text_table

PAUSE = 0.3
"""Seconds between two drawings of the growing chart, and as many more for each visitor who waits."""
Epochs = Sequence[Any]
SET = Choice(name="set", label="Labeled texts", options={}, width=285)
MODEL = Model(name="model", first="fine-tuning", fits=trainable, width=300)
TRAINED = Choice(
    name="trained",
    label="What is trained besides the head",
    options={"head": "Nothing", "adapters": "Adapters", "lora": "LoRA", "top": "Top layer", "all": "All"},
    default="all",
    style="row",
)
POOLING = Choice(name="read", label="The head reads", options={})
EPOCHS = Integer(name="epochs", label="Epochs", default=USUAL_EPOCHS, low=1, high=40)
RATE = Real(
    name="rate", label="Learning rate of the backbone", default=USUAL_RATE, low=1e-6, high=0.1, style="box", format="%g"
)
SEED = Seed()
SIZE = Integer(name="size", label="Rank or bottleneck", default=SIZES["adapters"], low=1, high=LARGEST)
EXAMPLES = Text(name="examples", label="Examples, one per line: class, colon, text", height=190, most=20_000)

OWN = "own"
"""The name of a visitor's lines beside those of the ready sets."""
SENTENCE = Choice(name="sentence", label="Held-out text", options={}, width=380)
CHANGED_HEAD = Choice(name="head", label="Head", options={}, width=285)


def _set_and_model(view: View) -> tuple[str, CheckpointSpec]:
    """Draw the controls that the sections share: the texts and the model."""
    models = MODEL.here()
    kind = SET.with_(options=content("fine-tuning", "learn").front["sets"]).draw(view.state)
    return kind, models.offered()[models.draw(view.state)]


def _data(view: View, kind: str) -> LabeledSet:
    """A ready set, or the visitor's own lines, whose box is drawn."""
    if kind in READY:
        return ready(kind)
    return parse(EXAMPLES.with_(default=content("fine-tuning", "learn").part("Own")).draw(view.state))


def fine_tune(view: View) -> None:
    """Draw the section."""
    state, words = view.state, view.words
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind, spec = _set_and_model(view)
        readings = words.front["readings"]
        reads = {"last": readings["last"]} if spec.offers("continues") else {k: readings[k] for k in ("first", "mean")}
        trained = TRAINED.draw(state)
        sized = (SIZE.with_(default=SIZES[trained]),) if trained in SIZES else ()
        menu = (POOLING.with_(options=reads), EPOCHS, RATE, SEED, *sized)
        values = settings_menu(state, *menu, tag=f"{spec.branch}.{trained}")
    data = _data(view, kind)
    setup = Setup(
        cast(Any, trained),
        values[POOLING.name],
        values[EPOCHS.name],
        values[RATE.name],
        values[SEED.name],
        size=values.get(SIZE.name, 0),
    )
    runs = {"chosen": setup} | {name: run for name, run in baselines(setup).items() if run != setup}
    with st.container(horizontal=True, vertical_alignment="center"):
        status, button = st.empty(), st.empty()
    picture = st.empty()
    epochs, recorded = _train(view, spec, data, runs, kind, picture, button)
    if not epochs["chosen"]:
        return
    _accuracy(view, spec, data.majority, runs, epochs, picture)
    last = epochs["chosen"][-1]
    with status:
        view.note(
            "Recorded" if recorded else "Status",
            train=len(data.train),
            held_out=len(data.held_out),
            classes=len(data.labels),
            seconds=f"{last.seconds:.1f}",
            trained=f"{last.parameters:,}",
        )
    view.try_and_notice("own" if kind not in READY else "")
    _construction(view, spec, data, last, setup.pooling)
    _texts(view, data, epochs)
    if last.weights is not None:
        download(
            "safetensors", last.weights, f"{spec.slug}-fine-tuned", state.key("weights"), tip=words.label("weights")
        )
    view.how_it_works(batch=BATCH, head_rate=f"{HEAD_RATE:g}", seconds=f"{SECONDS:g}", **_sizes(setup))


def _sizes(setup: Setup) -> dict[str, Any]:
    """The rank and the bottleneck of the formulas."""
    own = {setup.trained: setup.size} if setup.trained in SIZES else {}
    return {"rank": (SIZES | own)["lora"], "bottleneck": (SIZES | own)["adapters"]}


def _train(
    view: View,
    spec: CheckpointSpec,
    data: LabeledSet,
    runs: Mapping[str, Any],
    kind: str,
    picture: DeltaGenerator,
    button: DeltaGenerator,
) -> tuple[dict[str, Epochs], bool]:
    """The epochs of each run, drawn while they are computed; those that were computed before a stop.

    Runs that are all stored in advance are shown and, on a click, trained; also returned is whether they are shown.
    """
    floor = tags.baseline(data) if kind == tags.NAME else data.majority
    shared, before = kind != OWN, {name: record.stored(spec.slug, kind, run) for name, run in runs.items()}
    state, slug = view.state, spec.slug
    own: dict[Any, Epochs] = st.session_state.setdefault(state.key("runs"), {})
    keys = {name: ("fine-tuning", slug, session.files(slug), data, run) for name, run in runs.items()}
    epochs: dict[str, Epochs] = {
        name: (session.results.get(key) if shared else None) or own.get(key, ()) for name, key in keys.items()
    }
    complete = {name for name, found in epochs.items() if found and found[-1].last}
    waits = all(before.values())
    if len(complete) == len(runs):
        return epochs, False
    if not going(state, "train", tuple(keys.values()), button, "Train here" if waits else "Train", waits=waits):
        return {name: found or before[name] for name, found in epochs.items()}, not epochs["chosen"]
    from core.finetuning.train import fine_tune as train

    for key in own.keys() - set(keys.values()):
        del own[key]
    drawn = 0.0
    for name, run in runs.items():
        if name in complete:
            continue

        def grow(name: str = name, run: Any = run) -> Epochs:
            nonlocal drawn
            growing: list[Any] = []
            own[keys[name]] = epochs[name] = growing
            for epoch in engine.stream(train, slug, data, run):
                growing.append(epoch)
                if time.monotonic() - drawn > PAUSE * (1 + turns.waiting):
                    _accuracy(view, spec, floor, runs, epochs, picture, growing=True)
                    drawn = time.monotonic()
            return tuple(growing)

        epochs[name] = session.results.get_or_compute(keys[name], grow) if shared else grow()
    button.empty()
    return epochs, False


def _accuracy(
    view: View,
    spec: CheckpointSpec,
    floor: float,
    runs: Mapping[str, Any],
    epochs: Mapping[str, Epochs],
    picture: DeltaGenerator,
    *,
    growing: bool = False,
) -> None:
    """Held-out accuracy by epoch: the run, the two baselines, and the most frequent class, or tag of a word."""
    words = view.words if "runs" in view.words.front else content("fine-tuning", "learn")
    names_of, look = words.front["runs"], theme()
    colors = {"chosen": accent(spec.branch), "head": look.ink, "random": look.muted}
    dashes = {"chosen": "solid", "head": "dash", "random": "dot"}
    total = max(run.epochs for run in runs.values())
    lines = [
        Line(
            names_of[name],
            [epoch.number for epoch in found],
            [epoch.accuracy for epoch in found],
            colors[name],
            dashes[name],
        )
        for name, found in epochs.items()
        if found
    ]
    lines.append(Line(names_of["majority"], [0, total], [floor] * 2, look.muted, "longdash"))
    figure = line_chart(
        lines,
        words.label("accuracy"),
        across=words.label("epoch"),
        hover="%{x}: %{y:.0%}",
        markers=False,
        width=3,
        yaxis={"range": [0, 1.04], "tickformat": ".0%"},
        xaxis={"range": [0, total]},
        height=330,
        theme=look,
    )
    alt = line_alt(lines, words.label("accuracy"), [])
    if growing:
        with picture:
            chart(figure, key=view.state.key(f"growing.{sum(map(len, epochs.values()))}"), alt=alt)
        return
    table = Table(
        ("run", "epoch", "training loss (nats)", "held-out accuracy"),
        tuple(
            (names_of[name], epoch.number, epoch.loss, epoch.accuracy)
            for name, found in epochs.items()
            for epoch in found
        ),
    )
    with picture.container():
        Panel("fine-tuning", words.label("picture"), figure, alt, table).draw(view.state)


def _construction(view: View, spec: CheckpointSpec, data: LabeledSet, last: Epoch, pooling: str) -> None:
    """The first held-out text token by token, with the class predicted where the head reads."""
    example, words = data.held_out[0], view.words
    tokens = last.changes.tokens[0] if last.changes and last.changes.tokens else _tokens(spec.slug, example)
    reads = {"first": 0, "last": len(tokens) - 1}.get(pooling)
    predicted = data.labels[int(last.probabilities[0].argmax())]
    second = tokens.index("[SEP]") if example.second and "[SEP]" in tokens else len(tokens)
    cells = [
        Cell(
            token,
            target=predicted if at == reads else None,
            change="special" if is_special(token) else "none",
            segment=int(at > second),
        )
        for at, token in enumerate(tokens)
    ]
    st.subheader(words.label("construction"), anchor=False)
    alt = f"{words.label('construction')}: {' '.join(tokens)}. {words.front['readings'][pooling]}: {predicted}"
    token_picture(cells, "plain", accent(spec.branch), alt=alt)
    view.note(f"Construction: {'pair' if example.second else 'text'}", tokens=len(tokens), classes=len(data.labels))


@session.cached()
def _tokens(slug: str, example: Example) -> tuple[str, ...]:
    """The tokens of a text or a pair."""
    from core.finetuning.train import tokens

    return engine.run(tokens, slug, example)


def _texts(view: View, data: LabeledSet, epochs: Mapping[str, Epochs]) -> None:
    """The probability of each held-out text's class, epoch by epoch."""
    found, labels = epochs["chosen"], data.labels
    truth = [labels.index(example.label) for example in data.held_out]
    values = np.array([[epoch.probabilities[row, label] for epoch in found] for row, label in enumerate(truth)])
    order = np.argsort(values[:, -1])
    texts = [f"{data.held_out[row].label}: {data.held_out[row].whole}" for row in order]
    figure = heat_map(
        values[order],
        names([text if len(text) <= 44 else f"{text[:43]}…" for text in texts]),
        names([str(epoch.number) for epoch in found], every=max(1, len(found) // 10)),
        theme(),
        height=120 + 22 * len(texts),
        ends=(0.0, 1.0),
        colorbar=view.words.label("probability"),
        hovertemplate="%{z:.2f}<extra></extra>",
    )
    before = [epochs.get("head") or found][0][-1].probabilities
    rows = [
        (
            data.held_out[row].whole,
            data.held_out[row].label,
            labels[int(before[row].argmax())],
            labels[int(found[-1].probabilities[row].argmax())],
            float(values[row, -1]),
        )
        for row in order
    ]
    worst, best = texts[0], texts[-1]
    Panel(
        "held-out",
        view.words.label("texts"),
        figure,
        f"{view.words.label('texts')}. “{worst}” ends at {percent(float(values[order[0], -1]))}, "
        f"“{best}” at {percent(float(values[order[-1], -1]))}.",
        Table(("text", "class", "predicted by the head alone", "predicted", "probability of its class"), tuple(rows)),
        heading=True,
        width=640,
    ).draw(view.state)


def learning_curve(view: View) -> None:
    """Draw the section: accuracy by number of examples, stored or measured on a click."""
    words = view.words
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind, spec = _set_and_model(view)
        button = st.empty()
    data = _data(view, kind)
    status, picture = st.empty(), st.empty()
    points: Sequence[curve.Point] = curve.stored().get((spec.slug, kind), ())
    recorded = bool(points)
    if not points:
        points = _measured_curve(view, spec, data, kind in READY, status, picture, button)
    if points:
        with status:
            view.note("Recorded" if recorded else "Measured", seeds=1 + max(point.seed for point in points))
        _curves(view, spec, data, points, picture)
    else:
        status.markdown(words.part("Not measured"))
    view.try_and_notice()
    view.how_it_works(steps=curve.STEPS, batch=BATCH, seeds=curve.SEEDS, own_seeds=curve.OWN_SEEDS)


def _measured_curve(
    view: View,
    spec: CheckpointSpec,
    data: LabeledSet,
    shared: bool,
    status: DeltaGenerator,
    picture: DeltaGenerator,
    button: DeltaGenerator,
) -> Sequence[curve.Point]:
    """The points that are measured on a click, drawn as they come; those that were measured before a stop."""
    state, key = view.state, ("learning curve", spec.slug, session.files(spec.slug), data)
    own: dict[Any, Sequence[curve.Point]] = st.session_state.setdefault(state.key("curve.points"), {})
    found = (session.results.get(key) if shared else None) or own.get(key, ())
    total = 2 * curve.OWN_SEEDS * len(curve.sizes(data))
    if len(found) < total and not session.may_measure():
        button.caption(terms(content("frame", "links").part("Measuring is off")))
        return found
    if len(found) == total or not going(state, "curve", key, button, view.words.label("measure"), waits=True):
        return found

    def grow() -> Sequence[curve.Point]:
        growing: list[curve.Point] = []
        own.clear()
        own[key] = growing
        for point in engine.stream(curve.measure, spec.slug, data, curve.OWN_SEEDS):
            growing.append(point)
            status.progress(len(growing) / total, text=view.words.part("Progress", done=len(growing), total=total))
            if not point.pretrained:
                _curves(view, spec, data, growing, picture, growing=True)
        return tuple(growing)

    found = session.results.get_or_compute(key, grow) if shared else grow()
    button.empty()
    return found


def _curves(
    view: View,
    spec: CheckpointSpec,
    data: LabeledSet,
    points: Sequence[curve.Point],
    picture: DeltaGenerator,
    *,
    growing: bool = False,
) -> None:
    """Mean held-out accuracy by number of examples with a band of one standard deviation."""
    words, look = view.words, theme()
    names_of = words.front["weights"]
    curves = {
        name: curve.summarize(points, pretrained=pretrained)
        for name, pretrained in ((names_of["pretrained"], True), (names_of["random"], False))
    }
    lines = [
        Line(
            name,
            [one.examples for one in found],
            [one.mean for one in found],
            color,
            dash,
            spread=[one.deviation for one in found],
        )
        for (name, found), color, dash in zip(
            curves.items(), (accent(spec.branch), look.muted), ("solid", "dot"), strict=True
        )
    ]
    sizes = curve.sizes(data)
    lines.append(Line(names_of["majority"], [sizes[0], sizes[-1]], [data.majority] * 2, look.muted, "longdash"))
    figure = line_chart(
        lines,
        words.label("accuracy"),
        across=words.label("examples"),
        hover="%{x}: %{y:.0%}",
        width=3,
        yaxis={"range": [0, 1.04], "tickformat": ".0%"},
        xaxis={"tickvals": list(sizes)},
        height=360,
        theme=look,
    )
    alt = line_alt(lines, words.label("accuracy"), [])
    if growing:
        with picture:
            chart(figure, key=view.state.key(f"curve.growing.{len(points)}"), alt=alt)
        return
    rows = tuple(
        (name, one.examples, one.mean, one.deviation, one.seeds) for name, found in curves.items() for one in found
    )
    table = Table(("weights", "training examples", "mean held-out accuracy", "standard deviation", "seeds"), rows)
    with picture.container():
        Panel("learning-curve", words.label("picture"), figure, alt, table).draw(view.state)


def what_changed(view: View) -> None:
    """Draw the section: one run's backbone before and after."""
    state, words = view.state, view.words
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind, spec = _set_and_model(view)
        trained = TRAINED.with_(options={name: text for name, text in TRAINED.options.items() if name != "head"}).draw(
            state
        )
        button = st.empty()
    data = _data(view, kind)
    setup = Setup(cast(Any, trained), usual_pooling(spec))
    runs = {"chosen": setup, "head": baselines(setup)["head"]}
    picture = st.empty()
    epochs, recorded = _train(view, spec, data, runs, kind, picture, button)
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
    kind: MapKind = "decoder" if spec.offers("continues") else "encoder"
    tokens = changes.tokens[at]
    mask = np.tril(np.ones((1, 1, len(tokens), len(tokens)), bool)) if kind == "decoder" else None
    for column, values, name in zip(st.columns(2, gap="medium"), both, ("before", "after"), strict=True):
        shown = AttentionMap(kind, tokens, tokens, values, mask)
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


def token_labels(view: View) -> None:
    """Draw the section: parts of speech, word by word."""
    state, words = view.state, view.words
    data, models = tags.treebank(), MODEL.here()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        spec = models.offered()[models.draw(state)]
        trained = TRAINED.draw(state)
        button = st.empty()
    setup = Setup(cast(Any, trained), usual_pooling(spec), tags.EPOCHS)
    runs = {"chosen": setup} | {name: run for name, run in baselines(setup).items() if run != setup}
    status, picture = st.empty(), st.empty()
    epochs, recorded = _train(view, spec, data, runs, tags.NAME, picture, button)
    if not epochs["chosen"]:
        return
    _accuracy(view, spec, tags.baseline(data), runs, epochs, picture)
    last = epochs["chosen"][-1]
    with status:
        view.note(
            "Recorded" if recorded else "Status",
            train=len(data.train),
            held_out=len(data.held_out),
            words=len(last.probabilities),
            tags=len(data.labels),
            seconds=f"{last.seconds:.1f}",
        )
    view.try_and_notice()
    predicted = [data.labels[int(best)] for best in last.probabilities.argmax(1)]
    st.subheader(words.label("construction"), anchor=False)
    options = {str(number): example.text for number, example in enumerate(data.held_out)}
    at = int(SENTENCE.with_(options=options, default="0").draw(state))
    start = sum(len(example.words) for example in data.held_out[:at])
    _tagged(view, spec, data.held_out[at], predicted[start:])
    _words(view, data, predicted)
    view.how_it_works(size=len(data.labels))


def _tagged(view: View, spec: CheckpointSpec, example: Example, predicted: Sequence[str]) -> None:
    """A sentence token by token, with the tag predicted at the first token of each word."""
    pieces, first = _first_tokens(spec.slug, example)
    cells = []
    for number, piece in enumerate(pieces):
        word = first.index(number) if number in first else None
        tag, truth = (None, None) if word is None else (predicted[word], example.targets[word])
        note = view.words.part("Wrong", tag=truth) if tag and truth and tag != truth else ""
        cells.append(Cell(piece, target=tag, change="special" if is_special(piece) else "none", note=note))
    alt = f"{view.words.label('construction')}: " + ", ".join(
        f"{word} {tag}" for word, tag in zip(example.words, predicted, strict=False)
    )
    token_picture(cells, style(session.checkpoint(spec.slug).tokenizer), accent(spec.branch), alt=alt)


@session.cached()
def _first_tokens(slug: str, example: Example) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The tokens of a sentence, and of each word the position of its first."""
    from core.finetuning.train import first_tokens

    return engine.run(first_tokens, slug, example)


def _words(view: View, data: LabeledSet, predicted: Sequence[str]) -> None:
    """The held-out words that the model or the baseline tags wrong."""
    usual = iter(zip(tags.most_frequent(data), predicted, strict=True))
    rows = []
    for example in data.held_out:
        for word, tag in zip(example.words, example.targets, strict=True):
            baseline, model = next(usual)
            if {baseline, model} != {tag}:
                rows.append({"word": word, "tag": tag, "baseline": baseline, "model": model, "sentence": example.text})
    st.subheader(view.words.label("mistakes"), anchor=False)
    data_table(rows, "tags", alt=view.words.label("mistakes"))


TOKENS = Section("tags", token_labels, (MODEL, TRAINED, SENTENCE))
CHANGED = Section("changed", what_changed, (SET, MODEL, TRAINED, SENTENCE, CHANGED_HEAD, EXAMPLES))
CURVE = Section("curve", learning_curve, (SET, MODEL, EXAMPLES))
LEARN = Section("learn", fine_tune, (SET, MODEL, TRAINED, POOLING, EPOCHS, RATE, SEED, SIZE, EXAMPLES))
