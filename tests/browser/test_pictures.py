"""Eight figures, drawn in Chromium as they were when somebody looked at them: forms, colors, order and places.

A picture is compared in a grid of mean colors, so that a pixel more or less is nothing: what differs is a share of the
ink, the sum of distances from the ground. All letters are those that come with Streamlit, on every machine. To
look again after a change that is meant: delete the file of the figure in ``pictures``, run, look at the new one.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
import streamlit
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import BrowserContext, Page
from plotly.offline import get_plotlyjs

from core import anatomy
from core.attention.inside.block import wires
from core.figures.arcs import Arc, arcs
from core.figures.attention import weight_map
from core.figures.lineage import family
from core.figures.parameters import treemap
from core.figures.predictions import prediction_bars
from core.figures.tree import beam_tree
from core.language.decoding.search import Fate, Node, Tree
from core.theme import BLUE, FONT, LIGHT, MONO, TYPE, VERMILION
from core.ui.attention.block import STEPS
from core.ui.attention.block import component_data as block_data
from core.ui.catalogue.timeline import PICTURE
from core.ui.catalogue.timeline import component_data as timeline_data
from core.ui.component import Component
from core.ui.masks.masks import BOARD
from tests.browser.conftest import MOUNT
from tests.unit.test_block_pictures import steps

PICTURES = Path(__file__).parent / "pictures"
MEDIA = Path(streamlit.__file__).parent / "static" / "static" / "media"
FONTS = {"Atlas text": "SourceSansVF-Upright", "Atlas code": "SourceCodeVF-Upright"}
WIDTH = 640
GRID = (64, 40)
MOST = 0.04
"""The largest share of the ink that may differ."""
WORDS = ("The", "cat", "sat", "on", "the", "mat", ".")
Drawing = go.Figure | tuple[Component[Any], dict[str, Any]]


def heat_map(query: int = 2) -> Drawing:
    weights = np.tril(np.arange(1.0, 50).reshape(7, 7))
    weights /= weights.sum(axis=1, keepdims=True)
    weights[np.triu_indices(7, 1)] = np.nan
    return weight_map(weights, WORDS, WORDS, query, theme=LIGHT)


def bars(count: int = 5, color: str = BLUE) -> Drawing:
    probabilities = (0.52, 0.21, 0.11, 0.05, 0.02)[:count]
    return prediction_bars(WORDS[:count], probabilities, color, chosen=1, scale=0.6, theme=LIGHT)


def search() -> Drawing:
    def node(ids: tuple[int, ...], fate: Fate, *, best: bool = False) -> Node:
        return Node(ids, f" {WORDS[ids[-1]]}", -0.5, -0.5 * len(ids), -0.5, fate, best)

    first = (node((0,), "kept", best=True), node((1,), "kept"), node((2,), "pruned"))
    second = (node((0, 3), "finished", best=True), node((1, 4), "kept"), node((0, 5), "pruned"))
    return beam_tree(Tree((first, second), ((" The on", 2, -1.0, -0.5),), (0, 3), "end", 1.0), VERMILION, theme=LIGHT)


def modules() -> Drawing:
    return treemap(anatomy.tree("bert"), theme=LIGHT)


def links() -> Drawing:
    drawn = [Arc(1, 2, 0.9, "right"), Arc(5, 2, 0.4, "wrong"), Arc(4, 5, 0.6, "right"), Arc(0, 1, 0.3, "right")]
    return arcs(WORDS, drawn, {"right": "right", "wrong": "wrong", "link": "link"}, BLUE, theme=LIGHT)


def board(bits: str = "1000011000111001111011111") -> Drawing:
    data = {"rows": WORDS[:5], "cols": WORDS[:5], "bits": bits, "flips": [4, 6], "most": 9, "count": 0, "file": "mask"}
    return BOARD, data | {"down": "query", "across": "key", "label": "a mask", "accent": BLUE, "onAccent": "#ffffff"}


def timeline() -> Drawing:
    """Of seven systems, as if there were no others: a new one changes no picture here."""
    slugs = ("transformer", "gpt", "bert", "gpt-2", "xlm", "transformer-xl", "xlnet")
    shown = tuple(entry for entry in family() if entry.slug in slugs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.ui.catalogue.timeline.family", lambda: shown)
        data = timeline_data(shown, "branch", "The family")
    return PICTURE, data | {"until": shown[-1].at, "chosen": "bert", "years": True, "count": 0}


def block() -> Drawing:
    parts = steps(before=True)
    data = block_data(parts, wires(parts), chosen="attention-scores", label="Steps of a block")
    return STEPS, data | {"accent": BLUE, "count": 0}


FIGURES: dict[str, Callable[[], Drawing]] = {
    made.__name__: made for made in (heat_map, bars, search, modules, links, board, timeline, block)
}


@pytest.fixture(scope="module")
def easel(bare: BrowserContext) -> Iterator[Page]:
    """A page of white paper with plotly and the letters."""
    page = bare.new_page()
    page.set_viewport_size({"width": WIDTH, "height": 800})
    page.emulate_media(reduced_motion="reduce")
    page.set_content(
        f"<!DOCTYPE html><style>:root {{ {TYPE} }}</style><body style='margin: 0; background: white'></body>"
    )
    page.add_script_tag(content=get_plotlyjs())
    for name, file in FONTS.items():
        (path,) = MEDIA.glob(f"{file}.*.woff2")
        letters = base64.b64encode(path.read_bytes()).decode()
        page.evaluate(LETTERS, [name, f"url(data:font/woff2;base64,{letters})"])
    yield page
    page.close()


LETTERS = """
async ([family, source]) => {
  document.fonts.add(await new FontFace(family, source).load());
  const name = family.endsWith("code") ? "--st-code-font" : "--st-font";
  document.documentElement.style.setProperty(name, `"${family}"`);
}
"""
PLOT = """
async (figure) => {
  const sheet = document.createElement("div");
  document.body.replaceChildren(sheet);
  await Plotly.newPlot(sheet, figure.data, figure.layout, { staticPlot: true });
}
"""


def draw(page: Page, drawing: Drawing) -> Image.Image:
    if isinstance(drawing, go.Figure):
        drawing.update_layout(width=WIDTH)
        text, code = FONTS
        figure = drawing.to_json().replace(FONT, text).replace(MONO, code)
        page.evaluate(f"(figure) => ({PLOT})(JSON.parse(figure))", figure)
    else:
        component, data = drawing
        page.evaluate(MOUNT, [*component.files, data])
    png = page.locator("body > div").screenshot(animations="disabled")
    return Image.open(io.BytesIO(png)).convert("RGB")


def ink(picture: Image.Image) -> NDArray[np.float64]:
    """How far each part of the grid is from the ground, per color."""
    return 255.0 - np.asarray(picture.resize(GRID, Image.Resampling.BOX), dtype=float)


def difference(picture: Image.Image, other: Image.Image) -> float:
    return float(np.abs(ink(picture) - ink(other)).sum() / ink(other).sum())


@cache
def stored(name: str) -> Image.Image:
    return Image.open(PICTURES / f"{name}.png").convert("RGB")


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_looks_as_it_did(easel: Page, name: str) -> None:
    picture = draw(easel, FIGURES[name]())
    if not (PICTURES / f"{name}.png").exists():
        picture.quantize(48).save(PICTURES / f"{name}.png", optimize=True)
        pytest.fail(f"{name}.png is new: look at it")
    assert difference(picture, stored(name)) <= MOST


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("heat_map", partial(heat_map, 5)),
        ("bars", partial(bars, 4)),
        ("bars", partial(bars, color=VERMILION)),
        ("board", partial(board, "1" * 25)),
        ("board", partial(board, "1000011000111001111011110")),
    ],
    ids=["another row", "a row less", "another color", "all cells", "a cell less"],
)
def test_what_is_drawn_otherwise_is_seen(easel: Page, name: str, other: Callable[[], Drawing]) -> None:
    assert difference(draw(easel, other()), stored(name)) > MOST
