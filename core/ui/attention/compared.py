"""Comparisons of attention maps: one model on two texts, or two models on one text.

A difference needs the same tokens in both. What a model generates would differ from text to text, so that a decoder's
maps are those of the texts alone, and an encoder-decoder reads the other text as if it were to generate the first one's
answer. Two models that tokenize a text differently are compared word by word.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from core import session
from core.attention import combine
from core.attention.trace import AttentionMap
from core.attention.word_maps import generate_answer, maps_over_words, word_attention
from core.checkpoints.spec import CheckpointSpec, Feature
from core.errors import InputUnusable
from core.links import parameters as link
from core.ui.attention.setup import MODEL
from core.ui.glossary import warning
from core.ui.heads.text import Chosen, task_names
from core.ui.links import PageState
from core.ui.param import Carried, Choice, Integer, Param, Text
from core.ui.section import View

OTHER = Text(name="other", label="Other text, of as many tokens", width=360)
WITH = Carried(name="with", label="With", as_=link.Choice())
COMPARED = Choice(
    name="compared",
    label="Compared",
    options={
        "all": "Head by head",
        "layers": "Means of the layers",
        "mean": "Mean of all heads",
        "heads": "One head of each",
    },
    width=210,
)
NUMBERS = {
    f"{name.lower()}{number}": Integer(
        name=f"{name.lower()}{number}", label=f"{name} {number}", low=1, high=256, style="menu", width=96
    )
    for name in ("Layer", "Head")
    for number in (1, 2)
}
"""The layers and heads of a difference."""
COMPARED_PARAMS: tuple[Param[Any], ...] = (OTHER, WITH, COMPARED, *NUMBERS.values())


def numbered(state: PageState, name: str, most: int, usual: int = 1) -> int:
    """Draw a menu of layers or heads, counted from 1; return the selection from 0."""
    return NUMBERS[name].with_(high=most, default=min(usual, most)).draw(state, tag=str(most)) - 1


def other_text(attention_map: AttentionMap, chosen: Chosen, view: View) -> AttentionMap | None:
    """The difference from the map of another text; None, with a notice, if no other text fits.

    Raises:
        AtlasError: the other text cannot be used.
    """
    spec = chosen.spec
    text = OTHER.draw(view.state)
    if not text:
        view.note("Other text")
        return None
    attention_map = _without_continuation(attention_map, chosen, view)
    rewrites = spec.offers("rewrites")
    trace = session.trace(spec.slug, text, task=chosen.task, like=chosen.text if rewrites else None)
    if rewrites and not attention_map.bidirectional:
        view.note("One answer")
    other = trace.of_kind(attention_map.kind)
    for theirs, ours in (
        (other.key_tokens, attention_map.key_tokens),
        (other.query_tokens, attention_map.query_tokens),
    ):
        if len(theirs) != len(ours):
            sentence = view.words.part("Other length", other=len(theirs), here=len(ours))
            warning(sentence, icon=":material/info:")
            return None
    if text != chosen.text and other.key_tokens == attention_map.key_tokens:
        view.note("Equal tokens")
    return combine.difference(
        attention_map, replace(other, query_tokens=attention_map.query_tokens, key_tokens=attention_map.key_tokens)
    )


def other_model(attention_map: AttentionMap, chosen: Chosen, view: View) -> AttentionMap | None:
    """The difference from another model's map; None, with a notice, if no other model fits.

    Raises:
        AtlasError: one of them cannot process the text, or its tokens cannot be assigned to words.
    """
    spec = chosen.spec
    if spec.offers("rewrites"):
        return _two_rewriters(attention_map, chosen, view)
    if attention_map.label and not attention_map.bidirectional:
        view.note("Streams")
        return None
    pairs = spec.offers("two texts")
    other = _another(spec, view, *(("two texts",) if pairs else ()))
    if other is None:
        if not pairs:
            view.note("Same tokens")
        return None
    theirs = session.trace(other.slug, chosen.text, chosen.second or None).of_kind(attention_map.kind)
    ours = _without_continuation(attention_map, chosen, view)
    if not pairs or (ours.query_tokens, ours.key_tokens) == (theirs.query_tokens, theirs.key_tokens):
        return _difference(ours, theirs, view)
    if chosen.second.strip():
        raise InputUnusable(view.words.part("Two sentences"))
    note = view.words.part("Less than one")
    ours, theirs = (
        replace(session.computed("", word_attention, slug, chosen.text, task).attention_map, note=note)
        for slug, task in ((spec.slug, chosen.task), (other.slug, None))
    )
    return _difference(ours, theirs, view, view.words.part("By words", first=spec.name, second=other.name))


def _two_rewriters(attention_map: AttentionMap, chosen: Chosen, view: View) -> AttentionMap | None:
    """The difference of two encoder-decoders' maps over one input and one output, word by word.

    The output is the selected model's; the other model is teacher-forced on it.
    """
    spec = chosen.spec
    other = _another(spec, view)
    if other is None:
        return None
    ours, theirs = task_names(spec), task_names(other)
    task = chosen.task or next(iter(ours))
    task_of_other = task if task in theirs else next(iter(theirs))
    with st.spinner(session.waiting("running-both-models")):
        answer = session.computed("", generate_answer, spec.slug, chosen.text, task)
        note = view.words.part("Less than one")
        first, second = (
            replace(
                session.computed("", maps_over_words, slug, chosen.text, job, answer).of_kind(attention_map.kind),
                note=note,
            )
            for slug, job in ((spec.slug, task), (other.slug, task_of_other))
        )
    names = {"first": spec.name, "second": other.name}
    words = view.words.part("Two tasks", task=ours[task], other=theirs[task_of_other], **names)
    if not attention_map.bidirectional:
        words += " " + view.words.part("Shared answer", **names)
    return _difference(first, second, view, words)


def _without_continuation(attention_map: AttentionMap, chosen: Chosen, view: View) -> AttentionMap:
    """A decoder's map without its generated continuation; other maps unchanged."""
    if not chosen.count:
        return attention_map
    alone = session.trace(chosen.spec.slug, chosen.text).of_kind("decoder")
    if len(alone.key_tokens) < len(attention_map.key_tokens):
        view.note("Text alone")
    return alone


