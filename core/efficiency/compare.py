"""One long text through sparse and through full attention of the same model: cost, time, memory, and the answer.

Seconds are the median of the passes in this process, taken in turn (sparse, full, sparse, …) so that a busy moment of
the machine hits both; texts that take long are passed once. Memory is measured for one head, since the heads are
computed one after the other here. The scores are counted, not measured.

How far the answers are apart is their total variation distance, from 0 (the same) to 1 (nothing in common):

    TV(p, q) = ½ Σ_w |p(w) − q(w)|        p, q the two distributions over the vocabulary's words w
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong, InputUnusable
from core.language.text import clean
from core.sparse.cost import BYTES_PER_SCORE, total_scores
from core.sparse.layout import Sparsity

if TYPE_CHECKING:
    from core.sparse.bigbird import Run

Mode = Literal["sparse", "full"]
Progress = Callable[[float, str], None]
"""Told the share done, from 0 to 1, and what is being done; what it raises stops the comparison."""

MAX_MASKS = 4
_QUICK_SECONDS = 1.5  # when both passes together take less, each is repeated twice; longer ones make the visitor wait


@dataclass(frozen=True, slots=True)
class Measured:
    """What one kind of attention cost."""

    scores: int
    """Scores computed in all layers and heads, counted."""
    seconds: float
    """Median over the passes, the whole model."""
    attention_seconds: float
    """Median over the passes, attention alone."""
    passes: int
    peak_bytes: int
    """Tensor memory that one head of one layer holds at the peak of its attention, measured."""
    layer_bytes: int
    """The scores of one layer with all heads at once in float32, computed from the counts."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One word and how probable it is under both kinds of attention."""

    text: str
    sparse: float
    full: float


