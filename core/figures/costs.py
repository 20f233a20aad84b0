"""Costs as figures: bytes on a device as stacked bars, amounts, and the KV cache against the length of a text.

A component keeps its color and hatching in every figure; a line marks the device's memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from core.figures.bars import Series, bars, totals
from core.figures.labels import in_bytes, label, sentence, whole
from core.figures.lines import Line, line_chart
from core.figures.plot import DASHES, Json, level, note, title, upright
from core.lazy import go
from core.theme import FILLS, Theme

PARTS: dict[str, tuple[str, str]] = {
    "weights": (FILLS[0], ""),
    "gradients": (FILLS[1], "/"),
    "optimizer": (FILLS[2], ""),
    "activations": (FILLS[5], "."),
    "key-value cache": (FILLS[6], "\\"),
    "in all": (FILLS[1], ""),
}
"""Color and hatching of each component."""
_WRAP = 19
"""Characters of a label's line."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: its label and its components in bytes."""

    label: str
    parts: tuple[tuple[str, float], ...]
    chosen: bool = False

    @property
    def total(self) -> float:
        return sum(amount for _, amount in self.parts)


def held_bars(stacks: Sequence[Bar], limit: float | None = None, *, limit_name: str = "", theme: Theme) -> go.Figure:
    """Stacked bars of bytes; a dashed line at ``limit`` bytes where there is one. The chosen bar's label is bold."""
    # long labels wrap, so that bars keep their width on a phone
    wrapped = ["<br>".join(map(label, wrap(bar.label, _WRAP))) for bar in stacks]
    series = [
        Series(part, [a / 1e9 for a in amounts], *PARTS[part], words=[f"{part}: {in_bytes(a)}" for a in amounts])
        for part, amounts in _by_part(stacks).items()
    ]
    # the legend begins a fixed number of pixels below the plot, whatever the plot's height, with two entries a row
    tallest = max((text.count("<br>") for text in wrapped), default=0)
    plot = 54 + (42 + 20 * max(0, tallest - 1)) * max(2, len(stacks))
    above, below = 30 if limit else 10, 56 + 22 * math.ceil(len(series) / 2)
    longest = max([bar.total for bar in stacks] + [limit or 0.0], default=0.0) / 1e9 or 1.0
    at = (limit or 0.0) / 1e9
    side = "right" if at > 0.6 * longest else "left"
    mark: Json = {
        "shapes": [upright(at, color=theme.ink, width=2, dash="dash")],
        "annotations": [note(label(limit_name), at, 1, yref="paper", yanchor="bottom", xanchor=side)],
    }
    return bars(
        [f"<b>{text}</b>" if bar.chosen else text for text, bar in zip(wrapped, stacks, strict=True)],
        series,
        theme,
        end=1.28 * longest,
        more=[totals([bar.total / 1e9 for bar in stacks], [in_bytes(bar.total) for bar in stacks])],
        xaxis=title("GB on one device"),
        barmode="stack",
        bargap=0.35,
        height=above + plot + below,
        margin={"r": 16, "t": above, "b": below},
        showlegend=True,
        legend={"yanchor": "top", "y": -52 / plot},
        **mark if limit else {},
    )


def _by_part(stacks: Sequence[Bar]) -> dict[str, list[float]]:
    """The bytes of each component that some bar has, bar by bar."""
    amounts = {part: [dict(bar.parts).get(part, 0.0) for bar in stacks] for part in PARTS}
    return {part: values for part, values in amounts.items() if any(values)}


def held_alt(stacks: Sequence[Bar], limit: float | None = None) -> str:
    """The bars in words, for screen readers."""
    bars = "; ".join(f"{bar.label}: {in_bytes(bar.total)}" for bar in stacks)
    return sentence("Held", bars=bars) + (f" {sentence('Held: limit', limit=in_bytes(limit))}" if limit else "")


def held_rows(stacks: Sequence[Bar]) -> list[dict[str, object]]:
    """The bars as table rows in bytes: label, each component, total."""
    shown = _by_part(stacks)
    return [
        {
            "What": bar.label,
            **{f"{part}, bytes": round(amounts[at]) for part, amounts in shown.items()},
            "in all, bytes": round(bar.total),
        }
        for at, bar in enumerate(stacks)
    ]


@dataclass(frozen=True, slots=True)
class Growth:
    """One model's line: bytes at each sequence length."""

    name: str
    lengths: tuple[int, ...]
    bytes: tuple[float, ...]


def device_lines(lines: Sequence[Growth], limit: float, limit_name: str, *, theme: Theme) -> go.Figure:
    """Bytes of one device against the number of devices on two logarithmic axes; a dashed line at ``limit`` bytes.

    The lengths of each line are numbers of devices.
    """
    devices = list(lines[0].lengths)
    return _bytes_lines(
        lines,
        "memory of one device",
        "devices",
        limit,
        across="devices",
        xaxis={"type": "log", "tickvals": devices[::2], "ticktext": [f"{n:,}" for n in devices[::2]]},
        shapes=[level(limit, color=theme.ink, width=2, dash="dash")],
        annotations=[
            note(label(limit_name), 0, math.log10(limit), xref="x domain", xanchor="left", yanchor="bottom", xshift=4)
        ],
        theme=theme,
    )


def _bytes_lines(
    lines: Sequence[Growth], measure: str, unit: str, *more: float, theme: Theme, **layout: Any
) -> go.Figure:
    """Bytes on a logarithmic axis, a line for each of ``lines``; ``more`` are amounts that the axis shows, too."""
    colors = (*theme.categorical, FILLS[6])
    drawn = [
        Line(
            line.name,
            line.lengths,
            [max(1.0, value) for value in line.bytes],
            colors[number % len(colors)],
            DASHES[number % len(DASHES)],
            words=[in_bytes(value) for value in line.bytes],
        )
        for number, line in enumerate(lines)
    ]
    amounts = [*(value for line in lines for value in line.bytes), *more] or [1e3, 1e9]
    ticks = [10.0**power for power in range(3, 16) if min(amounts) / 10 <= 10.0**power <= max(amounts) * 10]
    yaxis = {"type": "log", "tickvals": ticks, "ticktext": [whole(in_bytes(tick)) for tick in ticks]}
    return line_chart(drawn, measure, hover=f"%{{x:,}} {unit}: %{{customdata}}", yaxis=yaxis, theme=theme, **layout)
