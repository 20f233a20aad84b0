"""The panel "What changed, and the facts": every figure with its unit, its source, and how that source was read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import streamlit as st

from core import anatomy, catalogue, checkpoints
from core.catalogue import Citation, Size, System
from core.catalogue.questions import UNSTATED
from core.catalogue.results import Result, of_system, paper, results
from core.catalogue.shape import shape
from core.content import Content, content
from core.errors import AtlasError
from core.ui.costs import computed_panel
from core.ui.glossary import Linker, caption, plain_terms, rich_terms
from core.ui.links import page_link
from core.ui.notices import sentences
from core.ui.page import base_path, plain
from core.ui.text_table import Link, Row, TextTable, text_table

_MOST_RESULTS = 5


def facts_panel(slug: str) -> None:
    """Draw what is known about a system. Raises :class:`core.errors.UnknownSystem` for an unknown slug."""
    system, words = catalogue.get(slug), content("branch", "facts")
    _origin(system)
    _change(system)
    st.markdown(f"**What runs here.** {plain_terms(system.live.note)}")
    if system.live.checkpoint not in {spec.slug for spec in checkpoints.available()}:
        caption(words.part("Missing model", model=plain(system.live.checkpoint)))
    _properties(system, words.part("Evidence"))
    _sizes(system, words)
    _results(system)
    with sentences():
        computed_panel(system)
    _corrections(system)
    _notes(system)
    _sources(system)
    caption(words.part("Sources"))


def _origin(system: System) -> None:
    """Name, year, house, paper and code in one line."""
    paper = f"{plain(system.paper.authors)}, {plain(system.paper.venue)}"
    parts = [
        f"{system.year}",
        plain(system.organization),
        f"[{plain(system.paper.title)}]({system.paper.url}) ({paper})" if system.paper.url else paper,
    ]
    if system.code:
        parts.append(f"[code]({system.code})")
    st.markdown(f"**{plain(system.name)}** · " + " · ".join(parts))


def _change(system: System) -> None:
    left, right = st.columns(2)
    with left:
        parent = _parent(system)
        st.subheader(f"What it changed{f' in {parent[1]}' if parent else ''}", anchor=False)
        st.markdown(plain_terms(system.change))
        if parent and parent[0] and system.parent:
            query = {"system": system.parent, "tab": "facts"}
            page_link(parent[0], f"See {parent[1]}", query, icon=":material/north_west:")
    with right:
        st.subheader("Why", anchor=False)
        st.markdown(plain_terms(system.why))


def _parent(system: System) -> tuple[str | None, str] | None:
    """Branch page (None for an ancestor without a page) and name of the parent; None at the root."""
    if system.parent is None:
        return None
    for ancestor in catalogue.ancestors():
        if ancestor.slug == system.parent:
            return None, f"the {ancestor.name} of {ancestor.year}"
    parent = catalogue.get(system.parent)
    if parent.slug == "transformer":  # its name is the family's as well
        return parent.branch, f"the {parent.name} of {parent.year}"
    return parent.branch, parent.name


def _properties(system: System, help_: str) -> None:
    st.subheader("Properties and figures", anchor=False, help=help_)
    linker = Linker("facts.properties")
    rows: list[Row] = [
        (linker.rich(heading), linker.rich(statement.text), _source_cell(system, statement.sources))
        for heading, statement in system.statements()
        if statement.sources != ("words",)
    ]
    rows += [
        (
            linker.rich(fact.label),
            (linker.rich(f"{fact.value} {fact.unit}".strip()), linker.rich(fact.note)),
            _source_cell(system, (fact.source,)),
        )
        for fact in system.facts
    ]
    text_table(
        TextTable(("", "", "Read in"), rows, caption=f"Properties and figures of {system.name}", widths=(20, 52, 28))
    )
    left_out = [heading.lower() for heading, statement in system.statements() if statement.sources == ("words",)]
    if left_out:
        st.caption(f"Left out because no text on it was read: {', '.join(left_out)}.")


def _sizes(system: System, words: Content) -> None:
    """Published figure against the count of the skeleton built here; why there is none where none was published."""
    if not system.sizes:
        st.subheader("Sizes", anchor=False)
        st.markdown(plain(system.undisclosed))
        return
    try:
        counted = anatomy.counts(system.slug)
    except (AtlasError, OSError):  # the trees of a new system are not kept yet
        counted = {}
    st.subheader("Sizes: as published, and as counted here", anchor=False)
    rows: list[Row] = []
    for size in system.sizes:
        layers, width, heads = shape(size)
        count = counted.get(size.name)
        difference = _difference(size, count)
        rows.append(
            (
                size.name,
                " / ".join(part for part in (layers, width, heads) if part) or "as its two halves",
                (size.published_as or "none found", _evidence(system, size.source) if size.source else ""),
                f"{count:,}" if count else "not counted",
                difference,
                (_evidence(system, size.config_source), rich_terms(size.note)),
            )
        )
    headings = ("Size", "Layers / width / heads", "Published", "Counted", "Difference", "Configuration from")
    text_table(
        TextTable(headings, rows, caption=f"Sizes of {system.name}", widths=(11, 16, 14, 19, 12, 28), numeric=(3, 4))
    )
    classes = sorted({size.architecture for size in system.sizes})
    caption(words.part("Sizes", classes=", ".join(classes)))
    if system.hub:
        names = "; ".join(f"{checkpoint.id}{f' ({_evidence(system, checkpoint.source)})'}" for checkpoint in system.hub)
        st.caption(f"Published checkpoints: {plain(names)}.")


def _difference(size: Size, count: int | None) -> str:
    """How far the count lies from the published figure, in per cent."""
    if not count or not size.published:
        return ""
    return f"{(count - size.published) / size.published:+.1%}" if size.comparable else "counts other parts"


def _results(system: System) -> None:
    """Five of the system's figures and the way to all of them; nothing where none is known."""
    slug, title = system.slug, system.name
    found = of_system(slug)
    if not found:
        return
    st.subheader("Results", anchor=False)
    linker = Linker("results.brief")
    rows: list[Row] = [(linker.rich(row.measure.title), row.printed, _whose(row)) for row in main_results(slug, found)]
    every = f"All {len(found)} figures of {title}, each with its source" if len(found) > 1 else "The figure's source"
    rows.append((Link(every, f"{base_path()}/results?system={slug}"), "", ""))
    text_table(TextTable(("", "", "Of"), rows, caption=f"Results of {title}", widths=(48, 14, 38), numeric=(1,)))


