"""The demos of Reformer: the buckets of a text, and how much it helps to read further back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core.checkpoints.spec import Checkpoint
from core.efficiency import samples
from core.figures import sparse as figures
from core.table import Cell, Table
from core.ui.demos.cover import Judge
from core.ui.demos.demo import Demo, DemoView
from core.ui.demos.long_text import Menu
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Integer, Seed, Text

if TYPE_CHECKING:
    from core.efficiency.buckets import Buckets

SAMPLE = f"{samples.CLUE} {' '.join(samples.entry(day) for day in range(3))} {samples.CLUE}"
"""Days of the lighthouse keeper's log between two equal sentences."""
TEXT = Text(name="text", label="Text, up to 1,024 bytes", default=SAMPLE, height=110, most=5000)
ROUNDS = Menu(name="rounds", label="Rounds", low=1, high=8, options=(1, 2, 4, 8))
LAYER = Menu(
    name="layer", label="Layer", low=1, high=200, options=(), alone=True, help="The layers with hashing attention"
)
HEAD = Integer(
    name="head",
    label="Head",
    default=1,
    low=1,
    high=256,
    help="Each head has its own vectors and rotations",
    width=170,
)
SEED = Integer(
    name="seed",
    label="Seed of the rotations",
    low=Seed.low,
    high=Seed.high,
    help="A new seed gives new rotations and so other buckets",
    width=170,
)
_LAST = 128
"""Bytes at the end of a text whose cost is measured."""
_CELLS = 64
_LENGTHS = (256, 1024, 4096, 16384, 65536)
_SHARES = ("Less than 25 %", "25 to 50 %", "50 to 75 %", "More than 75 %")
_CHANGES = ("It falls", "It changes by less than 0.05 bits", "It rises")
_SMALL = 0.05


def hashing_demo(view: DemoView) -> None:
    """Buckets, chunks and meetings of the visitor's text.

    Raises:
        AtlasError: the text does not suit the model.
    """
    from core.efficiency import buckets
    from core.sparse.reformer import shape_of

    state = view.state
    layers, heads, _, _ = shape_of(view.checkpoint.model)
    text = TEXT.draw(state, tag="bytes")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        rounds = ROUNDS.draw(state)
        hashed = tuple(layer + 1 for layer in layers)
        layer = LAYER.with_(options=hashed, default=hashed[-1]).draw(state)
        head = HEAD.with_(high=heads).draw(state)
        seed = SEED.draw(state)
    ids = view.computed("", buckets.prepare, text, buckets.LEAST)
    seen = view.computed("Hashing", buckets.look, ids, layer - 1, head - 1, rounds, seed)
    left, right = st.columns(2, gap="large")
    with left:
        _sorted(view, seen)
    with right:
        _met(view, seen, rounds)
    # One picture has all numbers of rounds, so that the question is the same whatever is chosen above.
    question = (text, layer, head, seed)
    asked = "Of full attention's weight, how much does one round keep?"
    if view.uncovered(asked, _share_judge(seen), *question, choices=_SHARES):
        _caught(view, seen, rounds)
    view.try_and_notice()
    formula, growth, back = st.tabs(["Formula", "Cost against length", "Reversible layers"])
    with formula:
        view.say("Formula", buckets=seen.count)
        view.note("Paper")
    with growth:
        _growth(view, seen.chunk)
    with back:
        config, n = view.checkpoint.model.config, len(text.encode())
        view.say(
            "Reversible",
            layers=config.num_hidden_layers,
            error=f"{100 * view.computed('', _undone, text):.2g}",
            bytes=f"{n:,}",
            width=config.hidden_size,
            megabytes=f"{8 * n * config.hidden_size / 1e6:.1f}",
        )


def _sorted(view: DemoView, seen: Buckets) -> None:
    n = len(seen.labels)
    rounds = tuple(f"round {number + 1}" for number in range(len(seen.buckets)))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (at, seen.labels[at], *(int(of[at]) for of in seen.buckets)) for at in range(n)
    )
    Panel(
        "buckets",
        f"The text sorted by bucket: first round, {seen.count} buckets, chunks of {seen.chunk}",
        figures.sorted_text(seen.order[0], seen.buckets[0], seen.labels, seen.chunk, n - 1, theme=theme()),
        f"Each of the {n} bytes at its position in the text and after sorting by bucket; chunks of {seen.chunk} "
        "are cut, the two to which the last byte attends are shaded.",
        Table(("position", "byte", *rounds), rows),
        note=view.words.part("Sorted"),
        heading=True,
    ).draw(view.state)


