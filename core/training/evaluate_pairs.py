"""Measures of models that read one text and write another: translation, repair, spelling, fusion, denoising."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from core.checkpoints.spec import Checkpoint
from core.language.noise import NOISES, error_rate, noisy
from core.objectives.corruptions import CORRUPTIONS, damage_text
from core.training import corpus as corpora
from core.training import measures, parallel
from core.training import recipe as recipes
from core.training.measures import OUT, STORY, WRITTEN, Numbers, hold_out_every, story_chunks, token_ids
from core.training.objectives.pairs import UNSEEN, made_fusions, token
from core.training.parallel import CONNECTIVES, LANGUAGES, Fusion, damaged, prefix

PAIRS = 400
"""Held-out sentences of the corpus that are measured, for each direction or task."""
DENOISED = 200
"""Held-out texts, for each corruption."""
SPELLED = 150
"""Held-out sentences, under each noise at its default rate and without."""
FUSED = 300
DIRECTIONS = ("en-fr", "fr-en", "en-de", "de-en", "fr-de", "de-fr")
SENTENCES = measures.ROOT / "assets" / "heldout" / "fusions.tsv"

Grouped = dict[str, dict[str, list[str]]]
"""For each direction the sources and their translations."""


def _evenly(found: list[Any], most: int) -> list[Any]:
    return found[:: max(1, len(found) // most)][:most]


@cache
def held_out_pairs(corpus: Path, every: int, *, unseen: bool) -> Grouped:
    """Of no sentence, nor of a bridge between languages that never met, was anything trained on."""
    split = parallel.splits(corpus, every)
    sides = {name: side.test for name, side in split.items()}
    if unseen:
        sides[UNSEEN] = parallel.unseen(corpus, split).test
    found: Grouped = {}
    for name, pairs in sides.items():
        one, other = name.split("-")
        for task, rows in ((name, pairs()), (f"{other}-{one}", ((right, left) for left, right in pairs()))):
            found[task] = dict(islice(parallel.references(rows).items(), PAIRS))
    return found


def all_directions(
    checkpoint: Checkpoint, corpus: Path | None, directions: Sequence[str] = DIRECTIONS
) -> Iterator[tuple[str, Grouped]]:
    """Sentences and their translations, in every direction."""
    rows, place = measures.read_table(measures.TRANSLATIONS), list(LANGUAGES)
    sides = {task: [place.index(language) for language in task.split("-")] for task in directions}
    yield WRITTEN.format(len(rows)), {task: {row[a]: [row[b]] for row in rows} for task, (a, b) in sides.items()}
    if corpus is not None:
        on = f"{OUT.format(PAIRS)}, all their translations as references"
        yield on, held_out_pairs(corpus, hold_out_every(checkpoint), unseen=UNSEEN in directions)


def with_english(checkpoint: Checkpoint, corpus: Path | None) -> Iterator[tuple[str, Grouped]]:
    """The same, in the directions that have an English side."""
    return all_directions(checkpoint, corpus, [task for task in DIRECTIONS if "en" in task])


def english(checkpoint: Checkpoint, corpus: Path | None) -> Iterator[tuple[str, list[str]]]:
    """English sentences."""
    for number, (on, grouped) in enumerate(with_english(checkpoint, corpus)):
        yield f"{PAIRS} English sentences of the corpus held out from training" if number else on, [*grouped["en-fr"]]


def translated(checkpoint: Checkpoint, grouped: Grouped) -> Numbers:
    """BLEU and chrF in each direction."""
    found: Numbers = {}
    for task, rows in grouped.items():
        made = measures.rewrite(checkpoint, [prefix(task) + text for text in rows])
        found |= {f"{task} {name}": value for name, value in measures.translation(made, list(rows.values())).items()}
    return found


def repaired(checkpoint: Checkpoint, clean: list[str]) -> Numbers:
    """What is left of damage after repair."""
    broken = [damaged(text, index) for index, text in enumerate(clean)]
    made = measures.rewrite(checkpoint, [prefix("repair") + text for text in broken])
    return {f"repair {name}": value for name, value in measures.repair(made, broken, clean).items()}


def both_ways(checkpoint: Checkpoint, grouped: Grouped) -> Numbers:
    """BLEU and chrF of every direction; of those without English also by way of it, in two steps."""
    found: Numbers = {}
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
    source, target = map(token, task.split("-"))
    first = int(checkpoint.tokenizer.convert_tokens_to_ids(target))
    return measures.rewrite(checkpoint, [source + text for text in texts], first=first)


def short_sentences(checkpoint: Checkpoint, corpus: Path | None) -> Iterator[tuple[str, list[str]]]:
    """Sentences to be spelled, of the corpus evenly from all sources, none longer in bytes than those of training."""
    written = [row[0] for row in measures.read_table(measures.TRANSLATIONS)]
    yield WRITTEN.format(len(written)), written
    if corpus is not None:
        recipe, every = recipes.load(checkpoint.spec.slug), hold_out_every(checkpoint)
        shortest, longest = (int(recipe.data[name]) for name in ("shortest", "longest"))
        items = (item for source in recipe.sources for item in corpora.read(corpus, source, every=every))
        held = (item.text for item in items if item.held_out)
        found = [text for text in held if shortest <= len(text.encode()) + 1 <= longest]
        yield OUT.format(SPELLED), _evenly(found, SPELLED)


def respelt(checkpoint: Checkpoint, texts: list[str]) -> Numbers:
    """Greedy answers: what is exact after each noise, the error rates before and after, what is right and stays so."""
    ways = {kind: [noisy(text, kind, seed=seed) for seed, text in enumerate(texts)] for kind in NOISES}
    # all at once, so that texts of one length are read together whatever their noise
    every = [text for given in (*ways.values(), texts) for text in given]
    answers = measures.rewrite(checkpoint, every, beams=1, rows=64, longest=160)
    count = len(texts)
    found: Numbers = {}
    for number, (kind, given) in enumerate(ways.items()):
        made = answers[number * count : (number + 1) * count]
        found[f"{kind} exact after"] = measures.equal(made, texts)
        found[f"{kind} CER before"] = error_rate(given, texts)
        found[f"{kind} CER after"] = error_rate(made, texts)
    found["left untouched"] = measures.equal(answers[-count:], texts)
    means = ("exact after", "CER before", "CER after")
    return {name: sum(found[f"{kind} {name}"] for kind in NOISES) / len(NOISES) for name in means} | found


def to_fuse(checkpoint: Checkpoint, path: Path | None) -> Iterator[tuple[str, list[Fusion]]]:
    """Pairs of sentences that were one."""
    written = [Fusion(*row) for row in measures.read_table(SENTENCES)]
    yield WRITTEN.format(len(written)), written
    if path is not None:
        some = _evenly(list(made_fusions(path, recipes.load(checkpoint.spec.slug), held_out=True)), FUSED)
        yield OUT.format(len(some)), some


def fused(checkpoint: Checkpoint, rows: Sequence[Fusion]) -> Numbers:
    """Connectives and whole sentences that come back, in percent; and the connectives that "and" alone would get."""
    outputs = measures.rewrite(checkpoint, [row.parts for row in rows])
    often = max(sum(row.connective == word for row in rows) for word in CONNECTIVES)
    found = [connective(output, row) for output, row in zip(outputs, rows, strict=True)]
    return {
        "connective": measures.equal(found, [row.connective for row in rows]),
        "connective, the most frequent one always": 100 * often / len(rows),
        "whole sentence": measures.equal(map(corpora.normal, outputs), [corpora.normal(row.whole) for row in rows]),
    }


def connective(output: str, row: Fusion) -> str:
    """The connective that stands in the output and not in the two sentences; empty where there is none."""
    before = corpora.normal(row.parts).split()
    for word in corpora.normal(output).split():
        if word in before:
            before.remove(word)
        elif word in CONNECTIVES:
            return word
    return ""


def two_sentences(checkpoint: Checkpoint, corpus: Path | None) -> Iterator[tuple[str, list[str]]]:
    """Texts of the story, and of held-out books two sentences that follow each other, from each of many places."""
    room = int(checkpoint.tokenizer.model_max_length) - 6  # masks for empty spans make a text longer
    yield STORY, story_chunks(checkpoint, room)
    if corpus is not None:
        source = recipes.SourceFile("stories.txt", sentences=True, group=2)
        items = corpora.read(corpus, source, every=hold_out_every(checkpoint))
        held = (item.text for item in items if item.held_out and len(corpora.sentences(item.text)) == 2)
        found = [text for text in held if len(token_ids(checkpoint, text, special=True)) <= room]
        yield f"{DENOISED} texts from books of the corpus held out from training", _evenly(found, DENOISED)


def undone(checkpoint: Checkpoint, texts: list[str]) -> Numbers:
    """How near to the text each corruption leaves it, and how near the model's answer is."""
    found: Numbers = {}
    for kind in CORRUPTIONS:
        damaged = [damage_text(checkpoint, text, kind, seed) for seed, text in enumerate(texts)]
        made = measures.rewrite(checkpoint, damaged, beams=1)
        numbers = measures.repair(made, damaged, texts)
        found |= {f"{kind} {name}": numbers[name] for name in ("chrF before", "chrF after", "exact after")}
    return found
