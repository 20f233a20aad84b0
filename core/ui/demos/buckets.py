"""The demos of Reformer: the buckets of a text, and how much it helps to read further back."""

from __future__ import annotations

import streamlit as st

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.efficiency import hashing as found_by
from core.efficiency import samples
from core.efficiency.hashing import Buckets
from core.figures import sparse as figures
from core.links import parameters as link
from core.ui.chart import chart
from core.ui.data_table import data_table
from core.ui.demos.cover import Judge, uncovered
from core.ui.demos.demo import Demo, DemoView
from core.ui.demos.long_text import choose, number
from core.ui.glossary import noted, told
from core.ui.links import PageState
from core.ui.page import theme
from core.ui.param import Carried
from core.ui.text_box import text_box

ROUNDS = (1, 2, 4, 8)
SAMPLE = f"{samples.CLUE} {' '.join(samples.entry(day) for day in range(3))} {samples.CLUE}"
"""Days of the lighthouse keeper's log between two equal sentences."""
_LAST = 128
"""Bytes at the end of a text whose cost is measured."""
_CELLS = 64
_LENGTHS = (256, 1024, 4096, 16384, 65536)
_SHARES = ("Less than 25 %", "25 to 50 %", "50 to 75 %", "More than 75 %")
_CHANGES = ("It gets cheaper", "It changes by less than 0.05 bits", "It gets dearer")
_SMALL = 0.05


def _text(state: PageState) -> str:
    label = "Text, up to 1,024 bytes"
    return text_box(state, "text", label, SAMPLE, key="bytes.text", height=110, max_chars=5000)


