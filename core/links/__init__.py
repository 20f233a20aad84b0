"""Deep links: the name, default and range of everything that a URL of the app can carry.

A page's state is a flat mapping from names to plain values. :func:`read` turns a raw query into that mapping and says
in a sentence what it refused; :func:`write` turns the mapping back into the shortest query: defaults stay out. A text
of more than ``MAX_LINK_CHARS`` characters is packed (:mod:`core.links.packed`); one that is too long even so stays
behind, and the page says so.

Neither torch nor streamlit here: a link can be checked in a test or built in a notebook.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from core.links.packed import carried
from core.links.parameters import (
    Choice,
    Integer,
    Integers,
    Parameter,
    Real,
    Text,
    Value,
    Words,
    parse,
    plain,
    short,
)
from core.settings import ROOT

__all__ = [
    "PAGES",
    "Choice",
    "Integer",
    "Integers",
    "Parameter",
    "Real",
    "Refusal",
    "Text",
    "Value",
    "Words",
    "defaults",
    "exists",
    "read",
    "register",
    "url",
    "write",
]

PAGES: dict[str, dict[str, Parameter]] = {}
"""What a link to each page can carry, from when the page's sections are read; layers and heads count from 1."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A parameter that was not taken over, and the sentence that says why."""

    name: str
    sentence: str


def register(page: str, parameters: dict[str, Parameter]) -> None:
    """Make ``parameters`` all that a link to ``page`` can carry: what the page's sections declare."""
    PAGES[page] = parameters


def exists(page: str) -> bool:
    """Whether the app has a page of that name, ours and never a visitor's; its sections need not have been read."""
    return page in PAGES or (ROOT / "pages" / f"{page}.py").is_file()


def defaults(page: str) -> dict[str, Value]:
    """The state of ``page`` when the URL carries nothing."""
    return {name: parameter.default for name, parameter in PAGES[page].items()}


def read(
    page: str, query: Mapping[str, str], choices: Mapping[str, Collection[str]] | None = None
) -> tuple[dict[str, Value], tuple[Refusal, ...]]:
    """The state that ``query`` asks for, and what was refused.

    ``choices`` gives the allowed words of those :class:`Choice` parameters which only the page knows (systems, models).
    Refused parameters keep their default. Never raises on a visitor's input.
    """
    state = defaults(page)
    refused: list[Refusal] = []
    for name, raw in query.items():
        parameter = PAGES[page].get(name)
        if parameter is None:
            refused.append(Refusal(name, f"The link carries “{short(name)}”, which this page does not know."))
            continue
        try:
            state[name] = parse(parameter, raw, (choices or {}).get(name))
        except ValueError as error:
            refused.append(Refusal(name, f"The link asks for {name} “{short(raw)}”, but {error}."))
    return state, tuple(refused)


def write(page: str, state: Mapping[str, Value]) -> tuple[dict[str, str], bool]:
    """The shortest query for ``state``, and whether a text had to stay behind because it is too long for a link.

    Of a page whose sections have not been read, all that ``state`` names is taken over.
    """
    query: dict[str, str] = {}
    too_long = False
    known = PAGES.get(page)
    for name, value in state.items():
        default = None if known is None or name not in known else known[name].default
        if value is None or value == default or (known is not None and name not in known):
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
    query, _ = write(page, state)
    path = "/" if page == "home" else f"/{page}"
    return f"{path}?{urlencode(query)}" if query else path
