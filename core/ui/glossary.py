"""The app's texts and notices, with links to the glossary from the first mention of each term on a page.

``terms`` takes the app's Markdown and skips code, formulas, links and headings; ``plain_terms`` takes
plain text and escapes it; ``rich_terms`` gives the parts of a table's cell, a ``Linker`` those of a whole table. What a
visitor typed comes here only within the “…” of a notice: ``quoting_terms`` escapes it and links
nothing in it. Which terms a page has linked is forgotten when its header is drawn anew.

A notice is composed while a page runs. Each takes plain text of the app and escapes it; “…” may quote what a visitor
typed, and nothing in it is linked. A notice that is Markdown on purpose is drawn with ``terms``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import streamlit as st

from core import links
from core.anatomy.store import faults
from core.catalogue import glossary
from core.catalogue.glossary import Term
from core.content import content
from core.errors import AtlasError
from core.ui.page import base_path, plain
from core.ui.tables import Link, Rich

_SLOT = "glossary.linked"
_TIP = 150
_NUMBERS = re.compile(r"\d[\d.,]*")
_QUOTED = re.compile("“.*”", re.DOTALL)  # as far as the last sign: what was typed may hold both signs itself
_DOTTED = re.compile(r"(?<!\S)\S*\w\.\w\S*")  # a file or a field of one: tokenizer.json, live.adapters
_SKIP = r"```.*?```|`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]*\$|!?\[[^\]\n]*\]\([^)\n]*\)|^#[^\n]*|:[a-z]+/[a-z_]+:|https?://\S+"


def markdown(text: str) -> None:
    """Show Markdown of the app with its terms linked."""
    st.markdown(terms(text))


def caption(text: str) -> None:
    """Show Markdown of the app as a caption with its terms linked."""
    st.caption(terms(text))


def terms(text: str) -> str:
    """``text``, Markdown of the app, with the first mention of each term as a link with its meaning as tooltip."""
    return "".join(piece if term is None else _markdown(piece, term) for piece, term in Linker(text).pieces(text))


def plain_terms(text: str) -> str:
    """``text``, plain text of the app, as Markdown in which all but the links is escaped."""
    return _escaped(text, text)


def quoting_terms(text: str) -> str:
    """``plain_terms`` for a text that quotes a visitor in “…”: nothing is linked there.

    Nor in the name of a file.
    """
    return _escaped(text, _DOTTED.sub(_blank, _QUOTED.sub(_blank, text)))


def rich_terms(text: str) -> Rich:
    """``text``, plain and of our own, as the content of a table's cell."""
    return Linker(text).rich(text)


class Linker:
    """Links the first mentions on a page in texts that are drawn together, such as the cells of a table.

    ``owner`` names them: drawn again, by a fragment, they keep their links. It may be the text itself; a line of
    results is the same line with other numbers.
    """

    def __init__(self, owner: str) -> None:
        self._owner = _NUMBERS.sub("", owner)
        self._linked: dict[str, str] = st.session_state.setdefault(_SLOT, {})
        self._mine: set[str] = set()

    def pieces(self, text: str, read: str | None = None) -> Iterator[tuple[str, Term | None]]:
        """``text`` in parts, each with its term if it becomes a link.

        ``read``: as long as ``text``, with blanks for what names no term.
        """
        done = 0
        for start, end, term in find_mentions(text if read is None else read):
            if term.slug in self._mine or self._linked.get(term.slug, self._owner) != self._owner:
                continue
            self._linked[term.slug] = self._owner
            self._mine.add(term.slug)
            if start > done:
                yield text[done:start], None
            yield text[start:end], term
            done = end
        if done < len(text):
            yield text[done:], None

    def rich(self, text: str) -> Rich:
        """``text``, plain and of our own, as the content of a table's cell."""
        return Rich(
            tuple(piece if term is None else Link(piece, href(term), tip(term)) for piece, term in self.pieces(text))
        )


