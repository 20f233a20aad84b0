r"""Longformer from a short-text encoder (Beltagy et al., 2020, section 5): masked tokens of long stretches of books.

All weights begin as those of a RoBERTa whose layers differ in attention alone. Its table of P positions is copied until
it is long enough, so that neighbours keep the places that they knew; the projections of the global token begin as the
window's. Then

.. math:: L = -\frac{1}{|M|} \sum_{i \in M} \log p(x_i \mid \tilde x)

with BERT's damage of 15 % of the tokens (`core.objectives.masked`). The layers' matrices learn as low-rank updates
(Hu et al., 2021), positions and global projections freely; word vectors stay, and what is shipped is the difference.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.checkpoints.bundled import long_names
from core.efficiency.longformer import states
from core.objectives import masked
from core.training import corpus, models
from core.training.documents import Vocabulary
from core.training.lowrank import add_updates
from core.training.objective import Batch, Hits, Objective
from core.training.objectives.causal import book_lines
from core.training.objectives.long import SHAPE
from core.training.tokens import Ints, Ragged, encoded, kept

GLOBAL = (0,)
"""Positions of the global tokens in training: the first token, as for a text without a question."""
POSITIONS = "longformer.embeddings.position_embeddings.weight"


def long_config(short: Any, positions: int, window: int) -> Any:
    """A LongformerConfig of the shape of a RobertaConfig, for so many positions; ``window`` counts both sides."""
    from transformers import LongformerConfig

    shape = {name: getattr(short, name) for name in SHAPE if name != "max_position_embeddings"}
    return LongformerConfig(
        **shape,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        max_position_embeddings=short.pad_token_id + 1 + positions,
        pad_token_id=short.pad_token_id,
        bos_token_id=short.bos_token_id,
        eos_token_id=short.eos_token_id,
        sep_token_id=short.eos_token_id,
        attention_window=[window] * short.num_hidden_layers,
        architectures=["LongformerForMaskedLM"],
    )


def tiled(table: Tensor, padding: int, positions: int) -> Tensor:
    """(padding + positions, d): the padding's rows, then the others of a (padding + P, d) table over and over."""
    own = table[padding:]
    return torch.cat([table[:padding], own[torch.arange(positions) % len(own)]])


def grown(short: Any, positions: int, window: int) -> Any:
    """A LongformerForMaskedLM that begins as a RobertaForMaskedLM."""
    from transformers import LongformerForMaskedLM

    model = LongformerForMaskedLM(long_config(short.config, positions, window))
    state = long_names(short.state_dict())
    state[POSITIONS] = tiled(state[POSITIONS], short.config.pad_token_id + 1, positions)
    for name in list(state):
        if any(part in name for part in ("self.query.", "self.key.", "self.value.")):
            state[name.replace(".weight", "_global.weight").replace(".bias", "_global.bias")] = state[name]
    model.load_state_dict(state)
    model.tie_weights()
    return model


class LongModel(nn.Module):
    """A Longformer; updates of the layers' matrices, positions and global projections learn, word vectors do not."""

    def __init__(self, full: Any, rank: int) -> None:
        super().__init__()
        self.full = full
        for layer in full.longformer.encoder.layer:
            own = layer.attention.self
            add_updates(nn.ModuleList([own.query, own.key, own.value]), rank)
            add_updates(nn.ModuleList([layer.attention.output, layer.intermediate, layer.output]), rank)
        for table in (full.longformer.embeddings.word_embeddings, full.longformer.embeddings.token_type_embeddings):
            table.weight.requires_grad_(False)

    def forward(self, ids: Tensor, chosen: Tensor) -> Tensor:
        """(rows, length) ids and chosen places to (chosen, vocabulary) scores."""
        scores: Tensor = self.full.lm_head(states(self.full, ids, GLOBAL)[chosen])
        return scores

    def difference(self) -> dict[str, Tensor]:
        """What learnt, under the names of LongformerForMaskedLM, (`core.checkpoints.bundled`)."""
        out: dict[str, Tensor] = {}
        for name, value in self.full.named_parameters():
            if value.requires_grad:
                name = name.replace(".parametrizations.weight.0.lora_", ".weight.lora_")
                out[name] = value
        out[f"{POSITIONS}.rows.0"] = out.pop(POSITIONS)
        return out


