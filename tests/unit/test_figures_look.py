"""Colors, sizes on a large screen, and pictures as SVG: all can be read."""

from __future__ import annotations

import colorsys
import re
import tomllib
from itertools import combinations
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest

from core.attention.trace import AttentionMap
from core.figures.attention import attention_map
from core.figures.heatmap import heat_map
from core.figures.heatmap import tokens as names_of
from core.figures.plot import figure, least_height, note, scatter
from core.theme import ACCENTS, DARK, FONT, LABEL, LARGE, LIGHT, MONO, TEXT, Theme, lightness

ROOT = Path(__file__).parents[2]
CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
BOTH = pytest.mark.parametrize("look", [LIGHT, DARK], ids=lambda look: look.name)


def luminance(color: str) -> float:
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@BOTH
def test_streamlit_has_the_same_colors(look: Theme) -> None:
    assert CONFIG[look.name] == {
        "primaryColor": look.primary,
        "backgroundColor": look.ground,
        "secondaryBackgroundColor": look.raised,
        "textColor": look.ink,
        "linkColor": look.link,
        "borderColor": look.line,
    }
    assert (CONFIG["font"], CONFIG["codeFont"]) == (FONT, MONO)


OTHER_SIZES = {
    "handout.css": {"10pt", "14pt", "11pt"},  # on paper
    "room.css": {"4rem"},  # a code that a hall reads
    "bertviz.css": {"11px"},  # in thumbnails
    "bertviz-strong.css": {"19px"},  # in a hall
}
"""Sizes of text that are none of the four."""


def test_text_has_four_sizes_beside_titles() -> None:
    assert (0.875 * CONFIG["baseFontSize"], CONFIG["baseFontSize"]) == (LABEL, TEXT)
    assert CONFIG["headingFontSizes"][1:] == [f"{LARGE / TEXT:g}rem", *["1rem"] * 4]
    literal = re.compile(r"\bfont(?:-size)?:\s*(?:\d+ )?([\d.]+(?:rem|em|px|pt))")
    sizes = {path.name: set(literal.findall(path.read_text("utf-8"))) for path in (ROOT / "assets").rglob("*.css")}
    assert {name: found for name, found in sizes.items() if found} == OTHER_SIZES


@BOTH
def test_words_and_what_is_secondary_can_be_read(look: Theme) -> None:
    for ground in (look.ground, look.raised):
        assert contrast(look.ink, ground) >= 7
    assert contrast(look.muted, look.ground) >= 4.5
    assert contrast(look.link, look.ground) >= 4.5


@BOTH
def test_accents_and_series_stand_out_from_the_ground(look: Theme) -> None:
    assert min(contrast(color, look.ground) for color in (*ACCENTS.values(), *look.categorical)) >= 2.2
    assert min(contrast(color, look.ground) for color in (look.primary, look.secondary, look.selection)) >= 3


@BOTH
def test_zero_is_the_ground_of_both_scales(look: Theme) -> None:
    for scale, zero in ((look.amounts, 0.0), (look.differences, 0.5)):
        assert dict(scale)[zero] == look.ground
        assert scale[-1][0] == 1.0
        assert [position for position, _ in scale] == sorted(position for position, _ in scale)
    assert contrast(look.amounts[1][1], look.ground) >= 1.9, "a tenth of the scale cannot be told from zero"


@BOTH
@pytest.mark.parametrize("branch", [*ACCENTS, ""])
def test_a_branch_has_one_hue_from_the_ground_on_whose_lightness_changes_in_even_steps(
    look: Theme, branch: str
) -> None:
    ground, *colors = (color for _, color in look.of(branch).amounts)
    assert ground == look.ground
    steps = np.diff([lightness(color) for color in colors]) * (1 if look.dark else -1)
    assert steps.min() >= 7, "two neighbors look alike"
    assert steps.max() - steps.min() <= 1.5, steps
    assert contrast(colors[0], look.ground) >= 1.9, "a tenth of the scale cannot be told from zero"
    assert contrast(colors[-1], look.ground) >= 10
    hues = [colorsys.rgb_to_hls(*(int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)))[0] for color in colors]
    assert max(abs(hue - hues[0]) for hue in hues) <= 0.03


def test_each_branch_has_a_scale_of_its_own() -> None:
    assert len({LIGHT.of(branch).amounts for branch in (*ACCENTS, "")}) == len(ACCENTS) + 1
    assert LIGHT.of("encoder").amounts == LIGHT.amounts


