"""Measures of T5's tasks beside translation and repair, each with baselines that learn from the same training pairs.

Greedy outputs; all shares in percent. For similarity also the expected number, by the probabilities of all strings.

labels         exact outputs; logistic regression on words and pairs of adjacent words; the most frequent label always
similarity     correlation of the numbers; linear regression on shared words, edit distance and lengths
spans          first words right, and whole spans; the most frequent word between the neighbors, else after the left one
summary        chrF to the first sentence; the first sentence of the input
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from rapidfuzz.distance import Levenshtein

from core.checkpoints.spec import Checkpoint
from core.objectives.sentinels import filled, spans
from core.run.model import call
from lab import measures, mixture
from lab import recipe as recipes
from lab.corpus import normalized, sentences
from lab.measures import Numbers, hold_out_every
from lab.objective import Sampled, Share
from lab.parallel import PREFIXES, Pair, prefix

HELD, LEARNED = 400, 40_000
"""Held-out pairs of each task, and training pairs of its baselines; both at most."""
NUMBERS = [f"{step / 5:.1f}" for step in range(26)]
LABELS = ("sentiment", "acceptability", "question")

Tasks = dict[str, tuple[list[Pair], list[Pair]]]
"""Training pairs, for the baselines, and held-out pairs, by task."""


def mixed(checkpoint: Checkpoint, corpus: Path | None) -> Iterator[tuple[str, Tasks]]:
    """Pairs of all tasks of the card in `PREFIXES`."""
    if corpus is not None:
        every, by_task = hold_out_every(checkpoint), defaultdict[str, tuple[list[Pair], list[Pair]]](lambda: ([], []))
        sources = recipes.load(checkpoint.spec.slug).sources
        for source in (source for source in sources if source.task in PREFIXES):
            count = sum(source.task == other.task for other in sources)
            for side, most in enumerate((LEARNED, HELD)):
                rows = list(mixture.pairs(corpus, source, every=every, held_out=side == 1))
                by_task[source.task][side].extend(rows[:: -(-len(rows) * count // most)])
        yield f"at most {HELD} texts of each task, of the corpus, held out from training", dict(by_task)


def by_task(checkpoint: Checkpoint, tasks: Tasks) -> Numbers:
    scores: Numbers = {}
    for task, (train, rows) in tasks.items():
        longest = 64 if task in ("spans", "summary") else 8
        outputs = measures.rewrite(checkpoint, [prefix(task) + left for left, _ in rows], beams=1, longest=longest)
        scores |= MEASURE.get(task, labeled)(task, train, rows, outputs)
        if task == "similarity":
            numbers = [expected(checkpoint, prefix(task) + left) for left, _ in rows]
            scores |= correlation(f"{task}, expected number", numbers, [float(score) for _, score in rows])
    return scores


@torch.inference_mode()
def expected(checkpoint: Checkpoint, text: str) -> float:
    """The mean of `NUMBERS`, each by the probability that the model generates its string."""
    tokenizer, model = checkpoint.tokenizer, checkpoint.model
    inputs, ways = tokenizer(text, return_tensors="pt"), tokenizer(NUMBERS, return_tensors="pt", padding=True)
    states = call(model.get_encoder(), input_ids=inputs["input_ids"]).last_hidden_state
    of_each = (states.expand(len(NUMBERS), -1, -1),)
    logs = call(model, encoder_outputs=of_each, labels=ways["input_ids"]).logits.log_softmax(-1)
    target_logs = logs.gather(2, ways["input_ids"][..., None])[..., 0] * ways["attention_mask"]
    return float(target_logs.sum(1).softmax(0) @ torch.tensor([float(number) for number in NUMBERS]))


def labeled(task: str, train: Sequence[Pair], rows: Sequence[Pair], outputs: Sequence[str]) -> Numbers:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    words = CountVectorizer(
        ngram_range=(1, 2), min_df=2, binary=True, lowercase=False, tokenizer=str.split, token_pattern=None
    )
    model = make_pipeline(words, LogisticRegression(max_iter=300)).fit(*zip(*train, strict=True))
    labels = [label for _, label in rows]
    return {
        f"{task}, accuracy": measures.equal(outputs, labels),
        f"{task}, accuracy of words and pairs of words alone": measures.equal(
            model.predict([text for text, _ in rows]), labels
        ),
        f"{task}, accuracy of the most frequent label": Share(max(Counter(labels).values()), len(rows)),
    }


def shared(text: str) -> list[float]:
    """Of two sentences: the Jaccard similarity of their words, the normalized edit similarity, and both lengths."""
    left, right = text.split(mixture.SECOND)
    a, b = (set(normalized(side).split()) for side in (left, right))
    together = len(a & b) / max(len(a | b), 1)
    return [together, together**2, Levenshtein.normalized_similarity(left, right), float(len(a)), float(len(b))]


def correlated(task: str, train: Sequence[Pair], rows: Sequence[Pair], outputs: Sequence[str]) -> Numbers:
    """Correlations of the numbers; an output that is none counts as 2.5."""
    from sklearn.linear_model import LinearRegression

    goals, truth = ([float(score) for _, score in pairs] for pairs in (train, rows))
    model = LinearRegression().fit([shared(text) for text, _ in train], goals)
    guesses = [float(text) if re.fullmatch(r"\d\.\d", text) else 2.5 for text in outputs]
    baseline = model.predict([shared(text) for text, _ in rows])
    return correlation(task, guesses, truth) | correlation(f"{task}, shared words alone", baseline, truth)


def correlation(name: str, predicted: Sequence[float], truth: Sequence[float]) -> Numbers:
    from scipy.stats import pearsonr, spearmanr

    pairs = np.array([predicted, truth], dtype=float)
    drawn = np.random.default_rng(0).integers(len(truth), size=(1000, len(truth)))
    numbers: Numbers = {}
    for way, function in (("Pearson", pearsonr), ("Spearman", spearmanr)):
        low, high = np.nanpercentile([function(*pairs[:, sample])[0] for sample in drawn], (2.5, 97.5)).tolist()
        numbers[f"{name}, {way}"] = Sampled(float(function(*pairs)[0]), len(truth), low, high)
    return numbers


def restored(task: str, train: Sequence[Pair], rows: Sequence[Pair], outputs: Sequence[str]) -> Numbers:
    """First words and whole spans, of all spans."""
    between: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for pair in train:
        words = ["", *"".join(part for part, _ in filled(*pair)).split(), ""]
        for left, word, right in zip(words, words[1:], words[2:], strict=False):
            between[left, right][word] += 1
            between[(left,)][word] += 1
    first = whole_spans = often = total = 0
    for (text, answer), output in zip(rows, outputs, strict=True):
        predicted = spans(output)
        for mark, span in spans(answer).items():
            if span:
                guess, words = predicted.get(mark, "").split(), span.split()
                before, _, after = text.partition(mark)
                near = ("", *before.split())[-1], (*after.split(), "")[0]
                counts = between.get(near) or between.get(near[:1]) or Counter("?")
                total += 1
                first += guess[:1] == words[:1]
                whole_spans += guess == words
                often += counts.most_common(1)[0][0] == words[0]
    numbers = {"first word": first, "whole span": whole_spans, "first word, most frequent between its neighbors": often}
    return {f"{task}, {name}": Share(count, total) for name, count in numbers.items()}


def summarized(task: str, train: Sequence[Pair], rows: Sequence[Pair], outputs: Sequence[str]) -> Numbers:
    """chrF to the first sentences."""
    goals = [[goal] for _, goal in rows]
    lead = [sentences(text)[0] for text, _ in rows]
    names = {f"{task}, chrF": list(outputs), f"{task}, first sentence of the input, chrF": lead}
    return {name: measures.translation(summaries, goals)["chrF"] for name, summaries in names.items()}


MEASURE = {"similarity": correlated, "spans": restored, "summary": summarized}
