"""The live models' answers for the page, cached by what was asked; one function a kind of answer."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from core import session
from core.checkpoints.spec import Part
from core.language.losses import Losses
from core.objectives.example import Cell, Example, Label
from core.ui.objectives.entry import Stage


def masked(slug: str, stages: tuple[Stage, ...], seed: int) -> tuple[Losses, ...]:
    """A masked-word head, asked at every place that has a target."""
    return tuple(_masked(slug, stage.example.source) for stage in stages)


def causal(slug: str, stages: tuple[Stage, ...], seed: int) -> tuple[Losses, ...]:
    """A causal model, asked for each next token."""
    return tuple(_causal(slug, stage.example.source) for stage in stages)


def pair(slug: str, stages: tuple[Stage, ...], seed: int) -> tuple[Losses, ...]:
    """A head for pairs, and where tokens are hidden the masked-word head as well."""
    found = []
    for stage in stages:
        example = stage.example
        said = _pair(slug, example.source, example.labels)
        found.append(replace(said, source=(words := _masked(slug, example.source)).source, options=words.options))
    return tuple(found)


def replaced(slug: str, stages: tuple[Stage, ...], seed: int) -> tuple[Losses, ...]:
    """The generator at the first stage, the judge at the second."""
    return _masked(slug, stages[0].example.source, "generator"), _verdicts(slug, stages[1].example.source)


@st.cache_data(max_entries=256, ttl=3600.0, show_spinner="Asking the model", hash_funcs={Cell: repr})
def _masked(slug: str, source: tuple[Cell, ...], part: Part | None = None) -> Losses:
    from core.language.losses import of_masks

    return of_masks(session.checkpoint(slug, part), Example((), source))


@st.cache_data(max_entries=256, ttl=3600.0, show_spinner="Asking the model", hash_funcs={Cell: repr})
def _causal(slug: str, source: tuple[Cell, ...]) -> Losses:
    from core.language.losses import of_next

    return of_next(session.checkpoint(slug), Example((), source))


@st.cache_data(max_entries=256, ttl=3600.0, show_spinner="Asking the model", hash_funcs={Cell: repr, Label: repr})
def _pair(slug: str, source: tuple[Cell, ...], labels: tuple[Label, ...]) -> Losses:
    from core.language.losses import of_pair

    return of_pair(session.checkpoint(slug, "pairs"), Example((), source, labels=labels))


@st.cache_data(max_entries=256, ttl=3600.0, show_spinner="Asking the judge", hash_funcs={Cell: repr})
def _verdicts(slug: str, source: tuple[Cell, ...]) -> Losses:
    from core.language.losses import of_verdicts

    return of_verdicts(session.checkpoint(slug), Example((), source))


@st.cache_data(max_entries=256, ttl=3600.0, show_spinner="Asking the generator", hash_funcs={Cell: repr})
def samples(slug: str, source: tuple[Cell, ...], seed: int) -> dict[int, str]:
    """What the generator of ``slug`` writes at each asked place of ``source``, as the vocabulary writes it."""
    from core.language.limits import check_length
    from core.language.losses import ids_of
    from core.language.replaced import sample

    generator = session.checkpoint(slug, "generator")
    places = Example((), source).asked
    if not places:
        return {}
    check_length(generator, len(source))
    ids, _ = sample(generator, ids_of(generator, [cell.token for cell in source]), places, seed)
    return dict(zip(places, map(str, generator.tokenizer.convert_ids_to_tokens(list(ids))), strict=True))
