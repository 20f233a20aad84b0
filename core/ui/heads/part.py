"""A text that is longer than a model, or a picture, can take: a part of it is chosen before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from core import session
from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.errors import AtlasError
from core.language.text import Count, Window, last_window, window
from core.ui.page import plain

if TYPE_CHECKING:
    from core.ui.links import PageState

_MASK = "[MASK]"


def text_part(
    spec: CheckpointSpec,
    state: PageState,
    text: str,
    *,
    second: str = "",
    ahead: int = 0,
    task: str = "",
    segment: bool = False,
    name: str = "window",
    answered: bool = False,
    most: int | None = None,
) -> str:
    """``text``, or where it is too long the part that two numbers choose; reads and writes the parameter ``name``.

    Args:
        second: read together with the text.
        ahead: tokens that the model writes after it.
        task: what an encoder-decoder is asked to do.
        segment: where a model with a memory reads no more than one segment.
        answered: begin with the part that an answer hangs on: the end of a text that is continued, or the mask.
        most: tokens that what is drawn can take, where that is less than what a map can.
    """
    from core.language.text import clean

    checkpoint = session.checkpoint(spec.slug)
    try:
        typed = clean(text, newlines=spec.offers("continues"))
    except AtlasError:
        return text  # whatever reads it says what is wrong
    fits = _most(checkpoint, ahead, segment, most)
    read, own = _counts(checkpoint, second, task)
    if fits < 1 or read(typed) <= fits:
        state.set(**{name: ()})
        return text
    usual = window(typed, read, own, fits)
    if answered and (spec.offers("continues") or (_MASK in typed and _MASK not in usual.text)):
        usual = last_window(typed, read, own, fits)
    return _chosen(spec, state, typed, usual, (read, own, fits), name)


def _chosen(
    spec: CheckpointSpec, state: PageState, typed: str, usual: Window, counts: tuple[Count, Count, int], name: str
) -> str:
    read, own, most = counts
    asked = state.integers(name)
    first, last = asked if len(asked) == 2 else (usual.first, usual.last)
    found = window(typed, read, own, most, first, last)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        first = int(
            st.number_input(
                "From token",
                1,
                found.total,
                min(max(first, 1), found.total),
                16,
                key=state.key(f"{name}.first.{spec.slug}.{found.total}"),
                width=140,
            )
        )
        reach = window(typed, read, own, most, first)
        last = int(
            st.number_input(
                "to token",
                reach.first,
                reach.last,
                max(reach.first, min(last, reach.last)) if last >= first else reach.last,
                16,
                key=state.key(f"{name}.last.{spec.slug}.{found.total}.{first}"),
                width=140,
            )
        )
        found = window(typed, read, own, most, first, last)
        st.caption(
            plain(
                f"This text has {found.total:,} tokens. {spec.name} reads tokens {found.first:,} to {found.last:,} of "
                f"it, whole words, as a text of their own; up to {most:,} fit here, with those that it adds itself."
            )
        )
    whole = (first, last) == (usual.first, usual.last)
    state.set(**{name: () if whole else (first, last)})
    return found.text


def _most(checkpoint: Checkpoint, ahead: int, segment: bool, drawn: int | None) -> int:
    """The tokens that fit, those around the text included."""
    from core.attention.capture import MAX_TOKENS
    from core.language.limits import max_tokens
    from core.language.segments import SEGMENT, remembers

    most = SEGMENT if segment and remembers(checkpoint.model) else MAX_TOKENS
    most = most if drawn is None else min(most, drawn)
    limit = max_tokens(checkpoint) or most
    if checkpoint.spec.offers("continues"):
        return min(most - ahead, limit - ahead - 1)  # a row is computed when its token is read, one step later
    return min(most, limit)


def _counts(checkpoint: Checkpoint, second: str, task: str) -> tuple[Count, Count]:
    """How many tokens a model reads for a text, and how many are the text's own."""
    from core.language.codes import codes_of
    from core.language.tasks import tasks

    tokenizer: Any = checkpoint.tokenizer
    prefix, more = "", 1 if codes_of(checkpoint) else 0
    if checkpoint.spec.offers("rewrites"):
        offered = {one.slug: one for one in tasks(checkpoint)}
        chosen = offered.get(task) or next(iter(offered.values()))
        prefix, more = chosen.prefix, 2 if chosen.opens else 0

    def read(text: str) -> int:
        pair = (prefix + text, second) if second.strip() else (prefix + text,)
        return len(tokenizer(*pair, verbose=False)["input_ids"]) + more

    def own(text: str) -> int:
        return len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    return read, own