def _another(spec: CheckpointSpec, view: View, *needs: Feature) -> CheckpointSpec | None:
    """Draw the menu of the models comparable with ``spec``; None without a selection."""
    listed = MODEL.with_(needs=needs).offered()
    others = {slug: other for slug, other in listed.items() if other.family.side == spec.family.side and other != spec}
    linked = view.state.text(WITH.name)
    slug = st.selectbox(
        WITH.label,
        list(others),
        index=list(others).index(linked) if linked in others else None,
        format_func=lambda slug: others[slug].name,
        key=view.state.key("maps.with"),
        placeholder="Choose a model",
        width=260,
    )
    view.state.set(**{WITH.name: slug})
    return None if slug is None else others[slug]


def _difference(first: AttentionMap, second: AttentionMap, view: View, note: str = "") -> AttentionMap:
    """The difference of two maps over the same tokens, in the comparison that the visitor selects."""
    state, offered = view.state, comparisons(first, second)
    help = view.words.part("Compared")
    menu = COMPARED.with_(options={name: COMPARED.options[name] for name in offered}, default=offered[0], help=help)
    how = menu.draw(state, tag=".".join(offered))
    if how == "heads":
        first, second = (
            combine.part(
                attention_map,
                layer=numbered(state, f"layer{number}", attention_map.layers),
                head=numbered(state, f"head{number}", attention_map.heads),
            )
            for number, attention_map in ((1, first), (2, second))
        )
    elif how == "layers":
        first, second = combine.mean(first), combine.mean(second)
    elif how == "mean":
        first, second = combine.overall(first), combine.overall(second)
    shown = combine.difference(first, second)
    return replace(shown, note=f"{shown.note} {note}".strip())


def comparisons(first: AttentionMap, second: AttentionMap) -> list[str]:
    """The comparisons that suit two maps, the most informative first."""
    layers, heads = first.layers == second.layers, first.heads == second.heads
    return [*(["all"] if layers and heads else []), *(["layers"] if layers else []), "mean", "heads"]
