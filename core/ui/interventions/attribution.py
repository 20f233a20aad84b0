"""Attribution of logits: what embedding, heads and feed-forward layers wrote, as bars that sum to the logit."""

from __future__ import annotations

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from core import session
from core.attention.tokens import short
from core.checkpoints.spec import CheckpointSpec
from core.figures.interventions import share_bars, written_map
from core.interventions.attribution import Attribution, attribute
from core.table import Table
from core.ui.interventions.pair import PAIR_PARAMS, draw_pair
from core.ui.interventions.setup import draw_model
from core.ui.page import plain, theme
from core.ui.panel import Panel
from core.ui.section import Section, View

NAMES = {"embedding": "embedding", "attention": "attention", "cross": "cross-attention", "feed-forward": "feed-forward"}


def attribution(view: View) -> None:
    spec = draw_model(view)
    asked = draw_pair(spec, view, second=False)
    shares = session.computed("adding-up", attribute, spec.slug, asked.first, **asked.more)
    answer, other = (plain(word) for word in shares.answers)
    left, right = st.columns([1, 1.15], gap="medium")
    with left:
        _bars(shares, spec, view)
    with right:
        _heads(shares, spec, view)
    best = max((part for part in shares.parts if part.head is not None), key=lambda part: abs(part.value))
    view.say(
        "Sum",
        answer=f"“{answer}”",
        other=f"“{other}”",
        total=f"{shares.total:.2f}",
        position=shares.position + 1,
        token=f"“{plain(short(shares.tokens[shares.position], 20))}”",
        head=f"{NAMES[best.source]}, layer {(best.layer or 0) + 1}, head {(best.head or 0) + 1}",
        share=f"{best.value:.2f}",
    )
    view.try_and_notice(spec.family.side)


def _bars(shares: Attribution, spec: CheckpointSpec, view: View) -> None:
    """Draw a bar for each sub-layer, in the order of the pass, and their sum."""
    sums: dict[str, float] = {}
    for part in shares.parts[1:]:
        name = NAMES[part.source] if part.layer is None else f"layer {part.layer + 1} {NAMES[part.source]}"
        sums[name] = sums.get(name, 0.0) + part.value
    sums["biases"] = shares.parts[0].value
    Panel(
        f"{spec.slug}-shares",
        view.words.label("bars"),
        share_bars(list(sums), list(sums.values()), shares.total, theme=theme()),
        view.words.part("Alt: bars", total=f"{shares.total:.2f}")
        + "".join(f" {name} {value:.2f}," for name, value in sums.items()),
        Table.from_columns({"part": [*sums, "sum"], "nats": [*sums.values(), shares.total]}),
        heading=True,
    ).draw(view.state)


def _heads(shares: Attribution, spec: CheckpointSpec, view: View) -> None:
    """Draw what each head wrote."""
    written: dict[str, dict[int, float]] = {}
    for part in shares.parts:
        if part.head is not None:
            kind = " cross" if part.source == "cross" else ""
            written.setdefault(f"layer {(part.layer or 0) + 1}{kind}", {})[part.head] = part.value
    values: NDArray[np.float32] = np.array([list(row.values()) for row in written.values()], dtype=np.float32)
    rows, heads = values.shape
    strongest = divmod(int(np.abs(values).argmax()), heads)
    columns = {"row": [row for row in written for _ in range(heads)], "head": list(range(1, heads + 1)) * rows}
    Panel(
        f"{spec.slug}-written",
        view.words.label("heads"),
        written_map(values, list(written), theme=theme()),
        view.words.part("Alt: heads", rows=rows, heads=heads, row=list(written)[strongest[0]], head=strongest[1] + 1),
        Table.from_columns({**columns, "nats": values.ravel().tolist()}),
        heading=True,
    ).draw(view.state)


ATTRIBUTION = Section("write", attribution, PAIR_PARAMS)
