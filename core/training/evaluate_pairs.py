"""Measures of models that read one text and write another: translation, repair, spelling, fusion, denoising."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from core.checkpoints.spec import Checkpoint
from core.language.noise import NOISES, error_rate, noisy
from core.objectives.corruptions import CORRUPTIONS, damage_text
from core.training import corpus as corpora
from core.training import measures, parallel
from core.training import recipe as recipes
from core.training.measures import STORY, Found, story_chunks
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
HELD_PAIRS = f"{PAIRS} sentences of the corpus held out from training, all their translations as references"

Grouped = dict[str, dict[str, list[str]]]
"""For each direction the sources and their translations."""


def _every(checkpoint: Checkpoint) -> int:
    return int(recipes.load(checkpoint.spec.slug).data["hold_out_every"])


def _committed(directions: Iterable[str]) -> Grouped:
    rows, place = measures.read_table(measures.TRANSLATIONS), list(LANGUAGES)
    sides = {task: [place.index(language) for language in task.split("-")] for task in directions}
    return {task: {row[one]: [row[other]] for row in rows} for task, (one, other) in sides.items()}


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


def seq2seq(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """BLEU and chrF in each direction, and repair of English, on committed sentences; the same on held-out pairs."""
    english = [row[0] for row in measures.read_table(measures.TRANSLATIONS)]
    on = f"{len(english)} sentences written for this project"
    directions = [task for task in DIRECTIONS if "en" in task]
    found = {on: _translated(checkpoint, _committed(directions)) | _repaired(checkpoint, english)}
    if corpus is not None:
        held = held_out_pairs(corpus, _every(checkpoint), unseen=False)
        found[HELD_PAIRS] = _translated(checkpoint, held)
        clean = list(held["en-fr"])
        on = f"{PAIRS} English sentences of the corpus held out from training"
        found[on] = _repaired(checkpoint, clean)
    return found


def _translated(checkpoint: Checkpoint, grouped: Grouped) -> dict[str, float]:
    found: dict[str, float] = {}
    for task, rows in grouped.items():
        made = measures.rewrite(checkpoint.model, checkpoint.tokenizer, [prefix(task) + text for text in rows])
        found |= {f"{task} {name}": value for name, value in measures.translation(made, list(rows.values())).items()}
    return found


def _repaired(checkpoint: Checkpoint, clean: list[str]) -> dict[str, float]:
    broken = [damaged(text, index) for index, text in enumerate(clean)]
    made = measures.rewrite(checkpoint.model, checkpoint.tokenizer, [prefix("repair") + text for text in broken])
    return {f"repair {name}": value for name, value in measures.repair(made, broken, clean).items()}


def many(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """BLEU and chrF of every direction; of those without English also by way of it, in two steps."""
    committed = _committed(DIRECTIONS)
    found = {f"{len(committed['en-fr'])} sentences written for this project": _directions(checkpoint, committed)}
    if corpus is not None:
        held = held_out_pairs(corpus, _every(checkpoint), unseen=True)
        found[HELD_PAIRS] = _directions(checkpoint, held)
    return found


def _directions(checkpoint: Checkpoint, grouped: Grouped) -> dict[str, float]:
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
    source, target = map(token, task.split("-"))
    tokenizer = checkpoint.tokenizer
    first = int(tokenizer.convert_tokens_to_ids(target))
    return measures.rewrite(checkpoint.model, tokenizer, [source + text for text in texts], first=first)


def respell(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """Sentences written for this project, and with the corpus its held-out ones."""
    recipe = recipes.load(checkpoint.spec.slug)
    longest = int(recipe.data["longest"]) - 1
    written = [row[0] for row in measures.read_table(measures.TRANSLATIONS)]
    texts = {f"{len(written)} sentences written for this project": written}
    if corpus is not None:
        texts[f"{SPELLED} sentences of the corpus held out from training"] = held_out_short(recipe, corpus, longest)
    return {on: respelt(checkpoint, some) for on, some in texts.items()}


def respelt(checkpoint: Checkpoint, texts: list[str]) -> dict[str, float]:
    """Greedy answers: what is exact after each noise, the error rates before and after, what is right and stays so."""
    ways = {kind: [noisy(text, kind, seed=seed) for seed, text in enumerate(texts)] for kind in NOISES}
    # all at once, so that texts of one length are read together whatever their noise
    every = [text for given in (*ways.values(), texts) for text in given]
    answers = measures.rewrite(checkpoint.model, checkpoint.tokenizer, every, beams=1, rows=64, longest=160)
    count = len(texts)
    found: dict[str, float] = {}
    for number, (kind, given) in enumerate(ways.items()):
        made = answers[number * count : (number + 1) * count]
        found[f"{kind} exact after"] = 100 * sum(a == b for a, b in zip(made, texts, strict=True)) / len(texts)
        found[f"{kind} CER before"] = error_rate(given, texts)
        found[f"{kind} CER after"] = error_rate(made, texts)
    kept = answers[-count:]
    found["left untouched"] = 100 * sum(a == b for a, b in zip(kept, texts, strict=True)) / len(texts)
    means = ("exact after", "CER before", "CER after")
    return {name: sum(found[f"{kind} {name}"] for kind in NOISES) / len(NOISES) for name in means} | found


def held_out_short(recipe: recipes.Recipe, corpus: Path, longest: int) -> list[str]:
    """`SPELLED` sentences that training did not see, of at most ``longest`` bytes, evenly from all sources."""
    every, shortest = int(recipe.data["hold_out_every"]), int(recipe.data["shortest"]) - 1
    found: list[str] = []
    for source in recipe.sources:
        for item in corpora.read(corpus, source, every=every):
            if item.held_out and shortest <= len(item.text.encode()) <= longest:
                found.append(item.text)
    return found[:: max(1, len(found) // SPELLED)][:SPELLED]


def fusion(checkpoint: Checkpoint, path: Path | None) -> Found:
    """Sentences written for this project, and held-out ones of the corpus."""
    rows = [Fusion(*row) for row in measures.read_table(SENTENCES)]
    found = {f"{len(rows)} sentences written for this project": fused(checkpoint, rows)}
    if path is not None:
        every = list(made_fusions(path, recipes.load(checkpoint.spec.slug), held_out=True))
        some = every[:: max(1, len(every) // FUSED)][:FUSED]
        found[f"{len(some)} sentences of the corpus held out from training"] = fused(checkpoint, some)
    return found


def fused(checkpoint: Checkpoint, rows: Sequence[Fusion]) -> dict[str, float]:
    """Connectives and whole sentences that come back, in percent; and the connectives that "and" alone would get."""
    outputs = measures.rewrite(checkpoint.model, checkpoint.tokenizer, [row.parts for row in rows])
    right = sum(connective(output, row) == row.connective for output, row in zip(outputs, rows, strict=True))
    exact = sum(corpora.normal(output) == corpora.normal(row.whole) for output, row in zip(outputs, rows, strict=True))
    often = max(sum(row.connective == word for row in rows) for word in CONNECTIVES)
    return {
        "connective": 100 * right / len(rows),
        "connective, the most frequent one always": 100 * often / len(rows),
        "whole sentence": 100 * exact / len(rows),
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


def denoise(checkpoint: Checkpoint, corpus: Path | None) -> Found:
    """Texts of at least two sentences, of the story and of held-out books."""
    room = int(checkpoint.tokenizer.model_max_length) - 6  # masks for empty spans make a text longer
    texts = {STORY: story_chunks(checkpoint.tokenizer, room)}
    if corpus is not None:
        texts[f"{DENOISED} texts from books of the corpus held out from training"] = _held_out_two(
            checkpoint, corpus, room
        )
    return {on: _undone(checkpoint, some) for on, some in texts.items()}


def _undone(checkpoint: Checkpoint, texts: list[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for kind in CORRUPTIONS:
        damaged = [damage_text(checkpoint, text, kind, seed) for seed, text in enumerate(texts)]
        made = measures.rewrite(checkpoint.model, checkpoint.tokenizer, damaged, beams=1)
        numbers = measures.repair(made, damaged, texts)
        found |= {f"{kind} {name}": numbers[name] for name in ("chrF before", "chrF after", "exact after")}
    return found


def _held_out_two(checkpoint: Checkpoint, corpus: Path, room: int) -> list[str]:
    """Pairs of sentences that follow each other, one from each of many places."""
    source = recipes.SourceFile("stories.txt", sentences=True, group=2)
    found = [
        item.text
        for item in corpora.read(corpus, source, every=_every(checkpoint))
        if item.held_out
        and len(corpora.sentences(item.text)) == 2
        and len(checkpoint.tokenizer(item.text)["input_ids"]) <= room
    ]
    return found[:: max(1, len(found) // DENOISED)][:DENOISED]
