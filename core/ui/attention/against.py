"""What a map is held against: the same model over another text, or another model of its kind over the same text.

Models that read a whole text, and those that turn one into another, have parts of their own for the second,
`core.ui.attention.two_models`.

A difference needs the same tokens in both. What a model writes would differ from text to text, so that a decoder's maps
are those of the texts alone, and an encoder-decoder reads the other text as if it were to write the first one's answer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.attention.trace import AttentionMap
from core.checkpoints.spec import CheckpointSpec
from core.ui.attention.two_models import another
from core.ui.glossary import terms
from core.ui.heads.text import Chosen
from core.ui.notices import warned
from core.ui.text_box import text_box

if TYPE_CHECKING:
    from core.ui.links import PageState

Pair = tuple[AttentionMap, AttentionMap]


def other_text(found: AttentionMap, read: Chosen, state: PageState) -> Pair | None:
    """The map and that of another text; None, with a sentence, while there is none that fits.

    Raises:
        AtlasError: what the other text does not allow, as a sentence.
    """
    spec = read.spec
    text = text_box(state, "other", "Other text, of as many tokens", key="maps.other", width=360)
    if not text:
        st.caption("Type the same sentence with one word changed.")
        return None
    found = _alone(found, read)
    if spec.offers("rewrites"):
        trace = session.rewritten_trace(spec.slug, text, _task(spec, state), like=read.text)
        if found.kind != "encoder":
            st.caption(
                "The other text is read as if its answer were the one to yours, so that both have the same rows."
            )
    else:
        trace = session.trace(spec.slug, text, adapters=read.adapters)
    other = next(one for one in trace.maps if one.kind == found.kind)
    for tokens, own in ((other.key_tokens, found.key_tokens), (other.query_tokens, found.query_tokens)):
        if len(tokens) != len(own):
            warned(
                f"The other text has {len(tokens)} tokens and this one {len(own)}. Change single words for others that "
                "are tokens of their own.",
                icon=":material/info:",
            )
            return None
    return found, replace(other, query_tokens=found.query_tokens, key_tokens=found.key_tokens)


def other_model(found: AttentionMap, read: Chosen, state: PageState) -> Pair | None:
    """The map and that of another model; None, with a sentence, while there is none that fits.

    Raises:
        AtlasError: what the other model does not allow, as a sentence.
    """
    spec = read.spec
    if found.label and found.kind != "encoder":
        st.caption(
            terms("The two streams belong to this model alone. Its map “All words known” can be held against others.")
        )
        return None
    other = another(spec, lambda one: one.family.side == spec.family.side, state)
    if other is None:
        st.caption("Models that cut the text into the same tokens can be compared.")
        return None
    trace = session.trace(other.slug, read.text, read.second or None)
    return _alone(found, read), next(one for one in trace.maps if one.kind == found.kind)


def _alone(found: AttentionMap, read: Chosen) -> AttentionMap:
    """A decoder's map over the text without what it wrote after it; others as they are."""
    if not read.spec.offers("continues"):
        return found
    alone = session.trace(read.spec.slug, read.text).decoder
    assert alone is not None
    if len(alone.key_tokens) < len(found.key_tokens):
        st.caption("Over the text alone: what the model writes after it differs.")
    return alone


def _task(spec: CheckpointSpec, state: PageState) -> str:
    from core.language.tasks import tasks

    return state.text("task") or tasks(session.checkpoint(spec.slug))[0].slug
