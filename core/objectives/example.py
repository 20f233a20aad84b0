r"""One training example, token by token: what a model reads, what it must answer, and who may look at whom.

Every objective on text is a loss over the places that have a target,

.. math:: L = -\frac{1}{|T|} \sum_{i \in T} \log p(\text{target}_i \mid \text{what } i \text{ may see}),

and differs from the others in three things alone: what was done to the input, which places T are asked, and what each
place may see. Those three are what an :class:`Example` holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from core import patterns
from core.patterns import mask

Bools = NDArray[np.bool_]

Kind = Literal["encoder", "decoder", "cross", "query"]
Change = Literal["kept", "masked", "random", "replaced", "unchanged", "inserted", "moved", "special"]
"""What was done to a place. ``kept``: nothing, and nothing is asked because of it. ``masked``: a mask token (or a
sentinel) stands there. ``random``: another token drawn at random. ``replaced``: another token, drawn by a model.
``unchanged``: chosen, asked, and left as it was. ``inserted``: a mask where nothing stood. ``moved``: a token from
elsewhere in the text. ``special``: a token of the format ([CLS], [SEP], <s>)."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One place of an input."""

    token: str
    """What stands there, as the tokeniser writes it."""
    target: str | None = None
    """What the model must answer at this place; None where no loss is taken."""
    change: Change = "kept"
    origin: int | None = None
    """Index among the original tokens, where the place stands for one of them."""
    segment: int = 0
    """The sentence (or language) that the place belongs to, where the objective tells them apart."""
    position: int | None = None
    """The position that the model is told; None for the place's own index."""
    note: str = ""
    """A word for what stands there, where what was done to it does not say enough: a sentinel."""
    group: int | None = None
    """Number of the word, span, phrase or sentence that was chosen as one."""


@dataclass(frozen=True, slots=True)
class Label:
    """A question about the example as a whole, answered once: next sentence, order of the sentences."""

    name: str
    choices: tuple[str, ...]
    answer: int


@dataclass(frozen=True, slots=True, eq=False)
class Visible:
    """Attention mask in one kind of attention."""

    kind: Kind
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    allowed: Bools  # (queries, keys), True where a score is computed


@dataclass(frozen=True, slots=True)
class Example:
    """What one objective makes of one text."""

    original: tuple[str, ...]
    source: tuple[Cell, ...]
    """What the model reads: the only input, or that of the encoder."""
    decoder: tuple[Cell, ...] = ()
    """The decoder's input, each place with its target; empty where there is no decoder of its own."""
    labels: tuple[Label, ...] = ()
    visible: tuple[Visible, ...] = ()
    order: tuple[int, ...] = ()
    """Where the targets are found one after the other in an order of their own: their positions in ``source``."""

    @property
    def asked(self) -> tuple[int, ...]:
        """Indices of ``source`` at which a loss is taken."""
        return tuple(index for index, cell in enumerate(self.source) if cell.target is not None)


def full(cells: Sequence[Cell], kind: Kind = "encoder") -> Visible:
    """Every place may look at every other."""
    return Visible(kind, (names := tuple(cell.token for cell in cells)), names, mask(patterns.full, len(names)))


def causal(cells: Sequence[Cell], kind: Kind = "decoder") -> Visible:
    """Every place may look at itself and at what stands before it."""
    return Visible(kind, (names := tuple(cell.token for cell in cells)), names, mask(patterns.causal, len(names)))


def pair(
    a: Sequence[str], b: Sequence[str], label: Label, *, cls: str = "[CLS]", sep: str = "[SEP]", first: int = 0
) -> Example:
    """[CLS] A [SEP] B [SEP] with segments 0 and 1; the loss is taken once, at [CLS].

    Args:
        a, b: the segments in the order in which they are read.
        first: index among the original tokens at which A begins; B stands before A where it is the length of B.
    """
    second = 0 if first else len(a)
    cells = (
        Cell(cls, change="special"),
        *(Cell(token, origin=first + index) for index, token in enumerate(a)),
        Cell(sep, change="special"),
        *(Cell(token, origin=second + index, segment=1) for index, token in enumerate(b)),
        Cell(sep, change="special", segment=1),
    )
    original = (*b, *a) if first else (*a, *b)
    return Example(original, cells, labels=(label,), visible=(full(cells),))


def written(original: Sequence[str], source: Sequence[Cell], answer: Sequence[Cell], begin: str) -> Example:
    """An example whose decoder is asked for ``answer``, token by token.

    At step t the decoder has read the answer up to t - 1 and is asked for token t (teacher forcing); a token that is
    no part of any text stands before the first. The encoder sees all of its input, the decoder what it has read, and
    across it sees everything that the encoder made.

    Args:
        original: the text before any damage.
        source: what the encoder reads, without targets.
        answer: what is to be written, each as it looks when it is read back; targets are filled in here.
        begin: what the decoder reads before the first token.
    """
    read = (Cell(begin, change="special"), *answer[:-1])
    decoder = tuple(replace(cell, target=asked.token) for cell, asked in zip(read, answer, strict=True))
    left, right = tuple(cell.token for cell in source), tuple(cell.token for cell in decoder)
    visible = (
        Visible("encoder", left, left, np.ones((len(left), len(left)), dtype=np.bool_)),
        Visible("decoder", right, right, np.tri(len(right), dtype=np.bool_)),
        Visible("cross", right, left, np.ones((len(right), len(left)), dtype=np.bool_)),
    )
    return Example(tuple(original), tuple(source), decoder, visible=visible)
