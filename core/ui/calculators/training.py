"""The calculator of training memory: what one device holds, by how the model and its training are shared out."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from core.costs.activations import RECOMPUTE
from core.costs.states import OPTIMISERS, PRECISIONS
from core.efficiency.parallel import STAGES, Plan, held
from core.figures.costs import Bar, held_alt, held_bars, held_rows
from core.figures.numbers import in_bytes, in_words
from core.table import Table
from core.ui.calculators.parts import Chosen, choose, formula, number, pick, switch, usual_length
from core.ui.chart import chart
from core.ui.export import download_csv
from core.ui.glossary import noted, told
from core.ui.links import PageState
from core.ui.page import plain, theme
from core.ui.text_table import Row, TextTable, text_table


def training(state: PageState) -> None:
    """Draw the calculator. Raises :class:`core.errors.OutOfRange` where the model cannot be shared out so."""
    answer = st.container()  # first also where the columns lie below each other
    left, right = st.columns([1, 1.7], gap="large")
    with left:
        chosen = choose(state)
        plan = plan_boxes(state, chosen)
    with right:
        bars = [
            Bar(
                f"ZeRO {stage}",
                held(chosen.root.parameters, chosen.shape, replace(plan, stage=stage)).parts(),
                stage == plan.stage,
            )
            for stage in STAGES
        ]
        here = bars[plan.stage]
        answer.markdown(
            f"### {in_bytes(here.total)} on each of {plan.devices:,} {'device' if plan.devices == 1 else 'devices'}\n"
            f"{plain(chosen.name)}, {in_words(chosen.root.parameters)} parameters, "
            f"{plan.batch:,} × {plan.length:,} tokens at a time on each copy, {plan.data * plan.batch:,} texts in all."
        )
        chart(held_bars(bars, theme=theme()), key=state.key("held"), alt=held_alt(bars))
        told(
            "**Try** 64 copies and the stages of ZeRO; then a longer text, and computing the scores again.\n\n"
            "**Notice** that ZeRO divides what all copies hold alike and leaves the activations as they are, and that "
            "with one copy all stages are the same."
        )
    rows: list[Row] = [(bar.label, *(in_bytes(amount) for _, amount in bar.parts), in_bytes(bar.total)) for bar in bars]
    text_table(
        TextTable(
            ("", "Weights", "Gradients", "Optimiser", "Activations", "In all"),
            rows,
            caption="Bytes on one device by stage of ZeRO",
            widths=(15, 17, 17, 17, 17, 17),
            numeric=(1, 2, 3, 4, 5),
        )
    )
    download_csv(Table.from_records(held_rows(bars)), "training-memory", state.key("csv.training-memory"))
    for key in ("states", "zero", "activations"):
        formula(key)
    noted(
        "Left out: buffers and what the library itself takes, the logits and the embeddings' activations, the layer "
        "that stage 3 gathers while it is used. Masks of dropout are counted as in the formula, whether or not the "
        "model has dropout. Matrices are taken to divide evenly among devices and stages."
    )


def plan_boxes(state: PageState, chosen: Chosen) -> Plan:
    """All boxes of a training."""
    one, other = st.columns(2)
    with one:
        batch = number(state, "batch", "Texts at a time", 1, 1, 10**5, help="On one copy of the model")
        data = number(
            state,
            "data",
            "Copies",
            1,
            1,
            10**6,
            help="Data parallelism: groups of devices that train on different texts",
        )
        pipeline = number(
            state, "pipeline", "Pipeline stages", 1, 1, 1024, help="Groups of devices that share out the layers"
        )
    with other:
        length = number(state, "length", "Tokens of a text", usual_length(chosen.shape), 1, 10**7, tag=chosen.tag)
        tensor = number(
            state, "tensor", "Tensor ways", 1, 1, 1024, help="Tensor parallelism: devices that share each matrix"
        )
        sequence = switch(
            state,
            "sequence",
            "Sequence",
            False,
            help="Sequence parallelism: the devices that share each matrix also share norms and masks along the text",
        )
    stages = {str(stage): text for stage, text in STAGES.items()}
    stage = st.selectbox(
        "ZeRO stage",
        list(stages),
        index=state.number("stage"),
        format_func=stages.__getitem__,
        key=state.key("stage"),
        help="What the copies divide among themselves",
    )
    state.set(stage=int(stage))
    optimiser = pick(state, "optimiser", "Optimiser", {k: v.name for k, v in OPTIMISERS.items()}, "adam")
    precision = pick(state, "precision", "Precision", {k: v.name for k, v in PRECISIONS.items()}, "mixed")
    recompute = pick(state, "recompute", "Compute again on the way back", RECOMPUTE, "none")
    return Plan(data, tensor, pipeline, int(stage), sequence, optimiser, precision, recompute, batch, length)
