"""Roles of heads: a relation or another pattern, the head that follows it most, and its links drawn over a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from core import session
from core.attention import heads
from core.attention.roles import relations, rolefiles, treebank
from core.attention.roles.everyhead import EFFECT, heads_table, rows
from core.attention.roles.relations import RelationCounts
from core.attention.roles.sentence import attention_of
from core.attention.tokens import word_weights
from core.attention.views.export import grids_table
from core.checkpoints.spec import CheckpointSpec
from core.figures.arcs import Arc, Kind, arcs, width_of
from core.figures.attention import effect_grid, score_grid
from core.table import Table
from core.ui.attention.setup import draw_model
from core.ui.glossary import info, markdown
from core.ui.links import page_link
from core.ui.page import accent, plain, theme
from core.ui.panel import Panel, offer_table
from core.ui.param import Choice
from core.ui.section import Section, View

ROLE = Choice(
    name="role",
    label="Role",
    options={name: name for name in (*relations.LABELS, *heads.SCORES, EFFECT)},
    resets=("sentence",),
    width=420,
)
TREEBANK = Choice(
    name="treebank",
    label="Treebank",
    options={rolefiles.SHIPPED: "Sentences written here", rolefiles.UD: "Universal Dependencies"},
    style="row",
)
SENTENCE = Choice(name="sentence", label="Sentence", options={})
KINDS: tuple[Kind, ...] = ("right", "wrong", "link")
OFFERED = 12
"""Number of example sentences per role."""
STRONGEST = 8
"""Number of links that are drawn of a role that is no relation."""
Link = tuple[int, frozenset[int], list[int]]
"""The query, its correct keys and its candidates, as words."""
Grid = NDArray[np.floating]


def roles(view: View) -> None:
    """Draw the section."""
    state, words = view.state, view.words
    spec = draw_model(view)
    banks = [name for name in (rolefiles.SHIPPED, rolefiles.UD) if rolefiles.best_relations(spec.slug, name)]
    scores = _scores(spec)
    if not (banks or scores):
        info(words.part("Unmeasured", model=spec.name, slug=spec.slug))
        return
    banked = TREEBANK.with_(default=banks[0] if banks else rolefiles.SHIPPED)
    bank = banked.standing(state) if len(banks) > 1 else banked.default
    by_relation = rolefiles.best_relations(spec.slug, bank)
    offered = {name: f"{name} · {relations.meaning(name)}" for name in by_relation}
    offered |= {name: f"{heads.LABELS.get(name, name)} · {heads.meaning(name)}" for name in scores}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        usual = "obj" if "obj" in offered else next(iter(offered))
        role = ROLE.with_(options=offered, default=usual).draw(state, tag=f"{spec.slug}.{bank}")
        if len(banks) > 1:
            banked.draw(state)
    counts = by_relation.get(role)
    grid: Grid = scores[role] if counts is None else counts.right / counts.n
    layer, head = (int(at) for at in np.unravel_index(int(grid.argmax()), grid.shape))
    _sentence(view, spec, role, counts, layer, head)
    _say_best(view, role, counts, grid, layer, head)
    view.try_and_notice("relation" if counts else role)
    view.say("Intro")
    _heads(view, spec, role, grid, layer, head)
    if by_relation:
        other = rolefiles.UD if bank == rolefiles.SHIPPED else rolefiles.SHIPPED
        table = _relations_table(by_relation, rolefiles.relation_counts(spec.slug, other))
        offer_table(state, table, words.label("relations"), f"{spec.slug}-relations")
    offer_table(state, heads_table(rows([spec])), words.label("table"), f"{spec.slug}-heads")
    with st.expander(words.label("counted")):
        view.note("Source")
        for ability in spec.family.offers:
            if words.has(part := f"Source: {ability}"):
                view.note(part, model=plain(spec.name))


def _scores(spec: CheckpointSpec) -> dict[str, Grid]:
    """The scores (L, H) of the self-attention over the input, and the effect of each head's ablation in bits."""
    scores: dict[str, Grid] = dict(rolefiles.roles(spec.slug))
    effects = {head: effect.mean for head, effect in rolefiles.effects(spec.slug).items()}
    means = {head: mean for head, mean in effects.items() if head.kind == spec.family.streams[0]}
    if means:
        bits = np.zeros((1 + max(head.layer for head in means), 1 + max(head.head for head in means)))
        for head, mean in means.items():
            bits[head.layer, head.head] = mean
        scores[EFFECT] = bits
    return scores


