"""Input embeddings: the sum that is the input of the first layer, token by token and component by component."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core import session
from core.attention.tokens import short
from core.checkpoints.spec import CheckpointSpec
from core.figures.labels import percent
from core.figures.vectors import strips
from core.table import Table
from core.ui.chips import token_chips
from core.ui.page import theme
from core.ui.panel import Panel, offer_table
from core.ui.param import Choice, Integer, Text
from core.ui.section import Section, View
from core.ui.vectors.common import MODEL, model_of, signed_strips
from core.vectors.input_embeddings import MAX_TOKENS, InputEmbeddings
from core.vectors.input_embeddings import input_embeddings as sum_of

FIRST = Text(
    name="first", label="First sentence", default="The cat drank the milk.", most=300, width=300, sentence="plain"
)
SECOND = Text(name="second", label="Second sentence", default="It was thirsty.", most=300, width=240)
NUMBER = Choice(
    name="number",
    label="Show",
    options={"share": "Share of the sum", "length": "Length", "cosine": "Cosine with the sum"},
    style="row",
)
PART = Integer(name="part", label="Token", low=1, high=MAX_TOKENS)
FRENCH_SAMPLE = "Le chat a bu le lait."
_LABEL = 16


def input_embeddings(view: View) -> None:
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        spec = model_of(state, MODEL.with_(first="vectors-sum"))
        first = FIRST.draw(state)
        bilingual = spec.offers("languages")
        second = SECOND.with_(default=FRENCH_SAMPLE if bilingual else SECOND.default).draw(state, tag=str(bilingual))
        number = NUMBER.draw(state)
    sums = session.computed("running-the-model", sum_of, spec.slug, first, second)
    left, right = st.columns([1, 1.25], gap="large")
    with left:
        _grid(view, sums, number, spec)
    with right:
        _one_token(view, sums, spec)
    view.try_and_notice()
    specs = [spec for spec in MODEL.offered().values() if spec.card is not None]
    names = {spec.slug: spec.short_name.removeprefix("Atlas ") for spec in specs}
    rows = [
        (
            ", ".join(names[spec.slug] for spec in specs if spec.architecture in kind["architectures"]),
            " + ".join(kind["parts"]),
            " + ".join(kind["after"]) or "nothing",
            kind["text"],
        )
        for kind in view.words.front["kinds"]
    ]
    headings = ("Live models", "Sum", "Then", "Why")
    offer_table(state, Table(headings, tuple(rows)), view.words.label("others"), "sums-of-all-models")
    _formula(view, sums)


def _grid(view: View, sums: InputEmbeddings, number: str, spec: CheckpointSpec) -> None:
    columns = [*sums.parts] + (["sum"] if number == "length" else [])
    values = {"share": sums.shares, "length": sums.lengths, "cosine": sums.cosines}[number]
    # a token may occur twice, so its number stands beside it
    rows = [f"{short(token.label, _LABEL)} {i}" for i, token in enumerate(sums.tokens)]
    shares = zip(sums.parts, sums.shares.mean(axis=1), strict=True)
    average = view.words.part("Average", means=", ".join(f"{part} {percent(share)}" for part, share in shares))
    records = []
    for i, token in enumerate(sums.tokens):
        record: dict[str, str | int | float] = {"position": i, "token": token.piece}
        for p, name in enumerate(sums.parts):
            record |= {
                f"{name} length": float(sums.lengths[p, i]),
                f"{name} share": float(sums.shares[p, i]),
                f"{name} cosine": float(sums.cosines[p, i]),
            }
        records.append(record | {"sum length": float(sums.lengths[-1, i])})
    Panel(
        f"{spec.slug}-sum",
        NUMBER.options[number],
        strips(
            values.T,
            rows,
            columns,
            signed=number != "length",
            reach=1.0 if number != "length" else None,
            what=NUMBER.options[number].lower(),
            row_height=27,
            theme=theme(),
        ),
        view.words.part("Components: alt", what=NUMBER.options[number], average=average),
        Table.from_records(records),
        note=f"{view.words.part(number)} {average}",
    ).draw(view.state)


def _one_token(view: View, sums: InputEmbeddings, spec: CheckpointSpec) -> None:
    """Draw the components of one token, dimension by dimension."""
    usual = min(1, len(sums.tokens) - 1)
    wanted = view.state.number("part", usual + 1) - 1
    picked = token_chips(
        sums.tokens,
        selected=(wanted if wanted < len(sums.tokens) else usual,),
        key=view.state.key(f"part.{spec.slug}"),
        accent=spec.branch,
        label="Tokens",
        clearable=False,
    )
    at = picked[0] if picked else usual
    view.state.set(part=None if at == usual else at + 1)
    vectors = np.stack([*(part[at] for part in sums.parts.values()), sums.total[at]])
    names = [*sums.parts, "sum"]
    if len(sums.parts) == 1:
        vectors, names = vectors[:1], names[:1]
    part = view.words.part
    strips_of = [("components", part("Dimensions", count=vectors.shape[1], at=at), names, vectors)]
    for name, values in sums.after.items():
        title = "after the norm" if name == "norm" else f"after the projection to {values.shape[1]} dimensions"
        strips_of.append((name, title, [name], values[at][None]))
    for slug, title, rows, values in strips_of:
        columns = [str(i + 1) for i in range(values.shape[1])]
        Panel(
            f"{spec.slug}-{slug}",
            title,
            signed_strips(values, rows, columns, what="", row_height=34, across=title),
            part("Component: alt", at=at, title=title),
            Table.from_columns({"component": rows} | dict(zip(columns, values.T, strict=True))),
        ).draw(view.state)
    view.note("Columns")


def _formula(view: View, sums: InputEmbeddings) -> None:
    symbols = "; ".join(view.words.part(f"Symbol: {part}") for part in sums.parts)
    norm = ["Norm"] if "norm" in sums.after else []
    view.how_it_works(
        "How it works", "Sum", *norm, "Share", formula=" + ".join(sums.formulas.values()), symbols=symbols
    )


SUM = Section("sum", input_embeddings, (MODEL, FIRST, SECOND, NUMBER, PART))
