"""A view as a recipe: downloaded as a small file, and opened again from one."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core import checkpoints
from core.attention.views import recipe
from core.checkpoints.sizes import revision_of, weights_of
from core.checkpoints.spec import CheckpointSpec
from core.errors import AtlasError
from core.links import Value
from core.ui.attention.beside import TEXT
from core.ui.attention.frame import OF_ALL, AttentionView
from core.ui.export import download_json
from core.ui.heads.samples import samples
from core.ui.heads.text import CONTINUED
from core.ui.links import take_up
from core.ui.notices import warned
from core.ui.page import plain

_SAID = "recipe"


def recipe_row(view: AttentionView) -> None:
    """A download of the view, a place to open one, and what an opened one was made with."""
    spec = None if view.section in OF_ALL else view.spec
    settings = explicit(view)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        try:
            recipe.write(view.section, settings, spec)
        except AtlasError as error:
            st.caption(plain(str(error)))
        else:
            download_json(
                lambda: _file(view.section, settings, spec),
                f"{view.section if spec is None else f'{spec.slug}-{view.section}'}.recipe",
                view.state.key("recipe.save"),
                of="recipe",
                tip="Model, weights, text and settings of this view; opens again here, or elsewhere",
            )
        # With a new key it closes when a recipe has opened.
        with st.popover("Open a recipe", key=view.state.key("recipe.open")):
            _opened(view)
    for sentence in view.state.memory.get(_SAID, ()):  # type: ignore[attr-defined]
        st.caption(plain(str(sentence)))


def explicit(view: AttentionView) -> dict[str, Value]:
    """The page's values with those spelled out that stand open, so that the recipe outlives other defaults."""
    values, spec = dict(view.state.values), view.spec
    usual: dict[str, Value] = {}
    if view.section in ("heads", "all", "bertviz", "block"):
        usual = {"text": samples(spec)[0]}
        usual |= {"count": CONTINUED} if spec.offers("continues") and view.section != "block" else {}
    if view.section in ("off", "block"):
        usual |= {"asked": spec.family.asked}
    elif view.section == "beside":
        usual = {"text": TEXT}
    usual |= {"heads": {"view": "heat"}, "all": {"together": "all"}, "bertviz": {"bertviz": "head"}}.get(
        view.section, {}
    )
    if spec.tasks and view.section in ("heads", "all", "bertviz", "block", "off"):
        asked = spec.offers("rewrites") or (spec.offers("answers tasks") and view.section in ("off", "block"))
        usual |= {"task": spec.tasks[0]} if asked else {}
    return {name: value if value is not None else usual.get(name) for name, value in (usual | values).items()}


def _file(section: str, settings: Mapping[str, Value], spec: CheckpointSpec | None) -> bytes:
    """The recipe with the digests of the weights, which are read when somebody asks for it."""
    if spec is None:
        return recipe.write(section, settings, None)
    return recipe.write(section, settings, spec, weights_of(spec), revision_of(spec))


def _opened(view: AttentionView) -> None:
    file = st.file_uploader(
        "A recipe that was downloaded here",
        "json",
        key=view.state.key("recipe.file"),
        max_upload_size=1,
        help=f"JSON of at most {recipe.MOST_BYTES:,} bytes",
    )
    if file is None:
        return
    try:
        found = recipe.read(file.getvalue(), view.choices)
    except AtlasError as error:
        warned(str(error), icon=":material/info:")
        return
    said = ["The recipe is open.", *_differences(found)]
    take_up("attention", found.values, {_SAID: said})
    st.rerun()


def _differences(found: recipe.Recipe) -> tuple[str, ...]:
    weights = weights_of(checkpoints.get(found.model)) if found.model and found.weights else ()
    return recipe.differences(found, weights, recipe.versions())
