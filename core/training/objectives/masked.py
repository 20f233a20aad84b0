"""Masked language modelling (Devlin et al., 2019) on the trunk of a sentence encoder.

The encoder's matrices learn through low-rank updates, or freely where the recipe gives no rank. A free run is a stage:
another recipe starts from it, cuts its updates down to their rank, and goes on with the factors. The free model can
teach the smaller one what the cut took away (Hinton et al., 2015): with a teacher's share α the loss is

    (1 − α) · CE(label, student) + α · CE(teacher's distribution, student)

and with a nearness β the teacher also knows what the trunk itself was published for (`core.training.nearness`).

A trunk made to compare sentences puts their words forward wherever one is missing. Unlikelihood (Welleck et al., 2019)
takes that from it: with C the rare words that stand in the sentence, every masked position adds

    − echo · Σ_{c ∈ C, p(c) > floor} log(1 − p(c))

Below the floor a word of the sentence costs nothing: words that belong together are meant to lie near each other.
"""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from core.training import batches, lines, masking, optimizers
from core.training.arrays import tally
from core.training.batches import Epochs, Ints
from core.training.masked_model import MaskedModel
from core.training.nearness import Nearness, together
from core.training.objectives.pieces import WordPieces
from core.training.objectives.trunk import (
    DIFFERENCE,
    WHOLE,
    ship_with_tokenizer,
    start_state,
    trunk_folder,
    trunk_state,
    trunk_tokenizer,
)
from core.training.recipe import Recipe

MEASURED = 0.004
"""Threshold of the masks that are measured, whatever the recipe trains on, so that recipes can be compared."""


def unlikelihood(logs: Tensor, unwanted: Tensor, floor: float = 0.0) -> Tensor:
    """Mean over positions of −Σ log(1 − p(c)), in nats.

    Args:
        logs: (n, vocabulary) log-probabilities.
        unwanted: (n, m) tokens that should not be guessed; -1 stands for none.
        floor: probability up to which one costs nothing.
    """
    found = logs.gather(1, unwanted.clamp(min=0)).exp().clamp(max=1 - 1e-4)
    some = (unwanted >= 0) & (found > floor)
    return -(torch.log1p(-found) * some).sum() / len(logs)


