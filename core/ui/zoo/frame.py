"""The frame of the zoo: every live model of this installation, and the three ways to look at them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from core.checkpoints.listing import ORDERS, Listed, live
from core.ui.links import PageState, open_page, sections
from core.ui.notices import informed
from core.ui.page import BRANCH_TITLES, header

SECTIONS = {"models": "All models", "compare": "Side by side", "curves": "Learning curves"}


@dataclass(frozen=True, slots=True)
class ZooView:
    """What the visitor chose in the frame."""

    state: PageState
    section: str
    models: tuple[Listed, ...]


def zoo_frame() -> ZooView:
    """Draw the title and the choice of a section."""
    header(
        "The zoo",
        "Every model that runs on this machine: how large it is, how long it learned, how good it became. "
        "Then two of them on one sentence, and how all of them learned.",
    )
    models = live()
    slugs = [model.spec.slug for model in models]
    choices: dict[str, Collection[str]] = {
        "branch": branches(models),
        "sort": ORDERS,
        "left": slugs,
        "right": slugs,
        "models": slugs,
    }
    state = open_page("zoo", choices)
    section = sections(state, SECTIONS, "models")
    return ZooView(state, section, models)


def branches(models: Collection[Listed]) -> list[str]:
    """The branches of ``models``, in the order of the pages; one without a page stands last."""
    found = {str(model.spec.branch) for model in models}
    return [*(branch for branch in BRANCH_TITLES if branch in found), *sorted(found - BRANCH_TITLES.keys())]


def nothing_runs(models: Collection[object]) -> bool:
    """Whether ``models`` is empty; then the page says so."""
    if not models:
        no_models()
    return not models


def no_models() -> None:
    """Say that nothing runs here, and what would change that."""
    informed(
        "No live model is installed here. Trees and facts of every system are complete without one. "
        "“python -m core doctor” says what is missing; About says how a host adds models."
    )
