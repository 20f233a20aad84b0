"""The field's terms: in every file whose words a page shows, and between the glossary and those words."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.catalogue import glossary
from tests.termbase import check, private

ROOT = Path(__file__).resolve().parents[2]
CONTENT = sorted((ROOT / "assets" / "content").rglob("*.md"))
DATA = sorted(
    [
        *(ROOT / "core").rglob("data/**/*.toml"),
        *(ROOT / "core" / "anatomy").glob("*.toml"),
        *(ROOT / "assets").rglob("card.toml"),
        *(ROOT / "assets" / "rounds").glob("*.toml"),
    ]
)
FIELD = """
    attention mask, query, key, prompt, span, tokenizer, truncation, decoding strategy, surprisal, temperature,
    discriminator, backbone, embedding matrix, hidden size, rotary position embedding, KV cache, image patch,
    all-reduce, micro-batch, tensor parallelism, data parallelism, activation recomputation, gradient, anisotropy,
    logit lens, residual stream, ablation, scalar mix, masked language modeling, denoising, sentinel,
    mixture of experts, ALiBi
"""
"""Terms of the field that pages use and a newcomer may have to look up."""


def _prose(value: Any) -> Iterator[str]:
    """Texts of several words in a table; names in links and values have one. Names for search alone are left out."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from () if key == "also" else _prose(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _prose(inner)
    elif isinstance(value, str) and " " in value:
        yield value


def _words_of_content(path: Path) -> str:
    """A content file without the names that its search rows add, and without the keys of its front matter."""
    text = re.sub(r"^words = \[.*?\]$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^[\w-]+ = |^\[.*\]$", "", text, flags=re.MULTILINE)


@pytest.mark.parametrize("path", CONTENT, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_content_files_use_the_terms_of_the_field(path: Path) -> None:
    check([_words_of_content(path)], str(path))


@pytest.mark.parametrize("path", DATA, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_data_that_pages_show_uses_the_terms_of_the_field(path: Path) -> None:
    check(_prose(tomllib.loads(path.read_text(encoding="utf-8"))), str(path))


@pytest.mark.parametrize("name", [name.strip() for name in FIELD.split(",")])
def test_a_term_that_pages_use_stands_in_the_glossary(name: str) -> None:
    known = {known.lower() for term in glossary.terms() for known in (*term.names, *term.also)}
    assert name.lower() in known


def test_the_term_base_finds_our_phrases_and_passes_stories() -> None:
    assert [term for _, term in private("The hidden words are asked of the tokens on both sides.")] == [
        "mask",
        "is predicted from",
    ]
    assert not list(private("The old king looked at the hidden door, took the first place and turned round."))
