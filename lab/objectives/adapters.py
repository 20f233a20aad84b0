r"""Adapters (Houlsby et al., 2019): several tasks on one frozen encoder.

The loss of a task is the cross-entropy of its labels, through its adapters and, for comparison, through a head alone on
the encoder's states; every step has a batch for each of the T tasks:

.. math:: L = -\frac{1}{T} \sum_{t=1}^{T} \big(\log p_t(y \mid x) + \log q_t(y \mid x)\big)

No parameter is in two terms, so the tasks are trained independently, and a head alone is trained on the same texts in
the same order as the adapters. A recipe with ``tune = "all"`` fine-tunes a copy of the encoder for each task instead,
as a comparison; such a stage is only evaluated.

Forms of the examples:

=================  ===================================================================================================
``labeled``        a line: the label, a tab, the text
``source``         a sentence; the label is that of its source, ``task = "genre/story"``
``last-mark``      a sentence without its final full stop (label 0) or question mark (1), balanced in the order of the
                   source
``swapped-words``  an original sentence (label 0), or one with two adjacent words swapped (1)
=================  ===================================================================================================

Swapped words are sampled in each epoch, in half of all cases. Two words can be swapped if they differ, consist of
letters, and are not next to an apostrophe or a hyphen.

Books are held out whole, other lines one by one; of a labeled line the text decides, not the label.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.checkpoints.adapters import ARCHITECTURE, AdapterBert
from core.errors import AtlasError
from core.lazy import transformers
from lab import batches, corpus, models
from lab.batches import Epochs
from lab.objective import Batch, Objective
from lab.recipe import Recipe, SourceFile
from lab.tokenizers import Vocabulary
from lab.tokens import Ints, Ragged, encoded, stored

MEASURED = 160
"""Held-out texts per task for the learning curve."""
DROPOUT = 0.1


def encoder(folder: Path) -> Any:
    """The published encoder as a BertModel without pooler and dropout."""
    config = transformers.BertConfig.from_pretrained(folder)
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    config._attn_implementation = "eager"  # on short rows faster than the fused kernel
    backbone = transformers.BertModel(config, add_pooling_layer=False)
    backbone.load_state_dict(
        {name.removeprefix("bert."): value for name, value in models.backbone_state(folder).items()}
    )
    return backbone


class FineTuned(nn.Module):
    """A fine-tuned copy of the encoder with a head for each task, the comparison for adapters."""

    def __init__(self, backbone: Any, answers: Mapping[str, int]) -> None:
        super().__init__()
        self.backbones = nn.ModuleDict({name: copy.deepcopy(backbone) for name in answers})
        width = backbone.config.hidden_size
        self.heads = nn.ModuleDict({name: nn.Linear(width, count) for name, count in answers.items()})

    def scores(self, inputs: Mapping[str, Tensor], task: str) -> Tensor:
        """Logits (rows, answers)."""
        states = self.backbones[task](**inputs).last_hidden_state
        attended = inputs["attention_mask"][..., None].to(states.dtype)
        logits: Tensor = self.heads[task]((states * attended).sum(1) / attended.sum(1))
        return logits


class AdaptersObjective(Objective):
    """A batch of each task in every step; texts of a batch have similar lengths."""

    def prepare_data(self) -> None:
        recipe = self.recipe
        self.folder = models.backbone_folder(str(recipe.model["package"]))
        self.tokenizer = models.backbone_tokenizer(self.folder)
        self.rows = Rows(self.tokenizer)
        self.tasks: dict[str, dict[str, Any]] = recipe.model["tasks"]
        self.train, self.test = (
            {
                task: prepare(recipe, task, self.tokenizer, self.corpus, self.cache, held_out=held_out)
                for task in self.tasks
            }
            for held_out in (False, True)
        )
        self._by_task = {task: Epochs(recipe.seed, partial(self._plan, task)) for task in self.tasks}

    def new_model(self) -> Any:
        answers = {task: len(settings["answers"]) for task, settings in self.tasks.items()}
        self.tuned = self.recipe.model.get("tune") == "all"
        backbone = encoder(self.folder)
        return (
            FineTuned(backbone, answers)
            if self.tuned
            else AdapterBert(backbone, answers, int(self.recipe.model["size"]))
        )

    def _plan(self, task: str, rng: np.random.Generator) -> list[Ints]:
        passes = [source.passes for source in sources_of(self.recipe, task)]
        shares = {name: float(settings.get("share", 1.0)) for name, settings in self.tasks.items()}
        most = int(self.recipe.step_tokens * shares[task] / sum(shares.values()))
        items = batches.mix(self.train[task].source, passes, rng)
        length = batches.round_up(self.train[task].lengths)[items]
        return batches.plan(items, length, length, most, rng)

    def batch(self, step: int) -> Batch:
        """Tensors named ``<task>.<name>``."""
        batch: Batch = {}
        for number, task in enumerate(self.tasks):
            rng = np.random.default_rng([self.recipe.seed, 1, step, number])
            index = self._by_task[task][step]
            rows = self.rows.batch(self.train[task], index, str(self.tasks[task]["form"]), repeat(rng))
            batch |= {f"{task}.{name}": value for name, value in rows.items()}
        return batch

    def scores(self, batch: Mapping[str, Tensor], task: str) -> dict[str, Tensor]:
        """Logits (rows, answers) of one task's batch, by method."""
        inputs = {name: batch[name] for name in ("input_ids", "token_type_ids", "attention_mask")}
        if self.tuned:
            return {"tuned": self.model.scores(inputs, task).float()}
        adapted = self.model.answer(inputs, task).logits.float()
        return {"adapters": adapted, "alone": self.model.answer_alone(inputs, task).float()}

    def loss(self, batch: Batch) -> Tensor:
        total = []
        for task in self.tasks:
            task_batch = {name: batch[f"{task}.{name}"] for name in _NAMES}
            total += [
                functional.cross_entropy(s, task_batch["answers"]) for s in self.scores(task_batch, task).values()
            ]
        return torch.stack(total).sum() / len(self.tasks)

    def size(self, batch: Batch) -> int:
        return sum(int(batch[f"{task}.attention_mask"].sum()) for task in self.tasks)

    def measure(self) -> dict[str, float]:
        """Accuracy in percent for each task, always on the same held-out texts."""
        accuracies: dict[str, float] = {}
        for task, settings in self.tasks.items():
            right: dict[str, list[bool]] = {}
            for batch in measured(self.rows, self.test[task], str(settings["form"]), MEASURED, self.device):
                for name, scores in self.scores(batch, task).items():
                    right.setdefault(name, []).extend((scores.argmax(-1) == batch["answers"]).tolist())
            accuracies |= {f"{task} {_SPOKEN[name]}": 100 * float(np.mean(hits)) for name, hits in right.items()}
        return accuracies

    def export(self, folder: Path) -> None:
        """Each task in its own file, float16; the encoder and its tokenizer stay in their package."""
        if self.tuned:
            return
        for task, part in self.model.tasks.items():
            models.ship_tensors(dict(part.named_parameters()), folder / f"{task}.safetensors")
        config = copy.deepcopy(self.model.config)
        config.architectures = [ARCHITECTURE]
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = DROPOUT
        config.adapter_size = int(self.recipe.model["size"])
        config.adapter_tasks = self.tasks
        config.save_pretrained(folder)


