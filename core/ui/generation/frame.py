"""The frame of the page of generation: the beginning, the model, the settings that all sections share."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from core import checkpoints, session
from core.checkpoints.spec import CheckpointSpec
from core.language.decoding.rules import ORDER
from core.language.types import Decoding
from core.ui.generation.settings import settings_popover
from core.ui.links import PageState, open_page, sections
from core.ui.notices import warned
from core.ui.page import BRANCH_TITLES, header

if TYPE_CHECKING:
    from core.language.decoding.together import Start

FIRST = "atlas-gpt-2"
TEXT = "Once upon a time there was a little girl who"
SECTIONS = {
    "side": "Side by side",
    "step": "One step",
    "beam": "Beam search",
    "cache": "KV cache",
    "draft": "Speculative",
}


@dataclass(frozen=True, slots=True)
class GenerationView:
    """What the visitor chose in the frame."""

    state: PageState
    spec: CheckpointSpec
    section: str
    text: str
    task: str | None
    common: Decoding
    """Length, seed, penalties and stops; the rules stand elsewhere."""

    @property
    def key(self) -> tuple[object, ...]:
        """What a text depends on besides its decoding: the model and what it reads."""
        return (self.spec.slug, self.task, self.text)

    def start(self) -> Start:
        """The beginning as the model reads it.

        Raises:
            AtlasError: the text does not suit the model.
        """
        from core.language.decoding.together import start

        return start(session.checkpoint(self.spec.slug), self.text, self.task)


def generation_frame() -> GenerationView | None:
    """Draw title, sections and what they share; None where no model runs here."""
    header(
        "Generation",
        "How does a model choose its next token? One beginning under greedy decoding, sampling with its cuts, and beam "
        "search; then one step, the beams, the cache and a draft model looked at by themselves.",
    )
    specs = {spec.slug: spec for spec in writers()}
    choices: dict[str, Collection[str]] = {"model": specs, "rule": ORDER}
    state = open_page("generation", choices)
    if not specs:
        return None
    section = sections(state, SECTIONS, "side")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        place = st.container(width="stretch")
        spec = _model(state, specs)
        task, sample = _task(spec, state)
        common = settings_popover(state, section)
    text = _text(place, state, sample, task)
    return GenerationView(state, spec, section, text, task, common)


def show(view: GenerationView) -> None:
    """Draw the chosen section; only its own code is imported.

    Raises:
        AtlasError: what the text or the model does not allow, as a sentence.
    """
    drawn: dict[str, Callable[[GenerationView], None]] = {
        "side": _side,
        "step": _step,
        "beam": _beam,
        "cache": _cache,
        "draft": _draft,
    }
    drawn[view.section](view)


def _side(view: GenerationView) -> None:
    from core.ui.generation.side import side_by_side

    side_by_side(view)


def _step(view: GenerationView) -> None:
    from core.ui.generation.step import one_step

    one_step(view)


def _beam(view: GenerationView) -> None:
    from core.ui.generation.beam import beam_section

    beam_section(view)


def _cache(view: GenerationView) -> None:
    from core.ui.generation.cache import cache_section

    cache_section(view)


def _draft(view: GenerationView) -> None:
    from core.ui.generation.draft import draft_section

    draft_section(view)


def writers() -> list[CheckpointSpec]:
    """The live models that write, decoders first."""
    kinds = ("causal-lm", "seq2seq-lm")
    ready = [spec for spec in checkpoints.available() if spec.ready and spec.kind in kinds]
    return sorted(ready, key=lambda spec: (spec.slug != FIRST, kinds.index(spec.kind), spec.name.lower()))


def _model(state: PageState, specs: dict[str, CheckpointSpec]) -> CheckpointSpec:
    first = next(iter(specs))
    slug = st.selectbox(
        "Live model",
        list(specs),
        index=list(specs).index(state.text("model", first)),
        key=state.key("model"),
        format_func=lambda slug: f"{specs[slug].name} · {BRANCH_TITLES.get(specs[slug].branch, specs[slug].branch)}",
        width=260,
    )
    if slug != state.text("model", first):
        state.set(task=None, step=None)
    state.set(model=None if slug == first else slug)
    return specs[slug]


def _task(spec: CheckpointSpec, state: PageState) -> tuple[str | None, str]:
    """What an encoder-decoder is asked for, None for a decoder; and the text that the page opens with."""
    if spec.kind != "seq2seq-lm":
        if state.text("task"):
            warned(f"{spec.name} goes on with a text and has no tasks.", icon=":material/link_off:")
        state.set(task=None)
        return None, TEXT
    from core.language.tasks import tasks
    from core.ui.demos.rewrite_text import samples

    offered = {task.slug: task for task in tasks(session.checkpoint(spec.slug))}
    first = next(iter(offered))
    wanted = state.text("task", first)
    if wanted not in offered:
        warned(
            f"This model has no task “{wanted[:40]}”. It offers: {', '.join(offered)}. The first one is shown.",
            icon=":material/link_off:",
        )
        wanted = first
    slug = st.selectbox(
        "Task",
        list(offered),
        index=list(offered).index(wanted),
        key=state.key(f"task.{spec.slug}"),
        width=230,
        format_func=lambda slug: offered[slug].label,
    )
    state.set(task=None if slug == first else slug)
    return slug, samples(offered[slug])[0]


def _text(place: st.delta_generator.DeltaGenerator, state: PageState, sample: str, task: str | None) -> str:
    """The box for the beginning; it keeps what was typed, and shows the sample of another task until then."""
    slot, shown = state.key("text"), state.key("text.sample")
    before = st.session_state.get(shown)
    if slot not in st.session_state or (before is not None and before != sample and st.session_state[slot] == before):
        st.session_state[slot] = state.text("text", sample) if slot not in st.session_state else sample
    st.session_state[shown] = sample
    label = "Beginning" if task is None else "Text to rewrite"
    text = str(place.text_area(label, key=slot, persist_state="page", height=68) or "")
    state.set(text=None if text == sample else text)
    return text
