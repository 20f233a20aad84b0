"""Transformer-XL's demo: a story read in segments, with the memory of what went before and without."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.figures.bars import saved_alt, saved_bars
from core.language.guesses import among
from core.language.tokens import words
from core.links import parameters as link
from core.ui.chart import chart
from core.ui.data_table import data_table
from core.ui.demos.cover import Judge, uncovered
from core.ui.demos.demo import Demo, DemoView
from core.ui.notices import informed
from core.ui.page import accent, plain, sentences, theme
from core.ui.param import Carried
from core.ui.text_box import text_box

if TYPE_CHECKING:
    from core.language.segments import Reading
    from core.ui.links import PageState

STORY = """Once upon a time an old miller lived by a river with his daughter Marigold and a grey donkey. The mill had \
three wheels, and the miller was proud of them, for there was no other mill with three wheels in the whole country.

One evening a soldier came along the road. He had no shoes, and he asked for a piece of bread. The miller said, "Go \
away," but Marigold gave him half a loaf and a cup of milk. The soldier thanked her and took a little bell out of his \
pocket. "When you are in need," said he, "ring this bell, and I will come."

In the spring the river rose, and the water carried away the first wheel. The next night it carried away the second \
wheel, and the miller wept. "If the third wheel goes," said he, "we shall have no bread, and you and I and the donkey \
must beg on the road." Then Marigold remembered the soldier, and she took the little bell and rang it.

Before the sound had died away the soldier stood at the door. He had shoes now, and a red coat, and behind him came a \
hundred men. They built a wall of stone between the river and the mill, and in the morning the water ran past the wall \
and the third wheel turned. The miller was ashamed. He gave the soldier half a loaf and a cup of milk, and the soldier \
laughed and asked him for Marigold instead. So they were married, and the grey donkey carried the little bell."""
"""Long enough for several segments; who and what comes again was named long before."""
SEGMENTS = ("16", "32", "64", "128")
_ASKED = "Your guess at the word on which the memory saves most"


def memory_demo(view: DemoView) -> None:
    """Draw the demo; the text, the length of a segment and that of the memory are kept in the page's state."""
    spec, state = view.spec, view.state
    from core.language.segments import MAX_READ, longest_memory

    text = text_box(state, "passage", "Text, longer than a segment", STORY, key="memory.text", height=150)
    with sentences():
        longest = longest_memory(session.checkpoint(spec.slug).model) or MAX_READ
        wanted = state.number("memory") or longest
        if wanted > longest:
            st.caption(plain(f"{spec.name} remembers {longest:,} tokens at most, so {wanted:,} became {longest:,}."))
        left, right = st.columns([1, 2], gap="large")
        segment = str(
            left.segmented_control(
                "Tokens of a segment",
                SEGMENTS,
                required=True,
                default=state.text("segment", "64"),
                key=state.key("memory.segment"),
            )
        )
        memory = int(
            right.slider("Tokens that are remembered", 1, longest, min(wanted, longest), key=state.key("memory.length"))
        )
        state.set(segment=segment, memory=None if memory == longest else memory)
        found = _read(spec.slug, text, int(segment), memory)
        question = ("memory", spec.slug, text, found.segment, found.memory)
        # One segment remembers nothing, so that there is nothing to guess.
        shown = len(found.tokens) <= found.segment or uncovered(state, question, _ASKED, _judge(found))
        if shown:
            _picture(found, state)
            _by_place(found)
        _reach(spec, found)
        if shown:
            _table(found)
    _teach()


def _judge(found: Reading) -> Judge:
    """Where a guessed word stands among those after the first segment, by the bits that the memory saves on it."""
    saved: dict[int, float] = {}
    texts: dict[int, str] = {}
    for at, (token, number) in enumerate(zip(found.tokens, words(found.tokens), strict=True)):
        if at >= found.segment:
            saved[number] = saved.get(number, 0.0) + float(found.without[at] - found.with_memory[at])
            texts[number] = texts.get(number, "") + token.text
    order = sorted(saved, key=lambda number: -saved[number])

    def judge(guess: str) -> str:
        at = among(guess, [texts[number] for number in order])
        if at is None:
            return "There is no such word after the first segment."
        bits = f"{saved[order[at]]:.1f} bits"
        if at == 0:
            return f"Right: the memory saves most on it, {bits}."
        return f"Wrong: it comes {at + 1:,} of {len(order):,} words by what the memory saves, {bits} on it."

    return judge


def _picture(found: Reading, state: PageState) -> None:
    """The bars, and what the whole text costs."""
    saved = (found.without - found.with_memory).tolist()
    st.markdown("**What the memory saves on each token**")
    chart(
        saved_bars(
            [token.text for token in found.tokens],
            saved,
            found.segment,
            accent("decoder"),
            theme=theme(),
        ),
        key=state.key("memory.bars"),
        alt=saved_alt(saved, found.segment),
    )
    later = slice(found.segment, None)
    if not len(saved[later]):
        informed(
            f"These {len(saved)} tokens are one segment, so there is nothing to remember. "
            "A longer text, or shorter segments, show the memory at work."
        )
        return
    st.markdown(
        f"After the first segment a token costs {found.with_memory[later].mean():.2f} bits with the memory and "
        f"{found.without[later].mean():.2f} without.\n\n"
        "**Try** shorter segments, then a memory of a few tokens.\n\n"
        "**Notice** the tokens right after a dotted line: without the memory the model has just forgotten the "
        "sentence that it is in the middle of. Further on, see which tokens have tall bars: a name or "
        "a thing that was named before the segment should be among them."
    )


