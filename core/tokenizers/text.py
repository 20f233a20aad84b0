"""The gate for texts whose very blanks and signs are the question: nothing is tidied up.

:mod:`core.language.text` composes accents and runs blanks together, because a model should answer to what was meant. A
tokeniser is asked what it makes of exactly these characters. Only halves of surrogate pairs are replaced, since no
UTF-8 can hold them.
"""

from __future__ import annotations

import re

from core.errors import InputEmpty, InputTooLong

MOST = 4_000
"""Characters of a text that is cut."""
REPLACEMENT = "\ufffd"

_HALVES = re.compile("[\ud800-\udfff]")


def whole(text: str, limit: int = MOST) -> str:
    """``text`` as it is, with the sign for something unreadable in place of every half of a surrogate pair.

    Raises:
        InputEmpty: there is no character at all.
        InputTooLong: more than ``limit`` characters.
    """
    if not text:
        raise InputEmpty("There is no text to cut. Type a few words, or choose a sample.")
    if len(text) > limit:
        raise InputTooLong(
            f"This text has {len(text):,} characters; at most {limit:,} are cut here. A shorter passage works."
        )
    return _HALVES.sub(REPLACEMENT, text)
