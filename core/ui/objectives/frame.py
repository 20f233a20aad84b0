"""The frame of the page of objectives: which section is shown."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from core.language.rounds import MODELS
from core.ui.links import PageState, open_page, sections
from core.ui.objectives.entries import ENTRIES
from core.ui.page import header

SECTIONS = {
    "objectives": "On your sentence",
    "masks": "Masks",
    "points": "Contrastive, on points",
    "rounds": "Predict first",
}


@dataclass(frozen=True, slots=True)
class ObjectivesView:
    """What the visitor chose in the frame."""

    state: PageState
    section: str


def objectives_frame() -> ObjectivesView:
    """Draw the title and the choice of a section."""
    header(
        "Objectives",
        "What is a model asked while it learns? Type a sentence and see, for each system, the damaged input, the "
        "target, which places carry a loss, and what a live model makes of it.",
    )
    models = {slug for entry in ENTRIES.values() for slug in entry.models}
    models |= {slug for slugs in MODELS.values() for slug in slugs}
    choices: dict[str, Collection[str]] = {"objective": set(ENTRIES), "model": models}
    state = open_page("objectives", choices)
    return ObjectivesView(state, sections(state, SECTIONS, "objectives"))


def show(view: ObjectivesView) -> None:
    """Draw the chosen section; only its own code is imported."""
    match view.section:
        case "masks":
            from core.ui.masks.masks import masks

            masks(view.state)
        case "points":
            from core.ui.objectives.points import points

            points(view.state)
        case "rounds":
            from core.ui.objectives.rounds import rounds

            rounds(view.state)
        case _:
            from core.ui.objectives.objective import objective

            objective(view.state)
