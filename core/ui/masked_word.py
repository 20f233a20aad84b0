"""Home's live picture: a sentence with a masked word, its predictions, and one head's attention from the mask."""

from __future__ import annotations

import re
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import checkpoints, session
from core.attention.heads import clearest_head, specials
from core.checkpoints.spec import CheckpointSpec
from core.figures.masked_word import HEIGHT
from core.figures.masked_word import masked_word as picture
from core.figures.predictions import bars_alt
from core.language.fill_mask import predict, prepare
from core.links import parameters as link
from core.table import Table
from core.ui.chips import token_chips
from core.ui.links import page_link
from core.ui.notices import sentences
from core.ui.page import accent, plain, theme
from core.ui.panel import Panel
from core.ui.param import Carried, Text
from core.ui.section import View

SENTENCE = Text(
    name="text",
    label="Your sentence",
    default="The baker put the bread into the oven.",
    most=200,
    hide_label=True,
    resets=("mask",),
    sentence="any",
)
MASK = Carried(name="mask", label="Masked word", as_=link.Integers(high=199, most=1))
_FIRST = 4
"""The word of the sample that is masked at first."""
_GUESSES = 5
_TYPED = "[MASK]"
_UNITS = re.compile(r"\[MASK\]|\w+(?:['’]\w+)*|[^\w\s]")
_STYLE = f"""<style>
.st-key-home-picture {{ min-height: {HEIGHT + 60}px; }}
.atlas-skeleton {{ height: {HEIGHT}px; border-radius: .5rem; background: rgba(128,128,128,.08); display: flex;
  align-items: center; justify-content: center; opacity: .8; }}
</style>"""


def masked_word(view: View) -> None:
    """Draw the box, the words as chips, and room for the picture, which follows when the page stands."""
    spec = _model()
    if spec is None:
        view.say("None runs")
        return
    st.html(_STYLE)
    state = view.state
    text = SENTENCE.with_(placeholder=view.words.label("placeholder")).draw(state)
    units = list(_UNITS.finditer(text))
    if not units:
        view.note("No word")
        return
    names = [unit.group() for unit in units]
    chosen = token_chips(
        names,
        selected=_masked(names, text, state.integers(MASK.name)),
        key=state.key("mask.chips"),
        accent=spec.branch,
        label=view.words.label("chips"),
        clearable=False,
    )[0]
    state.set(mask=None if (chosen,) == _masked(names, text, ()) else (chosen,))
    with st.container(key="home-picture"):
        place = st.container() if state.memory.get("drawn") else st.empty()  # the old picture stands until the new one
        if not state.memory.get("drawn"):
            place.html(f'<div class="atlas-skeleton" role="status">{view.words.label("loading")}</div>')
    begin, end = units[chosen].span()
    masked = f"{text[:begin]}{_TYPED}{text[end:]}"
    view.later.append(partial(_draw, view, spec, masked, names[:chosen].count(_TYPED), place))


def _model() -> CheckpointSpec | None:
    """The live model: the one that `first.toml` names, else any that predicts masked tokens."""
    ready = {
        spec.slug: spec for spec in checkpoints.available() if spec.ready and spec.offers("predicts masked tokens")
    }
    first = (ready[slug] for slug in checkpoints.first("home") if slug in ready)
    return next(first, next(iter(ready.values()), None))


def _masked(names: list[str], text: str, linked: tuple[int, ...]) -> tuple[int]:
    """The masked one of the words: the chosen one, a typed mask, the sample's, or the last word."""
    if linked and linked[0] < len(names):
        return (linked[0],)
    if _TYPED in names:
        return (names.index(_TYPED),)
    if text == SENTENCE.default:
        return (_FIRST,)
    words = [number for number, name in enumerate(names) if name[0].isalnum()]
    return (words[-1] if words else len(names) - 1,)


def _draw(view: View, spec: CheckpointSpec, text: str, before: int, place: DeltaGenerator) -> None:
    """Compute and draw the picture.

    Args:
        text: with the mask.
        before: how many masks stand before the one that is drawn.
        place: an empty element in the first run, then the container that holds the picture.
    """
    state = view.state
    with place if state.memory.get("drawn") else place.container(), sentences():
        sentence = session.computed("", prepare, spec.slug, text)
        prediction = session.computed("", predict, spec.slug, sentence, _GUESSES)[before]
        (attention_map, *_) = session.trace(spec.slug, text).maps
        at, tokens = prediction.position, attention_map.query_tokens
        layer, head = clearest_head(attention_map, at)
        weights = attention_map.weights[layer, head, at]
        strongest = max((i for i in range(len(tokens)) if i != at), key=lambda i: weights[i], default=at)
        rows = [(token, float(weight)) for token, weight in zip(tokens, weights, strict=True)]
        answers = list(zip(prediction.tokens, prediction.probabilities, strict=True))
        Panel(
            "masked-word",
            view.words.label("picture"),
            picture(
                tokens,
                weights,
                at,
                prediction.tokens,
                prediction.probabilities,
                accent(spec.branch),
                special=specials(tokens),
                theme=theme(),
            ),
            bars_alt(prediction.tokens, prediction.probabilities, view.words.label("predictions"))
            + f" {view.words.part('Alt', layer=layer + 1, head=head + 1)} {tokens[strongest]}",
            Table(
                ("prediction", "probability", "token", "attention from the mask"),
                tuple(
                    (*(answers[i] if i < len(answers) else ("", None)), *(rows[i] if i < len(rows) else ("", None)))
                    for i in range(max(len(answers), len(rows)))
                ),
            ),
            note=view.words.part("Picture", layer=layer + 1, head=head + 1, model=plain(spec.name)),
        ).draw(state)
        query = {"model": spec.slug, "text": text, "layer": str(layer + 1), "head": str(head + 1)}
        page_link("attention", view.words.label("open"), query, icon=":material/grid_on:", width="content")
    state.memory["drawn"] = True
