"""Masked words in long documents, for an encoder with sparse attention (BigBird: Zaheer et al., 2020).

Warm start: all weights of a short-text encoder whose architecture differs in attention alone. Its positions are tiled,
as Longformer's were (Beltagy et al., 2020): position p begins as row p mod P of the base's P rows. Left so,
p and p + P would be one place to full attention: waves longer than P are added, with directions that are learned:

    position(p) = row[p mod P] + Σ_k  cos(2π p / λ_k) a_k + sin(2π p / λ_k) b_k,      λ_k from P to 16 P
Attention is restricted to BigBird's pattern in most steps, its random blocks drawn anew each time, and full in the
others, so that the model serves both.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.training import corpus, masking
from core.training.arrays import ArrayWriter, tally
from core.training.batches import Ints
from core.training.documents import AT_ONCE, batched
from core.training.masked_model import MaskedModel
from core.training.objectives.pieces import WordPieces
from core.training.objectives.trunk import trunk_folder, trunk_state, trunk_tokenizer
from core.training.recipe import Recipe

POSITIONS = "bert.embeddings.position_embeddings.weight"
COARSE = "bert.embeddings.position_embeddings.coarse"
BASE = Path(__file__).resolve().parents[3] / "assets" / "checkpoints"


WAVES = 8


def waves(positions: Tensor, period: int) -> Tensor:
    """(...,) positions to (..., 2 WAVES) cosines and sines; wavelengths in equal ratios from ``period`` to 16 of it."""
    lengths = period * 16 ** torch.linspace(0, 1, WAVES, device=positions.device)
    angle = 2 * torch.pi * positions[..., None] / lengths
    return torch.cat([angle.cos(), angle.sin()], dim=-1)


class TiledPositions(nn.Module):
    """A table of P positions for any number, with long waves that tell the tiles apart."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight.detach().clone())
        self.coarse = nn.Parameter(0.01 * torch.randn(2 * WAVES, weight.shape[1]))

    def forward(self, ids: Tensor) -> Tensor:
        """(...,) positions to (..., d) vectors."""
        period = len(self.weight)
        return functional.embedding(ids % period, self.weight) + waves(ids, period) @ self.coarse


def allowed_pairs(length: int, block: int, random_blocks: int, seed: int) -> torch.Tensor:
    """(length, length) True where BigBird's pattern lets a position see another."""
    from core.efficiency.layout import Sparsity

    kinds = Sparsity(block_size=block, random_blocks=random_blocks, seed=seed).kinds(length)
    seen = torch.from_numpy(kinds > 0).repeat_interleave(block, 0).repeat_interleave(block, 1)
    return seen[:length, :length]


