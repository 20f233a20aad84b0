r"""Training a small Transformer from random weights: a decoder, an encoder or an encoder-decoder on a visitor's text.

The objective is next-token prediction (Radford et al. 2019), masked tokens (Devlin et al. 2019, arXiv 1810.04805) or
spans (Raffel et al. 2020, arXiv 1910.10683): the loss is the mean over the targets t of

.. math:: -\log p(x_t \mid \text{what the model reads}),

in bits, divided by the mean bytes of a target: so texts cut into tokens otherwise compare, with counted n-grams, too.

A step reads rows of ``context`` tokens from anywhere in the text, or from the start of a line that fits into a row, so
that in short lines a position means the same in all rows. AdamW (Loshchilov & Hutter 2019) updates all weights, after a
short warm-up at a constant rate: nobody has to say in advance how long the training will be. One thread computes: on a
busy machine two were slower. Everything random is drawn from the seed, so the same setup gives the same numbers on the
same processor, also when it stops and goes on.
"""

from __future__ import annotations

import copy
import math
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from core.checkpoints import own
from core.checkpoints.spec import Checkpoint
from core.lazy import transformers
from core.objectives import masked, sentinels
from core.training import vocabulary
from core.training.models import checkpoint, new_model
from core.training.sample import Parts, sample
from core.training.setup import TOKENS, Point, Setup
from core.training.text import Corpus, count_bytes
from core.turns import turns

EVERY = 20
"""Steps between two measurements."""
MEASURED = 16
"""Rows of the held-out text that are measured, at most."""
WARM_UP = 20
WEIGHT_DECAY = 0.1
Ints = NDArray[np.int64]
Batch = dict[str, Tensor]


@dataclass(frozen=True, slots=True)
class _Stream:
    """The tokens of all lines, each with a token for its end."""

    tokens: Ints
    starts: Ints
    """Of each line, and the end of the last."""
    bytes: float
    """Mean of a token."""

    def rows(self, places: Ints, length: int) -> Ints:
        """(places, length) tokens: from the start of the line of each place if it fits into a row, else from there.

        A text shorter than a row is a single one.
        """
        line = np.searchsorted(self.starts, places, "right") - 1
        fits = np.diff(self.starts)[line] <= length
        begin = np.minimum(np.where(fits, self.starts[line], places), max(0, len(self.tokens) - length))
        return np.asarray(self.tokens[begin[:, None] + np.arange(min(length, len(self.tokens)))])


