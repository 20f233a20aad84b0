"""Terms in our own texts as links to the glossary: the first mention of each on a page, and no more.

``terms`` takes Markdown of ours and leaves code, formulas, links and headings alone; ``plain_terms`` takes
plain text and escapes it; ``rich_terms`` gives the parts of a table's cell, ``linking`` those of a whole table, and
``kept`` is for a table that is made once for every visitor. What a visitor typed comes here only within the “…” of a
notice (``core.ui.notices``): ``quoting_terms`` escapes it and links nothing in it. One pattern of all names is compiled
once; which terms a page has linked is forgotten when its header is drawn anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache

import streamlit as st

from core import links
from core.catalogue import glossary
from core.catalogue.glossary import Term
from core.ui.page import plain
from core.ui.text_table import Link, Rich

_SLOT = "glossary.linked"
_TIP = 150
_NUMBERS = re.compile(r"\d[\d.,]*")
_QUOTED = re.compile("“.*”", re.DOTALL)  # as far as the last sign: what was typed may hold both signs itself
_DOTTED = re.compile(r"(?<!\S)\S*\w\.\w\S*")  # a file or a field of one: tokenizer.json, live.adapters
_SKIP = r"```.*?```|`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]*\$|!?\[[^\]\n]*\]\([^)\n]*\)|^#[^\n]*|:[a-z]+/[a-z_]+:|https?://\S+"


def markdown(text: str) -> None:
    """Show a text of ours in Markdown, with its terms linked."""
    st.markdown(terms(text))


def caption(text: str) -> None:
    """Show a text of ours as a small note, with its terms linked."""
    st.caption(terms(text))


def terms(text: str) -> str:
    """``text``, Markdown of our own, with the first mention of each term as a link whose tooltip says what it means."""
    pieces = _pieces(text, text)
    return "".join(piece if found is None else _markdown(piece, found) for piece, found in pieces)


def plain_terms(text: str) -> str:
    """``text``, plain and of our own, as Markdown in which nothing but the links has a meaning."""
    return "".join(plain(piece) if found is None else _markdown(piece, found) for piece, found in _pieces(text, text))


def quoting_terms(text: str) -> str:
    """``plain_terms`` for a text of our own with “…” in it, which may be a visitor's: nothing there is a term.

    Neither is the name of a file.
    """
    read = _DOTTED.sub(_blank, _QUOTED.sub(_blank, text))
    pieces = _pieces(text, text, read)
    return "".join(plain(piece) if found is None else _markdown(piece, found) for piece, found in pieces)


def rich_terms(text: str) -> Rich:
    """``text``, plain and of our own, as the content of a table's cell."""
    return Rich(
        tuple(piece if found is None else Link(piece, href(found), tip(found)) for piece, found in _pieces(text, text))
    )


class Linker:
    """The first mentions over many texts that are drawn together; ``before``: slugs that stand linked already."""

    def __init__(self, before: frozenset[str] = frozenset()) -> None:
        self._before = before
        self._mine: dict[str, None] = {}

    @property
    def linked(self) -> frozenset[str]:
        """The slugs of the terms that were linked here."""
        return frozenset(self._mine)

    def rich(self, text: str) -> Rich:
        """``text``, plain and of our own, as the content of a table's cell."""
        parts: list[str | Link] = []
        done = 0
        for start, end, found in _mentions(text):
            if found.slug not in self._before and found.slug not in self._mine:
                self._mine[found.slug] = None
                parts += [text[done:start], Link(text[start:end], href(found), tip(found))]
                done = end
        return Rich(tuple(part for part in (*parts, text[done:]) if part))


@contextmanager
def linking(owner: str) -> Iterator[Linker]:
    """A linker for one table of a page, which knows what the page has linked before and says what it has linked.

    ``owner`` names the table: drawn again, by a fragment, it keeps its links.
    """
    linked: dict[str, str] = st.session_state.setdefault(_SLOT, {})
    linker = Linker(frozenset(slug for slug, by in linked.items() if by != owner))
    yield linker
    linked |= dict.fromkeys(linker.linked, owner)


