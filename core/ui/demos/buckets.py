"""The demos of Reformer: the hash buckets of a text, and bits per byte by context length."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from core.checkpoints.spec import Checkpoint
from core.efficiency import buckets, samples
from core.efficiency.buckets import Buckets
from core.efficiency.reversible import stored_by_depth
from core.figures import sparse as figures
from core.figures.labels import percent
from core.sparse.reformer import by_context, count_scores, inversion_error, shape_of
from core.table import Table
from core.ui.demos.cover import choice_judge
from core.ui.demos.demo import Demo, DemoView, Menu
from core.ui.links import page_link
from core.ui.page import theme
from core.ui.param import Integer, Seed, Text

SAMPLE = f"{samples.CLUE} {' '.join(samples.entry(day) for day in range(3))} {samples.CLUE}"
"""Days of the lighthouse keeper's log between two equal sentences."""
TEXT = Text(name="text", label="Text, up to 1,024 bytes", default=SAMPLE, height=110, most=5000)
ROUNDS = Menu(name="rounds", label="Rounds", low=1, high=8, options=(1, 2, 4, 8))
LAYER = Menu(name="layer", label="Layer", low=1, high=200, alone=True)
HEAD = Integer(name="head", label="Head", default=1, low=1, high=256, width=170)
SEED = Integer(name="seed", label="Seed of the rotations", low=Seed.low, high=Seed.high, width=170)
_LAST = 128
"""Bytes at the end of a text whose surprisal is measured."""
_CELLS = 64
_LENGTHS = (256, 1024, 4096, 16384, 65536)
_SHARES = ("Less than 25%", "25 to 50%", "50 to 75%", "More than 75%")
_CHANGES = ("It falls", "It changes by less than 0.05 bits", "It rises")
_SMALL = 0.05


