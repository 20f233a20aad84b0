"""Compression: a live model pruned, shortened or quantized, what that saves and what it costs, from measured points.

The points are precomputed, so that a change of a control answers at once; a button measures the chosen one again, here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import cycle

import streamlit as st

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.efficiency.compress import (
    BITS,
    HEADS,
    LAYERS,
    PRUNED,
    Measured,
    Recipe,
    measure,
    pareto,
    precomputed,
    predictions,
)
from core.efficiency.lengths import plain_machine
from core.figures.labels import in_bytes, percent
from core.figures.lines import Line, line_chart
from core.figures.plot import DASHES
from core.figures.predictions import bars_alt, prediction_bars
from core.language.tasks import Task
from core.table import Table
from core.ui.demos.demo import task_samples
from core.ui.glossary import info
from core.ui.measuring import Measurement
from core.ui.page import accent, plain, theme
from core.ui.panel import Panel, chart, offer_table
from core.ui.param import Choice, Model, Text, settings_menu
from core.ui.section import Section, View

MEGA = 1e6
MODEL = Model(name="model", first="compression", fits=lambda spec: spec.slug in precomputed(), width=230)
PRUNE = Choice(
    name="pruned", label="Pruned weights", options={str(n): f"{n}%" for n in PRUNED}, default="30", style="row"
)
WIDTH = Choice(name="bits", label="Bits of a weight", options={str(n): str(n) for n in BITS}, default="8", style="row")
HEAD = Choice(name="heads", label="Removed heads", options={str(n): f"{n}%" for n in HEADS}, style="row")
LAYER = Choice(name="layers", label="Removed layers", options={str(n): str(n) for n in LAYERS}, style="row")
TEXT = Text(name="sentence", label="Sentence", most=300, sentence="any")


def compression(view: View) -> None:
    state, models = view.state, MODEL.here()
    specs = models.offered()
    if not specs:
        info(view.words.part("None here"))
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        spec = specs[models.draw(state)]
        points = precomputed()[spec.slug]
        recipe = _recipe(view, points)
    unit = next(name for what, name in view.words.front["units"].items() if spec.offers(what))
    key = ("compression", spec.slug, session.files(spec.slug), recipe)
    measurement: Measurement[tuple[Measured, Measured]] = Measurement(state, "compression", key)
    if recipe not in points and measurement.result:
        points = points | {recipe: measurement.result[1]}
    whole, chosen = points[Recipe()], points.get(recipe)
    if chosen:
        view.say(
            "Result",
            size=in_bytes(chosen.stored_bytes),
            whole=in_bytes(whole.stored_bytes),
            times=f"{whole.stored_bytes / chosen.stored_bytes:.1f}",
            memory=in_bytes(chosen.memory_bytes),
            memory_before=in_bytes(whole.memory_bytes),
            bits=f"{chosen.bits_per_token:.2f}",
            before=f"{whole.bits_per_token:.2f}",
            accuracy=percent(chosen.accuracy),
            accuracy_before=percent(whole.accuracy),
            unit=unit,
            time=_time(chosen),
            time_before=_time(whole),
        )
    else:
        view.say("Not stored")
    _picture(view, spec, points, chosen, unit)
    view.note("Stored", machine=plain_machine(whole.machine))
    view.try_and_notice()
    _predictions(view, spec, recipe)
    run = _measure_here(view, spec, recipe, measurement)
    view.how_it_works()
    run()


def _recipe(view: View, points: Mapping[Recipe, Measured]) -> Recipe:
    pruned, bits = int(PRUNE.draw(view.state)), int(WIDTH.draw(view.state))
    heads, layers = sorted({point.heads for point in points}), sorted({point.layers for point in points})
    controls = [HEAD.with_(options={str(n): f"{n}%" for n in heads})] if len(heads) > 1 else []
    controls += [LAYER.with_(options={str(n): str(n) for n in layers})] if len(layers) > 1 else []
    others = settings_menu(view.state, *controls) if controls else {}
    return Recipe(pruned, int(others.get("heads", 0)), int(others.get("layers", 0)), bits)


def _picture(
    view: View, spec: CheckpointSpec, points: Mapping[Recipe, Measured], chosen: Measured | None, unit: str
) -> None:
    """Megabytes against bits per token: a line for each kind of compression, combinations, front and chosen point."""
    names, look = view.words.front["lines"], theme()
    groups = {
        names["bits"].replace("{{bits}}", str(bits)): [points[Recipe(pruned=pruned, bits=bits)] for pruned in PRUNED]
        for bits in BITS
    } | {
        names["heads"]: [points[recipe] for heads in HEADS if (recipe := Recipe(heads=heads)) in points],
        names["layers"]: [points[recipe] for layers in LAYERS if (recipe := Recipe(layers=layers)) in points],
    }
    front = pareto(points.values())
    alone = {point.recipe for group in groups.values() for point in group}
    groups[names["combined"]] = [point for recipe, point in points.items() if recipe not in alone]
    groups[names["front"]] = list(front)
    if chosen:
        groups[names["chosen"]] = [chosen]
    colors = (*look.categorical[:7], look.ink, accent(spec.branch))
    lines = [
        Line(
            name,
            [point.stored_bytes / MEGA for point in group],
            [point.bits_per_token for point in group],
            color,
            dash,
            words=[f"{_name(point.recipe)}: {in_bytes(point.memory_bytes)} in memory" for point in group],
        )
        for (name, group), color, dash in zip(groups.items(), colors, cycle(DASHES), strict=False)
        if len(group) > 1 or group[0] is chosen
    ]
    figure = line_chart(
        lines,
        view.words.part("Axis", unit=unit),
        across=view.words.label("size"),
        hover="%{customdata}, %{x:.2f} MB stored, %{y:.2f} bits",
        xaxis={"rangemode": "tozero"},
        theme=look,
    )
    figure.update_traces(mode="markers", selector={"name": names["combined"]})
    figure.update_traces(mode="lines", selector={"name": names["front"]})
    if chosen:
        figure.data[-1].marker.update(size=18, symbol="circle-open", line={"width": 3, "color": accent(spec.branch)})
    alt = view.words.part("Alt", model=spec.name, best=_name(front[-1].recipe), smallest=_name(front[0].recipe))
    Panel("compression", view.words.label("picture"), figure, alt, _table(points, front)).draw(view.state)


def _name(recipe: Recipe) -> str:
    """A recipe in a few words."""
    parts = [f"{recipe.bits} bits"] if recipe.bits < 32 else []
    parts += [f"{recipe.pruned}% pruned"] if recipe.pruned else []
    parts += [f"{recipe.heads}% of the heads removed"] if recipe.heads else []
    parts += [f"{recipe.layers} {'layer' if recipe.layers == 1 else 'layers'} removed"] if recipe.layers else []
    return ", ".join(parts) or "the whole model"


def _table(points: Mapping[Recipe, Measured], front: Sequence[Measured]) -> Table:
    rows = [
        (
            _name(point.recipe),
            point.stored_bytes,
            point.memory_bytes,
            point.bits_per_token,
            point.accuracy,
            1e3 * point.seconds,
            1e3 * point.fastest,
            1e3 * point.slowest,
            point.machine,
            point in front,
        )
        for point in sorted(points.values(), key=lambda point: point.stored_bytes)
    ]
    columns = (
        "recipe",
        "bytes stored",
        "bytes in memory",
        "bits per token",
        "accuracy",
        "ms (median of 5)",
        "fastest",
        "slowest",
        "machine",
        "Pareto front",
    )
    return Table(columns, tuple(rows))


def _predictions(view: View, spec: CheckpointSpec, recipe: Recipe) -> None:
    """What the model predicts on the visitor's sentence, whole and compressed."""
    st.subheader(view.words.label("predictions"), anchor=False)
    task = next(iter(spec.tasks), "")
    text = TEXT.with_(
        default=task_samples(Task(task, ""))[0] if spec.offers("rewrites") else spec.family.question_text,
        sentence="masked" if spec.offers("predicts masked tokens") else "plain",
        label="Prompt" if spec.offers("continues") else "Sentence",
    ).draw(view.state, tag=f"{spec.kind}.{task}")
    if spec.offers("detects replaced tokens"):
        view.note("Replaced")
    both = session.computed("compressing", predictions, spec.slug, recipe, text)
    if both[0].output:
        view.note("Output", whole=plain(both[0].output), compressed=plain(both[1].output))
    scale = max(top.probabilities[0] for top in both)
    names = (spec.name, f"{spec.name}, {_name(recipe)}")
    for column, top, name in zip(st.columns(2, gap="medium"), both, names, strict=True):
        with column:
            st.caption(plain(name))
            chart(
                prediction_bars(top.tokens, top.probabilities, accent(spec.branch), scale=scale, theme=theme()),
                key=view.state.key(f"compression.{name}"),
                alt=bars_alt(top.tokens, top.probabilities, name),
            )
    old, new = (top.tokens for top in both)
    came, went = ([token for token in a if token not in b] for a, b in ((new, old), (old, new)))
    named = {"top": new[:1], "before": old[:1], "new": came, "gone": went}
    written = {name: ", ".join(f"“{plain(token.strip())}”" for token in own) or "none" for name, own in named.items()}
    view.note("Changed", count=len(new), **written)
    rows = [
        (name, rank, token, chance)
        for name, top in zip(names, both, strict=True)
        for rank, (token, chance) in enumerate(zip(top.tokens, top.probabilities, strict=True), 1)
    ]
    table = Table(("model", "rank", "prediction", "probability"), tuple(rows))
    offer_table(view.state, table, view.words.label("predictions"), "compressed-predictions")


