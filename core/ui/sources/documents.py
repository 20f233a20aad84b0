"""The five documents that this atlas grew from: what each is, and how much of it had to be put right."""

from __future__ import annotations

from collections import Counter

from core import catalogue, links
from core.catalogue.corrections import Found, corrections, documents
from core.ui.glossary import rich_terms
from core.ui.page import base_path
from core.ui.section import Section, View
from core.ui.sources.corrections import ALL_KINDS, number
from core.ui.text_table import Cell, Link, Row, TextTable, text_table


def documents_list(view: View) -> None:
    """A row for each source: what it holds, who cites it, and what had to be corrected."""
    found, rows = corrections(), list[Row]()
    for one in documents():
        mine = [entry for entry in found if one in entry.claimed_by]
        users = [system.name for system in catalogue.systems() if one in system.citations]
        who = ", ".join(filter(None, (one.authors, str(one.year or ""))))
        rows.append(
            (
                (f"Source {number(one.key)}", one.title.split(" (source")[0], who),
                rich_terms(view.words.label(one.key)),
                (f"{len(users)} systems", ", ".join(users)),
                _corrected(one.key, mine),
            )
        )
    headings = ("Source", "What stands in it", "Cited for", "Corrected")
    text_table(TextTable(headings, rows, caption="The five sources", widths=(26, 32, 22, 20)))
    view.try_and_notice()


def _corrected(key: str, mine: list[Found]) -> Cell:
    kinds = Counter(entry.kind for entry in mine).most_common()
    link = Link(f"{len(mine)} corrections", base_path() + links.url("sources", {"source": number(key)}))
    return (link, ", ".join(f"{ALL_KINDS[kind].lower()} {many}" for kind, many in kinds))


DOCUMENTS = Section("documents", documents_list)
