r"""Token classification: a part of speech for every word, by a head on the state of its first token.

.. math:: p(y_w \mid x) = \mathrm{softmax}(V h_{f(w)} + c), \qquad L = -\frac1W \sum_w \ln p(y_w \mid x),

with :math:`f(w)` the first token of word w and W words (BERT, arXiv 1810.04805, sections 4 and 5.3). The sentences are
those of ``assets/treebank/atlas.conllu``; every third is held out. The baseline gives a word the tag that it has most
often in the training sentences, and a word that is not there the most frequent tag of all.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from core.attention.roles.treebank import SHIPPED, read_treebank
from core.finetuning.examples import Example, LabeledSet

NAME, EPOCHS = "tags", 6
"""Of the set, and of a run: there are four times as many sentences as texts in the other sets."""
HELD_OUT = 3
"""Of so many sentences, one is held out."""


@lru_cache(maxsize=1)
def treebank() -> LabeledSet:
    """The sentences with their words' tags."""
    examples = [Example("", sentence.text, sentence=sentence) for sentence in read_treebank(SHIPPED)]
    held_out = tuple(examples[HELD_OUT - 1 :: HELD_OUT])
    return LabeledSet(tuple(example for example in examples if example not in held_out), held_out)


def most_frequent(data: LabeledSet) -> tuple[str, ...]:
    """The baseline's tag of each held-out word."""
    by_word: dict[str, Counter[str]] = {}
    every: Counter[str] = Counter()
    for example in data.train:
        for word, tag in zip(example.words, example.targets, strict=True):
            by_word.setdefault(word.lower(), Counter())[tag] += 1
            every[tag] += 1
    return tuple(
        by_word.get(word.lower(), every).most_common(1)[0][0] for example in data.held_out for word in example.words
    )


def baseline(data: LabeledSet) -> float:
    """The share of held-out words that :func:`most_frequent` tags right."""
    truth = [tag for example in data.held_out for tag in example.targets]
    return sum(a == b for a, b in zip(most_frequent(data), truth, strict=True)) / len(truth)
