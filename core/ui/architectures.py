"""One sentence in an encoder, a decoder and an encoder-decoder: word-level maps, and one query's row in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape

import numpy as np
import streamlit as st

from core import checkpoints, links, session
from core.attention import word_maps
from core.attention.heads import meaning
from core.attention.trace import AttentionMap
from core.attention.views.export import head_table
from core.checkpoints.spec import CheckpointSpec
from core.errors import AtlasError
from core.figures import attention as figures
from core.figures.heads import ELSEWHERE, ModelWeights, word_bars
from core.figures.labels import percent
from core.language.side_by_side import split
from core.language.text import clean
from core.links import parameters as link
from core.links.parameters import Value
from core.settings import MAX_LINK_CHARS
from core.table import Table
from core.ui.attention.setup import MODEL
from core.ui.glossary import sentences, terms, warning
from core.ui.heads.text import TASK, WINDOW, part_numbers, task_names
from core.ui.links import PageState
from core.ui.page import accent, base_path, plain, theme
from core.ui.panel import Panel
from core.ui.param import Carried, Choice, Integer, Text, differing, draw_settings, menu_names, settings_popover
from core.ui.section import Section, View
from core.ui.selection import Selection

WORD = "it"
SENTENCE = Text(
    name="text",
    label="Sentence",
    default="The cat that the dog chased sat on the mat because it was tired.",
    most=MAX_LINK_CHARS,
    sentence="plain",
)
ROLE = Choice(
    name="role",
    label="Heads with the most",
    options={role: role for role in word_maps.ROLES},
    default=word_maps.BOTH,
    width=270,
    resets=("at",),
)
CHOSEN = Carried(name="word", label="Word", as_=link.Integer(None, 1, 40))
MODELS = Carried(name="beside", label="Models", as_=link.Words(most=3))
AT = Carried(name="at", label="Layers and heads", as_=link.Integers(high=256, most=6))
SIDES = {"Encoder": "encoder", "Decoder": "decoder", "Encoder-decoder": "encoder-decoder"}
"""The name of each column, and the side of its models."""
_MENUS = tuple(Integer(name=name, label=name, low=1, high=256, style="menu", width=96) for name in ("Layer", "Head"))


@dataclass(frozen=True, slots=True)
class _Sentence:
    """The input of all models, and the selection in it."""

    text: str
    words: tuple[str, ...]
    selection: Selection
    """The query among them."""
    role: str
    task: str | None
    """Of an encoder-decoder."""


@dataclass(frozen=True, slots=True)
class _Menus:
    """The menus of one column: its model, and the layer and head of that."""

    title: str
    candidates: Mapping[str, CheckpointSpec]
    spec: CheckpointSpec
    """The model that stands in the menu."""
    usual: str
    heads: list[tuple[Integer, str, int]] = field(default_factory=list)
    """Menus of layer and head with their slots and values, where the model could be run."""

    def draw(self, state: PageState) -> None:
        names = menu_names(self.candidates.values())
        st.selectbox(
            self.title,
            list(names),
            index=list(names).index(self.spec.slug),
            key=state.key(f"beside.model.{self.title}"),
            format_func=names.__getitem__,
        )
        with st.container(horizontal=True):
            for menu, slot, value in self.heads:
                menu.widget(state, slot, value)


@dataclass(frozen=True, slots=True)
class _Shown:
    """One model's column; layer and head from 0."""

    spec: CheckpointSpec
    read: word_maps.WordAttention
    layer: int
    head: int


