"""Colors stand in one place, agree with Streamlit's configuration, and can be read on both grounds."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from core.figures.plot import figure, scatter
from core.theme import ACCENTS, DARK, FONT, LIGHT, MONO, Theme

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


def test_no_other_module_holds_a_color() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{number}"
        for path in (*(ROOT / "core").rglob("*.py"), *(ROOT / "assets" / "styles").glob("*.css"))
        if path != ROOT / "core" / "theme.py"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"(?<![\w&])#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{3})\b", line)
    }
    assert not found


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
def test_a_figure_takes_ink_and_ground_from_its_template(look: Theme) -> None:
    drawn = figure(look, [scatter([1], [2], "markers")], height=100)
    layout = drawn.layout.template.layout
    assert (layout.font.color, layout.paper_bgcolor, layout.hoverlabel.bgcolor) == (look.ink, look.ground, look.ground)
    assert drawn.layout.height == 100
    assert len(drawn.to_json()) < 4_000


def test_what_plotly_does_not_know_is_refused() -> None:
    with pytest.raises(ValueError, match="heigth"):
        figure(LIGHT, [], heigth=200)
