"""The calculator of time: how long a run over so many tokens takes on so many devices, and what energy."""

from __future__ import annotations

import streamlit as st

from core.costs.activations import RECOMPUTE
from core.costs.known import devices
from core.efficiency.epoch import Epoch, epoch
from core.errors import OutOfRange
from core.figures.costs import hours_bars
from core.figures.numbers import in_operations, in_time
from core.table import Table
from core.ui.calculators.parts import (
    YOURS,
    Chosen,
    choose,
    cited,
    device_row,
    formula,
    number,
    pick,
    real,
    usual_length,
)
from core.ui.chart import chart
from core.ui.export import download_csv
from core.ui.links import PageState
from core.ui.page import plain, theme
from core.ui.text_table import Row, TextTable, text_table

_TOKENS = 10.0
"""Billions of tokens to begin with: about what GPT-2's 40 GB of text hold."""


def one_epoch(state: PageState) -> None:
    """Draw the calculator. Raises :class:`core.errors.OutOfRange` where no rate is known."""
    answer = st.container()  # first also where the columns lie below each other
    left, right = st.columns([1, 1.7], gap="large")
    with left:
        chosen = choose(state)
        name, _, teraflops, watts = device_row(state, rate=True)
        one, other = st.columns(2)
        with one:
            tokens = real(state, "tokens", "Tokens, billions", _TOKENS, 0.000001, 1e6) or _TOKENS
            count = number(state, "devices", "Devices", 8, 1, 10**6)
        with other:
            length = number(state, "length", "Tokens of a text", usual_length(chosen.shape), 1, 10**7, tag=chosen.tag)
            share = number(
                state,
                "utilisation",
                "Utilisation, %",
                40,
                1,
                100,
                help="The share of the peak rate that useful operations reach. 40 % is a guess: yours depends on the "
                "program, the devices and what joins them.",
            )
        recompute = pick(state, "recompute", "Compute again on the way back", RECOMPUTE, "none")
        price = real(
            state,
            "price",
            "Price of a device for an hour",
            None,
            0.0,
            1e4,
            empty="only if you want one",
            help="In whatever currency you pay. Nothing is assumed.",
        )
    with right:
        if teraflops is None:
            if name == YOURS:
                raise OutOfRange("Enter the peak rate of your device, from its data sheet.")
            raise OutOfRange(
                f"No peak rate is known for {name}. Enter one from its data sheet, or choose another device."
            )
        run = epoch(
            chosen.shape,
            chosen.root,
            tokens * 1e9,
            length=length,
            devices=count,
            teraflops=teraflops,
            utilisation=share / 100,
            watts=watts,
            recompute=recompute,
        )
        with answer:
            _said(chosen, run, name, count, price)
        rows = _others(chosen, tokens, length, count, share, recompute, (name, teraflops))
        names = [row[0] for row in rows]
        hours = [row[1].hours for row in rows]
        said = [in_time(row[1].seconds) for row in rows]
        chart(
            hours_bars(names, hours, said, name, theme=theme()),
            key=state.key("hours"),
            alt="Time by device: " + "; ".join(f"{one} {text}" for one, text in zip(names, said, strict=True)),
        )
        st.markdown(
            "**Try** GPT-3 at 175B on 300 billion tokens with 1,024 devices.\n\n"
            "**Notice** that the length of a text hardly matters while 6 N is much more than 12 L s d, and that "
            "twice the utilisation is worth as much as twice the devices."
        )
    _table(state, chosen, run, rows, count)
    formula("time")
    formula("work")
    st.caption("Rates and powers: " + " ".join(dict.fromkeys(cited(c) for d in devices().values() for c in d.sources)))


def _said(chosen: Chosen, run: Epoch, device: str, count: int, price: float | None) -> None:
    lines = f"### {in_time(run.seconds)} on {count:,} × {plain(device)}\n"
    lines += (
        f"{plain(chosen.name)}, {run.tokens / 1e9:,.6g} billion tokens: {in_operations(run.operations)} operations, "
        f"{in_operations(run.by_token)} for a token; 6 N would be {in_operations(6 * chosen.root.parameters)}."
    )
    if run.kilowatt_hours is not None:
        lines += f" Energy of the devices alone: {run.kilowatt_hours:,.3g} kWh."
    if price:
        lines += f" At your price: {price * count * run.hours:,.2f}."
    st.markdown(lines)


def _others(
    chosen: Chosen, tokens: float, length: int, count: int, share: int, recompute: str, own: tuple[str, float]
) -> list[tuple[str, Epoch]]:
    """The same run on every device whose rate was read, and on the chosen one with the visitor's own."""
    rates = {device.name: device.teraflops for device in devices().values() if device.teraflops} | dict([own])
    return [
        (
            name,
            epoch(
                chosen.shape,
                chosen.root,
                tokens * 1e9,
                length=length,
                devices=count,
                teraflops=rate,
                utilisation=share / 100,
                recompute=recompute,
            ),
        )
        for name, rate in sorted(rates.items(), key=lambda item: -item[1])
    ]


def _table(state: PageState, chosen: Chosen, run: Epoch, others: list[tuple[str, Epoch]], count: int) -> None:
    rows: list[Row] = [(name, in_time(one.seconds), f"{one.hours:,.4g}") for name, one in others]
    text_table(
        TextTable(
            ("Device", "Time", "Hours"),
            rows,
            caption="Time by device, all else equal",
            widths=(46, 30, 24),
            numeric=(2,),
        )
    )
    raw = [
        {
            "model": chosen.name,
            "device": name,
            "devices": count,
            "tokens": run.tokens,
            "operations": one.operations,
            "hours": one.hours,
        }
        for name, one in others
    ]
    download_csv(Table.from_records(raw), "epoch", state.key("csv.epoch"))
