"""The four trees that source 000 prints, line for line, but for the differences that the notes explain.

``data/printed-*.txt`` holds our transcription of the module names, classes and arguments that the source prints, one
line a module, in its order, with the spaces and underscores that were lost in its scanning put right.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core import anatomy
from core.anatomy.texts import PRINTED, Printed

DATA = Path(__file__).parent / "data"


def transcribed(slug: str) -> list[str]:
    return (DATA / f"printed-{slug}.txt").read_text(encoding="utf-8").splitlines()


def test_every_transcription_has_its_notes() -> None:
    assert {path.stem.removeprefix("printed-") for path in DATA.glob("printed-*.txt")} == set(PRINTED)


@pytest.mark.parametrize("slug", sorted(PRINTED))
def test_tree_is_the_printed_one_but_for_the_explained_differences(slug: str) -> None:
    tree = anatomy.printed_tree(slug)
    assert tree is not None
    assert tree.cls == PRINTED[slug].cls
    assert PRINTED[slug].as_printed(tree) == transcribed(slug)


def _without_one(printed: Printed) -> list[Printed]:
    fewer = [
        replace(printed, words=tuple(words for words in printed.words if words is not left_out))
        for left_out in printed.words
    ]
    if printed.cut_first:
        fewer.append(replace(printed, cut_first=0))
    if printed.repeated_last:
        fewer.append(replace(printed, repeated_last=0))
    return fewer


@pytest.mark.parametrize("slug", sorted(PRINTED))
def test_no_explanation_is_idle(slug: str) -> None:
    tree = anatomy.printed_tree(slug)
    assert tree is not None
    for fewer in _without_one(PRINTED[slug]):
        assert fewer.as_printed(tree) != transcribed(slug)


def test_sizes_of_the_transcriptions() -> None:
    """Lines that name a module: counted in the source by hand."""
    assert {slug: len(transcribed(slug)) for slug in PRINTED} == {"bert": 30, "gpt-2": 19, "bert2bert": 65, "t5": 104}


def test_a_system_that_the_source_does_not_print_has_no_printed_tree() -> None:
    assert anatomy.printed_tree("albert") is None
