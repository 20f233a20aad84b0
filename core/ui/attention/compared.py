"""What a map is compared with: the same model over another text, or another model over the same text.

A difference needs the same tokens in both. What a model generates would differ from text to text, so that a decoder's
maps are those of the texts alone, and an encoder-decoder reads the other text as if it were to generate the first one's
answer. Two models that tokenize a text differently are compared word by word.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from core import session
from core.attention import combine
from core.attention.trace import AttentionMap, MapKind
from core.checkpoints.spec import CheckpointSpec
from core.errors import InputUnusable
from core.links import parameters as link
from core.ui.attention.setup import models
from core.ui.heads.text import Chosen, task_names
from core.ui.notices import warning
from core.ui.param import Carried, Choice, Integer, Param, Text
from core.ui.section import View

if TYPE_CHECKING:
    from core.ui.links import PageState

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
    help="Head by head needs as many layers and heads in both, means of the layers as many layers",
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
_REST = "A weight on a special token belongs to no word, so rows sum to less than one."


def numbered(state: PageState, name: str, most: int, usual: int = 1) -> int:
    """A layer or a head from 0, chosen from a menu that counts from 1."""
    return NUMBERS[name].with_(high=most, default=min(usual, most)).draw(state, tag=str(most)) - 1


def other_text(found: AttentionMap, read: Chosen, view: View) -> AttentionMap | None:
    """The difference from the map of another text; None, with a sentence, while there is none that fits.

    Raises:
        AtlasError: what the other text does not allow, as a sentence.
    """
    spec = read.spec
    text = OTHER.draw(view.state)
    if not text:
        view.note("Other text")
        return None
    found = _alone(found, read, view)
    if read.task is not None and spec.offers("rewrites"):
        trace = session.rewritten_trace(spec.slug, text, read.task, like=read.text)
        if found.kind != "encoder":
            view.note("One answer")
    else:
        trace = session.trace(spec.slug, text, adapters=read.adapters)
    other = _of_kind(trace.maps, found.kind)
    for tokens, own in ((other.key_tokens, found.key_tokens), (other.query_tokens, found.query_tokens)):
        if len(tokens) != len(own):
            warning(
                f"The other text has {len(tokens)} tokens and this one {len(own)}. Change single words for others that "
                "are tokens of their own.",
                icon=":material/info:",
            )
            return None
    return combine.difference(found, replace(other, query_tokens=found.query_tokens, key_tokens=found.key_tokens))


def other_model(found: AttentionMap, read: Chosen, view: View) -> AttentionMap | None:
    """The difference from another model's map; None, with a sentence, while there is none that fits.

    Raises:
        AtlasError: one of them cannot read the text, or the words of its tokens are not known.
    """
    spec, state = read.spec, view.state
    if spec.offers("rewrites"):
        return _two_rewriters(found, read, state)
    if found.label and found.kind != "encoder":
        view.note("Streams")
        return None
    pairs = spec.offers("two texts")
    other = _another(spec, lambda one: one.offers("two texts") if pairs else one.family.side == spec.family.side, state)
    if other is None:
        if not pairs:
            view.note("Same tokens")
        return None
    theirs = _of_kind(session.trace(other.slug, read.text, read.second or None).maps, found.kind)
    own = _alone(found, read, view)
    if not pairs or (own.query_tokens, own.key_tokens) == (theirs.query_tokens, theirs.key_tokens):
        return _difference(own, theirs, state)
    if read.second.strip():
        raise InputUnusable(
            "These models tokenize the two sentences differently. One sentence can be compared word by word: empty "
            "the field of the second."
        )
    ours, theirs = (
        replace(session.word_look(slug, read.text, adapters).found, note=_REST)
        for slug, adapters in ((spec.slug, read.adapters), (other.slug, None))
    )
    shown = _difference(ours, theirs, state)
    words = f"{spec.name} and {other.name} tokenize this text differently, so both are compared word by word."
    return replace(shown, note=f"{shown.note} {words}")


def _two_rewriters(found: AttentionMap, read: Chosen, state: PageState) -> AttentionMap | None:
    """What an encoder-decoder has more or less than another over one sentence and one answer, word by word.

    The answer is that of the chosen model, which the other is given to read.
    """
    spec = read.spec
    other = _another(spec, lambda one: one.offers("rewrites"), state)
    if other is None:
        return None
    own, others = task_names(spec), task_names(other)
    task = read.task or next(iter(own))
    theirs = task if task in others else next(iter(others))
    with st.spinner("Running both models"):
        answer = session.answer_words(spec.slug, read.text, task)
        first, second = (
            replace(_of_kind(session.trace_in_words(slug, read.text, job, answer).maps, found.kind), note=_REST)
            for slug, job in ((spec.slug, task), (other.slug, theirs))
        )
    shown = _difference(first, second, state)
    words = f"{spec.name} does “{own[task]}”, {other.name} “{others[theirs]}”. Both are compared word by word. {_REST}"
    if found.kind != "encoder":
        words += f" {other.name} reads the answer that {spec.name} generated, word by word, as if it were its own."
    return replace(shown, note=f"{shown.note} {words}")


def _of_kind(maps: Collection[AttentionMap], kind: MapKind) -> AttentionMap:
    return next(one for one in maps if one.kind == kind)


def _alone(found: AttentionMap, read: Chosen, view: View) -> AttentionMap:
    """A decoder's map over the text without what it generated after it; others as they are."""
    if not read.spec.offers("continues"):
        return found
    alone = session.trace(read.spec.slug, read.text).decoder
    assert alone is not None
    if len(alone.key_tokens) < len(found.key_tokens):
        view.note("Text alone")
    return alone


def _another(spec: CheckpointSpec, fits: Callable[[CheckpointSpec], bool], state: PageState) -> CheckpointSpec | None:
    """The menu of the models that fit beside ``spec``; None while none is chosen."""
    others = {slug: one for slug, one in models().items() if fits(one) and one != spec}
    wanted = state.text(WITH.name)
    slug = st.selectbox(
        WITH.label,
        list(others),
        index=list(others).index(wanted) if wanted in others else None,
        format_func=lambda slug: others[slug].name,
        key=state.key("maps.with"),
        placeholder="Choose a model",
        width=260,
    )
    state.set(**{WITH.name: slug})
    return None if slug is None else others[slug]


def _difference(first: AttentionMap, second: AttentionMap, state: PageState) -> AttentionMap:
    """What ``first`` has more or less than ``second``, which are of the same tokens, in the way that is chosen."""
    ways = offered(first, second)
    way = COMPARED.with_(options={way: COMPARED.options[way] for way in ways}, default=ways[0]).draw(
        state, tag=".".join(ways)
    )
    if way == "heads":
        first, second = (
            combine.part(
                one,
                layer=numbered(state, f"layer{number}", one.layers),
                head=numbered(state, f"head{number}", one.heads),
            )
            for number, one in ((1, first), (2, second))
        )
    elif way == "layers":
        first, second = combine.mean(first), combine.mean(second)
    elif way == "mean":
        first, second = combine.overall(first), combine.overall(second)
    return combine.difference(first, second)


def offered(first: AttentionMap, second: AttentionMap) -> list[str]:
    """The ways in which two maps can be compared, the most telling first."""
    layers, heads = first.layers == second.layers, first.heads == second.heads
    return [*(["all"] if layers and heads else []), *(["layers"] if layers else []), "mean", "heads"]
