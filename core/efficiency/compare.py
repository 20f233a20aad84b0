"""Cost, memory and predictions of several attention patterns of one model on one long text.

A BigBird compares sparse and full attention. A Longformer compares four patterns on the same weights: full, the window
with the chosen global tokens, with the first token alone (as in training), and with none. Its full attention uses the
projections of the window, with a window as wide as the text; global tokens keep their own projections.

Memory is that of one head, since the heads are computed one after the other here. Scores are counted.

Two predictions are compared by their total variation distance, from 0 (equal) to 1 (disjoint):

    TV(p, q) = ½ Σ_w |p(w) − q(w)|        p, q the two distributions over the vocabulary's words w
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.language.fill_mask import prepare as prepare_masks
from core.language.inputs import Inputs
from core.language.tokens import label
from core.patterns.layout import BYTES_PER_SCORE, Sparsity, total_scores
from core.sparse import bigbird, longformer, windowed
from core.sparse.encoder import Logits
from core.sparse.encoder import Progress as LayerProgress

Progress = Callable[[float, str], object]
"""Called with the share done, from 0 to 1, and the current step; an exception from it stops the comparison."""

MAX_MASKS = 4
VARIANTS = {
    "full": "full attention",
    "chosen": "window and your global tokens",
    "start": "window and the first token",
    "none": "window alone",
}
"""The attention patterns that are compared on a Longformer, and their names."""
MOST_WORDS = 8


@dataclass(frozen=True, slots=True)
class AttentionCost:
    """The cost of one kind of attention."""

    scores: int
    """Scores computed in all layers and heads, counted."""
    peak_bytes: int
    """Tensor memory that one head of one layer holds at the peak of its attention, measured."""
    layer_bytes: int
    """The scores of one layer with all heads at once in float32, computed from the counts."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One word and its probability under each kind of attention, in the order of the comparison."""

    text: str
    probabilities: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class MaskedWord:
    """The predictions for one mask."""

    position: int
    """Index among the tokens."""
    context: str
    """The words around it, the mask written as ``[MASK]``."""
    answers: tuple[Answer, ...]
    """The top words of every pattern, by decreasing probability under one of them."""
    distance: float
    """Total variation distance between two of the distributions over the vocabulary."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Predictions and costs of the compared patterns."""

    tokens: int
    positions: int
    """The longest text that the model can read, in tokens."""
    layers: int
    heads: int
    masks: tuple[MaskedWord, ...]
    sparse: AttentionCost
    """Of BigBird's sparse attention; of Longformer's window with the chosen global tokens."""
    full: AttentionCost


def prepare(checkpoint: Checkpoint, text: str) -> Inputs:
    """A long text with at least one mask.

    Raises:
        InputEmpty, InputTooLong: nothing to read, or more than the model has positions for.
        InputUnusable: no mask, or more than :data:`MAX_MASKS`.
    """
    long = prepare_masks(checkpoint, text, most=None)
    masks = long.positions
    if not masks:
        raise InputUnusable("There is no masked word in this text. Type [MASK] in place of the word to be predicted.")
    if len(masks) > MAX_MASKS:
        raise InputUnusable(f"This text has {len(masks)} masks; the comparison takes up to {MAX_MASKS}.")
    return long


def token_counter(checkpoint: Checkpoint) -> Callable[[str], int]:
    """How many tokens a piece of text takes for this checkpoint, without special ones."""
    return lambda text: len(checkpoint.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])


def global_positions(long: Inputs, words: str, start: bool) -> tuple[int, ...]:
    """Positions of the first token, where wanted, and of every occurrence of words, separated by commas.

    Raises:
        InputUnusable: a word that does not occur in the text, or too many words or tokens.
    """
    queries = [word.strip() for word in words.split(",") if word.strip()]
    if len(queries) > MOST_WORDS:
        raise InputUnusable(f"There are {len(queries)} global words; up to {MOST_WORDS} work.")
    tokenizer, text_ids = long.checkpoint.tokenizer, long.ids
    positions = {0} if start else set()
    for word in queries:
        ids = tuple(int(i) for i in tokenizer(word, add_special_tokens=False, verbose=False)["input_ids"])
        positions_of_word = [at for at in range(len(text_ids) - len(ids) + 1) if text_ids[at : at + len(ids)] == ids]
        if not ids or not positions_of_word:
            raise InputUnusable(f"“{word[:40]}” does not occur in this text. Choose global words that do.")
        positions.update(at + offset for at in positions_of_word for offset in range(len(ids)))
    if len(positions) > windowed.MOST_GLOBAL + start:
        raise InputUnusable(
            f"These words make {len(positions):,} tokens global; up to {windowed.MOST_GLOBAL} work. Choose rarer words."
        )
    return tuple(sorted(positions))


