"""Induction heads: does a head look at what came after the last time this token was read?

Olsson et al. 2022, "In-context Learning and Induction Heads" (arXiv 2209.11895), measure it where nothing else helps:
25 tokens drawn at random stand four times in a row behind a start token, and the score is the attention from a token to
the tokens that followed its earlier copies,

    mean over t in repeats 2 to 4 of Σ_{s < t, token s = token t} A[t, s + 1]

averaged over ten such texts. They call it prefix matching and average the single weights; the sum over the copies is
ours, and says how much of a head's attention goes there. They leave out the most and the least common tokens. Here the
tokens come from the middle half of the vocabulary, whose numbers run from common to rare where pieces were merged; each
is drawn once a text. A head that looks evenly at what it may see scores 0.03. Where tokens are bytes nothing runs
from common to rare, and half of them are no text: there, letters of the Latin alphabet are drawn.

A Reformer does not meet every earlier token: a copy that no round of its hashing puts beside the query counts as weight
that is not there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.attention.architectures.shapes import reformer
from core.attention.heads import HeadScores, HeadSums
from core.attention.trace import AttentionMap
from core.checkpoints.spec import Checkpoint
from core.errors import NoAttentionMatrix
from core.language.limits import max_tokens

LENGTH, REPEATS, EXAMPLES = 25, 4, 10
BYTES = 256
"""A vocabulary of no more tokens than these holds single bytes or letters."""


def induction(checkpoint: Checkpoint, *, examples: int = EXAMPLES, seed: int = 0) -> HeadScores:
    """The score ``induction`` of every head of a causal model, as a grid (L, H); the same for the same ``seed``.

    A model with fewer positions gets fewer tokens a repeat.

    Raises:
        NoAttentionMatrix: the model is not causal, or gives no attention weights.
    """
    import torch

    if not checkpoint.spec.offers("continues"):
        raise NoAttentionMatrix(
            f"{checkpoint.spec.name} does not read from left to right with a matrix of attention; induction is "
            "measured on decoders."
        )
    sums = HeadSums()
    for ids in repeated(checkpoint, examples, seed):
        tokens = tuple(str(i) for i in ids)
        with torch.inference_mode():
            if checkpoint.model.config.model_type == "reformer":
                sums.add(reformer(checkpoint.model, torch.from_numpy(ids)[None], tokens))
                continue
            outputs: Any = checkpoint.model(torch.from_numpy(ids)[None], output_attentions=True, use_cache=False)
        if not outputs.attentions:
            raise NoAttentionMatrix("This model gives no attention weights.")
        weights = np.stack([layer[0].float().cpu().numpy() for layer in outputs.attentions])
        sums.add(AttentionMap("decoder", tokens, tokens, weights))
    found = sums.scores()
    return HeadScores({"induction": found.grids["induction"]}, {"induction": found.rows["induction"]})


def repeated(checkpoint: Checkpoint, examples: int, seed: int) -> NDArray[np.int64]:
    """(examples, tokens): the start token where there is one, then the same random tokens :data:`REPEATS` times."""
    tokenizer = checkpoint.tokenizer
    start = [] if tokenizer.bos_token_id is None else [int(tokenizer.bos_token_id)]
    size, special = len(tokenizer), set(tokenizer.all_special_ids)
    ordinary = sorted(set(range(size // 4, 3 * size // 4)) - special)
    if size - len(special) <= BYTES:
        ordinary = [i for i in range(size) if (letter := tokenizer.decode([i])).isascii() and letter.isalpha()]
    room = (max_tokens(checkpoint) or 1_000_000) - len(start)
    length = min(LENGTH, room // REPEATS, len(ordinary))
    random = np.random.default_rng(seed)
    drawn = [random.choice(ordinary, length, replace=False).tolist() for _ in range(examples)]
    return np.array([start + REPEATS * tokens for tokens in drawn], dtype=np.int64)
