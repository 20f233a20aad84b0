"""A view as a recipe: a small file to download and open again."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core import checkpoints
from core.attention.views import recipe
from core.checkpoints.sizes import revision_of, weights_of
from core.checkpoints.spec import CheckpointSpec
from core.content import content
from core.errors import AtlasError
from core.links.parameters import Value
from core.ui.attention.bertviz import DRAWING
from core.ui.attention.maps import TOGETHER
from core.ui.attention.setup import MODEL, models, usual_model
from core.ui.attention.side_by_side import SENTENCE
from core.ui.export import download_json
from core.ui.glossary import warning
from core.ui.heads.panel import VIEW
from core.ui.heads.text import COUNT, samples
from core.ui.links import PageState, take_up
from core.ui.page import plain
from core.ui.section import Section, View

OF_ALL = ("every", "beside")
"""Sections about several models, which have no menu of one."""
_SAID = "recipe"


def recipe_row(view: View, section: Section) -> None:
    """A download of the view, a place to open one, and what an opened one was made with."""
    state = view.state
    spec = _spec(state, section)
    settings = explicit(state, section, spec)
    # With a new key it closes when a recipe has opened.
    with st.expander(content("attention", "recipe").title, key=state.key("recipe.open")):
        try:
            recipe.write(section.slug, settings, spec)
        except AtlasError as error:
            st.caption(plain(str(error)))
        else:
            download_json(
                lambda: written(section.slug, settings, spec),
                f"{section.slug if spec is None else f'{spec.slug}-{section.slug}'}.recipe",
                state.key("recipe.save"),
                of="recipe",
                tip=content("attention", "recipe").label("download"),
            )
        _opened(state)
    for sentence in state.memory.get(_SAID, ()):  # type: ignore[attr-defined]
        st.caption(plain(str(sentence)))


def _spec(state: PageState, section: Section) -> CheckpointSpec | None:
    """The model that the section is about; None where it is about several."""
    specs = models()
    return None if section.slug in OF_ALL else specs[state.text(MODEL.name) or usual_model(specs)]


def explicit(state: PageState, section: Section, spec: CheckpointSpec | None) -> dict[str, Value]:
    """The section's values with defaults spelled out, so that a recipe does not depend on later defaults."""
    names = {param.name for param in section.params}
    usual: dict[str, Value] = {param.name: param.default for param in (VIEW, TOGETHER, DRAWING)}
    if spec is None:
        usual["text"] = SENTENCE.default
    else:
        usual["asked"] = spec.family.question_text
        if "text" in names:
            usual["text"] = next(iter(samples(spec).values()))
        if spec.offers("continues"):
            usual["count"] = COUNT.default
        # Adapters run only where a task was chosen, but where an answer is read.
        if spec.tasks and (spec.offers("rewrites") or (spec.offers("classifies texts") and "asked" in names)):
            usual["task"] = spec.tasks[0]
    return {
        name: usual.get(name) if (value := state.values.get(name)) is None else value
        for name in state.values
        if name in names
    }


def written(section: str, settings: Mapping[str, Value], spec: CheckpointSpec | None) -> bytes:
    """The recipe with the digests of the weights, which are computed on request."""
    if spec is None:
        return recipe.write(section, settings, None)
    return recipe.write(section, settings, spec, weights_of(spec), revision_of(spec))


def _opened(state: PageState) -> None:
    file = st.file_uploader(
        content("attention", "recipe").label("file"),
        "json",
        key=state.key("recipe.file"),
        help=content("attention", "recipe").part("File", most=f"{recipe.most_bytes():,}"),
    )
    if file is None:
        return
    try:
        opened = recipe.read(file.getvalue(), dict.fromkeys(("model", "models", "beside", "with"), models()))
    except AtlasError as error:
        warning(str(error), icon=":material/info:")
        return
    weights = weights_of(checkpoints.get(opened.model)) if opened.model and opened.weights else ()
    lines = [content("attention", "recipe").label("opened"), *recipe.differences(opened, weights, recipe.versions())]
    take_up("attention", opened.values, {_SAID: lines})
    st.rerun()
