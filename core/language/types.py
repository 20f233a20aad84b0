"""Results of language tasks: tokens, predictions, generation steps; without torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, overload

import numpy as np

from core.arrays import Doubles, Integers
from core.words import visible


@dataclass(frozen=True, slots=True)
class Token:
    id: int
    piece: str
    """Its entry in the vocabulary (``##ing``, ``Ġthe``, ``▁the``)."""
    text: str
    """Its text, without the vocabulary's markers."""
    start: int
    """Character offset in the text; -1 for a token added by the tokenizer."""
    end: int
    special: bool = False
    continuation: bool = False
    """Whether it continues the word before it."""
    leading_space: bool = False
    replaced: str | None = None
    """Of an unknown token the text that it stands for, empty where no offsets tell; None for all other tokens."""
    why: str = ""
    """Why it is unknown, as the end of a sentence about that text."""

    @property
    def original(self) -> str:
        """What was typed for it: its text, or that which an unknown token replaced."""
        return self.text if self.replaced is None else self.replaced

    @property
    def label(self) -> str:
        """In one line, never empty; ``␣`` is a space before it, and a WordPiece continuation has its ``##``."""
        if self.special:
            return visible(self.piece)
        mark = "␣" if self.leading_space else "##" if self.piece.startswith("##") and self.continuation else ""
        return mark + visible(self.text).replace(" ", "␣") or "∅"


def labels(tokens: Sequence[Token]) -> tuple[str, ...]:
    return tuple(token.label for token in tokens)


@dataclass(frozen=True, slots=True)
class MaskPrediction:
    """The model's k top predictions for one masked position, in descending order of probability."""

    position: int
    """Index among the model's input tokens."""
    tokens: tuple[str, ...]
    probabilities: tuple[float, ...]
    ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Decoding:
    """How the next token is chosen.

    ``top_k`` 0, ``top_p`` 1, ``min_p`` 0 and ``typical`` 1 do not truncate; ``penalty`` 1 and ``no_repeat`` 0 change
    nothing. Temperature and truncation apply to sampling alone, the penalty and ``no_repeat`` to every strategy.
    """

    strategy: Literal["greedy", "sample", "beam"] = "greedy"
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    beams: int = 4
    max_new_tokens: int = 40
    seed: int = 0
    min_p: float = 0.0
    typical: float = 1.0
    penalty: float = 1.0
    no_repeat: int = 0
    """The length of n-grams that may occur only once."""
    length_penalty: float | None = None
    """Of beam search; None for the checkpoint's own."""
    stop: tuple[str, ...] = ()
    """Texts that end the generation once one of them occurs in it."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """A candidate token. ``probability`` is the model's, ``processed`` that after temperature and truncation."""

    id: int
    text: str
    probability: float
    processed: float


@dataclass(frozen=True, slots=True, eq=False)
class Alternatives(Sequence[Alternative]):
    """Candidate tokens in columns; an :class:`Alternative` is created on access.

    Finished texts are cached, with ten candidates for each step: as objects, for 256 texts a hundred thousand, which
    every garbage collection would traverse. Arrays of numbers are one object each.
    """

    ids: Integers
    texts: tuple[str, ...]
    probabilities: Doubles
    processed: Doubles

    @classmethod
    def of(
        cls, ids: Sequence[int], texts: Sequence[str], probabilities: Sequence[float], after: Sequence[float]
    ) -> Alternatives:
        """From one value of each column for each token: own probability, and that after temperature and truncation."""
        return cls(np.array(ids, np.int64), tuple(texts), np.array(probabilities, float), np.array(after, float))

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, at: int) -> Alternative: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Alternative, ...]: ...
    def __getitem__(self, at: int | slice) -> Alternative | tuple[Alternative, ...]:
        if isinstance(at, slice):
            return tuple(self[i] for i in range(*at.indices(len(self))))
        return Alternative(int(self.ids[at]), self.texts[at], float(self.probabilities[at]), float(self.processed[at]))


@dataclass(frozen=True, slots=True)
class Spread:
    """Surprisal and entropy of a step's probabilities, in bits."""

    surprisal: float
    """-log2 of the model's own probability of the chosen token."""
    entropy: float
    """Of the model's own probabilities: the expected surprisal."""
    processed_entropy: float
    """The entropy after the rules."""
    remaining: int
    """The number of candidates after the rules."""


@dataclass(frozen=True, slots=True, eq=False)
class GenerationStep:
    index: int
    token: Alternative
    alternatives: Alternatives
    """The most probable tokens of this step, most probable first (the chosen one may be missing from them)."""
    text: str
    """All the generated text up to and including this step."""
    ids: tuple[int, ...] = ()
    """All generated ids up to and including this step."""
    beams: tuple[tuple[str, float], ...] = ()
    """In beam search: the running hypotheses (text, sum of log-probabilities), best first."""
    finished: bool = False
    reason: str = ""
    """Why generation ended: ``end`` (the model's end token), ``length`` (``max_new_tokens``), ``positions`` (the model
    has no more), ``stop`` (a stop text)."""
    spread: Spread | None = None
    """None in beam search, where the best hypothesis changes between steps."""