def _value(role: str, grid: Grid, layer: int, head: int) -> str:
    """A head's score in words."""
    return f"{grid[layer, head]:.2f} bits" if role == EFFECT else f"{100 * grid[layer, head]:.0f}%"


def _say_best(view: View, role: str, counts: RelationCounts | None, grid: Grid, layer: int, head: int) -> None:
    """The head of the role, with its baseline where there is one."""
    numbers: dict[str, int | str] = {"layer": layer + 1, "head": head + 1}
    if role == EFFECT:
        markdown(view.words.part("Largest effect", value=_value(role, grid, layer, head), **numbers))
        return
    if counts is None:
        value = _value(role, grid, layer, head)
        markdown(view.words.part("Strongest", value=value, mean=f"{100 * grid.mean():.0f}%", **numbers))
        return
    low, high = (f"{100 * end:.0f}%" for end in counts.interval)
    markdown(
        view.words.part(
            "Best",
            right=f"{100 * counts.accuracy:.0f}%",
            links=f"{counts.n:,}",
            low=low,
            high=high,
            offset=f"{counts.offset:+d}".replace("-", "−"),
            baseline=f"{100 * counts.baseline:.0f}%",
            direction=counts.direction,
            **numbers,
        )
    )


def _sentence(
    view: View, spec: CheckpointSpec, role: str, counts: RelationCounts | None, layer: int, head: int
) -> None:
    """Draw the head's links over a sentence: those of the relation, or the strongest between two words."""
    every = treebank_sentences()
    if counts is not None:
        every = tuple(sorted(every, key=lambda sentence: -len(_pairs(sentence, counts.relation))))
        every = tuple(sentence for sentence in every if _pairs(sentence, counts.relation))
    offered = {sentence.sent_id: sentence for sentence in every[:OFFERED]}
    if not offered:
        return
    texts = {name: sentence.text for name, sentence in offered.items()}
    sentence = offered[SENTENCE.with_(options=texts).draw(view.state, tag=f"{spec.slug}.{role}")]
    with st.spinner(session.waiting("running-the-model")):
        trace, belongs = attention_of(session.checkpoint(spec.slug), sentence)
        weights = word_weights(trace.own.weights[layer : layer + 1, head : head + 1], belongs)[0, 0]
    np.fill_diagonal(weights, 0)
    drawn = strongest(weights) if counts is None else followed(weights, counts, _pairs(sentence, counts.relation))
    names: dict[Kind, str] = {kind: view.words.label(kind) for kind in KINDS}
    said = [f"{sentence.words[a.query]} → {sentence.words[a.key]} {a.weight:.2f}, {names[a.kind]}" for a in drawn]
    rows = tuple((sentence.words[a.query], sentence.words[a.key], a.weight, names[a.kind]) for a in drawn)
    title = view.words.part("Sentence", layer=layer + 1, head=head + 1)
    Panel(
        f"{spec.slug}-arcs",
        title,
        arcs(sentence.words, drawn, names, accent(spec.branch), theme=theme()),
        f"{title}: {sentence.text} {'; '.join(said)}",
        Table(("word", "attends to", "weight", "link"), rows),
        note=view.words.part("Arcs: relation" if counts else "Arcs"),
        heading=True,
        width=width_of(sentence.words),
        file=f"{spec.slug}-{role}-sentence",
    ).draw(view.state)
    wanted = {"model": spec.slug, "text": sentence.text, "layer": str(layer + 1), "head": str(head + 1)}
    page_link("attention", view.words.label("open"), wanted, icon=":material/grid_on:")