class Training:
    """A model, its optimizer and what was measured so far."""

    def __init__(
        self, corpus: Corpus, setup: Setup, tokenizer: transformers.PreTrainedTokenizerFast | None = None
    ) -> None:
        self.corpus, self.setup = corpus, setup
        self.tokenizer = tokenizer or vocabulary.learn(corpus.train, setup)
        self.model = new_model(setup, self.tokenizer)
        self.step, self.points, self.seconds = 0, list[Point](), 0.0
        self._random = np.random.default_rng(setup.seed)
        self._optimizer = torch.optim.AdamW(self.model.parameters(), weight_decay=WEIGHT_DECAY, betas=(0.9, 0.95))
        self._train, held_out = self._stream(corpus.train), self._stream(corpus.held_out)
        self._bytes = {"train": self._train.bytes, "held_out": held_out.bytes}
        places = np.arange(0, max(1, len(held_out.tokens) - self._length + 1), self._length)[:MEASURED]
        self._held_out = self._batch(held_out.rows(places, self._length), np.random.default_rng(0))
        self.samples: list[tuple[int, Parts]] = []
        """What the model said, by step; for who watches it."""
        self._name, self.location = secrets.token_hex(16), ""

    @property
    def parameters(self) -> int:
        return sum(weights.numel() for weights in self.model.parameters())

    @property
    def entries(self) -> int:
        """Of the vocabulary."""
        return len(self.tokenizer)

    def run(self, steps: int, rate: float) -> Iterator[Point]:
        """Train for some more steps; yields before the first, after every `EVERY`, and after the last."""
        end, losses = self.step + steps, list[float]()
        if not self.points:
            yield self._measured(math.nan, rate)
        while self.step < end:
            turns.step()
            with _one_thread():
                begun = time.thread_time()
                losses.append(self._update(rate))
                self.seconds += time.thread_time() - begun
            self.step += 1
            if self.step % EVERY == 0 or self.step == end:
                turns.step()
                yield self._measured(float(np.mean(losses)), rate)
                losses.clear()

    def _update(self, rate: float) -> float:
        """One step of AdamW; its loss in nats per target."""
        self.model.train()
        loss = self.model(**self.batch()).loss
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for group in self._optimizer.param_groups:
            group["lr"] = rate * min(1.0, (self.step + 1) / WARM_UP)
        self._optimizer.step()
        self._optimizer.zero_grad()
        return float(loss.detach())

    def _measured(self, loss: float, rate: float) -> Point:
        with _one_thread(), torch.no_grad():
            begun = time.thread_time()
            held_out = float(self.model.eval()(**self._held_out).loss)
            self.seconds += time.thread_time() - begun
        bits = held_out / math.log(2) / self._bytes["held_out"]
        train = bits if math.isnan(loss) else loss / math.log(2) / self._bytes["train"]
        self.points.append(Point(self.step, train, bits, self.seconds, rate))
        return self.points[-1]

    def checkpoint(self, slug: str, name: str) -> Checkpoint:
        """A copy of the model as it is now, for all views; no other training or step has the same location."""
        model = copy.deepcopy(self.model)
        return checkpoint(model, self.tokenizer, self.setup, self.step, f"{self._name}-{self.step}", slug, name)

    def states(self, steps: int, rate: float, slug: str, name: str) -> Iterator[Checkpoint]:
        """As :meth:`run`; yields the model after each measurement, sampled, and held where views find it."""
        for point in self.run(steps, rate):
            state = self.checkpoint(slug, name)
            self.samples.append((point.step, sample(state, self.corpus.held_out[0])))
            # 4 bytes for each weight here, in the copy, and in AdamW's two moments
            own.keep(own.Held(state, self, 16 * self.parameters), self.location)
            self.location = state.spec.location
            yield state

    def _stream(self, lines: tuple[str, ...]) -> _Stream:
        end = self.tokenizer.eos_token_id if self.tokenizer.eos_token_id is not None else self.tokenizer.sep_token_id
        encoded = self.tokenizer(list(lines), add_special_tokens=False, verbose=False)["input_ids"]
        tokens = np.concatenate([np.asarray([*ids, end], dtype=np.int64) for ids in encoded])
        starts = np.cumsum([0, *(len(ids) + 1 for ids in encoded)])
        return _Stream(tokens, starts, count_bytes(lines) / len(tokens))

    def batch(self) -> Batch:
        """The next batch."""
        last = max(0, len(self._train.tokens) - self._length)
        places = self._random.integers(0, last + 1, max(1, TOKENS // self.setup.context))
        return self._batch(self._train.rows(places, self._length), self._random)

    @property
    def _length(self) -> int:
        """Tokens of a text in a row: an encoder's has [CLS] and [SEP] around them."""
        return self.setup.context - 2 if self.setup.objective == "masked" else self.setup.context

    def _batch(self, rows: Ints, random: np.random.Generator) -> Batch:
        """Input and targets; a token that is no target has the label -100."""
        if self.setup.objective == "next":
            ids = torch.from_numpy(rows)
            return {"input_ids": ids, "labels": ids}
        return self._masked(rows, random) if self.setup.objective == "masked" else self._spans(rows, random)

    def _masked(self, rows: Ints, random: np.random.Generator) -> Batch:
        tokenizer = self.tokenizer
        chosen = masked.choose(rows != tokenizer.sep_token_id, random)
        masks, others = masked.replace_chosen(chosen, random)
        read = np.where(masks, tokenizer.mask_token_id, rows)
        ordinary = random.integers(len(tokenizer.all_special_ids), len(tokenizer), rows.shape)
        read = np.where(others, ordinary, read)
        around = ((0, 0), (1, 1))
        read = np.pad(read, around, constant_values=((0, 0), (tokenizer.cls_token_id, tokenizer.sep_token_id)))
        labels = np.pad(np.where(chosen, rows, -100), around, constant_values=-100)
        return {"input_ids": torch.from_numpy(read), "labels": torch.from_numpy(labels)}

    def _spans(self, rows: Ints, random: np.random.Generator) -> Batch:
        """A row of fixed length loses a fixed number of tokens in a fixed number of spans, so nothing is padded."""
        tokenizer = self.tokenizer
        marks = tokenizer.convert_tokens_to_ids([f"<extra_id_{number}>" for number in range(vocabulary.SENTINELS)])
        inputs, answers = [], []
        for row in rows:
            removed = sentinels.noise_mask(len(row), random)
            first = removed & ~np.roll(removed, 1)
            numbers = np.cumsum(first)
            source = np.where(first, np.take(marks, np.maximum(numbers - 1, 0)), row)[~removed | first]
            answer = [
                token
                for number in range(numbers[-1])
                for token in (marks[number], *row[removed & (numbers == number + 1)])
            ]
            inputs.append([*source, tokenizer.eos_token_id])
            answers.append([*answer, marks[numbers[-1]], tokenizer.eos_token_id])
        return {"input_ids": torch.tensor(np.asarray(inputs)), "labels": torch.tensor(np.asarray(answers))}


@contextmanager
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
