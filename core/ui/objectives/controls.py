"""The row of controls over the picture: objective, settings, seed. All of it is kept in the page's state."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import streamlit as st

from core.ui.links import PageState, instead, within
from core.ui.objectives.entry import Entry, Line, Number, Option, Setting, Several
from core.ui.text_box import text_box

SEEDS = 2**31
UNITS = {"nats": "nats", "bits": "bits"}


def choose_entry(entries: Mapping[str, Entry], state: PageState) -> Entry:
    """The menu of objectives, grouped by branch as the entries are."""
    slugs = list(entries)
    wanted = state.text("objective")
    slug = st.selectbox(
        "Objective",
        slugs,
        index=slugs.index(wanted) if wanted in entries else 0,
        key=state.key("objective"),
        format_func=lambda slug: f"{entries[slug].name} ({entries[slug].systems})",
        width=345,
    )
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
            linked = state.number(setting.name, setting.default)
            start = within(state, setting.label, linked, setting.low, setting.high, setting.default)
            value = int(
                st.number_input(
                    setting.label,
                    setting.low,
                    setting.high,
                    start,
                    setting.step,
                    key=key,
                    help=setting.help or None,
                    width=140,
                )
            )
        case Option():
            slugs = list(setting.options)
            word = state.text(setting.name, setting.default)
            if word not in slugs:
                instead(
                    state, f"{setting.label}: there is no “{word[:40]}”. {setting.options[setting.default]} is taken."
                )
                word = setting.default
            value = str(
                st.selectbox(
                    setting.label,
                    slugs,
                    index=slugs.index(word),
                    format_func=setting.options.__getitem__,
                    key=key,
                    help=setting.help or None,
                    width=160,
                )
            )
        case Line():
            name, label, usual, help = setting.name, setting.label, setting.default, setting.help or None
            return text_box(state, name, label, usual, key=f"{entry.slug}.{name}", help=help, width=340)
        case Several():
            return _several(setting, key, state)
    state.set(**{setting.name: None if value == setting.default else value})
    return value


def _several(setting: Several, key: str, state: PageState) -> str:
    known = state.words(setting.name)
    if strange := [word for word in known or () if word not in setting.options]:
        instead(state, f"{setting.label}: there is no “{strange[0][:40]}”. It is left out.")
    chosen = st.pills(
        setting.label,
        list(setting.options),
        format_func=setting.options.__getitem__,
        selection_mode="multi",
        key=key,
        default=[word for word in (setting.default if known is None else known) if word in setting.options],
        help=setting.help or None,
    )
    words = tuple(word for word in setting.options if word in chosen)
    state.set(**{setting.name: None if set(words) == set(setting.default) else words})
    return ",".join(words)


def choose_model(entry: Entry, names: Mapping[str, str], state: PageState) -> str:
    """Which of the live models is asked; no menu where there is one."""
    slugs = [slug for slug in entry.models if slug in names]
    if len(slugs) < 2:
        slug = slugs[0] if slugs else entry.models[0]
        if (wanted := state.text("model", slug)) != slug:
            instead(state, f"{names.get(wanted, wanted[:40])} is not asked here. {names.get(slug, slug)} is.")
        state.set(model=None)
        return slug
    wanted = state.text("model", slugs[0])
    if wanted not in slugs:
        instead(state, f"{names.get(wanted, wanted[:40])} is not asked here. {names[slugs[0]]} is.")
    slug = st.selectbox(
        "Model",
        slugs,
        index=slugs.index(wanted) if wanted in slugs else 0,
        format_func=names.__getitem__,
        key=state.key(f"{entry.slug}.model"),
        width=200,
    )
    state.set(model=None if slug == slugs[0] else slug)
    return str(slug)


def ask_relative(entry: Entry, name: str, state: PageState) -> bool:
    """Whether a live model is asked: at once where it was trained with the objective, a relative on request."""
    if not entry.relative:
        state.set(relative=None)
        return entry.answer is not None
    on = st.toggle(
        f"Ask {name}, a relative",
        state.text("relative") == "yes",
        key=state.key(f"{entry.slug}.relative"),
        help="No model here was trained with this objective",
    )
    state.set(relative="yes" if on else None)
    return bool(on)


def choose_unit(state: PageState) -> str:
    """In what the losses are written."""
    unit = st.segmented_control(
        "Loss in", list(UNITS), default=state.text("unit", "nats"), key=state.key("unit"), required=True
    )
    state.set(unit=None if unit == "nats" else unit)
    return str(unit)
