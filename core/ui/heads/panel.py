"""The heads panel: one head of a live model as a heat map, in bertviz's head view, or as a table.

``heads_view`` returns everything that a link carries; ``text_heads`` is the whole section of a branch page, with a text
of the visitor's own. Layers and heads count from 1 here, as in links.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import streamlit as st

from core.attention.heads import HeadScores, scores
from core.attention.trace import AttentionMap, AttentionTrace
from core.errors import NoAttentionMatrix
from core.theme import Name
from core.ui.heads import parts, pictures
from core.ui.heads.text import text_trace
from core.ui.notices import warned
from core.ui.page import accent as branch_colour
from core.ui.page import theme

if TYPE_CHECKING:
    from core.checkpoints.spec import CheckpointSpec
    from core.ui.links import PageState

VIEWS = {"heat": "Heat map", "bertviz": "bertviz head view", "table": "Table"}


class HeadsChoice(NamedTuple):
    """What the visitor sees now; layer and head from 1, ``kind`` and ``view`` as links spell them."""

    layer: int
    head: int
    kind: str
    view: str


def heads_view(
    trace: AttentionTrace,
    *,
    key: str,
    layer: int | None = None,
    head: int | None = None,
    kind: str | None = None,
    view: str | None = None,
    accent: str = "encoder",
) -> HeadsChoice:
    """Draw controls, picture, words and tabs for ``trace``; return what is shown.

    Args:
        key: a key that no other widget of the page has; a new one makes the panel start from the arguments.
        layer, head: what a link asks for, from 1; a telling head when not given. Numbers that the model lacks are named
            in a sentence and passed over.
        kind: the map shown first (``encoder``, ``decoder``, ``cross``) where there are several.
        view: ``heat``, ``bertviz`` or ``table``.
        accent: a branch or a colour.

    Raises:
        NoAttentionMatrix: the trace is empty.
    """
    if not trace.maps:
        raise NoAttentionMatrix("This model gives no attention weights, so there is no matrix to draw.")
    look = theme().name
    colour = accent if accent.startswith("#") else branch_colour(accent)
    maps = {found.kind: found for found in trace.maps}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        chosen_kind = _kind(maps, kind, key)
        found = maps[chosen_kind]  # type: ignore[index]
        measured = scores(found)
        slots = f"{key}.{trace.checkpoint}.{chosen_kind}"
        at_layer, at_head, refused = _layer_and_head(found, measured, layer, head, slots)
        chosen_view = st.segmented_control(
            "View",
            list(VIEWS),
            format_func=VIEWS.__getitem__,
            default=view if view in VIEWS else "heat",
            required=True,
            key=f"{key}.view",
        )

    for sentence in refused:
        warned(sentence, icon=":material/link_off:")
    if chosen_view == "table":
        pictures.table(found, at_layer, at_head, count=4, key=f"{slots}.keys")
    else:
        lines = chosen_view == "bertviz"  # bertviz draws a narrow picture
        left, right = st.columns([2, 3] if lines else [3, 2], gap="medium")
        with left:
            if lines:
                pictures.head_view(trace, found, at_layer, at_head, look)
            else:
                pictures.heat_map(found, at_layer, at_head, key)
        with right:
            pictures.table(found, at_layer, at_head, count=3 if lines else 2, key=f"{slots}.keys")
    parts.words(found, measured, at_layer, at_head)
    pictures.strongest(found, at_layer, at_head)
    _tabs(trace, found, measured, at_layer, at_head, key=key, slots=slots, colour=colour, look=look)
    return HeadsChoice(at_layer + 1, at_head + 1, chosen_kind, chosen_view)


def text_heads(spec: CheckpointSpec, state: PageState) -> None:
    """The section "Heads" of a branch page: a text, and the heads of the chosen live model over it."""
    link_heads(text_trace(spec, state), state, spec.branch)


def link_heads(trace: AttentionTrace, state: PageState, accent: str) -> HeadsChoice:
    """`heads_view` as the page's state says, and the state as the visitor then has it."""
    choice = heads_view(
        trace,
        key=state.key("heads"),
        layer=_number(state.values.get("layer")),
        head=_number(state.values.get("head")),
        kind=state.text("map") or None,
        view=state.text("view") or None,
        accent=accent,
    )
    state.set(
        layer=choice.layer,
        head=choice.head,
        map=choice.kind if len(trace.maps) > 1 else None,
        view=None if choice.view == "heat" else choice.view,
    )
    return choice


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _kind(maps: dict[str, AttentionMap] | dict, wanted: str | None, key: str) -> str:  # type: ignore[type-arg]
    """The map to show; the question is put only where there is more than one."""
    first = wanted if wanted in maps else "cross" if "cross" in maps else next(iter(maps))
    if len(maps) == 1:
        return str(first)
    return str(
        st.segmented_control(
            "Attention",
            list(maps),
            format_func={kind: parts.name(one) for kind, one in maps.items()}.__getitem__,
            default=first,
            required=True,
            key=f"{key}.kind",
        )
    )


def _layer_and_head(
    found: AttentionMap, measured: HeadScores, layer: int | None, head: int | None, slots: str
) -> tuple[int, int, list[str]]:
    """The two menus; returns layer and head from 0, and what was asked for in vain."""
    telling = _telling(measured)
    values: list[int] = []
    refused: list[str] = []
    sides = (("Layer", layer, found.layers, telling[0]), ("Head", head, found.heads, telling[1]))
    for label, wanted, size, usual in sides:
        slot = f"{slots}.{label}"
        fits = wanted is not None and 1 <= wanted <= size
        if slot not in st.session_state:
            if wanted is not None and not fits:
                refused.append(
                    f"There is no {label.lower()} {wanted} here: this model has {size}. Number {usual + 1} is shown."
                )
            st.session_state[slot] = wanted if fits else usual + 1
        values.append(int(st.selectbox(label, range(1, size + 1), key=slot, persist_state="page", width=96)) - 1)
    return values[0], values[1], refused


def _telling(measured: HeadScores) -> tuple[int, int]:
    """A head with a pattern that one sees at once: the strongest on the token before, or the least spread."""
    if "previous" in measured.grids:
        layer, head, _ = measured.strongest("previous", 1)[0]
        return layer, head
    grid = measured.grids["spread"]
    flat = int(grid.argmin())
    return flat // grid.shape[1], flat % grid.shape[1]


def _tabs(
    trace: AttentionTrace,
    found: AttentionMap,
    measured: HeadScores,
    layer: int,
    head: int,
    *,
    key: str,
    slots: str,
    colour: str,
    look: Name,
) -> None:
    def go(to_layer: int, to_head: int) -> None:
        st.session_state[f"{slots}.Layer"], st.session_state[f"{slots}.Head"] = to_layer + 1, to_head + 1

    names = ["All heads", "What the heads do", "The formula", "Download"]
    overview, roles, formula, files = st.tabs(names, key=f"{key}.tabs", on_change="rerun")
    # A closed tab costs nothing: its pictures are not made.
    if overview.open:
        with overview:
            parts.all_heads(found, layer, head, key=slots, accent=colour, go=go)
    if roles.open:
        with roles:
            parts.roles(measured, key=slots, go=go)
    if formula.open:
        with formula:
            parts.formula(found)
    if files.open:
        with files:
            parts.downloads(trace, found, layer, head, key=slots, look=look)
