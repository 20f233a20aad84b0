"""What a device has to hold to run or to train a model, and whether that fits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import streamlit as st

from core.content import content
from core.costs.known import devices
from core.efficiency import fit
from core.figures.costs import Bar, Growth, device_lines, held_alt, held_bars, held_rows
from core.figures.labels import in_bytes, in_words
from core.table import Table
from core.ui.catalogue import calculator
from core.ui.formulas import formula
from core.ui.page import plain, theme
from core.ui.panel import Panel
from core.ui.param import Choice, settings_menu
from core.ui.section import Section, View
from core.words import counted

BITS = Choice(name="bits", label="Bits per value", options={bits: bits for bits in fit.WIDTHS}, default="16")
USE = Choice(name="use", label="Use", options={"run": "Inference", "train": "Training"})


def memory(view: View) -> None:
    """Draw what one device has to hold, and whether it fits.

    Raises :class:`core.errors.OutOfRange` for an impossible plan.
    """
    state = view.state
    answer = st.container(key="atlas-answer")  # first also where the columns lie below each other
    with st.container(key="atlas-calculator"):
        left, right = st.columns([1, 1.7], gap="large")
    with left:
        chosen, menu = calculator.choose(state), st.container()
        name, device = calculator.choose_device(state)
        box = calculator.MEMORY.with_(default=device.memory if device else calculator.MEMORY.default)
        memory_box = (box,) if device else ()  # what only the visitor knows is no setting
        gigabytes = 0.0 if device else box.draw(state, tag=name)
        use, count, tag = USE.draw(state), chosen.root.parameters, f"{chosen.tag}.{name}"
        plan = fit.Plan()
        if use == "run":
            bits = BITS.with_(label="Bits per weight").draw(state)
            with menu:
                values = settings_menu(state, *memory_box, chosen.length, calculator.BATCH, tag=tag)
            gigabytes = values.get(box.name, gigabytes)
            request = (bits, values[calculator.LENGTH.name], values[calculator.BATCH.name])
            bars = [Bar("your settings", fit.inference_memory(count, chosen.shape, *request).parts, chosen=True)]
            remedies = fit.inference_remedies(count, chosen.shape, *request, gigabytes)
        else:
            plan, values = calculator.choose_plan(state, chosen, menu, *memory_box, tag=tag)
            gigabytes = values.get(box.name, gigabytes)
            bars = stage_bars(chosen, plan)
            remedies = fit.training_remedies(count, chosen.shape, plan, gigabytes)
    limit, need = fit.usable_bytes(gigabytes), next(bar.total for bar in bars if bar.chosen)
    fits = need <= limit
    with answer:
        view.say(
            "Answer",
            verdict="Yes" if fits else "No",
            need=in_bytes(need),
            limit=in_bytes(limit),
            name=chosen.name,
            device=name,
            memory=f"{gigabytes:g}",
            reserve=f"{100 * fit.RESERVE:.0f}%",
            spare=f"{in_bytes(abs(limit - need))} {'free' if fits else 'missing'}",
        )
        if use == "train":
            _plan_note(view, count, plan)
    with right:
        if not fits:
            view.say("Remedies")
        needed(view, f"memory-{use}", [*bars, *(() if fits else _bars_of(remedies))], gigabytes)
    if use == "train":
        by_devices(view, chosen, plan, gigabytes)
    view.try_and_notice(use)
    _formulas_and_devices(view, use)


def _plan_note(view: View, parameters: int, plan: fit.Plan) -> None:
    view.note(
        "Plan",
        parameters=in_words(parameters),
        batch=f"{plan.batch:,}",
        length=f"{plan.length:,}",
        texts=f"{plan.data * plan.batch:,}",
        devices=counted(plan.devices, "device"),
    )


def _formulas_and_devices(view: View, use: str) -> None:
    with st.expander(view.words.label("how")):
        for key in ("cache",) if use == "run" else ("states", "zero", "activations"):
            formula(key)
        if use == "train":
            view.note("Left out")
        st.caption(f"{view.words.part('Memories')} {calculator.device_sources()}")
        notes = " ".join(f"{device.name}: {device.note}" for device in devices().values() if device.note)
        st.caption(plain(notes))


def stage_bars(chosen: calculator.Chosen, plan: fit.Plan) -> list[Bar]:
    """The memory of one device in each stage of ZeRO; that of the plan is the chosen one."""
    count, shape = chosen.root.parameters, chosen.shape
    return [
        Bar(f"ZeRO {stage}", fit.device_memory(count, shape, replace(plan, stage=stage)).parts, stage == plan.stage)
        for stage in fit.STAGES
    ]


def _bars_of(remedies: Iterable[fit.Remedy]) -> Iterator[Bar]:
    return (Bar(remedy.what, (("total", remedy.bytes),)) for remedy in remedies)


def needed(view: View, slug: str, bars: Sequence[Bar], gigabytes: float) -> None:
    """Draw what a device of so many gigabytes would have to hold."""
    limit = fit.usable_bytes(gigabytes)
    rows = [
        row | {"fits": "yes" if bar.total <= limit else "no"} for row, bar in zip(held_rows(bars), bars, strict=True)
    ]
    name = f"{100 * (1 - fit.RESERVE):.0f}% of {gigabytes:g} GB"
    figure = held_bars(bars, limit, limit_name=name, theme=theme())
    title = content("catalogue", "memory").label("needed")
    Panel(slug, title, figure, held_alt(bars, limit), Table.from_records(rows)).draw(view.state)


def by_devices(view: View, chosen: calculator.Chosen, plan: fit.Plan, gigabytes: float) -> None:
    """The memory of one device with more and more replicas of a plan, in each stage of ZeRO, up to 1,024 of them."""
    replicas = [2**power for power in range(11)]
    parts = plan.tensor * plan.pipeline
    devices = tuple(parts * count for count in replicas)

    def total(stage: int, count: int) -> float:
        return fit.device_memory(chosen.root.parameters, chosen.shape, replace(plan, stage=stage, data=count)).total

    lines = [Growth(f"ZeRO {stage}", devices, tuple(total(stage, count) for count in replicas)) for stage in fit.STAGES]
    limit = fit.usable_bytes(gigabytes)
    fitting = next((n for n, need in zip(devices, lines[-1].bytes, strict=True) if need <= limit), None)
    words = content("catalogue", "memory")
    name = words.part("Fits" if fitting else "Fits: never", devices=f"{fitting or 0:,}", limit=in_bytes(limit))
    Panel(
        "memory-by-devices",
        words.label("by-devices"),
        device_lines(lines, limit, in_bytes(limit), theme=theme()),
        words.part("Alt: devices", most=f"{devices[-1]:,}", fits=name),
        Table.from_columns({"devices": devices} | {f"{line.name}, bytes": line.bytes for line in lines}),
        note=name,
        heading=True,
    ).draw(view.state)


MEMORY = Section(
    "memory",
    memory,
    (
        *(calculator.SYSTEM, calculator.SIZE, calculator.DEVICE, calculator.MEMORY, USE, BITS),
        *(calculator.LENGTH, *calculator.PLAN),
    ),
)
