"""The corrections, each with its evidence; every citation of the catalogue, the source documents among them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from core import catalogue, links
from core.anatomy.arithmetic import is_count, shown, value
from core.catalogue.corrections import KINDS, MergedCorrection, Sum, corrections, documents
from core.catalogue.corrections import cited as catalogued
from core.catalogue.outlines import outlines
from core.catalogue.results import citation, paper, results
from core.catalogue.schema import Citation
from core.errors import AtlasError
from core.figures.labels import with_unit
from core.ui.formulas import cited
from core.ui.glossary import Linker, info, plain_terms
from core.ui.links import PageState, page_link, take_up
from core.ui.page import base_path, plain
from core.ui.param import Choice
from core.ui.section import Section, View
from core.ui.tables import Cell, Link, Rich, TableRow, TextTable, text_table

ALL = "all"
SOURCE = Choice(name="source", label="Source", options={}, width=230)
SYSTEM = Choice(name="system", label="System or topic", options={}, width=230)
KIND = Choice(name="kind", label="Kind", options={}, width=230)
CORRECTION = Choice(name="correction", label="Correction", options={})
"""Without a widget: set by links in the rows of the table."""
NO_BREAK = "\N{NO-BREAK SPACE}"


def corrections_list(view: View) -> None:
    """Draw the correction that a link names, or the filters and all matches."""
    state, entries = view.state, corrections()
    wanted = CORRECTION.with_(options={"": ALL} | {entry.id: entry.claim for entry in entries}).value(state)
    if wanted:
        _draw_one(next(entry for entry in entries if entry.id == wanted), state)
        return
    fitting = _filtered(state, entries)
    every = len(entries)
    view.say(
        "Count",
        count=f"**{len(fitting)}** of {every} corrections" if len(fitting) < every else f"**{every} corrections**",
        computed=sum(bool(entry.sums) for entry in fitting),
    )
    if not fitting:
        info(view.words.part("None fits"))
        return
    linker = Linker("sources.corrections")
    rows: list[TableRow] = [(_claim(entry, linker), linker.rich(entry.finding), _shown(entry)) for entry in fitting]
    headings = ("Claim", "Correct", "Evidence")
    with st.container(key="atlas-long"):
        text_table(TextTable(headings, rows, caption="Corrections", widths=(31, 35, 34)))
    view.try_and_notice(mistakes=sum(entry.kind == "mistake" for entry in entries), every=every)


def _filtered(state: PageState, entries: Sequence[MergedCorrection]) -> list[MergedCorrection]:
    """Draw the filters, each option with its number of corrections; return those that pass all three."""
    sources = {number(document.key): f"source {number(document.key)}" for document in documents()}
    names = {slug: name for entry in entries for slug, name in zip(entry.systems, entry.names, strict=True)}
    names = dict(sorted(names.items(), key=lambda pair: pair[1].lower()))
    by_source = Counter(number(document.key) for entry in entries for document in entry.claimed_by)
    by_system = Counter(slug for entry in entries for slug in entry.systems)
    by_kind = Counter(entry.kind for entry in entries)
    kinds = {kind: name for kind, name in KINDS.items() if by_kind[kind]}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        source = SOURCE.with_(options=_counted(sources, by_source)).draw(state)
        system = SYSTEM.with_(options=_counted(names, by_system)).draw(state)
        kind = KIND.with_(options=_counted(kinds, by_kind)).draw(state)
        five = {"tab": "about", "evidence": "source document"}
        page_link("glossary", "The five sources", five, icon=":material/menu_book:", width="content")
    return [
        entry
        for entry in entries
        if source in (ALL, *(number(document.key) for document in entry.claimed_by))
        and system in (ALL, *entry.systems)
        and kind in (ALL, entry.kind)
    ]


def _counted(options: Mapping[str, str], counts: Counter[str]) -> dict[str, str]:
    return {ALL: "All"} | {key: f"{name} ({counts[key]})" for key, name in options.items()}


def number(key: str) -> str:
    """``004`` of ``source-004``."""
    return key.removeprefix("source-")


def _claim(entry: MergedCorrection, linker: Linker) -> Cell:
    """The claim, its sources with a quote, and a link to it; terms in a quotation are not linked."""
    where = ", ".join(f"source{NO_BREAK}{number(document.key)}" for document in entry.claimed_by)
    claimed = f"Claimed by {where}: “{entry.printed}”" if entry.printed else f"Claimed by {where}"
    about = f"{', '.join(entry.names)} · {KINDS[entry.kind]} · "
    link = Link(
        "link",
        base_path() + links.url("glossary", {"tab": "corrections", "correction": entry.id}),
        f"Link to this correction: {entry.claim}",
    )
    return (linker.rich(entry.claim), claimed, Rich((about, link)))


def _shown(entry: MergedCorrection) -> Cell:
    """The computations, and the sources of the finding, in small print."""
    return ("", *map(_sum, entry.sums), "; ".join(dict.fromkeys(map(_read, entry.sources))))


def _sum(row: Sum) -> str:
    """A computation in one line: label, expression, result, and the printed figure."""
    result = with_unit(_result(row), row.unit)
    sum_text = (
        f"{row.label}: {result}" if is_count(row.expression) else f"{row.label}: {shown(row.expression)} = {result}"
    )
    return f"{sum_text} (printed: {row.printed})" if row.printed else sum_text


def _result(row: Sum) -> str:
    return f"{value(row.expression):,.{row.digits}f}".replace("-", "−")


def _draw_one(entry: MergedCorrection, state: PageState) -> None:
    st.subheader(plain(entry.claim), anchor=False)
    where = ", ".join(f"source {number(item.key)}" for item in entry.claimed_by)
    st.caption(plain(f"{KINDS[entry.kind]}. {', '.join(entry.names)}. Claimed by {where}."))
    if entry.printed:
        st.markdown(f"**Claim, as printed.** “{plain(entry.printed)}”")
    st.markdown(f"**Correct.** {plain_terms(entry.finding)}")
    if entry.sums:
        rows: list[TableRow] = [
            (
                item.label,
                "count of the module tree" if is_count(item.expression) else shown(item.expression),
                with_unit(_result(item), item.unit),
                item.printed or "nothing",
            )
            for item in entry.sums
        ]
        headings = ("Quantity", "Computed as", "Result", "Printed")
        text_table(TextTable(headings, rows, caption="The computation", widths=(28, 42, 17, 13)))
    st.markdown("**Sources**")
    st.markdown("\n".join(f"- {cited(item)}" for item in entry.sources))
    with st.container(horizontal=True):
        st.button(
            "All corrections", icon=":material/arrow_back:", key=state.key("back"), on_click=partial(_back, state)
        )
        for slug, name in zip(entry.systems, entry.names, strict=True):
            _system_link(slug, name)


def _system_link(slug: str, name: str) -> None:
    """A link to the facts of a system, if it has a record."""
    try:
        system = catalogue.get(slug)
    except AtlasError:
        return
    page_link(system.branch, f"Facts of {plain(name)}", {"system": slug, "facts": "open"}, icon=":material/north_east:")


def _back(state: PageState) -> None:
    """Show the list again with its filters."""
    take_up("glossary", {**state.values, "correction": None})


def _read(text: Citation) -> str:
    """A short citation, with how it was read."""
    if text.key.startswith("source-"):
        return f"source{NO_BREAK}{number(text.key)[:3]}"
    if text.evidence in ("computed here", "our own words", "from memory, unverified"):
        return text.evidence
    name = text.title.split(":")[0].split(",")[0] if text.evidence == "library" or not text.authors else text.authors
    return f"{name} {text.year or ''}".strip() + f" ({text.evidence})"


CORRECTIONS = Section("corrections", corrections_list, (SOURCE, SYSTEM, KIND, CORRECTION))


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
    with view.controls():
        chosen = EVIDENCE.with_(options=options).draw(view.state)
    fitting = [group for group in grouped if chosen in (ALL, group[0].evidence)]
    view.say("Citations", count=f"**{len(fitting)} texts**" + (f" of {len(grouped)}" if fitting != grouped else ""))
    uses, linker = _uses(base_path()), Linker("sources.citations")
    rows: list[TableRow] = [(_title(group[0]), _evidence(group, linker, view), _used(group, uses)) for group in fitting]
    with st.expander(view.words.label("list"), expanded=chosen != ALL):
        text_table(TextTable(("Text", "Evidence", "Used for"), rows, caption="Citations", widths=(38, 36, 26)))
        view.note("Reused")


def _grouped() -> list[list[Citation]]:
    """The citations, those of one text and one kind of evidence together, by author and title."""
    groups: dict[tuple[str, str], list[Citation]] = {}
    for text in catalogued():
        groups.setdefault((text.title.casefold(), text.evidence), []).append(text)
    return sorted(groups.values(), key=lambda group: ((group[0].authors or group[0].title).casefold(), group[0].title))


def _title(text: Citation) -> Cell:
    who = f"{text.authors}{f' {text.year}' if text.year else ''}".strip() or str(text.year or "")
    return (Link(text.title, text.url) if text.url else text.title, who)


def _evidence(group: list[Citation], linker: Linker, view: View) -> Cell:
    """How a text was read, and which parts of it; of a source document also its content and what was corrected."""
    text, remarks = group[0], [linker.rich(read) for read in dict.fromkeys(text.read for text in group)]
    if text in documents():
        kinds = Counter(entry.kind for entry in corrections() if text in entry.claimed_by)
        counts = ", ".join(f"{KINDS[kind].lower()} {many}" for kind, many in kinds.most_common())
        link = Link(
            f"{kinds.total()} corrections",
            base_path() + links.url("glossary", {"tab": "corrections", "source": number(text.key)}),
        )
        remarks += [linker.rich(view.words.label(text.key)), Rich((link, f": {counts}"))]
    return (text.evidence, *remarks)


def _uses(base: str) -> dict[Citation, list[Link]]:
    """Links to the facts, corrections and figures that rely on each citation, and to lessons by a text's parts."""
    uses: dict[Citation, list[Link]] = {}
    for system in catalogue.systems():
        link = Link(system.name, base + links.url(system.branch, {"system": system.slug, "facts": "open"}))
        for text in system.citations:
            uses.setdefault(text, []).append(link)
    numbers = Counter(text for entry in corrections() for text in entry.sources)
    for entry in corrections():
        for text in entry.sources:
            if not text.key.startswith("source-") and numbers[text] <= 3:
                link = Link(
                    f"correction on {entry.names[0]}",
                    base + links.url("glossary", {"tab": "corrections", "correction": entry.id}),
                    entry.claim,
                )
                uses.setdefault(text, []).append(link)
    for text, used in numbers.items():
        if used > 3:
            link = Link(f"{used} corrections", base + links.url("glossary", {"tab": "corrections"}))
            uses.setdefault(text, []).append(link)
    figures = Counter((citation(key), row.paper) for row in results() for key in (row.source, *row.also))
    for (text, key), count in figures.items():
        name = f"{count} {'figure' if count == 1 else 'figures'} of {paper(key).rsplit(', ', 1)[-1]}"
        link = Link(name, base + links.url("catalogue", {"tab": "questions"}))
        uses.setdefault(text, []).append(link)
    for outline in outlines():
        link = Link("lessons by its parts", base + links.url("lessons", {"by": outline.key}))
        uses.setdefault(outline.citation, []).append(link)
    return uses


def _used(group: list[Citation], uses: dict[Citation, list[Link]]) -> Rich:
    """The links, separated by commas."""
    used = list(dict.fromkeys(link for text in group for link in uses.get(text, [])))
    parts: list[str | Link] = []
    for link in used:
        parts += [", ", link] if parts else [link]
    return Rich(tuple(parts))
