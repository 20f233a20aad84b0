"""Every head of every measured model: dots over depth, the highest ones, and the whole table to filter and export.

The table only reads what was measured; nothing here needs torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np
import streamlit as st

from core import links
from core.attention.roles.everyhead import EFFECT, GRAMMAR, ROLES, SCORES, HeadRow, chosen, heads_table, rows
from core.figures.heads import SHAPES, Dots, depth_dots
from core.table import Table
from core.ui.attention.setup import models
from core.ui.data_table import data_table
from core.ui.export import download_csv
from core.ui.glossary import terms
from core.ui.heads.panel import KINDS
from core.ui.notices import info
from core.ui.page import BRANCH_TITLES, accent, base_path, plain, theme
from core.ui.panel import Panel
from core.ui.param import Choice, Unset, Words
from core.ui.section import Section, View
from core.ui.text_table import Link, TextTable, text_table

ANY = "any"
SCORE = Choice(
    name="score",
    label="Score",
    options={name: name.capitalize() for name in SCORES},
    default="previous",
    width=150,
)
LEAST = Unset(name="least", label="At least", low=-1.0, high=100.0, step=0.05, placeholder="any", width=115)
BRANCH = Choice(name="branch", label="Branch", options={ANY: "All branches", **BRANCH_TITLES}, width=155)
KIND = Choice(name="kind", label="Attention", options={ANY: "All kinds", **KINDS}, width=160)
MODELS = Words(
    name="models", label="Models", options={}, most=100, style="menu", may_be_empty=True, placeholder="all of them"
)
HIGHEST = 5
"""Rows of the small table."""
Scored = Sequence[tuple[float, HeadRow]]


def every_head(view: View) -> None:
    """Draw the section.

    Raises:
        AtlasError: a file of measurements is damaged.
    """
    specs = models().values()
    every = rows(list(specs))
    if not every:
        st.info(terms(view.words.part("Unmeasured")))
        return
    score, found = _filtered(every, view)
    scored = [(value, row) for row in found if (value := row.score(score)) is not None]
    if not scored:
        info(view.words.part("None fits"))
        return
    _picture(score, scored, view)
    view.try_and_notice(score, halves=_halves(scored))
    st.markdown("**The highest**")
    text_table(_few(score, scored[:HIGHEST], f"The {HIGHEST} highest heads"))
    _whole_table(score, found, every, view)
    shown = {row.slug for row in found}
    for spec in specs:
        for ability in spec.family.offers if spec.slug in shown else ():
            if view.words.has(part := f"Where a model {ability}"):
                view.note(part, model=plain(spec.name))
    unmeasured = [spec.name for spec in specs if spec.slug not in {row.slug for row in every}]
    if unmeasured:
        st.caption(f"Not measured: {plain(', '.join(unmeasured))}.")


def _filtered(every: Sequence[HeadRow], view: View) -> tuple[str, list[HeadRow]]:
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        score = SCORE.draw(state)
        least = LEAST.with_(help=f"Of the chosen score: {SCORES[score]}").draw(state)
        branches, kinds = {row.branch for row in every} | {ANY}, {row.attention for row in every} | {ANY}
        branch = _narrowed(BRANCH, branches).draw(state)
        kind = _narrowed(KIND, kinds).draw(state)
        slugs = MODELS.with_(options={row.slug: row.name for row in every}).draw(state)
    fits = chosen(
        every,
        score,
        least=least,
        branch=None if branch == ANY else branch,
        attention=None if kind == ANY else kind,  # type: ignore[arg-type]
        models=slugs or None,
    )
    return score, fits


def _narrowed(choice: Choice, there: set[str]) -> Choice:
    return choice.with_(options={slug: name for slug, name in choice.options.items() if slug in there})


def _picture(score: str, scored: Scored, view: View) -> None:
    groups: dict[str, list[tuple[float, HeadRow]]] = {}
    for branch in [*BRANCH_TITLES, *(row.branch for _, row in scored)]:
        if branch not in groups and (own := [one for one in scored if one[1].branch == branch]):
            groups[branch] = own
    dots = [
        Dots(
            BRANCH_TITLES.get(branch, branch),
            accent(branch),
            [row.depth for _, row in own],
            [value for value, _ in own],
            [_called(row) for _, row in own],
            SHAPES[list(BRANCH_TITLES).index(branch)] if branch in BRANCH_TITLES else SHAPES[-1],
        )
        for branch, own in groups.items()
    ]
    top_value, top = scored[0]
    records = [
        {
            "model": row.name,
            "attention": row.attention,
            "layer": row.layer,
            "head": row.head,
            "depth": row.depth,
            score: value,
        }
        for value, row in scored
    ]
    picked: Any = Panel(
        "heads",
        f"{SCORES[score].capitalize()}, head by head, over the depth of its model",
        depth_dots(dots, theme=theme()),
        f"{len(scored)} heads by depth, from the input of their model to its output, and by their score: "
        f"{SCORES[score]}. The highest is {_called(top)} with {top_value:.2f}.",
        Table.from_records(records),
        heading=True,
        file=f"heads-{score}",
    ).draw(view.state, on_select="rerun", selection_mode="points")
    hit = _hit(picked["selection"]["points"], list(groups.values()))
    if hit is not None:
        text_table(_few(score, [hit], "The head that was clicked"))


def _hit(points: Sequence[dict[str, Any]], groups: Sequence[Scored]) -> tuple[float, HeadRow] | None:
    """The head of the last dot that was clicked."""
    for point in reversed(points):
        group, number = int(point.get("curve_number", -1)), int(point.get("point_index", -1))
        if 0 <= group < len(groups) and 0 <= number < len(groups[group]):
            return groups[group][number]
    return None


def _halves(scored: Scored) -> str:
    """What the picture shows, in numbers."""
    low = [value for value, row in scored if row.depth < 0.5]
    high = [value for value, row in scored if row.depth >= 0.5]
    if not low or not high:
        return f"There are {len(scored)} heads here, all in one half of the layers."
    return (
        f"{len(scored)} heads: those of the lower half of the layers have {fmean(low):.2g} on average, those of the "
        f"upper half {fmean(high):.2g}."
    )


def _few(score: str, scored: Scored, caption: str) -> TextTable:
    lost = "Most bits lost" if score == EFFECT else "Bits lost without it"
    return TextTable(
        ("Head", "Model", "Attention", SCORE.options[score], lost),
        [
            (
                Link(f"Layer {row.layer} of {row.layers}, head {row.head}", base_path() + href(row)),
                row.name,
                KINDS[row.attention],
                f"{value:.3f}" + (f", {row.relation}" if score == GRAMMAR else ""),
                _bits(row, score),
            )
            for value, row in scored
        ],
        caption=caption,
        widths=(28, 28, 18, 13, 13),
        numeric=(3, 4),
    )


def _bits(row: HeadRow, score: str) -> str:
    if row.effect is None:
        return "not measured"
    return f"{row.effect.largest if score == EFFECT else row.effect.mean:.3f}"


def href(row: HeadRow) -> str:
    """The link to the page with this head open."""
    wanted: dict[str, links.Value] = {"model": row.slug, "layer": row.layer, "head": row.head}
    return links.url("attention", wanted | ({"map": row.attention} if row.several else {}))


def _whole_table(score: str, found: Sequence[HeadRow], every: Sequence[HeadRow], view: View) -> None:
    st.markdown(f"**{'All' if len(found) == len(every) else f'{len(found)} of'} {len(every)} heads**")
    roles = [role for role in ROLES if any(role in row.roles for row in found)]
    first = "beyond" if score == GRAMMAR else "bits lost" if score == EFFECT else score
    columns = _columns(found, roles)
    order = ["open", "model", "attention", "layer", "of", "head", first, *roles, "relation", "right", "beyond"]
    number = st.column_config.NumberColumn
    data_table(
        columns,
        None,
        alt="Every head that fits with all its scores, the highest of the chosen score first",
        key=view.state.key("every.table"),
        height=min(38 + 35 * len(found), 460),
        column_order=[name for name in dict.fromkeys([*order, "bits lost", "largest"]) if name in columns],
        column_config={
            "open": st.column_config.LinkColumn("", display_text="open", width=60),
            "layer": number(width=60),
            "of": number("layers", width=65),
            "head": number(width=60),
            "right": number("right", format="percent", help="Of the relation's links"),
            "beyond": number("beyond", format="percent", help=SCORES[GRAMMAR]),
            "bits lost": number(format="%.3f", help="Mean over twenty sentences"),
            "largest": number("most bits", format="%.3f", help="On one of the twenty sentences"),
            **{role: number(format="%.2f", help=SCORES[role]) for role in roles},
        },
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        download_csv(lambda: heads_table(found), "heads", view.state.key("every.csv"))
        view.note("Columns")


def _columns(found: Sequence[HeadRow], roles: Sequence[str]) -> dict[str, Any]:
    """The table by columns of numbers, which is what travels."""

    def real(values: list[float | None]) -> Any:
        return np.array([np.nan if value is None else value for value in values], dtype=np.float32)

    def whole(values: list[int]) -> Any:
        return np.array(values, dtype=np.int16)

    effects = [row.effect for row in found]
    return {
        "open": [base_path() + href(row) for row in found],
        "model": [row.name for row in found],
        "attention": [KINDS[row.attention] for row in found],
        "layer": whole([row.layer for row in found]),
        "of": whole([row.layers for row in found]),
        "head": whole([row.head for row in found]),
        **{role: real([row.roles.get(role) for row in found]) for role in roles},
        "relation": [row.relation for row in found],
        "right": real([row.right for row in found]),
        "beyond": real([row.beyond for row in found]),
        "bits lost": real([effect.mean if effect else None for effect in effects]),
        "largest": real([effect.largest if effect else None for effect in effects]),
    }


def _called(row: HeadRow) -> str:
    kind = f", {KINDS[row.attention].lower()}" if row.several else ""
    return f"{row.name}{kind}, layer {row.layer}, head {row.head}"


EVERY = Section("every", every_head, (SCORE, LEAST, BRANCH, KIND, MODELS))
