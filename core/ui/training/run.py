"""A run on labeled texts: the controls that the sections share, its training, and its accuracy by epoch.

Runs on ready sets are stored for all visitors. What is trained on a visitor's own texts stays in the session, and only
the last of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import engine, session
from core.checkpoints.spec import CheckpointSpec
from core.content import content
from core.figures.lines import Line, line_alt, line_chart
from core.finetuning import as_text, fed_to_both, record, spans, tags, trainable
from core.finetuning import words as bag_of_words
from core.finetuning.examples import READY, LabeledSet, parse, ready
from core.finetuning.setup import Setup, compared
from core.table import Table
from core.ui.job import job
from core.ui.page import accent, theme
from core.ui.panel import Panel, chart
from core.ui.param import Choice, Model, Text
from core.ui.section import View

PAUSE = 0.3
"""Seconds between two drawings of the growing chart, and as many more for each visitor who waits."""
Epochs = Sequence[Any]
SET = Choice(name="set", label="Task", options={}, width=250, resets=("sentence",), hide_label=True)
MODEL = Model(name="model", first="fine-tuning", fits=trainable, width=250, hide_label=True)
ANY_MODEL = MODEL.with_(fits=lambda spec: trainable(spec) or as_text(spec) or fed_to_both(spec))
TRAINED = Choice(
    name="trained",
    label="What is trained besides the head",
    options={"head": "Nothing", "adapters": "Adapters", "lora": "LoRA", "top": "Top layer", "all": "All"},
    default="all",
    style="row",
)
EXAMPLES = Text(name="examples", label="Examples, one per line: class, colon, text", height=190, most=20_000)
PAIRS = Text(name="pairs", label="Pairs, one per line: class, colon, text | second text", height=190, most=20_000)
OWN = {"own": EXAMPLES, "own-pair": PAIRS}
"""The boxes of a visitor's lines, by their names beside those of the ready sets."""
PAIRED = ("pair", "own-pair")
"""The sets whose texts are pairs."""
TEXTS = (SET, *OWN.values())
SENTENCE = Choice(name="sentence", label="Held-out text", options={}, width=380)


def set_and_model(view: View) -> tuple[str, CheckpointSpec]:
    """Draw the controls of the task and the model."""
    kind = SET.with_(options=content("training", "train").front["sets"]).draw(view.state)
    model = MODEL if kind in (tags.NAME, spans.NAME) else ANY_MODEL
    models = model.with_(first=record.OPENS_WITH.get(kind, model.first)).here()
    return kind, models.offered()[models.draw(view.state)]


def labeled_texts(view: View, kind: str) -> LabeledSet:
    """A ready set, or the visitor's own lines, whose box is drawn.

    Raises:
        AtlasError: see :func:`core.finetuning.examples.parse`.
    """
    if kind in READY:
        return ready(kind)
    return parse(OWN[kind].with_(default=content("training", "train").part(f"Sample: {kind}")).draw(view.state))


