"""The frame of the calculators: which one is shown."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from core import catalogue
from core.costs.known import devices
from core.costs.styles import STYLES
from core.ui.links import PageState, open_page, sections
from core.ui.page import header
from core.ui.unbuilt import unbuilt

SECTIONS = {
    "parameters": "Parameters",
    "training": "Training memory",
    "cache": "KV cache",
    "epoch": "One epoch",
    "fit": "Will it fit",
    "systems": "All systems",
}
OWN = "own"
"""The device whose numbers the visitor types."""


@dataclass(frozen=True, slots=True)
class CalculatorsView:
    """What the visitor chose in the frame."""

    state: PageState
    section: str


def calculators_frame() -> CalculatorsView:
    """Draw the title and the choice of a calculator."""
    header(
        "Calculators",
        "Set a network up and see how many numbers it holds, what memory it takes to train and to run, how long an "
        "epoch lasts, and whether it fits. Start from any published size and change one thing.",
    )
    systems = [system for system in catalogue.systems() if system.sizes]
    choices: dict[str, Collection[str]] = {
        "system": [system.slug for system in systems],
        "size": {size.name for system in systems for size in system.sizes},
        "beside": {f"{system.slug} {size.name}" for system in systems for size in system.sizes},
        "style": STYLES,
        "device": [*devices(), OWN],
    }
    state = open_page("calculators", choices)
    section = sections(state, SECTIONS, "parameters")
    unbuilt()
    return CalculatorsView(state, section)


def show(view: CalculatorsView) -> None:
    """Draw the chosen calculator; only its own code is imported."""
    state = view.state
    match view.section:
        case "parameters":
            from core.ui.calculators.parameters import parameters

            parameters(state)
        case "training":
            from core.ui.calculators.training import training

            training(state)
        case "cache":
            from core.ui.calculators.cache import cache

            cache(state)
        case "epoch":
            from core.ui.calculators.epoch import one_epoch

            one_epoch(state)
        case "fit":
            from core.ui.calculators.fit import will_it_fit

            will_it_fit(state)
        case _:
            from core.ui.calculators.systems import all_systems

            all_systems(state)
