"""One long text under sparse and under full attention of one live model: the blocks of BigBird, Longformer's window."""

from __future__ import annotations

from functools import partial

import streamlit as st

from core import session
from core.efficiency.compare import (
    VARIANTS,
    Comparison,
    MaskedWord,
    compare,
    compare_windows,
    global_positions,
)
from core.figures.labels import percent
from core.language.inputs import Inputs
from core.patterns.layout import BLOCK_SIZES, KIND_NAMES, NONE, Sparsity, cost, curve
from core.sparse import windowed as layout
from core.sparse.longformer import shape_of, sides_of
from core.theme import ORANGE, PURPLE
from core.ui.demos.demo import Demo, DemoView, Menu
from core.ui.demos.long_text import (
    OWN_TEXT,
    SAMPLE,
    TOKENS,
    below,
    costs_of,
    filled_masks,
    growth,
    long_text,
    pattern_picture,
    text_controls,
)
from core.ui.job import job
from core.ui.links import page_link
from core.ui.page import theme
from core.ui.param import Integer, Seed, Text, Toggle

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
WINDOW_BLOCKS = _box(name="window", label="Window (blocks)", default=3, low=1, high=9, step=2)
GLOBAL = _box(name="global", label="Global blocks", default=2, low=0, high=8)
SEED = _box(name="seed", label="Seed of the random blocks", low=Seed.low, high=Seed.high)
LAYER = _box(name="layer", label="Layer shown", default=1, low=1, high=200)
HEAD = _box(name="head", label="Head shown", default=1, low=1, high=256)
LENGTHS = (256, 512, 1024, 1536, 2048, 3072, 4096)


def draw_sparse(view: DemoView) -> None:
    config = view.checkpoint.model.config
    positions, own_block = int(config.max_position_embeddings), int(getattr(config, "block_size", 64))
    nearest = min(BLOCK_SIZES, key=lambda size: abs(size - own_block))
    with view.controls():
        sample, length = text_controls(view, positions)
        block = BLOCK.with_(default=nearest).draw(view.state)
        layers, heads = int(config.num_hidden_layers), int(config.num_attention_heads)
        shown = (LAYER.with_(high=layers), HEAD.with_(high=heads))
        values = view.settings(RANDOM, WINDOW_BLOCKS, GLOBAL, SEED, *shown)
    layer, head = values["layer"] - 1, values["head"] - 1
    sparsity = Sparsity(block, values["window"], values["global"], values["random"], values["seed"])
    long, clue = long_text(view, sample, length)
    left, right = st.columns([1.15, 1], gap="large")
    with left:
        _pattern(view, long, sparsity, layer, head, clue)
    with right:
        comparison = _compared(view, long, sparsity)
        if comparison is None:
            return
        costs_of(view, "sparse", comparison.sparse, comparison.full)
        colors = {"sparse attention": PURPLE, "full attention": theme().muted}
        comment, covered = partial(_comment, view), values["cover"]
        filled_masks(view, "sparse", comparison.masks, comment, colors, 0, long.text, sparsity, covered=covered)
    view.try_and_notice(clue=f"{_clue(view, comparison, sparsity, clue)} " if clue is not None else "")
    _below(view, comparison, long, sparsity)


def _pattern(view: DemoView, long: Inputs, sparsity: Sparsity, layer: int, head: int, clue: int | None) -> None:
    n = len(long.tokens)
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


def _compared(view: DemoView, long: Inputs, sparsity: Sparsity) -> Comparison | None:
    """The comparison, computed with a progress bar and a Stop button; None if stopped."""
    slug = view.spec.slug
    key = ("comparison", slug, session.files(slug), long.text, sparsity)
    waiting = st.empty()
    with waiting.container():
        bar = st.empty()
        cached = session.results.get(key) is not None
        if not (cached or job(view.state, "sparse", key).goes(st.empty(), "Run both attentions")):
            view.note("Stopped")
            return None
    comparison = session.alone(key, lambda: compare(long, sparsity, progress=bar.progress))
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


def _below(view: DemoView, comparison: Comparison, long: Inputs, sparsity: Sparsity) -> None:
    """Draw cost against length, the formula, the library's version, what is counted, and the text."""
    least = 5 + 2 * sparsity.random_blocks

    def costs() -> None:
        growth(view, curve([n for n in LENGTHS if n <= comparison.positions], sparsity), comparison.tokens, "sparse")
        view.note("Growth")
        view.note("Measured", layers=comparison.layers, heads=comparison.heads)

    def formula() -> None:
        values = {"global": sparsity.global_blocks, "random": sparsity.random_blocks}
        view.say("How it works", window=sparsity.window, block=sparsity.block_size, **values)
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
    below(view, long, view.words.label("text"), tabs)
    page_link("experiments", view.words.label("facts"), {"tab": "facts"}, icon=":material/arrow_forward:")


