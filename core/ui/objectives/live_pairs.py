"""Answers of live models that write, that follow an order, or that read a pair; cached by what was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.language.losses import Losses
from core.objectives.example import Cell, Example
from core.ui.objectives.entry import Stage

if TYPE_CHECKING:
    from core.language.losses_pairs import Scored


def written(slug: str, stages: tuple[Stage, ...], seed: int) -> tuple[Losses, ...]:
    """An encoder-decoder, asked for each token that its decoder writes."""
    return tuple(_written(slug, stage.example.source, stage.example.decoder) for stage in stages)


def ordered(slug: str, stages: tuple[Stage, ...], seed: int) -> tuple[Losses, ...]:
    """A permutation language model, asked along the order."""
    return tuple(_ordered(slug, stage.example.source, stage.example.order) for stage in stages)


def paired(slug: str, stages: tuple[Stage, ...], seed: int) -> tuple[Losses, ...]:
    """An XLM; each cell says its language and its position."""
    return tuple(_paired(slug, stage.example.source) for stage in stages)


@st.cache_resource(max_entries=32, ttl=3600.0, show_spinner="Asking both models", hash_funcs={Cell: repr})
def scored(teacher: str, student: str, source: tuple[Cell, ...]) -> Scored:
    """Scores of both over the vocabulary at every hidden place."""
    from core.language import losses_pairs

    return losses_pairs.scored(session.checkpoint(teacher), session.checkpoint(student), Example((), source))


@st.cache_data(max_entries=256, ttl=3600.0, show_spinner="Asking the model", hash_funcs={Cell: repr})
def _written(slug: str, source: tuple[Cell, ...], decoder: tuple[Cell, ...]) -> Losses:
    from core.language.losses_pairs import of_written

    return of_written(session.checkpoint(slug), Example((), source, decoder))


@st.cache_data(max_entries=256, ttl=3600.0, show_spinner="Asking the model", hash_funcs={Cell: repr})
def _ordered(slug: str, source: tuple[Cell, ...], order: tuple[int, ...]) -> Losses:
    from core.language.losses_pairs import of_order

    return of_order(session.checkpoint(slug), Example((), source, order=order))


@st.cache_data(max_entries=256, ttl=3600.0, show_spinner="Asking the model", hash_funcs={Cell: repr})
def _paired(slug: str, source: tuple[Cell, ...]) -> Losses:
    from core.language.losses_pairs import of_translation

    return of_translation(session.checkpoint(slug), Example((), source))
