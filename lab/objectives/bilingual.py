r"""Masked and translation language modeling (XLM: Conneau & Lample, 2019, arXiv 1901.07291).

.. math:: L = -\frac{1}{|M|} \sum_{i \in M} \log p(x_i \mid \tilde x)

with M the chosen 15% of the tokens (`core.objectives.masked`). In masked language modeling x is a sentence of one
language; in translation language modeling it is a sentence and its translation, both masked, so that a word masked in
one can be predicted from the other. Each token has a language embedding, and positions of the second sentence start
from 0 again (`core.language.bilingual`). The two languages share a vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from torch import Tensor, nn
from torch.nn import functional

from core.language.bilingual import layout
from lab import batches, corpus, models, parallel
from lab.documents import ROUND
from lab.masking import Bools, mask_rows
from lab.objective import Batch, Hits, Objective
from lab.recipe import RecipeError
from lab.tokenizers import XLM, wordpiece
from lab.tokens import Ints, Ragged, batched, encoded, stored

BEGIN, END, PAD, UNKNOWN, MASK = range(5)
LANGUAGES = {"en": 0, "fr": 1}
TASKS = {"tlm": (0, 1), "mlm-en": (0,), "mlm-fr": (1,)}
"""The sentences of a pair that are the input of each task."""
NAMES = {"tlm": "with translation", "mlm-en": "English alone", "mlm-fr": "French alone"}
MEASURED = 600
"""Held-out pairs for the learning curve."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Tokenized pairs: row i of the second is the translation of row i of the first."""

    both: tuple[Ragged, Ragged]

    def __len__(self) -> int:
        return len(self.both[0])

    def lengths(self, shown: tuple[int, ...]) -> Ints:
        """(pairs,) tokens of each row with these sentences, special tokens and padding included."""
        content = sum((self.both[side].lengths + 2 for side in shown), np.zeros(len(self), dtype=np.int64))
        return np.asarray(-(-content // ROUND) * ROUND, dtype=np.int64)


class BilingualModel(nn.Module):
    """XLM with random weights; logits are computed at chosen positions alone."""

    def __init__(self, settings: dict[str, Any], vocabulary: int) -> None:
        super().__init__()
        ids = {"bos_token_id": BEGIN, "eos_token_id": END, "pad_token_id": PAD, "unk_index": UNKNOWN}
        more = {"mask_index": MASK, "mask_token_id": MASK, "n_langs": len(LANGUAGES), "lang_id": LANGUAGES["en"]}
        self.full: Any = models.new_model(settings, "PreTraining", vocab_size=vocabulary, **ids, **more)
        self.full.config.lang2id = dict(LANGUAGES)

    def forward(self, ids: Tensor, real: Tensor, langs: Tensor, positions: Tensor, chosen: Tensor) -> Tensor:
        """Logits (chosen, vocabulary); all arguments are (rows, length)."""
        hidden = self.full.transformer(input_ids=ids, attention_mask=real, langs=langs, position_ids=positions)[0]
        scores: Tensor = self.full.pred_layer.proj(hidden[chosen])
        return scores


class BilingualObjective(Objective):
    """Masked rows of similar length per batch; item t · n + i is pair i of n for task t."""

    special = XLM | {
        **dict.fromkeys(("cls_token", "sep_token"), XLM["eos_token"]),
        "model_input_names": ["input_ids", "attention_mask"],  # XLM adds token embeddings of segment ids
    }

    def prepare_data(self) -> None:
        data, sources = self.recipe.data, self.recipe.sources
        self.tasks = [source.task for source in sources]
        if len({source.file for source in sources}) != 1 or any(task not in TASKS for task in self.tasks):
            raise RecipeError(f"The sources of {self.recipe.slug!r} must be tasks ({', '.join(TASKS)}) of one file.")
        self.positions = int(self.recipe.model["max_position_embeddings"])

        def make() -> dict[str, Any]:
            pairs = partial(parallel.rows, self.corpus, sources[0].file.split(".")[1])
            split = parallel.Split(pairs, int(data["hold_out_every"]))
            some = islice(split.train(), 0, None, int(data["tokenizer_every"]))
            tokenizer = wordpiece((text for pair in some for text in pair), int(data["vocabulary"]), XLM)
            data_of = {"tokenizer": tokenizer}
            for side, pairs_of in (("train", split.train), ("test", split.test)):
                rows = list(self._both(tokenizer, pairs_of()))
                corpus.require(len(rows), "training" if side == "train" else "measuring", sources)
                data_of |= {f"{side}-{number}": Ragged.of(pair[number] for pair in rows) for number in (0, 1)}
            return data_of

        stored_data = stored(self.cache, (sources[0].file, data, self.positions), make)
        self.tokenizer = stored_data["tokenizer"]
        self.train, self.test = (
            Sides((stored_data[f"{side}-0"], stored_data[f"{side}-1"])) for side in ("train", "test")
        )
        self.fixed = np.zeros(self.tokenizer.get_vocab_size(), dtype=bool)
        self.fixed[: len(XLM)] = True
        self.keys = self.cost = np.concatenate([self.train.lengths(TASKS[task]) for task in self.tasks])

    def _both(self, tokenizer: Any, pairs: Iterator[parallel.Pair]) -> Iterator[tuple[list[int], ...]]:
        """Tokenized pairs that fit the model."""
        room = self.positions - 2
        for part in batched(pairs):
            tokens = [encoded(tokenizer, texts, special=False) for texts in zip(*part, strict=True)]
            yield from (pair for pair in zip(*tokens, strict=True) if all(0 < len(ids) <= room for ids in pair))

    def new_model(self) -> BilingualModel:
        return BilingualModel(self.recipe.model, self.tokenizer.get_vocab_size())

    def items(self, rng: np.random.Generator) -> Ints:
        count = len(self.train)
        drawn = [batches.sample_epoch(count, source.passes, rng) for source in self.recipe.sources]
        return np.concatenate([number * count + pairs for number, pairs in enumerate(drawn)])

    def batch(self, step: int) -> Batch:
        index = self.epochs[step]
        shown = [(TASKS[self.tasks[item // len(self.train)]], item % len(self.train)) for item in index.tolist()]
        return rows(self.train, shown, self.fixed, self.rngs(step, index))

    def scores(self, batch: Batch) -> Tensor:
        inputs = (batch[name] for name in ("ids", "real", "langs", "positions", "chosen"))
        return self.model(*inputs).float()  # type: ignore[no-any-return]

    def loss(self, batch: Batch) -> Tensor:
        return functional.cross_entropy(self.scores(batch), batch["labels"])

    def measure(self) -> dict[str, float]:
        """Loss (nats) and top-1 (percent) on masked tokens of held-out pairs, and of each of their sentences alone."""
        some = batches.some(len(self.test), MEASURED)
        measures: dict[str, float] = {}
        for task, shown in TASKS.items():
            hits = Hits()
            for index, rngs in batches.measured(some, self.test.lengths(shown)[some]):
                batch = self.to_device(rows(self.test, [(shown, int(pair)) for pair in index], self.fixed, rngs))
                hits.add(self.scores(batch), batch["labels"])
            shares = hits.shares()
            measures |= {f"{name} {NAMES[task]}": shares[name] for name in ("loss", "top-1")}
        return measures


def rows(
    text: Sides,
    items: Sequence[tuple[tuple[int, ...], int]],
    special: Bools,
    rngs: Sequence[np.random.Generator],
) -> dict[str, Tensor]:
    """Masked rows.

    Args:
        items: for each row the sentences of a pair, and the number of the pair.
        special: (vocabulary,) True for tokens that are neither chosen nor sampled.
        rngs: a generator for each row.

    Returns:
        What `lab.masking.mask_rows` returns; ``langs`` and ``positions`` (rows, width).
    """
    layouts = [layout([(side, text.both[side].row(pair)) for side in shown], END) for shown, pair in items]
    ids = [row["input_ids"][0].numpy() for row in layouts]
    width = -(-max(map(len, ids)) // ROUND) * ROUND
    langs, positions = np.zeros((2, len(layouts), width), dtype=np.int64)
    for number, row in enumerate(layouts):
        size = len(ids[number])
        langs[number, :size], positions[number, :size] = row["langs"][0], row["position_ids"][0]
    batch = mask_rows(ids, special, MASK, PAD, width, rngs)
    return batch | batches.tensors(langs=langs, positions=positions)
