"""The four trees that source 000 prints, line for line, but for the differences that the notes explain.

``data/printed-*.txt`` holds our transcription of the module names, classes and arguments that the source prints, one
line a module, in its order, with the spaces and underscores that were lost in its scanning put right.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core import anatomy
from core.anatomy.node import ModuleNode
from core.anatomy.texts import printed

DATA = Path(__file__).parent / "data"
NORM = (r"(LayerNorm\(.*), bias=True\)$", r"\1)")
WORDS = {
    "bert": [NORM],
    "gpt-2": [NORM, (r"Conv1D\(.*\)$", "Conv1D()")],
    "bert2bert": [NORM, ("BertCrossAttention", "BertSelfAttention")],
    "t5": [],
}
"""What turns today's lines into those of the source."""
CUT, REPEATED = {"bert2bert": 11}, {"t5": 2}
"""Lines before the source's first one, and last lines that it prints twice (closing brackets not counted)."""


def transcribed(slug: str) -> list[str]:
    return (DATA / f"printed-{slug}.txt").read_text(encoding="utf-8").splitlines()


def as_printed(node: ModuleNode, words: list[tuple[str, str]], cut: int, repeated: int) -> list[str]:
    """The lines of a tree without indentation and without those that only close, changed as the notes say."""
    lines = [line.strip() for line in node.lines() if line.strip() != ")"]
    for pattern, replacement in words:
        lines = [re.sub(pattern, replacement, line) for line in lines]
    lines = lines[cut:]
    return lines + lines[len(lines) - repeated :]


@pytest.mark.parametrize("slug", sorted(WORDS))
def test_tree_is_the_printed_one_but_for_the_explained_differences_and_none_is_idle(slug: str) -> None:
    tree = anatomy.printed_tree(slug)
    assert tree.cls == printed()[slug].cls
    cut, repeated, words = CUT.get(slug, 0), REPEATED.get(slug, 0), WORDS[slug]
    assert as_printed(tree, words, cut, repeated) == transcribed(slug)
    fewer = [([other for other in words if other != one], cut, repeated) for one in words]
    fewer += [(words, 0, repeated)] * bool(cut) + [(words, cut, 0)] * bool(repeated)
    assert all(as_printed(tree, *one) != transcribed(slug) for one in fewer)
    assert len(printed()[slug].notes) == len(fewer) + 1  # and one on the scan


def test_sizes_of_the_transcriptions() -> None:
    """Lines that name a module: counted in the source by hand."""
    assert {slug: len(transcribed(slug)) for slug in printed()} == {"bert": 30, "gpt-2": 19, "bert2bert": 65, "t5": 104}


def test_a_system_that_the_source_does_not_print_has_no_printed_tree() -> None:
    assert anatomy.printed_tree("albert") is None
