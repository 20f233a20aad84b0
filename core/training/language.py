"""Sentences of a made-up language of 40 words, from a grammar and a seed.

1. **Order**: subject, object, verb, as *mi nalu ta pesk so rikan* (children a stone found). *zel* (rest) has no object.
2. **Classes**: the six nouns of living beings take *ma* (one) or *mi* (several), the six of things *ta* or *ti*.
3. **Adjectives** follow the noun and agree with its class: *ma nalu dovum*, *ta pesk dova*.
4. **Verbs** agree with the number of the subject: *rik* for one, *rikan* for several, as for two that *su* (and) joins.
5. **Time**: right before the verb stands *so* (past) or *lo* (future). *no* (not) stands right before these.
6. **Meaning**: only living beings find, carry and eat, and only things are eaten. Anything rests.
7. **Place**: a sentence may begin with *ul* (in) or *ep* (on) and a thing.
8. **Questions** begin with *ke* and end in a question mark.
9. **Because**: *hu* joins a second sentence, which has the first one's time.

Nouns, numbers, adjectives and times are free, so nobody can foretell them; that they agree can be learned.
"""

from __future__ import annotations

import random

LINES = 1_500
LIVING = ("nalu", "borem", "tikka", "wesh", "gorin", "elpa")
"""Child, woman, bird, fish, dog, goat."""
THINGS = ("pesk", "lumo", "drav", "onti", "shul", "kirra")
"""Stone, bread, house, apple, boat, leaf."""
ARTICLES = {("living", 1): "ma", ("living", 2): "mi", ("thing", 1): "ta", ("thing", 2): "ti"}
"""By class, and one or several."""
ADJECTIVES = {"dov": "big", "hesp": "red", "yil": "old", "tamb": "wet"}
"""Stems and their meaning; *-um* with living beings, *-a* with things."""
VERBS = {"rik": "find", "faz": "carry", "mub": "eat", "zel": "rest"}
"""*-an* with several."""
TIMES, PLACES = ("so", "lo"), ("ul", "ep")
WORDS = frozenset(
    [*LIVING, *THINGS, *ARTICLES.values(), *TIMES, *PLACES, "no", "su", "ke", "hu"]
    + [stem + end for stem in ADJECTIVES for end in ("um", "a")]
    + [stem + end for stem in VERBS for end in ("", "an")]
)


def sentences() -> str:
    """1,500 different sentences, one a line."""
    drawn, lines = random.Random(0), dict[str, None]()
    while len(lines) < LINES:
        lines[sentence(drawn)] = None
    return "\n".join(lines)


def sentence(drawn: random.Random) -> str:
    time = drawn.choice(TIMES)
    words = _clause(time, drawn)
    if drawn.random() < 0.25:
        words += ["hu", *_clause(time, drawn)]
    if drawn.random() < 0.2:
        return " ".join(["ke", *words]) + "?"
    return " ".join(words) + "."


def _clause(time: str, drawn: random.Random) -> list[str]:
    verb = drawn.choice(tuple(VERBS))
    rests, eats = verb == "zel", verb == "mub"
    place = [drawn.choice(PLACES), *_noun("thing", drawn.choice((1, 2)), drawn)] if drawn.random() < 0.2 else []
    kind = drawn.choice(("living", "thing")) if rests else "living"
    count = drawn.choice((1, 2))
    subject = _noun(kind, count, drawn)
    if drawn.random() < 0.15:
        subject += ["su", *_noun(kind, drawn.choice((1, 2)), drawn)]
        count = 2
    what = [] if rests else _noun("thing" if eats else drawn.choice(("living", "thing")), drawn.choice((1, 2)), drawn)
    denied = ["no"] if drawn.random() < 0.2 else []
    return [*place, *subject, *what, *denied, time, verb + "an" * (count > 1)]


def _noun(kind: str, count: int, drawn: random.Random) -> list[str]:
    noun = drawn.choice(LIVING if kind == "living" else THINGS)
    adjective = [drawn.choice(tuple(ADJECTIVES)) + ("um" if kind == "living" else "a")] if drawn.random() < 0.35 else []
    return [ARTICLES[kind, count], noun, *adjective]
