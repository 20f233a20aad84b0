"""The demo of the efficient page: one long text through sparse and through full attention of the same live model."""

from __future__ import annotations

import streamlit as st

from core import session
from core.efficiency.compare import Comparison, LongText, MaskedWord, prepare
from core.figures import sparse as figures
from core.figures.predictions import compared_bars
from core.sparse.cost import cost, curve
from core.sparse.layout import BLOCK_SIZES, KIND_NAMES, NONE, Sparsity
from core.table import Table
from core.theme import PURPLE
from core.ui.demos.cover import uncovered, verdict
from core.ui.demos.demo import Demo, DemoView
from core.ui.demos.long_text import (
    OWN,
    OWN_TEXT,
    SAMPLE,
    TOKENS,
    Menu,
    below,
    clue_position,
    costs_of,
    growth,
    progress_in,
    text_controls,
    text_of,
)
from core.ui.demos.masking import FIRST, ONE
from core.ui.page import plain, theme
from core.ui.panel import Panel
from core.ui.param import Integer, Seed

BLOCK = Menu(
    name="block",
    label="Block size",
    low=min(BLOCK_SIZES),
    high=max(BLOCK_SIZES),
    options=BLOCK_SIZES,
    alone=True,
)
RANDOM = Integer(
    name="random",
    label="Random blocks",
    default=3,
    low=0,
    high=8,
    help="Blocks that each row draws at random",
    width=170,
)
WINDOW = Integer(
    name="window",
    label="Window (blocks)",
    default=3,
    low=1,
    high=9,
    step=2,
    help="An odd number: the block itself and its neighbors",
    width=170,
)
GLOBAL = Integer(
    name="global",
    label="Global blocks",
    default=2,
    low=0,
    high=8,
    help="At the two ends of the text, in turn",
    width=170,
)
SEED = Integer(
    name="seed",
    label="Seed of the random blocks",
    low=Seed.low,
    high=Seed.high,
    help="Another seed, other blocks",
    width=170,
)
LAYER = Integer(
    name="layer", label="Layer shown", default=1, low=1, high=200, help="Each draws its own blocks", width=170
)
HEAD = LAYER.with_(name="head", label="Head shown", high=256)
LENGTHS = (256, 512, 1024, 1536, 2048, 3072, 4096)


def sparse_demo(view: DemoView) -> None:
    """Draw the demo.

    Raises:
        AtlasError: the text or the settings do not suit the model.
    """
    state = view.state
    checkpoint = session.checkpoint(view.spec.slug)
    config = checkpoint.model.config
    own_block = int(getattr(config, "block_size", 64))
    nearest = min(BLOCK_SIZES, key=lambda size: abs(size - own_block))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sample, length = text_controls(state, int(config.max_position_embeddings))
        block = BLOCK.with_(default=nearest).draw(state)
        count = RANDOM.draw(state)
        with st.popover("More settings"):
            window, ends, seed = (param.draw(state) for param in (WINDOW, GLOBAL, SEED))
            layer = LAYER.with_(high=int(config.num_hidden_layers)).draw(state) - 1
            head = HEAD.with_(high=int(config.num_attention_heads)).draw(state) - 1
    text = text_of(state, checkpoint, sample, length)
    sparsity = Sparsity(block, window, ends, count, seed)
    long = prepare(checkpoint, text)
    clue = clue_position(checkpoint, long, text) if sample != OWN else None
    left, right = st.columns([1.15, 1], gap="large")
    with left:
        _pattern(view, long, sparsity, layer, head, clue)
    with right:
        found = _compared(view, long, sparsity)
        if found is None:
            return
        costs_of(state, "sparse", found.sparse, found.full)
        if found.sparse.attention_seconds > found.full.attention_seconds:
            view.note("Slower")
        for word in found.words if _uncovered(view, long, found) else ():
            _answer(view, word)
    view.try_and_notice(seen=f"{plain(_seen(found, sparsity, clue))} " if clue is not None else "")
    _below(view, found, long)


def _pattern(view: DemoView, long: LongText, sparsity: Sparsity, layer: int, head: int, clue: int | None) -> None:
    n = len(long.ids)
    kinds = sparsity.kinds(n, layer, head)
    one = cost(n, sparsity, layer, head)
    marks = [(position, "mask") for position in long.masks] + ([(clue, "clue")] if clue is not None else [])
    Panel(
        "sparse-pattern",
        f"Which tokens attend to which: {n:,} tokens, {len(kinds)} blocks",
        figures.pattern(kinds, sparsity.block_size, theme=theme(), marks=marks),
        f"Pattern of sparse attention: {one.sparse:,} of {one.full:,} pairs of tokens are computed; "
        "window along the diagonal, global blocks at the edges, random blocks scattered.",
        Table.from_records(figures.pattern_table(kinds, sparsity.block_size, n)),
        note=view.words.part("Pattern", layer=layer + 1, head=head + 1, share=f"{100 * one.share:.0f}"),
        heading=True,
    ).draw(view.state)


