"""The frame of the page of tokenisers: which section is shown."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from core.tokenizers.known import Known, known
from core.tokenizers.languages import languages
from core.ui.links import PageState, open_page, sections
from core.ui.page import header

SECTIONS = {
    "beside": "Side by side",
    "steps": "Step by step",
    "train": "Train one",
    "languages": "Languages",
    "noise": "Noise",
    "share": "Share of a model",
}


@dataclass(frozen=True, slots=True)
class TokenizersView:
    """What the visitor chose in the frame, and the tokenisers that are here."""

    state: PageState
    section: str
    known: tuple[Known, ...]


def tokenizers_frame() -> TokenizersView:
    """Draw the title and the choice of a section."""
    header(
        "Tokenisers",
        "A model never sees your text, only the pieces that a tokeniser cuts it into. See how each kind cuts, what it "
        "loses, how it learnt to, and what its vocabulary costs.",
    )
    found = known()
    slugs = [one.slug for one in found]
    choices: dict[str, Collection[str]] = {
        "shown": slugs,
        "look": slugs,
        "by": slugs,
        "language": [one.slug for one in languages()],
    }
    state = open_page("tokenizers", choices)
    return TokenizersView(state, sections(state, SECTIONS, "beside"), found)


def show(view: TokenizersView) -> None:
    """Draw the chosen section; only its own code is imported."""
    match view.section:
        case "steps":
            from core.ui.tokenizers.steps import steps

            steps(view)
        case "train":
            from core.ui.tokenizers.train import training

            training(view)
        case "languages":
            from core.ui.tokenizers.languages import by_language

            by_language(view)
        case "noise":
            from core.ui.tokenizers.noise import noise

            noise(view)
        case "share":
            from core.ui.tokenizers.share import share

            share(view)
        case _:
            from core.ui.tokenizers.beside import beside

            beside(view)