_NAMES = ("input_ids", "token_type_ids", "attention_mask", "answers")
_SPOKEN = {"adapters": "accuracy", "alone": "accuracy, head alone", "tuned": "accuracy, everything tuned"}


def measured(
    rows: Rows, texts: Texts, form: str, most: int, device: torch.device | str = "cpu"
) -> Iterator[dict[str, Tensor]]:
    """Batches over evenly spaced held-out texts, always with the same swaps."""
    some = evenly(texts, most)
    for index, rngs in batches.measured(some, batches.round_up(texts.lengths[some])):
        yield {name: value.to(device) for name, value in rows.batch(texts, index, form, rngs).items()}


_JOINERS = ("'", "’", "-", "‘", "`")


class Text(NamedTuple):
    """A text, and the number of its label (0 where it is sampled later)."""

    text: str
    answer: int


@dataclass(frozen=True, slots=True)
class Texts:
    """n tokenized texts of one task, without special tokens."""

    tokens: Ragged
    answers: Ints
    """(n,)."""
    source: Ints
    """(n,) number of the source among the task's own."""

    def __len__(self) -> int:
        return len(self.answers)

    @property
    def lengths(self) -> Ints:
        """(n,) tokens, ``[CLS]`` and ``[SEP]`` included."""
        return self.tokens.lengths + 2


def sources_of(recipe: Recipe, task: str) -> tuple[SourceFile, ...]:
    """The sources of a task; the part after the slash of a source's task is its label."""
    sources = tuple(source for source in recipe.sources if source.task.partition("/")[0] == task)
    if not sources:
        raise AtlasError(f"The recipe {recipe.slug} has no source for the task {task!r}.")
    return sources


def labeled_texts(
    folder: Path, source: SourceFile, form: str, answers: list[str], *, every: int, held_out: bool
) -> Iterator[Text]:
    """The texts of one side of the split."""
    items = corpus.items_of(folder, source, every=every)
    if form == "labeled":
        for item in items:
            if corpus.held_out(item.other, every) == held_out:
                yield Text(item.other, answers.index(item.text))
    elif form == "last-mark":
        yield from _without_marks(item.text for item in items if item.held_out == held_out)
    else:
        answer = answers.index(source.task.partition("/")[2]) if form == "source" else 0
        for item in items:
            if item.held_out == held_out:
                yield Text(item.text, answer)