def _answer(view: DemoView, word: MaskedWord) -> None:
    """What one mask becomes under both, and how much that changes."""
    best_full = max(word.answers, key=lambda answer: answer.full)
    best_sparse = max(word.answers, key=lambda answer: answer.sparse)
    if best_full == best_sparse:
        said = f"Both put “{best_full.text}” first."
    else:
        said = f"Full attention predicts “{best_full.text}”, sparse attention “{best_sparse.text}”."
    share = f"{100 * word.distance:.0f} % of the probability lies on other words under sparse attention."
    st.markdown(f"**What the mask becomes** · {plain(word.context)}")
    Panel(
        f"sparse-mask-{word.position}",
        f"Predictions for the mask at token {word.position}",
        compared_bars(
            ("sparse attention", "full attention"),
            [(answer.text, (answer.sparse, answer.full)) for answer in word.answers],
            (PURPLE, theme().muted),
            theme=theme(),
        ),
        "Probabilities of the likeliest words for the mask under sparse and under full attention.",
        Table.from_records(figures.answers_table(word.answers)),
        note=plain(f"{said} {share}"),
    ).draw(view.state)


def _uncovered(view: DemoView, long: LongText, found: Comparison) -> bool:
    """Whether the answers may be drawn, or wait for a guess at the first masked word."""
    answers = sorted(found.words[0].answers, key=lambda answer: -answer.sparse)

    def judge(guess: str) -> str:
        said = verdict(guess, [answer.text for answer in answers], [answer.sparse for answer in answers])
        return f"{said} That is under sparse attention."

    question = ("sparse", view.spec.slug, long.text, found.sparsity)
    return uncovered(view.state, question, ONE if len(found.words) == 1 else FIRST, judge)


def _compared(view: DemoView, long: LongText, sparsity: Sparsity) -> Comparison | None:
    """The comparison, computed under a bar with a button that stops it; None when it was stopped."""
    state = view.state
    slot = state.key("stopped")
    wanted = (view.spec.slug, long, sparsity)

    def stop() -> None:
        st.session_state[slot] = wanted

    def go_on() -> None:
        st.session_state.pop(slot, None)

    if not session.compared(*wanted) and st.session_state.get(slot) == wanted:
        view.note("Stopped")
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


def _seen(found: Comparison, sparsity: Sparsity, clue: int) -> str:
    """By which kind of block, and in how many heads, the mask's block attends to the clue's block."""
    size = sparsity.block_size
    row, column = found.words[0].position // size, clue // size
    kinds = [
        int(sparsity.kinds(found.tokens, layer, head)[row, column])
        for layer in range(found.layers)
        for head in range(found.heads)
    ]
    seeing = [kind for kind in kinds if kind != NONE]
    if not seeing:
        return "In no head does the mask’s block attend to the clue’s block; only a path over other blocks can help."
    if len(seeing) == len(kinds):
        return f"The mask’s block attends to the clue’s block in every head ({KIND_NAMES[seeing[0]]})."
    return f"The mask’s block attends to the clue’s block in {len(seeing)} of {len(kinds)} heads, by chance (random)."


def _below(view: DemoView, found: Comparison, long: LongText) -> None:
    """Cost against length, formula, the library, how it was measured, and the text."""
    sparsity = found.sparsity

    def costs() -> None:
        growth(view.state, curve([n for n in LENGTHS if n <= found.positions], sparsity), found.tokens, "sparse")
        view.note("Growth")
        passes = "one pass" if found.full.passes == 1 else f"the median of {found.full.passes} passes"
        view.note("Measured", passes=passes, layers=found.layers, heads=found.heads)

    def formula() -> None:
        values = {"global": sparsity.global_blocks, "random": sparsity.random_blocks}
        view.say("Formula", window=sparsity.window, block=sparsity.block_size, **values)
        view.note("Paper")

    def library() -> None:
        least = 5 + 2 * sparsity.random_blocks
        view.say(
            "Library",
            random=sparsity.random_blocks,
            counted=1 + sparsity.random_blocks,
            least=least,
            tokens=f"{least * sparsity.block_size:,}",
        )

    tabs = {"Cost against length": costs, "Formula": formula, "What the library does": library}
    below(long, "Samples are joined from this project's own sentences.", tabs)


SPARSE = Demo(
    "sparse",
    sparse_demo,
    lambda spec: not (spec.offers("continues") or spec.offers("window")),
    (OWN_TEXT, SAMPLE, TOKENS, BLOCK, RANDOM, WINDOW, GLOBAL, SEED, LAYER, HEAD),
)
