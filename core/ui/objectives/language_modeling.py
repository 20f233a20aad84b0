"""Objectives that differ in the attention mask: next token, prefix, UniLM's three masks, XLNet's order to drag."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from core.figures.masks import stream_maps, stream_table, stream_words
from core.language.text import two_parts
from core.language.types import Token
from core.links import parameters as link
from core.objectives import causal, permutation, prefix, unified
from core.patterns import ranks
from core.table import Table
from core.ui.chips import text_color_on
from core.ui.component import Component, Message, Positions
from core.ui.demos.cover import was_shown
from core.ui.objectives.covered_targets import BLANK
from core.ui.objectives.entry import RATE, Entry, Inputs, Options, Stage, losses_by
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Carried, Choice, Integer
from core.ui.section import View
from core.ui.slot import Slot
from core.words import visible

MASKS = {
    "drawn": "Sampled as published",
    "both": "Both sides (1/3)",
    "seq2seq": "Sequence to sequence (1/3)",
    "left": "Left to right (1/6)",
    "right": "Right to left (1/6)",
}
PREFIX = Integer(name="prefix", label="Prefix, tokens", low=0, high=200, width=140)
MASK = Choice(name="mask", label="Mask", default="seq2seq", options=MASKS, width=160)
K = Integer(name="k", label="Predicted: one token in", default=6, low=1, high=12, width=140)
ORDER = Carried(name="order", label="Order", as_=link.Integers(high=599, most=600))


class Moved(Message):
    """All positions, each once, in their new order."""

    order: Positions


ORDER_ROW = Component("order", Moved)
"""Tokens in an order changed by dragging or by keyboard; the last ones are marked as targets."""


def _next(inputs: Inputs) -> tuple[Stage, ...]:
    return (Stage(causal.corrupt(inputs.pieces, inputs.frame.get("begin"))),)


def _prefix(inputs: Inputs) -> tuple[Stage, ...]:
    length = min(inputs.number("prefix"), len(inputs.pieces) - 1)
    example = prefix.corrupt(inputs.pieces, inputs.rng(), length)
    count = sum(cell.segment == 0 for cell in example.source)
    return (Stage(example, note=inputs.say("Prefix", count=count)),)


def _unified(inputs: Inputs) -> tuple[Stage, ...]:
    rng = inputs.rng()
    sampled = unified.sample_mask(rng)
    kind = next((name for name in unified.SHARES if name == inputs.word("mask")), sampled)
    a, b, cut = two_parts(inputs.text) if kind in ("both", "seq2seq") else (inputs.text, "", "")
    example = unified.corrupt(
        inputs.tokenize(a),
        inputs.tokenize(b) if b else (),
        inputs.vocabulary,
        rng,
        kind,
        rate=inputs.number("rate") / 100,
        mask=inputs.frame["mask"],
        special=inputs.special,
    )
    name = MASKS[kind].split(" (")[0].lower()
    return (Stage(example, note=f"{inputs.say('Attention mask', name=name)} {cut}".strip()),)


def _ordinary(inputs: Inputs) -> list[int]:
    """Positions of the tokens that are ordered; typed special tokens are always context."""
    return [position for position, token in enumerate(inputs.tokens) if not token.special]


def drawn_order(inputs: Inputs) -> tuple[int, ...]:
    """The order sampled with the seed, as numbers of ordinary tokens."""
    return tuple(int(i) for i in inputs.rng().permutation(len(_ordinary(inputs))))


def _ask(view: View, inputs: Inputs) -> Options:
    """Draw the tokens in their order, and buttons for named orders."""
    state = view.state
    tokens = [inputs.tokens[position] for position in _ordinary(inputs)]
    count = len(tokens)
    drawn, forward = drawn_order(inputs), tuple(range(count))
    order = Slot(
        state,
        ORDER,
        drawn,
        # another text, or another seed, has another order: a dragged one holds for its own
        owner=(inputs.seed, tuple(token.id for token in inputs.tokens)),
        refusal=lambda linked: "" if sorted(linked) == [*forward] else view.words.part("Other length", count=count),
    )
    predicted = permutation.target_count(count, inputs.number("k")) if count else 0
    view.say("Order")
    covered = state.text("cover") == "yes" and not was_shown(state, inputs.question)
    later = order.get()[count - predicted :] if covered else ()
    key, accented = state.key("permutation.row"), accent("decoder")
    moved = ORDER_ROW.sent(key)
    if moved is not None and sorted(moved.order) == list(range(count)):
        order.set(tuple(moved.order))
    data = {
        "tokens": [_chip(replace(t, text=BLANK, piece=BLANK) if at in later else t, at) for at, t in enumerate(tokens)],
        "order": list(order.get()),
        "asked": predicted,
        "label": view.words.label("order"),
        "accent": accented,
        "onAccent": text_color_on(accented),
    }
    ORDER_ROW.draw(key, data)
    named = {"Left to right": forward, "Right to left": forward[::-1], "As sampled": drawn}
    with st.popover("Named orders"):
        for name, named_order in named.items():
            st.button(name, key=f"{order.key}.{name}", on_click=order.set, args=(named_order,), width="stretch")
    return {"order": ".".join(map(str, order.get()))}


def _chip(token: Token, position: int) -> dict[str, str]:
    return {
        "text": visible(token.text) or token.piece,
        "title": f"token {position}: {token.piece}",
        "mark": "‿" if token.continuation else "",
    }


def permuted(inputs: Inputs) -> tuple[Stage, ...]:
    """The text with targets at the end of its order; ``order`` counts ordinary tokens and may be empty."""
    ordinary, framed = _ordinary(inputs), inputs.framed
    order = [ordinary[int(number)] + 1 for number in inputs.word("order").split(".")] if inputs.word("order") else []
    example = permutation.corrupt(framed, order, inputs.number("k"), inputs.fixed)
    steps = "; ".join(f"{step}. “{framed[position]}”" for step, position in enumerate(example.order[:12], 1))
    more = ", …" if len(example.order) > 12 else ""
    note = f"{inputs.say('Steps')} {steps}{more}. {inputs.say('Context')}"
    return (Stage(example, note=note, reveals=True),)


def _streams(view: View, inputs: Inputs, stages: tuple[Stage, ...]) -> None:
    """Draw the masks of the two streams side by side."""
    example = stages[0].example
    tokens = [inputs.framed[0], *(token.text for token in inputs.tokens), inputs.framed[-1]]
    rank = ranks(example.order, len(tokens)).tolist()
    content, query = (seen.allowed for seen in example.visible)
    view.say("Streams")
    Panel(
        "streams",
        view.words.label("streams"),
        stream_maps(tokens, rank, content, query, accent("decoder"), theme=theme()),
        stream_words(tokens, rank),
        Table.from_records(stream_table(tokens, rank, content, query)),
    ).draw(view.state)


CAUSAL = Entry("causal", "decoder", _next, losses_by("next"), random=False)
PERMUTATION = Entry(
    "permutation", "decoder", permuted, losses_by("order"), rare=(K,), more=_streams, ask=_ask, masks=False
)
PREFIX_LM = Entry("prefix", "decoder", _prefix, losses_by("next"), settings=(PREFIX,))
UNIFIED = Entry("unified", "encoder-decoder", _unified, settings=(MASK,), rare=(RATE,), several=True)
