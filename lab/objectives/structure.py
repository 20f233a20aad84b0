"""Parts of a finished BERT whose rows are the examples of `core.objectives`.

========  ==========================================================================================================
spans     SpanBERT (Joshi et al., 2020): spans are masked, and predicted from their own states and from those beside
unified   UniLM (Dong et al., 2019): tokens are masked under four attention masks; the page shows three of them
orders    StructBERT (Wang et al., 2020): trigrams are shuffled beside masked tokens; which text came first, or neither
========  ==========================================================================================================

The output layer is the finished model's own. The measures are of held-out text, beside those of the finished model
without the part.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate, permutations
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.checkpoints.heads import BoundaryHead
from core.checkpoints.spec import Measure
from core.language.structure import each_read, near
from core.objectives import sentence_pairs, spans, unified, word_order
from core.objectives.example import Example
from lab import batches, documents, masking, models, ngrams
from lab.documents import NO_LABEL, Documents, Examples
from lab.evaluate_pairs import SegmentPair, segments, words_before
from lab.measures import bootstrap
from lab.objective import Batch, Hits, Share, of_card
from lab.objectives.encoder import heads
from lab.objectives.parts import PartModel, PartObjective
from lab.tokenizers import Vocabulary
from lab.tokens import Ints

CURVE = 60
"""Held-out chunks for the learning curve."""
SPECIAL = 3
"""The most special tokens of a row."""


class StructureObjective(PartObjective):
    """Chunks of documents, corrupted as an objective of `core.objectives` does it."""

    measured = 400
    """About how many held-out chunks are read for the card."""

    def prepare_data(self) -> None:
        self.folder = models.finished(str(self.recipe.model["start"]), self.stages)
        self.tokenizer, self.train, self.test = documents.prepare(
            self.recipe, self.corpus, self.stages, finished=self.folder
        )
        self.words, self.ids = Vocabulary(self.tokenizer), self.tokenizer.get_vocab()
        self.names = sorted(self.ids, key=self.ids.__getitem__)
        self.ordinary = [name for name, special in zip(self.names, self.words.special, strict=True) if not special]
        self.origin, self.positions = self.train.source, int(self.recipe.data["width"])
        self.keys = self.cost = self.sizes(self.train)

    def sizes(self, side: Documents) -> Ints:
        """(chunks,) length of each chunk's row."""
        return side.sizes(SPECIAL)

    def new_model(self) -> PartModel:
        return PartModel(self.full(), int(self.recipe.model["rank"]))

    @abstractmethod
    def made(self, side: Documents, index: Ints, rngs: Sequence[np.random.Generator], width: int) -> Batch:
        """The rows of chunks, corrupted and padded to ``width``."""

    def batch(self, step: int) -> Batch:
        index = self.epochs[step]
        return self.made(self.train, index, self.rngs(step, index), int(self.keys[index[0]]))

    def held_out(self, most: int) -> Iterator[Batch]:
        """Rows of held-out chunks, always the same."""
        some, size = batches.some(len(self.test), most), self.sizes(self.test)
        for index, rngs in batches.measured(some, size[some]):
            batch = self.made(self.test, index, rngs, int(size[index[0]]))
            if batch["chosen"].any():
                yield self.to_device(batch)

    def scores(self, batch: Batch, model: Any = None) -> Tensor:
        """Logits (targets, vocabulary), of the part or of another ``model`` with updates or without."""
        full = self.model.full if model is None else model
        states = full.base_model(batch["ids"], batch["mask"], batch["types"]).last_hidden_state
        return heads(full)[0](states[batch["chosen"]]).float()

    def loss(self, batch: Batch) -> Tensor:
        return functional.cross_entropy(self.scores(batch), batch["labels"])

    def measure(self) -> dict[str, float]:
        hits = Hits()
        for batch in self.held_out(CURVE):
            hits.add(self.scores(batch), batch["labels"])
        return hits.shares()

    def measures(self) -> list[Measure]:
        with torch.no_grad():
            values = self.compared(self.full().eval().to(self.device))
        on = f"{len(batches.some(len(self.test), self.measured)):,} held-out texts"
        return [of_card(name, value, "nats" if "loss" in name else "%", on) for name, value in values.items()]

    @abstractmethod
    def compared(self, plain: Any) -> dict[str, float]:
        """The measures of the part and of the finished model ``plain``, by name."""