def strongest(weights: NDArray[np.floating]) -> list[Arc]:
    """The largest weights (n, n) between two words, the largest first."""
    order = np.argsort(-weights, axis=None, kind="stable")[:STRONGEST]
    pairs = [divmod(int(at), len(weights)) for at in order]
    return [Arc(query, key, float(weights[query, key]), "link") for query, key in pairs if weights[query, key] > 0]


def followed(weights: NDArray[np.floating], counts: RelationCounts, pairs: Sequence[Link]) -> list[Arc]:
    """What the head attends to instead of each link of the relation: its largest weight among the candidates."""
    turned = counts.direction == "head to dependent"
    drawn = []
    for word, targets, candidates in pairs:
        row = (weights.T if turned else weights)[word, candidates]
        if row.max() <= 0:
            continue
        other = candidates[int(row.argmax())]
        query, key = (other, word) if turned else (word, other)
        drawn.append(Arc(query, key, float(row.max()), "right" if other in targets else "wrong"))
    return drawn


def _pairs(sentence: treebank.Sentence, relation: str) -> list[Link]:
    """Each link of the relation."""
    if relation == "coreference":
        return [(mention, targets, list(before)) for mention, before, targets in relations.references(sentence)]
    every = list(range(len(sentence.words)))
    return [(query, frozenset([target]), every) for query, target in relations.links(sentence)[relation]]


@lru_cache(maxsize=1)
def treebank_sentences() -> tuple[treebank.Sentence, ...]:
    return tuple(treebank.read_treebank(treebank.SHIPPED))


def _heads(view: View, spec: CheckpointSpec, role: str, grid: Grid, layer: int, head: int) -> None:
    """Draw the role in every head of the model."""
    title = f"{spec.name}: {role}, {view.words.label('heads')}"
    figure = (
        effect_grid(grid.astype(np.float32), [], accent(spec.branch), theme=theme())
        if role == EFFECT
        else score_grid(grid.astype(np.float32), role, theme=theme(spec.branch))
    )
    Panel(
        f"{spec.slug}-role",
        title,
        figure,
        view.words.part("Alt: heads", layer=layer + 1, head=head + 1, value=_value(role, grid, layer, head)),
        partial(grids_table, {role: grid}),
        heading=True,
        file=f"{spec.slug}-{role}",
    ).draw(view.state)


def _relations_table(by_relation: Mapping[str, RelationCounts], other: Sequence[RelationCounts]) -> Table:
    """Each relation's best head, its accuracy here and on the other treebank, and BERT-base's."""
    published, elsewhere = rolefiles.published(), {(counts.relation, counts.direction): counts for counts in other}
    records: list[dict[str, str | int | float | None]] = []
    for name, counts in by_relation.items():
        same_head = elsewhere.get((name, counts.direction))
        accuracy, layer, head = published.get(name, (None, None, None))
        same = {"same head elsewhere %": round(100 * counts.best_in(same_head), 1) if same_head else None}
        records.append(
            {
                "relation": name,
                "right %": round(100 * counts.accuracy, 1),
                "95% interval": "{:.0f}% to {:.0f}%".format(*(100 * end for end in counts.interval)),
                "fixed distance %": round(100 * counts.baseline, 1),
                "at": f"{counts.offset:+d}",
                "head": f"{counts.best[0] + 1}-{counts.best[1] + 1}",
                **(same if elsewhere else {}),
                "BERT-base %": accuracy,
                "its head": f"{layer}-{head}" if layer else None,
                "links": counts.n,
                "direction": counts.direction,
                "meaning": relations.meaning(name),
            }
        )
    return Table.from_records(records)


ROLES = Section("roles", roles, (ROLE, TREEBANK, SENTENCE))
