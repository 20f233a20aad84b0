"""Which heads follow grammar: the best of each relation, all heads on one of them, and a sentence to check it on."""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
import streamlit as st

from core import session
from core.attention.roles import rolefiles, treebank
from core.attention.roles.relations import LABELS, MEANING, Counted, links, references
from core.attention.views.export import grids_table
from core.checkpoints.spec import CheckpointSpec
from core.figures import attention as figures
from core.figures.heads import best_heads
from core.table import Table
from core.ui.attention.setup import draw_model
from core.ui.data_table import data_table
from core.ui.notices import info
from core.ui.page import accent, plain, theme
from core.ui.panel import Panel
from core.ui.param import Choice
from core.ui.section import Section, View

RELATION = Choice(
    name="relation",
    label="Relation",
    options={name: f"{name} · {MEANING[name]}" for name in LABELS},
    resets=("sentence",),
)
TREEBANK = Choice(
    name="treebank",
    label="Counted over",
    options={rolefiles.SHIPPED: "Sentences written here", rolefiles.UD: "Universal Dependencies"},
    style="row",
)
SENTENCE = Choice(name="sentence", label="Sentence", options={})
OFFERED = 12
"""Sentences that a relation can be looked at in."""


def grammar(view: View) -> None:
    """Draw the section."""
    state = view.state
    spec = draw_model(state)
    banks = [name for name in (rolefiles.SHIPPED, rolefiles.UD) if rolefiles.measured(spec.slug, name)]
    if not banks:
        info(view.words.part("Unmeasured", model=spec.name, slug=spec.slug))
        return
    view.say("Intro")
    bank = banks[0]
    if len(banks) > 1:
        bank = TREEBANK.with_(default=bank).draw(state)
    found = rolefiles.measured(spec.slug, bank)
    left, right = st.columns([3, 2], gap="large")
    with left:
        Panel(
            f"{spec.slug}-grammar",
            f"{spec.name}: the most accurate head of each relation",
            best_heads(list(found.values()), rolefiles.published(), accent(spec.branch), theme=theme()),
            f"Over {_named(bank, view)}: the most accurate head of each relation with its interval, beside the best "
            "fixed distance. The table below has the numbers.",
            partial(_table, spec, bank, found),
        ).draw(state)
    with right:
        relation = RELATION.with_(
            options={name: RELATION.options[name] for name in found}, default="obj" if "obj" in found else ""
        ).draw(state, tag=f"{spec.slug}.{bank}")
        one = found[relation]
        layer, head = one.best
        low, high = one.interval
        st.markdown(
            f"**Layer {layer + 1}, head {head + 1}** is right in {one.accuracy:.0%} of {one.n:,} links ({low:.0%} to "
            f"{high:.0%}); the word at {one.offset:+d} in {one.baseline:.0%}. Read {plain(one.direction)}."
        )
        Panel(
            f"{spec.slug}-relation",
            f"{spec.name}: how often each head is right on {relation}",
            figures.score_grid((one.right / one.n).astype(np.float32), f"right on {relation}", theme=theme()),
            f"Over {_named(bank, view)}, {one.n:,} links; layers down, heads across. The best is layer {layer + 1}, "
            f"head {head + 1} with {one.accuracy:.0%}.",
            partial(grids_table, {"right": one.right / one.n}),
            file=f"{spec.slug}-{relation}",
        ).draw(state)
    view.try_and_notice(other="coreference" if "coreference" in found else "det")
    _on_a_sentence(spec, one, view)
    data_table(
        _table(spec, bank, found),
        f"{spec.slug}-grammar",
        alt="The best head of every relation",
        height=38 + 35 * len(found),
    )
    other = _other(bank)
    if rolefiles.counted(spec.slug, other):
        view.note("Elsewhere", sentences=_named(other, view))
    view.note("Source", sentences=_named(bank, view))