SPARSE = Demo(
    "sparse",
    draw_sparse,
    ("blocks",),
    (OWN_TEXT, SAMPLE, TOKENS, BLOCK, RANDOM, WINDOW_BLOCKS, GLOBAL, SEED, LAYER, HEAD),
)


NAME = "Max"
"""The word of the sample's clue."""
_CELLS = 64
"""The approximate number of cells on a side of the figure."""
SIDE = Menu(name="side", label="Window, each side", low=1, high=1024)
WORDS = Text(name="words", label="Global words", most=200, width=240, placeholder="dog, lamp")
START = Toggle(name="start", label="First token global", default=True)


def draw_window(view: DemoView) -> None:
    checkpoint = view.checkpoint
    layers, _, positions = shape_of(checkpoint.model)
    with view.controls():
        sample, length = text_controls(view, positions)
        side = SIDE.with_(options=layout.SIDES, default=sides_of(checkpoint.model)[0]).draw(view.state)
        words = view.control(WORDS)
        settings = view.settings(START)
    start = settings[START.name]
    long, clue = long_text(view, sample, length, NAME)
    global_at = global_positions(long, words, start)
    left, right = st.columns([1.15, 1], gap="large")
    with left:
        _window_pattern(view, long, side, global_at, clue)
        if clue is not None:
            _distance(view, layers, side, global_at, clue, long.positions[0])
    with right:
        waiting = st.empty()
        compared = session.alone(
            ("windows", view.spec.slug, session.files(view.spec.slug), long.text, side, global_at),
            lambda: compare_windows(long, side, global_at, progress=waiting.progress),
        )
        waiting.empty()
        costs_of(view, "window", compared.sparse, compared.full)
        colors = dict(zip(VARIANTS.values(), (theme().muted, PURPLE, theme().primary, ORANGE), strict=True))
        chosen = list(VARIANTS).index("chosen")
        filled_masks(
            view,
            "window",
            compared.masks,
            partial(_window_comment, view),
            colors,
            chosen,
            long.text,
            side,
            global_at,
            covered=settings["cover"],
            most=4,
        )
    view.try_and_notice()
    _below_windows(view, compared, long, side, global_at)


def _window_pattern(view: DemoView, long: Inputs, side: int, global_at: tuple[int, ...], clue: int | None) -> None:
    n = len(long.tokens)
    cell, scores = max(1, -(-n // _CELLS)), layout.cost(n, side, global_at)
    pattern_picture(
        view,
        "window-pattern",
        layout.kinds(n, side, global_at, cell),
        cell,
        long,
        clue,
        listed=(1, 2),
        globals=len(global_at),
        sparse=f"{scores.sparse:,}",
        full=f"{scores.full:,}",
        share=percent(scores.share),
        cell=cell,
    )


def _distance(view: DemoView, layers: int, side: int, global_at: tuple[int, ...], clue: int, mask: int) -> None:
    """Draw how many layers information from the clue needs to reach the mask."""
    alone, through = layout.steps(side, (), clue, mask), layout.steps(side, global_at, clue, mask)
    view.say(
        "Distance" if through >= alone else "Distance: through a global token",
        apart=f"{abs(mask - clue):,}",
        alone=alone,
        layers=layers,
        enough="enough" if alone <= layers else "too few",
        through=through,
    )


def _window_comment(view: DemoView, mask: MaskedWord) -> str:
    best = max(mask.answers, key=lambda answer: answer.probabilities[0])
    moved = view.words.part("Moved", share=percent(mask.distance))
    return f"{moved} “{best.text}” ({percent(best.probabilities[0])})."


def _below_windows(view: DemoView, comparison: Comparison, long: Inputs, side: int, global_at: tuple[int, ...]) -> None:
    """Draw cost against length, the formula, and the text."""

    def costs() -> None:
        counts = [layout.cost(n, side, global_at) for n in (256, 512, 1024, 1536, 2048)]
        growth(view, counts, comparison.tokens, "window")
        view.note("Measured")

    def formula() -> None:
        view.say("How it works", **{"side": side, "both": 2 * side, "global": len(global_at)})
        view.note("Paper")

    named = ", ".join(long.tokens[at].piece for at in global_at) or "none"
    below(
        view,
        long,
        f"Global: {named}.",
        {"Cost against length": costs, "Formula": formula},
    )
    page_link("experiments", view.words.label("facts"), {"tab": "facts"}, icon=":material/arrow_forward:")


WINDOW = Demo("window", draw_window, ("window",), (OWN_TEXT, SAMPLE, TOKENS, SIDE, WORDS, START))
