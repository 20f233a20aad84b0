r"""Masked language modeling (Devlin et al., 2019) on a sentence encoder, and the head that reads a sentence vector.

The encoder's matrices learn through low-rank updates, or freely where the recipe gives no rank. A free run is a stage:
another recipe starts from it, cuts its updates down to their rank, and goes on with the factors. The free model can
teach the smaller one what the cut took away (Hinton et al., 2015): with a teacher's share α the loss is

    (1 − α) · CE(label, student) + α · CE(teacher's distribution, student)

and with a nearness β the teacher also knows what the backbone itself was published for (`Nearness`).

A backbone trained to compare sentences predicts their words at every mask. Unlikelihood (Welleck et al., 2019) reduces
that: with C the rare words that are in the sentence, every masked position adds

    − echo · Σ_{c ∈ C, p(c) > floor} log(1 − p(c))

Below the floor a word of the sentence costs nothing: words that belong together are meant to lie near each other.

The sentence head (`core.checkpoints.sentence_head`) is trained on top of a finished model that stays as it is: it
learns to turn the model's scores z at a mask into the q of `together`, mixed with what really stood there: α of the
loss is the cross-entropy to q, the rest that to the word. It starts from :math:`A = \beta M`: with W the unit vectors
of words as texts, centered, and E the words' own vectors, M is the linear map that brings :math:`E M` nearest to W.
"""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.checkpoints.sentence_head import SentenceHead
from core.training import batches, masking, models, optimizers, tokens
from core.training.lowrank import MaskedModel
from core.training.objective import Batch, Hits, Objective
from core.training.tokenizers import Vocabulary
from core.training.tokens import Ints

MEASURED = 0.004
"""Threshold of the masks that are measured, whatever the recipe trains on, so that recipes can be compared."""
FREQUENT = 10_000
"""How many words the sentence head's first linear map is fitted to: rare ones have hardly been learned."""
RIDGE = 0.5
"""Keeps that map small where the words' vectors hardly vary."""


class Nearness:
    """Cosines between texts and the words of a vocabulary, in the sense that a sentence encoder was published for.

    The base of a masked-token head can know which words belong to a sentence although it was never asked to guess one:
    the cosine of two texts' mean vectors is what it was trained on.

    Args:
        encoder: a BertModel, which is only read; words are encoded once, each as a text of its own.
        count: size of the vocabulary.
        begin, end: the tokens that stand around every text.
    """

    def __init__(self, encoder: Any, count: int, begin: int, end: int) -> None:
        self.encoder = encoder.eval().requires_grad_(False)
        parts = []
        for words in torch.split(torch.arange(count), 512):
            ids = torch.stack([torch.full_like(words, begin), words, torch.full_like(words, end)], dim=1)
            parts.append(self._vectors(ids, torch.ones_like(ids)))
        self.words = torch.cat(parts)  # (vocabulary, d)

    def _vectors(self, ids: Tensor, attended: Tensor) -> Tensor:
        """Unit mean vectors (rows, d) of texts (rows, length), of the positions where ``seen`` is 1."""
        with torch.no_grad(), optimizers.mixed(ids.device.type):
            states = self.encoder(input_ids=ids, attention_mask=attended).last_hidden_state
        return functional.normalize((states.float() * attended[..., None]).sum(1), dim=-1)

    def cosines(self, ids: Tensor, mask: Tensor) -> Tensor:
        """(rows, length) ids and masked positions, which are left out, to (rows, vocabulary) cosines."""
        self.encoder.to(ids.device)
        self.words = self.words.to(ids.device)
        return self._vectors(ids, (~mask).long()) @ self.words.T


