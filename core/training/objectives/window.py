r"""Longformer from a short-text encoder (Beltagy et al., 2020, section 5): masked tokens of long stretches of books.

All weights begin as those of a RoBERTa whose layers differ in attention alone. Its table of P positions is copied until
it is long enough, so that neighbours keep the places that they knew; the projections of the global token begin as the
window's. Then

.. math:: L = -\frac{1}{|M|} \sum_{i \in M} \log p(x_i \mid \tilde x)

with BERT's damage of 15 % of the tokens (`core.training.masking.bert`). The layers' matrices learn as low-rank updates
(Hu et al., 2021), positions and global projections freely; word vectors stay, and what is shipped is the difference.
"""

from __future__ import annotations

import hashlib
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.checkpoints.difference import long_names
from core.efficiency.longformer import states
from core.training import corpus, documents, masking
from core.training.batches import Ints, Ragged, RaggedWriter
from core.training.examples import Vocabulary
from core.training.finished import finished
from core.training.lowrank import add_updates
from core.training.recipe import Recipe

GLOBAL = (0,)
"""Positions of the global tokens in training: the first token, as for a text without a question."""
POSITIONS = "longformer.embeddings.position_embeddings.weight"


def long_config(short: Any, positions: int, window: int) -> Any:
    """A LongformerConfig of the shape of a RobertaConfig, for so many positions; ``window`` counts both sides."""
    from transformers import LongformerConfig

    return LongformerConfig(
        vocab_size=short.vocab_size,
        hidden_size=short.hidden_size,
        num_hidden_layers=short.num_hidden_layers,
        num_attention_heads=short.num_attention_heads,
        intermediate_size=short.intermediate_size,
        hidden_act=short.hidden_act,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        max_position_embeddings=short.pad_token_id + 1 + positions,
        type_vocab_size=short.type_vocab_size,
        layer_norm_eps=short.layer_norm_eps,
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
        """What learnt, under the names of LongformerForMaskedLM, in float16 (`core.checkpoints.difference`)."""
        out: dict[str, Tensor] = {}
        for name, value in self.full.named_parameters():
            if value.requires_grad:
                name = name.replace(".parametrizations.weight.0.lora_", ".weight.lora_")
                out[name] = value.detach().to(torch.float16).contiguous().cpu()
        out[f"{POSITIONS}.rows.0"] = out.pop(POSITIONS)
        return out


class WindowObjective:
    """Stretches of books, of a length drawn for each step."""

    def __init__(self, recipe: Recipe, corpus_folder: Path, cache: Path) -> None:
        from transformers import PreTrainedTokenizerFast, RobertaForMaskedLM

        self.recipe = recipe
        folder = finished(str(recipe.card["base"]), cache.parents[1])
        short = RobertaForMaskedLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True)
        self.tokenizer: Any = PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
        self.words = Vocabulary(self.tokenizer.backend_tokenizer)
        self.lengths = [int(length) for length in recipe.data["lengths"]]
        self.train, self.test = (self._data(corpus_folder, cache, held_out=side) for side in (False, True))
        for side, what in ((self.train, "training"), (self.test, "measuring")):
            corpus.require(int((side.lengths >= max(self.lengths)).sum()), what, recipe.sources)
        torch.manual_seed(recipe.seed)
        self.model = LongModel(
            grown(short, int(recipe.model["positions"]), int(recipe.model["window"])), int(recipe.model["rank"])
        )

    def _data(self, folder: Path, cache: Path, *, held_out: bool) -> Ragged:
        """One side's books, a row each."""
        sources, every = self.recipe.sources, int(self.recipe.data["hold_out_every"])
        key = hashlib.blake2b(repr((sources, every)).encode(), digest_size=6).hexdigest()
        stem = cache / key / ("test" if held_out else "train")
        try:
            return Ragged.load(stem)
        except FileNotFoundError:
            pass
        backend = self.tokenizer.backend_tokenizer
        with RaggedWriter(stem) as out:
            for source in sources:
                items = corpus.read(folder, source, every=every)
                kept = (item for item in items if item.held_out == held_out)
                for _, book in groupby(kept, key=lambda item: item.document):
                    size = 0
                    for part in documents.batched((item.text for item in book), documents.AT_ONCE):
                        made = backend.encode_batch_fast(part, add_special_tokens=False)
                        out.add(ids := [token for encoding in made for token in encoding.ids], [])
                        size += len(ids)
                    out.add([], [size])
        return Ragged.load(stem)

    def batch(self, step: int) -> dict[str, Tensor]:
        rng = np.random.default_rng([self.recipe.seed, step])
        length = self.lengths[int(rng.integers(len(self.lengths)))]
        return self.damaged(stretches(self.train, length, max(1, self.recipe.step_tokens // length), rng), rng)

    def damaged(self, ids: Ints, rng: np.random.Generator) -> dict[str, Tensor]:
        """(rows, length) stretches with their ends made special and 15 % of the others chosen to be guessed."""
        ids[:, 0], ids[:, -1] = self.words.begin, self.words.end
        damaged, chosen = masking.bert(ids, self.words.special, self.words.mask, rng)
        return {
            "ids": torch.from_numpy(damaged),
            "chosen": torch.from_numpy(chosen),
            "labels": torch.from_numpy(ids[chosen]),
        }

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        return functional.cross_entropy(self.model(batch["ids"], batch["chosen"]).float(), batch["labels"])

    def size(self, batch: dict[str, Tensor]) -> int:
        return batch["ids"].numel()

    def measure(self) -> dict[str, float]:
        """Loss (nats) and top-1 (percent) on held-out books in stretches of 1,024 tokens, the same damage each time."""
        nats = right = total = 0.0
        device = self.model.full.device
        for seed in range(10):
            rng = np.random.default_rng([0, 3, seed])
            length = min(1024, max(self.lengths))
            batch = self.damaged(stretches(self.test, length, 2, rng), rng)
            scores = self.model(batch["ids"].to(device), batch["chosen"].to(device)).float().cpu()
            nats += float(functional.cross_entropy(scores, batch["labels"], reduction="sum"))
            right += int((scores.argmax(-1) == batch["labels"]).sum())
            total += len(scores)
        return {"loss": nats / total, "top-1": 100 * right / total}

    def export(self, folder: Path) -> None:
        from safetensors.torch import save_file

        folder.mkdir(parents=True, exist_ok=True)
        save_file(self.model.difference(), folder / "difference.safetensors", metadata={"format": "pt"})
        config = self.model.full.config
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.1
        config.save_pretrained(folder)
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
        self.tokenizer.model_max_length = int(self.recipe.model["positions"])
        self.tokenizer.save_pretrained(folder)


def stretches(books: Ragged, length: int, rows: int, rng: np.random.Generator) -> Ints:
    """(rows, length) tokens that follow one another in a book, every place in every book equally likely."""
    room = books.lengths - length + 1
    ends = np.cumsum(np.maximum(room, 0))
    places = rng.integers(ends[-1], size=rows)
    book = np.searchsorted(ends, places, side="right")
    starts = books.offsets[book] + places - (ends[book] - np.maximum(room, 0)[book])
    return np.stack([books.flat[start : start + length] for start in starts]).astype(np.int64)
