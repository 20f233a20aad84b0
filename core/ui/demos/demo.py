"""A demo of the branch pages: its name in the link, which models it fits, its parameters, and what it draws.

Its words are ``assets/content/demos/<slug>.md``; the title is what the menu calls it. A page offers those of its demos
that fit the live model, and opens with the first of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import streamlit as st

from core.checkpoints.spec import CheckpointSpec
from core.content import Content, content
from core.figures.predictions import bars_alt, guess_bars
from core.table import Table
from core.ui.chart import chart
from core.ui.page import accent, plain, theme
from core.ui.panel import table_menu
from core.ui.param import Param
from core.ui.section import View


class Guess(Protocol):
    """A model's best answers and their probabilities, such as a ``MaskPrediction``."""

    @property
    def tokens(self) -> Sequence[str]: ...

    @property
    def probabilities(self) -> Sequence[float]: ...


def ranked(guess: Guess, **before: str | int) -> list[dict[str, str | int | float]]:
    """A row of a table for each answer; ``before`` are the columns that tell this guess from others."""
    pairs = zip(guess.tokens, guess.probabilities, strict=True)
    return [
        {**before, "rank": rank, "guess": token, "probability": chance} for rank, (token, chance) in enumerate(pairs, 1)
    ]


@dataclass(frozen=True, slots=True)
class DemoView(View):
    """What a demo draws with."""

    spec: CheckpointSpec = field(kw_only=True)
    """The live model."""

    @property
    def accent(self) -> str:
        """The color of the model's branch."""
        return accent(self.spec.branch)

    def guesses(self, slug: str, title: str, guess: Guess, *, scale: float = 1.0, chosen: int | None = None) -> None:
        """Bars of a model's best answers under a caption.

        Args:
            slug: names the picture on its page.
            guess: the answers with their probabilities.
            scale: the probability at the right end; one for all pictures that are compared.
            chosen: the row that is marked.
        """
        words, chances = list(guess.tokens), list(guess.probabilities)
        st.caption(plain(title))
        chart(
            guess_bars(words, chances, self.accent, chosen=chosen, scale=scale, theme=theme()),
            key=self.state.key(f"guesses.{slug}"),
            alt=bars_alt(words, chances, title),
        )

    def table(self, slug: str, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """The numbers of several pictures, on request."""
        table_menu(Table.from_records(rows), title, self.state.key(f"table.{slug}"), slug)

    def how_it_works(self, *parts: str, **values: str | int | float) -> None:
        """The formulas with their letters named, and the paper, behind the heading that the words call ``how``."""
        with st.expander(self.words.label("how")):
            for part in parts or ("How it works",):
                self.say(part, **values)
            if self.words.has("Paper"):
                self.note("Paper")


@dataclass(frozen=True)
class Demo:
    """One demo."""

    slug: str
    draw: Callable[[DemoView], None]
    fits: Callable[[CheckpointSpec], bool]
    """Whether it shows something of this model: what kind it is, which heads it has, what its card names."""
    params: tuple[Param[Any], ...] = ()

    @property
    def words(self) -> Content:
        """Its content file."""
        return content("demos", self.slug)
