"""The demo of the efficient page: one long text through sparse and through full attention of the same live model."""

from __future__ import annotations

import streamlit as st

from core import session
from core.checkpoints.spec import Checkpoint
from core.efficiency.compare import Comparison, LongText, prepare
from core.efficiency.cost import cost
from core.efficiency.layout import BLOCK_SIZES, KIND_NAMES, NONE, Sparsity
from core.errors import AtlasError
from core.figures import sparse as figures
from core.figures.predictions import compared_bars
from core.links import parameters as link
from core.theme import PURPLE
from core.ui.chart import chart
from core.ui.demos import sparse_tabs, sparse_text
from core.ui.demos.cover import uncovered, verdict
from core.ui.demos.cover_masks import FIRST, ONE
from core.ui.demos.demo import Demo, DemoView
from core.ui.demos.long_text import (
    OWN,
    amount,
    choose,
    clue_position,
    megabytes,
    number,
    progress_in,
    seconds,
    text_controls,
    text_of,
)
from core.ui.links import PageState
from core.ui.notices import warned
from core.ui.page import plain, theme
from core.ui.param import Carried


def sparse_demo(view: DemoView) -> None:
    """Draw the whole demo; reads and writes sample, tokens, text, block, random, window, global, seed, layer, head."""
    spec, state = view.spec, view.state
    checkpoint = session.checkpoint(spec.slug)
    config = checkpoint.model.config
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sample, length = text_controls(state, int(config.max_position_embeddings))
        block = choose(state, "Block size", "block", BLOCK_SIZES, _nearest(int(getattr(config, "block_size", 64))))
        count = number(state, "Random blocks", "random", 3, 0, 8, "Blocks that each row draws by chance")
        with st.popover("More settings"):
            window = number(state, "Window (blocks)", "window", 3, 1, 9, "An odd number: itself and neighbours", 2)
            ends = number(state, "Global blocks", "global", 2, 0, 8, "At the two ends of the text, in turn")
            seed = number(state, "Seed of the random blocks", "seed", 0, 0, 2**31 - 1, "Another seed, other blocks")
            layer = number(state, "Layer shown", "layer", 1, 1, int(config.num_hidden_layers), "Each draws its own")
            head = number(state, "Head shown", "head", 1, 1, int(config.num_attention_heads), "Each draws its own")
    text = text_of(state, checkpoint, sample, length)
    try:
        sparsity = Sparsity(block, window, ends, count, seed)
        long = prepare(checkpoint, text)
    except AtlasError as error:
        warned(str(error), icon=":material/info:")
        return
    clue = clue_position(checkpoint, long, text) if sample != OWN else None
    _show(checkpoint, long, sparsity, layer - 1, head - 1, clue, state)


def _show(
    checkpoint: Checkpoint,
    long: LongText,
    sparsity: Sparsity,
    layer: int,
    head: int,
    clue: int | None,
    state: PageState,
) -> None:
    n = len(long.ids)
    kinds = sparsity.kinds(n, layer, head)
    one = cost(n, sparsity, layer, head)
    left, right = st.columns([1.15, 1], gap="large")
    with left:
        st.markdown(f"**Which tokens look at which** · {n:,} tokens, {len(kinds)} blocks")
        marks = [(position, "mask") for position in long.masks] + ([(clue, "clue")] if clue is not None else [])
        chart(
            figures.pattern(kinds, sparsity.block_size, theme=theme(), marks=marks),
            key=state.key("pattern"),
            alt=f"Pattern of sparse attention: {one.sparse:,} of {one.full:,} pairs of tokens are computed; "
            "window along the diagonal, global blocks at the edges, random blocks scattered.",
        )
        st.caption(
            f"Layer {layer + 1}, head {head + 1}: {100 * one.share:.0f} % of all pairs are computed. "
            "Empty cells cost nothing and carry nothing."
        )
    with right:
        found = _compared(checkpoint, long, sparsity, state)
        if found is None:
            return
        _numbers(found)
        shown = _uncovered(checkpoint, long, found, state)
        for word in found.words if shown else ():
            st.markdown(f"**What the mask becomes** · {plain(word.context)}")
            chart(
                compared_bars(
                    ("sparse attention", "full attention"),
                    [(answer.text, (answer.sparse, answer.full)) for answer in word.answers],
                    (PURPLE, theme().muted),
                    theme=theme(),
                ),
                key=state.key(f"answers.{word.position}"),
                alt="Probabilities of the likeliest words for the mask under sparse and under full attention.",
            )
            st.caption(sparse_text.change(word))
    sparse_text.try_and_notice(_seen(found, sparsity, clue) if clue is not None else None)
    pattern = figures.pattern_table(kinds, sparsity.block_size, n)
    sparse_tabs.tabs(found, long, kinds_table=pattern, state=state, shown=shown)


