"""The frame of the page of vectors: which section is shown, and the live models that it may ask."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import streamlit as st

from core import checkpoints
from core.checkpoints.spec import CheckpointSpec
from core.ui.links import PageState, open_page, sections
from core.ui.page import BRANCH_TITLES, header
from core.vectors.reading import readable

START = "minilm"
SECTIONS = {
    "word": "One word",
    "layers": "How contextual",
    "mix": "ELMo's mix",
    "sum": "The sum",
    "places": "Places",
}


@dataclass(frozen=True, slots=True)
class VectorsView:
    """What the visitor chose in the frame."""

    state: PageState
    section: str
    specs: Mapping[str, CheckpointSpec]
    """Every model that can be asked, by branch as in the sidebar."""


def vectors_frame() -> VectorsView | None:
    """Draw the title and the choice of a section; None where no model runs here."""
    header(
        "Vectors",
        "What is a word to a model? The same word in many sentences, layer by layer: where its vectors lie, what they "
        "are the sum of, and how a model knows which place a token has.",
    )
    specs = {spec.slug: spec for spec in _ordered(checkpoints.available())}
    choices: dict[str, Collection[str]] = {"model": specs, "models": specs, "of": specs, "asked": specs}
    state = open_page("vectors", choices)
    if not specs:
        return None
    return VectorsView(state, sections(state, SECTIONS, "word"), specs)


def show(view: VectorsView) -> None:
    """Draw the chosen section; only its own code is imported.

    Raises:
        AtlasError: what the texts or the model do not allow, as a sentence.
    """
    drawn: dict[str, Callable[[VectorsView], None]] = {
        "word": _word,
        "layers": _layers,
        "mix": _mix,
        "sum": _sum,
        "places": _places,
    }
    drawn[view.section](view)


def model_menu(
    view: VectorsView, specs: Mapping[str, CheckpointSpec] | None = None, *, first: str = START, name: str = "model"
) -> CheckpointSpec:
    """The menu of live models.

    Args:
        specs: those that the section can ask; all by default. A link's model that is not among them gives way to the
            one that the section begins with.
        first: what the section begins with, where it is here.
        name: the parameter that is read and written.
    """
    offered = view.specs if specs is None else specs
    first = first if first in offered else next(iter(offered))
    wanted = view.state.text(name, first)
    slug = st.selectbox(
        "Live model",
        list(offered),
        index=list(offered).index(wanted if wanted in offered else first),
        format_func=lambda slug: f"{offered[slug].name} · {BRANCH_TITLES.get(offered[slug].branch, '')}",
        key=view.state.key(f"{name}.{view.section}.{len(offered)}"),
        width=350,
        help="What really runs here; the zoo says how each was trained",
    )
    if slug != wanted:
        view.state.set(layer=None)
    view.state.set(**{name: None if slug == first else slug})
    return offered[slug]


def _word(view: VectorsView) -> None:
    from core.ui.vectors.word import one_word

    one_word(view)


def _layers(view: VectorsView) -> None:
    from core.ui.vectors.layers import contextual_layers

    contextual_layers(view)


def _mix(view: VectorsView) -> None:
    from core.ui.vectors.mix import elmo_mix

    elmo_mix(view)


def _sum(view: VectorsView) -> None:
    from core.ui.vectors.sum import taken_apart

    taken_apart(view)


def _places(view: VectorsView) -> None:
    from core.ui.vectors.places import places

    places(view)


def _ordered(specs: Collection[CheckpointSpec]) -> list[CheckpointSpec]:
    branches = list(BRANCH_TITLES)
    kept = [spec for spec in specs if readable(spec)]
    return sorted(kept, key=lambda spec: (branches.index(spec.branch) if spec.branch in branches else 9, spec.slug))
