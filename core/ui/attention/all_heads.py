"""Every head of every measured model: dots over depth, the highest scores, and a table to filter and export.

The table reads precomputed scores; nothing here needs torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

import streamlit as st

from core import links
from core.attention.heads import LABELS, SCORES, meaning
from core.attention.roles.everyhead import EFFECT, GRAMMAR, SORTED_BY, HeadRow, heads_table, rows, select_rows
from core.figures.heads import SHAPES, Dots, depth_dots
from core.links.parameters import Value
from core.table import Table
from core.ui.attention.setup import models
from core.ui.export import download_csv
from core.ui.glossary import info, terms
from core.ui.heads.panel import KINDS
from core.ui.page import BRANCH_TITLES, accent, base_path, plain, theme
from core.ui.panel import Panel
from core.ui.param import Choice, Unset, Words, settings_menu
from core.ui.section import Section, View
from core.ui.tables import Link, TextTable, data_table, text_table
from core.words import counted

ANY = "any"
SCORE = Choice(
    name="score",
    label="Score",
    options={name: LABELS.get(name, name).capitalize() for name in SORTED_BY},
    default="previous",
    width=170,
)
LEAST = Unset(name="least", label="At least", low=-1.0, high=100.0, step=0.05, placeholder="any", width=115)
BRANCH = Choice(name="branch", label="Branch", options={ANY: "All branches", **BRANCH_TITLES}, width=155)
KIND = Choice(name="kind", label="Attention", options={ANY: "All kinds", **KINDS}, width=160)
MODELS = Words(name="models", label="Models", options={}, most=100, style="menu", may_be_empty=True, placeholder="all")
_SHARES = ("right", "beyond fixed distance")
HIGHEST = 5
"""Rows of the small table."""
Scored = Sequence[tuple[float, HeadRow]]


def every_head(view: View) -> None:
    specs = models().values()
    every = rows(list(specs))
    if not every:
        st.info(terms(view.words.part("Unmeasured")))
        return
    score, heads = _filtered(every, view)
    scored = [(value, row) for row in heads if (value := row.score(score)) is not None]
    if not scored:
        info(view.words.part("None fits"))
        return
    _picture(score, scored, view)
    low, high = ([value for value, row in scored if (row.depth < 0.5) == lower] for lower in (True, False))
    low_mean, high_mean = (f"{fmean(values or [0]):.2g}" for values in (low, high))
    part = "Halves" if low and high else "One half"
    halves = view.words.part(part, count=len(scored), low=low_mean, high=high_mean)
    view.try_and_notice(score, halves=halves)
    st.subheader("Highest scores", anchor=False)
    text_table(_few(score, scored[:HIGHEST], f"The {HIGHEST} highest heads"))
    _whole_table(score, heads, len(every), view)
    shown = {row.slug for row in heads}
    with st.expander(view.words.label("measured")):
        view.note("Columns")
        for spec in specs:
            for ability in spec.family.offers if spec.slug in shown else ():
                if view.words.has(part := f"Where a model {ability}"):
                    view.note(part, model=plain(spec.name))
    measured = {row.slug for row in every}
    if unmeasured := [plain(spec.name) for spec in specs if spec.slug not in measured]:
        st.caption(f"Not measured: {', '.join(unmeasured)}.")


def _filtered(every: Sequence[HeadRow], view: View) -> tuple[str, list[HeadRow]]:
    """The score, and the heads that match the filters, highest score first."""
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        score = SCORE.draw(state)
        least = LEAST.with_(help=f"Score: {meaning(score)}").draw(state)
        menus = (
            menu.with_(options={slug: name for slug, name in menu.options.items() if slug in there})
            for menu, there in (
                (BRANCH, {ANY, *(row.branch for row in every)}),
                (KIND, {ANY, *(row.attention for row in every)}),
            )
        )
        values = settings_menu(state, *menus, MODELS.with_(options={row.slug: row.name for row in every}))
    branch, kind, slugs = (values[control.name] for control in (BRANCH, KIND, MODELS))
    fits = select_rows(
        every,
        score,
        least=least,
        branch=None if branch == ANY else branch,
        attention=None if kind == ANY else kind,
        models=slugs or None,
    )
    return score, fits


def _picture(score: str, scored: Scored, view: View) -> None:
    branches = dict.fromkeys([*BRANCH_TITLES, *(row.branch for _, row in scored)])
    groups = [[head for head in scored if head[1].branch == branch] for branch in branches]
    dots = [
        Dots(
            BRANCH_TITLES.get(branch, branch),
            accent(branch),
            [row.depth for _, row in group],
            [value for value, _ in group],
            [_name(row) for _, row in group],
            SHAPES[min(number, len(SHAPES) - 1)],
        )
        for number, (branch, group) in enumerate(zip(branches, groups, strict=True))
        if group
    ]
    columns = ("model", "attention", "layer", "head", "depth", LABELS.get(score, score))
    table = Table(columns, tuple((r.name, r.attention, r.layer, r.head, r.depth, value) for value, r in scored))
    top, best = scored[0]
    picked: Any = Panel(
        "heads",
        view.words.part("Title", score=meaning(score)[:1].upper() + meaning(score)[1:]),
        depth_dots(dots, theme=theme()),
        view.words.part("Alt", count=len(scored), score=meaning(score), head=_name(best), value=f"{top:.2f}"),
        table,
        heading=True,
        file=f"heads-{score}",
    ).draw(view.state, on_select="rerun", selection_mode="points")
    drawn = [group for group in groups if group]
    for point in reversed(picked["selection"]["points"]):
        group, number = int(point.get("curve_number", -1)), int(point.get("point_index", -1))
        if 0 <= group < len(drawn) and 0 <= number < len(drawn[group]):
            text_table(_few(score, [drawn[group][number]], "The head that was clicked"))
            break


def _few(score: str, scored: Scored, caption: str) -> TextTable:
    def bits(row: HeadRow) -> str:
        if row.effect is None:
            return "not measured"
        return f"{row.effect.largest if score == EFFECT else row.effect.mean:.3f}"

    return TextTable(
        (
            "Head",
            "Model",
            "Attention",
            SCORE.options[score],
            "Largest change, bits" if score == EFFECT else "Change, bits",
        ),
        [
            (
                Link(f"Layer {row.layer} of {row.layers}, head {row.head}", base_path() + href(row)),
                row.name,
                KINDS[row.attention],
                f"{value:.3f}" + (f", {row.relation}" if score == GRAMMAR else ""),
                bits(row),
            )
            for value, row in scored
        ],
        caption=caption,
        widths=(28, 28, 18, 13, 13),
        numeric=(3, 4),
    )


def href(row: HeadRow) -> str:
    """The link to the page with this head open."""
    wanted: dict[str, Value] = {"model": row.slug, "layer": row.layer, "head": row.head}
    return links.url("attention", wanted | ({"map": row.attention} if row.several else {}))


def _whole_table(score: str, rows: Sequence[HeadRow], total: int, view: View) -> None:
    st.subheader(f"{'All' if len(rows) == total else f'{len(rows)} of'} {counted(total, 'head')}", anchor=False)
    table = heads_table(rows)
    columns: dict[str, Sequence[Any]] = dict(zip(table.columns, zip(*table.rows, strict=True), strict=True))
    columns |= {
        "open": [base_path() + href(row) for row in rows],
        "model": [row.name for row in rows],
        "attention": [KINDS[row.attention] for row in rows],
        **{name: [None if share is None else 100 * share for share in columns[name]] for name in _SHARES},
    }
    first = {GRAMMAR: "beyond fixed distance", EFFECT: "mean change, bits"}.get(score) or LABELS[score]
    roles = {LABELS[role]: meaning(role) for role in SCORES if any(role in row.roles for row in rows)}
    grammar, effects = ("relation", "right", "beyond fixed distance"), ("mean change, bits", "largest change, bits")
    order = dict.fromkeys(["open", "model", "attention", "layer", "layers", "head", first, *roles, *grammar, *effects])
    number = st.column_config.NumberColumn
    data_table(
        {name: columns[name] for name in order},
        None,
        alt=view.words.label("table"),
        key=view.state.key("every.table"),
        height=min(38 + 35 * len(rows), 460),
        column_config={
            "open": st.column_config.LinkColumn("", display_text="open", width=60),
            "layer": number(width=60),
            "layers": number(width=65),
            "head": number(width=60),
            "right": number(format="%.1f%%", help=view.words.label("right")),
            "beyond fixed distance": number(format="%.1f%%", help=meaning(GRAMMAR)),
            "mean change, bits": number(format="%.3f", help=view.words.label("mean")),
            "largest change, bits": number(format="%.3f", help=view.words.label("largest")),
            **{label: number(format="%.2f", help=meaning) for label, meaning in roles.items()},
        },
    )
    download_csv(table, "heads", view.state.key("every.csv"))


def _name(row: HeadRow) -> str:
    kind = f", {KINDS[row.attention].lower()}" if row.several else ""
    return f"{row.name}{kind}, layer {row.layer}, head {row.head}"


EVERY = Section("every", every_head, (SCORE, LEAST, BRANCH, KIND, MODELS))