def _on_a_sentence(spec: CheckpointSpec, one: Counted, view: View) -> None:
    """The chosen relation in a sentence of the treebank: each link, and where the best head attends to instead."""
    from core.attention.roles.headroles import attention_of
    from core.attention.tokens import word_weights

    there = sorted(_sentences(), key=lambda sentence: -len(_pairs(sentence, one.relation)))[:OFFERED]
    there = [sentence for sentence in there if _pairs(sentence, one.relation)]
    if not there:
        return
    layer, head = one.best
    st.markdown(f"**On a sentence, with layer {layer + 1}, head {head + 1}**")
    texts = {sentence.sent_id: sentence.text for sentence in there}
    chosen = SENTENCE.with_(options=texts).draw(view.state, tag=f"{spec.slug}.{one.relation}")
    sentence = next(sentence for sentence in there if sentence.sent_id == chosen)
    with st.spinner("Running the model"):
        found, belongs = attention_of(session.checkpoint(spec.slug), sentence)
        looks = word_weights(found.weights[layer : layer + 1, head : head + 1], belongs)[0, 0]
    np.fill_diagonal(looks, 0)
    if one.direction == "head to dependent":
        looks = looks.T
    rows = []
    for query, targets, candidates in _pairs(sentence, one.relation):
        row = looks[query, candidates]
        key = candidates[int(row.argmax())] if row.max() > 0 else None
        rows.append(
            {
                "word": sentence.words[query],
                "should find": " or ".join(sentence.words[target] for target in sorted(targets)),
                "finds": "nothing" if key is None else sentence.words[key],
                "weight": float(row.max()),
                "right": key in targets,
            }
        )
    data_table(
        rows,
        f"{spec.slug}-links",
        alt=f"Links of the relation {one.relation} in the sentence, and what the head finds",
        column_config={"weight": st.column_config.ProgressColumn(format="%.2f", min_value=0.0, max_value=1.0)},
    )


def _pairs(sentence: treebank.Sentence, relation: str) -> list[tuple[int, frozenset[int], list[int]]]:
    """(the query, what it should find, what it may choose from) for each link of the relation."""
    if relation == "coreference":
        return [(mention, targets, list(before)) for mention, before, targets in references(sentence)]
    every = list(range(len(sentence.words)))
    return [(query, frozenset([target]), every) for query, target in links(sentence)[relation]]


@lru_cache(maxsize=1)
def _sentences() -> tuple[treebank.Sentence, ...]:
    return tuple(treebank.read(treebank.SHIPPED))


def _other(bank: str) -> str:
    return rolefiles.UD if bank == rolefiles.SHIPPED else rolefiles.SHIPPED


def _table(spec: CheckpointSpec, bank: str, found: dict[str, Counted]) -> Table:
    """Each relation's best head, what the same head does over sentences it was not selected on, and BERT-base's."""
    theirs = rolefiles.published()
    elsewhere = {(one.relation, one.direction): one for one in rolefiles.counted(spec.slug, _other(bank))}
    rows: list[dict[str, str | int | float | None]] = []
    for name, one in found.items():
        again = elsewhere.get((name, one.direction))
        other = {"same head elsewhere %": round(100 * one.best_in(again), 1) if again else None}
        rows.append(
            {
                "relation": name,
                "right %": round(100 * one.accuracy, 1),
                "95 % interval": "{:.0%} to {:.0%}".format(*one.interval),
                "fixed distance %": round(100 * one.baseline, 1),
                "at": f"{one.offset:+d}",
                "head": f"{one.best[0] + 1}-{one.best[1] + 1}",
                **(other if elsewhere else {}),
                "BERT-base %": theirs[name][0] if name in theirs else None,
                "its head": f"{theirs[name][1]}-{theirs[name][2]}" if name in theirs else None,
                "links": one.n,
                "read": one.direction,
                "joins": MEANING[name],
            }
        )
    return Table.from_records(rows)


def _named(bank: str, view: View) -> str:
    """The sentences of a treebank in words."""
    return view.words.part(f"Sentences: {bank}", count=f"{len(_sentences()):,}")


GRAMMAR = Section("grammar", grammar, (RELATION, TREEBANK, SENTENCE))
