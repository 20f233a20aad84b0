"""The row of controls over the picture: objective, settings, seed. All of it is kept in the page's state."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import streamlit as st

from core.ui.links import PageState
from core.ui.objectives.entry import Entry, Line, Number, Option, Setting, Several

SEEDS = 2**31
UNITS = {"nats": "nats", "bits": "bits"}


def choose_entry(entries: Mapping[str, Entry], state: PageState) -> Entry:
    """The menu of objectives, grouped by branch as the entries are."""
    slugs = list(entries)
    wanted = state.text("objective")
    slug = st.selectbox(
        "Objective", slugs, index=slugs.index(wanted) if wanted in entries else 0, key=state.key("objective"),
        format_func=lambda slug: f"{entries[slug].name} ({entries[slug].systems})", width=345,
    )  # fmt: skip
    state.set(objective=None if slug == slugs[0] else slug)
    return entries[slug]


def choose_seed(state: PageState) -> int:
    """The seed, and the button that draws the next one."""
    slot = state.key("seed")
    st.session_state.setdefault(slot, state.number("seed"))
    seed = int(st.number_input("Seed", 0, SEEDS - 1, step=1, key=slot, persist_state="page", width=100) or 0)
    st.button("Again", key=state.key("again"), help="Draw anew, with the next seed", on_click=_next, args=(slot,))
    state.set(seed=seed or None)
    return seed


def _next(slot: str) -> None:
    st.session_state[slot] = (int(st.session_state[slot] or 0) + 1) % SEEDS


def settings(entry: Entry, chosen: Sequence[Setting], state: PageState, names: Collection[str]) -> dict[str, int | str]:
    """Draw some settings of ``entry``; ``names`` are those of all entries, of which others' leave the link."""
    own = {setting.name for setting in entry.settings}
    state.set(**{name: None for name in names if name not in own})
    return {setting.name: _setting(entry, setting, state) for setting in chosen}


def _setting(entry: Entry, setting: Setting, state: PageState) -> int | str:
    key = state.key(f"{entry.slug}.{setting.name}")
    value: int | str
    match setting:
        case Number():
            start = state.number(setting.name, setting.default)
            start = start if setting.low <= start <= setting.high else setting.default
            value = int(
                st.number_input(
                    setting.label, setting.low, setting.high, start, setting.step, key=key, help=setting.help or None,
                    width=140,
                )
            )  # fmt: skip
        case Option():
            slugs = list(setting.options)
            start_word = state.text(setting.name, setting.default)
            value = str(
                st.selectbox(
                    setting.label, slugs, index=slugs.index(start_word if start_word in slugs else setting.default),
                    format_func=setting.options.__getitem__, key=key, help=setting.help or None, width=160,
                )
            )  # fmt: skip
        case Line():
            value = str(
                st.text_input(
                    setting.label,
                    state.text(setting.name, setting.default),
                    key=key,
                    help=setting.help or None,
                    width=340,
                )
                or ""
            )
        case Several():
            return _several(setting, key, state)
    state.set(**{setting.name: None if value == setting.default else value})
    return value


def _several(setting: Several, key: str, state: PageState) -> str:
    known = state.words(setting.name)
    chosen = st.pills(
        setting.label, list(setting.options), format_func=setting.options.__getitem__, selection_mode="multi", key=key,
        default=[word for word in (setting.default if known is None else known) if word in setting.options],
        help=setting.help or None,
    )  # fmt: skip
    words = tuple(word for word in setting.options if word in chosen)
    state.set(**{setting.name: None if set(words) == set(setting.default) else words})
    return ",".join(words)


def choose_model(entry: Entry, names: Mapping[str, str], state: PageState) -> str:
    """Which of the live models is asked; no menu where there is one."""
    slugs = [slug for slug in entry.models if slug in names]
    if len(slugs) < 2:
        state.set(model=None)
        return slugs[0] if slugs else entry.models[0]
    wanted = state.text("model", slugs[0])
    slug = st.selectbox(
        "Model", slugs, index=slugs.index(wanted) if wanted in slugs else 0, format_func=names.__getitem__,
        key=state.key(f"{entry.slug}.model"), width=200,
    )  # fmt: skip
    state.set(model=None if slug == slugs[0] else slug)
    return str(slug)


def choose_unit(state: PageState) -> str:
    """In what the losses are written."""
    unit = st.segmented_control(
        "Loss in", list(UNITS), default=state.text("unit", "nats"), key=state.key("unit"), required=True
    )
    state.set(unit=None if unit == "nats" else unit)
    return str(unit)
