"""Three memory calculators: bytes per device in training, whether a model fits, KV caches side by side."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from core import anatomy, catalogue
from core.content import content
from core.costs import Shape, cache_bytes, shape_of
from core.costs.known import devices
from core.costs.memory import cache_bytes_per_token
from core.costs.shape import Stack
from core.efficiency import fit
from core.efficiency.fit import WIDTHS
from core.errors import OutOfRange
from core.figures.costs import Bar, Growth, cache_lines, device_lines, held_alt, held_bars, held_rows
from core.figures.labels import in_bytes, in_words
from core.table import Table
from core.ui.calculators import setup
from core.ui.calculators.setup import BATCH, LENGTH
from core.ui.formulas import formula
from core.ui.glossary import unbuilt
from core.ui.links import page_link
from core.ui.page import plain, theme
from core.ui.panel import Panel
from core.ui.param import Choice, Words, settings_menu
from core.ui.section import Section, View
from core.ui.tables import Row, TextTable, text_table
from core.words import counted

BITS = Choice(name="bits", label="Bits per value", options={bits: bits for bits in fit.WIDTHS}, default="16")
USE = Choice(name="use", label="Use", options={"run": "Inference", "train": "Training"})


def training(view: View) -> None:
    """Draw the memory of one device in training. Raises :class:`core.errors.OutOfRange` for an impossible plan."""
    answer = st.container(key="atlas-answer")  # first also where the columns lie below each other
    left, right = st.columns([1, 1.7], gap="large")
    with left:
        chosen, menu = setup.choose(view.state), st.container()
        plan, _ = setup.choose_plan(view.state, chosen, menu, tag=chosen.tag)
    with right:
        bars = [
            Bar(
                f"ZeRO {stage}",
                fit.device_memory(chosen.root.parameters, chosen.shape, replace(plan, stage=stage)).parts,
                stage == plan.stage,
            )
            for stage in fit.STAGES
        ]
        with answer:
            view.say(
                "Answer",
                bytes=in_bytes(bars[plan.stage].total),
                devices=f"{plan.devices:,} {'device' if plan.devices == 1 else 'devices'}",
                name=chosen.name,
                parameters=in_words(chosen.root.parameters),
                batch=f"{plan.batch:,}",
                length=f"{plan.length:,}",
                texts=f"{plan.data * plan.batch:,}",
            )
        title = view.words.label("device")
        figure = held_bars(bars, theme=theme())
        Panel("training-memory", title, figure, held_alt(bars), Table.from_records(held_rows(bars))).draw(view.state)
    _by_devices(view, chosen, plan)
    view.try_and_notice()
    _other(view, "fit")
    rows: list[Row] = [(bar.label, *(in_bytes(amount) for _, amount in bar.parts), in_bytes(bar.total)) for bar in bars]
    headings = ("", "Weights", "Gradients", "Optimizer", "Activations", "Total")
    text_table(TextTable(headings, rows, title, (15, 17, 17, 17, 17, 17), (1, 2, 3, 4, 5)))
    for key in ("states", "zero", "activations"):
        formula(key)
    view.note("Left out")


def _other(view: View, tab: str) -> None:
    """Link to the other section about memory, with the same network: one divides it, the other compares it."""
    query = {"tab": tab} | {param.name: view.state.text(param.name) for param in (setup.SYSTEM, setup.SIZE)}
    query |= {"use": "train"} if tab == "fit" else {}
    label = view.words.label("other")
    page_link("catalogue", label, {name: word for name, word in query.items() if word}, icon=":material/memory:")


def _by_devices(view: View, chosen: setup.Chosen, plan: fit.Plan) -> None:
    """The memory of one device with more and more replicas of this plan, in each stage of ZeRO, up to 1,024 of them."""
    replicas = [2**power for power in range(11)]
    parts = plan.tensor * plan.pipeline
    devices = tuple(parts * count for count in replicas)

    def total(stage: int, count: int) -> float:
        return fit.device_memory(chosen.root.parameters, chosen.shape, replace(plan, stage=stage, data=count)).total

    lines = [Growth(f"ZeRO {stage}", devices, tuple(total(stage, count) for count in replicas)) for stage in fit.STAGES]
    limit = fit.usable_bytes(setup.MEMORY.default)
    fitting = next((n for n, need in zip(devices, lines[-1].bytes, strict=True) if need <= limit), None)
    name = view.words.part("Fits" if fitting else "Fits: never", devices=f"{fitting or 0:,}", limit=in_bytes(limit))
    Panel(
        "memory-by-devices",
        view.words.label("by-devices"),
        device_lines(lines, limit, in_bytes(limit), theme=theme()),
        view.words.part("Alt: devices", most=f"{devices[-1]:,}", fits=name),
        Table.from_columns({"devices": devices} | {f"{line.name}, bytes": line.bytes for line in lines}),
        note=name,
        heading=True,
    ).draw(view.state)


def will_it_fit(view: View) -> None:
    """Draw whether it fits. Raises :class:`core.errors.OutOfRange` for an impossible partition."""
    state = view.state
    answer = st.container(key="atlas-answer")
    left, right = st.columns([1, 1.7], gap="large")
    with left:
        chosen, menu = setup.choose(state), st.container()
        name, device = setup.choose_device(state)
        box = setup.MEMORY.with_(default=device.memory if device else setup.MEMORY.default)
        known = (box,) if device else ()  # what only the visitor knows is no setting
        memory = 0.0 if device else box.draw(state, tag=name)
        use, count, tag = USE.draw(state), chosen.root.parameters, f"{chosen.tag}.{name}"
        if use == "run":
            bits = BITS.with_(label="Bits per weight").draw(state)
            with menu:
                values = settings_menu(state, *known, chosen.length, setup.BATCH, tag=tag)
            memory = values.get(box.name, memory)
            request = (bits, values[setup.LENGTH.name], values[setup.BATCH.name])
            bar = Bar("your settings", fit.inference_memory(count, chosen.shape, *request).parts, chosen=True)
            remedies = fit.inference_remedies(count, chosen.shape, *request, memory)
        else:
            plan, values = setup.choose_plan(state, chosen, menu, *known, tag=tag)
            memory = values.get(box.name, memory)
            bar = Bar("your settings", fit.device_memory(count, chosen.shape, plan).parts, chosen=True)
            remedies = fit.training_remedies(count, chosen.shape, plan, memory)
    limit = fit.usable_bytes(memory)
    fits = bar.total <= limit
    with right:
        with answer:
            view.say(
                "Answer",
                verdict="Yes" if fits else "No",
                need=in_bytes(bar.total),
                limit=in_bytes(limit),
                name=chosen.name,
                device=name,
                memory=f"{memory:g}",
                reserve=f"{100 * fit.RESERVE:.0f}%",
                spare=f"{in_bytes(abs(limit - bar.total))} {'free' if fits else 'missing'}",
            )
        bars = [bar, *([] if fits else (Bar(remedy.what, (("total", remedy.bytes),)) for remedy in remedies))]
        limit_name = f"{100 * (1 - fit.RESERVE):.0f}% of {memory:g} GB"
        rows = [
            row | {"fits": "yes" if bar.total <= limit else "no"}
            for row, bar in zip(held_rows(bars), bars, strict=True)
        ]
        if not fits:
            view.say("Remedies")
        Panel(
            f"fit-{use}",
            "Needed memory",
            held_bars(bars, limit, limit_name=limit_name, theme=theme()),
            held_alt(bars, limit),
            Table.from_records(rows),
        ).draw(state)
    view.try_and_notice()
    _other(view, "training")
    for key in ("cache",) if use == "run" else ("states", "activations"):
        formula(key)
    st.caption(f"{view.words.part('Memories')} {setup.device_sources()}")
    notes = " ".join(f"{device.name}: {device.note}" for device in devices().values() if device.note)
    st.caption(plain(notes))


TRAINING = Section("training", training, (setup.SYSTEM, setup.SIZE, *setup.PLAN))
FIT = Section(
    "fit", will_it_fit, (setup.SYSTEM, setup.SIZE, setup.DEVICE, setup.MEMORY, USE, BITS, setup.LENGTH, *setup.PLAN)
)


_FIRST = ("gpt-2 xl", "gpt-neo 2.7B", "llama 7B", "llama 3-8B", "gpt-3 175B")
_POINTS = tuple(2**power for power in range(7, 21))
MODELS = Words(name="beside", label="Models", options={}, most=12, style="menu", may_be_empty=True)


def cache(view: View) -> None:
    """Draw the calculator. Raises :class:`core.errors.OutOfRange` without a selected model."""
    state = view.state
    unbuilt()
    known = _decoders()
    wide, *rest = st.columns([2.2, 1, 1, 1], vertical_alignment="bottom")
    with wide:
        names = {name: _label(name) for name in known}
        first = tuple(name for name in _FIRST if name in known)
        chosen = MODELS.with_(options=names, default=first).draw(state)
    with rest[0]:
        length = LENGTH.with_(default=2048).draw(state, tag="cache")
    with rest[1]:
        batch = BATCH.draw(state)
    with rest[2]:
        width = WIDTHS[BITS.draw(state)]
    if not chosen:
        raise OutOfRange(view.words.part("None chosen"))

    def size(name: str, tokens: int) -> float:
        return cache_bytes(known[name], tokens, batch=batch, width=width, source=tokens)

    lengths = tuple(sorted({*_POINTS, length}))
    lines = [Growth(names[name], lengths, tuple(size(name, tokens) for tokens in lengths)) for name in chosen]
    sizes = "; ".join(f"{names[name]} {in_bytes(size(name, length))}" for name in chosen)
    columns = ("model", "layers", "values per token and layer", "bytes per token", "tokens", "sequences", "bytes")
    raw = Table(
        columns,
        tuple(
            (
                names[name],
                known[name].main.layers,
                known[name].main.cached,
                cache_bytes_per_token(known[name], width),
                length,
                batch,
                size(name, length),
            )
            for name in chosen
        ),
    )
    Panel(
        "cache",
        "Key-value cache by sequence length",
        cache_lines(lines, length, theme=theme()),
        view.words.part("Alt", length=f"{length:,}", sizes=sizes),
        raw,
    ).draw(state)
    view.try_and_notice()
    rows: list[Row] = [
        (
            names[name],
            _layout(known[name].main),
            in_bytes(cache_bytes_per_token(known[name], width)),
            in_bytes(size(name, length)),
        )
        for name in chosen
    ]
    texts = "one sequence" if batch == 1 else f"{batch:,} sequences"
    headings = ("Model", "Cached per token", "Bytes per token", f"{texts} of {length:,} tokens")
    text_table(TextTable(headings, rows, caption="Key-value cache", widths=(24, 38, 18, 20), numeric=(2, 3)))
    formula("cache")


def _decoders() -> dict[str, Shape]:
    """Every autoregressive size, by “slug size”."""
    decoders = {}
    for system in catalogue.systems():
        for name in anatomy.trees(system.slug):
            shape = shape_of(system.slug, name)
            if shape is not None and shape.generates:
                decoders[f"{system.slug} {name}"] = shape
    return decoders


def _label(name: str) -> str:
    slug, _, size = name.partition(" ")
    return f"{catalogue.get(slug).name} {size}"


def _layout(stack: Stack) -> str:
    """A description of what the layers cache per token."""
    words = content("calculators", "cache")
    if stack.constant:
        return words.part("Layout: constant", layers=stack.layers, values=f"{stack.constant:,}")
    if stack.cached != 2 * stack.kv_heads * stack.head_dim:
        layout = words.part("Layout: latent", layers=stack.layers, values=stack.cached)
    else:
        heads = (
            f"{stack.kv_heads} of {stack.heads} heads" if stack.kv_heads < stack.heads else counted(stack.heads, "head")
        )
        layout = f"{counted(stack.layers, 'layer')} × {heads} × 2 × {stack.head_dim}"
    windows = sorted({span for span in stack.spans if span})
    if windows:
        count = sum(1 for span in stack.spans if span)
        spans = ", ".join(f"{span:,}" for span in windows)
        layout += "; " + words.part("Layout: windows", count=count, spans=spans)
    return layout + ("; " + words.part("Layout: cross") if stack.cross else "")


CACHE = Section("cache", cache, (MODELS, LENGTH, BATCH, BITS), folder="calculators")