class WindowObjective(Objective):
    """Stretches of books, of a length drawn for each step."""

    def read(self) -> None:
        from transformers import PreTrainedTokenizerFast

        recipe = self.recipe
        self.base = models.finished(str(recipe.card["base"]), self.stages)
        self.full_tokenizer: Any = PreTrainedTokenizerFast.from_pretrained(self.base, local_files_only=True)
        self.tokenizer = self.full_tokenizer.backend_tokenizer
        self.words = Vocabulary(self.tokenizer)
        self.lengths = [int(length) for length in recipe.data["lengths"]]

        def books(held_out: bool) -> Iterator[list[int]]:
            for _, book in groupby(book_lines(recipe, self.corpus, held_out=held_out), key=lambda line: line[0]):
                rows = encoded(self.tokenizer, (text for _, text in book), special=False)
                yield [token for ids in rows for token in ids]

        def make(place: Path) -> None:
            for side in ("train", "test"):
                found = Ragged.of(books(side == "test"))
                long = int((found.lengths >= max(self.lengths)).sum())
                corpus.require(long, "training" if side == "train" else "measuring", recipe.sources)
                found.save(place / side)

        place = kept(self.cache, (recipe.sources, recipe.data), make)
        self.train, self.test = (Ragged.load(place / side) for side in ("train", "test"))

    def new_model(self) -> LongModel:
        from transformers import RobertaForMaskedLM

        short = RobertaForMaskedLM.from_pretrained(self.base, dtype=torch.float32, local_files_only=True)
        torch.manual_seed(self.recipe.seed)
        settings = self.recipe.model
        return LongModel(grown(short, int(settings["positions"]), int(settings["window"])), int(settings["rank"]))

    def batch(self, step: int) -> Batch:
        rng = np.random.default_rng([self.recipe.seed, step])
        length = self.lengths[int(rng.integers(len(self.lengths)))]
        return self.damaged(stretches(self.train, length, max(1, self.recipe.step_tokens // length), rng), rng)

    def damaged(self, ids: Ints, rng: np.random.Generator) -> Batch:
        """(rows, length) stretches with their ends made special and 15 % of the others chosen to be guessed."""
        ids[:, 0], ids[:, -1] = self.words.begin, self.words.end
        damaged, chosen = masked.damage(ids, self.words.special, self.words.mask, rng)
        return {
            "ids": torch.from_numpy(damaged),
            "chosen": torch.from_numpy(chosen),
            "labels": torch.from_numpy(ids[chosen]),
        }

    def loss(self, batch: Batch) -> Tensor:
        return functional.cross_entropy(self.model(batch["ids"], batch["chosen"]).float(), batch["labels"])

    def measure(self) -> dict[str, float]:
        """Loss (nats) and top-1 (percent) on held-out books in stretches of 1,024 tokens, the same damage each time."""
        hits = Hits()
        for seed in range(10):
            rng = np.random.default_rng([0, 3, seed])
            length = min(1024, max(self.lengths))
            batch = self.here(self.damaged(stretches(self.test, length, 2, rng), rng))
            hits.add(self.model(batch["ids"], batch["chosen"]).float(), batch["labels"])
        return {name: value for name, value in hits.shares().items() if name != "top-5"}

    def export(self, folder: Path) -> None:
        models.ship_tensors(self.model.difference(), folder / models.DIFFERENCE)
        config = copy.deepcopy(self.model.full.config)
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.1
        config.save_pretrained(folder)
        self.full_tokenizer.model_max_length = int(self.recipe.model["positions"])
        self.full_tokenizer.save_pretrained(folder)


def stretches(books: Ragged, length: int, rows: int, rng: np.random.Generator) -> Ints:
    """(rows, length) tokens that follow one another in a book, every place in every book equally likely."""
    room = books.lengths - length + 1
    ends = np.cumsum(np.maximum(room, 0))
    places = rng.integers(ends[-1], size=rows)
    book = np.searchsorted(ends, places, side="right")
    starts = books.offsets[book] + places - (ends[book] - np.maximum(room, 0)[book])
    return np.stack([books.flat[start : start + length] for start in starts]).astype(np.int64)
