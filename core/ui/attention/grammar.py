"""Heads and syntactic relations: the best head of each relation, all heads on one of them, and an example sentence."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial

import numpy as np
import streamlit as st

from core import session
from core.attention.roles import rolefiles, treebank
from core.attention.roles.relations import LABELS, RelationCounts, links, meaning, references
from core.attention.roles.sentence import attention_of
from core.attention.tokens import word_weights
from core.attention.views.export import grids_table
from core.checkpoints.spec import CheckpointSpec
from core.figures import attention as figures
from core.figures.heads import best_heads
from core.table import Table
from core.ui.attention.setup import draw_model
from core.ui.glossary import info, markdown
from core.ui.links import page_link
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Choice
from core.ui.section import Section, View
from core.ui.tables import data_table

RELATION = Choice(
    name="relation",
    label="Relation",
    options={name: name for name in LABELS},
    resets=("sentence",),
)
TREEBANK = Choice(
    name="treebank",
    label="Treebank",
    options={rolefiles.SHIPPED: "Sentences written here", rolefiles.UD: "Universal Dependencies"},
    style="row",
)
SENTENCE = Choice(name="sentence", label="Sentence", options={})
OFFERED = 12
"""Number of example sentences per relation."""


def grammar(view: View) -> None:
    state, words = view.state, view.words
    spec = draw_model(state)
    banks = [name for name in (rolefiles.SHIPPED, rolefiles.UD) if rolefiles.best_relations(spec.slug, name)]
    if not banks:
        info(words.part("Unmeasured", model=spec.name, slug=spec.slug))
        return
    view.say("Intro")
    bank = TREEBANK.with_(default=banks[0]).draw(state) if len(banks) > 1 else banks[0]
    other = rolefiles.UD if bank == rolefiles.SHIPPED else rolefiles.SHIPPED
    here, there = (words.part(f"Sentences: {name}", count=f"{len(_sentences()):,}") for name in (bank, other))
    by_relation = rolefiles.best_relations(spec.slug, bank)
    table = partial(_table, by_relation, rolefiles.relation_counts(spec.slug, other))
    left, right = st.columns([3, 2], gap="large")
    with left:
        Panel(
            f"{spec.slug}-grammar",
            f"{spec.name}: {words.label('best')}",
            best_heads(list(by_relation.values()), rolefiles.published(), accent(spec.branch), theme=theme()),
            words.part("Alt: relations", sentences=here),
            table,
        ).draw(state)
    with right:
        relation = RELATION.with_(
            options={name: f"{name} · {meaning(name)}" for name in by_relation},
            default="obj" if "obj" in by_relation else "",
        ).draw(state, tag=f"{spec.slug}.{bank}")
        counts = by_relation[relation]
        numbers: dict[str, int | str] = {
            "layer": counts.best[0] + 1,
            "head": counts.best[1] + 1,
            "right": f"{100 * counts.accuracy:.0f}%",
            "links": f"{counts.n:,}",
        }
        low, high = (f"{100 * end:.0f}%" for end in counts.interval)
        offset, baseline = f"{counts.offset:+d}".replace("-", "−"), f"{100 * counts.baseline:.0f}%"
        markdown(
            words.part(
                "Best", low=low, high=high, offset=offset, baseline=baseline, direction=counts.direction, **numbers
            )
        )
        Panel(
            f"{spec.slug}-relation",
            f"{spec.name}: {words.label('heads')} {relation}",
            figures.score_grid(
                (counts.right / counts.n).astype(np.float32), f"right on {relation}", theme=theme(spec.branch)
            ),
            words.part("Alt: heads", sentences=here, **numbers),
            partial(grids_table, {"right": counts.right / counts.n}),
            file=f"{spec.slug}-{relation}",
        ).draw(state)
    view.try_and_notice(other="coreference" if "coreference" in by_relation else "det")
    _on_a_sentence(spec, counts, view)
    height = 38 + 35 * len(by_relation)
    data_table(table(), f"{spec.slug}-grammar", alt=words.label("table"), height=height)
    with st.expander(words.label("counted")):
        if rolefiles.relation_counts(spec.slug, other):
            view.note("Elsewhere", sentences=there)
        view.note("Source", sentences=here)


def _on_a_sentence(spec: CheckpointSpec, counts: RelationCounts, view: View) -> None:
    """Draw the selected relation in a treebank sentence: each dependency, and the key of the best head."""
    most_links = sorted(_sentences(), key=lambda sentence: -len(_pairs(sentence, counts.relation)))[:OFFERED]
    offered = {sentence.sent_id: sentence for sentence in most_links if _pairs(sentence, counts.relation)}
    if not offered:
        return
    layer, head = counts.best
    view.say("Sentence", layer=layer + 1, head=head + 1)
    texts = {name: sentence.text for name, sentence in offered.items()}
    sentence = offered[SENTENCE.with_(options=texts).draw(view.state, tag=f"{spec.slug}.{counts.relation}")]
    with st.spinner(session.waiting("running-the-model")):
        trace, belongs = attention_of(session.checkpoint(spec.slug), sentence)
        weights = word_weights(trace.own.weights[layer : layer + 1, head : head + 1], belongs)[0, 0]
    np.fill_diagonal(weights, 0)
    if counts.direction == "head to dependent":
        weights = weights.T
    rows = []
    for query, targets, candidates in _pairs(sentence, counts.relation):
        row = weights[query, candidates]
        key = candidates[int(row.argmax())] if row.max() > 0 else None
        rows.append(
            {
                "word": sentence.words[query],
                "correct": " or ".join(sentence.words[target] for target in sorted(targets)),
                "head attends to": "nothing" if key is None else sentence.words[key],
                "weight": float(row.max()),
                "right": key in targets,
            }
        )
    data_table(
        rows,
        f"{spec.slug}-links",
        alt=view.words.part("Alt: links", relation=counts.relation),
        column_config={"weight": st.column_config.ProgressColumn(format="%.2f", min_value=0.0, max_value=1.0)},
    )
    wanted = {"model": spec.slug, "text": sentence.text, "layer": str(layer + 1), "head": str(head + 1)}
    page_link("attention", view.words.label("open"), wanted, icon=":material/grid_on:")


def _pairs(sentence: treebank.Sentence, relation: str) -> list[tuple[int, frozenset[int], list[int]]]:
    """(the query, its correct keys, its candidates) for each link of the relation."""
    if relation == "coreference":
        return [(mention, targets, list(before)) for mention, before, targets in references(sentence)]
    every = list(range(len(sentence.words)))
    return [(query, frozenset([target]), every) for query, target in links(sentence)[relation]]


@lru_cache(maxsize=1)
def _sentences() -> tuple[treebank.Sentence, ...]:
    return tuple(treebank.read(treebank.SHIPPED))


def _table(by_relation: dict[str, RelationCounts], other: Sequence[RelationCounts]) -> Table:
    """The table of each relation's best head, its accuracy on held-out sentences, and BERT-base's."""
    published, elsewhere = rolefiles.published(), {(counts.relation, counts.direction): counts for counts in other}
    rows: list[dict[str, str | int | float | None]] = []
    for name, counts in by_relation.items():
        same_head = elsewhere.get((name, counts.direction))
        accuracy, layer, head = published.get(name, (None, None, None))
        same = {"same head elsewhere %": round(100 * counts.best_in(same_head), 1) if same_head else None}
        rows.append(
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
                "meaning": meaning(name),
            }
        )
    return Table.from_records(rows)


GRAMMAR = Section("grammar", grammar, (RELATION, TREEBANK, SENTENCE))
