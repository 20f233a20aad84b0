r"""Masked language modeling on long texts, for encoders with sparse attention: BigBird and Longformer.

BigBird (Zaheer et al., 2020) is initialized from a short-text encoder, whose architecture differs in attention alone.
Its position embeddings are tiled, as Longformer's were (Beltagy et al., 2020): position p starts as row p mod P of the
base's P rows. Full attention could not distinguish p and p + P, so waves longer than P are added, with learned
directions:

    position(p) = row[p mod P] + Σ_k  cos(2π p / λ_k) a_k + sin(2π p / λ_k) b_k,      λ_k from P to 16 P

Attention has BigBird's pattern in most steps, with new random blocks each time, and is full in the others, so that the
model works with both.

Longformer (Beltagy et al., 2020, section 5) is initialized from a RoBERTa, whose layers differ in attention alone. Its
P position embeddings are tiled, which preserves those of neighbors; the projections of global attention start as those
of the window. The loss is

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
from core.objectives import masked
from core.sparse.layout import Sparsity
from core.sparse.longformer import states
from core.training import batches, corpus, masking, models
from core.training.lowrank import MaskedModel, add_updates, shipped_update
from core.training.objective import Batch, Hits, Objective
from core.training.objectives.causal import book_lines, stream
from core.training.tokenizers import Vocabulary
from core.training.tokens import Ints, Ragged, encoded, stored

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
    """P tiled position embeddings plus long waves that distinguish the tiles."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight.detach().clone())
        self.coarse = nn.Parameter(0.01 * torch.randn(2 * WAVES, weight.shape[1]))

    def forward(self, ids: Tensor) -> Tensor:
        """Embeddings (..., d) of positions (...,)."""
        period = len(self.weight)
        return functional.embedding(ids % period, self.weight) + waves(ids, period) @ self.coarse


def allowed_pairs(length: int, block: int, random_blocks: int, seed: int) -> torch.Tensor:
    """BigBird's attention mask (length, length), True where a query attends to a key."""
    kinds = Sparsity(block_size=block, random_blocks=random_blocks, seed=seed).kinds(length)
    allowed = torch.from_numpy(kinds > 0).repeat_interleave(block, 0).repeat_interleave(block, 1)
    return allowed[:length, :length]


