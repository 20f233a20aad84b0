"""One head, and all heads at once: what they come to together, and differences, drawn as a page of our own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core.attention import combine
from core.attention.trace import AttentionMap
from core.attention.views import grid
from core.attention.views.packed import Bits
from core.attention.views.svg import all_svg, head_svg
from core.links import parameters as link
from core.theme import Name
from core.ui.attention.compared import COMPARED_PARAMS, numbered, other_model, other_text
from core.ui.attention.inside_frame import Numbers, chosen_inside
from core.ui.attention.setup import download_pages, download_weights, draw_model
from core.ui.export import download_svg
from core.ui.framed import framed
from core.ui.heads.panel import HEAD, LAYER, MAP, VIEW, chosen_map, text_heads
from core.ui.heads.text import TEXT_PARAMS, Chosen, chosen_text
from core.ui.notices import warning
from core.ui.page import plain, theme
from core.ui.param import Carried, Choice
from core.ui.section import Section, View

if TYPE_CHECKING:
    from core.ui.links import PageState

TOGETHER = Choice(
    name="together",
    label="Shown",
    options={
        "all": "All heads",
        "mean": "Mean over the heads",
        "maximum": "Largest of the heads",
        "rollout": "Rollout over the layers",
        "flow": "Flow over the layers",
        "heads": "Difference of two heads",
        "layers": "Difference of two layers",
        "texts": "Difference of two texts",
        "models": "Difference of two models",
    },
    width=260,
)
OPEN = Carried(name="open", label="Open head", as_=link.Integers(high=256, most=2))
_SIGNED = ("heads", "layers", "texts", "models")
"""What has weights below zero."""


def one_head(view: View) -> None:
    """Draw the section. Raises :class:`~core.errors.AtlasError`: what the text or the model does not allow."""
    text_heads(draw_model(view.state), view.state, pairs=True)


def all_maps(view: View) -> None:
    """Draw the section.

    Raises:
        AtlasError: what the text or the model does not allow, as a sentence.
    """
    state = view.state
    spec = draw_model(state)
    # The menu stands below the text, and its answer of this run is known before.
    flowing = st.session_state.get(state.key(TOGETHER.name), state.text(TOGETHER.name)) == "flow"
    read = chosen_text(spec, state, pairs=True, most=combine.MOST_FOR_FLOW if flowing else None)
    trace = read.trace()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        found = chosen_map(trace, state)
        together = TOGETHER.draw(state)
        shown = _shown(together, found, read, view)
    if shown is None:
        return
    look, title = theme().name, f"{spec.name}: {TOGETHER.options[together]}"
    opened: tuple[int | None, int | None] = (0, 0)
    if not shown.layers == shown.heads == 1:
        opened = _opened(shown, (spec.slug, look, read.text, read.second, read.task), state)
    framed(
        grid.render(shown, theme=look, title=title, difference=together in _SIGNED, layer=opened[0], head=opened[1]),
        height=grid.height(shown),
        alt=f"{TOGETHER.options[together]}: {shown.layers} layers of {shown.heads} heads over "
        f"{len(shown.query_tokens)} tokens. The page inside can be walked with the arrow keys and has a table.",
    )
    view.try_and_notice(together)
    if shown.note:
        st.caption(plain(shown.note))
    _files(shown, f"{spec.slug}-{together}", title, look, state, signed=together in _SIGNED)
    view.note("Files")


def _shown(together: str, found: AttentionMap, read: Chosen, view: View) -> AttentionMap | None:
    """The map to draw; None while something is still to be chosen."""
    state = view.state
    simple = {"mean": combine.mean, "maximum": combine.maximum, "rollout": combine.rollout}
    if together == "all":
        return found
    if together in simple:
        return simple[together](found)
    if together == "flow":
        with st.spinner("Computing the flow of every pair of tokens"):
            return combine.flow(found)
    if together == "texts":
        return other_text(found, read, view)
    if together == "models":
        return other_model(found, read, view)
    parts = []
    for number in (1, 2):
        layer = numbered(state, f"layer{number}", found.layers, 1 if together == "heads" else number)
        head = numbered(state, f"head{number}", found.heads, number) if together == "heads" else None
        parts.append(combine.part(found, layer=layer, head=head))
    return combine.difference(*parts)


def _opened(shown: AttentionMap, about: tuple[object, ...], state: PageState) -> tuple[int | None, int | None]:
    """Layer and head, from 0, that the grid of ``shown`` opens with; the page in its frame says which is open.

    Args:
        about: what beside the page's parameters the map depends on.
    """
    # Streamlit keeps what is called when a head is opened: it must not hold the map, which may have many megabytes.
    layers, heads = shown.layers, shown.heads

    def lacking(asked: Numbers) -> None:
        numbers = ", ".join(map(str, asked))
        warning(
            f"There is no head “{numbers}” here: “open” takes a layer up to {layers} and a head up to "
            f"{heads}. All heads are shown.",
            icon=":material/link_off:",
        )

    drawn, now = chosen_inside(
        "grid",
        "maps",
        state,
        asked=state.integers(OPEN.name),
        about=(about, [state.values.get(param.name) for param in ALL.params if param is not OPEN]),
        fits=lambda numbers: there(numbers, layers, heads),
        lacking=lacking,
    )
    state.set(open=now)
    return (drawn[0] - 1, drawn[1] - 1) if drawn else (None, None)


def there(numbers: Numbers, layers: int, heads: int) -> bool:
    """Whether the numbers are one of so many layers and one of so many heads, from 1, or none."""
    return not numbers or (len(numbers) == 2 and 1 <= numbers[0] <= layers and 1 <= numbers[1] <= heads)


def _files(shown: AttentionMap, stem: str, title: str, look: Name, state: PageState, *, signed: bool) -> None:
    """What is drawn as a page, as a picture and as numbers; made only when asked for."""

    def page(bits: Bits) -> str:
        return grid.render(shown, theme="light", title=title, difference=signed, bits=bits)

    def picture() -> str:
        alone = shown.layers == shown.heads == 1
        return head_svg(shown, 0, 0, theme=look, title=title) if alone else all_svg(shown, theme=look, title=title)

    with st.container(horizontal=True, vertical_alignment="center"):
        download_pages(page, stem, state)
        download_svg(picture, stem, state.key("maps.svg"))
        download_weights(shown, stem, state)


ONE_HEAD = Section("heads", one_head, (*TEXT_PARAMS, LAYER, HEAD, MAP, VIEW))
ALL = Section("all", all_maps, (*TEXT_PARAMS, MAP, TOGETHER, *COMPARED_PARAMS, OPEN))
