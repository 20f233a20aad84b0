"""The controls: a mask with its settings, and the tokens of the axes."""

from __future__ import annotations

import re

import streamlit as st

from core.attention.masks import axes as axes_of
from core.attention.masks import kinds
from core.attention.masks.axes import MOST, Axes
from core.errors import OutOfRange
from core.language.text import clean
from core.links import parameters as link
from core.ui.glossary import warning
from core.ui.param import Carried, Integer, Text
from core.ui.section import View

SENTENCE = "The king gave his daughter a golden ring."
USUAL = "causal"
MOST_CHARACTERS = 600
"""The limit of a text of the objectives, which this section shares."""
PATTERN = Text(name="pattern", label="Mask", default=USUAL)
SENTENCE_BOX = Text(name="text", label="Sentence", default=SENTENCE, sentence="plain")
TOKENS = Carried(name="tokens", label="Or a length", as_=link.Integer(None, 2, MOST))
QUERIES = Text(
    name="queries",
    label="Target text",
    default="Le roi donna une bague à sa fille.",
    most=MOST_CHARACTERS,
    width=250,
)
SIDE = Integer(name="side", label="Image side", default=4, low=2, high=7, width=135)
CAPTION = Integer(name="caption", label="Caption", default=6, low=0, high=60, width=135)
"""The defaults are the sizes of the figure in DALL-E's paper: 6 text tokens, 4 x 4 image tokens."""
AXES = (TOKENS, QUERIES, SIDE, CAPTION)
_POSITION = re.compile("[0-9]{1,4}")


def chosen(view: View) -> tuple[kinds.ChosenMask, Axes]:
    """Draw the row of controls; reads and writes ``pattern`` and the parameters of the axes."""
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        choice = _mask(_linked(view), view)
        word = kinds.format_mask(choice)
        state.set(pattern=None if word == USUAL else word)
        return choice, _axes(choice, view)


def _linked(view: View) -> kinds.ChosenMask:
    """The mask of the link; the default, with a warning, if it is invalid."""
    state = view.state
    try:
        return kinds.parse_mask(state.text("pattern", USUAL))
    except OutOfRange as error:
        warning(f"{view.words.part('Unreadable')} {error}", icon=":material/link_off:")
        state.set(pattern=None)
        return kinds.parse_mask(USUAL)


def _mask(linked: kinds.ChosenMask, view: View) -> kinds.ChosenMask:
    offered = list(kinds.KINDS)
    kind = st.selectbox(
        "Mask",
        offered,
        index=offered.index(linked.kind),
        format_func=lambda key: kinds.KINDS[key].title,
        key=view.state.key("masks.kind"),
        persist_state="session",
        width=200,
    )
    numbers, key = linked.numbers if linked.kind == kind else kinds.usual(kind), f"masks.{kind}"
    if kinds.KINDS[kind].many:
        return kinds.ChosenMask(kind, _positions(kind, numbers, view.state.key(key), view))
    settings = enumerate(zip(kinds.KINDS[kind].settings, numbers, strict=True))
    try:
        return kinds.ChosenMask(
            kind,
            tuple(_number(kind, setting, number, view.state.key(f"{key}.{i}")) for i, (setting, number) in settings),
        )
    except OutOfRange as error:
        warning(f"{error} {view.words.part('Default settings')}", icon=":material/info:")
        return kinds.ChosenMask(kind, kinds.usual(kind))


def _number(kind: str, setting: kinds.Setting, number: int, key: str) -> int:
    low = setting.low
    if setting.names:
        names = [name.capitalize() for name in setting.names]
        return low + names.index(
            st.selectbox(setting.label, names, index=number - low, key=key, persist_state="session", width=180)
        )
    help = kinds.setting_help(kind, setting.label)
    return int(
        st.number_input(
            setting.label,
            low,
            setting.high,
            number,
            setting.step,
            key=key,
            persist_state="session",
            width=140,
            help=help,
        )
    )


def _positions(kind: str, numbers: tuple[int, ...], key: str, view: View) -> tuple[int, ...]:
    """Positions from typed numbers with any separator."""
    most = kinds.KINDS[kind].many
    help = view.words.part("Positions: help", most=most)
    shown = ", ".join(map(str, numbers))
    typed = st.text_input(
        "Positions, from 0", shown, max_chars=60, key=key, persist_state="session", width=170, help=help
    )
    positions = sorted({int(digits) for digits in _POSITION.findall(typed)})
    if not 0 < len(positions) <= most:
        view.note("Positions", most=most)
    return tuple(positions[:most]) or kinds.usual(kind)


def _axes(choice: kinds.ChosenMask, view: View) -> Axes:
    """The tokens of the axes; reads and writes ``text``, ``tokens``, ``queries``, ``caption``, ``side``."""
    state, words = view.state, view.words
    text, count = SENTENCE_BOX.with_(help=words.label("sentence")).draw(state, tag="masks"), None
    if choice.layout == "text":
        key, help = state.key(TOKENS.name), words.label("length")
        count = st.number_input(
            TOKENS.label, 2, MOST, state.number("tokens") or None, key=key, placeholder="none", width=140, help=help
        )
    state.set(tokens=count)
    tokens = axes_of.numbered(count) if count else axes_of.split(clean(text, MOST_CHARACTERS))
    if choice.layout == "image":
        side = SIDE.with_(help=words.label("side")).draw(state)
        most = MOST - side * side
        state.set(caption=min(state.number("caption", CAPTION.default), most))  # a larger image has room for fewer
        caption = CAPTION.with_(high=most, help=words.label("caption")).draw(state, tag=str(side))
        return axes_of.picture(tokens, caption, side)
    if len(tokens) > MOST - choice.padded:
        view.note("Too many", count=len(tokens), most=MOST, padded=choice.padded)
    if choice.layout == "two":
        written = axes_of.split(clean(QUERIES.with_(help=words.label("queries")).draw(state), MOST_CHARACTERS))
        return axes_of.two_texts(written, tokens, choice.padded)
    return axes_of.one_text(tokens, choice.padded)
