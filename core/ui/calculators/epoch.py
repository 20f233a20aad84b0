"""The training-time calculator: duration and energy of a run by tokens and devices."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.costs.known import devices
from core.efficiency.epoch import Epoch, epoch
from core.errors import OutOfRange
from core.figures.costs import amount_bars
from core.figures.labels import in_operations, in_time
from core.table import Table
from core.ui.calculators.setup import (
    DEVICE,
    LENGTH,
    RECOMPUTATION,
    SIZE,
    SYSTEM,
    TERAFLOPS,
    WATTS,
    choose,
    choose_device,
    device_sources,
)
from core.ui.formulas import formula
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Control, Integer, Real, Unset, settings_menu
from core.ui.section import Section, View

TOKENS = Real(name="tokens", label="Tokens, billions", default=10.0, low=0.000001, high=1e6, style="box", format="%g")
"""The default is about the tokens of GPT-2's 40 GB of text."""
DEVICES = Integer(name="devices", label="Devices", default=8, low=1, high=10**6)
UTILIZATION = Integer(name="utilisation", label="Utilization, %", default=40, low=1, high=100)
PRICE = Unset(name="price", label="Price per device hour", low=0.0, high=1e4, placeholder="optional")


def one_epoch(view: View) -> None:
    """Draw the calculator. Raises :class:`core.errors.OutOfRange` without a known rate."""
    state = view.state
    answer = st.container(key="atlas-answer")  # first also where the columns lie below each other
    left, right = st.columns([1, 1.7], gap="large")
    with left:
        chosen, menu = choose(state), st.container()
        name, device = choose_device(state)
        rate = TERAFLOPS.with_(default=device.teraflops if device else None)
        power = WATTS.with_(default=device.watts if device else None)
        known = (rate,) if rate.default is not None else ()  # what only the visitor knows is no setting
        teraflops = None if known else rate.draw(state, tag=name)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            tokens = TOKENS.draw(state)
            count = DEVICES.draw(state)
        settings: tuple[Control[Any], ...] = (power, chosen.length, UTILIZATION, RECOMPUTATION, PRICE)
        with menu:
            values = settings_menu(state, *known, *settings, tag=f"{chosen.tag}.{name}")
        teraflops = values.get(rate.name, teraflops)
        watts, length, share = values[power.name], values[LENGTH.name], values[UTILIZATION.name]
        recompute, price = values[RECOMPUTATION.name], values[PRICE.name]
    if teraflops is None:
        raise OutOfRange(view.words.part("No rate", device=name) if device else view.words.part("No rate of your own"))

    def at_rate(rate: float, power: float | None = None) -> Epoch:
        return epoch(
            chosen.shape,
            chosen.root,
            tokens * 1e9,
            length=length,
            devices=count,
            teraflops=rate,
            utilization=share / 100,
            watts=power,
            recompute=recompute,
        )

    mine = at_rate(teraflops, watts)
    rates = {known.name: known.teraflops for known in devices().values() if known.teraflops} | {name: teraflops}
    others = {name: at_rate(rate) for name, rate in sorted(rates.items(), key=lambda item: -item[1])}
    times = {name: in_time(run.seconds) for name, run in others.items()}
    with answer:
        energy, cost = mine.kilowatt_hours, price and price * count * mine.hours
        view.say(
            "Answer",
            time=in_time(mine.seconds),
            devices=f"{count:,}",
            device=name,
            name=chosen.name,
            tokens=f"{mine.tokens / 1e9:,.6g}",
            operations=in_operations(mine.operations),
            by_token=in_operations(mine.by_token),
            rule=in_operations(6 * chosen.root.parameters),
            energy=f" {view.words.part('Energy', energy=f'{energy:,.3g}')}" if energy is not None else "",
            price=f" {view.words.part('Price', price=f'{cost:,.2f}')}" if cost else "",
        )
    with right:
        Panel(
            "epoch",
            "Training time by device",
            amount_bars(
                list(others),
                [run.hours for run in others.values()],
                list(times.values()),
                name,
                "hours",
                theme=theme(),
            ),
            view.words.part("Alt", times="; ".join(f"{name} {text}" for name, text in times.items())),
            Table(
                ("model", "device", "devices", "tokens", "operations", "time", "hours"),
                tuple(
                    (chosen.name, name, count, mine.tokens, run.operations, times[name], run.hours)
                    for name, run in others.items()
                ),
            ),
        ).draw(state)
    view.try_and_notice()
    formula("time")
    formula("work")
    st.caption(f"{view.words.part('Rates')} {device_sources()}")


EPOCH = Section(
    "epoch",
    one_epoch,
    (SYSTEM, SIZE, DEVICE, TERAFLOPS, WATTS, TOKENS, DEVICES, LENGTH, UTILIZATION, RECOMPUTATION, PRICE),
)