def _whose(row: Result) -> str:
    return ", ".join(part for part in (row.size, row.variant, paper(row.paper)) if part)


def main_results(slug: str, found: Sequence[Result]) -> list[Result]:
    """At most five figures of measures that many systems share, of the system's own paper where it has them.

    One a measure, the best of a single model: what a reader would compare first.
    """
    shared: dict[str, set[str]] = {}
    for row in results():
        shared.setdefault(row.measure.slug, set()).add(row.system)

    def worth(row: Result) -> tuple[bool, bool, bool, int]:
        single = "ensemble" not in row.variant
        return row.paper == slug, row.measure.split != UNSTATED, single, len(shared[row.measure.slug])

    best: dict[str, Result] = {}
    for row in found:
        held = best.get(row.measure.slug)
        if held is None or (worth(row), _good(row)) > (worth(held), _good(held)):
            best[row.measure.slug] = row
    return sorted(best.values(), key=worth, reverse=True)[:_MOST_RESULTS]


def _good(row: Result) -> float:
    return row.value if row.measure.higher else -row.value


def _corrections(system: System) -> None:
    if not system.corrections:
        return
    st.subheader("Where the sources err", anchor=False)
    linker = Linker("facts.corrections")
    rows: list[Row] = [
        (
            linker.rich(item.claim),
            _short(system.citation(item.claimed_by)),
            linker.rich(item.finding),
            _source_cell(system, item.sources),
        )
        for item in system.corrections
    ]
    text_table(
        TextTable(
            ("The claim", "Made by", "What holds", "Read in"), rows, caption="Corrections", widths=(26, 14, 38, 22)
        )
    )


def _notes(system: System) -> None:
    for note in system.notes:
        read = ", ".join(
            filter(None, (_short(system.citation(key)) or system.citation(key).evidence for key in note.sources))
        )
        st.markdown(plain_terms(note.text) + (f" ({plain(read)})" if read else ""))


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
    """The short names of the sources, and below them how they were read."""
    cited = [system.citation(key) for key in keys]
    return "; ".join(filter(None, map(_short, cited))), ", ".join(dict.fromkeys(c.evidence for c in cited))


def _evidence(system: System, key: str) -> str:
    return system.citation(key).evidence


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
