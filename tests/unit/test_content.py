"""Files of words: parts, placeholders, and a sentence with file and line for whatever is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core import content as module
from core.content import ROOT, content, parse
from core.errors import ContentUnusable
from core.settings import settings

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
    found = parse(TEXT, FILE)
    assert found.title == "Masks"
    assert found.part("Try") == "Hide a word."
    assert found.parts["Notice"].line == 8


def test_numbers_of_a_run_fill_placeholders_and_formulas_keep_their_braces() -> None:
    assert parse(TEXT, FILE).part("Notice", count=8, share="12 %").endswith("12 % are masked: $\\mathrm{{CE}}$.")


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
        ours = content("tokenizers", "noise").part("Try")
        (tmp_path / "tokenizers").mkdir()
        mine = tmp_path / "tokenizers" / "noise.md"
        mine.write_text('+++\ntitle = "Noise"\n+++\n## Try\nMy own words.\n')
        assert content("tokenizers", "noise").part("Try") == "My own words."
        mine.write_text('+++\ntitle = "Noise"\n+++\n## Try\nOther words, and more.\n')
        assert content("tokenizers", "noise").part("Try") == "Other words, and more."
        assert content("tokenizers", "beside").path.is_relative_to(ROOT)
        mine.unlink()
        assert content("tokenizers", "noise").part("Try") == ours
    finally:
        settings.cache_clear()


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.md")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_bundled_file_is_sound(path: Path) -> None:
    found = module.content(path.parent.name, path.stem)
    assert found.title
    assert all(part.text for part in found.parts.values())