class LongObjective:
    """Windows of documents, of a length drawn for each step."""

    def __init__(self, recipe: Recipe, corpus_folder: Path, cache: Path) -> None:
        from safetensors.torch import load_file
        from transformers import BertConfig

        from core.checkpoints.difference import apply

        self.recipe = recipe
        self.folder = trunk_folder(str(recipe.model["package"]))
        self.tokenizer = trunk_tokenizer(self.folder)
        self.pieces = WordPieces(self.tokenizer)
        self.train, self.test = self._data(corpus_folder, cache)
        self.weight = masking.weights(
            tally(self.train, len(self.pieces.special)),
            float(recipe.data["threshold"]),
        )
        self.lengths = [int(length) for length in recipe.data["lengths"]]
        state = apply(trunk_state(self.folder), load_file(BASE / str(recipe.card["base"]) / "difference.safetensors"))
        config = BertConfig.from_pretrained(self.folder)
        table = state.pop(POSITIONS)
        config.max_position_embeddings = int(recipe.model["positions"])
        torch.manual_seed(recipe.seed)
        self.model: MaskedModel = MaskedModel(
            config, state, int(recipe.model["rank"]), int(recipe.model["embedding_rank"])
        )
        self.model.words.lora_A.requires_grad_(False)
        self.model.words.lora_B.requires_grad_(False)
        self.model.bert.config._attn_implementation = "sdpa"  # on long rows the fused kernel is faster
        self.model.bert.embeddings.position_embeddings = TiledPositions(table)

    def _data(self, folder: Path, cache: Path) -> tuple[Ints, Ints]:
        key = hashlib.blake2b(repr((self.recipe.sources, self.recipe.data)).encode(), digest_size=6).hexdigest()
        stem = cache / key
        if not (stem / "test.npy").is_file():
            every, sources = int(self.recipe.data["hold_out_every"]), self.recipe.sources
            items = (item for source in sources for item in corpus.read(folder, source, every=every))
            # the test side is named last, when the other one is complete
            with ArrayWriter(stem / "test.npy", np.uint16) as test, ArrayWriter(stem / "train.npy", np.uint16) as train:
                for part in batched(items, AT_ONCE):
                    encoded = self.tokenizer.encode_batch_fast([item.text for item in part], add_special_tokens=False)
                    for side, out in ((test, True), (train, False)):
                        chosen = (e.ids for item, e in zip(part, encoded, strict=True) if item.held_out == out)
                        side.add([token for ids in chosen for token in ids])
                corpus.require(train.count, "training", sources)
                corpus.require(test.count, "measuring", sources)
        return np.load(stem / "train.npy", mmap_mode="r"), np.load(stem / "test.npy", mmap_mode="r")

    def batch(self, step: int) -> dict[str, Tensor]:
        rng = np.random.default_rng([self.recipe.seed, step])
        length = self.lengths[int(rng.integers(len(self.lengths)))]
        rows = max(1, self.recipe.step_tokens // length)
        sparse = rng.random() < float(self.recipe.data["sparse_share"])
        batch = self._windows(self.train, length, rows, rng)
        if sparse:
            model = self.recipe.model
            seed = int(rng.integers(2**31 - 1))
            batch["allowed"] = allowed_pairs(length, int(model["block"]), int(model["random_blocks"]), seed)
        return batch

    def _windows(self, stream: Ints, length: int, rows: int, rng: np.random.Generator) -> dict[str, Tensor]:
        starts = rng.integers(0, len(stream) - length, size=rows)
        ids = np.stack([stream[s : s + length] for s in starts]).astype(np.int64)
        ids[:, 0], ids[:, -1] = self.pieces.begin, self.pieces.end
        return self.pieces.hide(ids, self.weight, float(self.recipe.data["mask_rate"]), rng)

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        scores = self.model(batch["ids"], batch["mask"], batch.get("allowed"))
        return functional.cross_entropy(scores.float(), batch["labels"])

    def size(self, batch: dict[str, Tensor]) -> int:
        return batch["ids"].numel()

    def measure(self) -> dict[str, float]:
        """Top-1 in percent on masked words of four held-out windows of 1,024 tokens, sparse and full, masks fixed."""
        found: dict[str, float] = {}
        device = self.model.bias.device
        batch = self._windows(self.test, 1024, 4, np.random.default_rng(self.recipe.seed))
        model = self.recipe.model
        pattern = allowed_pairs(1024, int(model["block"]), int(model["random_blocks"]), 0)
        for name, allowed in (("sparse", pattern), ("full", None)):
            right = 0
            for row in range(len(batch["ids"])):
                given = {k: batch[k][row : row + 1].to(device) for k in ("ids", "mask")}
                scores = self.model(given["ids"], given["mask"], None if allowed is None else allowed.to(device))
                labels = batch["ids"].new_tensor([]) if not given["mask"].any() else self._labels(batch, row)
                right += int((scores.argmax(-1).cpu() == labels).sum())
            found[f"{name} top-1"] = 100 * right / len(batch["labels"])
        return found

    @staticmethod
    def _labels(batch: dict[str, Tensor], row: int) -> Tensor:
        counts = batch["mask"].sum(1)
        start = int(counts[:row].sum())
        return batch["labels"][start : start + int(counts[row])]

    def export(self, folder: Path) -> None:
        """Writes the difference to the short-text model, with the position rows that it lacks."""
        from safetensors.torch import save_file
        from transformers import AutoTokenizer, BigBirdConfig

        folder.mkdir(parents=True, exist_ok=True)
        out = self.model.difference()
        del out[POSITIONS], out[COARSE]
        every = torch.arange(int(self.recipe.model["positions"]), device=self.model.bias.device)
        with torch.no_grad():
            table = self.model.bert.embeddings.position_embeddings(every)
        out[f"{POSITIONS}.rows.0"] = table.to(torch.float16).contiguous().cpu()
        save_file(out, folder / "difference.safetensors", metadata={"format": "pt"})
        short = self.model.config
        config = BigBirdConfig(
            vocab_size=short.vocab_size,
            hidden_size=short.hidden_size,
            num_hidden_layers=short.num_hidden_layers,
            num_attention_heads=short.num_attention_heads,
            intermediate_size=short.intermediate_size,
            hidden_act=short.hidden_act,
            max_position_embeddings=short.max_position_embeddings,
            type_vocab_size=short.type_vocab_size,
            layer_norm_eps=short.layer_norm_eps,
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
        config.save_pretrained(folder)
        tokenizer = AutoTokenizer.from_pretrained(self.folder)
        tokenizer.model_max_length = short.max_position_embeddings
        tokenizer.save_pretrained(folder)
