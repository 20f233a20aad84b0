"""One step of a block in detail: description, formula, figure, statistics, and its module in the tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from core import anatomy, catalogue
from core.arrays import Floats
from core.attention.inside.block import Block, Wire
from core.attention.inside.modules import node_of, size_for
from core.attention.inside.steps import MAPS, Step, step_text
from core.attention.views.export import matrix_table, step_table
from core.checkpoints.spec import CheckpointSpec
from core.figures import block as figures
from core.figures.labels import percent
from core.table import Table
from core.ui.export import download_csv
from core.ui.heads.panel import HEAD
from core.ui.heads.text import opening
from core.ui.links import page_link
from core.ui.page import accent, bare, plain, theme
from core.ui.panel import Panel
from core.ui.section import View
from core.ui.selection import Selection
from core.ui.slot import Slot

PARTS = {
    "embedding": "Embedding",
    "attention": "Attention",
    "cross-attention": "Cross-attention",
    "feed-forward": "Feed-forward",
    "end": "After the block",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """The matrix that a step's figure shows."""

    step: Step
    values: Floats
    """(rows, columns), of one head where the step has several."""
    head: str
    """The head and the number of heads; empty with one head."""
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    """Tokens of the columns; empty where columns are dimensions of a vector."""
    computed: NDArray[np.bool_] | None
    """Whether the model computed each value; None for all."""


def shape(step: Step, times: str = " × ") -> str:
    """The shape of a step's tensor: ``12 × 17 × 32``."""
    return times.join(f"{extent:,}" for extent in step.shape)


def inputs_of(wire: Wire, steps: Sequence[Step]) -> str:
    """What a step is computed from, in words: names, which are unlike within their part; sums and norms with it."""
    sources = [steps[number] for number in wire.of]
    names = [
        f"{step.name} of {PARTS[step.part].lower()}" if step.name in ("residual", "norm") else step.name
        for step in sources
    ]
    return ", ".join([*names, *([wire.outside] if wire.outside else [])])


def draw_step(
    block: Block,
    wires: tuple[Wire, ...],
    at: int,
    spec: CheckpointSpec,
    view: View,
    *,
    slot: Slot[str],
    sparse: bool,
    selection: Selection,
) -> None:
    """Draw step ``at``; reads and writes head. The buttons set ``slot`` to another step's slug.

    Args:
        sparse: whether the model computes no score where the mask forbids one.
    """
    step, state = block.steps[at], view.state
    picture = st.container()
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.container(width="stretch", gap=None):
            st.subheader(step.name[:1].upper() + step.name[1:], anchor=False)
        with st.container(horizontal=True, width="content", gap="small"):
            heads = step.shape[0] if len(step.shape) == 3 else 1
            head = 0
            if heads > 1:
                opens = opening(spec)
                menu = HEAD.with_(
                    high=heads, default=opens.head if opens else 1, format="Head %d", width=116, hide_label=True
                )
                head = menu.draw(state, tag=f"{spec.slug}.{heads}") - 1
            # in a frame the list of steps does it: the page around it may have a Next of its own
            for label, to in () if bare() else (("Back", at - 1), ("Next", at + 1)):
                there = 0 <= to < len(wires)
                slug = wires[to].slug if there else ""
                st.button(label, key=state.key(f"block.{label}"), disabled=not there, on_click=slot.set, args=(slug,))
    words = step_text(step)
    shown = _shown(block, step, head, f"head {head + 1} of {heads}" if heads > 1 else "", sparse)
    with picture:
        _picture(shown, spec, selection, view)
    st.markdown(f":small[{words.text} {plain(step.note)}]")
    left, right = st.columns([1, 1.15], vertical_alignment="center")
    left.latex(step.formula)
    right.caption("; ".join(f"${latex}$ {meaning}" for latex, meaning in words.symbols) + ".")
    heading = f"Step {at + 1} of {len(wires)}, {PARTS[step.part].lower()}: {shape(step)} ({' × '.join(step.axes)})"
    inputs = inputs_of(wires[at], block.steps)
    st.caption(plain(heading + (f", from {inputs}" if inputs else "") + "."))
    _numbers(shown, view)
    with st.container(horizontal=True, vertical_alignment="center"):
        download_csv(
            lambda: step_table(step, shown.rows, shown.columns or None),
            f"{spec.slug}-{block.side}-layer{block.layer + 1}-{wires[at].slug}",
            state.key("block.csv"),
        )
        _tree_link(step, block, spec, view)
        if step.name in ("queries", "keys", "scores"):
            _neuron_link(step, block, head, spec, view)


def _shown(block: Block, step: Step, head: int, head_name: str, sparse: bool) -> Shown:
    values = step.values[head] if step.values.ndim == 3 else step.values
    crossing = step.part == "cross-attention"
    rows = (block.source if crossing and step.name in ("keys", "values") else block.tokens)[: len(values)]
    columns = (block.source if crossing else block.tokens) if step.axes == MAPS else ()
    computed = None
    if step.name == "mask":
        computed = np.isfinite(values)
    elif step.axes == MAPS and (sparse or step.name == "weights"):
        mask = next(other.values for other in block.steps if other.part == step.part and other.name == "mask")
        computed = np.broadcast_to(np.isfinite(mask[head if len(mask) > 1 else 0]), values.shape)
    return Shown(step, values, head_name, rows, columns, computed)