class ExamplesObjective(StructureObjective):
    """Rows that are the examples of `core.objectives`."""

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

    def made(self, side: Documents, index: Ints, rngs: Sequence[np.random.Generator], width: int) -> Batch:
        """The rows of chunks, corrupted and padded to ``width``."""
        return self.rows(self.examples(side, index, rngs), width)


class SpansObjective(ExamplesObjective):
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
        from_states, away = self.both(batch)
        return functional.cross_entropy(from_states, batch["labels"]) + functional.cross_entropy(away, batch["labels"])

    def measure(self) -> dict[str, float]:
        from_states, away = Hits(), Hits()
        for batch in self.held_out(CURVE):
            for hits, scores in zip((from_states, away), self.both(batch), strict=True):
                hits.add(scores, batch["labels"])
        return from_states.shares() | {"boundary loss": away.nats / away.total} | away.top("boundary")

    def compared(self, plain: Any) -> dict[str, float]:
        """Top-1 accuracy on tokens whose whole span is masked."""
        often = int(np.bincount(self.train.sentences.flat).argmax())
        right: defaultdict[str, list[bool]] = defaultdict(list)
        for batch in self.held_out(self.measured):
            from_states, away = self.both(batch)
            labels, wide = batch["labels"], batch["beside"][:, 2] - batch["beside"][:, 1] > 3
            masked = batch["ids"][batch["chosen"]] == self.words.mask
            predictions = {
                "from the boundaries": away.argmax(1),
                "from its own state": from_states.argmax(1),
                "from its own state, Atlas BERT": self.scores(batch, plain).argmax(1),
                "the most frequent token always": torch.full_like(labels, often),
            }
            for name, best in predictions.items():
                right[name] += (best == labels)[masked].tolist()
                right[f"{name}, spans of 3 tokens or more"] += (best == labels)[masked & wide].tolist()
        return {name: Share(sum(values), len(values)) for name, values in right.items()}


class UnifiedObjective(ExamplesObjective):
    """Masked tokens under the attention mask that is drawn, or under the one of ``kind``."""

    kind: unified.UnifiedMask | None = None

    def example(self, text: list[str], rng: np.random.Generator) -> Example:
        kind = self.kind or (unified.sample_mask(rng) if len(text) > 1 else "left")
        cut = int(rng.integers(1, max(2, len(text))))
        if len(text) < 2 and kind in ("both", "seq2seq"):
            text = text * 2
        settings: dict[str, Any] = {"begin": "[CLS]", "end": "[SEP]"}
        return unified.corrupt(text[:cut], text[cut:], self.ordinary, rng, kind, **settings)

    def compared(self, plain: Any) -> dict[str, float]:
        numbers: dict[str, float] = {}
        for kind in unified.SHARES:
            self.kind = kind
            ours, theirs = Hits(), Hits()
            for batch in self.held_out(self.measured):
                ours.add(self.scores(batch), batch["labels"])
                theirs.add(self.scores(batch, plain), batch["labels"])
            for name, hits in (("part", ours), ("Atlas BERT", theirs)):
                shares = hits.shares()
                numbers |= {f"{kind}, {name}: loss": shares["loss"], f"{kind}, {name}: top-1": shares["top-1"]}
        self.kind = None
        return numbers


ORDERS = np.array([*permutations(range(word_order.SIZE))])
"""(6, 3) which of a trigram's tokens is at each place."""


KNOWN = 100
"""Batches of training that the baseline of the orders of texts learns from."""
OTHERS = ("bigram model", "each read, Atlas BERT")
"""What the part is compared with where it reads each order."""