def _without_marks(sentences: Iterator[str]) -> Iterator[Text]:
    counts = [0, 0]
    for sentence in sentences:
        answer = ".?".find(sentence[-1:])
        text = sentence[:-1]
        if answer < 0 or set(text) & set(".?!") or counts[answer] > counts[1 - answer]:
            continue
        counts[answer] += 1
        yield Text(text, answer)


def prepare(recipe: Recipe, task: str, tokenizer: Any, folder: Path, cache: Path, *, held_out: bool) -> Texts:
    """One side of a task's split, cached.

    Texts of ``shortest`` to ``longest`` tokens. Raises `CorpusError` where there is none.
    """
    settings = recipe.model["tasks"][task]
    every, shortest, longest = (int(recipe.data[name]) for name in ("hold_out_every", "shortest", "longest"))
    sources = sources_of(recipe, task)

    def make() -> dict[str, Any]:
        rows: list[list[int]] = []
        marks: list[tuple[int, int]] = []
        for number, source in enumerate(sources):
            form, answers = str(settings["form"]), list(settings["answers"])
            texts = list(labeled_texts(folder, source, form, answers, every=every, held_out=held_out))
            for text, ids in zip(texts, encoded(tokenizer, (t.text for t in texts), special=False), strict=True):
                if shortest <= len(ids) <= longest:
                    rows.append(ids)
                    marks.append((text.answer, number))
        corpus.require(len(rows), "measuring" if held_out else "training", sources)
        return {"texts": Ragged.of(rows), "marks": np.array(marks)}

    data = stored(cache, (task, sources, recipe.data, settings["form"], settings["answers"], held_out), make)
    return Texts(data["texts"], data["marks"][:, 0], data["marks"][:, 1])


def evenly(texts: Texts, most: int) -> Ints:
    """At most ``most`` rows, about equally many from each source, evenly spaced in it."""
    sources = np.unique(texts.source)
    each = max(1, most // len(sources))
    chosen = []
    for number in sources:
        rows = np.flatnonzero(np.asarray(texts.source) == number)
        chosen.append(rows[np.unique(np.linspace(0, len(rows) - 1, min(each, len(rows))).round().astype(np.int64))])
    return np.concatenate(chosen)


class Rows:
    """Makes an encoder's inputs of texts, half of them with two words swapped if the task is ``swapped-words``.

    Args:
        tokenizer: the encoder's, of the tokenizers library.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.words = Vocabulary(tokenizer)
        vocab: Mapping[str, int] = tokenizer.get_vocab()
        self.letters = np.zeros(len(vocab), dtype=bool)
        self.joins = np.zeros(len(vocab), dtype=bool)
        for piece, index in vocab.items():
            self.letters[index] = piece.removeprefix("##").isalpha()
            self.joins[index] = piece in _JOINERS

    def swap_words(self, ids: list[int], rng: np.random.Generator) -> list[int] | None:
        """The tokens with two adjacent words swapped; None where no two words can be."""
        starts = [at for at in range(len(ids)) if not self.words.continues[ids[at]]]
        words = [ids[a:b] for a, b in pairwise([*starts, len(ids)])]
        free = [
            all(self.letters[i] for i in word)
            and not any(0 <= n < len(words) and self.joins[words[n][0]] for n in (at - 1, at + 1))
            for at, word in enumerate(words)
        ]
        candidates = [at for at in range(len(words) - 1) if free[at] and free[at + 1] and words[at] != words[at + 1]]
        if not candidates:
            return None
        at = candidates[int(rng.integers(len(candidates)))]
        words[at], words[at + 1] = words[at + 1], words[at]
        return [piece for word in words for piece in word]

    def row(self, texts: Texts, index: int, form: str, rng: np.random.Generator) -> tuple[list[int], int]:
        """Token ids and label of one text."""
        ids, answer = texts.tokens.row(index), int(texts.answers[index])
        if form == "swapped-words" and rng.random() < 0.5:
            changed = self.swap_words(ids, rng)
            if changed is not None:
                return changed, 1
        return ids, answer

    def batch(self, texts: Texts, index: Ints, form: str, rngs: Iterable[np.random.Generator]) -> dict[str, Tensor]:
        """``input_ids``, ``token_type_ids`` and ``attention_mask`` (rows, width), and ``answers`` (rows,)."""
        rows = [self.row(texts, int(i), form, rng) for i, rng in zip(index, rngs, strict=False)]
        width = int(batches.round_up(np.array([max(len(ids) + 2 for ids, _ in rows)]))[0])
        ids = np.full((len(rows), width), self.words.pad, dtype=np.int64)
        for number, (text, _) in enumerate(rows):
            ids[number, : len(text) + 2] = self.words.framed(np.array(text, dtype=np.int64))
        return batches.tensors(
            input_ids=ids,
            token_type_ids=np.zeros_like(ids),
            attention_mask=(ids != self.words.pad).astype(np.int64),
            answers=np.array([answer for _, answer in rows], dtype=np.int64),
        )
