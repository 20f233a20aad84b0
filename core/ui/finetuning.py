"""Fine-tuning: a visitor's labeled texts, or a ready set, learned by a copy of a live model while one watches.

Runs on ready sets are stored for all visitors. What is trained on a visitor's own texts stays in the session, and only
the last of it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import engine, session
from core.checkpoints.spec import CheckpointSpec
from core.figures.heatmap import heat_map, names
from core.figures.labels import percent
from core.figures.lines import Line, line_alt, line_chart
from core.finetuning import trainable
from core.finetuning.examples import READY, LabeledSet, parse, ready
from core.finetuning.setup import BATCH, HEAD_RATE, LARGEST, SECONDS, SIZES, Setup
from core.finetuning.setup import EPOCHS as USUAL_EPOCHS
from core.finetuning.setup import RATE as USUAL_RATE
from core.table import Table
from core.turns import turns
from core.ui.demos.steps import going
from core.ui.export import download
from core.ui.page import accent, theme
from core.ui.panel import Panel, chart
from core.ui.param import Choice, Integer, Model, Real, Seed, Text, settings_menu
from core.ui.section import Section, View

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


def fine_tune(view: View) -> None:
    """Draw the section."""
    from core.finetuning.train import baselines

    state, words = view.state, view.words
    models = MODEL.here()
    specs = models.offered()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = SET.with_(options=words.front["sets"]).draw(state)
        spec = specs[models.draw(state)]
        readings = words.front["readings"]
        reads = {"last": readings["last"]} if spec.offers("continues") else {k: readings[k] for k in ("first", "mean")}
        trained = TRAINED.draw(state)
        sized = (SIZE.with_(default=SIZES[trained]),) if trained in SIZES else ()
        menu = (POOLING.with_(options=reads), EPOCHS, RATE, SEED, *sized)
        values = settings_menu(state, *menu, tag=f"{spec.branch}.{trained}")
    data = ready(kind) if kind in READY else parse(EXAMPLES.with_(default=words.part("Own")).draw(state))
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
    epochs = _train(view, spec, data, runs, kind in READY, picture, button)
    if not epochs["chosen"]:
        return
    _accuracy(view, spec, data, runs, epochs, picture)
    last = epochs["chosen"][-1]
    with status:
        view.note(
            "Status",
            train=len(data.train),
            held_out=len(data.held_out),
            classes=len(data.labels),
            seconds=f"{last.seconds:.1f}",
            trained=f"{_parameters(spec.slug, len(data.labels), setup):,}",
        )
    view.try_and_notice("own" if kind not in READY else "")
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


def _parameters(slug: str, classes: int, setup: Any) -> int:
    """How many parameters a run trains."""

    def count() -> int:
        from core.finetuning.train import Learner

        return Learner(session.checkpoint(slug), classes, setup).trained

    return session.results.get_or_compute(("fine-tuning parameters", slug, classes, setup.trained, setup.size), count)


def _train(
    view: View,
    spec: CheckpointSpec,
    data: LabeledSet,
    runs: Mapping[str, Any],
    shared: bool,
    picture: DeltaGenerator,
    button: DeltaGenerator,
) -> dict[str, Epochs]:
    """The epochs of each run, drawn while they are computed; those that were computed before a stop."""
    from core.finetuning.train import fine_tune as train

    state, slug = view.state, spec.slug
    own: dict[Any, Epochs] = st.session_state.setdefault(state.key("runs"), {})
    keys = {name: ("fine-tuning", slug, session.files(slug), data, run) for name, run in runs.items()}
    epochs: dict[str, Epochs] = {
        name: (session.results.get(key) if shared else None) or own.get(key, ()) for name, key in keys.items()
    }
    complete = {name for name, found in epochs.items() if found and found[-1].last}
    if len(complete) == len(runs) or not going(state, "train", tuple(keys.values()), button, "Train"):
        return epochs
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
                    _accuracy(view, spec, data, runs, epochs, picture, growing=True)
                    drawn = time.monotonic()
            return tuple(growing)

        epochs[name] = session.results.get_or_compute(keys[name], grow) if shared else grow()
    button.empty()
    return epochs


def _accuracy(
    view: View,
    spec: CheckpointSpec,
    data: LabeledSet,
    runs: Mapping[str, Any],
    epochs: Mapping[str, Epochs],
    picture: DeltaGenerator,
    *,
    growing: bool = False,
) -> None:
    """Held-out accuracy by epoch: the run, the two baselines, and the most frequent class."""
    names_of, look = view.words.front["runs"], theme()
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
    lines.append(Line(names_of["majority"], [0, total], [data.majority] * 2, look.muted, "longdash"))
    figure = line_chart(
        lines,
        view.words.label("accuracy"),
        across=view.words.label("epoch"),
        hover="%{x}: %{y:.0%}",
        markers=False,
        width=3,
        yaxis={"range": [0, 1.04], "tickformat": ".0%"},
        xaxis={"range": [0, total]},
        height=330,
        theme=look,
    )
    alt = line_alt(lines, view.words.label("accuracy"), [])
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
        Panel("fine-tuning", view.words.label("picture"), figure, alt, table).draw(view.state)


def _texts(view: View, data: LabeledSet, epochs: Mapping[str, Epochs]) -> None:
    """The probability of each held-out text's class, epoch by epoch."""
    found, labels = epochs["chosen"], data.labels
    truth = [labels.index(example.label) for example in data.held_out]
    values = np.array([[epoch.probabilities[row, label] for epoch in found] for row, label in enumerate(truth)])
    order = np.argsort(values[:, -1])
    texts = [f"{data.held_out[row].label}: {data.held_out[row].text}" for row in order]
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
            data.held_out[row].text,
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


LEARN = Section("learn", fine_tune, (SET, MODEL, TRAINED, POOLING, EPOCHS, RATE, SEED, SIZE, EXAMPLES))
