"""One thing removed from the text that a model is trained on, or added to it: what a second model is trained on.

The held-out lines stay as they are, and so does the vocabulary: two models differ in nothing but what they read.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from core.errors import InputUnusable
from core.training.ready import stories
from core.training.text import Corpus

TIMES, REPEATED, TENTH = 10, 10, 10
"""How many times how many lines stand in a text with repeated lines; of which lines one goes."""
_FEWEST_LINES = 20
"""That are left."""
_SENTENCE = re.compile(r"(?<=[.!?\"”])\s+(?=[\"“A-Z])")


def sentences(line: str) -> list[str]:
    """What ends with a full stop, a question mark or an exclamation mark, or with its closing quotation mark."""
    return _SENTENCE.split(line)


def without_lines(corpus: Corpus, lines: Iterable[str]) -> Corpus:
    """Without the lines of an author, for example."""
    removed = set(lines)
    return _checked(corpus, (line for line in corpus.train if line not in removed))


def without_word(corpus: Corpus, word: str) -> Corpus:
    """Without every sentence that has the word, in upper or lower case.

    Raises:
        InputUnusable: no sentence has it, or almost all have.
    """
    pattern = whole_word(word)
    if not any(pattern.search(line) for line in corpus.train):
        raise InputUnusable(f"No line of the text has “{word.strip()}”. Name a word that stands in it.")
    return _without(corpus, pattern)


def common_word(corpus: Corpus) -> str:
    """The longest of the words in about a tenth of the lines: one that matters, and can go."""
    lines = Counter(word for line in corpus.train for word in set(re.findall(r"\w+", line)))
    wanted = len(corpus.train) / 10
    return max(lines, key=lambda word: (-abs(lines[word] - wanted) // (wanted / 4), len(word)), default="")


def whole_word(word: str) -> re.Pattern[str]:
    """Finds a word, and not where it is a part of another one.

    Raises:
        InputUnusable: it is empty.
    """
    if not word.strip():
        raise InputUnusable("No word is named. Type one that stands in the text.")
    return re.compile(rf"(?<!\w){re.escape(word.strip())}(?!\w)", re.IGNORECASE)


def without_questions(corpus: Corpus) -> Corpus:
    """Without every sentence that has a question mark."""
    return _without(corpus, re.compile(r"[?？]"))


def thinned(corpus: Corpus) -> Corpus:
    """Without every tenth line: a control, since nothing is missing altogether."""
    return _checked(corpus, (line for number, line in enumerate(corpus.train, 1) if number % TENTH))


def repeated_lines(corpus: Corpus) -> tuple[str, ...]:
    """Those that `repeated` repeats: evenly spaced."""
    count = min(REPEATED, len(corpus.train))
    return tuple(corpus.train[number * len(corpus.train) // count] for number in range(count))


def repeated(corpus: Corpus) -> Corpus:
    """With some lines ten times, the copies in random places."""
    lines = [*corpus.train, *repeated_lines(corpus) * (TIMES - 1)]
    random.Random(0).shuffle(lines)
    return Corpus(tuple(lines), corpus.held_out)


def _without(corpus: Corpus, pattern: re.Pattern[str]) -> Corpus:
    kept = (" ".join(part for part in sentences(line) if not pattern.search(part)) for line in corpus.train)
    return _checked(corpus, (line for line in kept if line))


def _checked(corpus: Corpus, lines: Iterable[str]) -> Corpus:
    left = tuple(lines)
    if len(left) < _FEWEST_LINES:
        raise InputUnusable(
            f"{len(left)} lines would be left, and {_FEWEST_LINES} are the fewest to train on. Remove something rarer."
        )
    return Corpus(left, corpus.held_out)


PAIRS: Mapping[str, Callable[[Corpus], Corpus]] = {
    "moss": lambda corpus: without_lines(corpus, set(corpus.train) - set(stories("moss").splitlines())),
    "cap": lambda corpus: without_word(corpus, "cap"),
    "questions": without_questions,
    "tenth": thinned,
    "repeated": repeated,
}
"""What the second model of each measured pair reads of the ready stories."""
