"""Measures models of several languages: translation in every direction, masked words beside a translation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from core.checkpoints.spec import Checkpoint
from core.language.bilingual import LANGUAGES, layout, numbers, scores
from core.training import measures, parallel
from core.training import recipe as recipes
from core.training.evaluate_encoders import Found

PAIRS = 400
"""Held-out sentences of the corpus that are measured, for each direction."""
_COLUMNS = {"en": 0, "fr": 1, "de": 2}
"""Where a language stands in the committed table of translations."""
DIRECTIONS = ("en-fr", "fr-en", "en-de", "de-en", "fr-de", "de-fr")


def many(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """BLEU and chrF of every direction; of those without English also by way of it, in two steps."""
    rows = measures.read_table(measures.TRANSLATIONS)
    committed: dict[str, dict[str, list[str]]] = {}
    for task in DIRECTIONS:
        source, target = (_COLUMNS[language] for language in task.split("-"))
        committed[task] = {row[source]: [row[target]] for row in rows}
    found = {f"{len(rows)} sentences written for this project": _directions(checkpoint, committed)}
    if corpus is not None:
        on = f"{PAIRS} sentences of the corpus held out from training, all their translations as references"
        found[on] = _directions(checkpoint, _held_out(corpus, int(_recipe(checkpoint).data["hold_out_every"])))
    return found


def _recipe(checkpoint: Checkpoint) -> recipes.Recipe:
    return recipes.load(checkpoint.spec.slug)


def _held_out(corpus: Path, every: int) -> dict[str, dict[str, list[str]]]:
    """For each direction the sources and their translations; no sentence of them, nor a bridge, was trained on."""
    split = parallel.splits(corpus, every)
    found: dict[str, dict[str, list[str]]] = {}
    for name, pairs in (*((name, split[name].test) for name in split), ("fr-de", parallel.unseen(corpus, split).test)):
        one, other = name.split("-")
        found[name] = _some(parallel.references(pairs()))
        found[f"{other}-{one}"] = _some(parallel.references((right, left) for left, right in pairs()))
    return found


def _some(grouped: dict[str, list[str]]) -> dict[str, list[str]]:
    return dict(islice(grouped.items(), PAIRS))


def _directions(checkpoint: Checkpoint, grouped: dict[str, dict[str, list[str]]]) -> dict[str, float]:
    found: dict[str, float] = {}
    made_of: dict[tuple[str, ...], list[str]] = {}

    def made(task: str, texts: list[str]) -> list[str]:
        """Translations, each text once: on the way through English stands what its own direction had to make."""
        key = (task, *texts)
        if key not in made_of:
            made_of[key] = translate(checkpoint, task, texts)
        return made_of[key]

    for task in DIRECTIONS:
        texts, references = list(grouped[task]), list(grouped[task].values())
        if not texts:
            continue
        ways = {task: made(task, texts)}
        source, target = task.split("-")
        if "en" not in (source, target):
            ways[f"{task} through English"] = made(f"en-{target}", made(f"{source}-en", texts))
        for way, outputs in ways.items():
            found |= {f"{way} {name}": value for name, value in measures.translation(outputs, references).items()}
    return found


def translate(checkpoint: Checkpoint, task: str, texts: Iterable[str]) -> list[str]:
    """Translations by beam search: the source opens with its language's token, the output with the target's."""
    source, target = (f"__{language}__" for language in task.split("-"))
    tokenizer = checkpoint.tokenizer
    first = int(tokenizer.convert_tokens_to_ids(target))
    return measures.rewrite(checkpoint.model, tokenizer, [source + text for text in texts], first=first)


def bilingual(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """Masked words of English and French sentences that come back, with the translation beside them and without."""
    rows = [(row[0], row[1]) for row in measures.read_table(measures.TRANSLATIONS)]
    found = {f"masked words of {len(rows)} sentences written for this project": recovered(checkpoint, rows)}
    if corpus is not None:
        every = int(_recipe(checkpoint).data["hold_out_every"])
        pairs = parallel.Split(partial(parallel.rows, corpus, "en-fr"), every).test()
        some = list(islice((pair for pair in pairs if _fits(checkpoint, pair)), PAIRS))
        on = f"masked words of {len(some)} sentence pairs of the corpus held out from training"
        found[on] = recovered(checkpoint, some)
    return found


def _fits(checkpoint: Checkpoint, pair: parallel.Pair) -> bool:
    limit = int(checkpoint.model.config.max_position_embeddings)
    return all(len(checkpoint.tokenizer(text)["input_ids"]) <= limit for text in pair)


def recovered(checkpoint: Checkpoint, pairs: Sequence[parallel.Pair]) -> dict[str, float]:
    """Top-1 and top-5 in percent over the masked tokens (`core.training.measures.hide`) of each side of the pairs.

    The same words are hidden with the whole other sentence beside them and without it.
    """
    tokenizer: Any = checkpoint.tokenizer
    languages, names = numbers(checkpoint), tuple(LANGUAGES.values())
    end = int(tokenizer.eos_token_id)
    found: dict[str, float] = {}
    for side, name in enumerate(names):
        hits = {f"{name} alone": [0, 0], f"{name} with {names[1 - side]}": [0, 0]}
        total = 0
        for seed, pair in enumerate(pairs):
            texts = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in pair]
            whole = np.array([end, *texts[side], end], dtype=np.int64)
            hidden, places = measures.hide(whole, tokenizer, seed=seed)
            given = [list(text) for text in texts]
            given[side] = hidden[1:-1].tolist()
            both = list(zip(languages, given, strict=True))
            before = len(texts[0]) + 2 if side else 0
            total += len(places)
            for way, parts, start in zip(hits, ([both[side]], both), (0, before), strict=True):
                found_there = scores(checkpoint.model, layout(parts, end), (places + start).tolist())
                right = found_there.topk(5).indices.cpu().numpy() == whole[places][:, None]
                hits[way][0] += int(right[:, 0].sum())
                hits[way][1] += int(right.any(axis=1).sum())
        for way, (first, near) in hits.items():
            found |= {f"{way} top-1": 100 * first / total, f"{way} top-5": 100 * near / total}
    return found
