"""The section By hand of The Transformer: three tokens whose numbers a visitor changes, beside a live head.

All is computed in the browser (``assets/components/byhand``), which sends what was changed, for the link; the page
computes it again (`core.attention.byhand`) for the table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import streamlit as st
from pydantic import Field

from core import checkpoints, session
from core.attention import byhand
from core.attention.byhand import MODES, MOST_CHARACTERS, Matrix, Mode
from core.attention.inside.pair import pair_steps
from core.checkpoints.spec import CheckpointSpec
from core.content import Content
from core.links import parameters as link
from core.table import Table
from core.ui.component import Component, Message
from core.ui.links import PageState, instead
from core.ui.page import main_picture, presenting
from core.ui.panel import offer_table
from core.ui.param import Carried
from core.ui.section import Section, View

Until = Literal["inputs", "scores", "scaled", "mask", "weights", "output"]
UNTIL: tuple[Until, ...] = ("inputs", "scores", "scaled", "mask", "weights", "output")
MASKS: tuple[Literal["causal", "none"], ...] = ("causal", "none")
FIRST_SCORE = "s131"
"""The number whose computation is shown first: the query of the last token with the key of the first."""
_AT = r"[qkvrusdmxaopgtcwy][12]?[1-4][1-4]"


class Changed(Message):
    """All that a visitor chose."""

    cells: Annotated[str, Field(max_length=MOST_CHARACTERS, pattern=r"^[a-z0-9_.~-]*$")]
    mode: Mode
    mask: Literal["causal", "none"]
    at: Annotated[str, Field(max_length=5, pattern=f"^{_AT}$")]
    until: Until


EDITOR = Component("byhand", Changed, uses=("dom",))
CELLS = Carried(name="cells", label="Numbers", as_=link.Text())
MODE = Carried(name="mode", label="What is computed", as_=link.Choice(None, MODES))
MASK = Carried(name="mask", label="Mask", as_=link.Choice(None, MASKS))
AT = Carried(name="number", label="Number whose computation is shown", as_=link.Text())
UNTIL_STEP = Carried(name="until", label="Last step", as_=link.Choice(None, UNTIL))


def by_hand(view: View) -> None:
    state, key = view.state, view.state.key("byhand")
    if sent := EDITOR.sent(key):
        state.set(cells=sent.cells or None, number=None if sent.at == FIRST_SCORE else sent.at)
        state.set(mode=None if sent.mode == MODES[0] else sent.mode, mask=None if sent.mask == MASKS[0] else sent.mask)
        state.set(until=None if sent.until == UNTIL[-1] else sent.until)
    cells, mode = _cells(state), state.text(MODE.name, MODES[0])
    mask, until = state.text(MASK.name, MASKS[0]), state.text(UNTIL_STEP.name, UNTIL[-1])
    tensors = byhand.compute(cells, mode, causal=mask == "causal")  # type: ignore[arg-type]
    spec = next(iter(_models()), None)
    example = byhand.example()
    now = {"cells": cells, "mode": mode, "mask": mask, "at": _at(state, tensors), "until": until}
    with main_picture(), st.container(key="atlas-byhand"):
        EDITOR.draw(
            key,
            {
                "tokens": example.tokens,
                "dimensions": example.dimensions,
                "cells": dict(example.cells),
                "now": now,
                "words": {name: value for name, value in view.words.front.items() if name not in ("search", "live")},
                "hall": presenting(),
                "live": live_data(view.words, spec) if spec else None,
            },
        )
    if spec is None:
        view.note("No model")
    offer_table(state, numbers_table(tensors, example.tokens), view.words.part("Table"), "by-hand")
    view.try_and_notice()
    view.how_it_works()


def _models() -> list[CheckpointSpec]:
    installed = {spec.slug: spec for spec in checkpoints.available() if spec.ready}
    return [installed[slug] for slug in checkpoints.first("by-hand") if slug in installed]


def _cells(state: PageState) -> dict[str, Matrix]:
    """The numbers of the link, or the example with a warning."""
    try:
        return byhand.read_cells(state.text(CELLS.name))
    except ValueError as error:
        instead(state, f"“{CELLS.label}” cannot be read: {error}. The example is shown.")
        state.set(cells=None)
        return byhand.read_cells("")


def _at(state: PageState, tensors: dict[str, Matrix]) -> str:
    """The number whose computation is shown; weights have their sum in one more column."""
    at = state.text(AT.name, FIRST_SCORE)
    tensor, ends = at[:-2], at[-2:]
    rows = tensors.get(tensor, ())
    wide = len(rows[0]) + tensor.startswith("a") if rows else 0
    if not (ends.isascii() and ends.isdigit() and 1 <= int(ends[0]) <= len(rows) and 1 <= int(ends[1]) <= wide):
        instead(state, f"There is no number “{at[:20]}” here; the first score is shown.")
        state.set(number=None)
        return FIRST_SCORE
    return at


def numbers_table(tensors: dict[str, Matrix], tokens: Sequence[str]) -> Table:
    """Every number with its tensor, its row and its column, from 1; rows of three are those of tokens."""
    rows = [
        (name, tokens[i] if len(matrix) == len(tokens) else str(i + 1), j + 1, round(value, 6))
        for name, matrix in tensors.items()
        for i, row in enumerate(matrix)
        for j, value in enumerate(row)
    ]
    return Table(("tensor", "row", "column", "value"), tuple(rows))


def live_data(words: Content, spec: CheckpointSpec) -> dict[str, Any]:
    """The steps of the live head, each with the letters of the tensors that it belongs to."""
    chosen = words.front["live"]
    layer, head, pair = chosen["layer"], chosen["head"], (chosen["query"], chosen["key"])
    steps = session.computed("running-the-model", pair_steps, spec.slug, chosen["text"], layer - 1, head - 1, *pair)
    d = steps.dimension
    product, score = shown(steps.product), shown(steps.scores[steps.key])
    return {
        "title": words.part("Live: title", model=spec.name, layer=layer, head=head, heads=steps.heads, d=d),
        "parts": [
            _part(words, "q", "query", "vector", numbers=", ".join(map(shown, steps.query_numbers)), d=d),
            _part(words, "k", "key", "vector", numbers=", ".join(map(shown, steps.key_numbers)), d=d),
            _part(words, "pgru", "rotation", "rotated" if steps.rotated else "not rotated") | {"mode": "rotation"},
            _part(
                words,
                "s",
                "score",
                "products",
                products=_sum(steps.query_numbers, steps.key_numbers),
                product=product,
                d=d,
            ),
            _part(words, "d", "scaled", "division", product=product, root=shown(math.sqrt(d)), score=score, d=d),
            _part(words, "m", "mask", "causal" if -math.inf in steps.scores else "full"),
            _part(words, "ax", "weights") | {"bars": list(zip(steps.tokens, steps.weights, strict=True))},
            _part(words, "o", "output", "sum", terms=_sum(steps.weights, steps.values), output=shown(steps.output[0])),
            _part(words, "cwy", "joined", "concatenated", heads=steps.heads, d=d, width=steps.heads * d)
            | {"mode": "heads"},
        ],
    }


def _part(words: Content, of: str, title: str, line: str = "", **values: str | int) -> dict[str, Any]:
    lines = [words.part(f"Live: {line}", **values)] if line else []
    return {"of": of, "title": words.part(f"Live: {title}", **values), "lines": lines}


def _sum(first: Sequence[float], second: Sequence[float]) -> str:
    """The products of two rows of numbers as a sum."""
    terms = [f"{shown(x)}·{f'({shown(y)})' if y < 0 else shown(y)}" for x, y in zip(first, second, strict=True)]
    return " + ".join(terms).replace("+ −", "− ")


def shown(value: float) -> str:
    """A number of a model: two decimals."""
    return f"{value:.2f}".replace("-", "−")


SECTION = Section("by-hand", by_hand, (MODE, MASK, CELLS, AT, UNTIL_STEP))
