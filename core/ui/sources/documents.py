"""The five documents that this atlas grew from: what each is, and how much of it had to be put right."""

from __future__ import annotations

from collections import Counter

from core import catalogue, links
from core.catalogue.corrections import Found, documents
from core.ui.glossary import rich_terms, told
from core.ui.page import base_path
from core.ui.sources.frame import ALL_KINDS, SourcesView, number
from core.ui.text_table import Cell, Link, Row, TextTable, text_table

_WHAT = {
    "source-000": "The three branches of the family in a paragraph for each system, and the module trees of BERT, "
    "GPT-2, BERT2BERT and T5 as a program prints them.",
    "source-001": "Notes on eighteen papers, among them scaling laws, deduplication, preferences and attacks; eleven "
    "models in one table of thirteen columns.",
    "source-002": "Pretraining and what came after BERT: probes, masks, spans, structure, text to text, sparse "
    "attention and distillation, with results tables.",
    "source-003": "The line from BERT to its larger and smaller relatives: masking and batch-size tables, ALBERT's "
    "sizes, Megatron and Turing-NLG, CTRL's codes.",
    "source-004": "GPT, ELMo, BERT, BART and T5 from objective to result: GLUE tables, ablations, BERT's heads, five "
    "corruptions.",
}
"""What stands in each, in our own words."""


def documents_list(view: SourcesView) -> None:
    """A row for each source: what it holds, who cites it, and what had to be corrected."""
    rows: list[Row] = []
    for one in documents():
        mine = [entry for entry in view.found if one in entry.claimed_by]
        users = [system.name for system in catalogue.systems() if one in system.citations]
        who = ", ".join(filter(None, (one.authors, str(one.year or ""))))
        rows.append(
            (
                (f"Source {number(one.key)}", one.title.split(" (source")[0], who),
                rich_terms(_WHAT.get(one.key, "")),
                (f"{len(users)} systems", ", ".join(users)),
                _corrected(one.key, mine),
            )
        )
    headings = ("Source", "What stands in it", "Cited for", "Corrected")
    text_table(TextTable(headings, rows, caption="The five sources", widths=(26, 32, 22, 20)))
    told(
        "**Notice** that a long list of corrections is no verdict: the notes of source 001 make many more statements "
        "than the slides do, and more that can be checked. Facts and figures are taken over with their source; "
        "sentences are not."
    )


def _corrected(key: str, mine: list[Found]) -> Cell:
    kinds = Counter(entry.kind for entry in mine).most_common()
    link = Link(f"{len(mine)} corrections", base_path() + links.url("sources", {"source": number(key)}))
    return (link, ", ".join(f"{ALL_KINDS[kind].lower()} {many}" for kind, many in kinds))
