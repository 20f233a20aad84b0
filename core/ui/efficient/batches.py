"""Batch size: the gradient noise scale of a live decoder, and the best learning rate by batch against two rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from math import sqrt

import streamlit as st

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.costs.trained import BATCHES, SWEPT, Noisy, Run, best_rate, by_setting, read
from core.efficiency import noise
from core.figures.labels import short, whole
from core.figures.lines import Line, line_chart
from core.figures.plot import DASHES
from core.table import Table
from core.ui.branch import BranchView
from core.ui.measuring import Measurement
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Model
from core.ui.section import Section, View

DECODER = Model(
    name="decoder",
    label="Decoder",
    first="noise",
    fits=lambda spec: spec.slug in {row.model for row in read(Noisy, "noise")},
    width=300,
)

_TICKS = (100, 200, 500, 1000, 2000, 5000, 10_000)


def draw(view: BranchView) -> None:
    """Draw the noise scale, stored or measured here; then rates and losses by batch."""
    state, models = view.state, DECODER.here()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        spec = models.offered()[models.draw(state)]
        button = st.empty()
    measurement: Measurement[noise.Noise] = Measurement(
        state, "noise", ("gradient noise", spec.slug, session.files(spec.slug))
    )
    measurement.draw(button)
    rows, own = read(Noisy, "noise"), measurement.result
    stored = next(row for row in rows if row.model == spec.slug)
    scale, ends = (own.scale, own.interval) if own else (stored.scale, (stored.low, stored.high))
    view.say(
        "Scale" if scale and ends else "No scale",
        model=spec.name,
        scale=_rounded(scale or 0),
        low=_rounded(ends[0] if ends else 0),
        high=_rounded(ends[1] if ends else 0),
        how=view.words.label("measured-here" if own else "measured-stored"),
    )
    runs = read(Run, "batches")
    best = {batch: best_rate(runs, batch) for batch in BATCHES}
    left, right = st.columns(2, gap="large")
    with left:
        _noise(view, rows, models.offered(), spec, scale)
    with right:
        _rates(view, best)
    rates = [rate for rate, _ in best.values()]
    view.try_and_notice(low=f"{min(rates):.2g}", high=f"{max(rates):.2g}")
    st.subheader(view.words.label("losses"), anchor=False)
    _losses(view, runs)
    noisy = len({row.seed for row in rows if not row.model})
    view.note("Trained", tokens=f"{SWEPT[1]:,}", seeds=len({run.seed for run in runs}), noisy=noisy)
    view.how_it_works(window=noise.WINDOW, group=noise.GROUP)
    measurement.run(lambda tell: _watched(spec.slug, tell))


def _watched(slug: str, tell: session.Progress) -> noise.Noise:
    found: Iterator[noise.Noise] = noise.live(checkpoint := session.checkpoint(slug))
    total = noise.groups(checkpoint)
    for number, last in enumerate(found, 1):
        tell(number / total, f"{number * noise.GROUP} gradients")
        result = last
    return result


def _rounded(tokens: float) -> str:
    """Two digits."""
    return f"{float(f'{tokens:.2g}'):,.0f}"


def _noise(
    view: View, rows: Sequence[Noisy], specs: dict[str, CheckpointSpec], chosen: CheckpointSpec, scale: float | None
) -> None:
    """The noise scale by training tokens."""
    look = theme()
    moments = sorted({row.tokens for row in rows if not row.model})
    trained = [[row for row in rows if not row.model and row.tokens == moment] for moment in moments]
    means = [sum(row.scale for row in own) / len(own) for own in trained]
    ranges = [(min(row.scale for row in own), max(row.scale for row in own)) for own in trained]
    lines = [Line(view.words.label("swept"), moments, means, look.muted, ranges=ranges)] if moments else []
    for number, row in enumerate(row for row in rows if row.model in specs):
        value, ends = row.scale, (row.low, row.high)
        if row.model == chosen.slug and scale:
            value = scale
        lines.append(Line(specs[row.model].name, [row.tokens], [value], look.categorical[number], ranges=[ends]))
    counts = [row.tokens for row in rows]
    ticks = [10**power for power in range(3, 9) if min(counts) / 2 < 10**power < 2 * max(counts)]
    figure = line_chart(
        lines,
        view.words.label("scale"),
        across=view.words.label("tokens"),
        hover="%{x:.3s} tokens: %{y:.3s}",
        xaxis={"type": "log", "tickvals": ticks, "ticktext": [whole(short(tick)) for tick in ticks]},
        yaxis={"type": "log", "tickvals": [*_TICKS], "ticktext": [f"{tick:,}" for tick in _TICKS]},
        theme=look,
    )
    values = "; ".join(f"{line.name} {_rounded(line.values[-1] or 0)}" for line in lines)
    table = Table.from_records([asdict(row) | {"model": row.model or view.words.label("swept")} for row in rows])
    Panel(
        "noise-scale",
        view.words.label("noise"),
        figure,
        view.words.part("Alt: noise", values=values),
        table,
        heading=True,
    ).draw(view.state)


def _rates(view: View, best: Mapping[int, tuple[float, float]]) -> None:
    """The best rate of each batch, with the linear and the square-root rule from the smallest batch."""
    look, first = theme(), BATCHES[0]
    lines = [
        Line(view.words.label("best"), list(best), [rate for rate, _ in best.values()], look.ink),
        Line(
            view.words.label("linear"),
            list(best),
            [best[first][0] * b / first for b in best],
            look.categorical[0],
            DASHES[1],
        ),
        Line(
            view.words.label("root"),
            list(best),
            [best[first][0] * sqrt(b / first) for b in best],
            look.categorical[1],
            DASHES[2],
        ),
    ]
    figure = line_chart(
        lines,
        view.words.label("rate"),
        across=view.words.label("batch"),
        hover="%{x:,} tokens: %{y:.2g}",
        xaxis=_batches(),
        yaxis={"type": "log", "range": [-3, 0], "tickvals": [1e-3, 1e-2, 1e-1, 1]},
        theme=look,
    )
    values = "; ".join(f"{batch:,}: {rate:.2g}" for batch, (rate, _) in best.items())
    table = Table(
        (
            view.words.label("batch"),
            view.words.label("best"),
            "its loss",
            view.words.label("linear"),
            view.words.label("root"),
        ),
        tuple((b, *best[b], *(line.values[i] for line in lines[1:])) for i, b in enumerate(best)),
    )
    Panel(
        "batch-rates",
        view.words.label("rates"),
        figure,
        view.words.part("Alt: rates", values=values),
        table,
        heading=True,
    ).draw(view.state)


def _losses(view: View, runs: Sequence[Run]) -> None:
    """The loss by learning rate after equal tokens, a line for each batch."""
    look, groups = theme(), by_setting(runs)
    lines = []
    for number, batch in enumerate(BATCHES):
        own = {key[3]: found for key, found in groups.items() if key[2] == batch}
        ranges = [(min(run.loss for run in found), max(run.loss for run in found)) for found in own.values()]
        means = [sum(run.loss for run in found) / len(found) for found in own.values()]
        color = look.categorical[number % len(look.categorical)]
        lines.append(Line(f"{batch:,} tokens", list(own), means, color, DASHES[number % len(DASHES)], ranges=ranges))
    rates = sorted({run.rate for run in runs})
    figure = line_chart(
        lines,
        view.words.label("loss"),
        across=view.words.label("rate"),
        hover="%{x:.2g}: %{y:.3f}",
        xaxis={"type": "log", "tickvals": rates, "ticktext": [f"{rate:g}" for rate in rates]},
        theme=look,
    )
    values = "; ".join(f"{line.name} {min(value or 0 for value in line.values):.2f}" for line in lines)
    table = Table.from_records([asdict(run) for run in runs])
    Panel(
        "batch-losses",
        view.words.label("losses"),
        figure,
        view.words.part("Alt: losses", values=values),
        table,
    ).draw(view.state)


def _batches() -> dict[str, object]:
    return {"type": "log", "tickvals": list(BATCHES), "ticktext": [f"{batch:,}" for batch in BATCHES]}


BATCH = Section("batches", draw, (DECODER,))
