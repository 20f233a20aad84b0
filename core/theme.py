"""The only module with colors: a theme for light and one for dark pages.

``.streamlit/config.toml`` repeats the colors of the page itself, which Streamlit reads there; a test compares the two.
Hues are Okabe and Ito's color-blind-safe palette. A sequential scale has one hue, its branch's, and a lightness that
changes evenly from the background on. Color is never the only sign.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

FONT = "'Source Sans', system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif"
MONO = "'Source Code Pro', ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
"""Streamlit brings the first of both along."""
SMALL, LABEL, TEXT, LARGE = 13.0, 14.875, 17.0, 21.25
"""The four sizes of text beside titles, in pixels: of charts and notes, of controls and tables, of sentences, of a
result. The middle two are Streamlit's 0.875 rem and 1 rem."""
_SIZES = {"small": SMALL, "label": LABEL, "text": TEXT, "large": LARGE}
TYPE = "".join(f"--atlas-{name}:{size:g}px;" for name, size in _SIZES.items()) + f"--atlas-mono:{MONO};"
"""The same, and the face of tokens, as CSS variables, for the declarations of one rule."""

BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, ORANGE = "#56B4E9", "#E69F00"
WHITE, BLACK = "#ffffff", "#000000"

ACCENTS: Mapping[str, str] = MappingProxyType(
    {"encoder": BLUE, "decoder": VERMILION, "encoder-decoder": GREEN, "efficient": PURPLE}
)
"""One accent for each branch, the same everywhere."""

FILLS = ("#3F5E9A", "#8C96A1", "#C9B458", "#A8552B", "#F4E7A1", "#A05C7B", "#4F7F6E")
"""Fills behind text: blue to yellow as in cividis, whose lightness is monotonic, and three further hues."""

Name = Literal["light", "dark"]
Scale = tuple[tuple[float, str], ...]
"""Positions from 0 to 1 with their colors."""

_WEIGHTS = (0.2126, 0.7152, 0.0722)
"""What red, green and blue add to the luminance of a color (WCAG)."""
_STEPS = 7
"""Colors of a sequential scale above zero, from a tenth of it to its end."""


