r"""Trains a one-layer Reformer on the duplication task; evaluates it with other rounds of hashing than in training.

Attention has shared queries and keys, as in `core.sparse.reformer`. Over the keys j of a query i that share its chunks
in :math:`m_{ij}` of the rounds, the rounds combined by their weights are

.. math:: \mathrm{softmax}_j\,(q_i \cdot \hat q_j / \sqrt d + \ln m_{ij})

which is full attention where every m is 1. Here all scores are computed, then most are masked: short texts train faster
so. Rotations are sampled anew in each step; the gradient does not pass through the buckets.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from core.run.odd import hashing
from core.sparse import reformer
from lab.lengths import machine

TRAINED, EVALUATED = (0, 4, 2, 1), (0, 8, 4, 2, 1)
"""Rounds in training and at evaluation; 0 is full attention."""
POSITIONS, SYMBOLS, CHUNK = 128, 16, 8
STEPS = 1500
WIDTH, HEADS, TEXTS = 64, 2, 16
RATE, WARMUP = 3e-3, 100


@dataclass(frozen=True, slots=True)
class RoundsResult:
    """One trained model at one number of rounds."""

    trained: int
    evaluated: int
    seed: int
    accuracy: float
    """Share of the symbols of the second w that are predicted."""
    steps: int
    seconds: float
    """Processor time of the training, on one thread."""
    machine: str


class DuplicationModel(nn.Module):
    """One layer of attention with shared queries and keys and one feed-forward layer, both residual."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.random = torch.Generator()
        """Of texts and rotations; it goes on where the initial weights end."""
        torch.manual_seed(seed)
        self.symbols = nn.Embedding(SYMBOLS + 1, WIDTH)
        self.positions = nn.Parameter(torch.randn(POSITIONS, WIDTH))
        self.before, self.between, self.after = (nn.LayerNorm(WIDTH) for _ in range(3))
        self.query_key, self.value = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(2))
        self.output = nn.Linear(WIDTH, WIDTH)
        self.feed_forward = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.ReLU(), nn.Linear(4 * WIDTH, WIDTH))
        self.scores = nn.Linear(WIDTH, SYMBOLS + 1)
        self.random.set_state(torch.get_rng_state())

    def forward(self, ids: Tensor, rounds: int) -> Tensor:
        """Logits (R, n, symbols + 1) of the next symbols of ids (R, n); ``rounds`` 0 for full attention."""
        states: Tensor = self.symbols(ids) + self.positions
        normalized = self.before(states)
        split = (*ids.shape, HEADS, -1)
        vectors = self.query_key(normalized).view(split).transpose(1, 2)
        weights = (reformer.key_scores(vectors) + self.shared(vectors.detach(), rounds).log()).softmax(-1)
        mixed = weights @ self.value(normalized).view(split).transpose(1, 2)
        states = states + self.output(mixed.transpose(1, 2).flatten(2))
        logits: Tensor = self.scores(self.after(states + self.feed_forward(self.between(states))))
        return logits

    def shared(self, vectors: Tensor, rounds: int) -> Tensor:
        """(R, H, n, n) rounds in which a query attends to a key: to earlier ones, or to itself alone."""
        n = vectors.shape[-2]
        if not rounds:
            return hashing.with_itself(torch.ones(n, n).tril(-1))
        rotation = torch.randn(HEADS, vectors.shape[-1], rounds, n // CHUNK, generator=self.random)  # 2 n / m buckets
        return hashing.with_itself(hashing.count_shared_rounds(hashing.buckets_of(vectors, rotation), CHUNK))


def texts(count: int, random: torch.Generator) -> Tensor:
    """(count, n) texts 0w0w with w of symbols from 1."""
    word = torch.randint(1, SYMBOLS + 1, (count, POSITIONS // 2 - 1), generator=random)
    mark = torch.zeros(count, 1, dtype=torch.long)
    return torch.cat([mark, word, mark, word], dim=1)


def second_word(model: DuplicationModel, ids: Tensor, rounds: int) -> tuple[Tensor, Tensor]:
    """Logits (R, n/2 - 1, symbols + 1) of the second w, and its symbols."""
    half = POSITIONS // 2
    return model(ids, rounds)[:, half:-1], ids[:, half + 1 :]


def trained(rounds: int, seed: int, steps: int = STEPS) -> DuplicationModel:
    """A model after training with that many rounds; a function of the seed."""
    model = DuplicationModel(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.0, betas=(0.9, 0.98))
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / WARMUP, 3 * (1 - step / steps))
        logits, labels = second_word(model, texts(TEXTS, model.random), rounds)
        nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten()).backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return model.eval()


@torch.no_grad()
def accuracy(model: DuplicationModel, rounds: int, count: int = 200) -> float:
    """Share of the symbols of the second w that are predicted, over new texts."""
    model.random.manual_seed(1_000)
    logits, labels = second_word(model, texts(count, model.random), rounds)
    return float((logits.argmax(-1) == labels).float().mean())


def runs(done: Sequence[RoundsResult], corpus: object, seeds: int) -> Iterator[list[RoundsResult]]:
    """The rows of each model that is not done."""
    measured = {(row.trained, row.seed) for row in done}
    for seed in range(seeds):
        for rounds in TRAINED:
            if (rounds, seed) not in measured:
                began = time.process_time()
                model = trained(rounds, seed)
                seconds = time.process_time() - began
                shares = {other: accuracy(model, other) for other in EVALUATED}
                yield [
                    RoundsResult(rounds, other, seed, share, STEPS, seconds, machine())
                    for other, share in shares.items()
                ]
