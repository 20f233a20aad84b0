"""Which head is open in the grid: the page in its frame says so, and the link keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.attention.trace import AttentionMap
from core.attention.views.recipe import SHOWN
from core.ui.attention.inside_frame import Numbers, chosen_inside
from core.ui.notices import warned

if TYPE_CHECKING:
    from core.ui.links import PageState


def opened_head(shown: AttentionMap, about: tuple[object, ...], state: PageState) -> tuple[int | None, int | None]:
    """Layer and head, from 0, that the grid of ``shown`` opens with; reads and writes open.

    Args:
        about: what beside the page's parameters the map hangs on.
    """

    def lacking(asked: Numbers) -> None:
        numbers = ", ".join(map(str, asked))
        warned(
            f"There is no head “{numbers}” here: “open” takes a layer up to {shown.layers} and a head up to "
            f"{shown.heads}. All heads are shown.",
            icon=":material/link_off:",
        )

    # Streamlit keeps what is called when a head is opened: it must not hold the map, which may have many megabytes.
    layers, heads = shown.layers, shown.heads
    drawn, now = chosen_inside(
        "grid",
        "maps",
        state,
        asked=state.integers("open"),
        about=(about, [state.values.get(name) for name in SHOWN["all"] if name != "open"]),
        fits=lambda open_: there(open_, layers, heads),
        lacking=lacking,
    )
    state.set(open=now)
    return (drawn[0] - 1, drawn[1] - 1) if drawn else (None, None)


def there(open_: Numbers, layers: int, heads: int) -> bool:
    """Whether the numbers are one of so many layers and one of so many heads, from 1, or none."""
    return not open_ or (len(open_) == 2 and 1 <= open_[0] <= layers and 1 <= open_[1] <= heads)
