"""XLNet's demo: choose words and the order in which they are predicted; each step, the masks, and what it costs."""

from __future__ import annotations

import zlib
from functools import partial

import numpy as np
import streamlit as st

from core.checkpoints.spec import Checkpoint
from core.figures.labels import percent
from core.figures.masks import stream_maps, stream_table, stream_words
from core.language import permuted
from core.language.guesses import MAX_CHARS
from core.language.inputs import Inputs
from core.language.types import Token
from core.links import parameters as link
from core.patterns import ranks
from core.ui.demos.cover import SENTENCE_CHARS
from core.ui.demos.demo import Demo, DemoView, Prediction, decimals, sample_pills
from core.ui.demos.masking import judge_of
from core.ui.glossary import sentences
from core.ui.links import PageState
from core.ui.page import plain, theme
from core.ui.param import Carried, Choice, Text
from core.ui.slot import Slot

SAMPLES = (
    "I do not know what you are talking about.",
    "He opened the door and went into the house.",
    "Once upon a time there was a king who had three sons.",
    "In winter the river is covered with ice.",
)
TEXT = Text(name="text", label="Sentence", default=SAMPLES[0], hide_label=True, sentence="plain")
WORDS = Carried(name="words", label="Prediction order", as_=link.Integers(high=599, most=64))
FED = Choice(
    name="fed",
    label="Token fed back after each step",
    options={"truth": "The original token", "own": "The model's own prediction"},
    style="row",
)
TOP_K = 5
_IN_A_ROW = 3


def draw_orders(view: DemoView) -> None:
    state = view.state
    sample_pills(state, "Samples", [(sample,) for sample in SAMPLES], TEXT, tag="orders")
    text = TEXT.draw(state, tag="orders")
    with sentences():
        with st.container(horizontal=True, vertical_alignment="bottom"):
            chosen = _choose(view, view.computed("", permuted.tokens_of, text))
            fed, covered = view.settings(FED).values()
        targets = permuted.prepare(view.checkpoint, text, chosen)
        follow, own = permuted.follow, fed == "own"
        steps = view.computed("predicting-the-words", follow, text, chosen, TOP_K, feed_predictions=own)
        shown = _uncovered(view, text, chosen, targets, steps, fed, covered)
        if shown:
            _pictures(view, targets, steps)
        st.divider()
        _masks(view, targets)
        if shown:
            st.divider()
            _costs_table(view, text, chosen, targets)
    view.how_it_works("Masks", "How it works")


def _choose(view: DemoView, tokens: tuple[Token, ...]) -> tuple[int, ...]:
    """The words in the order of selection; a new sentence starts with three."""
    state, places_of = view.state, permuted.choices(tokens)
    names = {number: "".join(tokens[p].text for p in positions) for number, positions in places_of.items()}
    longest = sorted(names, key=lambda number: (not names[number].isalpha(), -len(names[number]), number))[:3]
    usual = tuple(sorted(longest))
    ids = tuple(token.id for token in tokens)
    slot = Slot(state, WORDS, usual, owner=ids)
    key = f"{slot.key}.{zlib.crc32(repr(ids).encode())}"  # each sentence keeps its own choice
    if key not in st.session_state:
        st.session_state[key] = [number for number in dict.fromkeys(slot.get()) if number in names] or list(usual)
    now, put = sorted(st.session_state[key]), partial(st.session_state.__setitem__, key)
    picked = tuple(
        st.multiselect(
            WORDS.label,
            list(names),
            key=key,
            persist_state="page",
            format_func=lambda number: plain(f"{number} · {names[number]}"),
            help=view.words.front["help"][WORDS.name],
        )
    )
    with st.popover("Orders"):
        st.button("Left to right", key=state.key("orders.forward"), on_click=put, args=(now,))
        st.button("Right to left", key=state.key("orders.backward"), on_click=put, args=(now[::-1],))
        st.button("Shuffle", key=state.key("orders.shuffle"), on_click=_shuffle, args=(state, key))
        st.button("All words", key=state.key("orders.all"), on_click=put, args=(list(names),))
    slot.set(picked)
    return picked


def _shuffle(state: PageState, slot: str) -> None:
    seed = st.session_state[state.key("orders.shuffles")] = st.session_state.get(state.key("orders.shuffles"), 0) + 1
    before = list(st.session_state[slot])
    st.session_state[slot] = [before[i] for i in np.random.default_rng(seed).permutation(len(before))]


