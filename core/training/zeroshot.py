"""Sentence pairs between two languages that never met in training: what a translation without examples is measured on.

Both files of training pairs have English first, and each is split by its English sentences (`core.training.parallel`).
A French and a German sentence are a pair because some English sentence has both as translations: their *bridge*. Such
a pair is measured on where every bridge between the two is held out. Then

- neither sentence was trained on, since translations of held-out sentences are held out with them;
- the bridge was not trained on either, in any language pair, since it is its words alone that hold it out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from core.training.corpus import held_out, normal
from core.training.parallel import Pair, Split, digest


class Bridged:
    """Held-out pairs of two languages that only English joins; read anew whenever they are walked through.

    Held in memory are digests of the translations of held-out sentences and of their English sides, never the pairs.

    Args:
        first, second: the splits of (English, first) and (English, second) pairs, made with the same ``every``.
        pairs: makes an iterator over the (first, second) pairs; called once for each pass.
    """

    def __init__(self, first: Split, second: Split, pairs: Callable[[], Iterable[Pair]]) -> None:
        self.pairs = pairs
        self._held: set[bytes] = set()
        self._bridges = (self._english(first), self._english(second))

    def _english(self, side: Split) -> dict[bytes, set[bytes]]:
        """The English sides, held out or not, of every sentence that translates a held-out one."""
        found: dict[bytes, set[bytes]] = {digest(normal(other)): set() for _, other in side.test()}
        for english, other in side.pairs():
            bridges = found.get(digest(normal(other)))
            if bridges is not None:
                bridge = digest(normal(english))
                bridges.add(bridge)
                if held_out(english, side.every):
                    self._held.add(bridge)
        return found

    def test(self) -> Iterator[Pair]:
        """Pairs joined by held-out English sentences alone."""
        first, second = self._bridges
        for pair in self.pairs():
            bridges = first.get(digest(normal(pair[0])), set()) & second.get(digest(normal(pair[1])), set())
            if bridges and bridges <= self._held:
                yield pair
