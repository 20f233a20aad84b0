"""What several sections share: the text with its samples, the choice of tokenisers, formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from core.catalogue.schema import Citation
from core.costs.known import citations, formulas
from core.tokenizers.cut import Cut, cut
from core.tokenizers.known import FAMILIES, Known
from core.tokenizers.samples import DATA, DEFAULT, SAMPLES
from core.ui.calculators.parts import formula
from core.ui.links import PageState
from core.ui.page import plain

FORMULAS = DATA / "formulas.toml"
SHOWN = ("minilm", "bpe", "atlas-gpt-2", "atlas-t5", "atlas-byt5")
"""The tokenisers that a section opens with, where they are here: one of each kind."""


def text_box(state: PageState, name: str = "text", default: str = DEFAULT, samples: Mapping[str, str] = SAMPLES) -> str:
    """The visitor's text, with samples one click away; stands in a row."""
    slot = state.key(name)
    st.session_state.setdefault(slot, state.text(name, default))
    text = str(st.text_area("Your text", key=slot, persist_state="page", height=68, width=620) or "")
    with st.popover("Samples"):
        for title, sample in samples.items():
            st.button(
                f"{title}: {plain(_short(sample))}",
                key=state.key(f"{name}.sample.{title}"),
                on_click=_take,
                args=(slot, sample),
                width="stretch",
            )
    state.set(**{name: None if text == default else text})
    return text


def choose_shown(state: PageState, found: Sequence[Known], usual: Sequence[str] = SHOWN) -> tuple[Known, ...]:
    """The tokenisers to show, in the page's order; never none."""
    slugs = [one.slug for one in found]
    default = [slug for slug in usual if slug in slugs] or slugs[:1]
    names = {one.slug: label(one) for one in found}
    wanted = state.words("shown")
    with st.popover("Tokenisers", icon=":material/tune:"):
        chosen = st.pills(
            "Shown",
            slugs,
            selection_mode="multi",
            default=default if wanted is None else list(wanted),
            format_func=names.__getitem__,
            key=state.key("shown"),
        )
        st.caption("Models here that read through the very same file share one entry.")
    chosen = [slug for slug in slugs if slug in chosen] or default
    state.set(shown=None if chosen == [slug for slug in slugs if slug in default] else tuple(chosen))
    return tuple(one for one in found if one.slug in chosen)


def inner(state: PageState, name: str, options: Mapping[str, str], first: str) -> str:
    """Which of several views stands below; the link keeps it as ``name``.

    :param options: what each is called, by its word in the link.
    """
    chosen = st.segmented_control(
        "What stands below",
        list(options),
        default=state.text(name, first),
        required=True,
        key=state.key(name),
        format_func=options.__getitem__,
        label_visibility="collapsed",
    )
    state.set(**{name: chosen})
    return str(chosen)


def label(one: Known) -> str:
    """A tokeniser on a menu: its kind and the first model that has it."""
    return FAMILIES[one.family] if not one.readers else f"{FAMILIES[one.family]}: {one.name}"


def one_of(state: PageState, name: str, found: Sequence[Known], text: str) -> Known:
    """A menu of tokenisers; the first is the default."""
    slugs = [one.slug for one in found]
    wanted = state.text(name, slugs[0])
    at = slugs.index(wanted) if wanted in slugs else 0
    names = {one.slug: label(one) for one in found}
    slug = st.selectbox(
        text, slugs, index=at, format_func=names.__getitem__, key=state.key(f"{name}.{slugs[0]}"), width=270
    )
    state.set(**{name: None if slug == slugs[0] else slug})
    return found[slugs.index(slug)]


@st.cache_resource(max_entries=512, ttl=3600.0, show_spinner=False)
def cut_once(one: Known, text: str) -> Cut:
    """:func:`core.tokenizers.cut.cut`, kept; what it gives is read-only."""
    return cut(one, text)


def formula_of(key: str) -> None:
    """A formula of the tokenisers with every letter named, and where it was read."""
    formula(key, formulas(FORMULAS))


def citation(key: str) -> Citation:
    """A text that one of the formulas' file names."""
    return citations(FORMULAS)[key]


def _short(sample: str) -> str:
    line = " ".join(sample.split())
    return line if len(line) <= 44 else f"{line[:43]}…"


def _take(slot: str, sample: str) -> None:
    st.session_state[slot] = sample
