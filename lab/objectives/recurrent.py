r"""ELMo's two language models (Peters et al., 2018) on chunks of documents: `core.checkpoints.recurrent`.

The softmax is over the whole vocabulary, where the paper's code samples. The embeddings start from the largest singular
values of a BERT's, the biases from the frequencies.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.checkpoints.recurrent import BidirectionalLM
from core.checkpoints.spec import Measure
from core.vectors.elmo import combined
from lab import batches, documents, models, ngrams
from lab.documents import Documents
from lab.files import write_file
from lab.objective import Batch, Objective, linear_cross_entropy
from lab.objectives.encoder import factorize
from lab.tokenizers import Vocabulary
from lab.tokens import Ints

CURVE, MEASURED = 100, 1000
"""Held-out chunks for the learning curve, and for the card."""


class RecurrentObjective(Objective):
    """Chunks of similar length per batch, without masks."""

    def prepare_data(self) -> None:
        self.folder = models.finished(str(self.recipe.model["start"]), self.stages)
        self.tokenizer, self.train, self.test = documents.prepare(
            self.recipe, self.corpus, self.stages, finished=self.folder
        )
        self.words = Vocabulary(self.tokenizer)
        self.origin, self.positions = self.train.source, int(self.recipe.data["width"])
        self.keys = self.cost = self.train.sizes()

    def new_model(self) -> BidirectionalLM:
        settings = self.recipe.model
        counts = np.bincount(self.train.sentences.flat, minlength=self.tokenizer.get_vocab_size()) + 1.0
        counts[[self.words.begin, self.words.end]] = len(self.train)
        frequency = torch.from_numpy(counts / counts.sum()).float()
        model = BidirectionalLM(len(counts), int(settings["width"]), int(settings["units"]))
        model.bias.data.copy_(frequency.log())
        words = self.bert().bert.embeddings.word_embeddings.weight
        words = factorize(words.detach(), model.embed.embedding_dim)[0]
        model.embed.weight.data.copy_(words / words.std() * model.embed.embedding_dim**-0.5)
        return model

    def bert(self) -> Any:
        """The BERT whose tokens are used, and whose embeddings those here start from."""
        return models.finished_bert(str(self.recipe.model["start"]), self.stages).eval()

    def batch(self, step: int) -> Batch:
        return self.rows(self.train, self.epochs[step])

    def rows(self, side: Documents, index: Ints) -> Batch:
        """Chunks, padded to the longest."""
        texts = [self.words.framed(side.chunk(chunk)) for chunk in index.tolist()]
        width = batches.round_up(np.array(max(map(len, texts))), documents.ROUND)
        ids = np.full((len(index), int(width)), self.words.pad, dtype=np.int64)
        for row, text in zip(ids, texts, strict=True):
            row[: len(text)] = text
        return batches.tensors(ids=ids, real=(ids != self.words.pad).astype(np.int64))

    def targets(self, batch: Batch) -> Iterator[tuple[Tensor, Tensor]]:
        """States (m, d) and the tokens (m,) that they predict, from the left and from the right."""
        pairs = batch["real"][:, 1:].bool()
        labels = batch["ids"][:, 1:][pairs], batch["ids"][:, :-1][pairs]
        return zip(self.model.predicting(batch["ids"], batch["real"]), labels, strict=True)

    def loss(self, batch: Batch) -> Tensor:
        return torch.stack([self.nats(*pair) for pair in self.targets(batch)]).mean()

    def nats(self, states: Tensor, labels: Tensor) -> Tensor:
        """Mean cross-entropy in nats."""
        return linear_cross_entropy(states, self.model.embed.weight, labels, self.model.bias)

    def held_out(self, most: int) -> Iterator[Batch]:
        """Held-out chunks, always the same."""
        some = batches.some(len(self.test), most)
        for index, _ in batches.measured(some, self.test.sizes()[some]):
            yield self.to_device(self.rows(self.test, index))

    def measure(self) -> dict[str, float]:
        nats, count = np.zeros(2), 0
        for batch in self.held_out(CURVE):
            number = int(batch["real"][:, 1:].sum())
            nats += [number * float(self.nats(*pair)) for pair in self.targets(batch)]
            count += number
        return {f"perplexity, {name}": math.exp(v) for name, v in zip(("left", "right"), nats / count, strict=True)}

    def measures(self) -> list[Measure]:
        """Perplexity beside that of unigram and bigram models, and one token of each text, beside a BERT."""
        bigrams = ngrams.of_chunks(self.train, self.words.begin, self.words.end, self.tokenizer.get_vocab_size())
        sums = {name: np.zeros(2) for name in ("LSTMs", "bigram model", "unigram model")}
        right: dict[str, list[bool]] = {name: [] for name in ("left", "right", "both", "both, Atlas BERT")}
        bert, count = self.bert().to(self.device), 0
        rng = np.random.default_rng(0)
        for batch in self.held_out(MEASURED):
            ids, real = batch["ids"], batch["real"]
            pairs = real[:, 1:].bool()
            before, after = ids[:, :-1][pairs].cpu().numpy(), ids[:, 1:][pairs].cpu().numpy()
            sums["LSTMs"] += [len(before) * float(self.nats(*pair)) for pair in self.targets(batch)]
            sums["bigram model"] -= [bigrams[0].log(before, after).sum(), bigrams[1].log(after, before).sum()]
            sums["unigram model"] -= [np.log(m.unigram[t]).sum() for m, t in zip(bigrams, (after, before), strict=True)]
            count += len(before)
            at = torch.from_numpy(rng.integers(1, (real.sum(1) - 1).cpu().numpy())).to(ids.device)
            rows = torch.arange(len(ids), device=ids.device)
            masked = ids.index_put((rows, at), torch.tensor(self.words.mask, device=ids.device))
            guesses = dict(zip(("left", "right", "both"), combined(self.model, ids, real, at).argmax(-1), strict=True))
            states = bert.bert(masked, real).last_hidden_state[rows, at]
            guesses["both, Atlas BERT"] = bert.cls.predictions(states).argmax(-1)
            for name, best in guesses.items():
                right[name] += (best == ids[rows, at]).tolist()
        on = f"{sum(map(len, right.values())) // len(right):,} held-out texts"
        rows_of_card = [
            Measure(f"perplexity, {name}", round(float(np.exp(nats.sum() / count / 2)), 1), "", on)
            for name, nats in sums.items()
        ]
        one_token = f"one token in each of {on}"
        return rows_of_card + [
            Measure(f"top-1, {name}", round(100 * float(np.mean(hits)), 2), "%", one_token, n=len(hits))
            for name, hits in right.items()
        ]

    def export(self, folder: Path) -> None:
        fields = self.recipe.model
        settings = {"tokenizer": fields["start"], "width": fields["width"], "units": fields["units"]}
        write_file(folder / "config.json", json.dumps(settings, indent=2) + "\n")
        models.ship_tensors(self.model.state_dict(), folder / models.WHOLE)
