"""Which demos an encoder has: masked words, pairs of sentences, replaced tokens, tasks; each by its training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core import checkpoints, links
from core.checkpoints.spec import CheckpointSpec
from core.ui.demos.adapters import adapters_demo
from core.ui.demos.beside import beside_demo
from core.ui.demos.bilingual import bilingual_demo
from core.ui.demos.demo_menu import chosen_demo
from core.ui.demos.fill_mask import fill_mask_demo
from core.ui.demos.pairs import pairs_demo
from core.ui.demos.parts import parts_demo
from core.ui.demos.replaced import replaced_demo
from core.ui.demos.shared_layer import shared_layer_demo
from core.ui.page import plain, sentences

if TYPE_CHECKING:
    from core.ui.branch import BranchView

DEMOS = {
    "masks": "Masked words",
    "passes": "Pass by pass",
    "parts": "Parts of the attention",
    "pairs": "Two sentences",
    "translation": "With its translation",
    "beside": "Beside another model",
}


def demos_of(spec: CheckpointSpec) -> tuple[str, ...]:
    """The demos that a model of masked words has, the one that it opens with first."""
    more = {
        "passes": spec.offers("shared layers"),
        "parts": spec.offers("disentangled attention"),
        "pairs": spec.offers("pairs"),
        "translation": spec.offers("languages"),
        "beside": bool(partners_of(spec)),
    }
    found = ("masks", *(name for name, there in more.items() if there))
    return ("translation", *(name for name in found if name != "translation")) if more["translation"] else found


def partners_of(spec: CheckpointSpec) -> list[CheckpointSpec]:
    """The models that a card wants its own to be held against, in its order, as far as they can run here."""
    named = spec.card.extra.get("beside", ()) if spec.card else ()
    ready = {other.slug: other for other in checkpoints.available() if other.ready and other.family is spec.family}
    return [ready[slug] for slug in named if slug in ready]


def elsewhere(system: str, spec: CheckpointSpec) -> str:
    """Links, as Markdown, to what other models of the system show and this one does not; empty where there is none."""
    found: list[str] = []
    shown = set(demos_of(spec))
    for other in checkpoints.for_system(system):
        if not other.ready or other.branch != spec.branch or other.slug == spec.slug or other.family is not spec.family:
            continue
        for demo in demos_of(other):
            if demo not in shown:
                link = links.url("encoder", {"system": system, "model": other.slug, "demo": demo})
                found.append(f"[{DEMOS[demo].lower()}, with {plain(other.name)}]({link})")
                shown.add(demo)
    return f"Also here: {'; '.join(found)}." if found else ""


def encoder_demo(view: BranchView) -> None:
    """The demo of the chosen model; where it has several, a choice above them."""
    spec, state = view.spec, view.state
    if spec is None:
        return
    if spec.offers("judges tokens"):
        replaced_demo(spec, state)
        return
    if spec.offers("answers tasks"):
        adapters_demo(spec, state)
        return
    offered = demos_of(spec)
    demo = chosen_demo(spec, offered, DEMOS, "What it was trained to do", state)
    if demo == "pairs":
        pairs_demo(spec, state)
        return
    if demo == "parts":
        parts_demo(spec, state)
        return
    if demo == "translation":
        bilingual_demo(spec, state)
        return
    if demo == "passes":
        shared_layer_demo(spec, state)
        return
    if demo == "beside":
        beside_demo(spec, partners_of(spec), state)
        return
    if spec.offers("languages"):
        st.caption("Here every sentence is read as English; French goes beside its translation.")
    with sentences():
        text = state.values.get("text")
        result = fill_mask_demo(
            spec,
            text=None if text is None else str(text),
            masked=state.integers("mask"),
            key=state.key("mask"),
            page=state,
        )
        state.set(text=result.text, mask=result.masked)
    if more := elsewhere(view.system.slug, spec):
        st.markdown(more)
