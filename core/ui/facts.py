"""What a system changed and why, and its facts: every figure with its unit, its source, and how it was read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import streamlit as st

from core import anatomy, catalogue, checkpoints, links
from core.catalogue.questions import UNSTATED
from core.catalogue.results import Result, of_system, paper, results
from core.catalogue.schema import Citation, Size, System
from core.content import Content, content
from core.errors import AtlasError
from core.figures.labels import with_unit
from core.ui.costs import computed_panel
from core.ui.glossary import Linker, caption, markdown, plain_terms, rich_terms, sentences
from core.ui.links import page_link
from core.ui.page import base_path, plain
from core.ui.tables import Link, TableRow, TextTable, text_table
from core.words import first_sentence

_MOST_RESULTS = 5


def change(system: System) -> None:
    """Draw why the system changed what it did: the first sentence, and all of it in a fold."""
    words = content("branch", "facts")
    markdown(words.part("Motivation", why=first_sentence(system.why)))
    with st.expander(words.label("why"), type="compact"):
        _change(system, words)


def facts_panel(slug: str) -> None:
    """Draw the facts of a system. Raises :class:`core.errors.UnknownSystem` for an unknown slug."""
    system, words = catalogue.get(slug), content("branch", "facts")
    _origin(system)
    st.markdown(f"**Live model.** {plain_terms(system.live.note)}")
    if system.live.checkpoint not in {spec.slug for spec in checkpoints.available()}:
        caption(words.part("Missing model", model=plain(system.live.checkpoint)))
    _properties(system, words)
    _sizes(system, words)
    _results(system, words)
    with sentences():
        computed_panel(system)
    _corrections(system, words)
    if system.notes:
        st.subheader(words.label("notes"), anchor=False)
    for note in system.notes:
        citations = map(system.citation, note.sources)
        source = ", ".join(filter(None, (_short(citation) or citation.evidence for citation in citations)))
        st.markdown(plain_terms(note.text) + (f" ({plain(source)})" if source else ""))
    _sources(system)
    caption(words.part("Sources"))


def _origin(system: System) -> None:
    """A line with name, year, organization, paper and code."""
    paper = f"{plain(system.paper.authors)}, {plain(system.paper.venue)}"
    parts = [
        f"**{plain(system.name)}**",
        f"{system.year}",
        plain(system.organization),
        f"[{plain(system.paper.title)}]({system.paper.url}) ({paper})" if system.paper.url else paper,
        *([f"[code]({system.code})"] if system.code else []),
    ]
    st.markdown(" · ".join(parts))


def _change(system: System, words: Content) -> None:
    left, right = st.columns(2)
    parent, branch = _parent(system)
    change = words.label("change")
    with left:
        st.subheader(words.part("Change", parent=parent) if parent else change, anchor=False)
        st.markdown(plain_terms(f"{system.change} "))  # another text than the lead, which has the links
        if branch and system.parent:
            query = {"system": system.parent}
            page_link(branch, f"See {parent}", query, icon=":material/north_west:")
    with right:
        st.subheader("Motivation", anchor=False)
        st.markdown(plain_terms(system.why))


def _parent(system: System) -> tuple[str, str | None]:
    """Name and branch page of the parent; no page for a milestone, no name at the root."""
    if system.parent is None:
        return "", None
    for milestone in catalogue.milestones():
        if milestone.slug == system.parent:
            return f"the {milestone.name} of {milestone.year}", None
    parent = catalogue.get(system.parent)
    # The first Transformer's name is the family's as well.
    return f"the {parent.name} of {parent.year}" if parent.slug == "transformer" else parent.name, parent.branch


def _properties(system: System, words: Content) -> None:
    st.subheader("Properties and figures", anchor=False, help=words.part("Evidence"))
    linker = Linker("facts.properties")
    read = [(heading, text) for heading, text in system.statements() if text.sources != ("words",)]
    rows: list[TableRow] = [
        (linker.rich(heading), linker.rich(statement.text), _source_cell(system, statement.sources))
        for heading, statement in read
    ]
    rows += [
        (
            linker.rich(fact.label),
            (linker.rich(with_unit(fact.value, fact.unit)), linker.rich(fact.note)),
            _source_cell(system, (fact.source,)),
        )
        for fact in system.facts
    ]
    text_table(TextTable(("", "", "Source"), rows, f"Properties and figures of {system.name}", (20, 52, 28)))
    left_out = [heading.lower() for heading, text in system.statements() if text.sources == ("words",)]
    if left_out:
        st.caption(words.part("Left out", headings=", ".join(left_out)))


def _sizes(system: System, words: Content) -> None:
    """Draw published against counted parameters, or the reason why there are none."""
    if not system.sizes:
        st.subheader("Sizes", anchor=False)
        st.markdown(plain(system.undisclosed))
        return
    try:
        counted = anatomy.counts(system.slug)
    except (AtlasError, OSError):  # the trees of a new system are not stored yet
        counted = {}
    st.subheader("Sizes: published and counted here", anchor=False)
    rows: list[TableRow] = []
    for size in system.sizes:
        count = counted.get(size.name)
        rows.append(
            (
                size.name,
                " / ".join(filter(None, size.shape)) or "as its two halves",
                (size.published_as or "none found", system.citation(size.source).evidence if size.source else ""),
                f"{count:,}" if count else "not counted",
                size_difference(size, count),
                (system.citation(size.config_source).evidence, rich_terms(size.note)),
            )
        )
    headings = ("Size", "Layers / hidden size / heads", "Published", "Counted", "Difference", "Configuration from")
    text_table(TextTable(headings, rows, f"Sizes of {system.name}", (11, 16, 14, 19, 12, 28), numeric=(3, 4)))
    caption(words.part("Sizes", classes=", ".join(sorted({size.architecture for size in system.sizes}))))
    if system.hub:
        names = "; ".join(
            f"{checkpoint.id} ({system.citation(checkpoint.source).evidence})" if checkpoint.source else checkpoint.id
            for checkpoint in system.hub
        )
        st.caption(f"Published checkpoints: {plain(names)}.")


def size_difference(size: Size, count: int | None) -> str:
    """The difference of the count from the published figure, in percent."""
    if not count or not size.published:
        return ""
    return f"{100 * (count - size.published) / size.published:+z.1f}%" if size.comparable else "not comparable"


def _results(system: System, words: Content) -> None:
    """Draw five of the system's results and a link to all; nothing without any."""
    figures = of_system(system.slug)
    if not figures:
        return
    st.subheader("Results", anchor=False)
    linker = Linker("results.brief")
    rows: list[TableRow] = [
        (
            linker.rich(row.measure.title),
            row.printed,
            ", ".join(filter(None, (row.size, row.variant, paper(row.paper)))),
        )
        for row in main_results(system.slug, figures)
    ]
    every = words.part("All figures" if len(figures) > 1 else "One figure", count=len(figures), system=system.name)
    rows.append((Link(every, base_path() + links.url("catalogue", {"tab": "questions"})), "", ""))
    text_table(TextTable(("", "", "Model and paper"), rows, f"Results of {system.name}", (48, 14, 38), numeric=(1,)))