def hashing_demo(view: DemoView) -> None:
    """Draw the buckets and chunks of the visitor's text, and the pairs of bytes that share a chunk.

    Raises:
        AtlasError: the text does not suit the model.
    """
    state = view.state
    layers, heads, _, _ = shape_of(view.checkpoint.model)
    text = TEXT.draw(state, tag="bytes")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        rounds = ROUNDS.draw(state)
        hashed = tuple(layer + 1 for layer in layers)
        menu = LAYER.with_(options=hashed, default=hashed[-1])
        layer, head, seed, cover = view.settings(menu, HEAD.with_(high=heads), SEED).values()
    ids = view.computed("", buckets.prepare, text, buckets.LEAST)
    hashing = view.computed("hashing", buckets.compute_buckets, ids, layer - 1, head - 1, rounds, seed)
    left, right = st.columns(2, gap="large")
    with left:
        _sorted_bytes(view, hashing)
    with right:
        cell = max(1, -(-len(hashing.labels) // _CELLS))
        figure = figures.meetings(buckets.shares(hashing.same_bucket, cell), cell, theme=theme())
        view.picture("meetings", figure, None, note="Shared", rounds=rounds, cell=cell)
    # One picture has all numbers of rounds, so that the question is the same whatever is chosen above.
    covered = hashing.rows[0].covered
    right_share = _SHARES[min(int(4 * covered), 3)]
    judge = choice_judge((right_share,), view.words.part("Guess: kept", share=percent(covered)))
    if view.uncovered(view.words.label("guess"), judge, text, layer, head, seed, choices=_SHARES, on=cover):
        _weight_kept(view, hashing, rounds)
    view.try_and_notice()
    with st.expander("Cost against length"):
        _growth(view, hashing.chunk)
    # computed when opened: they take seconds
    for name, label, draw in (
        ("recall", "Recall against work", partial(_recall, view, ids, layer - 1, head - 1, seed)),
        ("stored", "Memory of reversible layers", partial(_stored, view, ids)),
    ):
        box = st.expander(label, key=state.key(f"{name}.box"), on_change="rerun")
        if box.open:
            with box:
                draw()
    page_link("experiments", view.words.label("duplication"), {"tab": "duplication"}, icon=":material/arrow_forward:")
    config, n = view.checkpoint.model.config, len(text.encode())
    view.how_it_works(
        "How it works",
        "Reversible",
        buckets=hashing.count,
        layers=config.num_hidden_layers,
        error=f"{100 * view.computed('', _inversion_error, text):.2g}",
        bytes=f"{n:,}",
        width=config.hidden_size,
        megabytes=f"{8 * n * config.hidden_size / 1e6:.1f}",
    )


def _sorted_bytes(view: DemoView, result: Buckets) -> None:
    n = len(result.labels)
    rows = [
        {"position": at, "byte": result.labels[at]}
        | {f"round {number}": int(bucket[at]) for number, bucket in enumerate(result.buckets, 1)}
        for at in range(n)
    ]
    figure = figures.sorted_text(result.order[0], result.buckets[0], result.labels, result.chunk, n - 1, theme=theme())
    view.picture("buckets", figure, rows, note="Sorted", bytes=n, buckets=result.count, chunk=result.chunk)


def _weight_kept(view: DemoView, result: Buckets, rounds: int) -> None:
    left, right = st.columns([1.4, 1], gap="large", vertical_alignment="center")
    with left:
        rows = tuple((row.rounds, row.covered, row.strongest_covered, row.expected) for row in result.rows)
        view.picture(
            "rounds",
            figures.rounds(rows, theme=theme()),
            Table(("rounds", "weight kept", "largest key found", "pairs computed"), rows),
            alt="; ".join(
                view.words.part(
                    "Alt: rounds", rounds=count, kept=percent(kept), largest=percent(largest), pairs=percent(pairs)
                )
                for count, kept, largest, pairs in rows
            ),
        )
    with right:
        now = next((row for row in result.rows if row.rounds == rounds), result.rows[0])
        view.say(
            "Kept",
            rounds=rounds,
            pairs=percent(now.expected),
            kept=percent(now.covered),
            largest=percent(now.strongest_covered),
        )


def _recall(view: DemoView, ids: tuple[int, ...], layer: int, head: int, seed: int) -> None:
    rows = view.computed("hashing", buckets.recalls, ids, layer, head, seed)
    best = max((row for row in rows if row.work <= 0.5), key=lambda row: row.recall)
    values: dict[str, Any] = {"buckets": best.buckets, "rounds": best.rounds, "top": buckets.TOP}
    values |= {"recall": percent(best.recall), "work": percent(best.work)}
    drawn = [(row.buckets, row.rounds, row.recall, row.work) for row in rows]
    view.picture(
        "recall",
        figures.recall_by_work(drawn, theme=theme()),
        Table(
            ("buckets", "rounds", "tokens of a chunk", "top keys found", "share of the scores"),
            tuple((row.buckets, row.rounds, row.chunk, row.recall, row.work) for row in rows),
        ),
        note="Recall",
        **values,
    )


def _stored(view: DemoView, ids: tuple[int, ...]) -> None:
    rows = view.computed("running-the-model", stored_by_depth, ids)
    depths, plain, reversible = zip(*((row.depth, row.plain, row.reversible) for row in rows), strict=True)
    view.picture(
        "stored",
        figures.stored_by_depth(depths, plain, reversible, theme=theme()),
        Table(
            ("layers", "bytes, all activations", "bytes, reversible"),
            tuple(zip(depths, plain, reversible, strict=True)),
        ),
        note="Stored",
        layers=depths[-1],
        plain=f"{plain[-1] / 1e6:.1f}",
        reversible=f"{reversible[-1] / 1e6:.1f}",
    )


def _growth(view: DemoView, chunk: int) -> None:
    full = [n * n for n in _LENGTHS]
    hashed = {
        name: [count_scores(n, chunk, rounds) for n in _LENGTHS] for name, rounds in (("1 round", 1), ("8 rounds", 8))
    }
    figure = figures.score_counts(_LENGTHS, full, list(hashed.items()), theme=theme())
    columns = {"Tokens": _LENGTHS, "Full": full, **hashed}
    view.picture("bucket-costs", figure, Table.from_columns(columns), note="Growth")


def reading_demo(view: DemoView) -> None:
    """Draw the bits per byte of a text's end by context length.

    Raises:
        AtlasError: the text does not suit the model.
    """
    text = TEXT.draw(view.state, tag="bytes")
    lengths, bits = view.computed("reading", _bits_by_length, text)
    change = bits[-1] - bits[0]
    right = _CHANGES[1 if abs(change) < _SMALL else 0 if change < 0 else 2]
    judge = choice_judge((right,), view.words.part("Answer", bits=f"{change:+.2f}"))
    numbers: dict[str, Any] = {"last": _LAST, "most": f"{lengths[-1]:,}", "fewest": f"{lengths[0]:,}"}
    if not view.uncovered(view.words.part("Guess", **numbers), judge, text, choices=_CHANGES):
        return
    view.picture(
        "bits-by-length",
        figures.bits_by_length(lengths, bits, theme=theme()),
        Table.from_columns({"bytes of context": lengths, "bits per byte": bits}),
        alt="; ".join(f"{n} bytes of context: {value:.2f} bits" for n, value in zip(lengths, bits, strict=True)),
        last=_LAST,
    )
    view.say("Change", bits=f"{change:+.2f}", **numbers)
    view.try_and_notice()


def _bits_by_length(checkpoint: Checkpoint, text: str) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Context lengths in bytes, and the bits per byte of the last bytes at each."""
    ids = buckets.prepare(checkpoint, text, 2 * _LAST)
    lengths = (*(n for n in (192, 256, 384, 512, 768) if n < len(ids)), len(ids))
    return lengths, by_context(checkpoint.model, ids, lengths, _LAST)


def _inversion_error(checkpoint: Checkpoint, text: str) -> float:
    """The relative error of the embeddings recomputed from the last layer's output."""
    return inversion_error(checkpoint.model, buckets.prepare(checkpoint, text))


HASHING = Demo("hashing", hashing_demo, ("hashing",), (TEXT, ROUNDS, LAYER, HEAD, SEED))
READING = Demo("reading", reading_demo, ("hashing",), (TEXT,))