def trained_epochs(
    view: View,
    spec: CheckpointSpec,
    data: LabeledSet,
    setup: Setup,
    kind: str,
    status: DeltaGenerator,
    picture: DeltaGenerator,
    button: DeltaGenerator,
) -> dict[str, Epochs] | None:
    """The epochs of the run of ``setup`` and of its baselines, whose accuracy is drawn in ``picture``.

    ``status`` takes the numbers of texts and trained parameters, and the seconds. None before the first epoch.
    """
    runs = compared(setup)
    if as_text(spec):  # there is no head to train alone
        del runs["head"]
    epochs, recorded = _train(view, spec, data, runs, kind, picture, button)
    if not epochs["chosen"]:
        return None
    _draw_accuracy(view, spec, data, runs, epochs, picture)
    last = epochs["chosen"][-1]
    with status:
        view.note(
            "Recorded" if recorded else "Status",
            train=len(data.train),
            held_out=len(data.held_out),
            classes=len(data.labels),
            tags=len(data.labels),
            words=len(last.probabilities),
            trained=f"{last.parameters:,}",
            seconds=f"{last.seconds:.1f}",
        )
    return epochs


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
    shared, before = kind not in OWN, {name: record.stored(spec.slug, kind, run) for name, run in runs.items()}
    state, slug = view.state, spec.slug
    stored: dict[Any, Epochs] = st.session_state.setdefault(state.key("runs"), {})
    keys = {name: ("fine-tuning", slug, session.files(slug), data, run) for name, run in runs.items()}
    epochs: dict[str, Epochs] = {
        name: (session.results.get(key) if shared else None) or stored.get(key, ()) for name, key in keys.items()
    }
    complete = {name for name, trained in epochs.items() if trained and trained[-1].last}
    waits = all(before.values())
    if len(complete) == len(runs):
        return epochs, False
    row = button.container(horizontal=True, vertical_alignment="center")
    stop, bar = row.empty(), row.empty()
    training = job(state, "train", tuple(keys.values()), waits=waits)
    if not training.goes(stop, "Train here" if waits else "Train"):
        return {name: trained or before[name] for name, trained in epochs.items()}, not epochs["chosen"]
    from core.finetuning.train import fine_tune as train

    for key in stored.keys() - set(keys.values()):
        del stored[key]
    names = content("training", "train").front["runs"]

    def tell(name: str) -> None:
        done = sum(map(len, epochs.values())) / sum(run.epochs + 1 for run in runs.values())
        bar.progress(min(1.0, done), names[name], width=240)

    for name, run in runs.items():
        if name in complete:
            continue

        def grow(name: str = name, run: Any = run) -> Epochs:
            growing: list[Any] = []
            stored[keys[name]] = epochs[name] = growing
            tell(name)
            for epoch in engine.stream(train, slug, data, run):
                growing.append(epoch)
                if training.due(PAUSE):
                    _draw_accuracy(view, spec, data, runs, epochs, picture, growing=True)
                    tell(name)
            return tuple(growing)

        epochs[name] = session.results.get_or_compute(keys[name], grow) if shared else grow()
    button.empty()
    return epochs, False


def floor(data: LabeledSet) -> float:
    """The held-out accuracy of the baseline."""
    floors = {"tags": tags.baseline, "spans": spans.floor}
    return floors[data.task](data) if data.task in floors else data.majority


@session.cached()
def without_network(data: LabeledSet) -> float:
    """The held-out accuracy of a bag of words."""
    return bag_of_words.accuracy(data)


def _draw_accuracy(
    view: View,
    spec: CheckpointSpec,
    data: LabeledSet,
    runs: Mapping[str, Any],
    epochs: Mapping[str, Epochs],
    picture: DeltaGenerator,
    *,
    growing: bool = False,
) -> None:
    """Held-out accuracy by epoch: the run, its baselines, and the most frequent class, or tag of a word."""
    words = view.words if "runs" in view.words.front else content("training", "train")
    names_of, total = words.front["runs"], max(run.epochs for run in runs.values())
    lines, label = _lines(spec, data, epochs, names_of, total), words.label("accuracy")
    figure = line_chart(
        lines,
        label,
        across=words.label("epoch"),
        hover="%{x}: %{y:.0%}",
        markers=False,
        width=3,
        xaxis={"range": [0, total]},
        yaxis={"range": [0, 1.04], "tickformat": ".0%"},
        height=340,
        theme=theme(),
    )
    alt = line_alt(lines, label, [], words.label("epoch"))
    rows = tuple(
        (names_of[name], epoch.number, epoch.loss, epoch.accuracy)
        for name, trained in epochs.items()
        for epoch in trained
    )
    table = Table(("run", "epoch", "training loss (nats)", "held-out accuracy"), rows)
    with picture.container():
        if growing:
            results = sum(map(len, epochs.values()))
            chart(figure, key=view.state.key(f"fine-tuning.growing.{results}"), alt=alt)
        else:
            Panel("fine-tuning", words.label("picture"), figure, alt, table).draw(view.state)


def _lines(
    spec: CheckpointSpec, data: LabeledSet, epochs: Mapping[str, Epochs], names_of: Mapping[str, str], total: int
) -> list[Line]:
    """The accuracy of each run by epoch, and of the baselines without training over all ``total`` epochs."""
    look = theme()
    colors = {"chosen": accent(spec.branch), "head": look.ink, "random": look.muted}
    dashes = {"chosen": "solid", "head": "dash", "random": "dot"}
    lines = [
        Line(
            names_of[name],
            [epoch.number for epoch in trained],
            [epoch.accuracy for epoch in trained],
            colors[name],
            dashes[name],
        )
        for name, trained in epochs.items()
        if trained
    ]
    lines.append(Line(names_of["majority"], [0, total], [floor(data)] * 2, look.muted, "longdash"))
    if data.task == "classes":
        lines.append(Line(names_of["words"], [0, total], [without_network(data)] * 2, look.secondary, "dashdot"))
    return lines
