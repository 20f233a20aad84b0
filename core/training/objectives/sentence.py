r"""A head that hears the whole sentence, trained on top of a finished masked language model that stays as it is.

With :math:`z` the finished model's scores at a mask, :math:`s` the published encoder's vector of the sentence without
its masks, and :math:`\cos(s, w)` the nearness of word :math:`w` to it, the head (`core.checkpoints.sentence_head`)
learns to turn z into

.. math::

    q(w) \propto \exp(z_w + \beta \cos(s, w)) \quad \text{for } w \notin C, \qquad q(c) = 0 \text{ for } c \in C,

as `core.training.nearness` has it, mixed with what really stood there: :math:`\alpha` of the loss is the cross-entropy
to q, the rest that to the word. It starts from :math:`A = \beta M`: with :math:`W` the unit vectors of words as texts,
centred, and :math:`E` the words' own vectors, M is the linear map that brings :math:`E M` nearest to W.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.checkpoints.sentence_head import SentenceHead
from core.training.arrays import tally
from core.training.masked_model import MaskedModel
from core.training.nearness import Nearness, together
from core.training.objectives.masked import MaskedObjective
from core.training.objectives.trunk import DIFFERENCE, difference_file, ship_with_tokenizer
from core.training.recipe import Recipe

FREQUENT = 10_000
"""How many words the first linear map is fitted to: rare ones have hardly been learnt."""
RIDGE = 0.5
"""Keeps the map small where the words' vectors hardly vary."""


def linear_map(words: Tensor, texts: Tensor) -> Tensor:
    """M (d, d) with ``words`` (n, d) times M nearest to the centred ``texts`` (n, d), by ridge regression."""
    gram = words.T @ words + RIDGE * torch.eye(words.shape[1])
    solved: Tensor = torch.linalg.solve(gram, words.T @ (texts - texts.mean(0)))
    return solved


class SentenceModel(nn.Module):
    """A finished masked language model and the head that learns.

    Args:
        place: gives the scores of what fits the place of a mask; not trained.
        head: adds what the sentence as a whole says.
    """

    words: Tensor

    def __init__(self, place: MaskedModel, head: SentenceHead) -> None:
        super().__init__()
        self.place = place.requires_grad_(False)
        self.head = head
        self.register_buffer("words", place.words.whole().detach(), persistent=False)

    def parts(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(rows, length) ids and masked positions to the scores of the place, those of the sentence, both
        (masked, vocabulary), and the sentences' vectors (rows, d)."""
        attend = torch.ones_like(ids)
        with torch.no_grad():
            place = self.place(ids, mask)
        vectors = self.head.vectors(ids, attend)
        added = self.head.scores(vectors, ids, attend, self.words)
        return place, added[mask.nonzero()[:, 0]], vectors

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """(rows, length) ids and masked positions to (masked, vocabulary) scores."""
        place, sentence, _ = self.parts(ids, mask)
        return place + sentence


class SentenceObjective(MaskedObjective):
    """The masked words of short texts, guessed from the place and from the sentence."""

    def __init__(self, recipe: Recipe, corpus_folder: Path, cache: Path) -> None:
        super().__init__(recipe, corpus_folder, cache)
        self.alpha = float(recipe.model["teach"])
        self.near: Nearness = self._nearness()
        place: MaskedModel = self.model
        head = SentenceHead(self.near.encoder, self.pieces.mask)
        counts = tally(self.train.flat, len(self.pieces.special))
        often = torch.from_numpy(np.argsort(-counts, kind="stable")[:FREQUENT].copy())
        start = self.beta * linear_map(place.words.whole().detach()[often], self.near.words[often])
        head.about.weight = nn.Parameter(start)
        self.model = SentenceModel(place, head)  # type: ignore[assignment]

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        model: SentenceModel = self.model  # type: ignore[assignment]
        place, sentence, vectors = model.parts(batch["ids"], batch["mask"])
        rows = batch["mask"].nonzero()[:, 0]
        with torch.no_grad():
            near = (vectors @ self.near.words.to(vectors.device).T)[rows]
            known = together(place.float(), near, self.beta, batch["context"][rows])
        logs = (place + sentence).float().log_softmax(-1)
        taught = -(known * logs).sum(-1).mean()
        return (1 - self.alpha) * functional.nll_loss(logs, batch["labels"]) + self.alpha * taught

    def export(self, folder: Path) -> None:
        from safetensors.torch import load_file, save_file

        folder.mkdir(parents=True, exist_ok=True)
        model: SentenceModel = self.model  # type: ignore[assignment]
        learnt = {
            f"sentence.{name}": value.detach().to(torch.float16).contiguous().cpu()
            for name, value in model.head.named_parameters()
            if value.requires_grad
        }
        finished = load_file(difference_file(str(self.recipe.model["start"]), self.stages))
        save_file(finished | learnt, folder / DIFFERENCE, metadata={"format": "pt"})
        config = model.place.config
        config.sentence_head, config.mask_token_id = True, self.pieces.mask
        ship_with_tokenizer(config, self.folder, folder)
