"""One step of a block, large: what it is, its formula, its picture, its numbers, and where its module stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from core import anatomy, catalogue
from core.attention.inside.modules import node_of, size_for
from core.attention.inside.steps import MAPS, Step, step_text
from core.attention.inside.wiring import Wire
from core.attention.trace import Floats
from core.attention.views.export import matrix_table, step_table
from core.checkpoints.spec import CheckpointSpec
from core.figures import block as figures
from core.table import Table
from core.ui.export import download_csv
from core.ui.heads.panel import HEAD
from core.ui.links import page_link
from core.ui.page import accent, plain, theme
from core.ui.panel import Panel

if TYPE_CHECKING:
    from core.attention.inside.block import Block
    from core.ui.links import PageState

PARTS = {
    "embedding": "Embedding",
    "attention": "Attention",
    "cross-attention": "Cross-attention",
    "feed-forward": "Feed-forward",
    "end": "After the block",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """The matrix of a step that is drawn."""

    step: Step
    values: Floats
    """(rows, columns), of one head where the step has several."""
    head: int
    heads: int
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    """Tokens of the columns; empty where columns are numbers of a vector."""
    seen: NDArray[np.bool_] | None
    """Where the model computed a number; None for everywhere."""


def shape(step: Step, times: str = " × ") -> str:
    """How many numbers a step has along each axis: ``12 × 17 × 32``."""
    return times.join(f"{extent:,}" for extent in step.shape)


def made_of(wire: Wire, steps: Sequence[Step]) -> str:
    """What a step is made of, in words: names, which are unlike within their part; sums and norms with their part."""
    sources = [steps[number] for number in wire.of]
    names = [
        f"{step.name} of {PARTS[step.part].lower()}" if step.name in ("residual", "norm") else step.name
        for step in sources
    ]
    return ", ".join([*names, *([wire.outside] if wire.outside else [])])


def draw_step(
    found: Block, wires: tuple[Wire, ...], at: int, spec: CheckpointSpec, state: PageState, *, slot: str, sparse: bool
) -> None:
    """Draw step ``at``; reads and writes head. The buttons put another step's slug into the session's ``slot``.

    Args:
        sparse: whether the model computes no score where the mask forbids one.
    """
    step = found.steps[at]
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.container(width="stretch", gap=None):
            st.subheader(step.name[:1].upper() + step.name[1:], anchor=False)
        with st.container(horizontal=True, width="content", gap="small"):
            head, heads = _head(step, spec, state)
            _buttons(wires, at, slot, state)
    words = step_text(step)
    st.markdown(f":small[{words.text} {plain(step.note)}]")
    shown = _shown(found, step, head, heads, sparse)
    _picture(shown, spec, state)
    left, right = st.columns([1, 1.15], vertical_alignment="center")
    left.latex(step.formula)
    right.caption("; ".join(f"${latex}$ {meaning}" for latex, meaning in words.symbols) + ".")
    axes = " × ".join(step.axes)
    of = made_of(wires[at], found.steps)
    st.caption(
        plain(f"Step {at + 1} of {len(wires)}, {PARTS[step.part].lower()}: {shape(step)} ({axes})")
        + (plain(f", from {of}.") if of else ".")
    )
    _numbers(shown)
    with st.container(horizontal=True, vertical_alignment="center"):
        download_csv(
            lambda: step_table(step, shown.rows, shown.columns or None),
            f"{spec.slug}-{found.side}-layer{found.layer + 1}-{wires[at].slug}",
            state.key("block.csv"),
        )
        _tree_link(step, found, spec)


def _head(step: Step, spec: CheckpointSpec, state: PageState) -> tuple[int, int]:
    """The head that is shown, from 0, and how many there are; the question is put only where there are several."""
    heads = step.shape[0] if len(step.shape) == 3 else 1
    if heads == 1:
        return 0, 1
    chosen = HEAD.with_(high=heads, format="Head %d", width=116, hide_label=True)
    return chosen.draw(state, tag=f"{spec.slug}.{heads}") - 1, heads


def _buttons(wires: tuple[Wire, ...], at: int, slot: str, state: PageState) -> None:
    for label, to in (("Back", at - 1), ("Next", at + 1)):
        there = 0 <= to < len(wires)
        slug = wires[to].slug if there else ""
        st.button(label, key=state.key(f"block.{label}"), disabled=not there, on_click=_go, args=(slot, slug))


def _go(slot: str, slug: str) -> None:
    st.session_state[slot] = slug


def _shown(found: Block, step: Step, head: int, heads: int, sparse: bool) -> Shown:
    values = step.values[head] if step.values.ndim == 3 else step.values
    crossing = step.part == "cross-attention"
    far = crossing and step.name in ("keys", "values")
    rows = (found.source if far else found.tokens)[: len(values)]
    columns = (found.source if crossing else found.tokens) if step.axes == MAPS else ()
    seen = None
    if step.name == "mask":
        seen = np.isfinite(values)
    elif step.axes == MAPS and (sparse or step.name == "weights"):
        mask = next(one.values for one in found.steps if one.part == step.part and one.name == "mask")
        seen = np.broadcast_to(np.isfinite(mask[head if len(mask) > 1 else 0]), values.shape)
    return Shown(step, values, head, heads, rows, columns, seen)


def _picture(shown: Shown, spec: CheckpointSpec, state: PageState) -> None:
    step, values, seen = shown.step, shown.values, shown.seen
    if step.name == "mask" and seen is not None:
        figure = figures.mask(seen, shown.rows, shown.columns, theme=theme())
    elif step.name == "weights" and seen is not None:
        figure = figures.weights(values, seen, shown.rows, shown.columns, theme=theme())
    elif step.axes == MAPS:
        known = values if seen is None else np.where(seen, values, np.float32(np.nan))
        figure = figures.scores(known, shown.rows, shown.columns, theme=theme())
    else:
        figure = figures.vectors(values, shown.rows, accent(spec.branch), theme=theme())
    of = f", head {shown.head + 1} of {shown.heads}" if shown.heads > 1 else ""
    axes = " × ".join(step.axes[-2:])
    legend = _legend(shown)
    Panel(
        f"{spec.slug}-step",
        f"{spec.name}: {step.name}{of}",
        figure,
        f"{step.name}, {axes}, {values.shape[0]} × {values.shape[1]}{of}. {legend}",
        partial(_table, shown),
        note=legend,
        file=f"{spec.slug}-{step.name.replace(' ', '-')}",
    ).draw(state)


def _table(shown: Shown) -> Table:
    """A map as it is, of vectors their norms and ends; the file below has all of their numbers."""
    if shown.columns:
        return matrix_table("token", shown.rows, shown.columns, shown.values)
    norms = np.linalg.norm(shown.values, axis=-1)
    rows = zip(shown.rows, norms, shown.values, strict=True)
    return Table(
        ("token", "norm", "mean", "smallest", "largest"),
        tuple((token, float(n), float(row.mean()), float(row.min()), float(row.max())) for token, n, row in rows),
    )


def _legend(shown: Shown) -> str:
    """What the colors mean, and what a cell stands for."""
    step, values = shown.step, shown.values
    told = [figures.fold(values, square=bool(shown.columns)).sentence]
    if step.name == "mask":
        told = ["Colored: allowed." if np.isfinite(values).all() else "Colored: allowed. Gray: masked."]
        told += ["The same for every head."] if shown.heads == 1 else []
    elif step.name != "weights":
        ends = figures.limit(values if shown.seen is None else values[shown.seen])
        told.insert(0, "Orange is below zero, blue above; the background is zero.")
        if ends.beyond:
            many = f"{ends.beyond:,} number lies" if ends.beyond == 1 else f"{ends.beyond:,} numbers lie"
            told.append(f"Colors end at ±{figures.written(ends.at, 2)}; {many} beyond.")
    if shown.seen is not None and step.name != "mask" and not shown.seen.all():
        told.append("Gray: not computed.")
    return " ".join(part for part in told if part)


def _numbers(shown: Shown) -> None:
    """Mean, spread, ends; of vectors, the longest and the shortest."""
    if shown.step.name == "mask":
        share = float(np.isfinite(shown.values).mean())
        st.markdown(f"**{share:.0%}** of all pairs are allowed.")
        return
    found = figures.numbers(shown.values if shown.seen is None else np.where(shown.seen, shown.values, np.nan))
    parts = [
        f"mean **{figures.written(found.mean)}**",
        f"spread **{figures.written(found.spread)}**",
        f"largest **{figures.written(found.largest)}** {_at(shown, found.largest_at)}",
    ]
    if shown.step.name != "weights":
        parts.append(f"smallest **{figures.written(found.smallest)}** {_at(shown, found.smallest_at)}")
    if not shown.columns:
        norms = np.linalg.norm(shown.values, axis=-1)
        ends = (
            f"**{figures.written(float(norms[row]))}** (“{plain(shown.rows[row])}”)"
            for row in (int(norms.argmin()), int(norms.argmax()))
        )
        parts.append(f"norm from {' to '.join(ends)}")
    which = f"Head {shown.head + 1}: " if shown.heads > 1 else ""
    text = which + " · ".join(parts)
    st.markdown(text[0].upper() + text[1:])


def _at(shown: Shown, place: tuple[int, int]) -> str:
    row, column = place
    other = f"to “{plain(shown.columns[column])}”" if shown.columns else f"number {column + 1}"
    return f"(“{plain(shown.rows[row])}”, {other})" if not shown.columns else f"(“{plain(shown.rows[row])}” {other})"


def _tree_link(step: Step, found: Block, spec: CheckpointSpec) -> None:
    """To the module in the tree of the published system, where it has one."""
    if spec.system is None:
        return
    system = catalogue.get(spec.system)
    size = size_for(system.slug, found.type)
    node = node_of(anatomy.tree(system.slug, size), step.path)
    if node is None and step.path:
        st.caption(f"No module of {plain(system.name)} gives this: it is a table that is computed, not learned.")
    if node is not None:
        page_link(
            system.branch,
            plain(f"In the module tree of {system.name}: {node}"),
            {
                "system": system.slug,
                "tab": "tree",
                "node": node,
                "layer": str(found.layer + 1),
                **({} if size is None else {"size": size}),
            },
            icon=":material/account_tree:",
        )
