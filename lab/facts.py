r"""Trains a model of two layers to answer from facts that stand far away, with one pattern of attention each.

    [CLS] jane lives in [MASK]. tom lives in [MASK]. ... [SEP] book ... tom lives in rome. ... jane lives in paris. ...

The first layer can join a place with the name before it; in the second, a question attends to the place joined with its
name, if its pattern of attention reaches there. Both layers have the same pattern,

.. math:: \mathrm{softmax}_j\,(q_i \cdot k_j / \sqrt d + b_{\mathrm{clip}(j - i)}), \qquad j \in A(i),

with a learned bias for each distance up to `NEAR` and one for all beyond, on either side, so that texts of all lengths
are alike. In the first layer one head begins with a bias to the third token before, where a fact has its name, and keys
begin as queries do, so that equal tokens attend to each other: without both, 1,100 steps taught only which places are
stated. The second layer is computed at the questions alone, since only they have a loss. Texts get longer during
training, up to the length that is measured.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from core import checkpoints, patterns
from core.patterns.layout import Sparsity
from lab import corpus
from lab.lengths import machine
from lab.recipe import SourceFile
from lab.tokens import Ints

LENGTH, FACTS = 1024, 4
"""Tokens of a measured text, and the facts in it."""
BLOCK, SIDE = 32, 64
"""BigBird's block, and Longformer's window on each side, in tokens."""
EDGES = (32, 64, 128, 256, 512, 768, LENGTH)
"""Distances are measured in bins that end at these."""
TRAINED = ("full", "bigbird", "longformer", "window")
WIDTH, HEADS, NEAR = 64, 2, 6
JOINED = 8.0
"""The initial bias to the third token before: most of the weight among 1,024 tokens."""
TOKENS = 2048
"""Of one step."""
RATE, STEPS = 3e-3, 400
LENGTHS = ((0.0, 128), (0.6, 256), (0.75, 512), (0.85, LENGTH))
"""From which share of the steps on texts have which length."""
NAMES = [
    *("tom", "mary", "john", "peter", "alice", "jack", "emma", "george", "henry"),
    *("jane", "robert", "sarah", "david", "paul", "james", "charles", "arthur", "frank"),
    *("martha", "edward", "joe", "sam", "bob", "ben", "nancy"),
]
PLACES = [
    *("paris", "london", "boston", "rome", "tokyo", "china", "india", "france", "spain"),
    *("italy", "germany", "canada", "russia", "egypt", "england", "ireland", "scotland", "japan"),
    *("america", "australia", "africa", "europe", "mexico", "brazil", "greece"),
]
TEXTS = 200
"""Measured texts."""


@dataclass(frozen=True, slots=True)
class DistanceResult:
    """One trained model, or a baseline, at one range of distances."""

    pattern: str
    distance: int
    """The end of the range, in tokens between question and fact."""
    seed: int
    accuracy: float
    """Share of the questions that are answered, places being sampled uniformly."""
    asked: int
    steps: int
    seconds: float
    """Processor time of the training, on one thread."""
    machine: str


class Words:
    """The tokens of facts and questions, and the books, in Atlas BERT's vocabulary."""

    def __init__(self, folder: Path, *, held_out: bool) -> None:
        tokenizer: Any = checkpoints.load(checkpoints.first("facts")[0]).tokenizer
        self.size = len(tokenizer)
        self.names, self.places, (self.lives, self.home, self.stop) = (
            np.array(tokenizer.convert_tokens_to_ids(words)) for words in (NAMES, PLACES, ["lives", "in", "."])
        )
        self.begin, self.end, self.mask = tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.mask_token_id
        items = corpus.items_of(folder, SourceFile("stories.txt"), every=100)
        ids: list[int] = []
        for item in items:
            if item.held_out == held_out:
                ids += tokenizer(item.text, add_special_tokens=False, verbose=False)["input_ids"]
            if len(ids) > 400_000:
                break
        self.book = np.array(ids, dtype=np.int64)

    def texts(self, count: int, length: int, rng: np.random.Generator) -> tuple[Tensor, Ints, Ints]:
        """Texts (count, length), the places asked for and their positions (count, `FACTS`)."""
        ids = np.empty((count, length), dtype=np.int64)
        answers, where = np.empty((2, count, FACTS), dtype=np.int64)
        head = 2 + 5 * FACTS
        for row in range(count):
            names = rng.choice(self.names, FACTS, replace=False)
            answers[row] = rng.choice(self.places, FACTS, replace=False)
            questions = [(name, self.lives, self.home, self.mask, self.stop) for name in names]
            body = length - head
            start = int(rng.integers(len(self.book) - body))
            ids[row] = [self.begin, *np.ravel(questions), self.end, *self.book[start : start + body]]
            slots = head + 5 * np.sort(rng.choice(body // 5, FACTS, replace=False))
            for fact, at in zip(rng.permutation(FACTS), slots, strict=True):
                ids[row, at : at + 5] = (names[fact], self.lives, self.home, answers[row, fact], self.stop)
                where[row, fact] = at + 3
        return torch.from_numpy(ids), answers, where


ASKED = 4 + 5 * np.arange(FACTS)
"""Positions of the questions' masks."""


@lru_cache(maxsize=8)
def allowed(pattern: str, n: int) -> Tensor:
    """(n, n) True where a query attends to a key."""
    questions = range(2 + 5 * FACTS)
    if pattern == "bigbird":
        return torch.from_numpy(patterns.mask(Sparsity(block_size=BLOCK).pattern(n), n))
    chosen = {
        "full": patterns.full,
        "longformer": patterns.union(patterns.window(SIDE), patterns.global_at(questions)),
        "window": patterns.window(SIDE),
    }
    return torch.from_numpy(patterns.mask(chosen[pattern], n))


class Layer(nn.Module):
    """Attention with a bias by distance, residual."""

    def __init__(self) -> None:
        super().__init__()
        self.normal = nn.LayerNorm(WIDTH)
        self.query, self.key, self.value, self.output = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.bias = nn.Parameter(torch.zeros(HEADS, 2 * NEAR + 1))
        self.key.load_state_dict(self.query.state_dict())

    def forward(self, states: Tensor, rows: Tensor, mask: Tensor) -> Tensor:
        """States (R, m, width) at the queries ``rows`` (m,), of states (R, n, width) and a mask (m, n)."""
        normal = self.normal(states)

        def split(vectors: Tensor) -> Tensor:
            return vectors.view(*vectors.shape[:2], HEADS, -1).transpose(1, 2)

        apart = (torch.arange(states.shape[1]) - rows[:, None]).clamp(-NEAR, NEAR) + NEAR
        bias = self.bias[:, apart].masked_fill(~mask, -torch.inf)
        context = nn.functional.scaled_dot_product_attention(
            split(self.query(normal[:, rows])), split(self.key(normal)), split(self.value(normal)), bias[None]
        )
        attended: Tensor = states[:, rows] + self.output(context.transpose(1, 2).flatten(2))
        return attended


class FactModel(nn.Module):
    """Two layers and one feed-forward layer between embeddings and the scores of the places."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.embeddings = nn.Embedding(vocabulary, WIDTH)
        first = Layer()
        nn.init.constant_(first.bias[0, NEAR - 3], JOINED)
        self.layers = nn.ModuleList([first, Layer()])
        self.scores = nn.Sequential(
            nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.ReLU(), nn.Linear(4 * WIDTH, len(PLACES))
        )

    def forward(self, ids: Tensor, pattern: str) -> Tensor:
        """Scores (R, `FACTS`, places) of ids (R, n)."""
        n = ids.shape[1]
        mask, rows, asked = allowed(pattern, n), torch.arange(n), torch.from_numpy(ASKED)
        states = self.layers[0](self.embeddings(ids), rows, mask)
        scores: Tensor = self.scores(self.layers[1](states, asked, mask[asked]))
        return scores


def trained(words: Words, pattern: str, seed: int, steps: int = STEPS) -> FactModel:
    """A model after training with that pattern; a function of the seed."""
    torch.manual_seed(seed)
    model = FactModel(words.size)
    place = torch.full((words.size,), -1)
    place[words.places] = torch.arange(len(PLACES))
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.0, betas=(0.9, 0.98))
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / 100, 3 * (1 - step / steps))
        length = max(n for share, n in LENGTHS if step >= share * steps)
        ids, answers, _ = words.texts(TOKENS // length, length, np.random.default_rng([seed, step]))
        labels = place[torch.from_numpy(answers)].flatten()
        loss = nn.functional.cross_entropy(model(ids, pattern).flatten(0, 1), labels)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step % 100 == 0:
            print(pattern, seed, step, length, round(loss.item(), 3), flush=True)
    return model.eval()


@torch.no_grad()
def answered(words: Words, model: FactModel, pattern: str, count: int = TEXTS) -> tuple[Ints, Ints, Ints]:
    """(questions,) predicted places, right places and distances, over new texts; the same for all models."""
    rng = np.random.default_rng(1_000)
    parts = []
    for _ in range(count // 4):
        ids, answers, where = words.texts(4, LENGTH, rng)
        best = words.places[model(ids, pattern).argmax(-1).numpy()]
        parts.append(np.stack([best, answers, where - ASKED], axis=0).reshape(3, -1))
    best, right, apart = np.concatenate(parts, axis=1)
    return best, right, apart


def binned(right: np.ndarray[Any, Any], apart: Ints) -> Iterator[tuple[int, float, int]]:
    """The end, the accuracy and the number of questions of each range of distances."""
    for low, high in zip((0, *EDGES[:-1]), EDGES, strict=True):
        in_range = right[(apart > low) & (apart <= high)]
        if len(in_range):
            yield high, float(in_range.mean()), len(in_range)


def nearest(words: Words, count: int = TEXTS) -> tuple[np.ndarray[Any, Any], Ints]:
    """Whether the fact nearest to the questions is the one asked for, and its distance, over the same texts."""
    rng = np.random.default_rng(1_000)
    where = np.concatenate([words.texts(4, LENGTH, rng)[2] for _ in range(count // 4)])
    return (where == where.min(1, keepdims=True)).ravel(), (where - ASKED).ravel()


def runs(done: Sequence[DistanceResult], corpus: Path, seeds: int) -> Iterator[list[DistanceResult]]:
    """The rows of each model that is not done, and of the baseline."""
    measured = {(row.pattern, row.seed) for row in done}
    held = Words(corpus, held_out=True)
    if not measured:
        baseline = binned(*nearest(held))
        yield [DistanceResult("nearest", end, 0, share, asked, 0, 0.0, machine()) for end, share, asked in baseline]
    words = Words(corpus, held_out=False)
    for seed in range(seeds):
        for pattern in TRAINED:
            if (pattern, seed) not in measured:
                began = time.process_time()
                model = trained(words, pattern, seed)
                seconds = time.process_time() - began
                best, right, apart = answered(held, model, pattern)
                yield [
                    DistanceResult(pattern, end, seed, share, asked, STEPS, seconds, machine())
                    for end, share, asked in binned(best == right, apart)
                ]
