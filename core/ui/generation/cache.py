"""The KV cache on and off: what one more token costs as the text grows, measured now on the chosen model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import streamlit as st

from core import session
from core.figures.growth import growth_alt, growth_lines
from core.figures.numbers import in_bytes
from core.table import Table
from core.ui.export import download_csv
from core.ui.generation.frame import GenerationView
from core.ui.generation.ink import theme
from core.ui.generation.writing import forget, remember
from core.ui.glossary import noted, told
from core.ui.page import accent
from core.ui.text_table import Row, TextTable, text_table

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from core.efficiency.growth import Point


def cache_section(view: GenerationView) -> None:
    """Draw the controls, the curves, the sums and the formula; measures where nothing was measured.

    Raises:
        AtlasError: the text cannot be used, or the model keeps nothing.
    """
    from core.checkpoints.sizes import state_of
    from core.efficiency.growth import bytes_a_token, lengths, measure

    state = view.state
    checkpoint, begun = session.checkpoint(view.spec.slug), view.start()
    room = None if begun.room is None else begun.room + len(begun.prompt) - 1
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        wanted = int(
            st.number_input(
                "Up to tokens",
                16,
                1000,
                state.number("grow", 200),
                8,
                key=state.key("grow"),
                width=130,
                help="The longest text; the model's positions may set a lower bound.",
            )
        )
        buttons = st.empty()
    state.set(grow=wanted)
    most = wanted if room is None else min(wanted, room)
    at = lengths(most)
    key = (state_of(view.spec), view.task, at)
    ids = _ids(begun.prompt, begun.source, most + 1)
    stream = measure(checkpoint, ids, at, source=begun.source)
    progress, picture = st.empty(), st.empty()
    told(
        "**Try** a longer text, or another model.\n\n"
        "**Notice** that with the cache a token costs about the same wherever it stands, and without it more and more: "
        "everything before it is computed again."
    )
    st.caption(
        "What stands under Settings changes nothing here. A penalty or a text to stop at decides which token is taken, "
        "not what a pass costs, and both ways must read the same: one text of a fixed length."
    )
    below = st.empty()
    _formula(bytes_a_token(checkpoint.model, ids, begun.source))
    slot = state.key("grow.stopped")
    found = session.grown(key)
    if found is not None:
        _draw(view, picture, below, found, most, saved=True)
        buttons.button(
            "Measure again", key=state.key("measure"), icon=":material/timer:", on_click=session.regrow, args=(key,)
        )
    elif st.session_state.get(slot) == key:
        progress.info("The measuring was stopped.")
        _draw(view, picture, below, st.session_state.get(state.key("grow.part"), ()), most, saved=True)
        buttons.button("Measure", key=state.key("measure"), icon=":material/timer:", on_click=forget, args=(slot,))
    else:
        buttons.button("Stop", key=state.key("measure"), icon=":material/stop:", on_click=remember, args=(slot, key))
        _measure(view, key, stream, len(at), (progress, picture, below), most)
        st.rerun()


def _measure(
    view: GenerationView,
    key: tuple[object, ...],
    stream: Iterator[Point],
    count: int,
    places: tuple[DeltaGenerator, DeltaGenerator, DeltaGenerator],
    most: int,
) -> None:
    """Measure point by point, each drawn as it comes."""
    progress, picture, below = places
    points: list[Point] = []
    st.session_state[view.state.key("grow.part")] = points
    _draw(view, picture, below, (), most)

    def tell(share: float, doing: str) -> None:
        progress.progress(share, text=doing)

    def watched() -> Iterator[Point]:
        tell(0.0, f"{view.spec.name}: warming up")
        for point in stream:
            points.append(point)
            tell(len(points) / count, f"{view.spec.name}: {point.tokens} tokens")
            _draw(view, picture, below, points, most)
            yield point

    session.growth(key, watched, tell)
    progress.empty()


def _ids(prompt: tuple[int, ...], source: tuple[int, ...] | None, count: int) -> list[int]:
    """A text of ``count`` tokens: what is read over and over, since its words do not change the time."""
    cycle = list(source or prompt)
    return [*prompt, *(cycle[i % len(cycle)] for i in range(max(0, count - len(prompt))))][:count]


def _draw(
    view: GenerationView, picture: DeltaGenerator, below: DeltaGenerator, points: Any, most: int, saved: bool = False
) -> None:
    """The curves and the table; ``saved``: with a button that saves it, once nothing more is measured."""
    picture.plotly_chart(
        growth_lines(points, most, accent(view.spec.branch), dark=theme() == "dark"),
        config={"displaylogo": False, "modeBarButtons": [["toImage"]]},
        key=view.state.key(f"growth.{len(points)}"),
        alt=growth_alt(points),
    )
    if not points:
        return
    rows: list[Row] = [
        (f"{p.tokens}", f"{1000 * p.cached:.1f} ms", f"{1000 * p.whole:.1f} ms", f"{p.times:.1f} times") for p in points
    ]
    with below.container():
        text_table(
            TextTable(
                ("Tokens before it", "With the cache", "Without", "Without takes"),
                rows,
                "Time of one token with the cache and without",
                (25, 25, 25, 25),
                (1, 2, 3),
            )
        )
        if saved:
            download_csv(
                Table.from_records(
                    [
                        {
                            "model": view.spec.name,
                            "tokens before it": p.tokens,
                            "seconds with the cache": p.cached,
                            "seconds without": p.whole,
                            "times": p.times,
                        }
                        for p in points
                    ]
                ),
                "kv-cache-times",
                view.state.key("growth.csv"),
            )
        st.caption(
            "Measured now on this machine, on its processor, and true for it alone: the median of seven turns in which "
            "both ways read the same tokens, thin bars from the fastest to the slowest. A small model spends much of a "
            "pass on starting its operations, so the gain grows with the model as well as with the text."
        )


def _formula(size: int | None) -> None:
    st.latex(
        r"\text{with: } 1 \text{ token, } n + 1 \text{ scores a head} \qquad "
        r"\text{without: } n + 1 \text{ tokens, } (n + 1)^2 \text{ scores a head}"
    )
    st.markdown(
        "The token after $n$ others needs its own query, key and value, and the keys and values of those before it. "
        "The cache keeps these; without it every layer computes them for all $n + 1$ tokens again. Writing $N$ tokens "
        "computes $N$ of them with it and $N (N + 1) / 2$ without."
    )
    noted(
        "What makes it possible is the decoder's mask: a token looks at itself and at what stands before it, so that "
        "keys and values, once made, never change (Vaswani et al. 2017, arXiv 1706.03762, section 3.2.3). That paper "
        "defines the mask and no cache; the cache is transformers', in whose code it was read."
    )
    if size is None:
        st.markdown(
            "This model keeps the states of its last tokens instead of keys and values, and makes keys and values of "
            "them anew: its memory."
        )
        return
    st.latex(r"\text{memory of the cache} = 2 \cdot L \cdot d_{kv} \cdot 4 \text{ bytes a token}")
    st.markdown(
        f"$L$ is the number of layers, $d_{{kv}}$ the width of all keys of a layer; 2 for keys and values, 4 bytes a "
        f"number. Counted in this model's cache it is {in_bytes(size)} a token. The page Calculators has it for "
        "published sizes."
    )
    noted("Keys and values as Vaswani et al. 2017 define them; what is kept of them was read in transformers' code.")
