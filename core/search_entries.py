"""The entries of the search, each with its link, collected from the data that the pages show.

Systems, terms, corrections and live models come from their own files; pages, demos and sections from their content
files. Neither torch nor streamlit is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from core import catalogue, checkpoints, links
from core.catalogue import glossary
from core.catalogue.corrections import corrections
from core.catalogue.questions import questions
from core.catalogue.results import results
from core.checkpoints.spec import CheckpointSpec
from core.content import content, names
from core.errors import AtlasError

Query = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Text:
    """A text of an entry, with a heading and link of its own where it is shown elsewhere than the entry."""

    text: str
    heading: str = ""
    query: Query = ()
    keywords: str = ""
    """Further words that match it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A search entry: its kind, title, a line about it, its page and the query of its link."""

    kind: str
    title: str
    line: str
    page: str
    query: Query
    names: tuple[str, ...] = ()
    texts: tuple[Text, ...] = ()
    named: bool = True
    """False where the title is a sentence, whose words count as those of a text."""


def models() -> tuple[CheckpointSpec, ...]:
    """The live models that have a page; none where the host's settings cannot be used."""
    try:
        return tuple(spec for spec in checkpoints.available() if spec.ready and links.exists(spec.branch))
    except AtlasError:
        return ()


def entries(ready: Iterable[CheckpointSpec] = ()) -> tuple[Entry, ...]:
    """All entries of an installation in which the models ``ready`` can run, systems first."""
    return (*_systems(), *_terms(), *_sections(), *map(_model, ready), *_results(), *_corrections())


def _systems() -> Iterator[Entry]:
    for system in catalogue.systems():
        facts: Query = (("system", system.slug), ("tab", "facts"))
        sections = (("What it changed", system.change), ("Why", system.why))
        texts = [Text(text, heading, facts) for heading, text in sections]
        texts += [Text(statement.text, heading, facts) for heading, statement in system.statements()]
        texts += [Text(f"{system.paper.title} {system.paper.authors} {system.organization}", "Paper", facts)]
        yield Entry(
            "System",
            system.name,
            f"{system.year}, {system.organization}. {system.change}",
            system.branch,
            (("system", system.slug),),
            (system.slug, *_versions(system)),
            tuple(texts),
        )


def _versions(system: catalogue.System) -> tuple[str, ...]:
    """Names of published checkpoints, such as bert-base-uncased."""
    return tuple(checkpoint.short_name for checkpoint in system.hub)


def _terms() -> Iterator[Entry]:
    for term in glossary.terms():
        yield Entry(
            "Term",
            term.name,
            term.text,
            "glossary",
            (("term", term.slug),),
            (*term.aliases, *term.also),
            (Text(term.text),),
        )


def _sections() -> Iterator[Entry]:
    """Pages, sections and demos, from the ``[[search]]`` rows of their content files."""
    for folder, name in names():
        words = content(folder, name)
        for row in words.front.get("search", ()):
            page = row.get("page", folder)
            query = row.get("query", {} if name == "page" else {"tab": name})
            if links.exists(page):
                yield Entry(
                    row.get("kind", "Demo" if query else "Page"),
                    row.get("title", words.title),
                    row["line"],
                    page,
                    tuple((key, str(value)) for key, value in query.items()),
                    tuple(row.get("words", ())),
                    (Text(row["line"]),),
                )


def _model(spec: CheckpointSpec) -> Entry:
    line = spec.card.summary if spec.card else spec.origin
    query = (*((("system", spec.system),) if spec.system else ()), ("model", spec.slug))
    return Entry("Model", spec.name, line, spec.branch, query, (spec.slug,), (Text(line),))


def _results() -> Iterator[Entry]:
    """The questions that the results answer, and every data set with figures."""
    for question in questions():
        for case in question.cases:
            query = (("question", question.slug), ("case", case.slug))
            texts = (Text(f"{case.title} {question.title}"), Text(case.caveat))
            yield Entry("Table", case.title, question.title, "results", query, (), texts, named=False)
    by_dataset: dict[str, list[str]] = {}
    for figure in results():
        by_dataset.setdefault(figure.measure.dataset, []).append(figure.system)
    for dataset, systems in by_dataset.items():
        line = f"{len(systems)} figures of {len(set(systems))} systems."
        yield Entry(
            "Table", f"Results on {dataset}", line, "results", (("tab", "all"), ("dataset", dataset)), (dataset,), ()
        )


def _corrections() -> Iterator[Entry]:
    for correction in corrections():
        yield Entry(
            "Correction",
            correction.claim,
            correction.finding,
            "sources",
            (("correction", correction.id),),
            (),
            (Text(f"{correction.claim} {correction.printed} {' '.join(correction.names)}"), Text(correction.finding)),
            named=False,
        )
