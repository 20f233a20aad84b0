"""Every citation of the catalogue with its evidence and its uses, and the five source documents."""

from __future__ import annotations

from collections import Counter

from core import catalogue, links
from core.catalogue.corrections import KINDS, MergedCorrection, cited, corrections, documents
from core.catalogue.results import citation, paper, results
from core.catalogue.schema import Citation
from core.ui.glossary import Linker, rich_terms
from core.ui.page import base_path
from core.ui.param import Choice
from core.ui.section import Section, View
from core.ui.sources.corrections import number
from core.ui.tables import Cell, Link, Rich, Row, TextTable, text_table

ALL = "all"
_MEANING: dict[str, str] = {
    "paper": "the paper itself",
    "authors' repository": "code, README or model card of the authors",
    "library": "source or documentation of a library",
    "source document": "one of the five documents",
    "notes on the paper": "a third-party summary",
    "computed here": "counted or calculated",
    "our own words": "without figures",
    "from memory, unverified": "no source",
}
EVIDENCE = Choice(name="evidence", label="Evidence", options={ALL: ALL} | _MEANING, width=420)


def citations_list(view: View) -> None:
    """Draw the filter by evidence, and a row for each text, even if it has several keys."""
    grouped = _grouped()
    counts: Counter[str] = Counter(group[0].evidence for group in grouped)
    options = {ALL: "Any evidence"} | {
        evidence: f"{evidence}: {words} ({counts[evidence]})"
        for evidence, words in _MEANING.items()
        if counts[evidence]
    }
    chosen = EVIDENCE.with_(options=options).draw(view.state)
    fitting = [group for group in grouped if chosen in (ALL, group[0].evidence)]
    view.say("Count", count=f"**{len(fitting)} texts**" + (f" of {len(grouped)}" if fitting != grouped else ""))
    uses, linker = _uses(base_path()), Linker("sources.citations")
    rows: list[Row] = [(_title(group[0]), _evidence(group, linker), _used(group, uses)) for group in fitting]
    text_table(TextTable(("Text", "Evidence", "Used for"), rows, caption="Citations", widths=(38, 36, 26)))


def _grouped() -> list[list[Citation]]:
    """The citations, those of one text and one kind of evidence together, by author and title."""
    groups: dict[tuple[str, str], list[Citation]] = {}
    for text in cited():
        groups.setdefault((text.title.casefold(), text.evidence), []).append(text)
    return sorted(groups.values(), key=lambda group: ((group[0].authors or group[0].title).casefold(), group[0].title))


def _title(text: Citation) -> Cell:
    who = f"{text.authors}{f' {text.year}' if text.year else ''}".strip() or str(text.year or "")
    return (Link(text.title, text.url) if text.url else text.title, who)


def _evidence(group: list[Citation], linker: Linker) -> Cell:
    """How a text was read, and which parts of it."""
    return (group[0].evidence, *map(linker.rich, dict.fromkeys(text.read for text in group)))


def _uses(base: str) -> dict[Citation, list[Link]]:
    """Links to the facts, corrections and figures that rely on each citation."""
    uses: dict[Citation, list[Link]] = {}
    for system in catalogue.systems():
        link = Link(system.name, base + links.url(system.branch, {"system": system.slug, "tab": "facts"}))
        for text in system.citations:
            uses.setdefault(text, []).append(link)
    numbers = Counter(text for entry in corrections() for text in entry.sources)
    for entry in corrections():
        for text in entry.sources:
            if not text.key.startswith("source-") and numbers[text] <= 3:
                link = Link(
                    f"correction on {entry.names[0]}",
                    base + links.url("sources", {"correction": entry.id}),
                    entry.claim,
                )
                uses.setdefault(text, []).append(link)
    for text, used in numbers.items():
        if used > 3:
            link = Link(f"{used} corrections", base + links.url("sources", {}))
            uses.setdefault(text, []).append(link)
    figures = Counter((citation(key), row.paper) for row in results() for key in (row.source, *row.also))
    for (text, key), count in figures.items():
        name = f"{count} {'figure' if count == 1 else 'figures'} of {paper(key).rsplit(', ', 1)[-1]}"
        link = Link(name, base + links.url("results", {"tab": "all", "paper": key}))
        uses.setdefault(text, []).append(link)
    return uses


def _used(group: list[Citation], uses: dict[Citation, list[Link]]) -> Rich:
    """The links, separated by commas."""
    used = list(dict.fromkeys(link for text in group for link in uses.get(text, [])))
    parts: list[str | Link] = []
    for link in used:
        parts += [", ", link] if parts else [link]
    return Rich(tuple(parts))


CITATIONS = Section("citations", citations_list, (EVIDENCE,))


def documents_list(view: View) -> None:
    """Draw a row for each source: its content, who cites it, and what had to be corrected."""
    every, rows = corrections(), list[Row]()
    for document in documents():
        mine = [entry for entry in every if document in entry.claimed_by]
        users = [system.name for system in catalogue.systems() if document in system.citations]
        who = ", ".join(filter(None, (document.authors, str(document.year or ""))))
        rows.append(
            (
                (f"Source {number(document.key)}", document.title.split(" (source")[0], who),
                rich_terms(view.words.label(document.key)),
                (f"{len(users)} systems", ", ".join(users)),
                _corrected(document.key, mine),
            )
        )
    headings = ("Source", "Content", "Cited for", "Corrections")
    text_table(TextTable(headings, rows, caption="The five sources", widths=(26, 32, 22, 20)))
    view.try_and_notice()


def _corrected(key: str, mine: list[MergedCorrection]) -> Cell:
    kinds = Counter(entry.kind for entry in mine).most_common()
    link = Link(f"{len(mine)} corrections", base_path() + links.url("sources", {"source": number(key)}))
    return (link, ", ".join(f"{KINDS[kind].lower()} {many}" for kind, many in kinds))


DOCUMENTS = Section("documents", documents_list)