def _measure_here(
    view: View, spec: CheckpointSpec, recipe: Recipe, measurement: Measurement[tuple[Measured, Measured]]
) -> Callable[[], None]:
    """Draw the button and the numbers of this machine; return what measures both models if it was clicked."""
    measurement.draw(st.empty())
    if measurement.result:
        whole, chosen = measurement.result
        numbers = {"bits": f"{chosen.bits_per_token:.2f}", "before": f"{whole.bits_per_token:.2f}"}
        view.note("Here", time=_time(chosen), whole=_time(whole), machine=plain_machine(chosen.machine), **numbers)

    def both(tell: session.Progress) -> tuple[Measured, Measured]:
        checkpoint, names = session.checkpoint(spec.slug), (_name(Recipe()), _name(recipe))
        first = measure(checkpoint, Recipe(), lambda share: tell(share / 2, names[0]))
        return first, measure(checkpoint, recipe, lambda share: tell((1 + share) / 2, names[1]))

    return partial(measurement.run, both)


def _time(point: Measured) -> str:
    return f"{1e3 * point.seconds:.1f} ms ({1e3 * point.fastest:.1f} to {1e3 * point.slowest:.1f})"


COMPRESSION = Section("compression", compression, (MODEL, PRUNE, WIDTH, HEAD, LAYER, TEXT))
