"""What several sections share: the live model, and the input text of its prediction."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from core import checkpoints
from core.attention.trace import AttentionMap
from core.attention.views.export import MAX_TABLE_ROWS, Bits, map_table
from core.checkpoints.spec import CheckpointSpec
from core.content import content
from core.ui.export import download_csv, download_html
from core.ui.links import PageState
from core.ui.page import BRANCH_TITLES
from core.ui.param import Model, menu_names
from core.ui.picker import SOURCES
from core.ui.section import View

MODEL = Model(
    name="model",
    first="attention",
    width=250,
    hide_label=True,
    resets=("layer", "head", "map", "token", "task", "off", "side", "step", "layers", "heads", "on", "open"),
)


def draw_model(view: View, model: Model = MODEL) -> CheckpointSpec:
    """Draw the menu of models in the row of sections."""
    specs = model.offered()
    short = menu_names(specs.values())
    names = {
        slug: " · ".join(
            (
                short[slug],
                BRANCH_TITLES.get(spec.branch, spec.branch),
                *([SOURCES[spec.source]] if spec.source in ("directory", "hub", "visitor") else ()),
            )
        )
        for slug, spec in specs.items()
    }
    with view.controls():
        usual = next((slug for slug in checkpoints.first(model.first) if slug in specs), next(iter(specs)))
        return specs[model.with_(options=names, default=usual).draw(view.state)]


def download_pages(page: Callable[[Bits], str], stem: str, state: PageState) -> None:
    """Downloads of a map's page with weights in 8 bits and in 16, created on request."""
    download_html(lambda: page(8), stem, state.key("maps.page"), of="page")
    tip = content("attention").part("16 bits")
    download_html(lambda: page(16), f"{stem}-16", state.key("maps.page16"), of="page, 16 bits", tip=tip)


def download_weights(
    attention_map: AttentionMap, stem: str, state: PageState, *, tip: str = "", **heads: Sequence[int]
) -> None:
    """Offer the weights as a table, if they have no more than :data:`MAX_TABLE_ROWS` rows.

    Args:
        heads: ``layers`` and ``heads`` of the table, from 0; all by default.
    """
    count = (
        math.prod(len(numbers) for numbers in heads.values()) if heads else attention_map.layers * attention_map.heads
    )
    if count * attention_map.weights[0, 0].size <= MAX_TABLE_ROWS:
        download_csv(partial(map_table, attention_map, **heads), stem, state.key("maps.csv"), of="weights", tip=tip)