def _met(view: DemoView, seen: Buckets, rounds: int) -> None:
    from core.efficiency import buckets

    cell = max(1, -(-len(seen.labels) // _CELLS))
    Panel(
        "meetings",
        f"Pairs of bytes that share a chunk: {_rounds(rounds)}",
        figures.meetings(buckets.shares(seen.met, cell), cell, theme=theme()),
        "Queries by keys: the share of pairs in a common chunk, nothing above the diagonal.",
        note=view.words.part("Met", cell=cell),
        heading=True,
    ).draw(view.state)


def _rounds(count: int) -> str:
    return f"{count} {'round' if count == 1 else 'rounds'}"


def _share_judge(seen: Buckets) -> Judge:
    caught = seen.rows[0].caught

    def judge(guess: str) -> str:
        right = guess == _SHARES[min(int(4 * caught), 3)]
        return f"{'Right' if right else 'Wrong'}: one round keeps {100 * caught:.0f} %."

    return judge


def _caught(view: DemoView, seen: Buckets, rounds: int) -> None:
    rows = tuple((row.rounds, row.caught, row.found, row.pairs) for row in seen.rows)
    left, right = st.columns([1.4, 1], gap="large", vertical_alignment="center")
    with left:
        Panel(
            "rounds",
            "Share of full attention's weight that hashing keeps",
            figures.rounds(rows, theme=theme()),
            "; ".join(
                f"{count} rounds: {100 * caught:.0f} % of the weight, {100 * found:.0f} % of the largest, "
                f"{100 * pairs:.0f} % of the pairs"
                for count, caught, found, pairs in rows
            ),
            Table(("rounds", "weight kept", "largest key found", "pairs computed"), rows),
            heading=True,
        ).draw(view.state)
    with right:
        now = next((row for row in seen.rows if row.rounds == rounds), seen.rows[0])
        view.say(
            "Caught",
            rounds=_rounds(now.rounds),
            pairs=f"{100 * now.pairs:.0f}",
            caught=f"{100 * now.caught:.0f}",
            largest=f"{100 * now.found:.0f}",
        )
        view.note("Left out")


def _growth(view: DemoView, chunk: int) -> None:
    from core.sparse import hashing

    full = [n * n for n in _LENGTHS]
    lines = [(_rounds(count), [hashing.scores(n, chunk, count) for n in _LENGTHS]) for count in (1, 8)]
    columns = ("Tokens", "Full", *(name for name, _ in lines))
    Panel(
        "bucket-costs",
        "Scores of one head by the length of the text",
        figures.score_counts(_LENGTHS, full, lines, theme=theme()),
        "Scores of one head against the length on logarithmic axes: full attention rises twice as steeply.",
        Table(columns, tuple(zip(_LENGTHS, full, *(values for _, values in lines), strict=True))),
        note=view.words.part("Growth"),
    ).draw(view.state)


def reading_demo(view: DemoView) -> None:
    """How many bits the end of a text costs by how much of it is read.

    Raises:
        AtlasError: the text does not suit the model.
    """
    text = TEXT.draw(view.state, tag="bytes")
    lengths, bits = view.computed("Reading", _reading, text)
    change = bits[0] - bits[-1]
    saves = "saves" if change >= 0 else "costs"

    def judge(guess: str) -> str:
        at = 1 if abs(change) < _SMALL else 0 if change > 0 else 2
        return f"{'Right' if guess == _CHANGES[at] else 'Wrong'}: it {saves} {abs(change):.2f} bits per byte."

    asked = f"The last {_LAST} bytes, with a context of {lengths[-1]:,} bytes instead of {lengths[0]:,}"
    if not view.uncovered(asked, judge, text, choices=_CHANGES):
        return
    Panel(
        "bits-by-length",
        f"Bits per byte of the last {_LAST} bytes",
        figures.bits_by_length(lengths, bits, theme=theme()),
        "; ".join(f"{n} bytes of context: {value:.2f} bits" for n, value in zip(lengths, bits, strict=True)),
        Table(("bytes of context", "bits per byte"), tuple(zip(lengths, bits, strict=True))),
        heading=True,
    ).draw(view.state)
    numbers = {"most": f"{lengths[-1]:,}", "fewest": f"{lengths[0]:,}", "bits": f"{abs(change):.2f}"}
    view.say("Change", saves=saves, **numbers)
    view.try_and_notice()


def _reading(checkpoint: Checkpoint, text: str) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """How many bytes are read, and what the last ones cost then."""
    from core.efficiency import buckets
    from core.sparse.reformer import by_context

    ids = buckets.prepare(checkpoint, text, 2 * _LAST)
    lengths = (*(n for n in (192, 256, 384, 512, 768) if n < len(ids)), len(ids))
    return lengths, by_context(checkpoint.model, ids, lengths, _LAST)


def _undone(checkpoint: Checkpoint, text: str) -> float:
    """How far the states that are computed back from the last layer lie from the first ones, as a share."""
    from core.efficiency import buckets
    from core.sparse.reformer import undone

    return undone(checkpoint.model, buckets.prepare(checkpoint, text))


HASHING = Demo("hashing", hashing_demo, lambda spec: spec.offers("hashing"), (TEXT, ROUNDS, LAYER, HEAD, SEED))
READING = Demo("reading", reading_demo, lambda spec: spec.offers("hashing"), (TEXT,))
