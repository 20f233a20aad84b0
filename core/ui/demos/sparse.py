"""The demo of the efficient page: one long text through sparse and through full attention of the same live model."""

from __future__ import annotations

from functools import partial

import streamlit as st

from core import session
from core.efficiency.compare import Comparison, LongText, MaskedWord, prepare
from core.sparse.layout import BLOCK_SIZES, KIND_NAMES, NONE, Sparsity, cost, curve
from core.theme import PURPLE
from core.ui.demos.demo import Demo, DemoView
from core.ui.demos.long_text import (
    OWN,
    OWN_TEXT,
    SAMPLE,
    TOKENS,
    Filled,
    Menu,
    below,
    clue_position,
    costs_of,
    filled_masks,
    growth,
    pattern_panel,
    progress_in,
    text_controls,
    text_of,
)
from core.ui.demos.steps import going
from core.ui.page import theme
from core.ui.param import Integer, Seed

BLOCK = Menu(
    name="block",
    label="Block size",
    low=min(BLOCK_SIZES),
    high=max(BLOCK_SIZES),
    options=BLOCK_SIZES,
    alone=True,
)
_box = partial(Integer, width=170)
RANDOM = _box(
    name="random", label="Random blocks", default=3, low=0, high=8, help="Sampled at random for each query block"
)
WINDOW = _box(
    name="window",
    label="Window (blocks)",
    default=3,
    low=1,
    high=9,
    step=2,
    help="An odd number: the block itself and its neighbors",
)
GLOBAL = _box(
    name="global", label="Global blocks", default=2, low=0, high=8, help="At the two ends of the text, in turn"
)
SEED = _box(
    name="seed",
    label="Seed of the random blocks",
    low=Seed.low,
    high=Seed.high,
    help="A new seed gives other random blocks",
)
LAYER = _box(name="layer", label="Layer shown", default=1, low=1, high=200, help="Each has its own random blocks")
HEAD = LAYER.with_(name="head", label="Head shown", high=256)
LENGTHS = (256, 512, 1024, 1536, 2048, 3072, 4096)


def draw(view: DemoView) -> None:
    """Draw the demo.

    Raises:
        AtlasError: the text or the settings do not suit the model.
    """
    state, checkpoint = view.state, view.checkpoint
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
        ways = {"sparse attention": PURPLE, "full attention": theme().muted}
        filled_masks(view, "sparse", [_filled(word) for word in found.masks], ways, 0, long.text, sparsity)
    view.try_and_notice(seen=f"{_seen(view, found, sparsity, clue)} " if clue is not None else "")
    _below(view, found, long, sparsity)


def _pattern(view: DemoView, long: LongText, sparsity: Sparsity, layer: int, head: int, clue: int | None) -> None:
    n = len(long.ids)
    kinds = sparsity.kinds(n, layer, head)
    one = cost(n, sparsity, layer, head)
    pattern_panel(
        view,
        "sparse",
        f"{len(kinds)} blocks",
        f"Pattern of sparse attention: {one.sparse:,} of {one.full:,} pairs of tokens are computed; "
        "window along the diagonal, global blocks at the edges, random blocks scattered.",
        kinds,
        sparsity.block_size,
        long,
        clue,
        layer=layer + 1,
        head=head + 1,
        share=f"{100 * one.share:.0f}",
    )


def _filled(word: MaskedWord) -> Filled:
    """What one mask becomes under both, and how much that changes."""
    sparse, full = (max(word.answers, key=lambda answer: answer.probabilities[way]).text for way in (0, 1))
    alike = f"Both have the top prediction “{full}”."
    said = alike if full == sparse else f"Full attention predicts “{full}”, sparse attention “{sparse}”."
    share = f"{100 * word.distance:.0f} % of the probability lies on other words under sparse attention."
    return Filled(word.context, [(one.text, one.probabilities) for one in word.answers], f"{said} {share}")


def _compared(view: DemoView, long: LongText, sparsity: Sparsity) -> Comparison | None:
    """The comparison, computed under a bar with a button that stops it; None when it was stopped."""
    state, wanted = view.state, (view.spec.slug, long, sparsity)
    waiting = st.empty()
    with waiting.container():
        bar = st.empty()
        if not (session.compared(*wanted) or going(state, "sparse", wanted, st.empty(), "Run both attentions")):
            view.note("Stopped")
            return None
    found = session.comparison(*wanted, progress_in(bar))
    waiting.empty()
    return found


def _seen(view: DemoView, found: Comparison, sparsity: Sparsity, clue: int) -> str:
    """By which kind of block, and in how many heads, the mask's block attends to the clue's block."""
    size = sparsity.block_size
    row, column = found.masks[0].position // size, clue // size
    heads = [(layer, head) for layer in range(found.layers) for head in range(found.heads)]
    kinds = [int(sparsity.kinds(found.tokens, layer, head)[row, column]) for layer, head in heads]
    seeing = [kind for kind in kinds if kind != NONE]
    part = "none" if not seeing else "every head" if len(seeing) == len(kinds) else "some"
    kind = KIND_NAMES[seeing[0]] if seeing else ""
    return view.words.part(f"Clue: {part}", kind=kind, heads=len(seeing), all=len(kinds))


def _below(view: DemoView, found: Comparison, long: LongText, sparsity: Sparsity) -> None:
    """Cost against length, formula, the library, how it was measured, and the text."""

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
    draw,
    lambda spec: not (spec.offers("continues") or spec.offers("window")),
    (OWN_TEXT, SAMPLE, TOKENS, BLOCK, RANDOM, WINDOW, GLOBAL, SEED, LAYER, HEAD),
)
