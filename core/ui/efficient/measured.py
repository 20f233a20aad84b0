"""Sparse and full attention by length: counted and measured, and the length from which sparse pays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import streamlit as st

from core import session
from core.efficiency import lengths
from core.efficiency.lengths import HERE, KINDS, LENGTHS, Row
from core.figures.labels import in_bytes, in_words, whole
from core.figures.lines import Line, line_chart
from core.figures.plot import DASHES
from core.table import Table
from core.ui.branch import BranchView
from core.ui.measuring import Measurement
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Choice
from core.ui.section import Section, View

_WHAT = {
    "time": "Time, measured",
    "memory": "Peak memory, measured",
    "operations": "Multiply-adds, counted",
    "bytes": "Bytes of scores, counted",
}
WHAT = Choice(name="quantity", label="Quantity", options=_WHAT, width=260)
_KEY = ("attention by length",)
_FROM = 1024
"""The slope is fitted from here on, where calls no longer take most of the time."""


def draw(view: BranchView) -> None:
    """Draw the chosen quantity by length, stored or measured here."""
    state = view.state
    measurement: Measurement[tuple[Row, ...]] = Measurement(state, "lengths", _KEY)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        what = WHAT.draw(state)
        button = st.empty()
    measurement.draw(button)
    own = measurement.result
    rows = own or lengths.stored()
    cross, fused = lengths.crossing(rows), lengths.crossing(rows, "sparse", "fused")
    view.say(
        "Crossing" if cross else "No crossing",
        tokens=f"{cross or 0:,}",
        fused=view.words.part("Fused", tokens=f"{fused:,}") if fused else view.words.part("Not fused"),
    )
    _picture(view, what, rows)
    machine, runs = lengths.plain_machine(rows[0].machine), "measured-here" if own else "measured-stored"
    st.caption(view.words.part("Machine", machine=machine, threads=rows[0].threads, how=view.words.label(runs)))
    view.try_and_notice()
    view.how_it_works(width=lengths.WIDTH, block=lengths.SPARSITY.block_size, start=_FROM)
    measurement.run(lambda tell: tuple(_watched(tell)))


def _watched(tell: session.Progress) -> Iterator[Row]:
    tell(0.0, f"{LENGTHS[0]} tokens")
    for number, batch in enumerate(lengths.measure(LENGTHS, HERE), 1):
        yield from batch
        after = f"{LENGTHS[number]:,} tokens" if number < len(LENGTHS) else "done"
        tell(number / len(LENGTHS), after)


def _value(row: Row, what: str) -> float | None:
    match what:
        case "time":
            return 1000 * row.seconds
        case "memory":
            return row.peak_bytes
        case "operations":
            return row.multiply_adds
    return row.score_bytes


def _written(value: float, what: str) -> str:
    if what == "time":
        return f"{value:,.3g} ms" if value < 1000 else f"{value:,.0f} ms"
    return in_words(round(value)) if what == "operations" else in_bytes(value)


def _picture(view: View, what: str, rows: Sequence[Row]) -> None:
    lines, slopes = [], []
    counted = what in ("operations", "bytes")
    for at, (kind, name) in enumerate(KINDS.items()):
        own = [row for row in rows if row.kind == kind and _value(row, what) is not None]
        if not own or (counted and kind not in ("full", "sparse")):
            continue  # a fused kernel computes as many as the plain products
        values = [float(_value(row, what) or 0) for row in own]
        late = [(row.tokens, value) for row, value in zip(own, values, strict=True) if row.tokens >= _FROM]
        exponent = lengths.slope(*zip(*late, strict=True)) if len(late) > 1 else None
        slopes.append(f"{name} {exponent:.2f}" if exponent is not None else name)
        ranges = [(1000 * row.fastest, 1000 * row.slowest) for row in own] if what == "time" else None
        label = f"{name}: n^{exponent:.2f}" if exponent is not None else name
        lines.append(
            Line(
                label,
                [row.tokens for row in own],
                values,
                theme().categorical[at],
                DASHES[at],
                ranges=ranges,
                words=[_written(value, what) for value in values],
            )
        )
    amounts = [value for line in lines for value in line.values if value]
    ticks = [10.0**power for power in range(-4, 14) if min(amounts) / 10 <= 10.0**power <= max(amounts) * 10]
    figure = line_chart(
        lines,
        _WHAT[what].lower(),
        across="tokens n",
        hover="%{x:,} tokens: %{customdata}",
        xaxis={"type": "log", "tickvals": list(LENGTHS), "ticktext": [f"{n:,}" for n in LENGTHS]},
        yaxis={"type": "log", "tickvals": ticks, "ticktext": [whole(_written(tick, what)) for tick in ticks]},
        theme=theme(),
    )
    Panel(
        f"lengths-{what}",
        _WHAT[what],
        figure,
        view.words.part("Alt", quantity=_WHAT[what], slopes="; ".join(slopes)),
        Table(
            (
                *("kind", "tokens", "multiply-adds", "bytes of scores", "milliseconds", "fastest", "slowest"),
                *("peak bytes", "machine", "threads"),
            ),
            tuple(
                (
                    *(KINDS[row.kind], row.tokens, row.multiply_adds, row.score_bytes),
                    *(1000 * row.seconds, 1000 * row.fastest, 1000 * row.slowest),
                    *(row.peak_bytes, row.machine, row.threads),
                )
                for row in rows
            ),
        ),
    ).draw(view.state)


MEASURED = Section("measured", draw, (WHAT,))
