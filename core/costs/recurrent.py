"""What a word costs in a network of LSTMs that reads letters (ELMo, Peters et al. 2018).

An LSTM multiplies every weight once a step, so a word costs 2 operations for each of them. With c units, inputs and
projections of d numbers, and L layers in each of two directions:

    2 · 2 · L · (8 c d + c d)  =  36 · L · c · d    operations

A convolution over w letters with f filters of e numbers stands at n - w + 1 places of a word that is filled up to n
letters, and what follows the letters is multiplied once a word:

    2 · Σ f · w · e · (n - w + 1)  +  2 · (weights of highways and projection)

Sigmoids, sums and the largest of the places are left out. Nothing here grows with the length of the text.

For the way back an LSTM keeps of each word what came in (d) and the projected state before it (d), its four gates
(4 c), the cell, the cell bent, and that times the last gate (3 c), with 16 bits a number:

    2 · 2 · L · (2 d + 7 c)    bytes

What the letters keep is left out, as the embeddings of other networks are.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from core import anatomy
from core.anatomy.node import ModuleNode

LETTERS = 50
"""Letters of a word, shorter ones filled up: the published code's ``max_characters_per_token``."""


@dataclass(frozen=True, slots=True)
class WordWork:
    """Operations of a forward pass for one word."""

    letters: float
    recurrent: float

    @property
    def total(self) -> float:
        """Both together."""
        return self.letters + self.recurrent


def word_work(slug: str, size: str | None = None) -> WordWork | None:
    """What one word costs; None for a network without LSTMs."""
    return of_tree(anatomy.tree(slug, size))


def kept_by_word(root: ModuleNode) -> float:
    """Bytes that all LSTMs of a tree keep of one word for the way back; 0 for a tree without them."""
    kept = 0
    for _, node, copies in root.walk():
        if "LSTM" in node.cls:
            projected, units = next(child.tensors[0][1] for child in node.children if child.name == "projection")
            came = next(child.tensors[0][1][1] for child in node.children if child.name == "from_input")
            kept += copies * (came + projected + 7 * units)
    return 2.0 * kept


def of_tree(root: ModuleNode) -> WordWork | None:
    """The same for a tree."""
    letters = recurrent = 0.0
    for path, node, copies in root.walk():
        if node.cls not in ("Linear", "Conv1d") or not node.tensors:
            continue
        shape = node.tensors[0][1]
        times = LETTERS - shape[2] + 1 if node.cls == "Conv1d" else 1
        work = 2.0 * copies * prod(shape) * times
        if path.startswith("embeddings"):
            letters += work
        else:
            recurrent += work
    has_lstm = any("LSTM" in node.cls for _, node, _ in root.walk())
    return WordWork(letters, recurrent) if has_lstm else None
