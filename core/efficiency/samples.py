"""Long texts for the efficient page: a lighthouse keeper's log, made by joining sentences written for this project.

Each log says once what the keeper's dog is called (the clue) and asks for it once (the mask). What differs is how far
apart the two are, and so which part of the pattern can connect them:

    near      the clue stands in the sentence before the mask: the window sees it
    start     the clue opens the log: the first block is global, every block sees it
    middle    the clue stands in the middle of the log, far from the mask: random blocks may see it, or two steps may

Legend: an entry is one day of the log, two or three sentences of about 40 tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from core.errors import OutOfRange

SAMPLES: dict[str, str] = {
    "near": "Clue right before the mask",
    "start": "Clue at the beginning",
    "middle": "Clue in the middle, far away",
}
"""Slug -> what the menu says."""

MASK = "[MASK]"
CLUE = "The dog of the lighthouse is called Max. Max sleeps by the stove, and every visitor knows Max."
QUESTION = f"In the evening the keeper called the dog: come here, {MASK}, he said."

_WEATHER = (
    "The morning was calm and the sea lay flat as a table",
    "Rain came in from the west before breakfast",
    "A thick fog hid the rocks until noon",
    "The wind turned north in the night and it grew cold",
    "It was a bright day with small white clouds",
    "Snow fell on the steps and the railings froze",
    "The storm of last night had passed, but the waves were still high",
    "A warm wind blew from the land and smelled of hay",
)
_SHIPS = (
    "two fishing boats passed close to the tower",
    "a grey steamer went south and blew its horn",
    "a ship with red sails waited for the tide",
    "no ship was seen all day",
    "the mail boat brought letters and a sack of flour",
    "a tanker stood on the horizon until it was dark",
    "three sailing boats raced each other to the harbour",
)
_WORK = (
    "The keeper cleaned the great lamp and trimmed the wick",
    "The keeper painted the door green and mended the fence",
    "There was oil to carry up the stairs, one hundred and twenty steps",
    "The clock in the kitchen had stopped, so the keeper took it apart",
    "The windows were grey with salt and had to be washed",
    "The garden wall had lost a stone, and the keeper put it back",
    "The boat was pulled up on the beach and turned over",
)
_EVENING = (
    "For supper there was fish soup with bread.",
    "He wrote a long letter to his sister in the town.",
    "The gulls were loud, and then it was quiet.",
    "He read an old book about the stars until late.",
    "His daughter telephoned and told him about the school.",
    "The light was lit at six and burned well all night.",
    "He played two games of chess against himself and lost one.",
    "A seal came to the steps and looked at him for a while.",
)


def entry(day: int) -> str:
    """One day of the log; the same for the same day."""
    random = Random(day)
    return (
        f"Day {day + 1}. {random.choice(_WEATHER)}, and {random.choice(_SHIPS)}. "
        f"{random.choice(_WORK)}. {random.choice(_EVENING)}"
    )


def build(name: str, length: int, count: Callable[[str], int]) -> str:
    """A log of at most ``length`` tokens with its clue and its mask.

    Args:
        name: one of :data:`SAMPLES`.
        length: tokens that may be used, special ones included.
        count: how many tokens a piece of text takes, without special ones.

    Raises:
        OutOfRange: the sample is unknown, or the length does not even hold clue and question.
    """
    if name not in SAMPLES:
        raise OutOfRange(f"There is no sample called {name[:40]!r}. Choose one of: {', '.join(SAMPLES)}.")
    left = length - 2 - count(CLUE) - count(QUESTION)
    if left < 0:
        raise OutOfRange(f"{length} tokens are too few for a sample: from 64 on it works.")
    days: list[str] = []
    while (left := left - count(following := entry(len(days)))) >= 0:
        days.append(following)
    # The question stands at three quarters of the log, away from the last block, which is global.
    asked = len(days) * 3 // 4
    told = {"near": asked, "start": 0, "middle": len(days) * 3 // 8}[name]
    return " ".join([*days[:told], CLUE, *days[told:asked], QUESTION, *days[asked:]])
