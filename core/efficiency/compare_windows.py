"""One long text through a Longformer's window and through full attention: cost, time, memory, and the answers.

Four ways of attention on the same weights: full, the window with the global tokens that were chosen, with the first
token alone (as in training), and with none. Seconds and memory are those of full attention and of the chosen way, taken
as :mod:`core.efficiency.compare` takes them. Full attention here means the window's own projections with a window as
wide as the text; global tokens keep theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from core.checkpoints.spec import Checkpoint
from core.efficiency.compare import _QUICK_SECONDS, LongText, Measured, Progress, around, softmax
from core.errors import InputUnusable
from core.sparse.cost import BYTES_PER_SCORE
from core.sparse.windowed import MOST_GLOBAL, cost

if TYPE_CHECKING:
    from core.sparse.bigbird import Run

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
    if len(found) > MOST_GLOBAL + start:
        raise InputUnusable(
            f"These words make {len(found):,} tokens global; up to {MOST_GLOBAL} work. Choose rarer words."
        )
    return tuple(sorted(found))


def compare(
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
        long: from :func:`core.efficiency.compare.prepare`.
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

    def run(way: str) -> Run:
        return longformer.forward(model, long.ids, long.masks, side, told[way], full=way == "full")

    longformer.forward(model, long.ids[:64], [0], side)  # the first pass of a process pays for starting threads
    runs: dict[str, list[Run]] = {}
    for number, way in enumerate(WAYS):
        tell(number / len(WAYS), f"{WAYS[way].capitalize()} over {n:,} tokens")
        runs[way] = [run(way)]
    if sum(runs[way][0].seconds for way in ("full", "chosen")) < _QUICK_SECONDS:
        for _ in range(2):
            for way in ("chosen", "full"):
                runs[way].append(run(way))

    def measured(way: str) -> Measured:
        scores = n * n if way == "full" else cost(n, side, chosen).sparse
        return Measured(
            scores=scores * layers * heads,
            seconds=median(r.seconds for r in runs[way]),
            attention_seconds=median(r.attention_seconds for r in runs[way]),
            passes=len(runs[way]),
            peak_bytes=longformer.attention_peak(model, long.ids, None if way == "full" else side),
            layer_bytes=scores * heads * BYTES_PER_SCORE,
        )

    return WindowComparison(
        tokens=n,
        layers=layers,
        heads=heads,
        masks=_guesses(checkpoint, long, [runs[way][0] for way in WAYS], k),
        window=measured("chosen"),
        full=measured("full"),
    )


def _guesses(checkpoint: Checkpoint, long: LongText, runs: Sequence[Run], k: int) -> tuple[Guesses, ...]:
    from core.language.tokens import label

    found = []
    yours, alone = list(WAYS).index("chosen"), list(WAYS).index("none")
    for row, position in enumerate(long.masks):
        chances = np.stack([softmax(run.logits[row]) for run in runs])  # (ways, V)
        listed = {int(i) for one in chances for i in np.argsort(-one)[:k]}
        words = [Guess(label(checkpoint.tokenizer, i), tuple(float(c) for c in chances[:, i])) for i in listed]
        words.sort(key=lambda guess: (-guess.chances[yours], guess.text))
        moved = float(np.abs(chances[yours] - chances[alone]).sum() / 2)
        found.append(Guesses(position, around(checkpoint, long.ids, position), tuple(words), moved))
    return tuple(found)