def together(scores: Tensor, cosines: Tensor, beta: float, unwanted: Tensor) -> Tensor:
    r"""A language model's own guess p(w) and the nearness of words to the text s, which teach more than either:

    .. math::

        q(w) \propto p(w)\, \exp(\beta \cos(s, w)) \quad \text{for } w \notin C, \qquad q(c) = 0 \text{ for } c \in C,

    with s the text without its masked words, and C the rare words that stand in it: nothing is nearer to a sentence
    than its own words, and none of them is missing.

    Args:
        scores: (n, vocabulary) scores of the language model.
        cosines: (n, vocabulary) from `Nearness`.
        beta: how much a cosine counts, in nats.
        unwanted: (n, m) tokens C; -1 stands for none.
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
        unwanted: (n, m) tokens that should not be guessed; -1 stands for none.
        floor: probability up to which one costs nothing.
    """
    probabilities = logs.gather(1, unwanted.clamp(min=0)).exp().clamp(max=1 - 1e-4)
    counted = (unwanted >= 0) & (probabilities > floor)
    return -(torch.log1p(-probabilities) * counted).sum() / len(logs)


class MaskedObjective(Objective):
    """Short texts of equal length a batch; see `core.training.masking` for what is hidden."""

    def read(self) -> None:
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
        from transformers import BertConfig

        settings = self.recipe.model
        backbone = models.backbone_state(self.folder)
        start = models.start_state(str(settings["start"]), backbone, self.stages) if "start" in settings else None
        rows = None
        if "embedding_rows" in settings:  # the most frequent words
            often = np.argsort(-self.counts, kind="stable")[: int(settings["embedding_rows"])]
            rows = torch.from_numpy(np.sort(often))

        def model(rank: int, cut: dict[str, Tensor] | None = None) -> MaskedModel:
            config = BertConfig.from_pretrained(self.folder)
            reached = rows if rank else None  # a free model and a teacher keep all that they have learned
            return MaskedModel(config, backbone, rank, int(settings["embedding_rank"]), start, cut, reached)

        cut = self._cut(model(0), backbone) if "cut" in settings else None
        masked_model = model(int(settings["rank"]), cut)
        self.share = float(settings.get("teacher", 0.0))
        self.echo, self.floor = float(settings.get("echo", 0.0)), float(settings.get("echo_floor", 0.0))
        self.teacher = model(0).eval().requires_grad_(False) if self.share else None
        self.beta = float(settings.get("nearness", 0.0))
        self.nearness = self.near_words() if self.teacher is not None and self.beta else None
        return masked_model

    def near_words(self) -> Nearness:
        from transformers import BertModel

        encoder = BertModel.from_pretrained(self.folder, use_safetensors=True)
        return Nearness(encoder, len(self.pieces.special), self.pieces.begin, self.pieces.end)

    def _cut(self, free: MaskedModel, backbone: dict[str, Tensor]) -> dict[str, Tensor]:
        """The updates of ``free`` cut where the recipe's loss needs them least; kept beside the data."""
        from safetensors.torch import load_file, save_file

        rank, count = int(self.recipe.model["rank"]), int(self.recipe.model["cut"])
        digest = hashlib.blake2b(repr((rank, count)).encode(), digest_size=6)
        for value in free.whole().values():
            digest.update(value.numpy().tobytes())
        path = self.cache / f"cut-{digest.hexdigest()}.safetensors"
        if path.is_file():  # a run that goes on needs the ranks that it began with
            return load_file(path)
        epochs = batches.Epochs(self.recipe.seed, self.epoch)

        def loss(step: int) -> Tensor:
            batch = self.hidden(epochs[step], step)
            with optimizers.mixed("cpu"):
                scores = free(batch["ids"], batch["mask"]).float()
            drawn = torch.multinomial(scores.detach().softmax(-1), 1)[:, 0]
            return functional.cross_entropy(scores, drawn, reduction="sum")

        cut = free.cut(backbone, rank, (partial(loss, step) for step in range(count)))
        save_file(cut, path)
        return cut

    def items(self, rng: np.random.Generator) -> Ints:
        passes = [source.passes for source in self.recipe.sources]
        return self.usable[batches.mix(self.origin[self.usable], passes, rng)]

    def batch(self, step: int) -> Batch:
        return self.hidden(self.epochs[step], step)

    def hidden(self, index: Ints, step: int) -> Batch:
        ids = self.train.rows(index, int(self.keys[index[0]]), 0)
        rng = np.random.default_rng([self.recipe.seed, 1, step])
        return masking.hide(self.pieces, ids, self.weight, float(self.recipe.data["mask_rate"]), rng, self.rare)

    def loss(self, batch: Batch) -> Tensor:
        scores = self.model(batch["ids"], batch["mask"]).float()
        logs = scores.log_softmax(-1)
        loss = functional.nll_loss(logs, batch["labels"])
        places = batch["mask"].nonzero()[:, 0]
        if self.teacher is not None:
            with torch.no_grad():
                scores_of_teacher = self.teacher.to(scores.device)(batch["ids"], batch["mask"]).float()
                if self.nearness is not None:
                    cosines = self.nearness.cosines(batch["ids"], batch["mask"])[places]
                    target_distribution = together(scores_of_teacher, cosines, self.beta, batch["context"][places])
                else:
                    target_distribution = scores_of_teacher.softmax(-1)
            loss = (1 - self.share) * loss - self.share * (target_distribution * logs).sum(-1).mean()
        if self.echo:
            loss = loss + self.echo * unlikelihood(logs, batch["context"][places], self.floor)
        return loss

    def measure(self) -> dict[str, float]:
        """Loss (nats), top-1 and top-5 in percent on masked words of held-out sentences, the same masks each time."""
        rng = np.random.default_rng(self.recipe.seed)
        lengths, hits = self.test.lengths, Hits()
        for length in np.unique(lengths):
            ids = self.test.rows(np.flatnonzero(lengths == length)[:60], int(length), 0)
            batch = self.here(masking.hide(self.pieces, ids, self.measured, 0.0, rng))
            hits.add(self.model(batch["ids"], batch["mask"]).float(), batch["labels"])
        return hits.shares()

    def export(self, folder: Path) -> None:
        from safetensors.torch import save_file

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


