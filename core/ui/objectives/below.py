"""Under the picture: the formula with its symbols, who may look at whom, proportions, and everything as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from core.language.losses import Losses, PlaceLoss
from core.objectives.shares import DRAWS
from core.table import Table
from core.ui.chart import chart
from core.ui.data_table import data_table
from core.ui.export import download_csv
from core.ui.glossary import told
from core.ui.links import PageState
from core.ui.objectives.entry import Entry, Given, Share, Stage
from core.ui.objectives.given import given, style
from core.ui.objectives.picture import DONE, shown
from core.ui.page import accent, theme
from core.ui.text_table import TextTable, text_table

if TYPE_CHECKING:
    from core.objectives.example import Cell, Visible

_OF_THREE = {
    "encoder": "Who may look at whom in the encoder",
    "decoder": "Who may look at whom in the decoder",
    "cross": "Whom the decoder may look at in the input",
}
_KINDS = {
    "encoder": "Who may look at whom",
    "decoder": "Who may look at whom",
    "cross": "Whom the decoder may look at in the input",
    "query": "Whom the query stream may look at",
}


def below(
    entry: Entry, asked: Given, stages: Sequence[Stage], answers: Sequence[Losses], state: PageState, covered: bool
) -> None:
    """Draw all of it; what gives the answers away only where they are not ``covered``."""
    seen_in = next((stage for stage in reversed(stages) if stage.example.visible and entry.masks), None)
    several = seen_in is not None and len(seen_in.example.visible) > 2
    left, right = st.columns([3, 2], gap="large") if seen_in and not several else (st.container(), None)
    with left:
        st.markdown("**What is minimised**")
        st.latex(entry.formula)
        told(entry.symbols)
        st.caption(entry.paper)
    if seen_in is not None:
        masks = seen_in.example.visible
        beside = st.columns(len(masks), gap="large") if several else [right or left] * len(masks)
        for number, (column, seen) in enumerate(zip(beside, masks, strict=True)):
            with column:
                title = (_OF_THREE if several else _KINDS)[seen.kind]
                _mask(entry, asked, seen, title, f"{entry.slug}.{number}", state)
    if entry.shares is not None:
        _shares(entry, asked, state)
    if not covered:
        _table(entry, stages, answers, state)


def _mask(entry: Entry, asked: Given, seen: Visible, title: str, key: str, state: PageState) -> None:
    from core.figures.masks import mask_words, small_mask_map

    kind = style(asked.slug)
    special = set(asked.frame.values())
    rows, columns = ([shown(name, kind, name in special) for name in names] for names in (seen.queries, seen.keys))
    st.markdown(f"**{title}**")
    said = mask_words(seen.allowed)
    chart(
        small_mask_map(seen.allowed, rows, columns, accent(entry.branch), theme=theme()),
        config={"displaylogo": False},
        key=state.key(f"mask.{key}"),
        alt=f"{title}: rows look, columns are looked at. {said}",
    )
    st.caption(f"Rows look, columns are looked at. {said}")


def _shares(entry: Entry, asked: Given, state: PageState) -> None:
    # Hundreds of draws, which the answer above would have to wait for: they are made for who looks.
    box = st.expander(
        "Proportions over many draws of this text", key=state.key(f"shares.{entry.slug}"), on_change="rerun"
    )
    if not box.open:
        return
    with box:
        found = _drawn(entry.slug, asked.slug, asked.text, asked.seed, tuple(sorted(asked.options.items())))
        text_table(
            TextTable(
                ("", "here", "published"),
                tuple(
                    (share.name, _amount(share.found, share.unit), _amount(share.published, share.unit))
                    for share in found
                ),
                "Proportions over many draws beside the published ones",
                (56, 22, 22),
                numeric=(1, 2),
            )
        )
        download_csv(
            Table.from_records(
                [{"what": s.name, "here": s.found, "published": s.published, "unit": s.unit} for s in found]
            ),
            f"{entry.slug}-proportions",
            f"csv.shares.{entry.slug}",
        )
        st.caption(
            f"Counted over {DRAWS} draws or more. “Published” is the system's own setting, or what you chose for it. A "
            "short text has no room for a small share: one token at least is asked."
        )


def _amount(value: float, unit: str) -> str:
    return f"{value:.1f} {unit}" if unit else f"{value:.2f}"


@st.cache_data(max_entries=128, ttl=3600.0, show_spinner="Drawing")
def _drawn(
    objective: str, slug: str, text: str, seed: int, options: tuple[tuple[str, int | str], ...]
) -> tuple[Share, ...]:
    from core.ui.objectives.entries import ENTRIES

    counted = ENTRIES[objective].shares
    return counted(given(slug, text, seed, dict(options))) if counted is not None else ()


def _table(entry: Entry, stages: Sequence[Stage], answers: Sequence[Losses], state: PageState) -> None:
    found = [row for index, stage in enumerate(stages) for row in rows(stage, _at(answers, index))]
    with st.expander("Every place as a table"):
        data_table(
            found,
            entry.slug,
            alt=f"{entry.name}: every place with its target and its loss",
            key=state.key(f"csv.{entry.slug}"),
            column_config={
                name: st.column_config.NumberColumn(format="%.3f") for name in ("nats", "bits", "its probability")
            },
        )


def _at(answers: Sequence[Losses], index: int) -> Losses:
    return answers[index] if index < len(answers) else Losses()


def rows(stage: Stage, losses: Losses) -> list[dict[str, object]]:
    """One row a place, and one for each question about the whole."""
    found: list[dict[str, object]] = []
    sides = (("input", stage.example.source, losses.source), ("decoder", stage.example.decoder, losses.decoder))
    for side, cells, paid in sides:
        found += [_row(stage.title or side, index, cell, paid) for index, cell in enumerate(cells)]
    for number, label in enumerate(stage.example.labels):
        place = losses.labels.get(number)
        found.append(
            {
                "side": label.name,
                "place": None,
                "reads": None,
                "done": None,
                "must answer": label.choices[label.answer],
                "nats": place.nats if place else None,
                "bits": place.bits if place else None,
                "best guess": place.guess if place else None,
                "its probability": place.chance if place else None,
            }
        )
    return found


def _row(side: str, index: int, cell: Cell, paid: Mapping[int, PlaceLoss]) -> dict[str, object]:
    place = paid.get(index)
    return {
        "side": side,
        "place": index,
        "reads": cell.token,
        "done": cell.note or DONE[cell.change] or cell.change,
        "must answer": cell.target,
        "nats": place.nats if place else None,
        "bits": place.bits if place else None,
        "best guess": place.guess if place else None,
        "its probability": place.chance if place else None,
    }
