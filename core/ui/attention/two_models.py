"""The difference of two models over one text: head by head, by their means, or one head of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from core import checkpoints, session
from core.attention import combine
from core.attention.trace import AttentionMap
from core.checkpoints.spec import CheckpointSpec
from core.errors import InputUnusable
from core.ui.heads.text import Chosen
from core.ui.notices import warned

if TYPE_CHECKING:
    from core.ui.links import PageState

COMPARED = {
    "all": "Head by head",
    "layers": "Means of the layers",
    "mean": "Mean of all heads",
    "heads": "One head of each",
}
_REST = "A weight on a special token belongs to no word, so rows sum to less than one."


def two_models(found: AttentionMap, read: Chosen, state: PageState) -> AttentionMap | None:
    """What ``found``, of the chosen model, has more or less than another; None while none is chosen.

    Reads and writes with, compared, layer1, head1, layer2 and head2.

    Raises:
        AtlasError: one of them cannot read the text, or their words cannot be told.
    """
    spec = read.spec
    chosen = another(spec, lambda one: one.offers("two texts"), state)
    if chosen is None:
        return None
    other = session.trace(chosen.slug, read.text, read.second or None).encoder
    assert other is not None
    if (found.query_tokens, found.key_tokens) == (other.query_tokens, other.key_tokens):
        return difference(found, other, state)
    words = f"{spec.name} and {chosen.name} cut this text into other tokens, so both are told word by word."
    shown = difference(_in_words(read, spec, read.adapters), _in_words(read, chosen), state)
    return replace(shown, note=f"{shown.note} {words}")


def two_rewriters(found: AttentionMap, read: Chosen, state: PageState) -> AttentionMap | None:
    """What an encoder-decoder has more or less than another over one sentence and one answer, word by word.

    The answer is that of the chosen model, which the other is given to read. None while no other is chosen; reads and
    writes with, compared, layer1, head1, layer2 and head2.

    Raises:
        AtlasError: one of them cannot read the text, or their words cannot be told.
    """
    spec = read.spec
    chosen = another(spec, lambda one: one.offers("rewrites"), state)
    if chosen is None:
        return None
    own = _tasks(spec)
    task = state.text("task") if state.text("task") in own else next(iter(own))
    others = _tasks(chosen)
    asked = task if task in others else next(iter(others))
    with st.spinner("Running both models"):
        answer = session.answer_words(spec.slug, read.text, task)
        maps = [
            next(one for one in session.trace_in_words(slug, read.text, job, answer).maps if one.kind == found.kind)
            for slug, job in ((spec.slug, task), (chosen.slug, asked))
        ]
    shown = difference(replace(maps[0], note=_REST), replace(maps[1], note=_REST), state)
    words = f"{spec.name} does “{own[task]}”, {chosen.name} “{others[asked]}”. Both are told word by word. {_REST}"
    if found.kind != "encoder":
        words += f" {chosen.name} reads the answer that {spec.name} wrote, word by word, as if it had written it."
    return replace(shown, note=f"{shown.note} {words}")


def _tasks(spec: CheckpointSpec) -> dict[str, str]:
    from core.language.tasks import tasks

    return {task.slug: task.label for task in tasks(session.checkpoint(spec.slug))}


def another(spec: CheckpointSpec, fits: Callable[[CheckpointSpec], bool], state: PageState) -> CheckpointSpec | None:
    """The menu of the models that fit beside ``spec``; None while none is chosen. Reads and writes with."""
    others = {one.slug: one for one in checkpoints.available() if one.ready and fits(one) and one != spec}
    wanted = state.text("with")
    slug = st.selectbox(
        "With",
        list(others),
        index=list(others).index(wanted) if wanted in others else None,
        format_func=lambda slug: others[slug].name,
        key=state.key("maps.with"),
        placeholder="Choose a model",
        width=260,
    )
    state.set(**{"with": slug})
    return None if slug is None else others[slug]


def difference(first: AttentionMap, second: AttentionMap, state: PageState) -> AttentionMap:
    """What ``first`` has more or less than ``second``, which are of the same tokens, in the way that is chosen."""
    ways = offered(first, second)
    wanted = state.text("compared", ways[0])
    if wanted not in ways:
        warned(
            f"“{COMPARED[wanted]}” needs as many layers and heads in both; {first.layers} × {first.heads} and "
            f"{second.layers} × {second.heads} are here. “{COMPARED[ways[0]]}” is shown.",
            icon=":material/link_off:",
        )
        wanted = ways[0]
    way = str(
        st.selectbox(
            "Compared",
            ways,
            index=ways.index(wanted),
            format_func=COMPARED.__getitem__,
            key=state.key(f"maps.compared.{'.'.join(ways)}"),
            width=210,
        )
    )
    state.set(compared=None if way == ways[0] else way)
    if way == "heads":
        first, second = _one(first, state, 1), _one(second, state, 2)
    elif way == "layers":
        first, second = combine.mean(first), combine.mean(second)
    elif way == "mean":
        first, second = combine.overall(first), combine.overall(second)
    return combine.difference(first, second)


def offered(first: AttentionMap, second: AttentionMap) -> list[str]:
    """The ways in which two maps can be held against each other, the most telling first."""
    layers, heads = first.layers == second.layers, first.heads == second.heads
    return [*(["all"] if layers and heads else []), *(["layers"] if layers else []), "mean", "heads"]


def _one(found: AttentionMap, state: PageState, number: int) -> AttentionMap:
    layer = numbered(state, f"Layer {number}", f"layer{number}", found.layers, 1)
    head = numbered(state, f"Head {number}", f"head{number}", found.heads, 1)
    return combine.part(found, layer=layer, head=head)


def _in_words(read: Chosen, spec: CheckpointSpec, adapters: str | None = None) -> AttentionMap:
    if read.second.strip():
        raise InputUnusable(
            "These models cut the two sentences into other tokens. Word by word one sentence can be compared: empty "
            "the field of the second."
        )
    return replace(session.word_look(spec.slug, read.text, adapters).found, note=_REST)


def numbered(state: PageState, label: str, parameter: str, most: int, usual: int) -> int:
    """A layer or a head from 0, chosen from a menu that counts from 1."""
    usual = min(usual, most)
    key = state.key(f"maps.{parameter}.{most}")
    value = state.number(parameter, usual)
    if value > most and key not in st.session_state:
        warned(
            f"There is no {parameter[:-1]} {value} here: this model has {most}. Number {usual} is shown.",
            icon=":material/link_off:",
        )
    value = value if value <= most else usual
    chosen = int(st.selectbox(label, range(1, most + 1), index=value - 1, key=key, width=96))
    state.set(**{parameter: None if chosen == usual else chosen})
    return chosen - 1