def main_results(slug: str, figures: Sequence[Result]) -> list[Result]:
    """At most five results on common measures, from the system's own paper if it has them.

    One per measure: the best of a single model.
    """
    shared: dict[str, set[str]] = {}
    for row in results():
        shared.setdefault(row.measure.slug, set()).add(row.system)

    def worth(row: Result) -> tuple[bool, bool, bool, int]:
        single = "ensemble" not in row.variant
        return row.paper == slug, row.measure.split != UNSTATED, single, len(shared[row.measure.slug])

    def rank(row: Result) -> tuple[Any, ...]:
        return *worth(row), row.value if row.measure.higher else -row.value

    best: dict[str, Result] = {}
    for row in figures:
        if row.measure.slug not in best or rank(row) > rank(best[row.measure.slug]):
            best[row.measure.slug] = row
    return sorted(best.values(), key=worth, reverse=True)[:_MOST_RESULTS]


def _corrections(system: System, words: Content) -> None:
    if not system.corrections:
        return
    st.subheader(words.label("corrections"), anchor=False)
    linker = Linker("facts.corrections")
    rows: list[TableRow] = [
        (
            linker.rich(item.claim),
            _short(system.citation(item.claimed_by)),
            linker.rich(item.finding),
            _source_cell(system, item.sources),
        )
        for item in system.corrections
    ]
    text_table(TextTable(("Claim", "Claimed by", "Correct", "Source"), rows, "Corrections", (26, 14, 38, 22)))


def _sources(system: System) -> None:
    st.subheader("Sources", anchor=False)
    lines = []
    for citation in system.citations:
        who = f"{citation.authors}, " if citation.authors else ""
        year = f" ({citation.year})" if citation.year else ""
        title = f"[{plain(citation.title)}]({citation.url})" if citation.url else plain(citation.title)
        lines.append(f"- {plain(who)}{title}{year}. *{plain(citation.evidence)}*: {plain_terms(citation.read)}")
    st.markdown("\n".join(lines))


def _source_cell(system: System, keys: Iterable[str]) -> tuple[str, str]:
    """A table cell: short names of the sources, and below them how they were read."""
    cited = [system.citation(key) for key in keys]
    return "; ".join(filter(None, map(_short, cited))), ", ".join(dict.fromkeys(c.evidence for c in cited))


def _short(citation: Citation) -> str:
    """A citation in a few words: source number, or first author and year."""
    if citation.key.startswith("source-"):
        return f"source {citation.key.removeprefix('source-')}"
    if citation.evidence in ("computed here", "our own words", "from memory, unverified"):
        return ""
    if citation.evidence == "library":
        return citation.title.split(":")[0].split(",")[0]
    if citation.evidence == "notes on the paper" and not citation.authors:
        return ""
    return f"{citation.authors or citation.title} {citation.year or ''}".strip()