def kept(owner: str, build: Callable[[frozenset[str]], tuple[str, frozenset[str]]]) -> str:
    """A text that is kept for every visitor, with its terms linked where the page has not linked them yet.

    ``build`` takes the slugs that are linked before and returns the text and those that it links itself.
    """
    linked: dict[str, str] = st.session_state.setdefault(_SLOT, {})
    text, mine = build(frozenset(slug for slug, by in linked.items() if by != owner))
    linked |= dict.fromkeys(mine, owner)
    return text


def begin_page() -> None:
    """Forget which terms are linked: a page begins."""
    st.session_state[_SLOT] = {}


def href(found: Term) -> str:
    """The link to a term's place in the glossary."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return (f"/{base}" if base else "") + links.url("glossary", {"term": found.slug})


def tip(found: Term) -> str:
    """The beginning of a term's explanation, for a tooltip."""
    first = found.text if len(found.text) <= _TIP else found.text[: found.text.rfind(" ", 0, _TIP)] + " …"
    return f"{found.name}: {first}"


def _markdown(word: str, found: Term) -> str:
    return f'[{plain(word)}]({href(found)} "{_title(found)}")'


@lru_cache(maxsize=512)
def _title(found: Term) -> str:
    """The tooltip without the signs that would end it or mean something in Markdown."""
    return plain(tip(found).replace('"', "”"))


def _blank(found: re.Match[str]) -> str:
    return " " * len(found.group())


def _pieces(text: str, owner: str, read: str | None = None) -> Iterator[tuple[str, Term | None]]:
    """``text`` cut into pieces, each with its term where it is to be a link.

    ``read``: as long as ``text``, with blanks for what names no term; nothing else of it is looked at, nor kept.
    """
    linked: dict[str, str] = st.session_state.setdefault(_SLOT, {})
    owner = _NUMBERS.sub("", owner)  # a line of results is the same line with other numbers
    here: set[str] = set()
    done = 0
    for start, end, found in _mentions(text if read is None else read):
        # the same text drawn again, by a fragment, keeps its links
        if found.slug in here or linked.get(found.slug, owner) != owner:
            continue
        linked[found.slug] = owner
        here.add(found.slug)
        if start > done:
            yield text[done:start], None
        yield text[start:end], found
        done = end
    if done < len(text):
        yield text[done:], None


@lru_cache(maxsize=8192)
def _mentions(text: str) -> tuple[tuple[int, int, Term], ...]:
    """Where ``text`` names a term: begin, end and the term; the texts of tables come again with every run."""
    pattern, names = _compiled()
    found = ((match, _meant(match.group("term"), names)) for match in pattern.finditer(text) if match.group("term"))
    return tuple((match.start(), match.end(), term) for match, term in found if term is not None)


def _meant(word: str, names: dict[str, Term]) -> Term | None:
    """The term that ``word`` names, in the singular or plural. Abbreviations count only as they are written."""
    for name in (word, word.removesuffix("s")):
        if name in names:
            return names[name]
        if name.lower() in names:
            return names[name.lower()]
    return None


@lru_cache(maxsize=1)
def _compiled() -> tuple[re.Pattern[str], dict[str, Term]]:
    """The pattern of everything to skip and to find, and the terms by name (lower case unless an abbreviation)."""
    names: dict[str, Term] = {}
    for found in glossary.terms():
        if found.linked:
            names |= {spelling: found for name in found.names for spelling in _spellings(name)}
    longest = sorted(names, key=len, reverse=True)
    alternatives = "|".join(f"(?i:{re.escape(name)})" if name.islower() else re.escape(name) for name in longest)
    pattern = rf"{_SKIP}|(?<![\w\\@/-])(?P<term>(?:{alternatives})s?)(?![\w@]|-\w)"
    return re.compile(pattern, re.MULTILINE | re.DOTALL), names


def _spellings(name: str) -> tuple[str, ...]:
    """Lower case stands for any case; a name with a capital inside (SOP, RoPE) means another thing in lower case."""
    if any(sign.isupper() for sign in name[1:]):
        return (name,) if name[1:2].isupper() else (name, name[0].lower() + name[1:])
    return (name.lower(),)
