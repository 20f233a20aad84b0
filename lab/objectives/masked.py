r"""Masked language modeling (Devlin et al., 2019) on a sentence encoder.

The encoder's matrices have low-rank updates, or are trained freely where the recipe has no rank. A free run is a stage:
another recipe starts from it, truncates its updates to their rank, and continues with the factors. The free model can
be the teacher of the truncated one (Hinton et al., 2015): the loss is then the cross-entropy to the teacher's
distribution, combined with the similarity of the published encoder (`Nearness`), in place of that to the label.

A backbone trained to compare sentences predicts their words at every mask. Unlikelihood (Welleck et al., 2019) reduces
that: with C the rare words that are in the sentence, every masked position adds

    − echo · Σ_{c ∈ C, p(c) > floor} log(1 − p(c))

Below the floor there is no penalty, since related words should be similar.
"""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional

from core.lazy import transformers
from lab import batches, masking, models, optimizers, tokens
from lab.lowrank import MaskedModel
from lab.objective import Batch, Hits, Objective
from lab.tokenizers import Vocabulary
from lab.tokens import Ints

MEASURED = 0.004
"""Threshold of the evaluation masks, the same for all recipes, so that they can be compared."""


class Nearness:
    """Cosine similarities of texts and tokens by a sentence encoder.

    The encoder was trained on the cosine of two texts' mean states, so it represents which tokens fit a sentence
    without training on masked tokens.

    Args:
        encoder: a BertModel, frozen; each token is encoded once, as a text of its own.
        count: vocabulary size.
        begin, end: the special tokens around a text.
    """

    def __init__(self, encoder: Any, count: int, begin: int, end: int) -> None:
        self.encoder = encoder.eval().requires_grad_(False)
        parts = []
        for words in torch.split(torch.arange(count), 512):
            ids = torch.stack([torch.full_like(words, begin), words, torch.full_like(words, end)], dim=1)
            parts.append(self._vectors(ids, torch.ones_like(ids)))
        self.words = torch.cat(parts)  # (vocabulary, d)

    def _vectors(self, ids: Tensor, attended: Tensor) -> Tensor:
        """Normalized mean states (rows, d) of texts (rows, length), over the positions with ``attended`` 1."""
        with torch.no_grad(), optimizers.mixed(ids.device.type):
            states = self.encoder(input_ids=ids, attention_mask=attended).last_hidden_state
        return functional.normalize((states.float() * attended[..., None]).sum(1), dim=-1)

    def cosines(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Cosines (rows, vocabulary) of texts (rows, length) without their masked positions."""
        self.encoder.to(ids.device)
        self.words = self.words.to(ids.device)
        return self._vectors(ids, (~mask).long()) @ self.words.T


def combined_distribution(scores: Tensor, cosines: Tensor, beta: float, unwanted: Tensor) -> Tensor:
    r"""A language model's distribution p(w), combined with the similarity of tokens to the text s:

    .. math::

        q(w) \propto p(w)\, \exp(\beta \cos(s, w)) \quad \text{for } w \notin C, \qquad q(c) = 0 \text{ for } c \in C,

    with s the text without its masked words, and C its rare words, which are the most similar to it.

    Args:
        scores: (n, vocabulary) logits of the language model.
        cosines: (n, vocabulary) from `Nearness`.
        beta: weight of a cosine, in nats.
        unwanted: (n, m) tokens C, padded with -1.
    """
    scores = scores + beta * cosines
    rows = torch.arange(len(scores), device=scores.device)[:, None].expand_as(unwanted)
    some = unwanted >= 0
    scores[rows[some], unwanted[some]] = -torch.inf
    return scores.softmax(-1)


def unlikelihood(logs: Tensor, unwanted: Tensor, floor: float = 0.0) -> Tensor:
    """Mean over positions of −Σ log(1 − p(c)), in nats.

    Args:
        logs: (n, vocabulary) log-probabilities.
        unwanted: (n, m) tokens that should not be predicted, padded with -1.
        floor: probability up to which there is no penalty.
    """
    probabilities = logs.gather(1, unwanted.clamp(min=0)).exp().clamp(max=1 - 1e-4)
    counted = (unwanted >= 0) & (probabilities > floor)
    return -(torch.log1p(-probabilities) * counted).sum() / len(logs)


class MaskedObjective(Objective):
    """Short texts of equal length per batch, masked by `lab.masking`."""

    def prepare_data(self) -> None:
        data = self.recipe.data
        self.folder = models.backbone_folder(str(self.recipe.model["package"]))
        self.tokenizer = models.backbone_tokenizer(self.folder)
        self.pieces = Vocabulary(self.tokenizer)
        self.train, self.origin, self.test = tokens.lines(self.recipe, self.tokenizer, self.corpus, self.cache)
        self.keys = self.cost = self.train.lengths
        self.counts = np.bincount(self.train.flat, minlength=len(self.pieces.special))
        self.weight = masking.band_weights(self.counts, *data["band"])
        middling = (self.weight == 1.0) & ~self.pieces.continues & ~self.pieces.special
        self.usable = np.flatnonzero(self.train.count(middling) >= int(data["content"]))
        self.measured = masking.weights(self.counts, MEASURED)
        self.rare = masking.rarer(self.counts, float(data["rare"]))

    def new_model(self) -> Any:
        settings = self.recipe.model
        backbone = models.backbone_state(self.folder)
        start = models.start_state(str(settings["start"]), backbone, self.stages) if "start" in settings else None
        rows = None
        if "embedding_rows" in settings:  # the most frequent words
            often = np.argsort(-self.counts, kind="stable")[: int(settings["embedding_rows"])]
            rows = torch.from_numpy(np.sort(often))

        def model(rank: int, cut: dict[str, Tensor] | None = None) -> MaskedModel:
            config = transformers.BertConfig.from_pretrained(self.folder)
            updated = rows if rank else None  # the free model and the teacher keep all rows
            return MaskedModel(config, backbone, rank, int(settings["embedding_rank"]), start, cut, updated)

        cut = self._cut(model(0), backbone) if "cut" in settings else None
        masked_model = model(int(settings["rank"]), cut)
        self.echo, self.floor = float(settings.get("echo", 0.0)), float(settings.get("echo_floor", 0.0))
        self.beta = float(settings.get("nearness", 0.0))
        self.teacher = None
        if settings.get("teacher"):
            self.teacher, self.nearness = model(0).eval().requires_grad_(False), self.new_nearness()
        return masked_model

    def new_nearness(self) -> Nearness:
        encoder = transformers.BertModel.from_pretrained(self.folder, use_safetensors=True)
        return Nearness(encoder, len(self.pieces.special), self.pieces.begin, self.pieces.end)

    def _cut(self, free: MaskedModel, backbone: dict[str, Tensor]) -> dict[str, Tensor]:
        """The updates of ``free``, truncated where the recipe's loss increases least; cached beside the data."""
        rank, count = int(self.recipe.model["rank"]), int(self.recipe.model["cut"])
        digest = hashlib.blake2b(repr((rank, count)).encode(), digest_size=6)
        for value in free.whole().values():
            digest.update(value.numpy().tobytes())
        path = self.cache / f"cut-{digest.hexdigest()}.safetensors"
        if path.is_file():  # a resumed run needs the same ranks
            return load_file(path)
        epochs = batches.Epochs(self.recipe.seed, self.epoch)

        def loss(step: int) -> Tensor:
            batch = self.masked(epochs[step], step)
            with optimizers.mixed("cpu"):
                scores = free(batch["ids"], batch["mask"]).float()
            sampled = torch.multinomial(scores.detach().softmax(-1), 1)[:, 0]
            return functional.cross_entropy(scores, sampled, reduction="sum")

        cut = free.cut(backbone, rank, (partial(loss, step) for step in range(count)))
        save_file(cut, path)
        return cut

    def items(self, rng: np.random.Generator) -> Ints:
        passes = [source.passes for source in self.recipe.sources]
        return self.usable[batches.mix(self.origin[self.usable], passes, rng)]

    def batch(self, step: int) -> Batch:
        return self.masked(self.epochs[step], step)

    def masked(self, index: Ints, step: int) -> Batch:
        ids = self.train.rows(index, int(self.keys[index[0]]), 0)
        rng = np.random.default_rng([self.recipe.seed, 1, step])
        return masking.mask_words(self.pieces, ids, self.weight, float(self.recipe.data["mask_rate"]), rng, self.rare)

    def loss(self, batch: Batch) -> Tensor:
        scores = self.model(batch["ids"], batch["mask"]).float()
        logs = scores.log_softmax(-1)
        rows = batch["mask"].nonzero()[:, 0]
        if self.teacher is None:
            loss = functional.nll_loss(logs, batch["labels"])
        else:
            with torch.no_grad():
                teacher = self.teacher.to(scores.device)(batch["ids"], batch["mask"]).float()
                cosines = self.nearness.cosines(batch["ids"], batch["mask"])[rows]
                target = combined_distribution(teacher, cosines, self.beta, batch["context"][rows])
            loss = -(target * logs).sum(-1).mean()
        if self.echo:
            loss = loss + self.echo * unlikelihood(logs, batch["context"][rows], self.floor)
        return loss

    def measure(self) -> dict[str, float]:
        """Loss (nats), top-1 and top-5 in percent on masked words of held-out sentences, always with the same masks."""
        rng = np.random.default_rng(self.recipe.seed)
        lengths, hits = self.test.lengths, Hits()
        for length in np.unique(lengths):
            ids = self.test.rows(np.flatnonzero(lengths == length)[:60], int(length), 0)
            batch = self.to_device(masking.mask_words(self.pieces, ids, self.measured, 0.0, rng))
            hits.add(self.model(batch["ids"], batch["mask"]).float(), batch["labels"])
        return hits.shares()

    def export(self, folder: Path) -> None:
        if not self.recipe.model["rank"]:
            folder.mkdir(parents=True, exist_ok=True)
            save_file(self.model.whole(), folder / models.WHOLE, metadata={"format": "pt"})
            return
        models.ship_tensors(self.model.difference(), folder / models.DIFFERENCE)
        self.ship_config(self.model.config, folder)

    def ship_config(self, config: Any, folder: Path) -> None:
        config.architectures = ["BertForMaskedLM"]
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.1
        models.ship_backbone(config, self.folder, folder)
