"""What the visitor chooses: up to three masks with their settings, what joins them, and what stands at the axes."""

from __future__ import annotations

import re

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.attention.masks import axes as axes_of
from core.attention.masks.axes import MOST, Axes
from core.attention.masks.kinds import KINDS, Setting
from core.attention.masks.words import JOINS, MOST_TERMS, Choice, Join, Term, read, usual, write
from core.errors import OutOfRange
from core.language.text import clean
from core.links import parameters as link
from core.ui.links import PageState
from core.ui.notices import warning
from core.ui.param import Carried, Integer, Text

SENTENCE = "The king gave his daughter a golden ring."
WRITTEN = "Le roi donna une bague à sa fille."
USUAL = "causal"
MOST_CHARACTERS = 600
"""As long as a text of the objectives, which the page keeps when one goes from there to the masks and back."""
PATTERN = Text(name="pattern", label="Mask", default=USUAL)
SENTENCE_BOX = Text(
    name="text",
    label="Your sentence",
    default=SENTENCE,
    help="Split into words and marks: a mask depends on positions, not on tokens",
)
TOKENS = Carried(name="tokens", label="Or just a length", as_=link.Integer(None, 2, MOST))
QUERIES = Text(
    name="queries",
    label="Text that is written",
    default=WRITTEN,
    most=MOST_CHARACTERS,
    width=250,
    help="Its tokens attend to those of your sentence",
)
SIDE = Integer(
    name="side",
    label="Image side",
    default=4,
    low=2,
    high=7,
    width=135,
    help="Tokens in a row of the image, and rows. DALL-E has 32",
)
CAPTION = Integer(
    name="caption",
    label="Caption",
    default=6,
    low=0,
    high=60,
    width=135,
    help="Its tokens before the image. DALL-E has 256",
)
"""Side and caption begin with the sizes of the paper's drawing of DALL-E's masks: 6 text tokens, 4 x 4 image tokens."""
AXES = (TOKENS, QUERIES, SIDE, CAPTION)
_ALONE = "alone"
_NUMBER = re.compile(r"\d+")


def chosen(state: PageState) -> tuple[Choice, Axes]:
    """Draw the rows of menus; reads and writes ``pattern`` and what stands at the axes.

    Raises:
        AtlasError: a text that cannot be used, as a sentence.
    """
    choice, row = _masks(state)
    with row:
        return choice, _axes(choice, state)


def _masks(state: PageState) -> tuple[Choice, DeltaGenerator]:
    """The choice, and the last row of its menus, which has room for more."""
    linked = _linked(state)
    terms: list[Term] = []
    joins: list[Join] = []
    for slot in range(MOST_TERMS):
        row = st.container(horizontal=True, vertical_alignment="bottom")
        with row:
            terms.append(_term(slot, linked, terms, state))
            join = _join(slot, linked, terms, state) if slot + 1 < MOST_TERMS else None
        if join is None:
            break
        joins.append(join)
    choice = Choice(tuple(terms), tuple(joins[: len(terms) - 1]))
    word = write(choice)
    state.set(pattern=None if word == USUAL else word)
    return choice, row


def _axes(choice: Choice, state: PageState) -> Axes:
    """What stands at the axes; reads and writes ``text``, ``tokens``, ``queries``, ``caption``, ``side``."""
    text = SENTENCE_BOX.draw(state, tag="masks")
    count = None
    if choice.layout == "text":
        count = st.number_input(
            TOKENS.label,
            2,
            MOST,
            state.number("tokens") or None,
            key=state.key(TOKENS.name),
            placeholder="none",
            width=140,
            help="So many numbered positions, up to 64, instead of the sentence",
        )
    written = QUERIES.draw(state) if choice.layout == "two" else ""
    caption, side = _sizes(state) if choice.layout == "image" else (0, 0)
    state.set(tokens=count)
    words = axes_of.numbered(count) if count else axes_of.split(clean(text, MOST_CHARACTERS))
    room = MOST - choice.padded if choice.layout != "image" else MOST
    if len(words) > room:
        padded = f", the last {choice.padded} of which are padding" if choice.padded else ""
        st.caption(f"{len(words)} tokens are more than can be drawn: {MOST} fit{padded}.")
    if choice.layout == "two":
        return axes_of.two_texts(axes_of.split(clean(written, MOST_CHARACTERS)), words, choice.padded)
    if choice.layout == "image":
        return axes_of.picture(words, caption, side)
    return axes_of.one_text(words, choice.padded)