def linear_map(words: Tensor, texts: Tensor) -> Tensor:
    """M (d, d) with ``words`` (n, d) times M nearest to the centered ``texts`` (n, d), by ridge regression."""
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

    def new_model(self) -> SentenceModel:
        place: MaskedModel = super().new_model()
        self.alpha = float(self.recipe.model["teach"])
        self.near = self.near_words()
        head = SentenceHead(self.near.encoder, self.pieces.mask)
        often = torch.from_numpy(np.argsort(-self.counts, kind="stable")[:FREQUENT].copy())
        start = self.beta * linear_map(place.words.whole().detach()[often], self.near.words[often])
        head.about.weight = nn.Parameter(start)
        return SentenceModel(place, head)

    def loss(self, batch: Batch) -> Tensor:
        place, sentence, vectors = self.model.parts(batch["ids"], batch["mask"])
        rows = batch["mask"].nonzero()[:, 0]
        with torch.no_grad():
            near = (vectors @ self.near.words.to(vectors.device).T)[rows]
            known = together(place.float(), near, self.beta, batch["context"][rows])
        logs = (place + sentence).float().log_softmax(-1)
        taught = -(known * logs).sum(-1).mean()
        loss: Tensor = (1 - self.alpha) * functional.nll_loss(logs, batch["labels"]) + self.alpha * taught
        return loss

    def export(self, folder: Path) -> None:
        from safetensors.torch import load_file

        own = {name: value for name, value in self.model.head.named_parameters() if value.requires_grad}
        before = models.finished(str(self.recipe.model["start"]), self.stages, models.DIFFERENCE)
        learned = load_file(before / models.DIFFERENCE) | {f"sentence.{name}": value for name, value in own.items()}
        models.ship_tensors(learned, folder / models.DIFFERENCE)
        config = self.model.place.config
        config.sentence_head, config.mask_token_id = True, self.pieces.mask
        self.ship_config(config, folder)