def _uncovered(
    view: DemoView,
    text: str,
    chosen: tuple[int, ...],
    targets: Inputs,
    steps: tuple[permuted.PredictionStep, ...],
    fed: str,
    covered: bool,
) -> bool:
    """Whether the steps may be shown; otherwise request a guess at their words."""
    several = len(chosen) > 1
    placeholder = st.empty()
    judge = judge_of(targets.tokens, [step.prediction for step in steps])
    label = view.words.label("guesses" if several else "guess")
    most = SENTENCE_CHARS if several else MAX_CHARS
    shown = view.uncovered(label, judge, text, targets.positions, fed, most=most, on=covered)
    if not shown:
        placeholder.markdown(f"**Step 1**: {plain(_context(targets, 1))}")
    return shown


def _pictures(view: DemoView, targets: Inputs, steps: tuple[permuted.PredictionStep, ...]) -> None:
    """Draw bars for each step, the predictions from the tokens known so far, and a table of all."""
    shown, rows = [], []
    for number, step in enumerate(steps, 1):
        words, chances = step.prediction.tokens, step.prediction.probabilities
        at = next((i for i, word in enumerate(words) if word == step.truth), None)
        note = f"Original “{step.truth}”: {percent(step.probability)}, {step.bits:.1f} bits, rank {step.rank:,}"
        title = f"Step {number}: {_context(targets, number)}"
        shown.append(Prediction(title, step.prediction, chosen=at, note=plain(note)))
        rows.append(
            {
                "step": number,
                "token": step.prediction.position,
                "original": step.truth,
                "probability": step.probability,
                "bits": step.bits,
                "rank": step.rank,
                "top predictions": ", ".join(f"{w} {percent(p)}" for w, p in zip(words, chances, strict=True)),
            }
        )
    view.predictions("steps-in-order", shown, _IN_A_ROW, rows=rows)
    view.try_and_notice()


def _context(targets: Inputs, step: int) -> str:
    """The known sentence at a step: ▢ for tokens predicted later, ▣ for the one predicted now."""
    target, later = targets.positions[step - 1], set(targets.positions[step:])
    parts: list[str] = []
    end = -1
    for position, token in enumerate(targets.tokens):
        if token.special:
            continue
        shown = "▣" if position == target else "▢" if position in later else token.text
        parts.append(shown if token.continuation or token.start == end else f" {shown}")
        end = token.end
    return "".join(parts).strip()


def _masks(view: DemoView, targets: Inputs) -> None:
    """Draw the attention masks of the two streams."""
    tokens = [token.text for token in targets.tokens]
    rank = ranks(targets.positions, len(tokens)).tolist()
    content, query = permuted.stream_masks(targets)
    figure = stream_maps(tokens, rank, content, query, view.accent, theme=theme())
    view.picture("streams", figure, stream_table(tokens, rank, content, query), alt=stream_words(tokens, rank))


def _costs_table(view: DemoView, text: str, chosen: tuple[int, ...], targets: Inputs) -> None:
    """Draw the surprisal of the same words in three orders."""
    orders = view.computed("adding-up", _costs, text, chosen)
    sums = {order: sum(bits.values()) for order, bits in orders.items()}
    rows: list[dict[str, object]] = [
        {"word": targets.tokens[position].text, **{order: bits[position] for order, bits in orders.items()}}
        for position in sorted(targets.positions)
    ]
    st.markdown(f"**{view.words.label('costs')}**")
    view.data_table("bits-by-order", [*rows, {"word": "total", **sums}], decimals(*orders))
    view.say("Costs", apart=f"{max(sums.values()) - min(sums.values()):.2f}")


def _costs(checkpoint: Checkpoint, text: str, chosen: tuple[int, ...]) -> dict[str, dict[int, float]]:
    """Bits by position, for each of three orders of the words; the tokens of a word stay from left to right."""
    forward = tuple(sorted(chosen))
    orders = {"your order": chosen, "left to right": forward, "right to left": forward[::-1]}
    return {order: permuted.costs(checkpoint, text, words) for order, words in orders.items()}


ORDERS = Demo("orders", draw_orders, ("two streams",), (TEXT, WORDS, FED))
