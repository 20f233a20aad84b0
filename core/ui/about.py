"""The section About the Atlas: every citation, attribution, installed packages, how to add models, how to cite."""

from __future__ import annotations

import platform
import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, metadata, version

import streamlit as st

from core import __version__
from core.catalogue.load import DATA
from core.doctor import NEEDED
from core.settings import ROOT
from core.ui.corrections import EVIDENCE, citations_list
from core.ui.section import Section, View
from core.ui.tables import TableRow, TextTable, text_table


@dataclass(frozen=True, slots=True)
class Work:
    """A third-party work (or, for some texts and weights, one of this project)."""

    name: str
    licence: str
    by: str
    use: str
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Attribution:
    """All works, by kind."""

    texts: tuple[Work, ...]
    weights: tuple[Work, ...]
    scripts: tuple[Work, ...]


@lru_cache(maxsize=1)
def attribution() -> Attribution:
    """The required attribution, read once from ``data/attribution.toml``."""
    table = tomllib.loads((DATA / "attribution.toml").read_text(encoding="utf-8"))
    return Attribution(**{kind: tuple(Work(**row) for row in table[kind]) for kind in ("texts", "weights", "scripts")})


LIBRARIES = (*NEEDED, "sentencepiece", "sentence-transformers", "numpy", "scikit-learn", "rapidfuzz")
"""The packages in the table of versions: direct dependencies of the app or its models."""


def about(view: View) -> None:
    citations_list(view)
    used = attribution()
    for part, listed in (("Texts", used.texts), ("Weights", used.weights), ("Scripts", used.scripts)):
        view.say(part)
        works: list[TableRow] = [(work.name, (work.by, work.url or ""), work.licence, work.use) for work in listed]
        text_table(TextTable(("Work", "By", "License", "Used for"), works, caption=part, widths=(24, 28, 16, 32)))
    view.say("Versions")
    rows: list[TableRow] = [
        ("Transformer Atlas", __version__, "Apache-2.0"),
        ("Python", platform.python_version(), "PSF"),
        *((name, *_installed(name)) for name in LIBRARIES),
    ]
    text_table(TextTable(("Package", "Version", "License as declared"), rows, caption="Versions", widths=(40, 30, 30)))
    with st.expander("Adding models"):
        view.say("Adding models")
    view.say("Citing")
    st.code(_BIBTEX, language="bibtex", wrap_lines=True)
    view.say("License")
    path = ROOT / "LICENSE"
    if path.is_file():
        with st.expander("Full license text"):
            st.code(path.read_text(encoding="utf-8"), language=None, wrap_lines=True)


_BIBTEX = f"""@software{{transformer_atlas,
  title   = {{Transformer Atlas: exploring the architectures of the Transformer family by running them}},
  author  = {{{{The Transformer Atlas contributors}}}},
  version = {{{__version__}}},
  year    = {{2026}},
  license = {{Apache-2.0}}
}}"""


@cache
def _installed(name: str) -> tuple[str, str]:
    """Version and declared license of an installed package."""
    try:
        package = metadata(name)
    except PackageNotFoundError:
        return "not installed", ""
    declared = next((package[field] for field in ("License-Expression", "License") if package[field]), "")
    return version(name), short_license(declared)


def short_license(declared: str) -> str:
    """The first line of a declared license; some packages declare its whole text."""
    first = declared.strip().splitlines()[0] if declared.strip() else "see the package"
    return first if len(first) <= 40 else f"{first[:39]}…"


ABOUT = Section("about", about, (EVIDENCE,))