def beside(view: View) -> None:
    state = view.state
    top, chips = st.container(horizontal=True, vertical_alignment="bottom"), st.container()
    specs = MODEL.offered().values()
    by_side = {name: [spec for spec in specs if spec.family.side == side] for name, side in SIDES.items()}
    sides = {name: candidates for name, candidates in by_side.items() if candidates}
    with top:
        text, role = SENTENCE.draw(state), _role(view)
    heads = [*state.integers(AT.name), 0, 0, 0, 0, 0, 0][:6]  # as a link has them: from 1, and 0 for the strongest
    menus = _models(sides, heads, state)
    tasks = [TASK.with_(options=task_names(menu.spec)) for menu in menus if menu.spec.offers("rewrites")]
    task = tasks[0].standing(state) if tasks else None
    with chips:
        text = _part(text, view)
        words = tuple(word.text for word in word_maps.words_of(text))
        usual = words.index(WORD) if WORD in words else len(words) - 1
        selection = Selection(state, words, usual=usual, param=CHOSEN, tag="beside")
        notes = [view.words.label("choose")] * len(words)
        selection.chips(view.words.label("query"), accent="encoder", notes=notes)
        sentence = _Sentence(text, words, selection, role, task)
    shown = []
    with st.container(key="atlas-three"):
        columns = st.columns(len(menus), gap="medium")
    for number, (menu, column) in enumerate(zip(menus, columns, strict=True)):
        with column, sentences():
            shown.append(_model(menu, number, sentence, heads, view))
    changed = sum(menu.spec.slug != menu.usual for menu in menus) + sum(map(bool, heads))
    with top, settings_popover(state, changed + differing(state, *tasks)):
        for menu, column in zip(menus, st.columns(len(menus)), strict=True):
            with column:
                menu.draw(state)
        draw_settings(state, *tasks)
    state.set(at=tuple(heads) if any(heads) else None)
    if not shown:
        return
    _bars(shown, sentence, state)
    shares = (
        f"{plain(model.spec.name)} {percent(float(np.mean(model.read.rest[model.layer, model.head])))}"
        for model in shown
    )
    decoder = any(model.read.attention_map.causal for model in shown)
    view.try_and_notice("decoder" if decoder else "", shares=", ".join(shares))
    for model in shown:
        if model.read.cross is not None:
            _cross_map(model.spec, model.read.cross, view)
            break


def _models(sides: dict[str, list[CheckpointSpec]], heads: list[int], state: PageState) -> list[_Menus]:
    """The model of each column, as its menu stands; another model starts with its default head."""
    linked = state.words(MODELS.name) or ()
    menus = []
    for number, (title, candidates) in enumerate(sides.items()):
        by_slug = {spec.slug: spec for spec in candidates}
        usual = next((slug for slug in checkpoints.first("transformer-beside") if slug in by_slug), candidates[0].slug)
        before = next((slug for slug in linked if slug in by_slug), usual)
        slug = st.session_state.get(state.key(f"beside.model.{title}"), before)
        if slug != before:
            heads[2 * number : 2 * number + 2] = [0, 0]
        menus.append(_Menus(title, by_slug, by_slug[slug], usual))
    offered = {spec.slug for candidates in sides.values() for spec in candidates}
    if unknown := [slug for slug in linked if slug not in offered]:
        warning(f"The link names the model “{unknown[0][:40]}”, which is not here.", icon=":material/link_off:")
    slugs = [menu.spec.slug for menu in menus]
    state.set(beside=None if slugs == [menu.usual for menu in menus] else tuple(slugs))
    return menus


def _part(text: str, view: View) -> str:
    """``text``, or the span of words that two boxes select if it is too long."""
    state = view.state
    try:
        total = len(split(clean(text)))
    except AtlasError:
        return text  # the model's own error says what is wrong
    if total <= word_maps.MOST_WORDS:
        state.set(window=None)
        return text

    def ends(first: int) -> tuple[int, int]:
        return first, min(first + word_maps.MOST_WORDS - 1, total)

    with st.container(horizontal=True, vertical_alignment="bottom"):
        first, last = part_numbers(state, WINDOW.name, "word", "beside", total, (1, word_maps.MOST_WORDS), ends)
        view.note("Long", total=f"{total:,}", first=f"{first:,}", last=f"{last:,}", most=word_maps.MOST_WORDS)
    return word_maps.part_of(text, first, last)


def _role(view: View) -> str:
    """The score whose strongest head each model shows."""
    names = {role: meaning(role) for role in word_maps.ROLES}
    return ROLE.with_(options=names, help=view.words.part("Role")).draw(view.state)