def begin_page() -> None:
    """Start a page: no term is linked yet."""
    st.session_state[_SLOT] = {}


def href(term: Term) -> str:
    return base_path() + links.url("glossary", {"term": term.slug})


def tip(term: Term) -> str:
    """The start of a term's explanation, for a tooltip."""
    first = term.text if len(term.text) <= _TIP else term.text[: term.text.rfind(" ", 0, _TIP)] + " …"
    return f"{term.name}: {first}"


def _markdown(word: str, term: Term) -> str:
    return f'[{plain(word)}]({href(term)} "{tooltip(term)}")'


@lru_cache(maxsize=512)
def tooltip(term: Term) -> str:
    """The tooltip without characters that would end it or have a meaning in Markdown."""
    return plain(tip(term).replace('"', "”"))


def _blank(match: re.Match[str]) -> str:
    return " " * len(match.group())


def _escaped(text: str, read: str) -> str:
    pieces = Linker(text).pieces(text, read)
    return "".join(plain(piece) if term is None else _markdown(piece, term) for piece, term in pieces)


@lru_cache(maxsize=8192)
def find_mentions(text: str) -> tuple[tuple[int, int, Term], ...]:
    """Mentions of terms in ``text``: begin, end and the term. Cached: tables repeat their texts with every run."""
    pattern, names = names_pattern()
    matches = ((match, meant(match.group("term"), names)) for match in pattern.finditer(text) if match.group("term"))
    return tuple((match.start(), match.end(), term) for match, term in matches if term is not None)


def meant(word: str, names: dict[str, Term]) -> Term | None:
    """The term that ``word`` names, singular or plural. Abbreviations match only with their own case."""
    for name in (word, word.removesuffix("s")):
        if name in names:
            return names[name]
        if name.lower() in names:
            return names[name.lower()]
    return None


@lru_cache(maxsize=1)
def names_pattern() -> tuple[re.Pattern[str], dict[str, Term]]:
    """The pattern of what to skip and what to find, and the terms by name (lower case unless an abbreviation)."""
    names: dict[str, Term] = {}
    for term in glossary.terms():
        if term.linked:
            names |= {spelling: term for name in term.names for spelling in _spellings(name)}
    longest = sorted(names, key=len, reverse=True)
    alternatives = "|".join(f"(?i:{re.escape(name)})" if name.islower() else re.escape(name) for name in longest)
    pattern = rf"{_SKIP}|(?<![\w\\@/-])(?P<term>(?:{alternatives})s?)(?![\w@]|-\w)"
    return re.compile(pattern, re.MULTILINE | re.DOTALL), names


def _spellings(name: str) -> tuple[str, ...]:
    """Lower case matches any case; a name with an inner capital (SOP, RoPE) matches only as written."""
    if any(sign.isupper() for sign in name[1:]):
        return (name,) if name[1:2].isupper() else (name, name[0].lower() + name[1:])
    return (name.lower(),)


def info(text: str, icon: str | None = None) -> None:
    """Show information; nothing is wrong."""
    st.info(quoting_terms(text), icon=icon)


def warning(text: str, icon: str | None = None) -> None:
    """Show what was not understood or cannot be done; the page continues."""
    st.warning(quoting_terms(text), icon=icon)


def error(text: str, icon: str | None = None) -> None:
    """Show why the page ends here."""
    st.error(quoting_terms(text), icon=icon)


@contextmanager
def sentences() -> Iterator[None]:
    """Show an :class:`AtlasError` raised inside as a plain sentence; the page continues."""
    try:
        yield
    except AtlasError as error:
        warning(str(error), icon=":material/info:")


def unbuilt() -> None:
    """A sentence for each such size: the file, the field and the reason. All others are shown as ever."""
    for sentence in faults():
        warning(f"{content('frame', 'links').part('Not counted')} {sentence}", icon=":material/rule:")
