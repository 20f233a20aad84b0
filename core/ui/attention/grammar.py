"""Which heads follow grammar: the best of each relation, all heads on one of them, and a sentence to check it on."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from core import session
from core.attention.roles import rolefiles, treebank
from core.attention.roles.relations import LABELS, MEANING, links, references
from core.attention.roles.rolefiles import Counted
from core.attention.views.export import grids_table
from core.checkpoints.spec import CheckpointSpec
from core.figures import attention as figures
from core.figures.heads import best_heads
from core.table import Table
from core.ui.chart import chart
from core.ui.data_table import data_table
from core.ui.export import chart_menu
from core.ui.glossary import noted, terms, told
from core.ui.page import accent, plain, theme

if TYPE_CHECKING:
    from core.ui.links import PageState

OFFERED = 12
"""Sentences that a relation can be looked at in."""


def grammar(spec: CheckpointSpec, state: PageState) -> None:
    """Draw the whole section; reads and writes relation, treebank and sentence."""
    banks = [name for name in (rolefiles.SHIPPED, rolefiles.UD) if rolefiles.measured(spec.slug, name)]
    if not banks:
        st.info(
            terms(
                f"The heads of {plain(spec.name)} were not measured yet. Its host can run "
                f"`python -m core heads {spec.slug}`; models without a matrix of attention cannot be measured."
            )
        )
        return
    st.markdown(
        "A head follows a relation if the strongest link of one word leads to the other: from an object to its verb, "
        "from a pronoun to what it stands for. No head was taught grammar."
    )
    bank = _over(banks, state)
    found = rolefiles.measured(spec.slug, bank)
    left, right = st.columns([3, 2], gap="large")
    with left:
        chart(
            best_heads(list(found.values()), rolefiles.published(), accent(spec.branch), theme=theme()),
            key=state.key(f"grammar.best.{spec.slug}"),
            alt="The most accurate head of each relation with its interval, beside the best fixed distance. The table "
            "below has the numbers.",
        )
        chart_menu(
            state.key(f"grammar.best.{spec.slug}"),
            f"{spec.slug}-grammar",
            title=f"{spec.name}: the most accurate head of each relation",
            alt=f"Over {_named(bank)}: the head with its interval, beside the best fixed distance.",
            table=lambda: Table.from_records(_rows(spec, bank, found)),
        )
    with right:
        names = list(found)
        usual = "obj" if "obj" in names else names[0]
        wanted = state.text("relation", usual)
        if wanted not in names:
            st.caption(f"These sentences are not marked for {plain(wanted[:40])}. {usual} is shown.")
            wanted = usual
        relation = st.selectbox(
            "Relation",
            names,
            index=names.index(wanted),
            format_func=lambda name: f"{name} · {MEANING[name]}",
            key=state.key(f"grammar.relation.{spec.slug}"),
        )
        if relation != wanted:
            state.set(sentence=None)
        state.set(relation=None if relation == usual else relation)
        one = found[relation]
        _sentence_about(one)
        chart(
            figures.score_grid((one.right / one.n).astype(np.float32), f"right on {relation}", theme=theme()),
            key=state.key(f"grammar.grid.{spec.slug}"),
            alt=f"How often each head is right on {relation}; the best is layer {one.best[0] + 1}, head "
            f"{one.best[1] + 1} with {one.accuracy:.0%}.",
        )
        chart_menu(
            state.key(f"grammar.grid.{spec.slug}"),
            f"{spec.slug}-{relation}",
            title=f"{spec.name}: how often each head is right on {relation}",
            alt=f"Over {_named(bank)}, {one.n:,} links; layers down, heads across.",
            table=lambda: grids_table({"right": one.right / one.n}),
        )
    other = "coreference" if "coreference" in found else "det"
    told(f"**Try** obj, then {other}, and see which layer the best head is in. Then read a sentence with it below.")
    told(
        "**Notice** the bar of the fixed distance: much of what looks like grammar is “the word before”. Only what "
        "goes beyond it, interval and all, is more. And the best of many heads looks better than it is: it was chosen."
    )
    _on_a_sentence(spec, one, state)
    _table(spec, bank, found)


def _over(banks: list[str], state: PageState) -> str:
    """Which sentences the heads were counted over; reads and writes treebank."""
    wanted = state.text("treebank", banks[0])
    if len(banks) == 1:
        return banks[0]
    titles = {rolefiles.SHIPPED: "Sentences written here", rolefiles.UD: "Universal Dependencies"}
    taken = st.segmented_control(
        "Counted over",
        banks,
        default=wanted if wanted in banks else banks[0],
        format_func=titles.__getitem__,
        required=True,
        key=state.key("grammar.treebank"),
    )
    state.set(treebank=None if taken == banks[0] else str(taken))
    return str(taken)


def _sentence_about(one: Counted) -> None:
    low, high = one.interval
    layer, head = one.best
    st.markdown(
        f"**Layer {layer + 1}, head {head + 1}** is right in {one.accuracy:.0%} of {one.n:,} links ({low:.0%} to "
        f"{high:.0%}); the word at {one.offset:+d} in {one.baseline:.0%}. Read {plain(one.direction)}."
    )


def _on_a_sentence(spec: CheckpointSpec, one: Counted, state: PageState) -> None:
    """The chosen relation in a sentence of the treebank: each link, and where the best head looks instead."""
    from core.attention.roles.headroles import attention_of
    from core.attention.tokens import word_weights

    there = [sentence for sentence in _sentences() if _pairs(sentence, one.relation)]
    there = sorted(there, key=lambda sentence: -len(_pairs(sentence, one.relation)))[:OFFERED]
    if not there:
        return
    layer, head = one.best
    st.markdown(f"**On a sentence, with layer {layer + 1}, head {head + 1}**")
    named = {sentence.sent_id: sentence for sentence in there}
    usual, wanted = there[0].sent_id, state.text("sentence")
    if wanted and wanted not in named:
        st.caption(f"The sentence {plain(wanted[:40])} is not among those shown for {plain(one.relation)}.")
    chosen_id = st.selectbox(
        "Sentence",
        list(named),
        index=list(named).index(wanted) if wanted in named else 0,
        format_func=lambda name: named[name].text,
        key=state.key(f"grammar.sentence.{spec.slug}.{one.relation}"),
        persist_state="page",
    )
    state.set(sentence=None if chosen_id == usual else str(chosen_id))
    sentence = named[str(chosen_id)]
    with st.spinner("Running the model"):
        found, belongs = attention_of(session.checkpoint(spec.slug), sentence)
        looks = word_weights(found.weights[layer : layer + 1, head : head + 1], belongs)[0, 0]
    np.fill_diagonal(looks, 0)
    if one.direction == "head to dependent":
        looks = looks.T
    rows = []
    for looking, targets, candidates in _pairs(sentence, one.relation):
        row = looks[looking, candidates]
        chosen = candidates[int(row.argmax())] if row.max() > 0 else None
        rows.append(
            {
                "word": sentence.words[looking],
                "should find": " or ".join(sentence.words[target] for target in sorted(targets)),
                "finds": "nothing" if chosen is None else sentence.words[chosen],
                "weight": float(row.max()),
                "right": chosen in targets,
            }
        )
    data_table(
        rows,
        f"{spec.slug}-links",
        alt=f"Links of the relation {one.relation} in the sentence, and what the head finds",
        column_config={"weight": st.column_config.ProgressColumn(format="%.2f", min_value=0.0, max_value=1.0)},
    )


def _pairs(sentence: treebank.Sentence, relation: str) -> list[tuple[int, frozenset[int], list[int]]]:
    """(what looks, what it should find, what it may choose from) for each link of the relation."""
    if relation == "coreference":
        return [(mention, targets, list(before)) for mention, before, targets in references(sentence)]
    every = list(range(len(sentence.words)))
    return [(looking, frozenset([target]), every) for looking, target in links(sentence)[relation]]


@lru_cache(maxsize=1)
def _sentences() -> tuple[treebank.Sentence, ...]:
    return tuple(treebank.read(treebank.SHIPPED))


def _table(spec: CheckpointSpec, bank: str, found: dict[str, Counted]) -> None:
    """Each relation's best head, what the same head does over sentences it was not chosen on, and BERT-base's."""
    rows = _rows(spec, bank, found)
    data_table(rows, f"{spec.slug}-grammar", alt="The best head of every relation", height=38 + 35 * len(rows))
    other = _other(bank)
    if rolefiles.counted(spec.slug, other):
        st.caption(f"Same head elsewhere: the head chosen here, over {_named(other)}. It was not chosen for those.")
    noted(
        f"Counted over {_named(bank)}. BERT-base: Clark et al. 2019 (arXiv 1906.04341) on newspaper text with another "
        "scheme of annotation, so its numbers are a landmark, not a match; they are those that the authors' notebook "
        "prints, of coreference those of a summary of the paper."
    )


def _other(bank: str) -> str:
    return rolefiles.UD if bank == rolefiles.SHIPPED else rolefiles.SHIPPED


def _rows(spec: CheckpointSpec, bank: str, found: dict[str, Counted]) -> list[dict[str, str | int | float | None]]:
    theirs = rolefiles.published()
    elsewhere = {(one.relation, one.direction): one for one in rolefiles.counted(spec.slug, _other(bank))}
    rows: list[dict[str, str | int | float | None]] = []
    for name, one in found.items():
        again = elsewhere.get((name, one.direction))
        rows.append(
            {
                "relation": name,
                "right %": round(100 * one.accuracy, 1),
                "95 % interval": "{:.0%} to {:.0%}".format(*one.interval),
                "fixed distance %": round(100 * one.baseline, 1),
                "at": f"{one.offset:+d}",
                "head": f"{one.best[0] + 1}-{one.best[1] + 1}",
                **(
                    {"same head elsewhere %": round(100 * one.best_in(again), 1) if again else None}
                    if elsewhere
                    else {}
                ),
                "BERT-base %": theirs[name][0] if name in theirs else None,
                "its head": f"{theirs[name][1]}-{theirs[name][2]}" if name in theirs else None,
                "links": one.n,
                "read": one.direction,
                "joins": MEANING[name],
            }
        )
    assert set(found) <= set(LABELS)
    return rows


def _named(bank: str) -> str:
    """The sentences of a treebank in words."""
    if bank == rolefiles.SHIPPED:
        return f"{len(_sentences()):,} sentences written and annotated for this project"
    return (
        "5,363 sentences of Universal Dependencies (English EWT, development and test, PUD and Pronouns; CC BY-SA), "
        "less those that are longer than the model takes"
    )