def _model(menus: _Menus, number: int, sentence: _Sentence, heads: list[int], view: View) -> _Shown:
    """Draw a column's map with the selected word's row framed; its menus' values change ``heads``."""
    state, spec, text, role = view.state, menus.spec, sentence.text, sentence.role
    task = sentence.task if spec.offers("rewrites") else None
    read = session.computed("running-the-model", word_maps.word_attention, spec.slug, text, task)
    attention_map, best = read.attention_map, word_maps.strongest(read, role)
    usual = best or word_maps.strongest(read, "previous") or (0, 0)
    for side, size in enumerate((attention_map.layers, attention_map.heads)):
        at, menu = 2 * number + side, _MENUS[side].with_(high=size)
        slot = f"beside.{menu.name}.{spec.slug}.{role}"
        value = st.session_state.get(state.key(slot), heads[at] if 1 <= heads[at] <= size else usual[side] + 1)
        menus.heads.append((menu, slot, value))
        heads[at] = 0 if value == usual[side] + 1 else value
    layer, head = ((heads[2 * number + side] or usual[side] + 1) - 1 for side in (0, 1))
    title = f"{spec.name}, layer {layer + 1}, head {head + 1}"
    selection = sentence.selection
    figure = figures.attention_map(attention_map, layer, head, selection.at, theme=theme(spec.branch))
    figure.update_traces(showscale=False, selector={"type": "heatmap"})
    figure.update_layout(height=360, xaxis={"title": None, "tickangle": -90}, yaxis={"title": None})
    st.markdown(f"**{plain(menus.title)}: {plain(spec.short_name)}**  \nlayer {layer + 1}, head {head + 1}")
    panel = Panel(
        f"beside-{number}",
        f"{title}, in words",
        figure,
        f"{title}. "
        + view.words.part("Alt: map", words=len(attention_map.key_tokens), number=selection.at + 1)
        + f" “{sentence.words[selection.at]}”.",
        partial(head_table, attention_map, layer, head),
        file=f"{spec.slug}-{layer + 1}-{head + 1}-words",
    )
    panel.draw(state, **selection.on_map(panel.key(state), len(attention_map.key_tokens)))
    wanted: dict[str, Value] = {"model": spec.slug, "text": text, "layer": layer + 1, "head": head + 1}
    if len(spec.family.streams) > 1:
        wanted |= {"map": "encoder", "task": task}
    href = escape(base_path() + links.url("attention", wanted))
    st.html(f'<a href="{href}" style="color:inherit">{escape(view.words.label("tokens"))}</a>')
    computed = attention_map.computed(layer, head)
    joined = " ".join(name for i, name in enumerate(attention_map.key_tokens) if not computed[:, i].any())
    if joined:
        st.caption(f"No token begins in “{plain(joined)}”, {terms(view.words.part('Joined'))}")
    if attention_map.note:
        st.caption(plain(attention_map.note))
    if best is None:
        view.note("Never", score=meaning(role), other=meaning("previous"))
    return _Shown(spec, read, layer, head)


def _bars(shown: Sequence[_Shown], sentence: _Sentence, state: PageState) -> None:
    """Draw the attention of the selected word in every model."""
    words, word = sentence.words, sentence.selection.at
    rows = [
        ModelWeights(
            model.spec.name,
            accent(model.spec.branch),
            model.read.attention_map.weights[model.layer, model.head, word],
            model.read.attention_map.computed(model.layer, model.head)[word],
            float(model.read.rest[model.layer, model.head, word]),
        )
        for model in shown
    ]
    columns: list[Sequence[str]] = [(*words, ELSEWHERE)]
    for row in rows:
        numbers = zip(row.weights, row.computed, strict=True)
        columns.append((*(f"{w:.3f}" if able else "not computed" for w, able in numbers), f"{row.rest:.3f}"))
    title, titles = f"What “{words[word]}” attends to", ", ".join(row.title for row in rows)
    st.markdown(f"**What “{plain(words[word])}” attends to**, the word at the dotted line")
    Panel(
        "side-by-side",
        title,
        word_bars(words, word, rows, theme=theme()),
        f"{title} in the sentence “{' '.join(words)}”, by {titles}.",
        Table(("word", *(row.title for row in rows)), tuple(zip(*columns, strict=True))),
    ).draw(state)


def _cross_map(spec: CheckpointSpec, attention_map: AttentionMap, view: View) -> None:
    """Draw the word-level cross-attention of the sharpest head."""
    layer, head = word_maps.sharpest(attention_map)
    Panel(
        f"{spec.slug}-cross",
        view.words.part("Title: cross", model=plain(spec.name)),
        figures.attention_map(attention_map, layer, head, theme=theme(spec.branch)),
        view.words.part(
            "Alt: cross",
            generated=len(attention_map.query_tokens),
            source=len(attention_map.key_tokens),
            layer=layer + 1,
            head=head + 1,
        ),
        partial(head_table, attention_map, layer, head),
        heading=True,
    ).draw(view.state)
    sources = (attention_map.key_tokens[int(row.argmax())] for row in attention_map.weights[layer, head])
    pairs = ", ".join(f"{new} ← {old}" for new, old in zip(attention_map.query_tokens, sources, strict=True))
    st.caption(terms(view.words.part("Cross", layer=layer + 1, head=head + 1)) + f" {plain(pairs)}.")


BESIDE = Section("beside", beside, (SENTENCE, WINDOW, TASK, ROLE, CHOSEN, MODELS, AT))
