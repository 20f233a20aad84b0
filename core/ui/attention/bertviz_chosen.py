"""Which layer and which heads a view of bertviz's shows: chosen inside its frame, kept in the link and the recipe.

The numbers of a message, from 1, mean

    head view     layer, then the heads that are on, none for all of them      in the link: layer, on
    model view    layer and head of the picture that is enlarged, or nothing   in the link: open
    neuron view   layer and head                                               in the link: layer, head
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from core.attention.bertviz import View
from core.attention.trace import AttentionMap
from core.attention.views.recipe import SHOWN
from core.ui.attention.inside_frame import Numbers, chosen_inside
from core.ui.notices import warned

if TYPE_CHECKING:
    from core.ui.links import PageState

_CHOICE = ("layer", "head", "on", "open")


class First(NamedTuple):
    """What a view begins with, from 0; None for what nobody has chosen."""

    layer: int | None
    heads: tuple[int, ...] | None


def chosen(
    view: View,
    found: AttentionMap,
    layers: Sequence[int] | None,
    heads: Sequence[int] | None,
    about: tuple[object, ...],
    state: PageState,
) -> tuple[First, First]:
    """What the frame begins with, and what is chosen in it now.

    Args:
        layers, heads: those that are sent, from 0; None for all.
        about: what beside the page's parameters the view hangs on.
    """
    sent = [number + 1 for number in (range(found.layers) if layers is None else layers)]
    able = [number + 1 for number in (range(found.heads) if heads is None else heads)]

    def fits(numbers: Numbers) -> bool:
        if view != "head" and len(numbers) not in (0, 2):
            return False
        return not numbers or (numbers[0] in sent and set(numbers[1:]) <= set(able))

    def lacking(asked: Numbers) -> None:
        numbers = ", ".join(map(str, asked[1:]))
        named = f"layer {asked[0]}" + (f", head {numbers}" if numbers else "") if asked else "such head"
        warned(
            f"There is no {named} here: {found.layers} layers of {found.heads} heads are. The view begins with its "
            "usual choice.",
            icon=":material/link_off:",
        )

    drawn, now = chosen_inside(
        "bertviz",
        f"bertviz.{view}.{found.kind}",
        state,
        asked=_asked(view, found, sent, able, state),
        about=(about, layers, heads, [state.values.get(name) for name in SHOWN["bertviz"] if name not in _CHOICE]),
        fits=fits,
        lacking=lacking,
    )
    if view == "model":
        state.set(open=now)
    elif view == "head":
        state.set(layer=now[0] if now else None, on=now[1:])
    else:
        state.set(layer=now[0] if now else None, head=now[1] if now else None)
    return _first(drawn), _first(now)


def _asked(view: View, found: AttentionMap, sent: list[int], able: list[int], state: PageState) -> Numbers:
    """The numbers that the page's parameters come to. What the model has and the view was not sent is passed over."""
    if view == "model":
        opened = state.integers("open")
        there = len(opened) == 2 and opened[0] <= found.layers and opened[1] <= found.heads
        return () if there and (opened[0] not in sent or opened[1] not in able) else opened
    layer, head, on = state.number("layer"), state.number("head"), tuple(dict.fromkeys(state.integers("on")))
    if layer <= found.layers and layer not in sent:
        layer = 0
    if view == "neuron":
        head = 0 if head <= found.heads and head not in able else head
        return (layer or sent[0], head or able[0]) if layer or head else ()
    on = tuple(number for number in on if number in able or not 1 <= number <= found.heads)
    on = () if set(on) == set(able) else on
    return (layer or sent[0], *on) if layer or on else ()


def _first(numbers: Numbers) -> First:
    if not numbers:
        return First(None, None)
    return First(numbers[0] - 1, tuple(number - 1 for number in numbers[1:]) or None)
