"""One sentence through an encoder, a decoder and an encoder-decoder: a map of words each, and where a word looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from core import checkpoints, links, session
from core.attention.heads import MEANING
from core.attention.views.export import head_table
from core.attention.word_maps import MOST_WORDS, ROLES, WordLook, part_of, strongest, words_of
from core.checkpoints.spec import CheckpointSpec
from core.errors import AtlasError
from core.figures import attention as figures
from core.figures.heads import ELSEWHERE, Row, word_bars
from core.figures.plot import level
from core.language.side_by_side import split
from core.language.text import clean
from core.settings import MAX_LINK_CHARS
from core.table import Table
from core.ui.attention.beside_cross import cross_map
from core.ui.chart import chart
from core.ui.chips import token_chips
from core.ui.export import chart_menu
from core.ui.glossary import terms, told
from core.ui.heads.pictures import saved_as
from core.ui.heads.text import task_menu
from core.ui.notices import warned
from core.ui.page import accent, base_path, plain, theme
from core.ui.text_box import text_box
from core.ui.text_table import TextTable, text_table

if TYPE_CHECKING:
    from core.ui.links import PageState

TEXT = "The cat that the dog chased sat on the mat because it was tired."
WORD = "it"
USUAL = "previous"
SIDES = {
    "Encoder": "encoder",
    "Decoder": "decoder",
    "Encoder-decoder": "encoder-decoder",
}
"""What stands in each column: its name, and the side of its models."""


@dataclass(frozen=True, slots=True)
class _Shown:
    """One model as it is drawn; layer and head from 0."""

    spec: CheckpointSpec
    look: WordLook
    layer: int
    head: int


def beside(state: PageState, specs: Sequence[CheckpointSpec]) -> None:
    """Draw the whole section; reads and writes text, window, role, word, beside, at and task.

    Raises:
        AtlasError: no word can be read, or too many.
    """
    top, chips = st.container(horizontal=True, vertical_alignment="bottom"), st.container()
    sides = {name: own for name, side in SIDES.items() if (own := [one for one in specs if one.family.side == side])}
    columns = st.columns(len(sides), gap="medium")
    chosen = _models(sides, columns, state)
    with top:
        text, role, task = _what(chosen, state)
    with chips:
        text = _part(text, state)
        words = [word.text for word in words_of(text)]
        word = _word(words, state)
    shown = []
    for number, (spec, column) in enumerate(zip(chosen, columns, strict=True)):
        with column:
            try:
                shown.append(_one(spec, number, text, role, task, word, state))
            except AtlasError as error:
                warned(str(error), icon=":material/info:")
    if shown:
        _bars(shown, words, word, state)
        _words(shown)
        for one in shown:
            if one.look.cross is not None:
                cross_map(one.spec, one.look.cross, text, state)
                break


def _models(
    sides: dict[str, list[CheckpointSpec]], columns: Sequence[object], state: PageState
) -> list[CheckpointSpec]:
    """A menu in each column; another model starts with a head of its own."""
    asked = state.words("beside") or ()
    places = _places(state)
    found: list[CheckpointSpec] = []
    usual: list[str] = []
    for number, ((name, own), column) in enumerate(zip(sides.items(), columns, strict=True)):
        names = {spec.slug: spec.name for spec in own}
        first = next((slug for slug in checkpoints.first("attention-beside") if slug in names), own[0].slug)
        before = next((slug for slug in asked if slug in names), first)
        with column:  # type: ignore[attr-defined]
            slug = st.selectbox(
                name,
                list(names),
                index=list(names).index(before),
                key=state.key(f"beside.model.{name}"),
                format_func=names.__getitem__,
            )
        if slug != before:
            places[2 * number : 2 * number + 2] = [0, 0]
        found.append(next(spec for spec in own if spec.slug == slug))
        usual.append(first)
    slugs = [spec.slug for spec in found]
    state.set(beside=None if slugs == usual else tuple(slugs))
    _keep(state, places)
    return found


def _places(state: PageState) -> list[int]:
    """Layer and head of each column as a link has them: from 1, and 0 for the strongest."""
    return [*state.integers("at"), 0, 0, 0, 0, 0, 0][:6]


def _keep(state: PageState, places: Sequence[int]) -> None:
    state.set(at=tuple(places) if any(places) else ())


def _what(chosen: Sequence[CheckpointSpec], state: PageState) -> tuple[str, str, str | None]:
    """The sentence, what the heads are to be strongest at, and the task of an encoder-decoder."""
    text = text_box(state, "text", "Sentence", TEXT, key="beside.text", max_chars=MAX_LINK_CHARS)
    before = state.text("role", USUAL)
    role = st.selectbox(
        "Heads with the most",
        ROLES,
        index=ROLES.index(before) if before in ROLES else 0,
        key=state.key("beside.role"),
        format_func=MEANING.__getitem__,
        width=270,
        help="Of each model the strongest head",
    )
    if role != before:
        state.set(at=())
    state.set(role=None if role == USUAL else role)
    task = None
    for spec in chosen:
        if spec.offers("rewrites"):
            with st.popover("Task"):
                task = task_menu(spec, state)
    return text, str(role), task


def _part(text: str, state: PageState) -> str:
    """``text``, or of one with more words than fit the part that two numbers choose."""
    try:
        total = len(split(clean(text)))
    except AtlasError:
        return text  # whatever reads it says what is wrong
    if total <= MOST_WORDS:
        state.set(window=())
        return text
    asked = state.integers("window")
    first, last = asked if len(asked) == 2 else (1, MOST_WORDS)
    first = min(max(first, 1), total)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        first = int(
            st.number_input("From word", 1, total, first, 10, key=state.key(f"beside.first.{total}"), width=140)
        )
        reach = min(first + MOST_WORDS - 1, total)
        last = last if first <= last <= reach else reach
        last = int(
            st.number_input("to word", first, reach, last, 10, key=state.key(f"beside.last.{total}.{first}"), width=140)
        )
        st.caption(
            f"This text has {total:,} words and marks. The models read words {first:,} to {last:,} of it as a text of "
            f"their own; up to {MOST_WORDS} fit side by side."
        )
    state.set(window=() if (first, last) == (1, MOST_WORDS) else (first, last))
    return part_of(text, first, last)


def _word(words: Sequence[str], state: PageState) -> int:
    """The chosen word, from 0, out of the sentence as chips."""
    usual = words.index(WORD) if WORD in words else len(words) - 1
    before = min(state.number("word", usual + 1), len(words)) - 1
    picked = token_chips(
        words,
        selected=[before],
        key=state.key("beside.words"),
        label="The word that looks",
        clearable=False,
        notes=["where does this word look?"] * len(words),
    )
    word = picked[0] if picked else before
    state.set(word=None if word == usual else word + 1)
    return word


def _one(
    spec: CheckpointSpec, number: int, text: str, role: str, task: str | None, word: int, state: PageState
) -> _Shown:
    """A column: which head, and its map with the chosen word's row framed."""
    with st.spinner("Running the model"):
        look = session.word_look(spec.slug, text, task if spec.offers("rewrites") else None)
    best = strongest(look, role)
    layer, head = best or strongest(look, USUAL) or (0, 0)
    place = st.container()
    layer, head = _menus(spec, look, number, role, (layer, head), state)
    figure = figures.attention_map(look.found, layer, head, theme=theme())
    colour = accent(spec.branch)
    figure.update_traces(showscale=False)
    figure.update_layout(
        height=360,
        xaxis={"title": None, "tickangle": -90},
        yaxis={"title": None},
        shapes=[level(edge, color=colour, width=2) for edge in (word - 0.5, word + 0.5)],
    )
    with place:
        chart(
            figure,
            key=state.key(f"beside.map.{number}"),
            config=saved_as(f"{spec.slug}-{layer + 1}-{head + 1}"),
            alt=f"{spec.name}, layer {layer + 1}, head {head + 1}: {len(look.found.key_tokens)} words down and across. "
            "The table below has the row of the chosen word.",
        )
        chart_menu(
            state.key(f"beside.map.{number}"),
            f"{spec.slug}-{layer + 1}-{head + 1}-words",
            title=f"{spec.name}, layer {layer + 1}, head {head + 1}, in words",
            alt=f"The words of “{text}”: each row is a word that looks.",
            table=partial(head_table, look.found, layer, head),
        )
    wanted: dict[str, links.Value] = {"model": spec.slug, "text": text, "layer": layer + 1, "head": head + 1}
    if len(spec.family.streams) > 1:
        wanted |= {"map": "encoder", "task": task if spec.offers("rewrites") else None}
    href = escape(base_path() + links.url("attention", wanted))
    st.html(f'<a href="{href}" style="color:inherit">Its tokens, under One head</a>')
    able = look.found.computed(layer, head)
    joined = [name for i, name in enumerate(look.found.key_tokens) if not able[:, i].any()]
    if joined:
        st.caption(
            f"No token begins in “{plain(' '.join(joined))}”, "
            + terms("which this tokeniser joins to what stands before it.")
        )
    if look.found.note:
        st.caption(plain(look.found.note))
    if best is None:
        st.caption(f"This model never has {MEANING[role]}; its head with the most {MEANING[USUAL]} is shown.")
    return _Shown(spec, look, layer, head)


