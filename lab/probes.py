r"""``python -m lab probes``: linear probes of a model's layers over the treebank, each beside a control task.

`core.vectors.probing` defines probe and control, and describes the files. Tasks, with the class of a word:

    speech      its part of speech
    distance    how many words to the left or to the right its syntactic head is; `REACH` and more are one class
    identity    the word itself, for words of at least `OFTEN` occurrences; it has no control, since that is what it is

The sentences are in `FOLDS` parts; each is held out once, and has random classes of its own in the control. W and b are
learned by Adam on the mean cross-entropy, with :math:`\lambda \|W\|^2` added, the same for all layers and models.

Legend: L layers, n words, w hidden size, K labelings, C classes.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core import checkpoints
from core.arrays import Floats
from core.attention.roles.treebank import ROOT, SHIPPED, Sentence, read_treebank
from core.checkpoints.spec import Checkpoint
from core.errors import AtlasError, InputTooLong
from core.lazy import Tensor, torch
from core.vectors.mix import normed
from core.vectors.occurrences import tokens_within
from core.vectors.probing import COLUMNS, FOLDER, TAGGED, TASKS
from core.vectors.reading import read_states, readable

FOLDS = 5
REACH = 4
OFTEN = 5
_STEPS = 100
_RATE = 0.02
DECAY = 3e-3

Row = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class ReadWords:
    """The n words of the treebank, as one model reads them."""

    states: Floats
    """(L + 1, n, w)"""
    texts: tuple[str, ...]
    """In lower case."""
    folds: tuple[int, ...]
    classes: dict[str, tuple[str, ...]]
    """By task."""


def read_words(checkpoint: Checkpoint, sentences: Sequence[Sentence]) -> ReadWords:
    """The words that have a token, of the sentences that fit."""
    parts = np.random.default_rng(0).permutation(len(sentences)) % FOLDS
    states, texts, folds = [], [], []
    classes: dict[str, list[str]] = {task: [] for task in TASKS}
    for sentence, part in zip(sentences, parts.tolist(), strict=True):
        try:
            reading = read_states(checkpoint, sentence.text)
        except InputTooLong:
            continue
        for word, (start, end) in enumerate(sentence.spans):
            if pieces := tokens_within(reading.tokens, start, end):
                states.append(reading.states[:, list(pieces)].mean(axis=1))
                texts.append(sentence.words[word].lower())
                folds.append(part)
                classes["speech"].append(sentence.upos[word])
                classes["distance"].append(distance(word, sentence.heads[word]))
    classes["identity"] = texts
    vectors = normed(np.stack(states, axis=1))
    return ReadWords(vectors, tuple(texts), tuple(folds), {task: tuple(classes[task]) for task in TASKS})


def distance(word: int, head: int) -> str:
    """The class of a word by its head: “root”, or where that is, such as “←1” or “4+→”."""
    if head == ROOT:
        return "root"
    words = f"{REACH}+" if abs(head - word) >= REACH else str(abs(head - word))
    return f"←{words}" if head < word else f"{words}→"


def control_classes(texts: Sequence[str], classes: Sequence[str], seed: int) -> list[str]:
    """One random class for each word, drawn from those of all words."""
    types = sorted(set(texts))
    drawn = dict(zip(types, np.random.default_rng(seed).choice(classes, len(types)).tolist(), strict=True))
    return [drawn[text] for text in texts]


def probe(words: ReadWords, task: str) -> tuple[list[Row], Tensor, Tensor, list[str]]:
    """The rows of a task, and (L + 1, w, C) and (L + 1, 1, C) learned from all words, with the names of classes."""
    often = Counter(words.classes[task])
    kept = [i for i, name in enumerate(words.classes[task]) if task != "identity" or often[name] >= OFTEN]
    states = torch.from_numpy(words.states)[:, kept]
    texts, classes = ([values[i] for i in kept] for values in (words.texts, words.classes[task]))
    folds = [words.folds[i] for i in kept]
    names = sorted(set(classes))
    controls = [] if task == "identity" else [control_classes(texts, classes, fold) for fold in range(FOLDS)]
    labelings = [classes] * FOLDS + controls + [classes]
    truth = torch.tensor([[names.index(name) for name in labeling] for labeling in labelings])
    fold_of = torch.tensor(folds)
    held_out = torch.stack([fold_of == k for k in range(FOLDS)])
    tested = torch.cat((held_out, held_out[: len(controls)], torch.zeros_like(held_out[:1])))
    weight, bias = fit(states, truth, ~tested, len(names))
    predicted = _scores(states, weight, bias, len(truth)).argmax(-1)  # (L + 1, n, K)
    right = (predicted == truth.T) & tested.T
    rows: list[Row] = []
    for fold in range(FOLDS):
        baselines = _baselines(texts, classes, held_out[fold].tolist())
        seen = {text for text, part in zip(texts, folds, strict=True) if part != fold}
        unseen = held_out[fold] & torch.tensor([text not in seen for text in texts])
        for layer, correct in enumerate(right.unbind()):
            counts = (
                int(held_out[fold].sum()),
                int(correct[:, fold].sum()),
                int(correct[:, FOLDS + fold].sum()) if controls else "",
                *baselines,
                int(unseen.sum()),
                int((correct[:, fold] & unseen).sum()),
            )
            rows.append((task, layer, fold, *counts))
    rows.sort(key=lambda row: row[1:3])
    size = len(names)
    return rows, weight[..., -size:].contiguous(), bias[..., -size:].contiguous(), names


def fit(states: Tensor, truth: Tensor, trained: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    """(L, w, K·C) and (L, 1, K·C): probes for each layer and labeling.

    Args:
        states: (L, n, w).
        truth: (K, n) classes.
        trained: (K, n) True for words in training.
    """
    layers, _, width = states.shape
    weight = torch.zeros(layers, width, len(truth) * classes, requires_grad=True)
    bias = torch.zeros(layers, 1, len(truth) * classes, requires_grad=True)
    adam = torch.optim.Adam([weight, bias], lr=_RATE)
    shares = (trained / trained.sum(1, keepdim=True)).T
    targets = truth.T.expand(layers, -1, -1).unsqueeze(-1)
    for _ in range(_STEPS):
        adam.zero_grad()
        scores = _scores(states, weight, bias, len(truth))
        losses = scores.logsumexp(-1) - scores.gather(-1, targets).squeeze(-1)  # (L, n, K)
        loss = (losses * shares).sum() + DECAY * (weight**2).sum()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
    return weight.detach(), bias.detach()


def _scores(states: Tensor, weight: Tensor, bias: Tensor, labelings: int) -> Tensor:
    """(L, n, K, C)"""
    return torch.baddbmm(bias, states, weight).view(*states.shape[:2], labelings, -1)


def _baselines(texts: Sequence[str], classes: Sequence[str], held_out: Sequence[bool]) -> tuple[int, int]:
    """Held-out words that a lookup of each word's most frequent class, and the most frequent of all, have right."""
    by_word: dict[str, Counter[str]] = {}
    overall: Counter[str] = Counter()
    for text, name, out in zip(texts, classes, held_out, strict=True):
        if not out:
            by_word.setdefault(text, Counter())[name] += 1
            overall[name] += 1
    usual = overall.most_common(1)[0][0]
    words = [(text, name) for text, name, out in zip(texts, classes, held_out, strict=True) if out]
    looked_up = (by_word[text].most_common(1)[0][0] if text in by_word else usual for text, _ in words)
    lookup = sum(guess == name for guess, (_, name) in zip(looked_up, words, strict=True))
    return lookup, sum(name == usual for _, name in words)


