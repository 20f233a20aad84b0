r"""Masked words in sentences of two languages, and in pairs that say the same (XLM: arXiv 1901.07291).

.. math:: L = -\frac{1}{|M|} \sum_{i \in M} \log p(x_i \mid \tilde x)

with M the chosen 15 % of the tokens (`core.training.masking.bert`). In masked language modelling x is a sentence of
one language; in translation language modelling it is a sentence and its translation, both damaged, so that a word
hidden in one can be looked up in the other. Every token carries its language, and places count from 0 again in the
second sentence (`core.language.bilingual`). The two languages share one vocabulary of pieces.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.language.bilingual import layout
from core.training import batches, corpus, masking, parallel
from core.training.batches import Epochs, Ints, Ragged, RaggedWriter
from core.training.documents import AT_ONCE, batched
from core.training.recipe import Recipe, RecipeError
from core.training.shipping import ship_model, ship_tokenizer

SPECIAL = {
    "bos_token": "<s>",
    "eos_token": "</s>",
    "pad_token": "<pad>",
    "unk_token": "<unk>",
    "mask_token": "[MASK]",
}
"""XLM's special tokens by the names that transformers gives them; the ids follow this order."""
BEGIN, END, PAD, UNKNOWN, MASK = range(5)
LANGUAGES = {"en": 0, "fr": 1}
TASKS = {"tlm": (0, 1), "mlm-en": (0,), "mlm-fr": (1,)}
"""Which sentences of a pair a task shows."""
NAMES = {"tlm": "with translation", "mlm-en": "English alone", "mlm-fr": "French alone"}
ROUND = 8
"""Rows are padded to a multiple of this many tokens."""
MEASURED = 600
"""Held-out pairs that the learning curve is measured on."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Pairs as tokens: row i of the first is translated by row i of the second."""

    both: tuple[Ragged, Ragged]

    def __len__(self) -> int:
        return len(self.both[0])

    def lengths(self, shown: tuple[int, ...]) -> Ints:
        """(pairs,) tokens of each row that shows these sentences, frames and padding included."""
        content = sum((self.both[side].lengths + 2 for side in shown), np.zeros(len(self), dtype=np.int64))
        return np.asarray(-(-content // ROUND) * ROUND, dtype=np.int64)

    @classmethod
    def load(cls, stem: Path) -> Sides:
        """Maps what was written; raises FileNotFoundError where it is missing."""
        first, second = (Ragged.load(stem.with_name(f"{stem.name}-{side}")) for side in ("first", "second"))
        return cls((first, second))


class BilingualModel(nn.Module):
    """XLM from its configuration, with random weights; only chosen places meet the vocabulary."""

    def __init__(self, settings: dict[str, Any], vocabulary: int) -> None:
        super().__init__()
        from transformers import XLMConfig, XLMWithLMHeadModel

        config = XLMConfig(
            vocab_size=vocabulary,
            emb_dim=settings["width"],
            n_layers=settings["layers"],
            n_heads=settings["heads"],
            max_position_embeddings=settings["positions"],
            n_langs=len(LANGUAGES),
            dropout=0.0,
            attention_dropout=0.0,
            bos_token_id=BEGIN,
            eos_token_id=END,
            pad_token_id=PAD,
            unk_index=UNKNOWN,
            mask_index=MASK,
            mask_token_id=MASK,
            lang_id=LANGUAGES["en"],
        )
        config.lang2id = dict(LANGUAGES)
        self.full: Any = XLMWithLMHeadModel(config)

    def forward(self, ids: Tensor, real: Tensor, langs: Tensor, positions: Tensor, chosen: Tensor) -> Tensor:
        """(chosen, vocabulary) scores; everything given has the shape (rows, length)."""
        hidden = self.full.transformer(input_ids=ids, attention_mask=real, langs=langs, position_ids=positions)[0]
        scores: Tensor = self.full.pred_layer.proj(hidden[chosen])
        return scores


class BilingualObjective:
    """Rows of about equal length a batch, each damaged in a way of its own."""

    def __init__(self, recipe: Recipe, corpus_folder: Path, cache: Path) -> None:
        self.recipe = recipe
        self.tasks = [source.task for source in recipe.sources]
        self.tokenizer, self.train, self.test = self._data(corpus_folder, cache)
        self.special = np.zeros(self.tokenizer.get_vocab_size(), dtype=bool)
        self.special[: len(SPECIAL)] = True
        self.sizes = [self.train.lengths(TASKS[task]) for task in self.tasks]
        torch.manual_seed(recipe.seed)
        self.model = BilingualModel(recipe.model, self.tokenizer.get_vocab_size())
        self._epochs = Epochs(recipe.seed, self._epoch)

    def _data(self, folder: Path, cache: Path) -> tuple[Any, Sides, Sides]:
        from tokenizers import Tokenizer

        sources = self.recipe.sources
        if len({source.file for source in sources}) != 1 or any(task not in TASKS for task in self.tasks):
            raise RecipeError(f"The sources of {self.recipe.slug!r} have to be tasks ({', '.join(TASKS)}) on one file.")
        what = (sources[0].file, self.recipe.data, self.recipe.model["positions"])
        stem = cache / hashlib.blake2b(repr(what).encode(), digest_size=6).hexdigest()
        if not (stem / "done").is_file():
            self._write(folder, stem)
            (stem / "done").touch()
        return Tokenizer.from_file(str(stem / "tokenizer.json")), Sides.load(stem / "train"), Sides.load(stem / "test")

    def _write(self, folder: Path, stem: Path) -> None:
        """Reads the pairs, trains the tokeniser and keeps both sides as tokens; pairs too long are left out."""
        stem.mkdir(parents=True, exist_ok=True)
        data, sources = self.recipe.data, self.recipe.sources
        room = int(self.recipe.model["positions"]) - 2
        name = sources[0].file.split(".")[1]
        split = parallel.Split(partial(parallel.rows, folder, name), int(data["hold_out_every"]))
        some = islice(split.train(), 0, None, int(data["tokenizer_every"]))
        tokenizer = wordpiece((text for pair in some for text in pair), int(data["vocabulary"]))
        tokenizer.save(str(stem / "tokenizer.json"))
        for side, pairs in (("train", split.train), ("test", split.test)):
            with RaggedWriter(stem / f"{side}-first") as first, RaggedWriter(stem / f"{side}-second") as second:
                for part in batched(pairs(), AT_ONCE):
                    made = [
                        [e.ids for e in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]
                        for texts in zip(*part, strict=True)
                    ]
                    fit = [pair for pair in zip(*made, strict=True) if all(0 < len(ids) <= room for ids in pair)]
                    first.extend([one for one, _ in fit])
                    second.extend([other for _, other in fit])
                corpus.require(first.count, "training" if side == "train" else "measuring", sources)

    def _epoch(self, rng: np.random.Generator) -> list[Ints]:
        """Item t · n + i shows pair i of n in the way of task t."""
        count = len(self.train)
        drawn = [batches.draw(count, source.passes, rng) for source in self.recipe.sources]
        items = np.concatenate([number * count + pairs for number, pairs in enumerate(drawn)])
        size = np.concatenate([self.sizes[number][pairs] for number, pairs in enumerate(drawn)])
        return batches.plan(items, size, size, self.recipe.step_tokens, rng)

    def batch(self, step: int) -> dict[str, Tensor]:
        index = self._epochs[step]
        draws = [np.random.default_rng([self.recipe.seed, 1, step, int(item)]) for item in index]
        shown = [(TASKS[self.tasks[item // len(self.train)]], item % len(self.train)) for item in index.tolist()]
        return rows(self.train, shown, self.special, draws)

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        return functional.cross_entropy(self._scores(batch).float(), batch["labels"])

    def _scores(self, batch: dict[str, Tensor]) -> Tensor:
        given = (batch[name] for name in ("ids", "real", "langs", "positions", "chosen"))
        scores: Tensor = self.model(*given)
        return scores

    def size(self, batch: dict[str, Tensor]) -> int:
        return int(batch["real"].sum())

    def measure(self) -> dict[str, float]:
        """Loss (nats) and top-1 (percent) of masked tokens of held-out pairs and of each of their sentences alone."""
        some = np.arange(0, len(self.test), max(1, len(self.test) // MEASURED), dtype=np.int64)
        found: dict[str, float] = {}
        for task, shown in TASKS.items():
            size = self.test.lengths(shown)[some]
            nats = right = count = 0.0
            for index in batches.plan(some, size, size, 4096, np.random.default_rng(0), least=0.0):
                draws = [np.random.default_rng([0, 3, int(pair)]) for pair in index]
                made = rows(self.test, [(shown, int(pair)) for pair in index], self.special, draws)
                batch = {name: value.to(self.model.full.device) for name, value in made.items()}
                scores = self._scores(batch).float()
                nats += float(functional.cross_entropy(scores, batch["labels"], reduction="sum"))
                right += int((scores.argmax(1) == batch["labels"]).sum())
                count += len(scores)
            found |= {f"loss {NAMES[task]}": nats / count, f"top-1 {NAMES[task]}": 100 * right / count}
        return found

    def export(self, folder: Path) -> None:
        ship_model(self.model.full, folder, ("dropout", "attention_dropout"))
        end, inputs = SPECIAL["eos_token"], ["input_ids", "attention_mask"]  # XLM would take segments for words
        positions = int(self.recipe.model["positions"])
        more = {"cls_token": end, "sep_token": end, "model_input_names": inputs}
        ship_tokenizer(self.tokenizer, folder, positions, **SPECIAL, **more)


def wordpiece(texts: Iterable[str], size: int) -> Any:
    """Pieces of both languages (Schuster & Nakajima, 2012), lower case with accents, in XLM's frame of ``</s>``."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    tokenizer: Any = Tokenizer(models.WordPiece(unk_token=SPECIAL["unk_token"]))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=list(SPECIAL.values()), limit_alphabet=200, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="</s> $A </s>", pair="</s> $A </s> </s> $B </s>", special_tokens=[("</s>", END)]
    )
    return tokenizer


def rows(
    text: Sides,
    items: Sequence[tuple[tuple[int, ...], int]],
    special: masking.Bools,
    draws: Sequence[np.random.Generator],
) -> dict[str, Tensor]:
    """Damaged rows.

    Args:
        items: for each row which sentences of a pair it shows, and the pair.
        special: (vocabulary,) True for tokens that are neither hidden nor drawn.
        draws: a generator for each row.

    Returns:
        ``ids`` damaged, ``real`` 1 where there is a token, ``langs``, ``positions`` and ``chosen``, True where a token
        is to be guessed, all (rows, width); ``labels`` (chosen,) what stood there.
    """
    made = [layout([(side, text.both[side].row(pair)) for side in shown], END) for shown, pair in items]
    width = -(-max(len(row.ids) for row in made) // ROUND) * ROUND
    ids, langs, positions = (np.full((len(made), width), fill, dtype=np.int64) for fill in (PAD, 0, 0))
    chosen = np.zeros(ids.shape, dtype=bool)
    labels: list[Ints] = []
    for number, (row, rng) in enumerate(zip(made, draws, strict=True)):
        here = slice(0, len(row.ids))
        whole = np.array(row.ids, dtype=np.int64)
        ids[number, here], chosen[number, here] = masking.bert(whole, special, MASK, rng)
        langs[number, here], positions[number, here] = row.langs, row.positions
        labels.append(whole[chosen[number, here]])
    return {
        "ids": torch.from_numpy(ids),
        "real": torch.from_numpy((ids != PAD).astype(np.int64)),
        "langs": torch.from_numpy(langs),
        "positions": torch.from_numpy(positions),
        "chosen": torch.from_numpy(chosen),
        "labels": torch.from_numpy(np.concatenate(labels)),
    }
