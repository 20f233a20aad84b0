"""A demo of the branch pages: its name in the link, which models it fits, its parameters, and what it draws.

Its words are ``assets/content/demos/<slug>.md``; the title is what the menu calls it. A page offers those of its demos
that fit the live model, and opens with the first of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from core.checkpoints.spec import CheckpointSpec
from core.content import Content, content
from core.ui.page import accent
from core.ui.param import Param
from core.ui.section import View


@dataclass(frozen=True, slots=True)
class DemoView(View):
    """What a demo draws with."""

    spec: CheckpointSpec = field(kw_only=True)
    """The live model."""

    @property
    def accent(self) -> str:
        """The color of the model's branch."""
        return accent(self.spec.branch)

    def how_it_works(self, part: str = "How it works", /, **values: str | int | float) -> None:
        """The formulas with their letters named, and the paper, behind the heading that the words call ``how``."""
        with st.expander(self.words.label("how")):
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