def mixed(color: str, other: str, share: float) -> str:
    """``color`` (``#rrggbb``) blended with ``other``, whose share is from 0 to 1."""
    pairs = [(int(color[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round((1 - share) * first + share * second):02X}" for first, second in pairs)


def luminance(color: str) -> float:
    """The relative luminance of ``#rrggbb``, from 0 to 1 (WCAG)."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip(_WEIGHTS, linear, strict=True))


def lightness(color: str) -> float:
    """CIE's L* of ``#rrggbb``, from 0 to 100: equal steps look alike."""
    y = luminance(color)
    return 116 * y ** (1 / 3) - 16 if y > 0.008856 else 903.3 * y


def _with_lightness(hue: str, wanted: float) -> str:
    """``hue`` blended with white or black so that its lightness is ``wanted``."""
    other = WHITE if wanted > lightness(hue) else BLACK
    low, high = 0.0, 1.0
    for _ in range(12):
        share = (low + high) / 2
        short = abs(lightness(mixed(hue, other, share)) - lightness(hue)) < abs(wanted - lightness(hue))
        low, high = (share, high) if short else (low, share)
    return mixed(hue, other, high)


@lru_cache(maxsize=32)
def _amounts(ground: str, hue: str, ends: tuple[float, float]) -> Scale:
    """``ground`` at zero, then ``hue`` with evenly spaced lightness from the first of ``ends``, at 0.1, to the last.

    The first step is large: small weights have to be told from zero.
    """
    along = [i / (_STEPS - 1) for i in range(_STEPS)]
    colors = [(0.1 + 0.9 * at, _with_lightness(hue, ends[0] + at * (ends[1] - ends[0]))) for at in along]
    return ((0.0, ground), *colors)


@dataclass(frozen=True, slots=True)
class Theme:
    """The colors of a page and of everything drawn on it."""

    name: Name
    ground: str
    raised: str
    """Background of controls, empty cells and groups."""
    ink: str
    muted: str
    """Secondary text and branches without an accent. Contrast at least 4.5 : 1 on the ground."""
    line: str
    link: str
    primary: str
    """The chosen and the first of several."""
    secondary: str
    selection: str
    """A frame around what is chosen, on any scale."""
    hatch: str
    """Lines over cells that a mask forbids or that are not computed; on the ground, so that they look like no value."""
    categorical: tuple[str, ...]
    blocks: tuple[str, str, str]
    """Kinds of blocks in sparse attention: window, global, random. They differ in lightness, too."""
    amounts: Scale
    """Sequential scale; zero is the ground. :meth:`of` has it in the color of a branch."""
    ends: tuple[float, float]
    """The lightness of the sequential scale at a tenth and at its end."""
    differences: Scale
    """Diverging scale; zero, in the middle, is the ground, orange below and blue above."""
    query: str
    key: str
    value: str
    """Of queries, keys and values, in pictures and in text. Contrast at least 4.5 : 1 on ground and raised."""

    @property
    def dark(self) -> bool:
        return self.name == "dark"

    def role(self, tensor: str) -> str | None:
        """The color of a tensor by its name: of ``queries``, ``keys`` and ``values``."""
        return {"queries": self.query, "keys": self.key, "values": self.value}.get(tensor)

    def of(self, branch: str | None) -> Theme:
        """The same with the sequential scale in the color of a branch."""
        return replace(self, amounts=_amounts(self.ground, self.accent(branch), self.ends))

    @property
    def strong(self) -> Theme:
        """The same for a projector: what is secondary has the contrast of the text."""
        return replace(self, muted=self.ink, line=mixed(self.ink, self.ground, 0.4))

    def accent(self, branch: str | None) -> str:
        """The color of a branch; gray for milestones and others."""
        return ACCENTS.get(branch or "", self.muted)

    @property
    def css(self) -> str:
        """The colors as CSS variables, for the declarations of one rule."""
        named = {
            "ground": self.ground,
            "raised": self.raised,
            "ink": self.ink,
            "muted": self.muted,
            "line": self.line,
            "primary": self.primary,
            "blue": BLUE,
            "vermilion": VERMILION,
            "green": GREEN,
            "purple": PURPLE,
            "sky": SKY,
            "orange": ORANGE,
            "hatch": self.hatch,
            "query": self.query,
            "key": self.key,
            "value": self.value,
        }
        return "".join(f"--atlas-{name}:{color};" for name, color in named.items())


LIGHT = Theme(
    name="light",
    ground="#FFFFFF",
    raised="#F3F5F7",
    ink="#1A1F24",
    muted="#767676",
    line="#C9D1D9",
    link="#005A8F",
    primary=BLUE,
    secondary=VERMILION,
    selection="#C2185B",
    hatch="#A9B4BF",
    categorical=(BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, "#767676"),
    blocks=(SKY, "#1F4E79", PURPLE),
    amounts=_amounts("#FFFFFF", BLUE, (74.0, 22.0)),
    ends=(74.0, 22.0),
    query="#8A2BD0",
    key="#0D6273",
    value="#A34700",
    differences=((0.0, "#8F3B00"), (0.25, "#E69A4F"), (0.5, "#FFFFFF"), (0.75, "#5B94CF"), (1.0, "#0A3D7A")),
)

DARK = Theme(
    name="dark",
    ground="#12161B",
    raised="#1D232B",
    ink="#E8ECF0",
    muted="#8B96A2",
    line="#3A434E",
    link="#7CC7F0",
    primary="#4FB3E8",
    secondary="#F0954A",
    selection="#FF79B0",
    hatch="#4E5A67",
    categorical=(BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, "#8B96A2"),
    blocks=("#2F7FB0", "#A8D8F5", "#E39AC4"),
    amounts=_amounts("#12161B", BLUE, (32.0, 90.0)),
    ends=(32.0, 90.0),
    query="#BF8CFF",
    key="#75E0D0",
    value="#FF9A4D",
    differences=((0.0, "#FFC582"), (0.25, "#B3651C"), (0.5, "#12161B"), (0.75, "#2F6DB3"), (1.0, "#9CCBFF")),
)

THEMES: Mapping[Name, Theme] = MappingProxyType({"light": LIGHT, "dark": DARK})


def theme(dark: bool) -> Theme:
    """The theme of a dark or a light page."""
    return DARK if dark else LIGHT
