"""Masked language modelling (Devlin et al., 2019) on the trunk of a sentence encoder.

The encoder's matrices learn through low-rank updates, or freely where the recipe gives no rank. A free run is a stage:
another recipe starts from it, cuts its updates down to their rank by SVD, and goes on with the factors. The free model
can teach the smaller one what the cut took away (Hinton et al., 2015): with a teacher's share α the loss is

    (1 − α) · CE(label, student) + α · CE(teacher's distribution, student)
"""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.errors import AtlasError
from core.training import batches, corpus, masking
from core.training.batches import Epochs, Ints, Ragged
from core.training.lowrank import LowRankEmbedding, add_updates, factors
from core.training.recipe import Recipe

WHOLE = "model.safetensors"
"""File of a stage's weights."""


def trunk_folder(package: str) -> Path:
    """Folder of the base weights inside an installed package."""
    return Path(str(files(package))) / "model"


def trunk_state(folder: Path) -> dict[str, Tensor]:
    """The base weights under the names of BertForMaskedLM, without the pooler."""
    from safetensors.torch import load_file

    state = load_file(folder / "model.safetensors")
    return {f"bert.{k}": v for k, v in state.items() if not k.startswith("pooler.") and "position_ids" not in k}


def start_state(name: str, trunk: dict[str, Tensor], stages: Path) -> dict[str, Tensor]:
    """Weights of the stage ``name`` among the training states, else of the bundled difference of that name."""
    from safetensors.torch import load_file

    from core.checkpoints.difference import apply
    from core.checkpoints.registry import bundled_root

    stage = stages / name / "out" / WHOLE
    if stage.is_file():
        return load_file(stage)
    bundled = bundled_root() / name / "difference.safetensors"
    if not bundled.is_file():
        raise AtlasError(f"Training starts from {name}, which has not been trained here: train that recipe first.")
    return apply(trunk, load_file(bundled))


def trunk_tokenizer(folder: Path) -> Any:
    """The trunk's WordPiece tokeniser, without cutting or padding."""
    from tokenizers import Tokenizer

    tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


class WordPieces:
    """What masking has to know of a BERT vocabulary: which pieces continue a word, which are never masked."""

    def __init__(self, tokenizer: Any) -> None:
        vocab: dict[str, int] = tokenizer.get_vocab()
        self.begin, self.end, self.mask = vocab["[CLS]"], vocab["[SEP]"], vocab["[MASK]"]
        self.continues = np.zeros(len(vocab), dtype=bool)
        self.special = np.zeros(len(vocab), dtype=bool)
        for piece, index in vocab.items():
            self.continues[index] = piece.startswith("##")
            self.special[index] = piece in ("[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]")

    def hide(
        self, ids: Ints, weight: masking.Floats, rate: float, rng: np.random.Generator, *, together: bool = False
    ) -> dict[str, Tensor]:
        """Rows (rows, length) with words masked (`core.training.masking.choose`), where, and what stood there."""
        mask = masking.choose(ids, weight, self.continues, self.special, rate, rng, together=together)
        return {
            "ids": torch.from_numpy(np.where(mask, self.mask, ids)),
            "mask": torch.from_numpy(mask),
            "labels": torch.from_numpy(ids[mask]),
        }


