"""Scaling laws: the loss by parameters and tokens, and the best split of their compute by the published laws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Any

import streamlit as st

from core.costs.known import DATA, formulas
from core.costs.trained import PETAFLOP_DAY, Fitted, Law, Run, by_setting, fitted_law, laws, read
from core.figures.labels import in_operations, short, whole
from core.figures.lines import Line, line_chart
from core.figures.plot import DASHES, Json
from core.table import Table
from core.ui.formulas import formula
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Real
from core.ui.section import Section, View
from core.ui.tables import Row, TextTable, text_table

PARAMETERS = Real(
    name="billions", label="Parameters, billions", default=70.0, low=1e-4, high=1e5, style="box", format="%g", width=190
)
TOKENS = Real(
    name="trained", label="Tokens, billions", default=1400.0, low=1e-3, high=1e7, style="box", format="%g", width=190
)
"""The defaults are Chinchilla's."""
_POINTS = 41


def draw(view: View) -> None:
    """Draw the losses, the loss along the budget, and the best size by compute."""
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        parameters, tokens = 1e9 * PARAMETERS.draw(state), 1e9 * TOKENS.draw(state)
    compute = 6 * parameters * tokens
    known = laws()
    view.say(
        "Answer",
        compute=in_operations(compute),
        days=f"{days:,.0f}" if (days := compute / PETAFLOP_DAY) >= 100 else f"{days:,.3g}",
        ratio=f"{tokens / parameters:,.3g}",
    )
    left, right = st.columns(2, gap="large")
    with left:
        _along_the_budget(view, known, compute, parameters)
    with right:
        _by_compute(view, known, compute)
    rows: list[Row] = []
    for law in known.values():
        best, texts = law.split(compute)
        loss, least = law.loss(parameters, tokens), law.loss(best, texts)
        growth = f"N ∝ C^{law.exponent:.2f}"
        sizes = (short(round(best)), short(round(texts)))
        rows.append((law.name, f"{loss:.3f}", *sizes, f"{least:.3f}", growth))
    headings = ("Law", "Loss of your N, D", "Best N", "Best D", "Its loss", "Growth")
    text_table(TextTable(headings, rows, view.words.label("table"), (25, 17, 14, 14, 13, 17), (1, 2, 3, 4)))
    view.try_and_notice()
    view.note("Scale")
    _trained_here(view)
    for key in ("kaplan", "hoffmann"):
        formula(key, formulas(DATA / "scaling.toml"))


def _colors() -> tuple[str, ...]:
    return theme().categorical


def _sizes(amounts: Sequence[float]) -> Json:
    """A logarithmic axis of numbers of parameters, ``10 B``."""
    ticks = [10**power for power in range(3, 18) if min(amounts) <= 10**power <= max(amounts)]
    return {"type": "log", "tickvals": ticks, "ticktext": [whole(short(tick)) for tick in ticks]}


def _along_the_budget(view: View, known: dict[str, Law], compute: float, parameters: float) -> None:
    """The loss of every N that spends the budget on D = C / 6 N."""
    low, high = parameters / 100, parameters * 100
    sizes = [low * (high / low) ** (i / (_POINTS - 1)) for i in range(_POINTS)]
    lines = [
        Line(law.name, sizes, [law.loss(n, compute / (6 * n)) for n in sizes], _colors()[at], DASHES[at])
        for at, law in enumerate(known.values())
    ]
    figure = line_chart(
        lines,
        "loss, nats per token",
        across="parameters N, with D = C / 6 N",
        hover="%{x:.3~s}: %{y:.3f}",
        markers=False,
        at=parameters,
        xaxis=_sizes(sizes),
        theme=theme(),
    )
    alt = view.words.part("Alt: budget", minima="; ".join(_minimum(law, sizes, compute) for law in known.values()))
    table = Table.from_columns({"parameters": sizes} | {line.name: list(line.values) for line in lines})
    Panel("scaling-budget", view.words.label("budget"), figure, alt, table, heading=True).draw(view.state)


def _minimum(law: Law, sizes: list[float], compute: float) -> str:
    best = min(sizes, key=lambda n: law.loss(n, compute / (6 * n)))
    return f"{law.name} {short(round(best))}"