def compare(long: Inputs, sparsity: Sparsity, *, k: int = 5, progress: Progress | None = None) -> Comparison:
    """Run sparse and full attention over ``long``.

    Args:
        long: from :func:`prepare`, of a BigBird with a masked-token head.
        sparsity: the settings of the sparse side.
        k: how many of the best words of each side are listed.
        progress: is called after each layer.
    """
    model, ids, n = long.checkpoint.model, long.ids, len(long.ids)
    layers, heads, positions = bigbird.shape_of(model)
    settings = {"sparse": sparsity, "full": None}

    def run(variant: str, progress: LayerProgress) -> Logits:
        return bigbird.forward(model, ids, long.positions, settings[variant], progress=progress)

    names = {variant: f"{variant.capitalize()} attention over {n:,} tokens" for variant in settings}
    runs = _passes(names, run, progress)
    sparse, full = (
        _cost(
            total_scores(n, layers, heads, setting),
            total_scores(n, 1, heads, setting),
            bigbird.attention_peak(model, ids, setting),
        )
        for setting in settings.values()
    )
    masks = _masked_words(long, list(runs.values()), k, by=1, compared=(0, 1))
    return Comparison(n, positions, layers, heads, masks, sparse, full)


def compare_windows(
    long: Inputs,
    side: int,
    global_at: Sequence[int],
    *,
    k: int = 4,
    progress: Progress | None = None,
) -> Comparison:
    """Run all `VARIANTS` over ``long``; otherwise as :func:`compare`.

    Args:
        long: from :func:`prepare`, of a Longformer with a masked-token head.
        side: tokens that the window reaches on each side.
        global_at: positions of the chosen global tokens.
    """
    model, ids, n, chosen = long.checkpoint.model, long.ids, len(long.ids), tuple(global_at)
    layers, heads, positions = longformer.shape_of(model)
    globals_of: dict[str, tuple[int, ...]] = {"full": chosen, "chosen": chosen, "start": (0,), "none": ()}

    def run(variant: str, progress: LayerProgress) -> Logits:
        return longformer.forward(
            model, ids, long.positions, side, globals_of[variant], full=variant == "full", progress=progress
        )

    names = {variant: f"{name.capitalize()} over {n:,} tokens" for variant, name in VARIANTS.items()}
    runs = _passes(names, run, progress)
    window, full = (
        _cost(scores * layers * heads, scores * heads, longformer.attention_peak(model, ids, reach))
        for scores, reach in ((windowed.cost(n, side, chosen).sparse, side), (n * n, None))
    )
    order = list(VARIANTS)
    compared = (order.index("chosen"), order.index("none"))
    masks = _masked_words(long, list(runs.values()), k, by=compared[0], compared=compared)
    return Comparison(n, positions, layers, heads, masks, window, full)


def _passes(
    names: Mapping[str, str], run: Callable[[str, LayerProgress], Logits], progress: Progress | None
) -> dict[str, Logits]:
    """The logits at the masks of one pass of each variant in ``names``."""

    def logits(number: int, variant: str) -> Logits:
        def layer_done(layer: int, layers: int) -> None:
            if progress is not None:
                progress((number + layer / layers) / len(names), names[variant])

        return run(variant, layer_done)

    return {variant: logits(number, variant) for number, variant in enumerate(names)}


def _cost(scores: int, of_a_layer: int, peak: int) -> AttentionCost:
    return AttentionCost(scores=scores, peak_bytes=peak, layer_bytes=of_a_layer * BYTES_PER_SCORE)


def _masked_words(
    long: Inputs, runs: Sequence[Logits], k: int, by: int, compared: tuple[int, int]
) -> tuple[MaskedWord, ...]:
    """The masks, their words ordered by run number ``by``, with the distance between the two runs ``compared``."""
    from scipy.special import softmax

    masks, tokenizer, ids = [], long.checkpoint.tokenizer, long.ids
    for row, position in enumerate(long.positions):
        p = softmax(np.stack([logits[row] for logits in runs]).astype(np.float64), axis=-1)  # (runs, V)
        listed = {int(i) for probabilities in p for i in np.argsort(-probabilities)[:k]}
        answers = [Answer(label(tokenizer, i), tuple(p[:, i].tolist())) for i in listed]
        answers.sort(key=lambda answer: (-answer.probabilities[by], answer.text))
        distance = float(np.abs(p[compared[0]] - p[compared[1]]).sum() / 2)
        masks.append(MaskedWord(position, _context(long.checkpoint, ids, position), tuple(answers), distance))
    return tuple(masks)


def _context(checkpoint: Checkpoint, ids: Sequence[int], position: int, width: int = 24) -> str:
    """The words around a mask, special tokens other than the masks left out."""
    tokenizer = checkpoint.tokenizer
    special = set(tokenizer.all_special_ids) - {tokenizer.mask_token_id}
    before = [i for i in ids[max(0, position - width) : position] if i not in special]
    after = [i for i in ids[position + 1 : position + 1 + width] if i not in special]
    return f"… {tokenizer.decode(before)} [MASK] {tokenizer.decode(after)} …"
