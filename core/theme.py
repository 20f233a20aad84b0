"""The only module with colors: a theme for light and one for dark pages.

``.streamlit/config.toml`` repeats the colors of the page itself, which Streamlit reads there; a test compares the two.
Hues are Okabe and Ito's color-blind-safe palette; sequential scales are cividis. Color is never the only sign.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"

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

_CIVIDIS = (
    "#00224E",
    "#123570",
    "#3B496C",
    "#575D6D",
    "#707173",
    "#8A8678",
    "#A59C74",
    "#C3B369",
    "#E1CC55",
    "#FEE838",
)


def _amounts(ground: str, start: float, colors: tuple[str, ...]) -> Scale:
    """``ground`` at zero, then ``colors`` from ``start`` to 1."""
    steps = [start + (1 - start) * i / (len(colors) - 1) for i in range(len(colors))]
    return ((0.0, ground), *zip(steps, colors, strict=True))


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
    unseen: str
    """Cells that are not computed."""
    categorical: tuple[str, ...]
    blocks: tuple[str, str, str, str]
    """Kinds of blocks in sparse attention: none, window, global, random. They differ in lightness, too."""
    amounts: Scale
    """Sequential scale; zero is the ground."""
    differences: Scale
    """Diverging scale; zero, in the middle, is the ground, orange below and blue above."""

    @property
    def dark(self) -> bool:
        return self.name == "dark"

    @property
    def strong(self) -> Theme:
        """The same for a projector: what is secondary has the contrast of the text."""
        return replace(self, muted=self.ink, line=mixed(self.ink, self.ground, 0.4))

    def accent(self, branch: str | None) -> str:
        """The color of a branch; gray for ancestors and others."""
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
    unseen="#D3DAE1",
    categorical=(BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, "#767676"),
    blocks=("#F3F5F7", SKY, "#1F4E79", PURPLE),
    # reversed, without the two brightest yellows: they cannot be told from white, and small weights have to be seen
    amounts=_amounts("#FFFFFF", 0.1, _CIVIDIS[-3::-1]),
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
    unseen="#39424D",
    categorical=(BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, "#8B96A2"),
    blocks=("#1D232B", "#2F7FB0", "#A8D8F5", "#E39AC4"),
    amounts=_amounts("#12161B", 0.1, _CIVIDIS[2:]),
    differences=((0.0, "#FFC582"), (0.25, "#B3651C"), (0.5, "#12161B"), (0.75, "#2F6DB3"), (1.0, "#9CCBFF")),
)

THEMES: Mapping[Name, Theme] = MappingProxyType({"light": LIGHT, "dark": DARK})


def theme(dark: bool) -> Theme:
    """The theme of a dark or a light page."""
    return DARK if dark else LIGHT


def mixed(color: str, other: str, share: float) -> str:
    """``color`` (``#rrggbb``) blended with ``other``, whose share is from 0 to 1."""
    pairs = [(int(color[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round((1 - share) * first + share * second):02X}" for first, second in pairs)
