"""The demo of sparse attention: one long text under sparse and under full attention of one live model."""

from __future__ import annotations

from functools import partial

import streamlit as st

from core import session
from core.efficiency.compare import Comparison, LongText, MaskedWord, compare
from core.figures.labels import percent
from core.sparse.layout import BLOCK_SIZES, KIND_NAMES, NONE, Sparsity, cost, curve
from core.theme import PURPLE
from core.ui.demos.demo import Demo, DemoView, Menu
from core.ui.demos.long_text import (
    OWN_TEXT,
    SAMPLE,
    TOKENS,
    below,
    costs_of,
    far_facts,
    filled_masks,
    growth,
    long_text,
    pattern_picture,
    text_controls,
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
RANDOM = _box(name="random", label="Random blocks", default=3, low=0, high=8)
WINDOW = _box(name="window", label="Window (blocks)", default=3, low=1, high=9, step=2)
GLOBAL = _box(name="global", label="Global blocks", default=2, low=0, high=8)
SEED = _box(name="seed", label="Seed of the random blocks", low=Seed.low, high=Seed.high)
LAYER = _box(name="layer", label="Layer shown", default=1, low=1, high=200)
HEAD = _box(name="head", label="Head shown", default=1, low=1, high=256)
LENGTHS = (256, 512, 1024, 1536, 2048, 3072, 4096)


def draw(view: DemoView) -> None:
    config = view.checkpoint.model.config
    positions, own_block = int(config.max_position_embeddings), int(getattr(config, "block_size", 64))
    nearest = min(BLOCK_SIZES, key=lambda size: abs(size - own_block))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sample, length = text_controls(view, positions)
        block = BLOCK.with_(default=nearest).draw(view.state)
        count = view.control(RANDOM)
        layers, heads = int(config.num_hidden_layers), int(config.num_attention_heads)
        shown = (LAYER.with_(high=layers), HEAD.with_(high=heads))
        values = view.settings(WINDOW, GLOBAL, SEED, *shown)
    layer, head = values["layer"] - 1, values["head"] - 1
    sparsity = Sparsity(block, values["window"], values["global"], count, values["seed"])
    long, clue = long_text(view, sample, length)
    left, right = st.columns([1.15, 1], gap="large")
    with left:
        _pattern(view, long, sparsity, layer, head, clue)
    with right:
        comparison = _compared(view, long, sparsity)
        if comparison is None:
            return
        costs_of(view, "sparse", comparison.sparse, comparison.full)
        if comparison.sparse.attention_seconds > comparison.full.attention_seconds:
            view.note("Slower")
        colors = {"sparse attention": PURPLE, "full attention": theme().muted}
        comment, covered = partial(_comment, view), values["cover"]
        filled_masks(view, "sparse", comparison.masks, comment, colors, 0, long.text, sparsity, covered=covered)
    view.try_and_notice(clue=f"{_clue(view, comparison, sparsity, clue)} " if clue is not None else "")
    _below(view, comparison, long, sparsity)


def _pattern(view: DemoView, long: LongText, sparsity: Sparsity, layer: int, head: int, clue: int | None) -> None:
    n = len(long.ids)
    kinds, scores = sparsity.kinds(n, layer, head), cost(n, sparsity, layer, head)
    pattern_picture(
        view,
        "sparse-pattern",
        kinds,
        sparsity.block_size,
        long,
        clue,
        blocks=len(kinds),
        sparse=f"{scores.sparse:,}",
        full=f"{scores.full:,}",
        layer=layer + 1,
        head=head + 1,
        share=percent(scores.share),
    )


def _comment(view: DemoView, word: MaskedWord) -> str:
    """The top predictions under both, and how much probability differs."""
    sparse, full = (max(word.answers, key=lambda answer: answer.probabilities[attention]).text for attention in (0, 1))
    alike = f"Both have the top prediction “{full}”."
    tops = alike if full == sparse else f"Full attention predicts “{full}”, sparse attention “{sparse}”."
    return f"{tops} {view.words.part('Moved', share=percent(word.distance))}"


def _compared(view: DemoView, long: LongText, sparsity: Sparsity) -> Comparison | None:
    """The comparison, computed with a progress bar and a Stop button; None if stopped."""
    slug = view.spec.slug
    key = ("comparison", slug, session.files(slug), long.ids, sparsity)
    waiting = st.empty()
    with waiting.container():
        bar = st.empty()
        known = session.results.get(key) is not None
        if not (known or going(view.state, "sparse", key, st.empty(), "Run both attentions")):
            view.note("Stopped")
            return None
    comparison = session.measured(
        key, lambda: compare(view.checkpoint, long, sparsity, progress=bar.progress), bar.progress, part=True
    )
    waiting.empty()
    return comparison


def _clue(view: DemoView, comparison: Comparison, sparsity: Sparsity, clue: int) -> str:
    """A sentence on which kind of block, and how many heads, let the mask's block attend to the clue's block."""
    size = sparsity.block_size
    row, column = comparison.masks[0].position // size, clue // size
    heads = [(layer, head) for layer in range(comparison.layers) for head in range(comparison.heads)]
    kinds = [int(sparsity.kinds(comparison.tokens, layer, head)[row, column]) for layer, head in heads]
    attending = [kind for kind in kinds if kind != NONE]
    part = "none" if not attending else "every head" if len(attending) == len(kinds) else "some"
    kind = KIND_NAMES[attending[0]] if attending else ""
    return view.words.part(f"Clue: {part}", kind=kind, heads=len(attending), all=len(kinds))


def _below(view: DemoView, comparison: Comparison, long: LongText, sparsity: Sparsity) -> None:
    """Draw cost against length, the formula, the library's version, the method of measurement, and the text."""
    least = 5 + 2 * sparsity.random_blocks

    def costs() -> None:
        growth(view, curve([n for n in LENGTHS if n <= comparison.positions], sparsity), comparison.tokens, "sparse")
        view.note("Growth")
        view.note("Measured", passes=comparison.full.passes, layers=comparison.layers, heads=comparison.heads)

    def formula() -> None:
        values = {"global": sparsity.global_blocks, "random": sparsity.random_blocks}
        view.say("Formula", window=sparsity.window, block=sparsity.block_size, **values)
        view.note("Paper")

    def library() -> None:
        view.say(
            "Library",
            random=sparsity.random_blocks,
            counted=1 + sparsity.random_blocks,
            least=least,
            tokens=f"{least * sparsity.block_size:,}",
        )

    tabs = {"Cost against length": costs, "Formula": formula, "What the library does": library}
    tabs["Far facts"] = partial(far_facts, view)
    below(view, long, view.words.label("text"), tabs)


SPARSE = Demo(
    "sparse",
    draw,
    lambda spec: not (spec.offers("continues") or spec.offers("window")),
    (OWN_TEXT, SAMPLE, TOKENS, BLOCK, RANDOM, WINDOW, GLOBAL, SEED, LAYER, HEAD),
)
