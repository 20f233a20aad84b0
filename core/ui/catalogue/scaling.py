"""Scaling laws: the loss by parameters and tokens, and the best split of their compute by the published laws."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.costs.known import DATA, formulas
from core.costs.laws import PETAFLOP_DAY, Law, laws
from core.figures.labels import in_operations, short, whole
from core.figures.lines import Line, line_chart
from core.figures.plot import DASHES, Json
from core.table import Table
from core.ui.formulas import formula
from core.ui.links import page_link
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Real
from core.ui.section import Section, View
from core.ui.tables import TableRow, TextTable, text_table

PARAMETERS = Real(
    name="billions", label="Parameters, billions", default=70.0, low=1e-4, high=1e5, style="box", format="%g", width=190
)
TOKENS = Real(
    name="trained", label="Tokens, billions", default=1400.0, low=1e-3, high=1e7, style="box", format="%g", width=190
)
"""The defaults are Chinchilla's."""
_POINTS = 41


def draw_scaling(view: View) -> None:
    """Draw the losses, the loss along the budget, and the best size by compute."""
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        parameters, tokens = 1e9 * PARAMETERS.draw(state), 1e9 * TOKENS.draw(state)
    compute = 6 * parameters * tokens
    fitted = laws()
    view.say(
        "Answer",
        compute=in_operations(compute),
        days=f"{days:,.0f}" if (days := compute / PETAFLOP_DAY) >= 100 else f"{days:,.3g}",
        ratio=f"{tokens / parameters:,.3g}",
    )
    left, right = st.columns(2, gap="large")
    with left:
        _along_the_budget(view, fitted, compute, parameters)
    with right:
        _by_compute(view, fitted, compute)
    rows: list[TableRow] = []
    for law in fitted.values():
        best, texts = law.split(compute)
        loss, least = law.loss(parameters, tokens), law.loss(best, texts)
        growth = f"N ∝ C^{law.exponent:.2f}"
        sizes = (short(round(best)), short(round(texts)))
        rows.append((law.name, f"{loss:.3f}", *sizes, f"{least:.3f}", growth))
    headings = ("Law", "Loss of your N, D", "Best N", "Best D", "Its loss", "Growth")
    text_table(TextTable(headings, rows, view.words.label("table"), (25, 17, 14, 14, 13, 17), (1, 2, 3, 4)))
    view.try_and_notice()
    view.note("Scale")
    page_link("experiments", view.words.label("own"), {"tab": "scaling"}, icon=":material/arrow_forward:")
    for key in ("kaplan", "hoffmann"):
        formula(key, formulas(DATA / "scaling.toml"))


def _colors() -> tuple[str, ...]:
    return theme().categorical


def _sizes(amounts: Sequence[float]) -> Json:
    """A logarithmic axis of numbers of parameters, ``10 B``."""
    ticks = [10**power for power in range(3, 18) if min(amounts) <= 10**power <= max(amounts)]
    return {"type": "log", "tickvals": ticks, "ticktext": [whole(short(tick)) for tick in ticks]}


def _along_the_budget(view: View, fitted: dict[str, Law], compute: float, parameters: float) -> None:
    """The loss of every N that spends the budget on D = C / 6 N."""
    low, high = parameters / 100, parameters * 100
    sizes = [low * (high / low) ** (i / (_POINTS - 1)) for i in range(_POINTS)]
    lines = [
        Line(law.name, sizes, [law.loss(n, compute / (6 * n)) for n in sizes], _colors()[at], DASHES[at])
        for at, law in enumerate(fitted.values())
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
    alt = view.words.part("Alt: budget", minima="; ".join(_minimum(law, sizes, compute) for law in fitted.values()))
    table = Table.from_columns({"parameters": sizes} | {line.name: list(line.values) for line in lines})
    Panel("scaling-budget", view.words.label("budget"), figure, alt, table, heading=True).draw(view.state)


def _minimum(law: Law, sizes: list[float], compute: float) -> str:
    best = min(sizes, key=lambda n: law.loss(n, compute / (6 * n)))
    return f"{law.name} {short(round(best))}"


def _by_compute(view: View, fitted: dict[str, Law], compute: float) -> None:
    """The best N by compute on logarithmic axes."""
    budgets = [compute * 10 ** (power / 4) for power in range(-16, 17)]
    lines = [
        Line(law.name, budgets, [law.split(c)[0] for c in budgets], _colors()[at], DASHES[at])
        for at, law in enumerate(fitted.values())
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
    best = "; ".join(f"{law.name} {short(round(law.split(compute)[0]))}" for law in fitted.values())
    table = Table.from_columns({"operations": budgets} | {line.name: list(line.values) for line in lines})
    alt = view.words.part("Alt: compute", best=best)
    Panel("scaling-compute", view.words.label("best"), figure, alt, table, heading=True).draw(view.state)


SCALING = Section("scaling", draw_scaling, (PARAMETERS, TOKENS))
