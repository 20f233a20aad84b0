"""Masked language modelling (Devlin et al., 2019) on the trunk of a sentence encoder, with low-rank updates."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.training import batches, corpus, masking
from core.training.batches import Ints, Ragged
from core.training.lowrank import LowRankEmbedding, add_updates
from core.training.recipe import Recipe


def trunk_folder(package: str) -> Path:
    """Folder of the base weights inside an installed package."""
    return Path(str(files(package))) / "model"


def trunk_state(folder: Path) -> dict[str, Tensor]:
    """The base weights under the names of BertForMaskedLM, without the pooler."""
    from safetensors.torch import load_file

    state = load_file(folder / "model.safetensors")
    return {f"bert.{k}": v for k, v in state.items() if not k.startswith("pooler.") and "position_ids" not in k}


class MaskedModel(nn.Module):
    """BERT's encoder and masked-token head; only masked positions meet the vocabulary.

    Args:
        config: the architecture; dropout is off in training.
        state: weights to start from, named as in BertForMaskedLM; a head that is missing starts as the identity.
        rank: rank of the updates of the encoder's matrices.
        embedding_rank: rank of the update of the word vectors, which also score the words.
    """

    def __init__(self, config: Any, state: dict[str, Tensor], rank: int, embedding_rank: int) -> None:
        super().__init__()
        from transformers import BertForMaskedLM

        config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
        config._attn_implementation = "eager"  # on short rows faster than the fused kernel
        full = BertForMaskedLM(config)
        nn.init.eye_(full.cls.predictions.transform.dense.weight)
        nn.init.zeros_(full.cls.predictions.bias)
        full.load_state_dict(state, strict=False)
        self.bert: Any = full.bert
        self.transform: Any = full.cls.predictions.transform
        self.bias = nn.Parameter(full.cls.predictions.bias.detach().clone())
        add_updates(self.bert.encoder, rank)
        tables = self.bert.embeddings
        self.words = LowRankEmbedding(tables.word_embeddings, embedding_rank)
        tables.word_embeddings = self.words
        tables.position_embeddings.weight.requires_grad_(False)
        tables.token_type_embeddings.weight.requires_grad_(False)
        self.config = config

    def forward(self, ids: Tensor, mask: Tensor, allowed: Tensor | None = None) -> Tensor:
        """(rows, length) ids and masked positions to (masked, vocabulary) scores.

        ``allowed`` (length, length) restricts which position sees which.
        """
        bias = None
        if allowed is not None:
            bias = torch.zeros(allowed.shape, device=ids.device).masked_fill(~allowed, -1e4)[None, None]
        hidden = self.bert(input_ids=ids, attention_mask=bias).last_hidden_state
        scores: Tensor = self.words.logits(self.transform(hidden[mask])) + self.bias
        return scores

    def difference(self) -> dict[str, Tensor]:
        """Shipped tensors under the names of BertForMaskedLM, float16."""
        out: dict[str, Tensor] = {}
        for name, value in self.named_parameters():
            if not value.requires_grad:
                continue
            name = name.replace(".parametrizations.weight.0.lora_", ".weight.lora_")
            name = name.replace("word_embeddings.lora_", "word_embeddings.weight.lora_")
            if name.startswith("transform."):
                name = f"cls.predictions.{name}"
            elif name == "bias":
                name = "cls.predictions.bias"
            out[name] = value.detach().to(torch.float16).contiguous().cpu()
        return out


class MaskedObjective:
    """Short texts of equal length a batch; see `core.training.masking` for what is hidden."""

    def __init__(self, recipe: Recipe, corpus_folder: Path, cache: Path) -> None:
        from tokenizers import Tokenizer

        self.recipe = recipe
        self.folder = trunk_folder(str(recipe.model["package"]))
        self.tokenizer: Any = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        vocab: dict[str, int] = self.tokenizer.get_vocab()
        self.mask_id = vocab["[MASK]"]
        size = len(vocab)
        self.continues = np.zeros(size, dtype=bool)
        self.special = np.zeros(size, dtype=bool)
        for piece, index in vocab.items():
            self.continues[index] = piece.startswith("##")
            self.special[index] = piece in ("[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]")
        self.train, self.source_of, self.test = self._data(corpus_folder, cache)
        counts = np.bincount(self.train.flat, minlength=size)
        self.weight = masking.weights(counts, float(recipe.data["threshold"]))
        torch.manual_seed(recipe.seed)
        from transformers import BertConfig

        self.model: MaskedModel = MaskedModel(
            BertConfig.from_pretrained(self.folder),
            trunk_state(self.folder),
            int(recipe.model["rank"]),
            int(recipe.model["embedding_rank"]),
        )
        self._epoch = -1
        self._first = 0
        self._plan: list[Ints] = []

    def _data(self, folder: Path, cache: Path) -> tuple[Ragged, Ints, Ragged]:
        key = hashlib.blake2b(repr((self.recipe.sources, self.recipe.data)).encode(), digest_size=6).hexdigest()
        stem = cache / key
        try:
            return (
                Ragged.load(stem / "train"),
                np.load(stem / "source.npy"),
                Ragged.load(stem / "test"),
            )
        except FileNotFoundError:
            pass
        every = int(self.recipe.data["hold_out_every"])
        shortest, longest = int(self.recipe.data["shortest"]), int(self.recipe.data["longest"])
        train: list[list[int]] = []
        test: list[list[int]] = []
        sources: list[int] = []
        for number, source in enumerate(self.recipe.sources):
            items = list(corpus.read(folder, source, every=every))
            encoded = self.tokenizer.encode_batch_fast([item.text for item in items])
            for item, encoding in zip(items, encoded, strict=True):
                if not shortest <= len(encoding.ids) <= longest:
                    continue
                if item.held_out:
                    test.append(encoding.ids)
                else:
                    train.append(encoding.ids)
                    sources.append(number)
        np.random.default_rng(self.recipe.seed).shuffle(test)
        packed, held = Ragged.of(train), Ragged.of(test[:4000])
        origin = np.array(sources, dtype=np.int64)
        packed.save(stem / "train")
        held.save(stem / "test")
        np.save(stem / "source.npy", origin)
        return packed, origin, held

    def _batch_items(self, step: int) -> Ints:
        if step < self._first or not self._plan:
            self._epoch, self._first, self._plan = -1, 0, []
        while step >= self._first + len(self._plan):
            self._first += len(self._plan)
            self._epoch += 1
            rng = np.random.default_rng([self.recipe.seed, self._epoch])
            parts = []
            for number, source in enumerate(self.recipe.sources):
                members = np.flatnonzero(self.source_of == number)
                parts.append(members[batches.draw(len(members), source.passes, rng)])
            items = np.concatenate(parts)
            length = self.train.lengths[items]
            self._plan = batches.plan(items, length, length, self.recipe.step_tokens, rng)
        return self._plan[step - self._first]

    def batch(self, step: int) -> dict[str, Tensor]:
        index = self._batch_items(step)
        ids = self.train.rows(index, int(self.train.lengths[index[0]]), 0)
        rng = np.random.default_rng([self.recipe.seed, 1, step])
        return self._hide(ids, rng, float(self.recipe.data["mask_rate"]))

    def _hide(self, ids: Ints, rng: np.random.Generator, rate: float) -> dict[str, Tensor]:
        mask = masking.choose(ids, self.weight, self.continues, self.special, rate, rng)
        hidden = np.where(mask, self.mask_id, ids)
        return {
            "ids": torch.from_numpy(hidden),
            "mask": torch.from_numpy(mask),
            "labels": torch.from_numpy(ids[mask]),
        }

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        return functional.cross_entropy(self.model(batch["ids"], batch["mask"]).float(), batch["labels"])

    def size(self, batch: dict[str, Tensor]) -> int:
        return batch["ids"].numel()

    def measure(self) -> dict[str, float]:
        """Loss (nats), top-1 and top-5 in percent on masked words of held-out sentences, the same masks each time."""
        rng = np.random.default_rng(self.recipe.seed)
        lengths = self.test.lengths
        total = hits = near = 0
        nats = 0.0
        device = self.model.bias.device
        for length in np.unique(lengths):
            ids = self.test.rows(np.flatnonzero(lengths == length)[:60], int(length), 0)
            batch = {k: v.to(device) for k, v in self._hide(ids, rng, 0.0).items()}
            scores = self.model(batch["ids"], batch["mask"]).float()
            labels = batch["labels"]
            nats += float(functional.cross_entropy(scores, labels, reduction="sum"))
            best = scores.topk(5).indices
            hits += int((best[:, 0] == labels).sum())
            near += int((best == labels[:, None]).any(dim=1).sum())
            total += len(labels)
        return {"loss": nats / total, "top-1": 100 * hits / total, "top-5": 100 * near / total}

    def export(self, folder: Path) -> None:
        from safetensors.torch import save_file
        from transformers import AutoTokenizer

        folder.mkdir(parents=True, exist_ok=True)
        save_file(self.model.difference(), folder / "difference.safetensors", metadata={"format": "pt"})
        config = self.model.config
        config.architectures = ["BertForMaskedLM"]
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.1
        config.save_pretrained(folder)
        AutoTokenizer.from_pretrained(self.folder).save_pretrained(folder)
