r"""One training example, token by token: the input, the targets, and the attention masks.

Every objective on text is a loss over the positions that have a target,

.. math:: L = -\frac{1}{|T|} \sum_{i \in T} \log p(\text{target}_i \mid \text{what } i \text{ attends to}),

and differs from the others in three things alone: how the input is corrupted, which positions T have a target, and
what each position attends to. An :class:`Example` holds those three.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from core import patterns
from core.arrays import Bools
from core.patterns import mask

MaskKind = Literal["encoder", "decoder", "cross", "query"]
Change = Literal["none", "masked", "random", "replaced", "unchanged", "inserted", "moved", "special"]
"""What happened to a position. ``none``: nothing. ``masked``: it holds a mask token or a sentinel. ``random``: another
token, sampled from the vocabulary. ``replaced``: another token, sampled from a model. ``unchanged``: chosen as a target
but left as it was. ``inserted``: a mask token where the text has none. ``moved``: a token from another position.
``special``: a special token ([CLS], [SEP], <s>)."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One position of an input."""

    token: str
    """The token at this position, as the tokenizer spells it."""
    target: str | None = None
    """What the model must predict here; None where there is no loss."""
    change: Change = "none"
    origin: int | None = None
    """Index of the original token that this position stands for, if any."""
    segment: int = 0
    """Number of its sentence (or language), where the objective distinguishes them."""
    position: int | None = None
    """The position that the model is given; None for the cell's own index."""
    note: str = ""
    """A word for the token where ``change`` does not say enough: a sentinel."""
    group: int | None = None
    """Number of the word, span, phrase or sentence that was chosen as one."""


@dataclass(frozen=True, slots=True)
class Label:
    """A classification of the whole example: next sentence, order of the sentences."""

    name: str
    choices: tuple[str, ...]
    answer: int


@dataclass(frozen=True, slots=True, eq=False)
class Visible:
    """The mask of one kind of attention."""

    kind: MaskKind
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    allowed: Bools  # (queries, keys), True where a score is computed


@dataclass(frozen=True, slots=True)
class Example:
    """The training example that an objective makes from a text."""

    original: tuple[str, ...]
    source: tuple[Cell, ...]
    """The only input, or that of the encoder."""
    decoder: tuple[Cell, ...] = ()
    """The decoder's input, each position with its target; empty without a separate decoder."""
    labels: tuple[Label, ...] = ()
    visible: tuple[Visible, ...] = ()
    order: tuple[int, ...] = ()
    """Positions of the targets in ``source``, where they are predicted one after the other in an order of their own."""

    @property
    def targets(self) -> tuple[int, ...]:
        """Positions of ``source`` with a loss."""
        return tuple(index for index, cell in enumerate(self.source) if cell.target is not None)


def full(cells: Sequence[Cell], kind: MaskKind = "encoder") -> Visible:
    """Every position attends to every other."""
    return Visible(kind, (names := tuple(cell.token for cell in cells)), names, mask(patterns.full, len(names)))


def causal(cells: Sequence[Cell], kind: MaskKind = "decoder") -> Visible:
    """Every position attends to itself and to those before it."""
    return Visible(kind, (names := tuple(cell.token for cell in cells)), names, mask(patterns.causal, len(names)))


def seq2seq(original: Sequence[str], source: Sequence[Cell], answer: Sequence[Cell], begin: str) -> Example:
    """An example whose decoder predicts ``answer``, token by token.

    At step t the decoder reads the answer up to t - 1 and predicts token t (teacher forcing); ``begin``, a token of the
    format, precedes the first. The encoder attends to all of its input, the decoder to what precedes and to all of the
    encoder's output.

    Args:
        original: the text before corruption.
        source: the encoder's input, without targets.
        answer: the target sequence as cells; their targets are filled in here.
        begin: the decoder's first input token.
    """
    read = (Cell(begin, change="special"), *answer[:-1])
    decoder = tuple(replace(cell, target=target.token) for cell, target in zip(read, answer, strict=True))
    encoder_mask, decoder_mask = full(source), causal(decoder)
    left, right = encoder_mask.keys, decoder_mask.keys
    cross = Visible("cross", right, left, np.ones((len(right), len(left)), dtype=np.bool_))
    return Example(tuple(original), tuple(source), decoder, visible=(encoder_mask, decoder_mask, cross))


DRAWS = 500


@dataclass(slots=True)
class Tally:
    """Sums over many examples."""

    draws: int = 0
    tokens: int = 0
    """Positions without those of special tokens."""
    changes: Counter[str] = field(default_factory=Counter)
    """Targets by how their position was changed."""
    answers: Counter[int] = field(default_factory=Counter)
    """Examples by the answer of their label."""
    groups: int = 0
    """Spans, words, units or trigrams."""

    @property
    def share(self) -> float:
        """Of the tokens with a loss."""
        return self.changes.total() / self.tokens if self.tokens else 0.0

    def change(self, name: str) -> float:
        """Share of the targets with this change."""
        return self.changes[name] / self.changes.total() if self.changes else 0.0


def tally(make: Callable[[np.random.Generator], Example], draws: int = DRAWS) -> Tally:
    """``draws`` examples of one text, from one generator."""
    rng, result = np.random.default_rng(0), Tally()
    for _ in range(draws):
        example = make(rng)
        targets = [cell for cell in example.source if cell.target is not None]
        result.draws += 1
        result.tokens += sum(cell.change != "special" for cell in example.source)
        result.changes.update(cell.change for cell in targets)
        result.answers.update(label.answer for label in example.labels)
        result.groups += len({cell.group for cell in targets if cell.group is not None})
    return result
