"""Two segments of text and the question that binds them.

``next``   Does B follow A? In half of the pairs B comes from another document of the same source (Devlin et al., 2019).
``order``  Which came first? In half of the pairs A and B change places (Lan et al., 2020).

A and B are runs of whole sentences that together fit the chunk's target in both cases, so that neither length nor a
cut word gives the answer away. A text of one sentence, or of lines that do not belong together, asks nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from core.training.batches import Ints
from core.training.documents import Documents

NO_LABEL = -100


class Pair(NamedTuple):
    """Token ids of the segments; ``label`` is 0 for the text's own order, 1 for the other case, or `NO_LABEL`."""

    a: Ints
    b: Ints | None
    label: int


class Pairs:
    """Draws segments from documents.

    Args:
        documents: the text.
        question: ``"next"``, ``"order"`` or ``""`` for single texts.
    """

    def __init__(self, documents: Documents, question: str) -> None:
        self.documents = documents
        self.question = question
        count = documents.bounds[:, 1] - documents.bounds[:, 0]
        self.asked = (documents.document >= 0) & (count > 1) & bool(question)
        self._of_source = {int(s): np.flatnonzero(self.asked & (documents.source == s)) for s in set(documents.source)}

    def draw(self, chunk: int, rng: np.random.Generator) -> Pair:
        """The segments of one chunk."""
        text = self.documents
        if not self.asked[chunk]:
            return Pair(text.chunk(chunk), None, NO_LABEL)
        first, last, _, target = text.bounds[chunk].tolist()
        cut = int(rng.integers(first + 1, last))
        a, b = text.text(first, cut), text.text(cut, last)
        if rng.random() < 0.5:
            return Pair(a, b, 0)
        return Pair(b, a, 1) if self.question == "order" else Pair(a, self._foreign(chunk, target - len(a), rng), 1)

    def _foreign(self, chunk: int, room: int, rng: np.random.Generator) -> Ints:
        """Sentences of another document that fit into ``room`` tokens; one alone is cut where none fits."""
        text = self.documents
        offsets = text.sentences.offsets
        pool = self._of_source[int(text.source[chunk])]
        start = stop = 0
        for _ in range(8):
            other = int(pool[rng.integers(len(pool))])
            if text.document[other] == text.document[chunk]:
                continue
            first, last, end, _ = text.bounds[other].tolist()
            start = int(rng.integers(first, last))
            stop = min(end, int(np.searchsorted(offsets, offsets[start] + room, side="right")) - 1)
            if stop > start:
                break
        return text.text(start, max(stop, start + 1))[:room]
