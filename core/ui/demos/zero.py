"""Turing-NLG's demo: the training state that ZeRO leaves on one device, by stage and by number of devices."""

from __future__ import annotations

import streamlit as st

from core import anatomy, catalogue
from core.costs import shape_of
from core.efficiency.fit import Plan
from core.figures.labels import in_bytes
from core.ui.catalogue import calculator
from core.ui.catalogue.memory import by_devices, needed, stage_bars
from core.ui.formulas import formula
from core.ui.section import Section, View

REPLICAS = calculator.REPLICAS.with_(default=64)
TENSOR = calculator.TENSOR.with_(default=4)
MEMORY = calculator.MEMORY.with_(name="gigabytes")  # the page's "memory" is that of Transformer-XL, in tokens


def zero(view: View) -> None:
    """Draw the memory of one device in each stage. Raises :class:`core.errors.OutOfRange` for an impossible degree."""
    state, system = view.state, catalogue.get("turing-nlg")
    size = system.default_size.name
    shape = shape_of(system.slug, size)
    assert shape is not None  # a decoder
    chosen = calculator.Chosen(system, size, anatomy.tree(system.slug, size), shape)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        _, device = calculator.choose_device(state)
        gigabytes = device.memory if device else MEMORY.draw(state)
        replicas, tensor = REPLICAS.draw(state), TENSOR.draw(state)
    plan = Plan(data=replicas, tensor=tensor, stage=1, length=chosen.length.default or 1)
    bars = stage_bars(chosen, plan)
    view.say("Answer", none=in_bytes(bars[0].total), first=in_bytes(bars[1].total), last=in_bytes(bars[-1].total))
    needed(view, "zero-memory", bars, gigabytes)
    by_devices(view, chosen, plan, gigabytes)
    view.try_and_notice()
    with st.expander(view.words.label("how")):
        formula("zero")


ZERO = Section("zero", zero, (calculator.DEVICE, MEMORY, REPLICAS, TENSOR), folder="demos")