def _menus(
    spec: CheckpointSpec, look: WordLook, number: int, role: str, usual: tuple[int, int], state: PageState
) -> tuple[int, int]:
    places = _places(state)
    taken = []
    with st.container(horizontal=True):
        for side, (name, size) in enumerate((("Layer", look.found.layers), ("Head", look.found.heads))):
            asked = places[2 * number + side]
            first = asked if 1 <= asked <= size else usual[side] + 1
            value = int(
                st.selectbox(
                    name,
                    range(1, size + 1),
                    index=first - 1,
                    width=96,
                    key=state.key(f"beside.{name}.{spec.slug}.{role}"),
                )
            )
            places[2 * number + side] = 0 if value == usual[side] + 1 else value
            taken.append(value - 1)
    _keep(state, places)
    return taken[0], taken[1]


def _bars(shown: Sequence[_Shown], words: Sequence[str], word: int, state: PageState) -> None:
    st.markdown(f"**Where “{plain(words[word])}” looks**, the word at the dotted line")
    rows = [
        Row(
            one.spec.name,
            accent(one.spec.branch),
            one.look.found.weights[one.layer, one.head, word],
            one.look.found.computed(one.layer, one.head)[word],
            float(one.look.rest[one.layer, one.head, word]),
        )
        for one in shown
    ]
    chart(
        word_bars(words, word, rows, theme=theme()),
        key=state.key("beside.bars"),
        alt=f"Where “{words[word]}” looks in {len(rows)} models; the table below has the numbers.",
    )
    every = [*words, ELSEWHERE]
    numbers = [
        [
            *(f"{w:.3f}" if seen else "not computed" for w, seen in zip(row.weights, row.computed, strict=True)),
            f"{row.rest:.3f}",
        ]
        for row in rows
    ]
    chart_menu(
        state.key("beside.bars"),
        "side-by-side",
        title=f"Where “{words[word]}” looks",
        alt=f"In the sentence “{' '.join(words)}”, by {', '.join(row.title for row in rows)}.",
        table=lambda: Table(("word", *(row.title for row in rows)), tuple(zip(every, *numbers, strict=True))),
    )
    with st.expander("As a table"):
        text_table(
            TextTable(
                ("Word", *(row.title for row in rows)),
                [
                    (
                        f"{i + 1} {name}" if i < len(words) else name,
                        *(own[i] for own in numbers),
                    )
                    for i, name in enumerate(every)
                ],
                caption=f"Where “{words[word]}” looks",
                widths=(25, *[75 // len(rows)] * len(rows)),
                numeric=tuple(range(1, len(rows) + 1)),
            )
        )


def _words(shown: Sequence[_Shown]) -> None:
    told(
        "**Try** another word of the sentence, then another kind of head: “weight on the token after” is something "
        "that a decoder cannot have."
    )
    kept = (f"{plain(one.spec.name)} {float(np.mean(one.look.rest[one.layer, one.head])):.0%}" for one in shown)
    decoder = any(one.look.found.kind == "decoder" for one in shown)
    told(
        "**Notice** "
        + ("that the upper right of the decoder is grey: it never computes what comes later. " if decoder else "")
        + f"What goes to special tokens, or to the words of a task, belongs to no word: {', '.join(kept)} of these "
        "heads' weight."
    )