def cli_probes(slugs: Sequence[str], output: Path | None = None) -> None:
    """Train the probes of these checkpoints, or of all bundled ones, and write them; prints a line for each task.

    Raises:
        AtlasError: a model is unknown or has no layers of its own, or the folder is not writable.
    """
    specs = [checkpoints.get(slug) for slug in slugs]
    if not specs:
        specs = [spec for spec in checkpoints.available() if spec.source in ("bundled", "package") and readable(spec)]
    folder = output or FOLDER
    sentences = list(read_treebank(SHIPPED))
    for spec in specs:
        words = read_words(checkpoints.load(spec.slug), sentences)
        rows: list[Row] = []
        tensors: dict[str, Tensor] = {}
        names: dict[str, str] = {}
        for task in TASKS:
            of_task, weight, bias, classes = probe(words, task)
            rows += of_task
            if task in TAGGED:
                tensors |= {f"{task}.weight": weight.half(), f"{task}.bias": bias.half()}
                names[task] = " ".join(classes)
        _write(folder, spec.slug, rows, tensors, names)
        print(spec.slug, *_summary(rows), sep="\n  ", flush=True)


def _write(folder: Path, slug: str, rows: Sequence[Row], tensors: dict[str, Tensor], names: dict[str, str]) -> None:
    from safetensors.torch import save

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{slug}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])
        (folder / f"{slug}.safetensors").write_bytes(save(tensors, names))
    except OSError as error:
        raise AtlasError(f"{folder} cannot be written: {error.strerror}.") from None


def _summary(rows: Sequence[Row]) -> list[str]:
    lines = []
    for task in dict.fromkeys(row[0] for row in rows):
        layers: dict[int, list[int]] = {}
        for _, layer, _, words, right, *_ in (row for row in rows if row[0] == task):
            sums = layers.setdefault(int(layer), [0, 0])
            sums[0] += int(right)
            sums[1] += int(words)
        lines.append(f"{task}: " + " ".join(f"{right / words:.3f}" for right, words in layers.values()))
    return lines
