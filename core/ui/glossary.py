"""Terms in our own texts as links to the glossary: the first mention of each on a page, and no more.

``terms`` takes Markdown of ours and leaves code, formulas, links and headings alone; ``plain_terms`` takes
plain text and escapes it; ``rich_terms`` gives the parts of a table's cell. What a visitor typed never comes here. One
pattern of all names is compiled once; which terms a page has linked is forgotten when its header is drawn anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import streamlit as st

from core import links
from core.catalogue import glossary
from core.catalogue.glossary import Term
from core.ui.page import plain
from core.ui.tables import Link, Rich

_SLOT = "glossary.linked"
_TIP = 150
_NUMBERS = re.compile(r"\d[\d.,]*")
_SKIP = r"```.*?```|`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]*\$|!?\[[^\]\n]*\]\([^)\n]*\)|^#[^\n]*|:[a-z]+/[a-z_]+:|https?://\S+"


def told(text: str) -> None:
    """Show a text of ours in Markdown, with its terms linked."""
    st.markdown(terms(text))


def noted(text: str) -> None:
    """Show a text of ours as a small note, with its terms linked."""
    st.caption(terms(text))


def terms(text: str) -> str:
    """``text``, Markdown of our own, with the first mention of each term as a link whose tooltip says what it means."""
    pieces = _pieces(text, text)
    return "".join(piece if found is None else _markdown(piece, found) for piece, found in pieces)


def plain_terms(text: str) -> str:
    """``text``, plain and of our own, as Markdown in which nothing but the links has a meaning."""
    return "".join(plain(piece) if found is None else _markdown(piece, found) for piece, found in _pieces(text, text))


def rich_terms(text: str) -> Rich:
    """``text``, plain and of our own, as the content of a table's cell."""
    return Rich(
        tuple(piece if found is None else Link(piece, href(found), tip(found)) for piece, found in _pieces(text, text))
    )


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


def _pieces(text: str, owner: str) -> Iterator[tuple[str, Term | None]]:
    """``text`` cut into pieces, each with its term where it is to be a link."""
    linked: dict[str, str] = st.session_state.setdefault(_SLOT, {})
    owner = _NUMBERS.sub("", owner)  # a line of results is the same line with other numbers
    here: set[str] = set()
    pattern, names = _compiled()
    done = 0
    for match in pattern.finditer(text):
        word = match.group("term")
        found = _meant(word, names) if word else None
        # the same text drawn again, by a fragment, keeps its links
        if found is None or found.slug in here or linked.get(found.slug, owner) != owner:
            continue
        linked[found.slug] = owner
        here.add(found.slug)
        if match.start() > done:
            yield text[done : match.start()], None
        yield match.group(), found
        done = match.end()
    if done < len(text):
        yield text[done:], None


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
