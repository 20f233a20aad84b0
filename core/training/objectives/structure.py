"""Parts of a finished BERT whose rows are the examples of `core.objectives`.

========  ==========================================================================================================
spans     SpanBERT (Joshi et al., 2020): spans are masked, and predicted from their own states and from those beside
unified   UniLM (Dong et al., 2019): tokens are masked under four attention masks; the page shows three of them
========  ==========================================================================================================

The output layer is the finished model's own. The measures are of held-out text, beside those of the finished model
without the part.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from core.checkpoints.boundary import BoundaryHead
from core.checkpoints.spec import Measure
from core.objectives import spans, unified
from core.objectives.example import Example
from core.training import batches, documents, models
from core.training.documents import Documents
from core.training.objective import Batch, Hits
from core.training.objectives.encoder import heads
from core.training.objectives.parts import PartModel, PartObjective
from core.training.tokenizers import Vocabulary
from core.training.tokens import Ints

MEASURED, CURVE = 400, 60
"""Held-out chunks for the card, and for the learning curve."""
SPECIAL = 3
"""The most special tokens of a row."""


class StructureObjective(PartObjective):
    """Chunks of documents, corrupted by an objective of `core.objectives`."""

    def read(self) -> None:
        self.folder = models.finished(str(self.recipe.model["start"]), self.stages)
        self.tokenizer, self.train, self.test = documents.prepare(
            self.recipe, self.corpus, self.stages, finished=self.folder
        )
        self.words, self.ids = Vocabulary(self.tokenizer), self.tokenizer.get_vocab()
        self.names = sorted(self.ids, key=self.ids.__getitem__)
        self.ordinary = [name for name, special in zip(self.names, self.words.special, strict=True) if not special]
        self.origin, self.positions = self.train.source, int(self.recipe.data["width"])
        self.keys = self.cost = self.train.sizes(SPECIAL)

    def new_model(self) -> PartModel:
        return PartModel(self.full(), int(self.recipe.model["rank"]))

    @abstractmethod
    def example(self, text: list[str], rng: np.random.Generator) -> Example:
        """The example of a chunk's tokens."""

    def framed(self, text: Sequence[str]) -> tuple[list[str], set[int]]:
        """The tokens between [CLS] and [SEP], and the positions of those two."""
        return ["[CLS]", *text, "[SEP]"], {0, len(text) + 1}

    def examples(self, side: Documents, index: Ints, rngs: Sequence[np.random.Generator]) -> list[Example]:
        """The examples of chunks."""
        texts = ([self.names[i] for i in side.chunk(chunk)] for chunk in index.tolist())
        return [self.example(text, rng) for text, rng in zip(texts, rngs, strict=True)]

    def rows(self, examples: Sequence[Example], width: int) -> Batch:
        """Examples as rows, padded to ``width``."""
        shape = len(examples), width
        ids, types = np.full(shape, self.words.pad, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        chosen, attend = np.zeros(shape, dtype=bool), np.zeros((*shape, width), dtype=bool)
        labels: list[int] = []
        for row, example in enumerate(examples):
            count, targets = len(example.source), list(example.targets)
            ids[row, :count] = [self.ids[cell.token] for cell in example.source]
            types[row, :count] = [cell.segment for cell in example.source]
            chosen[row, targets] = True
            attend[row, :count, :count] = example.visible[0].allowed
            labels += [self.ids[str(example.source[at].target)] for at in targets]
        mask = np.where(attend, 0.0, np.finfo(np.float32).min).astype(np.float32)[:, None]
        real = (ids != self.words.pad).astype(np.int64)
        return batches.tensors(ids=ids, types=types, chosen=chosen, mask=mask, real=real, labels=np.array(labels))

    def batch(self, step: int) -> Batch:
        index = self.epochs[step]
        return self.rows(self.examples(self.train, index, self.rngs(step, index)), int(self.keys[index[0]]))

    def held_out(self, most: int) -> Iterator[tuple[list[Example], Batch]]:
        """Held-out examples with their rows, always the same."""
        some, size = batches.some(len(self.test), most), self.test.sizes(SPECIAL)
        for index, rngs in batches.measured(some, size[some]):
            examples = [example for example in self.examples(self.test, index, rngs) if example.targets]
            if examples:
                yield examples, self.to_device(self.rows(examples, int(size[index[0]])))

    def scores(self, batch: Batch, model: Any = None) -> Tensor:
        """Logits (targets, vocabulary), of the part or of another ``model`` with updates or without."""
        full = self.model.full if model is None else model
        states = full.base_model(batch["ids"], batch["mask"], batch["types"]).last_hidden_state
        return heads(full)[0](states[batch["chosen"]]).float()

    def loss(self, batch: Batch) -> Tensor:
        return functional.cross_entropy(self.scores(batch), batch["labels"])

    def measure(self) -> dict[str, float]:
        hits = Hits()
        for _, batch in self.held_out(CURVE):
            hits.add(self.scores(batch), batch["labels"])
        return hits.shares()

    def measures(self) -> list[Measure]:
        with torch.no_grad():
            found = self.compared(self.full().eval().to(self.device))
        on = f"{min(MEASURED, len(self.test)):,} held-out texts"
        return [Measure(name, round(value, 2), "nats" if "loss" in name else "%", on) for name, value in found.items()]

    @abstractmethod
    def compared(self, plain: Any) -> dict[str, float]:
        """The measures of the part and of the finished model ``plain``, by name."""


class SpansObjective(StructureObjective):
    """Masked spans, from their own states and from their boundaries."""

    def new_model(self) -> PartModel:
        full = self.full()
        full.boundary = BoundaryHead(full.config.hidden_size)
        return PartModel(full, int(self.recipe.model["rank"]), full.boundary)

    def example(self, text: list[str], rng: np.random.Generator) -> Example:
        tokens, fixed = self.framed(text)
        words = list(accumulate((not token.startswith("##") for token in tokens), initial=0))[1:]
        return spans.corrupt(tokens, words, self.ordinary, rng, fixed=fixed)

    def rows(self, examples: Sequence[Example], width: int) -> Batch:
        beside = [(row, *b[1:]) for row, example in enumerate(examples) for b in spans.boundaries(example)]
        return super().rows(examples, width) | {"beside": torch.tensor(beside, dtype=torch.int64).reshape(-1, 4)}

    def both(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Logits (targets, vocabulary) from the tokens' own states, and from those of the boundaries."""
        full = self.model.full
        states = full.base_model(batch["ids"], batch["mask"], batch["types"]).last_hidden_state
        away = full.cls.predictions.decoder(full.boundary(states, *batch["beside"].T))
        return heads(full)[0](states[batch["chosen"]]).float(), away.float()

    def loss(self, batch: Batch) -> Tensor:
        own, away = self.both(batch)
        return functional.cross_entropy(own, batch["labels"]) + functional.cross_entropy(away, batch["labels"])

    def measure(self) -> dict[str, float]:
        own, away = Hits(), Hits()
        for _, batch in self.held_out(CURVE):
            for hits, scores in zip((own, away), self.both(batch), strict=True):
                hits.add(scores, batch["labels"])
        return own.shares() | {"boundary loss": away.nats / away.total} | away.top("boundary")

    def compared(self, plain: Any) -> dict[str, float]:
        """Top-1 accuracy on tokens whose whole span is masked."""
        often = int(np.bincount(self.train.sentences.flat).argmax())
        right: defaultdict[str, list[bool]] = defaultdict(list)
        for _, batch in self.held_out(MEASURED):
            own, away = self.both(batch)
            labels, wide = batch["labels"], batch["beside"][:, 2] - batch["beside"][:, 1] > 3
            masked = batch["ids"][batch["chosen"]] == self.words.mask
            found = {
                "from the boundaries": away.argmax(1),
                "from its own state": own.argmax(1),
                "from its own state, Atlas BERT": self.scores(batch, plain).argmax(1),
                "the most frequent token always": torch.full_like(labels, often),
            }
            for name, best in found.items():
                right[name] += (best == labels)[masked].tolist()
                right[f"{name}, spans of 3 tokens or more"] += (best == labels)[masked & wide].tolist()
        return {name: 100 * float(np.mean(values)) for name, values in right.items()}


class UnifiedObjective(StructureObjective):
    """Masked tokens under the attention mask that is drawn, or under the one of ``kind``."""

    kind: unified.Kind | None = None

    def example(self, text: list[str], rng: np.random.Generator) -> Example:
        kind = self.kind or (unified.draw(rng) if len(text) > 1 else "left")
        cut = int(rng.integers(1, max(2, len(text))))
        if len(text) < 2 and kind in ("both", "seq2seq"):
            text = text * 2
        settings: dict[str, Any] = {"begin": "[CLS]", "end": "[SEP]"}
        return unified.corrupt(text[:cut], text[cut:], self.ordinary, rng, kind, **settings)

    def compared(self, plain: Any) -> dict[str, float]:
        found: dict[str, float] = {}
        for kind in unified.SHARES:
            self.kind = kind
            ours, theirs = Hits(), Hits()
            for _, batch in self.held_out(MEASURED):
                ours.add(self.scores(batch), batch["labels"])
                theirs.add(self.scores(batch, plain), batch["labels"])
            for name, hits in (("part", ours), ("Atlas BERT", theirs)):
                shares = hits.shares()
                found |= {f"{kind}, {name}: loss": shares["loss"], f"{kind}, {name}: top-1": shares["top-1"]}
        self.kind = None
        return found
