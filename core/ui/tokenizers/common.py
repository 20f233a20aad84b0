"""What several sections share: the text, the choice of tokenizers, and formulas with their sources."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core import checkpoints, session
from core.catalogue.schema import Citation
from core.costs.known import citations, formulas
from core.tokenizers.cut import Tokenization, cut
from core.tokenizers.known import FAMILIES, TokenizerInfo, known
from core.tokenizers.samples import DATA, DEFAULT, SAMPLES
from core.ui.formulas import formula
from core.ui.links import PageState
from core.ui.param import Choice, Text, Words

FORMULAS = DATA / "formulas.toml"

TEXT = Text(name="text", label="Your text", default=DEFAULT, hide_label=True, samples=SAMPLES, sentence="plain")
SHOWN = Words(name="shown", label="Shown", options={})


def choose_shown(state: PageState, opening: str = "tokenizers") -> tuple[TokenizerInfo, ...]:
    """Draw the menu of the tokenizers to show, at least one; return them in the page's order."""
    with st.popover("Tokenizers", icon=":material/tune:"):
        return infos(offered(opening).draw(state))


def offered(opening: str = "tokenizers") -> Words:
    """The choice of tokenizers; by default those of ``checkpoints.first(opening)``."""
    names = {info.slug: label(info) for info in known()}
    default = tuple(slug for slug in names if slug in checkpoints.first(opening)) or tuple(names)[:1]
    return SHOWN.with_(label="Tokenizers", options=names, default=default)


def infos(slugs: Sequence[str]) -> tuple[TokenizerInfo, ...]:
    return tuple(info for info in known() if info.slug in slugs)


def choose_one(state: PageState, param: Choice, offered: list[TokenizerInfo]) -> TokenizerInfo:
    """Draw a menu of tokenizers; the first is the default."""
    names = {info.slug: label(info) for info in offered}
    slug = param.with_(options=names, default=offered[0].slug).draw(state, tag=offered[0].slug)
    return next(info for info in offered if info.slug == slug)


def label(info: TokenizerInfo) -> str:
    """A tokenizer's name in a menu: its kind and the first model with it."""
    return FAMILIES[info.family] if not info.models else f"{FAMILIES[info.family]}: {info.name}"


@session.cached()
def tokenized(info: TokenizerInfo, text: str) -> Tokenization:
    """:func:`core.tokenizers.cut.cut`, cached; the result is read-only."""
    return cut(info, text)


def formula_of(key: str) -> None:
    """Draw a formula of the tokenizers with its symbols and source."""
    formula(key, formulas(FORMULAS))


def citation(key: str) -> Citation:
    """A citation of the formulas' file."""
    return citations(FORMULAS)[key]
