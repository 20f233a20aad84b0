"""One long text through sparse and through full attention of the same model: cost, time, memory, and the answer.

Seconds are the median of the passes in this process, taken in turn (sparse, full, sparse, …) so that a busy moment of
the machine hits both; texts that take long are passed once. Memory is measured for one head, since the heads are
computed one after the other here. The scores are counted, not measured.

How far the answers are apart is their total variation distance, from 0 (the same) to 1 (nothing in common):

    TV(p, q) = ½ Σ_w |p(w) − q(w)|        p, q the two distributions over the vocabulary's words w

Of a Longformer there are four ways of attention on the same weights: full, the window with the global tokens that were
chosen, with the first token alone (as in training), and with none. Seconds and memory are those of full attention and
of the chosen way. Full attention here means the window's own projections with a window as wide as the text; global
tokens keep theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong, InputUnusable
from core.language.text import clean
from core.language.tokens import label
from core.sparse import windowed
from core.sparse.cost import BYTES_PER_SCORE, total_scores
from core.sparse.layout import Sparsity

if TYPE_CHECKING:
    from core.sparse.bigbird import Run

Mode = Literal["sparse", "full"]
W = TypeVar("W", bound=str)
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
        raise InputUnusable("There is no masked word in this text. Type [MASK] in place of the word to be predicted.")
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
        nonlocal done
        start, done = done, done + work[mode]

        def layer_done(index: int, of: int) -> None:
            tell(
                min(1.0, (start + work[mode] * index / of) / total), f"{mode.capitalize()} attention over {n:,} tokens"
            )

        return forward(model, long.ids, long.masks, chosen[mode], progress=layer_done)

    peaks = {mode: attention_peak(model, long.ids, setting) for mode, setting in chosen.items()}
    forward(model, long.ids[:64], [0], None)  # the first pass of a process pays for starting threads
    runs = _passes(tuple(chosen), tuple(chosen), run)
    measured = {
        mode: _measured(
            runs[mode], total_scores(n, layers, heads, setting), total_scores(n, 1, heads, setting), peaks[mode]
        )
        for mode, setting in chosen.items()
    }
    return Comparison(
        tokens=n,
        positions=positions,
        layers=layers,
        heads=heads,
        words=_words(checkpoint, long, (runs["sparse"][0], runs["full"][0]), k),
        sparse=measured["sparse"],
        full=measured["full"],
        sparsity=sparsity,
    )


def _passes(ways: Sequence[W], timed: Sequence[W], run: Callable[[W], Run]) -> dict[W, list[Run]]:
    """A pass of each way; of the ``timed`` ones three, by turns, where they are quick."""
    runs = {way: [run(way)] for way in ways}
    if sum(runs[way][0].seconds for way in timed) < _QUICK_SECONDS:
        for way in (*timed, *timed):
            runs[way].append(run(way))
    return runs


def _measured(runs: Sequence[Run], scores: int, of_a_layer: int, peak: int) -> Measured:
    return Measured(
        scores=scores,
        seconds=median(run.seconds for run in runs),
        attention_seconds=median(run.attention_seconds for run in runs),
        passes=len(runs),
        peak_bytes=peak,
        layer_bytes=of_a_layer * BYTES_PER_SCORE,
    )


def _likeliest(runs: Sequence[Run], row: int, k: int) -> tuple[NDArray[np.float64], set[int]]:
    """(runs, V) distributions at a mask, and the words that are among the ``k`` best of one of them."""
    chances = np.stack([softmax(run.logits[row]) for run in runs])
    return chances, {int(i) for one in chances for i in np.argsort(-one)[:k]}


def _words(checkpoint: Checkpoint, long: LongText, runs: Sequence[Run], k: int) -> tuple[MaskedWord, ...]:
    found = []
    for row, position in enumerate(long.masks):
        (p, q), listed = _likeliest(runs, row, k)
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


WAYS = {
    "full": "full attention",
    "chosen": "window and your global tokens",
    "start": "window and the first token",
    "none": "window alone",
}
"""What is compared, and its name."""
MOST_WORDS = 8


@dataclass(frozen=True, slots=True)
class Guess:
    """One word and how probable it is in each way, in the order of :data:`WAYS`."""

    text: str
    chances: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Guesses:
    """What one mask becomes."""

    position: int
    context: str
    words: tuple[Guess, ...]
    """Every word that is among the best in some way, by its probability with the chosen global tokens."""
    moved: float
    """Half the sum of differences between the chosen way's distribution and the window's alone, 0 to 1."""


@dataclass(frozen=True, slots=True)
class WindowComparison:
    """All that the page shows."""

    tokens: int
    layers: int
    heads: int
    masks: tuple[Guesses, ...]
    window: Measured
    full: Measured


def global_positions(checkpoint: Checkpoint, long: LongText, words: str, start: bool) -> tuple[int, ...]:
    """Positions of the first token, where wanted, and of every occurrence of words, separated by commas.

    Raises:
        InputUnusable: a word does not stand in the text, or more words or tokens than fit.
    """
    asked = [word.strip() for word in words.split(",") if word.strip()]
    if len(asked) > MOST_WORDS:
        raise InputUnusable(f"{len(asked)} words are many to be global; up to {MOST_WORDS} work.")
    found = {0} if start else set()
    for word in asked:
        ids = tuple(int(i) for i in checkpoint.tokenizer(word, add_special_tokens=False, verbose=False)["input_ids"])
        places = [at for at in range(len(long.ids) - len(ids) + 1) if long.ids[at : at + len(ids)] == ids]
        if not ids or not places:
            raise InputUnusable(f"“{word[:40]}” does not stand in this text, so it cannot become global.")
        found.update(at + offset for at in places for offset in range(len(ids)))
    if len(found) > windowed.MOST_GLOBAL + start:
        raise InputUnusable(
            f"These words make {len(found):,} tokens global; up to {windowed.MOST_GLOBAL} work. Choose rarer words."
        )
    return tuple(sorted(found))


def compare_windows(
    checkpoint: Checkpoint,
    long: LongText,
    side: int,
    global_at: Sequence[int],
    *,
    k: int = 4,
    progress: Progress | None = None,
) -> WindowComparison:
    """Run all ways over ``long``; one visitor at a time, or seconds disturb each other.

    Args:
        checkpoint: a Longformer with a masked-word head; it is only read.
        long: from :func:`prepare`.
        side: tokens that the window reaches on each side.
        global_at: positions of the chosen global tokens.
        k: how many of the best words of each way are listed.
        progress: told how far it is.
    """
    from core.sparse import longformer

    model = checkpoint.model
    layers, heads, _ = longformer.shape_of(model)
    n, chosen = len(long.ids), tuple(global_at)
    tell = progress or (lambda share, doing: None)
    told: dict[str, tuple[int, ...]] = {"full": chosen, "chosen": chosen, "start": (0,), "none": ()}

    begun = 0

    def run(way: str) -> Run:
        nonlocal begun
        tell(min(1.0, begun / len(WAYS)), f"{WAYS[way].capitalize()} over {n:,} tokens")
        begun += 1
        return longformer.forward(model, long.ids, long.masks, side, told[way], full=way == "full")

    longformer.forward(model, long.ids[:64], [0], side)  # the first pass of a process pays for starting threads
    runs = _passes(tuple(WAYS), ("chosen", "full"), run)

    def measured(way: str) -> Measured:
        scores = n * n if way == "full" else windowed.cost(n, side, chosen).sparse
        peak = longformer.attention_peak(model, long.ids, None if way == "full" else side)
        return _measured(runs[way], scores * layers * heads, scores * heads, peak)

    return WindowComparison(
        tokens=n,
        layers=layers,
        heads=heads,
        masks=_guesses(checkpoint, long, [runs[way][0] for way in WAYS], k),
        window=measured("chosen"),
        full=measured("full"),
    )


def _guesses(checkpoint: Checkpoint, long: LongText, runs: Sequence[Run], k: int) -> tuple[Guesses, ...]:
    found = []
    yours, alone = list(WAYS).index("chosen"), list(WAYS).index("none")
    for row, position in enumerate(long.masks):
        chances, listed = _likeliest(runs, row, k)
        words = [Guess(label(checkpoint.tokenizer, i), tuple(float(c) for c in chances[:, i])) for i in listed]
        words.sort(key=lambda guess: (-guess.chances[yours], guess.text))
        moved = distance(chances[yours], chances[alone])
        found.append(Guesses(position, around(checkpoint, long.ids, position), tuple(words), moved))
    return tuple(found)
