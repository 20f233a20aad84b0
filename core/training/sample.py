"""A few words of a model while it is trained: always the same beginning or gaps, so that its states compare."""

from __future__ import annotations

import re

from core.checkpoints.spec import Checkpoint
from core.language.fill_mask import fill_mask
from core.language.generate import generate
from core.language.translate import rewrite
from core.language.types import Decoding
from core.objectives.sentinels import filled

Parts = tuple[tuple[str, bool], ...]
"""Texts in a row, each with whether it is the model's."""
BEGINNING = 3
"""Words of the line that are given."""
_WORDS = 14
"""Of the line that is filled."""
_TOKENS = 40


def _up_to_last_sign(line: str) -> str:
    """``47+08=`` of ``47+08=055``; of a line that is one word, half."""
    sign = re.match(r".+\W(?=.)", line)
    return sign[0].rstrip() if sign else line[: max(1, len(line) // 2)]


def sample(checkpoint: Checkpoint, line: str) -> Parts:
    """``line`` continued after its first words, or with words of it filled in.

    A decoder samples at temperature 0.6, always with the same seed; an encoder fills every fourth word, an
    encoder-decoder two gaps, with what is most probable.
    """
    words = line.split()
    if checkpoint.spec.offers("continues"):
        start = " ".join(words[:BEGINNING]) if len(words) > BEGINNING else _up_to_last_sign(line)
        decoding = Decoding("sample", temperature=0.6, max_new_tokens=_TOKENS)
        *_, last = generate(checkpoint, start, decoding)
        return ((start, False), (last.text, True))
    if checkpoint.spec.offers("rewrites"):
        cut = words[:_WORDS]
        cut[10:12], cut[4:6] = ["<extra_id_1>"] * (len(cut) > 10), ["<extra_id_0>"]
        text = " ".join(cut)
        *_, last = rewrite(checkpoint, text, None, Decoding(max_new_tokens=_TOKENS))
        parts = filled(text, last.text)
        return tuple(("…", True) if part.startswith("<extra_id_") else (part, own) for part, own in parts)
    masked = [*words[:_WORDS]]
    masked[3::4] = ["[MASK]"] * len(masked[3::4])
    guesses = iter(fill_mask(checkpoint, " ".join(masked), 1))
    return tuple((f" {next(guesses).tokens[0].strip()}", True) if w == "[MASK]" else (f" {w}", False) for w in masked)