_BLINDNESS = {
    "none": np.eye(3),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}
"""What remains of linear red, green and blue (Machado et al. 2009)."""


def lab(color: str, blindness: str) -> np.ndarray:
    """CIELAB of ``#rrggbb`` as it is seen."""
    parts = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(_BLINDNESS[blindness]) @ linear, 0, 1)
    to_xyz = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.072175), (0.0193339, 0.119192, 0.9503041))
    x = np.array(to_xyz) @ seen / (0.95047, 1.0, 1.08883)
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@BOTH
def test_queries_keys_and_values_can_be_read_and_told_apart(look: Theme) -> None:
    roles = [look.role(name) for name in ("queries", "keys", "values")]
    colors = [role for role in roles if role is not None]
    assert len(set(colors)) == 3
    assert min(contrast(color, ground) for color in colors for ground in (look.ground, look.raised)) >= 4.5
    for blindness in _BLINDNESS:
        seen = [lab(color, blindness) for color in colors]
        assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) >= 30, blindness
    assert look.role("scores") is None


def square(weights: list[list[float]], names: tuple[str, ...]) -> AttentionMap:
    return AttentionMap("encoder", names, names, np.array(weights, dtype=np.float32)[None, None])


def test_what_a_mask_forbids_is_hatched_and_a_weight_of_zero_is_not() -> None:
    weights = np.array([[[[1, 0], [0, 1]]]], np.float32)
    words = ("a", "b")
    causal = AttentionMap("decoder", words, words, weights, np.tri(2, dtype=np.bool_)[None, None])
    masked, full = (
        attention_map(causal, 0, 0, theme=LIGHT),
        attention_map(square([[1, 0], [0, 1]], words), 0, 0, theme=LIGHT),
    )
    (hatch,) = masked.layout.images
    assert LIGHT.hatch in unquote(hatch.source)
    assert (hatch.layer, hatch.x, hatch.y, hatch.sizex, hatch.sizey) == ("below", -0.5, -0.5, 2, 2)
    assert re.findall('<rect x="50%" y="0%" width="50%" height="50%"/>', unquote(hatch.source))
    assert unquote(hatch.source).count("<rect") == 1, "a cell with a value is hatched"
    assert np.isnan(masked.data[0].z).tolist() == [[False, True], [False, False]], "a value covers the hatching"
    assert masked.data[0].colorbar.title.text == "attention weight (hatched: masked)"
    assert not full.layout.images
    assert full.data[0].colorbar.title.text == "attention weight"


@BOTH
def test_the_hatching_is_no_color_of_a_scale(look: Theme) -> None:
    colors = {color for branch in (*ACCENTS, "") for _, color in look.of(branch).amounts}
    assert look.hatch not in colors
    assert contrast(look.hatch, look.ground) >= 2


@BOTH
def test_a_figure_takes_ink_and_ground_from_its_template(look: Theme) -> None:
    drawn = figure(look, [scatter([1], [2], "markers")], height=100)
    layout = drawn.layout.template.layout
    assert (layout.font.color, layout.paper_bgcolor, layout.hoverlabel.bgcolor) == (look.ink, look.ground, look.ground)
    assert drawn.layout.height == 100
    assert len(drawn.to_json()) < 4_000


def test_what_plotly_does_not_know_is_refused() -> None:
    with pytest.raises(ValueError, match="heigth"):
        figure(LIGHT, [], heigth=200)


def test_a_figure_says_below_what_height_its_names_and_notes_would_stand_on_each_other() -> None:
    names = [f"row {number}" for number in range(30)]
    bars = figure(LIGHT, [{"type": "bar", "orientation": "h", "x": list(range(30)), "y": names}], height=900)
    assert least_height(bars) > 30 * 13
    points = figure(LIGHT, [scatter([1], [2], "markers")], height=900)
    assert least_height(points) < 150, "only spreads out"
    rows = heat_map(np.eye(17), names_of(names[:17]), names_of(names[:17]), LIGHT, height=430)
    assert 17 * 13 < least_height(rows) < 430
    notes = [note("one<br>two", x, y) for x in range(3) for y in range(8)]
    assert least_height(figure(LIGHT, [], annotations=notes)) > 8 * 2 * 13
