"""The live models' answers for the page, cached by what was asked; one function a kind of answer."""

from __future__ import annotations

import streamlit as st

from core import session
from core.language.losses import Losses
from core.objectives.example import Cell, Example
from core.ui.objectives.entry import Stage


def masked(slug: str, stages: tuple[Stage, ...], seed: int) -> tuple[Losses, ...]:
    """A masked-word head, asked at every place that has a target."""
    return tuple(_masked(slug, stage.example.source) for stage in stages)


def causal(slug: str, stages: tuple[Stage, ...], seed: int) -> tuple[Losses, ...]:
    """A causal model, asked for each next token."""
    return tuple(_causal(slug, stage.example.source) for stage in stages)


@st.cache_data(max_entries=256, ttl=3600.0, show_spinner="Asking the model", hash_funcs={Cell: repr})
def _masked(slug: str, source: tuple[Cell, ...]) -> Losses:
    from core.language.losses import of_masks

    return of_masks(session.checkpoint(slug), Example((), source))


@st.cache_data(max_entries=256, ttl=3600.0, show_spinner="Asking the model", hash_funcs={Cell: repr})
def _causal(slug: str, source: tuple[Cell, ...]) -> Losses:
    from core.language.losses import of_next

    return of_next(session.checkpoint(slug), Example((), source))
