"""The sentences over which models are measured at the desk: all the English ones that come with the app.

None of them was trained on: they were written for tests, for cards and for the treebank. Sentences of the cloze sets
have the first of their answers in the gap. Each is taken once, in the order of the files.
"""

from __future__ import annotations

import csv
from functools import lru_cache
from pathlib import Path

from core.settings import ASSETS

GAP = "[MASK]"
COUNT = 590
"""How many they are, for pages that do not read them."""


@lru_cache(maxsize=1)
def sentences() -> tuple[str, ...]:
    """The set; needs neither torch nor transformers."""
    from core.attention.roles import treebank

    found = [sentence.text for sentence in treebank.read(treebank.SHIPPED)]
    for name in ("everyday.tsv", "everyday-2.tsv"):
        found += [row["sentence"].replace(GAP, row["answers"].split()[0]) for row in _rows(ASSETS / "cloze" / name)]
    held_out = ASSETS / "heldout"
    found += [row["text"] for row in _rows(held_out / "adapters.tsv")]
    found += [row["whole"] for row in _rows(held_out / "fusions.tsv")]
    found += [row["en"] for row in _rows(held_out / "translations.tsv")]
    return tuple(dict.fromkeys(found))


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
