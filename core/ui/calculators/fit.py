"""The calculator of room: does a model fit into a device's memory, and what would make it fit."""

from __future__ import annotations

import streamlit as st

from core.costs.known import devices
from core.efficiency.fit import RESERVE, WIDTHS, Remedy, help_running, help_training, room, to_run, to_train
from core.figures.costs import Bar, held_alt, held_bars, held_rows
from core.figures.numbers import in_bytes
from core.table import Table
from core.ui.calculators.parts import (
    Chosen,
    choose,
    cited,
    device_row,
    formula,
    number,
    pick,
    usual_length,
)
from core.ui.calculators.training import plan_boxes
from core.ui.chart import chart
from core.ui.export import download_csv
from core.ui.links import PageState
from core.ui.page import plain, theme
from core.ui.text_table import Row, TextTable, text_table


def will_it_fit(state: PageState) -> None:
    """Draw the calculator. Raises :class:`core.errors.OutOfRange` where the model cannot be shared out so."""
    answer = st.container()  # first also where the columns lie below each other
    left, right = st.columns([1, 1.7], gap="large")
    with left:
        chosen = choose(state)
        name, memory, _, _ = device_row(state, rate=False)
        use = pick(state, "use", "In order to", {"run": "run it", "train": "train it"}, "run")
        bars, remedies = _run(state, chosen, memory) if use == "run" else _train(state, chosen, memory)
    need, limit = bars[0].total, room(memory)
    with right:
        fits = need <= limit
        spare = f"{in_bytes(abs(limit - need))} {'to spare' if fits else 'too much'}"
        answer.markdown(
            f"### {'Yes' if fits else 'No'}: {in_bytes(need)} of {in_bytes(limit)}\n"
            f"{plain(chosen.name)} on one {plain(name)} of {memory:g} GB, of which {RESERVE:.0%} are kept for "
            f"everything else: {spare}."
        )
        bars += [Bar(one.what, (("in all", one.bytes),)) for one in remedies]
        chart(
            held_bars(bars, limit, limit_name=f"{100 * (1 - RESERVE):.0f} % of {memory:g} GB", theme=theme()),
            key=state.key(f"fit.{use}"),
            alt=held_alt(bars, limit),
        )
        st.markdown(
            "**Try** LLaMA 7B on a card of 24 GB, with weights of 32 and of 16 bits; then train it.\n\n"
            "**Notice** that training takes at least eight times what weights of 16 bits take, before a single "
            "activation."
        )
    if remedies:
        st.markdown("**What would make it fit.** Each line changes one thing and leaves the rest as you set it.")
    rows: list[Row] = [
        (bar.label, in_bytes(bar.total), "fits" if bar.total <= limit else "does not fit") for bar in bars
    ]
    text_table(TextTable(("What", "Needed", ""), rows, caption="Needed memory", widths=(56, 22, 22), numeric=(1,)))
    download_csv(Table.from_records(held_rows(bars)), "fit", state.key("csv.fit"))
    for key in ("cache",) if use == "run" else ("states", "activations"):
        formula(key)
    st.caption("Memories: " + " ".join(dict.fromkeys(cited(c) for d in devices().values() for c in d.sources)))
    notes = " ".join(f"{device.name}: {device.note}" for device in devices().values() if device.note)
    st.caption(plain(notes))


def _run(state: PageState, chosen: Chosen, memory: float) -> tuple[list[Bar], list[Remedy]]:
    count = chosen.root.parameters
    bits = pick(state, "bits", "Bits of a weight", {key: key for key in WIDTHS}, "16")
    one, other = st.columns(2)
    with one:
        length = number(state, "length", "Tokens of a text", usual_length(chosen.shape), 1, 10**7, tag=chosen.tag)
    with other:
        batch = number(state, "batch", "Texts at a time", 1, 1, 10**5)
    need = to_run(count, chosen.shape, bits, length, batch)
    remedies = []
    if need.total > room(memory):
        remedies = list(help_running(count, chosen.shape, bits, length, batch, memory))
    return [Bar("as you set it", need.parts, chosen=True)], remedies


def _train(state: PageState, chosen: Chosen, memory: float) -> tuple[list[Bar], list[Remedy]]:
    plan = plan_boxes(state, chosen)
    need = to_train(chosen.root.parameters, chosen.shape, plan)
    remedies = []
    if need.total > room(memory):
        remedies = list(help_training(chosen.root.parameters, chosen.shape, plan, memory))
    return [Bar("as you set it", need.parts, chosen=True)], remedies