def _by_place(found: Reading) -> None:
    """Means over the segments after the first, by the place in the segment."""
    rows = []
    for first, last in _groups(found.segment):
        inside = [i for i in range(found.segment, len(found.tokens)) if first <= i % found.segment + 1 <= last]
        if inside:
            with_memory, without = found.with_memory[inside].mean(), found.without[inside].mean()
            rows.append(
                {
                    "place in its segment": f"{first}–{last}",
                    "tokens": len(inside),
                    "bits with the memory": with_memory,
                    "bits without": without,
                    "saved": without - with_memory,
                }
            )
    if rows:
        data_table(
            rows,
            "bits-by-place",
            alt="Mean cost of a token with the memory and without, by its place in a segment after the first",
            column_config={
                name: st.column_config.NumberColumn(format="%.2f")
                for name in ("bits with the memory", "bits without", "saved")
            },
        )


def _groups(segment: int) -> list[tuple[int, int]]:
    """1 to 4, 5 to 8, 9 to 16 and so on, up to the segment's length."""
    bounds = [0, 4]
    while bounds[-1] < segment:
        bounds.append(min(2 * bounds[-1], segment))
    return [(a + 1, b) for a, b in pairwise(bounds)]


def _reach(spec: CheckpointSpec, found: Reading) -> None:
    """How far back keys are, and how far back something can have an influence through several layers."""
    count = len(found.hears)
    st.markdown("**How far back it reaches**, in tokens, counted in this text")
    data_table(
        [
            {
                "layers read together": "the top one" if n == 1 else f"the top {n}",
                "the furthest key of a layer": found.looks[count - n],
                "the furthest influence on the last token": found.hears[n - 1],
            }
            for n in range(1, count + 1)
        ],
        "memory-reach",
        alt="How far back the keys of each layer are, and how far back influence reaches through several layers",
    )
    st.markdown(
        f"In any layer a key is at most {found.segment - 1} + {found.memory} tokens back: its own segment and the "
        "memory. But a remembered state had a memory of its own when it was computed, so that with every layer more "
        f"of the past can have an influence, though no more than this text's {len(found.tokens)} tokens."
    )
    if spec.source == "bundled" and found.segment + found.memory > 256:
        st.caption(plain(f"{spec.name} was trained on distances below 256 tokens; longer ones are new to it."))


def _table(found: Reading) -> None:
    with st.expander("Every token as a table"):
        data_table(
            [
                {
                    "token": number,
                    "reads": token.text,
                    "segment": (number - 1) // found.segment + 1,
                    "bits with the memory": a,
                    "bits without": b,
                    "saved": b - a,
                }
                for number, (token, a, b) in enumerate(
                    zip(found.tokens, found.with_memory.tolist(), found.without.tolist(), strict=True), 1
                )
            ],
            "bits-by-token",
            alt="Cost of every token with the memory and without",
            column_config={
                name: st.column_config.NumberColumn(format="%.2f")
                for name in ("bits with the memory", "bits without", "saved")
            },
        )


def _teach() -> None:
    with st.expander("How a segment remembers"):
        st.latex(
            r"h^{n}_{\tau} = \mathrm{layer}_n\big(q = h^{n-1}_{\tau},\; "
            r"k, v = [\,m^{n-1}_{\tau} ; h^{n-1}_{\tau}\,]\big)"
        )
        st.latex(r"s_{ij} = (q_i + u)^\top k_j + (q_i + w)^\top W_r\, r_{i-j}")
        st.markdown(
            "$h^n_\\tau$ are the states of segment $\\tau$ after layer $n$, $m^{n-1}_\\tau$ those kept of the tokens "
            "before it; they are read, and never changed again. $q$, $k$ and $v$ are what queries, keys and values "
            "are made from. Because a state is kept and not computed anew, "
            "its place cannot be counted from the beginning of a segment: the score $s_{ij}$ of a key knows its "
            "distance $i - j$ alone, by a fixed wave $r_{i-j}$ through the learned matrix $W_r$, and "
            "the learned vectors $u$ and $w$."
        )
        st.caption("Dai et al. 2019, arXiv:1901.02860.")


@st.cache_data(max_entries=64, ttl=3600.0, show_spinner="Reading the text three times")
def _read(slug: str, text: str, segment: int, memory: int) -> Reading:
    from core.language.segments import compare

    return compare(session.checkpoint(slug), text, segment=segment, memory=memory)


MEMORY = Demo(
    "memory",
    memory_demo,
    lambda spec: spec.offers("memory"),
    (
        Carried(name="passage", label="Text", as_=link.Text()),
        Carried(name="segment", label="Tokens of a segment", as_=link.Choice("64", SEGMENTS)),
        Carried(name="memory", label="Tokens that are remembered", as_=link.Integer(None, 1, 4096)),
    ),
)
