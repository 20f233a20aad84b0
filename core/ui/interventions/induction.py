"""Induction: a decoder of attention alone is trained, its heads are scored, and one of them is ablated."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import session
from core.figures.attention import score_grid, weight_map
from core.figures.labels import percent
from core.figures.lines import Line, line_alt, line_chart
from core.figures.plot import Json
from core.interventions.induction import EVERY, HEADS, SHOWN, STEPS, Examined, Measured, Progress, Setup, examine, train
from core.links import parameters as link
from core.table import Table
from core.ui.job import job
from core.ui.page import accent, theme
from core.ui.panel import Panel, chart
from core.ui.param import Carried, Choice, Seed
from core.ui.section import Section, View
from core.ui.selection import clicks
from core.ui.slot import Slot

PAUSE = 0.3
"""Seconds between two drawings of a growing picture, and as many more for each visitor who waits."""
LAYERS = Choice(
    name="layers", label="Layers", options={"1": "1 layer", "2": "2 layers"}, default="2", style="row", hide_label=True
)
WITHOUT = Choice(
    name="without",
    label="Ablated in layer 1",
    options={"none": "Nothing", "previous": "Previous-token head", "other": "The other head"},
    default="none",
    style="row",
)
SEED = Seed(again="Train again")
SCORED = Carried(name="scored", label="Head", as_=link.Integers(high=HEADS, most=2))
Runs = Mapping[Setup, Progress]


def induction(view: View) -> None:
    state = view.state
    with view.controls():
        layers = int(LAYERS.draw(state))
        button = st.empty()
    seed = SEED.value(state)
    setup = Setup(layers, seed)
    with st.container(key="atlas-curves"):
        curves = st.empty()
        runs = _trained(view, (setup, Setup(3 - layers, seed)), button, curves)
    if setup not in runs:
        return
    with curves.container():
        _curves(view, runs, setup, growing=False)
    progress = runs[setup]
    before = examine(progress, seed)
    scores = before.measured.previous[0]
    heads = {"previous": int(scores.argmax()), "other": int(scores.argmin())}
    ablated = WITHOUT.draw(state)
    off = None if ablated == "none" else (0, heads[ablated])
    after = examine(progress, seed, off)
    _answer(view, progress, seed, before, after, off)
    left, right = st.columns([1, 1.5], gap="large")
    slot = _head(view, before, setup)
    with left:
        _scores(view, after.measured, slot)
    with right:
        _pattern(view, after, slot)
    view.try_and_notice()
    view.how_it_works(notes=["Bundled"])


def _trained(view: View, setups: tuple[Setup, Setup], button: DeltaGenerator, curves: DeltaGenerator) -> Runs:
    """Both trainings, drawn while they are computed; what there is of them after a stop."""
    state = view.state
    stored: dict[Setup, Progress] = st.session_state.setdefault(state.key("induction"), {})
    for former in stored.keys() - set(setups):
        del stored[former]
    for setup in setups:
        if complete := session.results.get(("induction", setup)):
            stored[setup] = complete
    if all(setup in stored and stored[setup].step == STEPS for setup in setups):
        with button:
            SEED.button(state)
        return stored
    training = job(state, "induction", setups)
    if not training.goes(button, view.words.label("train")):
        return stored
    for setup in setups:

        def grow(setup: Setup = setup) -> Progress:
            for progress in train(setup):
                stored[setup] = progress
                if training.due(PAUSE):
                    with curves.container():
                        _curves(view, stored, setups[0], growing=True)
            return progress

        with st.spinner(session.waiting("training-the-decoder")):
            stored[setup] = session.results.get_or_compute(("induction", setup), grow)
    with button:
        SEED.button(state)
    return stored


def _curves(view: View, runs: Runs, setup: Setup, *, growing: bool) -> None:
    """Draw the loss of one training, and the copying accuracy of both."""
    look, words, progress = theme(), view.words, runs[setup]
    steps = range(0, progress.step + 1, EVERY)
    color = accent("decoder")
    loss = [
        Line(words.label("first"), steps, [at.first for at in progress.steps], look.muted, "dash"),
        Line(words.label("repeated"), steps, [at.repeated for at in progress.steps], color),
    ]
    shares = [
        Line(
            f"{words.label('copied')}, {words.front['decoders'][str(other.layers)]}",
            range(0, runs[other].step + 1, EVERY),
            [at.copied for at in runs[other].steps],
            color if other == setup else look.ink,
            "solid" if other == setup else "dot",
        )
        for other in sorted(runs, key=lambda other: other != setup)
    ]
    blue, _, green, *_ = look.categorical
    previous = [float(at.previous[0].max()) for at in progress.steps]
    scores = [float(at.induction[-1].max()) for at in progress.steps]
    shares.append(Line(words.label("previous-score"), steps, previous, blue, "dash"))
    shares.append(Line(words.label("induction-score"), steps, scores, green, "dashdot"))
    axes: dict[str, Json] = {"loss": {"rangemode": "tozero"}, "shares": {"range": [0, 1.04], "tickformat": ".0%"}}
    for column, slug, lines in zip(st.columns(2), axes, (loss, shares), strict=True):
        label = words.label(slug)
        figure = line_chart(
            lines,
            label,
            across=words.label("step"),
            hover="%{x}: %{y:.0%}" if slug == "shares" else "%{x}: %{y:.2f}",
            markers=False,
            width=3,
            xaxis={"range": [0, STEPS]},
            yaxis=axes[slug],
            height=300,
            theme=look,
        )
        alt = line_alt(lines, label, [], words.label("step"))
        rows = tuple((line.name, *at) for line in lines for at in zip(line.positions, line.values, strict=True))
        with column:
            if growing:
                done = sum(len(run.steps) for run in runs.values())  # a training begins with a measurement, too
                chart(figure, key=view.state.key(f"growing.{slug}.{setup}.{done}"), alt=alt)
            else:
                Panel(slug, label, figure, alt, Table(("line", "step", label), rows)).draw(view.state)


def _answer(
    view: View, progress: Progress, seed: int, before: Examined, after: Examined, off: tuple[int, int] | None
) -> None:
    """Say how much is copied, and how much without the ablated head."""
    copied = percent(before.measured.copied)
    if off:
        view.say("Ablated", head=off[1] + 1, before=copied, after=percent(after.measured.copied))
    else:
        training = {"layers": len(before.measured.previous), "seed": seed, "steps": progress.step}
        view.say("Copied", copied=copied, seconds=f"{progress.seconds:.1f}", **training)


def _head(view: View, before: Examined, setup: Setup) -> Slot[tuple[int, int]]:
    """The selected layer and head, from 1: first the one with the highest induction score."""
    layer, head = divmod(int(before.measured.induction.argmax()), HEADS)

    def refusal(at: tuple[int, int]) -> str:
        fits = len(at) == 2 and 1 <= at[0] <= setup.layers and 1 <= at[1] <= HEADS
        return "" if fits else view.words.part("No head", layers=setup.layers, heads=HEADS)

    return Slot(view.state, SCORED, (layer + 1, head + 1), owner=setup, refusal=refusal)


def _scores(view: View, measured: Measured, slot: Slot[tuple[int, int]]) -> None:
    """Draw the scores of all heads; a click selects one."""
    layer, head = slot.get()

    def choose(at: int) -> None:
        slot.set((at // HEADS + 1, at % HEADS + 1))

    for slug, scores in (("previous", measured.previous), ("induction", measured.induction)):
        title = view.words.label(f"{slug}-scores")
        rows = [(row + 1, column + 1, round(float(score), 4)) for (row, column), score in np.ndenumerate(scores)]
        panel = Panel(
            slug,
            title,
            score_grid(scores, title, (layer - 1, head - 1), theme=theme()),
            view.words.part("Alt: scores", title=title) + "".join(f" {a}-{b}: {percent(c)}," for a, b, c in rows),
            Table(("layer", "head", title), tuple(rows)),
            heading=True,
        )
        panel.draw(view.state, **clicks(panel.key(view.state), scores.size, choose))


def _pattern(view: View, examined: Examined, slot: Slot[tuple[int, int]]) -> None:
    """Draw the attention of the selected head on a sequence that is repeated once."""
    layer, head = slot.get()
    st.subheader(view.words.part("Head", layer=layer, head=head), anchor=False)
    weights = examined.patterns[layer - 1, head - 1].copy()
    weights[np.triu_indices(len(weights), 1)] = np.nan
    tokens = list(examined.tokens)
    right = sum(a == b for a, b in zip(examined.predictions[SHOWN:-1], examined.tokens[SHOWN + 1 :], strict=True))
    Panel(
        "pattern",
        view.words.label("pattern"),
        weight_map(weights, tokens, tokens, None, "query", "masked", theme=theme()),
        view.words.part("Alt: pattern", layer=layer, head=head),
        Table(
            ("query", "key", "attention weight"),
            tuple((i + 1, j + 1, round(float(weights[i, j]), 4)) for i in range(len(tokens)) for j in range(i + 1)),
        ),
        note=view.words.part("Predictions", right=right, all=SHOWN - 1),
    ).draw(view.state)


INDUCTION = Section("induction", induction, (LAYERS, WITHOUT, SEED, SCORED))
