"""What the tests read of a page's Markdown."""

from __future__ import annotations

import pytest

from tests.words import words


@pytest.mark.parametrize(
    ("markdown", "read"),
    [
        ("no link [at all] (here)", "no link [at all] (here)"),
        ('one [RMS norm](/glossary?term=rms-norm "RMS norm: divides by \\[a\\] root") and on', "one RMS norm and on"),
        ("[a](https://x.example/a) and [b](/base/glossary?term=b)", "[a](https://x.example/a) and b"),
        ("Gemma\\'s 2\\.5 \\*", "Gemma's 2.5 *"),
    ],
)
def test_links_are_their_words_and_escapes_are_gone(markdown: str, read: str) -> None:
    assert words(markdown) == read