def hashing_demo(view: DemoView) -> None:
    """Buckets, chunks and meetings of the visitor's text; reads and writes text, rounds, layer, head, seed."""
    spec, state = view.spec, view.state
    from core.efficiency.reformer import shape_of

    layers, heads, _, _ = shape_of(session.checkpoint(spec.slug).model)
    text = _text(state)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        rounds = choose(state, "Rounds", "rounds", ROUNDS, 1)
        counted = [layer + 1 for layer in layers]
        wanted = state.number("layer", counted[-1])
        layer = st.selectbox(
            "Layer",
            counted,
            index=counted.index(wanted) if wanted in counted else len(counted) - 1,
            key=state.key("layer"),
            width=110,
            help="The layers that hash",
        )
        head = number(state, "Head", "head", 1, 1, heads, "Each has vectors and rotations of its own")
        seed = number(state, "Seed of the rotations", "seed", 0, 0, 2**31 - 1, "Another seed, other buckets")
    state.set(layer=None if layer == counted[-1] else layer)
    seen = _look(spec.slug, text, layer - 1, head - 1, rounds, seed)
    n = len(seen.labels)
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"**The text sorted by bucket** · first round, {seen.count} buckets, chunks of {seen.chunk}")
        chart(
            figures.sorted_text(seen.order[0], seen.buckets[0], seen.labels, seen.chunk, n - 1, theme=theme()),
            key=state.key("sorted"),
            alt=f"Each of the {n} bytes at its place in the text and after sorting by bucket; chunks of {seen.chunk} "
            "are cut, the two that the last byte sees are shaded.",
        )
        st.caption("A dot is a byte, its form and colour change with the bucket. Shaded: what the last byte may see.")
    with right:
        cell = max(1, -(-n // _CELLS))
        st.markdown(f"**Who meets whom** · {rounds} {'round' if rounds == 1 else 'rounds'}")
        chart(
            figures.meetings(found_by.shares(seen.met, cell), cell, theme=theme()),
            key=state.key("meetings"),
            alt="Queries by keys: the share of pairs that meet in a chunk, nothing above the diagonal.",
        )
        st.caption(f"A cell stands for {cell} × {cell} bytes. Nobody looks ahead, nor at itself.")
    # One picture has all numbers of rounds, so that the question is the same whatever is chosen above.
    question = ("hashing", spec.slug, text, layer, head, seed)
    asked = "Of full attention's weight, how much does one round catch?"
    shown = uncovered(state, question, asked, _share_judge(seen), choices=_SHARES)
    if shown:
        _caught(seen, rounds, state)
    told(
        "**Try** one round, then eight; then another head or layer.\n\n"
        "**Notice** whether the weight caught lies above the pairs met: vectors that point alike fall into one bucket, "
        "and those are the ones with large weights. The sample says one sentence twice: see whether its bytes meet."
    )
    _tabs(spec, seen, text, state, shown)


def _share_judge(seen: Buckets) -> Judge:
    caught = seen.rows[0].caught

    def judge(guess: str) -> str:
        right = guess == _SHARES[min(int(4 * caught), 3)]
        return f"{'Right' if right else 'Wrong'}: one round catches {100 * caught:.0f} %."

    return judge


def _caught(seen: Buckets, rounds: int, state: PageState) -> None:
    st.markdown("**What hashing catches of full attention's weight**")
    rows = [(row.rounds, row.caught, row.found, row.pairs) for row in seen.rows]
    left, right = st.columns([1.4, 1], gap="large", vertical_alignment="center")
    with left:
        chart(
            figures.rounds(rows, theme=theme()),
            key=state.key("caught"),
            alt="; ".join(
                f"{count} rounds: {100 * caught:.0f} % of the weight, {100 * found:.0f} % of the largest, "
                f"{100 * pairs:.0f} % of the pairs"
                for count, caught, found, pairs in rows
            ),
        )
    with right:
        now = next((row for row in seen.rows if row.rounds == rounds), seen.rows[0])
        st.markdown(
            f"With {now.rounds} {'round' if now.rounds == 1 else 'rounds'} a byte meets **{100 * now.pairs:.0f} %** of "
            f"those before it and catches **{100 * now.caught:.0f} %** of the weight that full attention would give "
            f"with the same vectors; **{100 * now.found:.0f} %** of the bytes meet the one with the largest weight."
        )
        st.caption("Without the first two chunks, where nearly everything is met.")


def _tabs(spec: CheckpointSpec, seen: Buckets, text: str, state: PageState, shown: bool) -> None:
    formula, growth, back, tables = st.tabs(["Formula", "Cost against length", "Reversible layers", "As tables"])
    with formula:
        st.latex(r"h(x) = \arg\max\,[xR;\,-xR] \qquad k = \frac{x}{\sqrt{d}\,\operatorname{rms}(x)}")
        st.markdown(
            "- $x$: the vector of a byte, query and key at once; $R$: a random matrix of $d$ rows and half as many "
            f"columns as there are buckets ({seen.count}); $h(x)$: the bucket; $k$: the key\n"
            "- sorted by bucket, then by place, and cut into chunks; a chunk sees itself and the one before\n"
            "- several rounds with their own $R$ are joined by the sums of their exponentials, so that what any round "
            "finds counts"
        )
        st.caption(
            "transformers lets a byte see all of the two chunks, whatever their buckets. Which chunk a byte falls into "
            "depends a little on bytes that come later. Kitaev et al. 2020, “Reformer: The Efficient Transformer”, "
            "arXiv 2001.04451."
        )
    with growth:
        full = [n * n for n in _LENGTHS]
        lines = [(f"{r} rounds", [found_by.scores(n, seen.chunk, r) for n in _LENGTHS]) for r in (1, 8)]
        lines[0] = ("1 round", lines[0][1])
        chart(
            figures.score_counts(_LENGTHS, full, lines, theme=theme()),
            key=state.key("growth"),
            alt="Scores of one head against the length on logarithmic axes: full attention rises twice as steeply.",
        )
        data_table(
            [
                {"Tokens": n, "Full": full[i], **{name: values[i] for name, values in lines}}
                for i, n in enumerate(_LENGTHS)
            ],
            "bucket-costs",
            alt="Scores of one head by the length of the text",
        )
        st.caption("Counted, not measured; four bytes a score. This model reads 1,024 bytes; its architecture more.")
    with back:
        _reversible(spec, text)
    with tables:
        if shown:
            columns = ("rounds", "weight caught", "largest found", "pairs met")
            rows = [(row.rounds, row.caught, row.found, row.pairs) for row in seen.rows]
            data_table(
                [dict(zip(columns, row, strict=True)) for row in rows], "rounds", alt="What hashing finds, by rounds"
            )
        data_table(
            [
                {
                    "place": at,
                    "byte": seen.labels[at],
                    **{f"round {r + 1}": int(b[at]) for r, b in enumerate(seen.buckets)},
                }
                for at in range(len(seen.labels))
            ],
            "buckets",
            alt="The bucket of each byte in each round",
        )


def _reversible(spec: CheckpointSpec, text: str) -> None:
    st.latex(r"y_1 = x_1 + f(x_2),\;\; y_2 = x_2 + g(y_1) \qquad x_2 = y_2 - g(y_1),\;\; x_1 = y_1 - f(x_2)")
    layers, width, error = _undone(spec.slug, text)
    n = len(text.encode())
    told(
        f"On your text, computed back through all {layers} layers from the last outputs, the embeddings come out again "
        f"with an error of at most {100 * error:.2g} % of the largest number. So training may keep two streams of "
        f"{n:,} × {width} numbers, {8 * n * width / 1e6:.1f} MB, instead of those of every layer."
    )
    noted("$f$ is the attention part, $g$ the feed-forward part, $x$ the inputs of a layer, $y$ its outputs.")


def reading_demo(view: DemoView) -> None:
    """How surprising the end of a text is by how much of it is read; reads and writes text."""
    spec, state = view.spec, view.state
    text = _text(state)
    lengths, bits = _reading(spec.slug, text)
    change = bits[0] - bits[-1]

    def judge(guess: str) -> str:
        at = 1 if abs(change) < _SMALL else 0 if change > 0 else 2
        said = "saves" if change >= 0 else "costs"
        return f"{'Right' if guess == _CHANGES[at] else 'Wrong'}: it {said} {abs(change):.2f} bits a byte."

    asked = f"The last {_LAST} bytes, when the model has read {lengths[-1]:,} bytes instead of {lengths[0]:,}"
    if not uncovered(state, ("reading", spec.slug, text), asked, judge, choices=_CHANGES):
        return
    told(f"**Bits per byte of the last {_LAST} bytes**")
    chart(
        figures.bits_by_length(lengths, bits, theme=theme()),
        key=state.key("reading"),
        alt="; ".join(f"{n} bytes read: {value:.2f} bits" for n, value in zip(lengths, bits, strict=True)),
    )
    st.markdown(
        f"Reading {lengths[-1]:,} bytes instead of {lengths[0]:,} "
        f"{'saves' if change >= 0 else 'costs'} {abs(change):.2f} bits a byte on this text."
    )
    told(
        "**Try** a text that ends with a sentence from its beginning, as the sample does, and one that does not.\n\n"
        "**Notice** that only attention which finds the far sentence can make its second telling cheaper: the local "
        "layers see two chunks."
    )
    data_table(
        [{"bytes read": n, "bits per byte": round(value, 4)} for n, value in zip(lengths, bits, strict=True)],
        "bits-by-length",
        alt="Bits per byte by bytes read",
    )


@st.cache_data(max_entries=64, ttl=3600.0, show_spinner="Hashing")
def _look(slug: str, text: str, layer: int, head: int, rounds: int, seed: int) -> Buckets:
    checkpoint = session.checkpoint(slug)
    ids = found_by.prepare(checkpoint, text, found_by.LEAST)
    return found_by.look(checkpoint, ids, layer, head, rounds, seed)


@st.cache_data(max_entries=64, ttl=3600.0, show_spinner="Reading")
def _reading(slug: str, text: str) -> tuple[tuple[int, ...], tuple[float, ...]]:
    from core.efficiency.reformer import by_context

    checkpoint = session.checkpoint(slug)
    ids = found_by.prepare(checkpoint, text, 2 * _LAST)
    lengths = (*(n for n in (192, 256, 384, 512, 768) if n < len(ids)), len(ids))
    return lengths, by_context(checkpoint.model, ids, lengths, _LAST)


@st.cache_data(max_entries=64, ttl=3600.0, show_spinner=False)
def _undone(slug: str, text: str) -> tuple[int, int, float]:
    from core.efficiency.reformer import undone

    checkpoint = session.checkpoint(slug)
    config = checkpoint.model.config
    error = undone(checkpoint.model, found_by.prepare(checkpoint, text))
    return int(config.num_hidden_layers), int(config.hidden_size), error


HASHING = Demo(
    "hashing",
    hashing_demo,
    lambda spec: spec.offers("hashing"),
    (
        Carried(name="rounds", label="Rounds", as_=link.Integer(None, 1, 8)),
        Carried(name="layer", label="Layer", as_=link.Integer(None, 1, 200)),
    ),
)
READING = Demo("reading", reading_demo, lambda spec: spec.offers("hashing"))
