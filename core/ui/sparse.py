"""The demo of the efficient page: one long text through sparse and through full attention of the same live model."""

from __future__ import annotations

import streamlit as st

from core import session
from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.efficiency import samples
from core.efficiency.compare import Comparison, LongText, prepare, token_counter
from core.efficiency.cost import cost
from core.efficiency.layout import BLOCK_SIZES, KIND_NAMES, NONE, Sparsity
from core.errors import AtlasError
from core.figures import sparse as figures
from core.figures.numbers import short
from core.settings import MAX_TEXT_CHARS
from core.ui import sparse_tabs, sparse_text
from core.ui.links import PageState
from core.ui.page import plain, sentences

LENGTHS = (256, 512, 1024, 2048, 4096)
OWN = "own"
OWN_EXAMPLE = "The capital of France is Paris. Many people visit the tower in [MASK] every summer."


def sparse_demo(spec: CheckpointSpec, state: PageState) -> None:
    """Draw the whole demo; reads and writes sample, tokens, text, block, random, window, global, seed, layer, head."""
    checkpoint = session.checkpoint(spec.slug)
    config = checkpoint.model.config
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sample, length = _text_controls(state, int(config.max_position_embeddings))
        block = _choose(state, "Block size", "block", BLOCK_SIZES, _nearest(int(getattr(config, "block_size", 64))))
        count = _number(state, "Random blocks", "random", 3, 0, 8, "Blocks that each row draws by chance")
        with st.popover("More settings"):
            window = _number(state, "Window (blocks)", "window", 3, 1, 9, "An odd number: itself and neighbours", 2)
            ends = _number(state, "Global blocks", "global", 2, 0, 8, "At the two ends of the text, in turn")
            seed = _number(state, "Seed of the random blocks", "seed", 0, 0, 2**31 - 1, "Another seed, other blocks")
            layer = _number(state, "Layer shown", "layer", 1, 1, int(config.num_hidden_layers), "Each draws its own")
            head = _number(state, "Head shown", "head", 1, 1, int(config.num_attention_heads), "Each draws its own")
    text = _text(state, checkpoint, sample, length)
    try:
        sparsity = Sparsity(block, window, ends, count, seed)
        long = prepare(checkpoint, text)
    except AtlasError as error:
        st.warning(plain(str(error)), icon=":material/info:")
        return
    clue = _clue_position(checkpoint, long, text) if sample != OWN else None
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
        st.plotly_chart(
            figures.pattern(kinds, sparsity.block_size, theme=_theme(), marks=marks),
            key=state.key("pattern"),
            config={"displayModeBar": False},
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
        for word in found.words:
            st.markdown(f"**What the mask becomes** · {plain(word.context)}")
            st.plotly_chart(
                figures.answers(word.answers),
                key=state.key(f"answers.{word.position}"),
                config={"displayModeBar": False},
                alt="Probabilities of the likeliest words for the mask under sparse and under full attention.",
            )
            st.caption(sparse_text.change(word))
    sparse_text.try_and_notice(_seen(found, sparsity, clue) if clue is not None else None)
    sparse_tabs.tabs(found, long, kinds_table=figures.pattern_table(kinds, sparsity.block_size, n), state=state)


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
    found = session.comparison(*wanted, _progress(bar))
    waiting.empty()
    return found


def _numbers(found: Comparison) -> None:
    """Scores, time and memory: sparse beside full."""
    rows = (
        ("Scores computed", _amount(found.sparse.scores), _amount(found.full.scores), _times(found, "scores")),
        ("Time in attention", _seconds(found.sparse.attention_seconds), _seconds(found.full.attention_seconds),
         _times(found, "attention_seconds")),
        ("Memory, one head", _bytes(found.sparse.peak_bytes), _bytes(found.full.peak_bytes),
         _times(found, "peak_bytes")),
    )  # fmt: skip
    lines = []
    for label, *cells in rows:
        sparse, full, ratio = (cell.replace(" ", "\N{NO-BREAK SPACE}") for cell in cells)
        lines.append(f"| {label} | **{sparse}** | {full} | {ratio} |")
    st.markdown("\n".join(("| | sparse | full | |", "|:--|--:|--:|:--|", *lines)))
    if found.sparse.attention_seconds > found.full.attention_seconds:
        st.caption(
            "Fewer scores, but more time: gathering the blocks takes time too, and on a short text that is more than "
            "is saved. Choose more tokens."
        )


def _text_controls(state: PageState, positions: int) -> tuple[str, int]:
    """Which text, and how long a sample is."""
    options = [*samples.SAMPLES, OWN]
    current = OWN if state.text("text") else state.text("sample", options[0])
    chosen = st.selectbox(
        "Text", options, index=options.index(current), key=state.key("sample"), width=260,
        format_func=lambda name: samples.SAMPLES.get(name, "Your own text"),
        help="A lighthouse keeper's log that says once what the dog is called, and asks for it once",
    )  # fmt: skip
    state.set(sample=None if chosen == options[0] else chosen)
    if chosen == OWN:
        return OWN, 0
    state.set(text=None)
    lengths = tuple(n for n in LENGTHS if n <= positions) or (positions,)
    return chosen, _choose(state, "Tokens", "tokens", lengths, min(1024, lengths[-1]))


def _text(state: PageState, checkpoint: Checkpoint, sample: str, length: int) -> str:
    """The text to run: built from a sample, or the visitor's own."""
    if sample != OWN:
        with sentences():
            return samples.build(sample, length, token_counter(checkpoint))
    typed = st.text_area(
        "Your text, with [MASK] in place of a word", state.text("text", OWN_EXAMPLE), key=state.key("text"),
        max_chars=MAX_TEXT_CHARS, height=160,
    )  # fmt: skip
    state.set(text=typed)
    return typed


def _choose(state: PageState, label: str, name: str, options: tuple[int, ...], usual: int) -> int:
    """A short menu of numbers; a number from a link that is not on it is put there."""
    raw = state.text(name)
    current = int(raw) if raw.isdigit() else usual
    listed = sorted({*options, current})
    chosen = st.selectbox(
        label, listed, index=listed.index(current), key=state.key(name), width=130, format_func=lambda n: f"{n:,}"
    )
    kept: int | str = str(chosen) if name == "block" else chosen
    state.set(**{name: None if chosen == usual else kept})
    return chosen


def _number(state: PageState, label: str, name: str, usual: int, low: int, high: int, about: str, step: int = 1) -> int:
    current = min(max(state.number(name, usual), low), high)
    chosen = int(st.number_input(label, low, high, current, step=step, key=state.key(name), help=about, width=170))
    state.set(**{name: None if chosen == usual else chosen})
    return chosen


def _nearest(size: int) -> int:
    return min(BLOCK_SIZES, key=lambda option: abs(option - size))


def _clue_position(checkpoint: Checkpoint, long: LongText, text: str) -> int | None:
    """The token at which the sample gives its clue; the special token at the front counts."""
    at = text.find(samples.CLUE)
    position = 1 + token_counter(checkpoint)(text[:at])
    return position if 0 <= position < len(long.ids) and at >= 0 else None


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


def _progress(place: st.delta_generator.DeltaGenerator) -> session.Progress:
    """A bar that tells how far the comparison is; leaving the page or changing a control stops it."""

    def tell(share: float, doing: str) -> None:
        place.progress(share, text=doing)

    return tell


def _times(found: Comparison, name: str) -> str:
    sparse, full = float(getattr(found.sparse, name)), float(getattr(found.full, name))
    if not sparse or not full:
        return ""
    return f"{full / sparse:.1f} × less" if full >= sparse else f"{sparse / full:.1f} × more"


def _amount(number: int) -> str:
    return short(number)


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{1000 * seconds:.0f} ms"


def _bytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count < 1e8 else f"{count / 1e6:,.0f} MB"


def _theme() -> figures.Theme:
    return "dark" if st.context.theme.type == "dark" else "light"
