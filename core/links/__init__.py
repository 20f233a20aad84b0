"""Deep links: the name, default and range of every parameter that a URL of the app can carry.

A page's state is a flat mapping from names to plain values. :func:`read_query` parses a raw query into it, with a
message for each refused parameter; :func:`write_query` is its inverse and leaves defaults out. A text of more than
``MAX_LINK_CHARS`` characters is packed; one that is still too long is left out, and the page says so.

Neither torch nor streamlit is imported: a link can be checked in a test or built in a notebook.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from core import catalogue
from core.catalogue import moved_sizes
from core.links.parameters import Parameter, Value, carried, parse, plain, short
from core.settings import ROOT

PAGES: dict[str, dict[str, Parameter]] = {}
"""The parameters of each page, known once its sections are imported; layers and heads count from 1."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused parameter, and the reason as a sentence."""

    name: str
    sentence: str


def register(page: str, parameters: dict[str, Parameter]) -> None:
    """Declare ``parameters``, those of the page's sections, as all that a link to ``page`` can carry."""
    PAGES[page] = parameters


def exists(page: str) -> bool:
    """Whether the app has a page of that name (ours, never a visitor's), even if its sections are not imported yet."""
    return page in PAGES or (ROOT / "pages" / f"{page}.py").is_file()


def defaults(page: str) -> dict[str, Value]:
    """The state of ``page`` for an empty query."""
    return {name: parameter.default for name, parameter in PAGES[page].items()}


def read_query(
    page: str, query: Mapping[str, str], choices: Mapping[str, Collection[str]] | None = None
) -> tuple[dict[str, Value], tuple[Refusal, ...]]:
    """The state of ``query``, and the refused parameters, which take their default.

    ``choices`` holds the allowed words of those :class:`Choice` parameters which only the page knows (systems, models).
    Never raises on a visitor's input.
    """
    state = defaults(page)
    refused: list[Refusal] = []
    for name, raw in _moved(query).items():
        parameter = PAGES[page].get(name)
        if parameter is None:
            refused.append(Refusal(name, f"The link has a parameter “{short(name)}”, which this page does not have."))
            continue
        try:
            state[name] = parse(parameter, raw, (choices or {}).get(name))
        except ValueError as error:
            refused.append(Refusal(name, f"The link asks for {name} “{short(raw)}”, but {error}."))
    return state, tuple(refused)


def current(page: str, query: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Page and query of the view that a link means today: another section shows some that links of before name."""
    for row in catalogue.moved_views():
        when, renames = row["when"], row.get("renames", {})
        if page not in row["pages"] or any(query.get(name, "") != value for name, value in when.items()):
            continue
        old = {"system": row["pages"][page], **query}
        if "model" in row.get("keeps", ()):
            models = (system.live.checkpoint for system in catalogue.systems() if system.slug == old["system"])
            old = {"model": next(models, ""), **old}
        kept = {name: value for name, value in old.items() if name in row.get("keeps", query) and name not in when}
        kept = {renames.get(name, name): value for name, value in kept.items() if value or name in query}
        return current(row.get("page", page), row.get("query", {}) | kept)
    return page, dict(query)


def former_pages() -> tuple[str, ...]:
    """The paths of pages that are no more: each whole one is a moved view."""
    return tuple(page for row in catalogue.moved_views() if not row["when"] for page in row["pages"])


def _moved(query: Mapping[str, str]) -> dict[str, str]:
    """The query with each size that became a system of its own as that system."""
    moved = dict(query)
    for system, size in (("system", "size"), ("left", "left-size"), ("right", "right-size")):
        if new := moved_sizes().get((query.get(system, ""), query.get(size, ""))):
            moved[system], moved[size] = new
    return moved


def write_query(page: str, state: Mapping[str, Value]) -> tuple[dict[str, str], bool]:
    """The shortest query for ``state``, and whether a text was left out because it is too long for a link.

    For a page whose sections are not imported yet, the query holds all of ``state``.
    """
    query: dict[str, str] = {}
    too_long = False
    declared = PAGES.get(page)
    for name, value in state.items():
        default = None if declared is None or name not in declared else declared[name].default
        if value is None or value == default or (declared is not None and name not in declared):
            continue
        if isinstance(value, tuple):
            query[name] = ("," if isinstance(value[0], str) else ".").join(map(str, value)) if value else ""
        elif isinstance(value, str):
            text = carried(value)
            too_long |= text is None
            query |= {} if text is None else {name: text}
        else:
            query[name] = plain(value)
    return query, too_long


def url(page: str, state: Mapping[str, Value]) -> str:
    """A relative link to ``page`` with ``state``, e.g. ``/encoder?system=bert``."""
    query, _ = write_query(page, state)
    path = "/" if page == "home" else f"/{page}"
    return f"{path}?{urlencode(query)}" if query else path