class LongObjective(Objective):
    """Windows of documents, of a length sampled for each step."""

    def read(self) -> None:
        recipe = self.recipe
        self.folder = models.backbone_folder(str(recipe.model["package"]))
        self.tokenizer = models.backbone_tokenizer(self.folder)
        self.pieces = Vocabulary(self.tokenizer)

        def texts(held_out: bool) -> Iterator[str]:
            for source in recipe.sources:
                for item in corpus.read(self.corpus, source, every=int(recipe.data["hold_out_every"])):
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
        """The recipe's pattern of sparse attention."""
        settings = self.recipe.model
        return allowed_pairs(length, int(settings["block"]), int(settings["random_blocks"]), seed)

    def batch(self, step: int) -> Batch:
        rng = np.random.default_rng([self.recipe.seed, step])
        length = self.lengths[int(rng.integers(len(self.lengths)))]
        rows = max(1, self.recipe.step_tokens // length)
        sparse = rng.random() < float(self.recipe.data["sparse_share"])
        batch = self._windows(self.train, length, rows, rng)
        if sparse:
            batch["allowed"] = self.pattern(length, int(rng.integers(2**31 - 1)))
        return batch

    def _windows(self, tokens: Ints, length: int, rows: int, rng: np.random.Generator) -> Batch:
        starts = rng.integers(0, len(tokens) - length, size=rows)
        ids = np.stack([tokens[s : s + length] for s in starts]).astype(np.int64)
        ids[:, 0], ids[:, -1] = self.pieces.begin, self.pieces.end
        return masking.mask_words(self.pieces, ids, self.weight, float(self.recipe.data["mask_rate"]), rng)

    def loss(self, batch: Batch) -> Tensor:
        scores = self.model(batch["ids"], batch["mask"], batch.get("allowed"))
        return functional.cross_entropy(scores.float(), batch["labels"])

    def measure(self) -> dict[str, float]:
        """Top-1 in percent on masked words of four held-out windows of 1,024 tokens, sparse and full; fixed masks."""
        batch = self.to_device(self._windows(self.test, 1024, 4, np.random.default_rng(self.recipe.seed)))
        measures: dict[str, float] = {}
        for name, allowed in (("sparse", self.pattern(1024, 0).to(self.device)), ("full", None)):
            each = [self.model(batch["ids"][[row]], batch["mask"][[row]], allowed).argmax(-1) for row in range(4)]
            measures[f"{name} top-1"] = 100 * float((torch.cat(each) == batch["labels"]).float().mean())
        return measures

    def export(self, folder: Path) -> None:
        """Write the difference to the short-text model, with the new rows of the position table."""
        out = self.model.difference()
        del out[POSITIONS], out[COARSE]
        every = torch.arange(int(self.recipe.model["positions"]), device=self.device)
        with torch.no_grad():
            out[f"{POSITIONS}.rows.0"] = self.model.bert.embeddings.position_embeddings(every)
        models.ship_tensors(out, folder / models.DIFFERENCE)
        short = self.model.config
        config = transformers.BigBirdConfig(
            **{name: getattr(short, name) for name in SHAPE},
            attention_type="block_sparse",
            block_size=int(self.recipe.model["block"]),
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


def tiled(table: Tensor, padding: int, positions: int) -> Tensor:
    """(padding + positions, d): the padding's rows, then the other rows of a (padding + P, d) table, repeated."""
    own = table[padding:]
    return torch.cat([table[:padding], own[torch.arange(positions) % len(own)]])


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
    """A Longformer with low-rank updates in its layers; token embeddings are frozen."""

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
        """Logits (chosen, vocabulary) from ids and chosen positions (rows, length)."""
        scores: Tensor = self.full.lm_head(states(self.full, ids, GLOBAL)[chosen])
        return scores

    def difference(self) -> dict[str, Tensor]:
        """The trained parameters under the names of LongformerForMaskedLM (`core.checkpoints.bundled`)."""
        out = {shipped_update(name): value for name, value in self.full.named_parameters() if value.requires_grad}
        out[f"{LONGFORMER_POSITIONS}.rows.0"] = out.pop(LONGFORMER_POSITIONS)
        return out


class WindowObjective(Objective):
    """Spans of books, of a length sampled for each step."""

    def read(self) -> None:
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
        return LongModel(model, int(settings["rank"]))

    def batch(self, step: int) -> Batch:
        rng = np.random.default_rng([self.recipe.seed, step])
        length = self.lengths[int(rng.integers(len(self.lengths)))]
        return self.masked(sample_spans(self.train, length, max(1, self.recipe.step_tokens // length), rng), rng)

    def masked(self, ids: Ints, rng: np.random.Generator) -> Batch:
        """Spans (rows, length) with special tokens at both ends and 15% of the other tokens chosen."""
        ids[:, 0], ids[:, -1] = self.words.begin, self.words.end
        corrupted, chosen = masked.corrupt_ids(ids, self.words.special, self.words.mask, rng)
        return batches.tensors(ids=corrupted, chosen=chosen, labels=ids[chosen])

    def loss(self, batch: Batch) -> Tensor:
        return functional.cross_entropy(self.model(batch["ids"], batch["chosen"]).float(), batch["labels"])

    def measure(self) -> dict[str, float]:
        """Loss (nats) and top-1 (percent) on held-out spans of 1,024 tokens, always with the same masks."""
        hits = Hits()
        for seed in range(10):
            rng = np.random.default_rng([0, 3, seed])
            length = min(1024, max(self.lengths))
            batch = self.to_device(self.masked(sample_spans(self.test, length, 2, rng), rng))
            hits.add(self.model(batch["ids"], batch["chosen"]).float(), batch["labels"])
        return {name: value for name, value in hits.shares().items() if name != "top-5"}

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