def _picture(shown: Shown, spec: CheckpointSpec, selection: Selection, view: View) -> None:
    step, values, computed = shown.step, shown.values, shown.computed
    # keys and values of cross-attention are of the source, whose tokens are others
    token = selection.at if shown.rows == selection.tokens[: len(shown.rows)] and selection.at < len(values) else None
    maps, look = step.axes == MAPS, theme(spec.branch)
    if not maps:
        figure = figures.vectors(values, shown.rows, look.role(step.name) or accent(spec.branch), token, theme=look)
    elif step.name == "mask" and computed is not None:
        figure = figures.mask(computed, shown.rows, shown.columns, token, theme=look)
    elif step.name == "weights" and computed is not None:
        figure = figures.weights(values, computed, shown.rows, shown.columns, token, theme=look)
    else:
        unmasked = values if computed is None else np.where(computed, values, np.float32(np.nan))
        figure = figures.score_map(unmasked, shown.rows, shown.columns, token, theme=look)
    of = f", {shown.head}" if shown.head else ""
    legend = _legend(shown, view)
    chosen = f"“{shown.rows[token]}”, " + view.words.part("Selected", token=token + 1) if token is not None else ""
    panel = Panel(
        f"{spec.slug}-step",
        f"{spec.name}: {step.name}{of}",
        figure,
        f"{chosen} {step.name}, {' × '.join(step.axes[-2:])}, {values.shape[0]} × {values.shape[1]}{of}. {legend}",
        partial(_table, shown),
        note=legend,
        file=f"{spec.slug}-{step.name.replace(' ', '-')}",
    )
    key, folded = panel.key(view.state), figures.fold(values, square=maps)
    columns = folded.values.shape[1] if maps else 1
    panel.draw(view.state, **({} if token is None else selection.on_map(key, columns, folded.down)))


def _table(shown: Shown) -> Table:
    """A map as a table; of vectors, their norms and first and last values (the download has all)."""
    values = shown.values
    if shown.columns:
        return matrix_table("token", shown.rows, shown.columns, values)
    norms = np.linalg.norm(values, axis=-1)
    numbers = {"norm": norms, "mean": values.mean(-1), "smallest": values.min(-1), "largest": values.max(-1)}
    return Table.from_columns({"token": shown.rows, **numbers})


def _legend(shown: Shown, view: View) -> str:
    step, values, computed, words = shown.step, shown.values, shown.computed, view.words
    if step.name == "mask":
        parts = [words.part("Legend: full mask" if np.isfinite(values).all() else "Legend: mask")]
        parts += [] if shown.head else [words.part("Legend: all heads")]
        return " ".join(parts)
    parts = [figures.fold(values, square=bool(shown.columns)).sentence]
    if step.name != "weights":
        ends = figures.limit(values if computed is None else values[computed])
        parts.insert(0, words.part("Legend: signs"))
        if ends.beyond:
            parts.append(words.part("Legend: clipped", end=figures.written(ends.at, 2), count=f"{ends.beyond:,}"))
    if computed is not None and not computed.all():
        parts.append(words.part("Legend: hatched"))
    return " ".join(part for part in parts if part)


def _numbers(shown: Shown, view: View) -> None:
    """Mean, standard deviation, extremes; of vectors, the longest and the shortest."""
    if shown.step.name == "mask":
        st.markdown(view.words.part("Allowed", share=percent(float(np.isfinite(shown.values).mean()))))
        return
    stats = figures.numbers(shown.values if shown.computed is None else np.where(shown.computed, shown.values, np.nan))
    parts = [
        f"mean **{figures.written(stats.mean)}**",
        f"standard deviation **{figures.written(stats.spread)}**",
        f"largest **{figures.written(stats.largest)}** {_at(shown, stats.largest_at)}",
    ]
    if shown.step.name != "weights":
        parts.append(f"smallest **{figures.written(stats.smallest)}** {_at(shown, stats.smallest_at)}")
    if not shown.columns:
        norms = np.linalg.norm(shown.values, axis=-1)
        ends = (
            f"**{figures.written(float(norms[row]))}** (“{plain(shown.rows[row])}”)"
            for row in (int(norms.argmin()), int(norms.argmax()))
        )
        parts.append(f"norm from {' to '.join(ends)}")
    text = (f"{shown.head}: " if shown.head else "") + " · ".join(parts)
    st.markdown(text[0].upper() + text[1:])


def _at(shown: Shown, cell: tuple[int, int]) -> str:
    row, column = cell
    if shown.columns:
        return f"(“{plain(shown.rows[row])}” to “{plain(shown.columns[column])}”)"
    return f"(“{plain(shown.rows[row])}”, dimension {column + 1})"


def _neuron_link(step: Step, block: Block, head: int, spec: CheckpointSpec, view: View) -> None:
    """A link to this head in bertviz's neuron view, which draws a query, a key and their product."""
    query = {"tab": "bertviz", "bertviz": "neuron", "model": spec.slug}
    query |= {"layer": str(block.layer + 1), "head": str(head + 1)}
    if len(spec.family.streams) > 1:
        query["map"] = "cross" if step.part == "cross-attention" else block.side
    query |= {name: text for name in ("text", "task") if (text := view.state.text(name))}
    page_link("attention", view.words.label("neuron"), query, icon=":material/neurology:")


def _tree_link(step: Step, block: Block, spec: CheckpointSpec, view: View) -> None:
    """A link to the module in the published system's tree, if any."""
    if spec.system is None:
        return
    system = catalogue.get(spec.system)
    size = size_for(system.slug, block.type)
    node = node_of(anatomy.tree(system.slug, size), step.path)
    if node is None:
        if step.path:
            view.note("No module", system=plain(system.name))
        return
    query = {"system": system.slug, "tab": "tree", "node": node, "layer": str(block.layer + 1)}
    page_link(
        system.branch,
        plain(f"In the module tree of {system.name}: {node}"),
        query | ({} if size is None else {"size": size}),
        icon=":material/account_tree:",
    )
