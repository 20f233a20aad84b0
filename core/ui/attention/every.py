"""Every head of every measured model: dots over depth, the highest ones, and the whole table to filter and export.

The table only reads what was measured; nothing here needs torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from core import links
from core.attention.roles.everyhead import EFFECT, GRAMMAR, ROLES, SCORES, HeadRow, chosen, heads_table, rows
from core.checkpoints.families.family import Ability
from core.checkpoints.spec import CheckpointSpec
from core.figures.heads import SHAPES, Dots, depth_dots
from core.table import Table
from core.ui.chart import chart
from core.ui.data_table import data_table
from core.ui.export import chart_menu, download_csv
from core.ui.glossary import noted, terms, told
from core.ui.heads.parts import KINDS
from core.ui.notices import informed
from core.ui.page import BRANCH_TITLES, accent, base_path, plain, theme
from core.ui.text_table import Link, TextTable, text_table

if TYPE_CHECKING:
    from core.ui.links import PageState

NAMES = {name: name.capitalize() for name in ROLES} | {GRAMMAR: "Grammar", EFFECT: "Effect"}
ANY = "any"
USUAL = "previous"
_OTHERWISE: dict[Ability, str] = {
    "answers tasks": "The places and the grammar of {} are those of its encoder before any adapters. Its effects "
    "are over the answers to all its tasks.",
    "two streams": "Both streams of {} run through the same heads. The effect beside “Encoder” is that of a head "
    "off in both, beside “Decoder” in the content stream alone, beside “Query stream” in that alone.",
}
"""What is said of models whose rows mean something else."""
HIGHEST = 5
"""Rows of the small table."""
_NOTICE = {
    "previous": "Heads that look at the token before are common near the input: places are known there already.",
    "next": "Only encoders can look at the next token. Those that do stand near the input, as with the token before.",
    "first": "The first token is where a head rests when it finds nothing: its value often adds next to nothing.",
    "induction": "An induction head needs another head below it, which tells each token what came before; the first "
    "layer cannot have one. Only decoders were measured, and small ones have few.",
    GRAMMAR: "Most heads have no dot: no relation of theirs is surely beyond the fixed distance. Those that have one "
    "are seldom in the first layer, and one number for the best of hundreds of heads looks better than it is.",
    EFFECT: "A few heads near the input carry most: without them everything above reads something else. Most others "
    "can go, one at a time, without a trace.",
}


def every_head(state: PageState, specs: Sequence[CheckpointSpec]) -> None:
    """Draw the whole section; reads and writes score, least, branch, kind and models.

    Raises:
        AtlasError: a file of measurements is damaged.
    """
    every = rows(specs)
    if not every:
        st.info(
            terms("No model here was measured yet. Its host can run `python -m core heads SLUG` and `effects SLUG`.")
        )
        return
    score, found = _filtered(every, state)
    scored = [(value, row) for row in found if (value := row.score(score)) is not None]
    if scored:
        _picture(score, scored, state)
    else:
        informed("No head fits. Lower the number, or choose all branches and models.")
        return
    told(
        "**Try** another score, then a number below which no head is shown. A dot that you click is named below; its "
        "link opens the head."
    )
    st.markdown(f"**Notice** {_halves(scored)} {_NOTICE.get(score, '')}")
    _highest(score, scored)
    _whole_table(score, found, every, state)
    shown = {row.slug for row in found}
    for spec in specs:
        for ability in spec.family.offers & _OTHERWISE.keys() if spec.slug in shown else ():
            noted(_OTHERWISE[ability].format(plain(spec.name)))
    unmeasured = [spec.name for spec in specs if spec.slug not in {row.slug for row in every}]
    if unmeasured:
        st.caption(f"Not measured: {plain(', '.join(unmeasured))}.")


def _filtered(every: Sequence[HeadRow], state: PageState) -> tuple[str, list[HeadRow]]:
    branches = [ANY, *(branch for branch in BRANCH_TITLES if any(row.branch == branch for row in every))]
    kinds = [ANY, *(kind for kind in KINDS if any(row.attention == kind for row in every))]
    names = {row.slug: row.name for row in every}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        score = _menu("Score", list(SCORES), state, "score", USUAL, NAMES, 150)
        least = st.number_input(
            "At least",
            -1.0,
            100.0,
            _real(state.values.get("least")),
            0.05,
            key=state.key("every.least"),
            placeholder="any",
            width=115,
            help=f"Of the chosen score: {SCORES[score]}",
        )
        state.set(least=None if least is None else float(least))
        branch = _menu("Branch", branches, state, "branch", ANY, {ANY: "All branches", **BRANCH_TITLES}, 155)
        kind = _menu("Attention", kinds, state, "kind", ANY, {ANY: "All kinds", **KINDS}, 160)
        asked = state.words("models")
        models = st.multiselect(
            "Models",
            list(names),
            [slug for slug in asked or () if slug in names],
            format_func=names.__getitem__,
            key=state.key("every.models"),
            placeholder="all of them",
            width="stretch",
        )
        state.set(models=tuple(models) or None)
    fits = chosen(
        every,
        score,
        least=least,
        branch=None if branch == ANY else branch,
        attention=None if kind == ANY else kind,
        models=models or None,
    )
    return score, fits


def _menu(
    label: str, options: list[str], state: PageState, name: str, usual: str, titles: dict[str, str], width: int
) -> str:
    wanted = state.text(name, usual)
    taken = str(
        st.selectbox(
            label,
            options,
            index=options.index(wanted) if wanted in options else 0,
            key=state.key(f"every.{name}"),
            format_func=lambda option: titles.get(option, option),
            width=width,
        )
    )
    state.set(**{name: None if taken == usual else taken})
    return taken


def _picture(score: str, scored: Sequence[tuple[float, HeadRow]], state: PageState) -> None:
    groups: dict[str, list[tuple[float, HeadRow]]] = {}
    for branch in [*BRANCH_TITLES, *(row.branch for _, row in scored)]:
        if branch not in groups and (own := [one for one in scored if one[1].branch == branch]):
            groups[branch] = own
    figure = depth_dots(
        [
            Dots(
                BRANCH_TITLES.get(branch, branch),
                accent(branch),
                [row.depth for _, row in own],
                [value for value, _ in own],
                [_called(row) for _, row in own],
                _shape(branch),
            )
            for branch, own in groups.items()
        ],
        theme=theme(),
    )
    top_value, top = scored[0]
    st.markdown(f"**{plain(SCORES[score].capitalize())}**, head by head, over the depth of its model")
    picked: Any = chart(
        figure,
        key=state.key("every.dots"),
        on_select="rerun",
        selection_mode="points",
        alt=f"{len(scored)} heads by depth and by their score: {SCORES[score]}. The highest is {_called(top)} with "
        f"{top_value:.2f}. The tables below have the numbers.",
    )
    chart_menu(
        state.key("every.dots"),
        f"heads-{score}",
        title=f"{SCORES[score].capitalize()}, head by head",
        alt="Over the depth of each model, from its input to its output; a shape and a colour for each branch.",
        table=lambda: Table.from_records(
            [
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
        ),
    )
    hit = _hit(picked["selection"]["points"], list(groups.values()))
    if hit is not None:
        text_table(_few(score, [hit], "The head that was clicked"))


def _shape(branch: str) -> str:
    return SHAPES[list(BRANCH_TITLES).index(branch)] if branch in BRANCH_TITLES else SHAPES[-1]


def _hit(
    points: Sequence[dict[str, Any]], groups: Sequence[Sequence[tuple[float, HeadRow]]]
) -> tuple[float, HeadRow] | None:
    """The head of the last dot that was clicked."""
    for point in reversed(points):
        group, number = int(point.get("curve_number", -1)), int(point.get("point_index", -1))
        if 0 <= group < len(groups) and 0 <= number < len(groups[group]):
            return groups[group][number]
    return None


def _halves(scored: Sequence[tuple[float, HeadRow]]) -> str:
    """What the picture shows, in numbers."""
    low = [value for value, row in scored if row.depth < 0.5]
    high = [value for value, row in scored if row.depth >= 0.5]
    if not low or not high:
        return f"There are {len(scored)} heads here, all in one half of the layers."
    return (
        f"{len(scored)} heads: those of the lower half of the layers have {fmean(low):.2g} on average, those of the "
        f"upper half {fmean(high):.2g}."
    )


def _highest(score: str, scored: Sequence[tuple[float, HeadRow]]) -> None:
    st.markdown("**The highest**")
    text_table(_few(score, scored[:HIGHEST], f"The {HIGHEST} highest heads"))


def _few(score: str, scored: Sequence[tuple[float, HeadRow]], caption: str) -> TextTable:
    return TextTable(
        ("Head", "Model", "Attention", NAMES[score], "Most bits lost" if score == EFFECT else "Bits lost without it"),
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


def _whole_table(score: str, found: Sequence[HeadRow], every: Sequence[HeadRow], state: PageState) -> None:
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
        key=state.key("every.table"),
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
        download_csv(lambda: heads_table(found), "heads", state.key("every.csv"))
        st.caption(
            "A column's name sorts by it. Places and grammar were counted over the Atlas's treebank (a decoder that "
            "answers writes the sentence again), effects over twenty sentences; an empty cell was not measured, or is "
            "no relation. Models that were made from one another share heads."
        )


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


def _real(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
