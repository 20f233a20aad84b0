"""The field's terms: in every file whose words a page shows, and between the glossary and those words."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core import content as module
from core.catalogue import glossary
from core.content import ROOT as CONTENT_ROOT
from core.content import content, parse
from core.errors import ContentUnusable
from core.settings import settings
from tests.termbase import check, private

ROOT = Path(__file__).resolve().parents[2]
CONTENT = sorted((ROOT / "assets" / "content").rglob("*.md"))
DATA = sorted(
    [
        *(ROOT / "core").rglob("data/**/*.toml"),
        *(ROOT / "core" / "anatomy").glob("*.toml"),
        *(ROOT / "assets").rglob("card.toml"),
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
    """A content file without the names that its search rows add, links of lessons, and keys of its front matter."""
    text = re.sub(r"^view = .*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    text = re.sub(r"^words = \[.*?\]$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r'^(?:[\w-]+|"[\w ]+") = |^\[.*\]$', "", text, flags=re.MULTILINE)


@pytest.mark.parametrize("path", CONTENT, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_content_files_use_the_terms_of_the_field(path: Path) -> None:
    check([_words_of_content(path)], str(path))


@pytest.mark.parametrize("path", DATA, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_data_that_pages_show_uses_the_terms_of_the_field(path: Path) -> None:
    check(_prose(tomllib.loads(path.read_text(encoding="utf-8"))), str(path))


@pytest.mark.parametrize("name", [name.strip() for name in FIELD.split(",")])
def test_a_term_that_pages_use_stands_in_the_glossary(name: str) -> None:
    names = {names.lower() for term in glossary.terms() for names in (*term.names, *term.also)}
    assert name.lower() in names


def test_the_term_base_finds_our_phrases_and_passes_stories() -> None:
    terms = {term for _, term in private("The hidden words are asked of the tokens on both sides.")}
    assert terms == {"mask", "is predicted from"}
    assert not list(private("The old king looked at the hidden door, took the first place and turned round."))


FILE = Path("section.md")
TEXT = """+++
title = "Masks"
+++
## Try
Hide a word.

## Notice
Of {{count}} tokens,
{{share}} are masked: $\\mathrm{{CE}}$.
"""


def test_parts_are_read_with_their_lines() -> None:
    parsed = parse(TEXT, FILE)
    assert parsed.title == "Masks"
    assert parsed.part("Try") == "Hide a word."
    assert parsed.parts["Notice"].line == 8


def test_numbers_of_a_run_fill_placeholders_and_formulas_keep_their_braces() -> None:
    assert parse(TEXT, FILE).part("Notice", count=8, share="12%").endswith("12% are masked: $\\mathrm{{CE}}$.")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("+++\ntitle = 1", "section.md, line 1: the front matter has no second line"),
        ("+++\ntitle = \n+++\n", "section.md: the front matter is not valid TOML"),
        ("words\n## Try\n", "section.md, line 1: text before the first heading"),
        ("## Try\na\n## Try\nb", "section.md, line 3: the part “## Try” occurs twice"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_its_line(text: str, sentence: str) -> None:
    with pytest.raises(ContentUnusable, match=re.escape(sentence)):
        parse(text, FILE)


def test_no_sentence_needs_a_count_to_be_more_than_one() -> None:
    plural = re.compile(r"\b(?:These|Those) \{\{")
    assert not [path.name for path in CONTENT if plural.search(path.read_text(encoding="utf-8"))]


def test_an_unknown_placeholder_is_refused_with_its_line() -> None:
    with pytest.raises(ContentUnusable, match=re.escape("section.md, line 9: “{{share}}” is not a placeholder")):
        parse(TEXT, FILE).part("Notice", count=1)


def test_a_missing_part_or_label_is_refused_by_its_name() -> None:
    with pytest.raises(ContentUnusable, match="lacks the part “## Formula”"):
        parse(TEXT, FILE).part("Formula")
    with pytest.raises(ContentUnusable, match="line 1: the front matter lacks line"):
        parse(TEXT, FILE).label("line")


@pytest.mark.parametrize("name", ["../errors", "a/b", "", "Title"])
def test_a_name_is_never_a_path(name: str) -> None:
    with pytest.raises(ContentUnusable, match="is not a name of a content file"):
        content(name)


def test_a_host_overlays_a_single_file_and_sees_its_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_CONTENT_DIR", str(tmp_path))
    settings.cache_clear()
    try:
        ours = content("tokenizers", "languages").part("Try")
        (tmp_path / "tokenizers").mkdir()
        mine = tmp_path / "tokenizers" / "languages.md"
        mine.write_text('+++\ntitle = "Languages"\n+++\n## Try\nMy own words.\n')
        assert content("tokenizers", "languages").part("Try") == "My own words."
        mine.write_text('+++\ntitle = "Languages"\n+++\n## Try\nOther words, and more.\n')
        assert content("tokenizers", "languages").part("Try") == "Other words, and more."
        assert content("tokenizers", "beside").path.is_relative_to(CONTENT_ROOT)
        mine.unlink()
        assert content("tokenizers", "languages").part("Try") == ours
    finally:
        settings.cache_clear()


MISTAKES = {
    "title = broken\n": "line 2",
    'titel = "Languages"\n': "titel is no label of this text. Did you mean “title”?",
    "title = 3\n": "title takes a text in quotes",
}


@pytest.mark.parametrize(("front", "reason"), MISTAKES.items())
def test_a_hosts_mistake_costs_no_page_and_is_named(
    front: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("ATLAS_CONTENT_DIR", str(tmp_path))
    settings.cache_clear()
    try:
        (tmp_path / "tokenizers").mkdir()
        (tmp_path / "tokenizers" / "languages.md").write_text(f"+++\n{front}+++\n## Try\nMine.\n")
        assert content("tokenizers", "languages").path.is_relative_to(CONTENT_ROOT)
    finally:
        settings.cache_clear()
    (problem,) = module.overlay_problems(tmp_path)
    assert problem.startswith("tokenizers/languages.md")
    assert reason in problem
    assert problem in caplog.text


def test_a_hosts_part_or_placeholder_that_replaces_nothing_is_named(tmp_path: Path) -> None:
    (tmp_path / "tokenizers").mkdir()
    (tmp_path / "tokenizers" / "languages.md").write_text("## Notise\nMine.\n")
    (tmp_path / "tokenizers" / "beside.md").write_text("\ufeff## Try\nIt has\n{{share}}.\n")
    (tmp_path / "tokenizer").mkdir()
    (tmp_path / "tokenizer" / "languages.md").write_text("## Try\nMine.\n")
    problems = list(module.overlay_problems(tmp_path))
    assert len(problems) == 3
    assert "did you mean tokenizers/languages.md?" in problems[0]
    assert "beside.md, line 3: “{{share}}” is not a placeholder here" in problems[1]
    assert "languages.md, line 1: “## Notise” is no part of this text. Did you mean “Noise”?" in problems[2]


@pytest.mark.parametrize("path", sorted(CONTENT_ROOT.rglob("*.md")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_bundled_file_is_sound(path: Path) -> None:
    content = module.content(path.parent.name, path.stem)
    assert content.title
    assert all(part.text for part in content.parts.values())