@dataclass(frozen=True, slots=True)
class MaskedWord:
    """The predictions for one mask."""

    position: int
    """Index among the tokens."""
    context: str
    """The words around it, the mask written as ``[MASK]``."""
    answers: tuple[Answer, ...]
    """Every word that is among the best under either, by falling probability under full attention."""
    distance: float
    """Total variation distance between the two whole distributions."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """All that the page shows."""

    tokens: int
    positions: int
    """The longest text that the model can read, in tokens."""
    layers: int
    heads: int
    words: tuple[MaskedWord, ...]
    sparse: Measured
    full: Measured
    sparsity: Sparsity


@dataclass(frozen=True, slots=True)
class LongText:
    """A text as the model gets it."""

    ids: tuple[int, ...]
    masks: tuple[int, ...]
    text: str


def prepare(checkpoint: Checkpoint, text: str, limit: int | None = None) -> LongText:
    """Tokenise a long text with at least one mask, of at most ``limit`` tokens (a BigBird's positions by default).

    Raises:
        InputEmpty, InputTooLong: nothing to read, or more than the model has positions for.
        InputUnusable: no mask, or more than :data:`MAX_MASKS`.
    """
    from core.language.fill_mask import translate_masks
    from core.sparse.bigbird import shape_of

    limit = shape_of(checkpoint.model)[2] if limit is None else limit
    tokenizer = checkpoint.tokenizer
    text, _ = translate_masks(clean(text), str(tokenizer.mask_token))
    ids = tuple(int(i) for i in tokenizer(text, verbose=False)["input_ids"])
    if len(ids) > limit:
        raise InputTooLong(
            f"This text has {len(ids):,} tokens; {checkpoint.spec.name} has positions for {limit:,}. "
            f"A text of about {limit * 2 // 3:,} words or fewer works."
        )
    masks = tuple(i for i, token in enumerate(ids) if token == tokenizer.mask_token_id)
    if not masks:
        raise InputUnusable("There is no masked word in this text. Write [MASK] in place of the word to be guessed.")
    if len(masks) > MAX_MASKS:
        raise InputUnusable(f"This text has {len(masks)} masks; the comparison takes up to {MAX_MASKS}.")
    return LongText(ids, masks, text)


def token_counter(checkpoint: Checkpoint) -> Callable[[str], int]:
    """How many tokens a piece of text takes for this checkpoint, without special ones."""
    return lambda text: len(checkpoint.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])


def compare(
    checkpoint: Checkpoint, long: LongText, sparsity: Sparsity, *, k: int = 5, progress: Progress | None = None
) -> Comparison:
    """Run both kinds of attention over ``long``. Two at a time would disturb each other's seconds.

    Args:
        checkpoint: a BigBird model with a masked-token head; it is only read.
        long: from :func:`prepare`.
        sparsity: the settings of the sparse side.
        k: how many of the best words of each side are listed.
        progress: told how far it is.
    """
    from core.sparse.bigbird import attention_peak, forward, shape_of

    layers, heads, positions = shape_of(checkpoint.model)
    model, n = checkpoint.model, len(long.ids)
    tell = progress or (lambda share, doing: None)
    chosen: dict[Mode, Sparsity | None] = {"sparse": sparsity, "full": None}
    # Shares of the bar by the scores to compute, since that is what takes long.
    work = {mode: total_scores(n, 1, 1, setting) + 40 * n for mode, setting in chosen.items()}
    total, done = sum(work.values()), 0

    def run(mode: Mode) -> Run:
        start = done

        def layer_done(index: int, of: int) -> None:
            tell(
                min(1.0, (start + work[mode] * index / of) / total), f"{mode.capitalize()} attention over {n:,} tokens"
            )

        return forward(model, long.ids, long.masks, chosen[mode], progress=layer_done)

    peaks = {mode: attention_peak(model, long.ids, setting) for mode, setting in chosen.items()}
    forward(model, long.ids[:64], [0], None)  # the first pass of a process pays for starting threads
    runs: dict[Mode, list[Run]] = {"sparse": [], "full": []}
    for mode in chosen:
        runs[mode].append(run(mode))
        done += work[mode]
    if sum(first.seconds for (first,) in runs.values()) < _QUICK_SECONDS:
        for _ in range(2):
            for mode in chosen:
                runs[mode].append(run(mode))

    measured = {
        mode: Measured(
            scores=total_scores(n, layers, heads, setting),
            seconds=median(r.seconds for r in runs[mode]),
            attention_seconds=median(r.attention_seconds for r in runs[mode]),
            passes=len(runs[mode]),
            peak_bytes=peaks[mode],
            layer_bytes=total_scores(n, 1, heads, setting) * BYTES_PER_SCORE,
        )
        for mode, setting in chosen.items()
    }
    return Comparison(
        tokens=n,
        positions=positions,
        layers=layers,
        heads=heads,
        words=_words(checkpoint, long, runs["sparse"][0], runs["full"][0], k),
        sparse=measured["sparse"],
        full=measured["full"],
        sparsity=sparsity,
    )


def _words(checkpoint: Checkpoint, long: LongText, sparse: Run, full: Run, k: int) -> tuple[MaskedWord, ...]:
    from core.language.tokens import label

    found = []
    for row, position in enumerate(long.masks):
        p, q = softmax(sparse.logits[row]), softmax(full.logits[row])
        listed = set(np.argsort(-p)[:k].tolist()) | set(np.argsort(-q)[:k].tolist())
        answers = [Answer(label(checkpoint.tokenizer, i), float(p[i]), float(q[i])) for i in listed]
        answers.sort(key=lambda answer: (-answer.full, -answer.sparse, answer.text))
        found.append(MaskedWord(position, around(checkpoint, long.ids, position), tuple(answers), distance(p, q)))
    return tuple(found)


def softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """The distribution over the vocabulary that belongs to ``logits``; both of shape (V,)."""
    powers = np.exp(logits.astype(np.float64) - logits.max())
    return np.asarray(powers / powers.sum())


def distance(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    """Total variation distance of two distributions of shape (V,)."""
    return float(np.abs(p - q).sum() / 2)


def around(checkpoint: Checkpoint, ids: Sequence[int], position: int, width: int = 24) -> str:
    """The words around a mask, special tokens other than the masks left out."""
    tokenizer = checkpoint.tokenizer
    hidden = set(tokenizer.all_special_ids) - {tokenizer.mask_token_id}
    before = [i for i in ids[max(0, position - width) : position] if i not in hidden]
    after = [i for i in ids[position + 1 : position + 1 + width] if i not in hidden]
    return f"… {tokenizer.decode(before)} [MASK] {tokenizer.decode(after)} …"
