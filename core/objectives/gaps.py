r"""Gap sentences: the sentences that summarize the rest best are removed and generated (PEGASUS: Zhang et al., 2019,
arXiv 1912.08777).

A sentence :math:`x_i` of the text D is scored by how well it would do as a summary of the others,

.. math:: s_i = \mathrm{ROUGE1\text{-}F1}(x_i, D \setminus x_i) = \frac{2 P R}{P + R},

P the share of its words that occur in the rest, R the share of the rest's words that occur in it. The m best are
replaced by a mask each, and the decoder generates them one after the other: a pseudo-summary. Words count as often as
they occur (``Orig``) or once (``Uniq``); sentences are scored each by itself (``Ind``) or one after the other, each
time the one that makes the chosen ones together score best (``Seq``). The large model took ``Ind`` with ``Orig``.

m is 30% of the sentences. The large model took 45% and left a fifth of the chosen ones in the input as well, so that
copying is learned, too; that masks about as many sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Literal

import numpy as np

from core.errors import InputUnusable
from core.objectives.example import Cell, Example, seq2seq

RATIO = 0.3
GapChoice = Literal["ind-orig", "ind-uniq", "seq-orig", "seq-uniq", "lead", "random"]


def words(sentence: Sequence[str]) -> list[str]:
    """What is counted: the tokens in lower case that have a letter or a digit."""
    return [token.casefold() for token in sentence if any(letter.isalnum() for letter in token)]


def rouge1(sentence: Sequence[str], other: Sequence[str], *, unique: bool = False) -> float:
    """F1 of the words that two texts share, from 0 to 1; 0 where either has none."""
    counts, other_counts = Counter(sentence), Counter(other)
    if unique:
        counts, other_counts = Counter(set(counts)), Counter(set(other_counts))
    shared = (counts & other_counts).total()
    return 2 * shared / (counts.total() + other_counts.total()) if shared else 0.0


def rouge_scores(
    sentences: Sequence[Sequence[str]], chosen: Sequence[int] = (), *, unique: bool = False
) -> list[float]:
    """For each sentence: ROUGE1-F1 of it and the ``chosen`` ones against all others; 0 for a chosen one."""
    bags = [words(sentence) for sentence in sentences]
    result: list[float] = []
    for number in range(len(bags)):
        summary = {number, *chosen}
        summary_words = [word for i in sorted(summary) for word in bags[i]]
        other_words = [word for i, bag in enumerate(bags) if i not in summary for word in bag]
        result.append(0.0 if number in chosen else rouge1(summary_words, other_words, unique=unique))
    return result


def choose(
    sentences: Sequence[Sequence[str]], rng: np.random.Generator, how: GapChoice = "ind-orig", ratio: float = RATIO
) -> tuple[int, ...]:
    """The sentences to remove, in the text's order: at least one, and never all.

    Of equal scores the earlier sentence wins. Only ``random`` samples.
    """
    count = min(max(round(ratio * len(sentences)), 1), len(sentences) - 1)
    if how == "lead":
        return tuple(range(count))
    if how == "random":
        return tuple(sorted(int(i) for i in rng.permutation(len(sentences))[:count]))
    unique = how.endswith("uniq")
    if how.startswith("ind"):
        scores = rouge_scores(sentences, unique=unique)
        return tuple(sorted(sorted(range(len(scores)), key=lambda i: -scores[i])[:count]))
    chosen: list[int] = []
    while len(chosen) < count:
        scores = rouge_scores(sentences, chosen, unique=unique)
        chosen.append(max((i for i in range(len(scores)) if i not in chosen), key=scores.__getitem__))
    return tuple(sorted(chosen))


def corrupt(sentences: Sequence[Sequence[str]], chosen: Sequence[int], special: Collection[str] = ()) -> Example:
    """The text with gaps, and the decoder that generates the gap sentences.

    Args:
        sentences: the text as sentences of tokens.
        chosen: numbers of the sentences to remove.
        special: special tokens, which stay in the input, without a loss, where a visitor typed them.

    Raises:
        InputUnusable: fewer than two sentences.
    """
    if len(sentences) < 2:
        raise InputUnusable("A gap needs a sentence beside it. Type two sentences or more, each with its stop.")
    source: list[Cell] = []
    answer: list[Cell] = []
    for number, sentence in enumerate(sentences):
        start = sum(map(len, sentences[:number]))
        cells = [
            Cell(token, change="special" if token in special else "none", origin=start + i, segment=number)
            for i, token in enumerate(sentence)
        ]
        if number in chosen:
            answer += [cell for cell in cells if cell.change != "special"]
            source.append(Cell("[MASK1]", change="masked", segment=number, note=f"sentence {number + 1}"))
            cells = [cell for cell in cells if cell.change == "special"]
        source += cells
    last = Cell("</s>", change="special", segment=len(sentences) - 1)
    original = tuple(token for sentence in sentences for token in sentence)
    return seq2seq(original, (*source, last), (*answer, last), "<pad>")