class MaskedObjective:
    """Short texts of equal length a batch; see `core.training.masking` for what is hidden."""

    def __init__(self, recipe: Recipe, corpus_folder: Path, cache: Path) -> None:
        self.recipe = recipe
        self.folder = trunk_folder(str(recipe.model["package"]))
        self.tokenizer = trunk_tokenizer(self.folder)
        self.pieces = WordPieces(self.tokenizer)
        self.train, self.source_of, self.test = lines.prepare(recipe, self.tokenizer, corpus_folder, cache)
        counts = tally(self.train.flat, len(self.pieces.special))
        self.items: Ints = np.arange(len(self.train))
        if "band" in recipe.data:
            self.weight = masking.band_weights(counts, *recipe.data["band"])
            middling = (self.weight == 1.0) & ~self.pieces.continues & ~self.pieces.special
            self.items = np.flatnonzero(self.train.count(middling) >= int(recipe.data["content"]))
        else:
            self.weight = masking.weights(counts, float(recipe.data["threshold"]))
        self.measured = masking.weights(counts, MEASURED)
        self.rare = masking.rarer(counts, float(recipe.data["rare"])) if "rare" in recipe.data else None
        torch.manual_seed(recipe.seed)
        from transformers import BertConfig

        trunk = trunk_state(self.folder)
        name = str(recipe.model.get("start", ""))
        self.stages = cache.parents[1]
        start = start_state(name, trunk, self.stages) if name else None

        rows = None
        if "embedding_rows" in recipe.model:  # the most frequent words
            often = np.argsort(-counts, kind="stable")[: int(recipe.model["embedding_rows"])]
            rows = torch.from_numpy(np.sort(often))

        def model(rank: int, cut: dict[str, Tensor] | None = None) -> MaskedModel:
            config = BertConfig.from_pretrained(self.folder)
            reached = rows if rank else None  # a free model and a teacher keep all that they have learnt
            return MaskedModel(config, trunk, rank, int(recipe.model["embedding_rank"]), start, cut, reached)

        self._epochs = Epochs(recipe.seed, self._epoch)
        cut = self._cut(model(0), trunk, cache) if "cut" in recipe.model else None
        self.model: MaskedModel = model(int(recipe.model["rank"]), cut)
        self.share = float(recipe.model.get("teacher", 0.0))
        self.echo = float(recipe.model.get("echo", 0.0))
        self.floor = float(recipe.model.get("echo_floor", 0.0))
        self.teacher = model(0).eval().requires_grad_(False) if self.share else None
        self.beta = float(recipe.model.get("nearness", 0.0))
        self.nearness = self._nearness() if self.teacher is not None and self.beta else None

    def _nearness(self) -> Nearness:
        from transformers import BertModel

        encoder = BertModel.from_pretrained(self.folder, use_safetensors=True)
        return Nearness(encoder, len(self.pieces.special), self.pieces.begin, self.pieces.end)

    def _cut(self, free: MaskedModel, trunk: dict[str, Tensor], cache: Path) -> dict[str, Tensor]:
        """The updates of ``free`` cut where the recipe's loss needs them least; kept beside the data."""
        from safetensors.torch import load_file, save_file

        rank, count = int(self.recipe.model["rank"]), int(self.recipe.model["cut"])
        digest = hashlib.blake2b(repr((rank, count)).encode(), digest_size=6)
        for value in free.whole().values():
            digest.update(value.numpy().tobytes())
        path = cache / f"cut-{digest.hexdigest()}.safetensors"
        if path.is_file():  # a run that goes on needs the ranks that it began with
            return load_file(path)

        def loss(step: int) -> Tensor:
            batch = self.batch(step)
            with optimizers.mixed("cpu"):
                scores = free(batch["ids"], batch["mask"]).float()
            drawn = torch.multinomial(scores.detach().softmax(-1), 1)[:, 0]
            return functional.cross_entropy(scores, drawn, reduction="sum")

        cut = free.cut(trunk, rank, (partial(loss, step) for step in range(count)))
        save_file(cut, path)
        return cut

    def _epoch(self, rng: np.random.Generator) -> list[Ints]:
        passes = [source.passes for source in self.recipe.sources]
        items = self.items[batches.mix(self.source_of[self.items], passes, rng)]
        length = self.train.lengths[items]
        return batches.plan(items, length, length, self.recipe.step_tokens, rng)

    def batch(self, step: int) -> dict[str, Tensor]:
        index = self._epochs[step]
        ids = self.train.rows(index, self.train.length(int(index[0])), 0)
        rng = np.random.default_rng([self.recipe.seed, 1, step])
        return self.pieces.hide(ids, self.weight, float(self.recipe.data["mask_rate"]), rng, self.rare)

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        scores = self.model(batch["ids"], batch["mask"]).float()
        logs = scores.log_softmax(-1)
        loss = functional.nll_loss(logs, batch["labels"])
        places = batch["mask"].nonzero()[:, 0]
        if self.teacher is not None:
            with torch.no_grad():
                guess = self.teacher.to(scores.device)(batch["ids"], batch["mask"]).float()
                if self.nearness is not None:
                    near = self.nearness.cosines(batch["ids"], batch["mask"])[places]
                    known = together(guess, near, self.beta, batch["context"][places])
                else:
                    known = guess.softmax(-1)
            loss = (1 - self.share) * loss - self.share * (known * logs).sum(-1).mean()
        if self.echo:
            loss = loss + self.echo * unlikelihood(logs, batch["context"][places], self.floor)
        return loss

    def size(self, batch: dict[str, Tensor]) -> int:
        return batch["ids"].numel()

    def measure(self) -> dict[str, float]:
        """Loss (nats), top-1 and top-5 in percent on masked words of held-out sentences, the same masks each time."""
        rng = np.random.default_rng(self.recipe.seed)
        lengths = self.test.lengths
        total = hits = near = 0
        nats = 0.0
        device = next(self.model.parameters()).device
        for length in np.unique(lengths):
            ids = self.test.rows(np.flatnonzero(lengths == length)[:60], int(length), 0)
            batch = {k: v.to(device) for k, v in self.pieces.hide(ids, self.measured, 0.0, rng).items()}
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

        folder.mkdir(parents=True, exist_ok=True)
        if not self.recipe.model["rank"]:
            save_file(self.model.whole(), folder / WHOLE, metadata={"format": "pt"})
            return
        save_file(self.model.difference(), folder / DIFFERENCE, metadata={"format": "pt"})
        ship_with_tokenizer(self.model.config, self.folder, folder)