def _by_compute(view: View, known: dict[str, Law], compute: float) -> None:
    """The best N by compute on logarithmic axes."""
    budgets = [compute * 10 ** (power / 4) for power in range(-16, 17)]
    lines = [
        Line(law.name, budgets, [law.split(c)[0] for c in budgets], _colors()[at], DASHES[at])
        for at, law in enumerate(known.values())
    ]
    figure = line_chart(
        lines,
        "best parameters N",
        across="compute C, operations",
        hover="%{x:.2e}: %{y:.3s}",
        markers=False,
        at=compute,
        xaxis={"type": "log", "dtick": 2, "exponentformat": "power"},
        yaxis=_sizes([size for line in lines for size in line.values if size]),
        theme=theme(),
    )
    best = "; ".join(f"{law.name} {short(round(law.split(compute)[0]))}" for law in known.values())
    table = Table.from_columns({"operations": budgets} | {line.name: list(line.values) for line in lines})
    alt = view.words.part("Alt: compute", best=best)
    Panel("scaling-compute", view.words.label("best"), figure, alt, table, heading=True).draw(view.state)


def _trained_here(view: View) -> None:
    """The decoders trained for this page, the law fitted to them, its exponents beside the published ones."""
    runs, constants = read(Run, "scaling"), {one.name: one for one in read(Fitted, "scaling-fits")}
    own, groups = fitted_law(constants), by_setting(runs)
    sizes, tokens = sorted({key[0] for key in groups}), sorted({int(key[1]) for key in groups})
    seeds = " to ".join(map(str, sorted({len(own_runs) for own_runs in groups.values()})))
    st.subheader(view.words.label("own"), anchor=False)
    view.say("Own", sizes=len(sizes), amounts=len(tokens), seeds=seeds)
    table = Table.from_records([asdict(run) for run in runs])
    alt = view.words.part("Alt: own", alpha=_within(constants["alpha"]), beta=_within(constants["beta"]))
    for column, at, across in zip(st.columns(2, gap="large"), (1, 0), ("own-tokens", "own-sizes"), strict=True):
        with column:
            title = view.words.label(across)
            figure = _points(groups, own, at, title)
            Panel(across, title, figure, alt, table if at else None).draw(view.state)
    text_table(
        TextTable(
            tuple(view.words.front["exponents"]), _exponents(view, constants), view.words.label("own"), (36, 30, 34)
        )
    )
    most = [fmean(run.loss for run in groups[key]) for key in sorted(groups) if key[1] == tokens[-1]]
    steps = [f"{count // runs[0].batch:,}" for count in (tokens[0], tokens[-1])]
    times = f"{sizes[-1] / sizes[0]:.0f}"
    view.note("Own scale", low=steps[0], high=steps[1], times=times, gain=f"{most[0] - most[-1]:.2f}")


def _within(one: Fitted) -> str:
    return f"{one.value:.2g} ({one.low:.2g} to {one.high:.2g})"


def _points(groups: Mapping[tuple[float, ...], Sequence[Run]], own: Law, at: int, across: str) -> Any:
    """Losses by parameters (``at`` 0) or tokens (1), with a line of the fitted law for each value of the other."""
    lines = []
    for number, other in enumerate(sorted({key[1 - at] for key in groups})):
        chosen = {key[at]: runs for key, runs in sorted(groups.items()) if key[1 - at] == other}
        xs = list(chosen)
        ends = [(min(run.loss for run in runs), max(run.loss for run in runs)) for runs in chosen.values()]
        fine = [xs[0] * (xs[-1] / xs[0]) ** (step / 20) for step in range(21)]
        lines.append(
            Line(
                f"{short(round(other))} {'parameters' if at else 'tokens'}",
                xs,
                [fmean(run.loss for run in runs) for runs in chosen.values()],
                _colors()[number],
                DASHES[number],
                ranges=ends,
                curve=(fine, [own.loss(x, other) if at == 0 else own.loss(other, x) for x in fine]),
            )
        )
    values = [value for line in lines for value in line.values if value]
    ticks = [tick / 10 for tick in range(5, 80, 5) if min(values) - 0.3 < tick / 10 < max(values) + 0.3]
    return line_chart(
        lines,
        "loss, nats per token",
        across=across,
        hover="%{x:,}: %{y:.3f}",
        xaxis={"type": "log", "tickvals": (sorted(xs)), "ticktext": [whole(short(round(x))) for x in sorted(xs)]},
        yaxis={"type": "log", "tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]},
        theme=theme(),
    )


def _exponents(view: View, constants: Mapping[str, Fitted]) -> list[Row]:
    published = view.words.front["published"]
    return [(view.words.label(f"exponent-{name}"), _within(constants[name]), published[name]) for name in published]


SCALING = Section("scaling", draw, (PARAMETERS, TOKENS), folder="calculators")