def _linked(state: PageState) -> Choice:
    """The choice that the link carries; the usual one, with a sentence, where it is none."""
    word = state.text("pattern", USUAL)
    try:
        return read(word)
    except OutOfRange as error:
        warning(f"The link's mask cannot be read. {error} The usual one is shown.", icon=":material/link_off:")
        state.set(pattern=None)
        return read(USUAL)


def _term(slot: int, linked: Choice, before: list[Term], state: PageState) -> Term:
    there = linked.terms[slot] if slot < len(linked.terms) else None
    offered = [kind for kind in KINDS if _fits(before, kind)]
    first = there.kind if there is not None and there.kind in offered else "window" if "window" in offered else None
    kind = str(
        st.selectbox(
            "Mask" if slot == 0 else f"Mask {slot + 1}",
            offered,
            index=offered.index(first) if first else 0,
            format_func=lambda key: KINDS[key].title,
            key=state.key(f"masks.kind.{slot}"),
            width=200,
        )
    )
    given = there.numbers if there is not None and there.kind == kind else usual(kind)
    if KINDS[kind].many:
        return Term(kind, _places(slot, kind, given, state))
    numbers = tuple(
        _number(setting, number, state.key(f"masks.{slot}.{kind}.{index}"))
        for index, (setting, number) in enumerate(zip(KINDS[kind].settings, given, strict=True))
    )
    try:
        return Term(kind, numbers)
    except OutOfRange as error:
        warning(f"{error} Shown with its usual settings.", icon=":material/info:")
        return Term(kind, usual(kind))


def _fits(before: list[Term], kind: str) -> bool:
    """Whether a mask can be joined to those before it."""
    try:
        Choice((*before, Term(kind, usual(kind))), (JOINS[0],) * len(before))
    except OutOfRange:
        return False
    return True


def _number(setting: Setting, number: int, key: str) -> int:
    if setting.names:
        options = range(setting.low, setting.low + len(setting.names))
        return int(
            st.selectbox(
                setting.label,
                options,
                index=number - setting.low,
                key=key,
                width=180,
                format_func=lambda value: setting.names[value - setting.low].capitalize(),
            )
        )
    return int(
        st.number_input(
            setting.label,
            setting.low,
            setting.high,
            number,
            setting.step,
            key=key,
            width=140,
            help=setting.help or None,
        )
    )


def _places(slot: int, kind: str, given: tuple[int, ...], state: PageState) -> tuple[int, ...]:
    """Places typed as numbers with anything between them."""
    most = KINDS[kind].many
    typed = st.text_input(
        "Positions, from 0",
        ", ".join(map(str, given)),
        max_chars=60,
        key=state.key(f"masks.{slot}.{kind}"),
        width=170,
        help=f"Up to {most} positions, with commas between them",
    )
    found = sorted({int(digits) for digits in _NUMBER.findall(typed) if len(digits) <= 4 and digits.isascii()})
    if not found or len(found) > most:
        st.caption(f"Type one to {most} positions, such as 0, 5.")
    return tuple(found[:most]) or usual(kind)


def _join(slot: int, linked: Choice, terms: list[Term], state: PageState) -> Join | None:
    there = linked.joins[slot] if slot < len(linked.joins) else _ALONE
    options = (_ALONE, *JOINS)
    taken = st.selectbox(
        "Combine with",
        options,
        index=options.index(there),
        key=state.key(f"masks.join.{slot}"),
        width=115,
        format_func=lambda option: "nothing" if option == _ALONE else option,
        help="and: what both allow. or: what either allows. without: what the first allows and the next does not",
    )
    return next((join for join in JOINS if join == taken), None)


def _sizes(state: PageState) -> tuple[int, int]:
    side = SIDE.draw(state)
    most = MOST - side * side
    state.set(caption=min(state.number("caption", CAPTION.default), most))  # a larger image has room for fewer
    return CAPTION.with_(high=most).draw(state, tag=str(side)), side
