r"""Masked language modeling on long texts, for encoders with sparse attention: BigBird and Longformer.

BigBird (Zaheer et al., 2020) is initialized from a short-text encoder, whose architecture differs in attention alone.
Its position embeddings are tiled, as Longformer's were (Beltagy et al., 2020): position p starts as row p mod P of the
base's P rows. Full attention could not distinguish p and p + P, so waves longer than P are added, with learned
directions:

    position(p) = row[p mod P] + Σ_k  cos(2π p / λ_k) a_k + sin(2π p / λ_k) b_k,      λ_k from P to 16 P

Attention has BigBird's pattern in some steps, with new random blocks each time, and is full in the others, so that the
model works with both.

Longformer (Beltagy et al., 2020, section 5) is initialized from a RoBERTa, whose layers differ in attention alone. Its
P position embeddings are tiled, which preserves those of neighbors, with the same waves added, and then trained row by
row; the projections of global attention start as those
of the window. In a share of the steps its window is as wide as the text: with the window's projections, all attend to
all. The loss is

.. math:: L = -\frac{1}{|M|} \sum_{i \in M} \log p(x_i \mid \tilde x)

with BERT's corruption of 15% of the tokens (`core.objectives.masked`). The layers' matrices have low-rank updates (Hu
et al., 2021), positions and global projections are trained freely, token embeddings are frozen; the difference is
shipped.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from core.checkpoints.bundled import apply, as_longformer
from core.lazy import transformers
from core.patterns.layout import NONE, Sparsity
from core.run.odd.blocks import spread
from core.sparse.longformer import states
from lab import batches, corpus, masking, models
from lab.lowrank import MaskedModel, add_updates, shipped_update
from lab.objective import Batch, Hits, Objective
from lab.objectives.causal import book_lines, stream
from lab.tokenizers import Vocabulary
from lab.tokens import Ints, Ragged, encoded, stored

POSITIONS = "bert.embeddings.position_embeddings.weight"
COARSE = "bert.embeddings.position_embeddings.coarse"
SHAPE = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "hidden_act",
    "max_position_embeddings",
    "type_vocab_size",
    "layer_norm_eps",
)
"""Fields of a configuration that a long-text model shares with its base."""
WAVES = 8


def waves(positions: Tensor, period: int) -> Tensor:
    """Cosines and sines (..., 2 WAVES) of positions (...,); wavelengths in equal ratios from 1 to 16 ``period``."""
    lengths = period * 16 ** torch.linspace(0, 1, WAVES, device=positions.device)
    angle = 2 * torch.pi * positions[..., None] / lengths
    return torch.cat([angle.cos(), angle.sin()], dim=-1)


class TiledPositions(nn.Module):
    """P tiled position embeddings plus long waves that distinguish the tiles.

    Args:
        weight: (P, d) rows that are tiled, or rows of all positions.
        period: P where there are rows of all positions, tiled at first.
    """

    def __init__(self, weight: Tensor, period: int | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight.detach().clone())
        self.coarse = nn.Parameter(torch.zeros(2 * WAVES, weight.shape[1]))
        self.period = period or len(weight)

    def forward(self, ids: Tensor) -> Tensor:
        """Embeddings (..., d) of positions (...,)."""
        return functional.embedding(ids % len(self.weight), self.weight) + waves(ids, self.period) @ self.coarse


class LongObjective(Objective):
    """Windows of documents, of a length sampled for each step."""

    def prepare_data(self) -> None:
        recipe = self.recipe
        self.folder = models.backbone_folder(str(recipe.model["package"]))
        self.tokenizer = models.backbone_tokenizer(self.folder)
        self.pieces = Vocabulary(self.tokenizer)

        def texts(held_out: bool) -> Iterator[str]:
            for source in recipe.sources:
                for item in corpus.items_of(self.corpus, source, every=int(recipe.data["hold_out_every"])):
                    if item.held_out == held_out:
                        yield item.text

        def side(name: str) -> Ints:
            return stream(encoded(self.tokenizer, texts(name == "test"), special=False), 0, name, recipe.sources)

        key = (recipe.sources, recipe.data)
        data = stored(self.cache, key, lambda: {name: side(name) for name in ("train", "test")})
        self.train, self.test = data["train"], data["test"]
        counts = np.bincount(self.train, minlength=len(self.pieces.special))
        self.weight = masking.weights(counts, float(recipe.data["threshold"]))
        self.lengths = [int(length) for length in recipe.data["lengths"]]
        self.block = int(recipe.model["block"])

    def new_model(self) -> MaskedModel:
        settings = self.recipe.model
        base = models.finished(str(self.recipe.card["base"]), self.stages, models.DIFFERENCE)
        state = apply(models.backbone_state(self.folder), load_file(base / models.DIFFERENCE))
        table = state.pop(POSITIONS)
        config = transformers.BertConfig.from_pretrained(
            self.folder, max_position_embeddings=int(settings["positions"])
        )
        model = MaskedModel(config, state, int(settings["rank"]), int(settings["embedding_rank"]))
        model.words.lora_A.requires_grad_(False)
        model.words.lora_B.requires_grad_(False)
        model.bert.config._attn_implementation = "sdpa"  # on long rows the fused kernel is faster
        model.bert.embeddings.position_embeddings = TiledPositions(table)
        return model

    def pattern(self, length: int, seed: int) -> Tensor:
        """BigBird's attention mask (B, B) between blocks, True where one attends to another."""
        sparsity = Sparsity(self.block, random_blocks=int(self.recipe.model["random_blocks"]), seed=seed)
        return torch.from_numpy(sparsity.kinds(length) != NONE)

    def batch(self, step: int) -> Batch:
        rng = np.random.default_rng([self.recipe.seed, step])
        length = self.lengths[int(rng.integers(len(self.lengths)))]
        rows = max(1, self.recipe.step_tokens // length)
        sparse = rng.random() < float(self.recipe.data["sparse_share"])
        batch = self._windows(self.train, length, rows, rng)
        if sparse:
            batch["blocks"] = self.pattern(length, int(rng.integers(2**31 - 1)))
        return batch

    def _windows(self, tokens: Ints, length: int, rows: int, rng: np.random.Generator) -> Batch:
        starts = rng.integers(0, len(tokens) - length, size=rows)
        ids = np.stack([tokens[s : s + length] for s in starts]).astype(np.int64)
        ids[:, 0], ids[:, -1] = self.pieces.begin, self.pieces.end
        return masking.mask_words(self.pieces, ids, self.weight, float(self.recipe.data["mask_rate"]), rng)

    def loss(self, batch: Batch) -> Tensor:
        return functional.cross_entropy(self.scores(batch).float(), batch["labels"])

    def scores(self, batch: Batch) -> Tensor:
        """Logits (masked, vocabulary), with sparse attention where the batch has ``blocks``."""
        blocks = batch.get("blocks")
        length = batch["ids"].shape[1]
        allowed = None if blocks is None else spread(blocks, self.block)[:length, :length]
        scores: Tensor = self.model(batch["ids"], batch["mask"], allowed)
        return scores

    def measure(self) -> dict[str, float]:
        """Top-1 in percent on masked words of held-out windows of the longest length, sparse and full; fixed masks."""
        right: dict[str, list[Tensor]] = {"sparse top-1": [], "full top-1": []}
        length = max(self.lengths)
        for seed in range(4):
            full = self._windows(self.test, length, 1, np.random.default_rng([self.recipe.seed, 1, seed]))
            sparse = full | {"blocks": self.pattern(length, seed)}
            for right_tokens, batch in zip(right.values(), map(self.to_device, (sparse, full)), strict=True):
                right_tokens.append(self.scores(batch).argmax(-1) == batch["labels"])
        return {name: 100 * float(torch.cat(right_tokens).float().mean()) for name, right_tokens in right.items()}

    def export(self, folder: Path) -> None:
        """Write the difference to the short-text model: positions are tiles plus waves, a product."""
        out = self.model.difference()
        table, positions = out.pop(POSITIONS), int(self.recipe.model["positions"])
        out[f"{POSITIONS}.tiles.{positions // len(table)}"] = table
        out[f"{POSITIONS}.lora_A"] = out.pop(COARSE)
        out[f"{POSITIONS}.lora_B"] = waves(torch.arange(positions), len(table))
        models.ship_tensors(out, folder / models.DIFFERENCE)
        short = self.model.config
        config = transformers.BigBirdConfig(
            **{name: getattr(short, name) for name in SHAPE},
            attention_type="block_sparse",
            block_size=self.block,
            num_random_blocks=int(self.recipe.model["random_blocks"]),
            use_bias=True,
            rescale_embeddings=False,
            pad_token_id=0,
            bos_token_id=self.pieces.begin,
            eos_token_id=self.pieces.end,
            sep_token_id=self.pieces.end,
            architectures=["BigBirdForMaskedLM"],
        )
        models.ship_backbone(config, self.folder, folder, short.max_position_embeddings)


GLOBAL = (0,)
"""Positions of the global tokens in training: the first token."""
LONGFORMER_POSITIONS = "longformer.embeddings.position_embeddings.weight"
LONGFORMER_COARSE = "longformer.embeddings.position_embeddings.coarse"


def long_config(short: Any, positions: int, window: int) -> Any:
    """A LongformerConfig in the shape of a RobertaConfig; ``window`` counts both sides."""
    shape = {name: getattr(short, name) for name in SHAPE if name != "max_position_embeddings"}
    return transformers.LongformerConfig(
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


def positions_of(short: Any) -> int:
    """P, the positions of a RobertaForMaskedLM."""
    return int(short.config.max_position_embeddings) - int(short.config.pad_token_id) - 1


def tiled(table: Tensor, padding: int, positions: int) -> Tensor:
    """(padding + positions, d): the padding's rows, then the other rows of a (padding + P, d) table, repeated."""
    rows = table[padding:]
    return torch.cat([table[:padding], rows[torch.arange(positions) % len(rows)]])


def longformer_from(short: Any, positions: int, window: int) -> Any:
    """A LongformerForMaskedLM initialized from a RobertaForMaskedLM."""
    model = transformers.LongformerForMaskedLM(long_config(short.config, positions, window))
    state = as_longformer(short.state_dict())
    state[LONGFORMER_POSITIONS] = tiled(state[LONGFORMER_POSITIONS], short.config.pad_token_id + 1, positions)
    for name in list(state):
        if any(part in name for part in ("self.query.", "self.key.", "self.value.")):
            state[name.replace(".weight", "_global.weight").replace(".bias", "_global.bias")] = state[name]
    model.load_state_dict(state)
    model.tie_weights()
    return model


class LongModel(nn.Module):
    """A Longformer with low-rank updates in its layers and waves in its positions; token embeddings are frozen."""

    def __init__(self, full: Any, rank: int, period: int) -> None:
        super().__init__()
        self.full = full
        for layer in full.longformer.encoder.layer:
            attention = layer.attention.self
            add_updates(nn.ModuleList([attention.query, attention.key, attention.value]), rank)
            add_updates(nn.ModuleList([layer.attention.output, layer.intermediate, layer.output]), rank)
        tables = full.longformer.embeddings
        for table in (tables.word_embeddings, tables.token_type_embeddings):
            table.weight.requires_grad_(False)
        tables.position_embeddings = TiledPositions(tables.position_embeddings.weight, period)

    def forward(self, ids: Tensor, chosen: Tensor, full: bool = False) -> Tensor:
        """Logits (chosen, vocabulary) from ids and chosen positions (rows, length); ``full`` as in `states`."""
        scores: Tensor = self.full.lm_head(states(self.full, ids, GLOBAL, full=full)[chosen])
        return scores

    def difference(self) -> dict[str, Tensor]:
        """The trained parameters under the names of LongformerForMaskedLM (`core.checkpoints.bundled`)."""
        out = {shipped_update(name): value for name, value in self.full.named_parameters() if value.requires_grad}
        del out[LONGFORMER_POSITIONS], out[LONGFORMER_COARSE]
        positions = self.full.longformer.embeddings.position_embeddings
        with torch.no_grad():
            every = torch.arange(len(positions.weight), device=positions.weight.device)
            out[f"{LONGFORMER_POSITIONS}.rows.0"] = positions(every)
        return out


class WindowObjective(Objective):
    """Spans of books, of a length sampled for each step."""

    def prepare_data(self) -> None:
        recipe = self.recipe
        self.base = models.finished(str(recipe.card["base"]), self.stages)
        self.full_tokenizer: Any = transformers.PreTrainedTokenizerFast.from_pretrained(
            self.base, local_files_only=True
        )
        self.tokenizer = self.full_tokenizer.backend_tokenizer
        self.words = Vocabulary(self.tokenizer)
        self.lengths = [int(length) for length in recipe.data["lengths"]]

        def books(held_out: bool) -> Iterator[list[int]]:
            for _, book in groupby(book_lines(recipe, self.corpus, held_out=held_out), key=lambda line: line[0]):
                rows = encoded(self.tokenizer, (text for _, text in book), special=False)
                yield [token for ids in rows for token in ids]

        def make() -> dict[str, Any]:
            data = {"train": Ragged.of(books(False)), "test": Ragged.of(books(True))}
            for side, what in (("train", "training"), ("test", "measuring")):
                corpus.require(int((data[side].lengths >= max(self.lengths)).sum()), what, recipe.sources)
            return data

        data = stored(self.cache, (recipe.sources, recipe.data), make)
        self.train, self.test = data["train"], data["test"]

    def new_model(self) -> LongModel:
        short = transformers.RobertaForMaskedLM.from_pretrained(self.base, dtype=torch.float32, local_files_only=True)
        torch.manual_seed(self.recipe.seed)
        settings = self.recipe.model
        model = longformer_from(short, int(settings["positions"]), int(settings["window"]))
        return LongModel(model, int(settings["rank"]), positions_of(short))

    def batch(self, step: int) -> Batch:
        rng = np.random.default_rng([self.recipe.seed, step])
        length = self.lengths[int(rng.integers(len(self.lengths)))]
        full = rng.random() >= float(self.recipe.data["sparse_share"])
        batch = self.masked(sample_spans(self.train, length, max(1, self.recipe.step_tokens // length), rng), rng)
        return batch | {"full": torch.tensor(full)}

    def masked(self, ids: Ints, rng: np.random.Generator) -> Batch:
        """Spans (rows, length) with special tokens at both ends and 15% of the other tokens chosen."""
        ids[:, 0], ids[:, -1] = self.words.begin, self.words.end
        corrupted, chosen = masking.corrupt_ids(ids, self.words.special, self.words.mask, rng)
        return batches.tensors(ids=corrupted, chosen=chosen, labels=ids[chosen])

    def loss(self, batch: Batch) -> Tensor:
        scores = self.model(batch["ids"], batch["chosen"], bool(batch["full"]))
        return functional.cross_entropy(scores.float(), batch["labels"])

    def measure(self) -> dict[str, float]:
        """Loss (nats) and top-1 (percent) on held-out spans of 1,024 tokens, fixed masks; full, too."""
        hits, full = Hits(), Hits()
        for seed in range(10):
            rng = np.random.default_rng([0, 3, seed])
            length = min(1024, max(self.lengths))
            batch = self.to_device(self.masked(sample_spans(self.test, length, 2, rng), rng))
            for pattern_hits, wide in ((hits, False), (full, True)):
                pattern_hits.add(self.model(batch["ids"], batch["chosen"], wide).float(), batch["labels"])
        return {name: hits.shares()[name] for name in ("loss", "top-1")} | {"full top-1": full.top()["top-1"]}

    def export(self, folder: Path) -> None:
        models.ship_tensors(self.model.difference(), folder / models.DIFFERENCE)
        config = copy.deepcopy(self.model.full.config)
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.1
        config.save_pretrained(folder)
        self.full_tokenizer.model_max_length = int(self.recipe.model["positions"])
        self.full_tokenizer.save_pretrained(folder)


def sample_spans(books: Ragged, length: int, rows: int, rng: np.random.Generator) -> Ints:
    """Spans (rows, length) of books, uniform over all positions of all books."""
    room = books.lengths - length + 1
    ends = np.cumsum(np.maximum(room, 0))
    sampled = rng.integers(ends[-1], size=rows)
    book = np.searchsorted(ends, sampled, side="right")
    starts = books.offsets[book] + sampled - (ends[book] - np.maximum(room, 0)[book])
    return np.stack([books.flat[start : start + length] for start in starts]).astype(np.int64)
