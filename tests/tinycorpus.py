"""A small corpus made from a seed: books of sentences, and lines that do not belong together."""

from __future__ import annotations

from pathlib import Path

import numpy as np

WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "saw", "two", "dogs", "run", "past", "old", "trees", "near"]


def write(folder: Path, books: int = 40, lines: int = 200) -> Path:
    """Writes ``stories.txt`` (books of eight paragraphs of three sentences) and ``lines.txt`` into ``folder``."""
    rng = np.random.default_rng(0)

    def sentence() -> str:
        return " ".join(rng.choice(WORDS, size=rng.integers(4, 9))).capitalize() + "."

    text: list[str] = []
    for book in range(books):
        text.append(f"=== Book {book}")
        text += [" ".join(sentence() for _ in range(3)) for _ in range(8)]
    (folder / "stories.txt").write_text("\n".join(text) + "\n", encoding="utf-8")
    (folder / "lines.txt").write_text("\n".join(sentence() for _ in range(lines)) + "\n", encoding="utf-8")
    return folder