class OrdersObjective(StructureObjective):
    """Masked tokens and shuffled trigrams of two texts, which are in one of three orders or in none.

    The functions that sample are those of the page, on ids. In training the recipe's ``share`` of the trigrams is
    shuffled; measured are texts without masks, in which `word_order.SHARE` of them are.
    """

    measured = 2000
    share: float | None = None
    """Of the trigrams in texts without masks, in place of the training's texts."""

    def prepare_data(self) -> None:
        self.sides: dict[int, Examples] = {}
        super().prepare_data()

    def pairs(self, side: Documents) -> Examples:
        """The pairs of one side of the split."""
        if id(side) not in self.sides:
            self.sides[id(side)] = Examples(side, self.tokenizer, "three")
        return self.sides[id(side)]

    def sizes(self, side: Documents) -> Ints:
        return self.pairs(side).sizes

    def new_model(self) -> PartModel:
        full = self.full()
        full.cls.seq_relationship = nn.Linear(full.config.hidden_size, len(sentence_pairs.THREE))
        return PartModel(full, int(self.recipe.model["rank"]), full.bert.pooler, full.cls.seq_relationship)

    def made(self, side: Documents, index: Ints, rngs: Sequence[np.random.Generator], width: int) -> Batch:
        """``moved`` (targets,) are those of trigrams, ``answers`` (rows,) the orders, or `NO_LABEL`."""
        shape, sample = (len(index), width), self.pairs(side).pairs.sample
        original, ids = (np.full(shape, self.words.pad, dtype=np.int64) for _ in range(2))
        types, chosen, moved = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
        answers = np.full(len(index), NO_LABEL, dtype=np.int64)
        for row, (chunk, rng) in enumerate(zip(index.tolist(), rngs, strict=True)):
            a, b, answers[row] = sample(chunk, rng)
            text = self.words.framed(a) if b is None else self.words.framed(a, b)
            count, special = len(text), self.words.special[text]
            original[row, :count], types[row, len(a) + 2 : count] = text, 1
            if self.share is None:
                text, chosen[row, :count] = masking.corrupt_ids(text, self.words.special, self.words.mask, rng)
            starts = word_order.windows(count, np.flatnonzero(special | chosen[row, :count]).tolist())
            for start in word_order.sample(starts, rng, self.share or float(self.recipe.data["share"])):
                at = slice(start, start + word_order.SIZE)
                text[at] = text[at][list(word_order.order(text[at].tolist(), rng))]
                moved[row, at] = True
            ids[row, :count] = text
        chosen |= moved
        real = (original != self.words.pad).astype(np.int64)
        batch = batches.tensors(ids=ids, types=types, chosen=chosen, mask=real, real=real, answers=answers)
        return batch | batches.tensors(labels=original[chosen], moved=moved[chosen])

    def both(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Logits (targets, vocabulary) of tokens, and (rows, 3) of the order."""
        full = self.model.full
        out = self.model.states(batch["ids"], batch["types"], batch["mask"])
        words = heads(full)[0](out.last_hidden_state[batch["chosen"]])
        return words.float(), full.cls.seq_relationship(out.pooler_output).float()

    def loss(self, batch: Batch) -> Tensor:
        words, order = self.both(batch)
        nats, moved = functional.cross_entropy(words, batch["labels"], reduction="none"), batch["moved"].float()
        paired = (batch["answers"] != NO_LABEL).sum().clamp(min=1)
        answers = functional.cross_entropy(order, batch["answers"], ignore_index=NO_LABEL, reduction="sum") / paired
        loss: Tensor = answers + sum((nats * some).sum() / some.sum().clamp(min=1) for some in (moved, 1 - moved))
        return loss

    def measure(self) -> dict[str, float]:
        hits, orders = (Hits(), Hits()), []
        for batch in self.held_out(CURVE):
            words, order = self.both(batch)
            for some, part_hits in zip((batch["moved"], ~batch["moved"]), hits, strict=True):
                part_hits.add(words[some], batch["labels"][some])
            paired = batch["answers"] != NO_LABEL
            orders += (order.argmax(1) == batch["answers"])[paired].tolist()
        moved = {f"shuffled {name}": value for name, value in hits[0].shares().items()}
        return hits[1].shares() | moved | {"three orders": 100 * float(np.mean(orders))}

    def compared(self, plain: Any) -> dict[str, float]:
        """Shuffled tokens put right, beside a bigram model, and the orders of texts, beside a bag of words."""
        train_rows = [row for step in range(KNOWN) for row in segments(self.batch(step))]
        self.share = word_order.SHARE
        bigrams = ngrams.of_chunks(self.train, self.words.begin, self.words.end, len(self.names))[0]
        right: defaultdict[str, list[bool]] = defaultdict(list)
        asked: list[SegmentPair] = []
        texts: list[int] = []  # of each shuffled token
        for batch in self.held_out(self.measured):
            trigrams = batch["labels"].reshape(-1, word_order.SIZE)
            possible = batch["ids"][batch["chosen"]].reshape(trigrams.shape)[:, ORDERS]
            words, order = self.both(batch)
            scores = {"the part": words, "Atlas BERT": self.scores(batch, plain)}
            chances = {name: placed(scored, possible) for name, scored in scores.items()}
            chances["bigram model"] = neighboring(bigrams, batch, possible)
            for name, model in (("the part", self.model.full), ("Atlas BERT", plain)):
                chances[f"each read, {name}"] = self.in_each(model, batch, possible)
            texts += (torch.nonzero(batch["chosen"])[:, 0] + (texts[-1] + 1 if texts else 0)).tolist()
            for name, scored in chances.items():
                best = possible.take_along_dim(scored.argmax(1)[:, None, None], 1)[:, 0]
                right[f"best of six orders, {name}"] += (best == trigrams).flatten().tolist()
            for name, scored in scores.items():
                right[f"best of all tokens, {name}"] += (scored.argmax(1) == batch["labels"]).tolist()
            right["order of two texts"] += (order.argmax(1) == batch["answers"])[batch["answers"] != NO_LABEL].tolist()
            asked += segments(batch)
        self.share = None
        shares: dict[str, float] = {name: Share(sum(values), len(values)) for name, values in right.items()}
        shares["order of two texts, bag of words"] = words_before(train_rows, asked, shared=True)
        ours, *others = (f"best of six orders, {name}" for name in ("each read, the part", *OTHERS))
        for name, other in zip(OTHERS, others, strict=True):
            more = 100 * np.subtract(right[ours], right[other], dtype=float)
            shares[f"each read, the part minus {name}"] = bootstrap(np.bincount(texts, more), np.bincount(texts))
        return shares

    def in_each(self, model: Any, batch: Batch, possible: Tensor) -> Tensor:
        """(m, 6) scores of the orders by a ``model`` that reads the text in each (`each_read`)."""
        sums = []
        for (row, at), orders in zip(
            torch.nonzero(batch["chosen"])[:: word_order.SIZE].tolist(), possible, strict=True
        ):
            count = int(batch["real"][row].sum())
            every = batch["ids"][row, :count].repeat(len(orders), 1)
            around = near(self.words.special[every[0].cpu()].tolist(), at)
            every[:, at : at + word_order.SIZE] = orders
            sums.append(each_read(model, every, batch["types"][row, :count], around, self.words.mask))
        return torch.stack(sums)


def placed(scores: Tensor, possible: Tensor) -> Tensor:
    """(m, 6) log-probabilities of the orders of m trigrams, summed over their places.

    Args:
        scores: (3m, V) logits.
        possible: (m, 6, 3) tokens.
    """
    logs = scores.log_softmax(-1).reshape(len(possible), word_order.SIZE, -1)
    return logs.take_along_dim(possible.mT, 2).sum(1)


def neighboring(bigrams: ngrams.Bigram, batch: Batch, possible: Tensor) -> Tensor:
    """(m, 6) log-probabilities of the orders by a bigram model, from the token before a trigram to the one after it."""
    row, at = torch.nonzero(batch["chosen"])[:: word_order.SIZE].T
    before, after = (batch["ids"][row, at + by] for by in (-1, word_order.SIZE))
    ends = (side[:, None, None].expand(-1, len(ORDERS), 1) for side in (before, after))
    line = torch.cat([next(ends), possible, next(ends)], dim=-1).cpu().numpy()
    return torch.from_numpy(bigrams.log(line[..., :-1], line[..., 1:]).sum(-1)).to(possible.device)