def _uncovered(checkpoint: Checkpoint, long: LongText, found: Comparison, state: PageState) -> bool:
    """Whether the answers may be drawn, or wait for a guess at the first hidden word."""
    answers = sorted(found.words[0].answers, key=lambda answer: -answer.sparse)

    def judge(guess: str) -> str:
        said = verdict(guess, [answer.text for answer in answers], [answer.sparse for answer in answers])
        return f"{said} That is under sparse attention."

    question = ("sparse", checkpoint.spec.slug, long.text, found.sparsity)
    return uncovered(state, question, ONE if len(found.words) == 1 else FIRST, judge)


def _compared(checkpoint: Checkpoint, long: LongText, sparsity: Sparsity, state: PageState) -> Comparison | None:
    """The comparison, computed under a bar with a button that stops it; None when it was stopped."""
    slug, slot = checkpoint.spec.slug, state.key("stopped")
    wanted = (slug, long, sparsity)

    def stop() -> None:
        st.session_state[slot] = wanted

    def go_on() -> None:
        st.session_state.pop(slot, None)

    if not session.compared(*wanted) and st.session_state.get(slot) == wanted:
        st.caption("Stopped. The pattern and its cost need no computation; the answer does.")
        st.button("Run both attentions", key=state.key("run"), on_click=go_on)
        return None
    waiting = st.empty()
    with waiting.container():
        bar = st.empty()
        if not session.compared(*wanted):
            st.button("Stop", key=state.key("stop"), icon=":material/stop:", on_click=stop)
    found = session.comparison(*wanted, progress_in(bar))
    waiting.empty()
    return found


def _numbers(found: Comparison) -> None:
    """Scores, time and memory: sparse beside full."""
    rows = (
        ("Scores computed", amount(found.sparse.scores), amount(found.full.scores), _times(found, "scores")),
        (
            "Time in attention",
            seconds(found.sparse.attention_seconds),
            seconds(found.full.attention_seconds),
            _times(found, "attention_seconds"),
        ),
        (
            "Memory, one head",
            megabytes(found.sparse.peak_bytes),
            megabytes(found.full.peak_bytes),
            _times(found, "peak_bytes"),
        ),
    )
    lines = []
    for label, *cells, ratio in rows:
        sparse, full = (cell.replace(" ", "\N{NO-BREAK SPACE}") for cell in cells)
        lines.append(f"| {label} | **{sparse}** | {full} | {ratio} |")
    st.markdown("\n".join(("| | sparse | full | |", "|:--|--:|--:|:--|", *lines)))
    if found.sparse.attention_seconds > found.full.attention_seconds:
        st.caption(
            "Fewer scores, but more time: gathering the blocks takes time too, and on a short text that is more than "
            "is saved. Choose more tokens."
        )


def _nearest(size: int) -> int:
    return min(BLOCK_SIZES, key=lambda option: abs(option - size))


def _seen(found: Comparison, sparsity: Sparsity, clue: int) -> str:
    """By which way, and in how many heads, the block of the mask sees the block of the clue."""
    size = sparsity.block_size
    row, column = found.words[0].position // size, clue // size
    ways = [
        int(sparsity.kinds(found.tokens, layer, head)[row, column])
        for layer in range(found.layers)
        for head in range(found.heads)
    ]
    seeing = [way for way in ways if way != NONE]
    if not seeing:
        return (
            "In none of the heads does the mask's block see the clue's block; only a detour over other blocks can help."
        )
    if len(seeing) == len(ways):
        return f"The mask's block sees the clue's block in every head ({KIND_NAMES[seeing[0]]})."
    return f"The mask's block sees the clue's block in {len(seeing)} of {len(ways)} heads, by chance (random)."


def _times(found: Comparison, name: str) -> str:
    sparse, full = float(getattr(found.sparse, name)), float(getattr(found.full, name))
    if not sparse or not full:
        return ""
    return f"{full / sparse:.1f} × less" if full >= sparse else f"{sparse / full:.1f} × more"


LONG = (
    Carried(name="sample", label="Text", as_=link.Choice(None, ("near", "start", "middle", "own"))),
    Carried(name="tokens", label="Tokens", as_=link.Integer(None, 64, 4096)),
)
"""The long text that the demos of this page read."""
SPARSE = Demo(
    "sparse",
    sparse_demo,
    lambda spec: not (spec.offers("continues") or spec.offers("window")),
    (
        *LONG,
        Carried(name="block", label="Block", as_=link.Choice(allowed=("16", "32", "64"))),
        Carried(name="random", label="Random blocks", as_=link.Integer(None, 0, 8)),
        Carried(name="window", label="Window", as_=link.Integer(None, 1, 9)),
        Carried(name="global", label="Global blocks", as_=link.Integer(None, 0, 8)),
    ),
)