class MaskedModel(nn.Module):
    """BERT's encoder and masked-token head; only masked positions meet the vocabulary.

    Args:
        config: the architecture; dropout is off in training.
        state: weights to start from, named as in BertForMaskedLM; a head that is missing starts as the identity.
        rank: rank of the updates of the encoder's matrices; 0 trains the matrices themselves.
        embedding_rank: rank of the update of the word vectors, which also score the words.
        start: weights, named alike, that training starts from instead; updates start as what they add to ``state``,
            cut down to their ranks.
    """

    def __init__(
        self,
        config: Any,
        state: dict[str, Tensor],
        rank: int,
        embedding_rank: int,
        start: dict[str, Tensor] | None = None,
    ) -> None:
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
        if rank:
            add_updates(self.bert.encoder, rank)
        tables = self.bert.embeddings
        self.words = LowRankEmbedding(tables.word_embeddings, embedding_rank)
        tables.word_embeddings = self.words
        tables.position_embeddings.weight.requires_grad_(False)
        tables.token_type_embeddings.weight.requires_grad_(False)
        self.config = config
        if start is not None:
            self._start(state, start)

    @torch.no_grad()
    def _start(self, state: dict[str, Tensor], start: dict[str, Tensor]) -> None:
        """Sets what is trained so that the model equals ``start`` as nearly as the ranks allow."""
        own = dict(self.named_parameters())
        for name, value in start.items():
            here = name.removeprefix("cls.predictions.")
            stem, _, last = here.rpartition(".")
            if here == "bert.embeddings.word_embeddings.weight":
                update, low = value.float() - state[name], f"{stem}."
            elif f"{stem}.parametrizations.weight.0.lora_A" in own and last == "weight":
                update, low = value.float() - state[name], f"{stem}.parametrizations.weight.0."
            else:
                if here in own and own[here].requires_grad:
                    own[here].copy_(value)
                continue
            rank = len(own[f"{low}lora_A"])
            right, left = factors(update, rank)
            own[f"{low}lora_B"].copy_(right)
            own[f"{low}lora_A"].copy_(left)

    def whole(self) -> dict[str, Tensor]:
        """All weights, updates added, under the names of BertForMaskedLM."""
        out: dict[str, Tensor] = {"bert.embeddings.word_embeddings.weight": self.words.whole()}
        for name, child in self.named_modules():
            stem = f"cls.predictions.{name}" if name.startswith("transform") else name
            if isinstance(child, (nn.Linear, nn.LayerNorm)):
                out[f"{stem}.weight"], out[f"{stem}.bias"] = child.weight, child.bias
            elif isinstance(child, nn.Embedding):
                out[f"{stem}.weight"] = child.weight
        out["cls.predictions.bias"] = self.bias
        return {name: value.detach().clone() for name, value in out.items()}

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
        self.recipe = recipe
        self.folder = trunk_folder(str(recipe.model["package"]))
        self.tokenizer = trunk_tokenizer(self.folder)
        self.pieces = WordPieces(self.tokenizer)
        self.train, self.source_of, self.test = self._data(corpus_folder, cache)
        counts = np.bincount(self.train.flat, minlength=len(self.pieces.special))
        self.weight = masking.weights(counts, float(recipe.data["threshold"]))
        torch.manual_seed(recipe.seed)
        from transformers import BertConfig

        trunk = trunk_state(self.folder)
        name = str(recipe.model.get("start", ""))
        start = start_state(name, trunk, cache.parents[1]) if name else None

        def model(rank: int) -> MaskedModel:
            config = BertConfig.from_pretrained(self.folder)
            return MaskedModel(config, trunk, rank, int(recipe.model["embedding_rank"]), start)

        self.model: MaskedModel = model(int(recipe.model["rank"]))
        self.share = float(recipe.model.get("teacher", 0.0))
        self.teacher = model(0).eval().requires_grad_(False) if self.share else None
        self._epochs = Epochs(recipe.seed, self._epoch)

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

    def _epoch(self, rng: np.random.Generator) -> list[Ints]:
        items = batches.mix(self.source_of, [source.passes for source in self.recipe.sources], rng)
        length = self.train.lengths[items]
        return batches.plan(items, length, length, self.recipe.step_tokens, rng)

    def batch(self, step: int) -> dict[str, Tensor]:
        index = self._epochs[step]
        ids = self.train.rows(index, int(self.train.lengths[index[0]]), 0)
        rng = np.random.default_rng([self.recipe.seed, 1, step])
        return self._hide(ids, rng, float(self.recipe.data["mask_rate"]))

    def _hide(self, ids: Ints, rng: np.random.Generator, rate: float) -> dict[str, Tensor]:
        together = bool(self.recipe.data.get("together", False))
        return self.pieces.hide(ids, self.weight, rate, rng, together=together)

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        scores = self.model(batch["ids"], batch["mask"]).float()
        loss = functional.cross_entropy(scores, batch["labels"])
        if self.teacher is None:
            return loss
        with torch.no_grad():
            known = self.teacher.to(scores.device)(batch["ids"], batch["mask"]).float().softmax(-1)
        return (1 - self.share) * loss + self.share * functional.cross_entropy(scores, known)

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
        if not self.recipe.model["rank"]:
            save_file(self.model.whole(), folder / WHOLE, metadata={"format": "pt"})
            return
        save_file(self.model.difference(), folder / "difference.safetensors", metadata={"format": "pt"})
        config = self.model.config
        config.architectures = ["BertForMaskedLM"]
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.1
        config.save_pretrained(folder)
        AutoTokenizer.from_pretrained(self.folder).save_pretrained(folder)
