"""Measures a checkpoint as its card states: on the committed texts, and with the corpus at hand on its held-out part.

The page and the command line load the same checkpoint; nothing here knows how it was trained but its recipe's split.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from core.checkpoints.registry import part_of
from core.checkpoints.spec import Checkpoint, Measure, Part
from core.errors import UnknownCheckpoint
from core.training import corpus as corpora
from core.training import (
    evaluate_adapters,
    evaluate_codes,
    evaluate_denoise,
    evaluate_draft,
    evaluate_encoders,
    evaluate_fusion,
    evaluate_languages,
    evaluate_long,
    evaluate_respell,
    evaluate_xlnet,
    measures,
    parallel,
)
from core.training import recipe as recipes
from core.training.corpus import held_out_books
from core.training.parallel import damaged, prefix

PAIRS = 400
"""Held-out sentences of the corpus that are measured, for each direction or task."""

_UNITS = {
    "top-1": "%",
    "top-5": "%",
    "first guess repeats a word": "%",
    "exact before": "%",
    "exact after": "%",
    "connective": "%",
    "connective, the most frequent one always": "%",
    "whole sentence": "%",
    "next sentence": "%",
    "sentence order": "%",
    "generator top-1": "%",
    "replaced found": "%",
    "original left": "%",
    "balanced accuracy": "%",
    "right code": "%",
    "accuracy": "%",
    "accuracy, head alone": "%",
    "accuracy, commonest answer always": "%",
    "left untouched": "%",
}

_SHARES = ("exact after", "top-1", "top-5", "CER before", "CER after", "accepted")


def _named(numbers: dict[str, float], on: str, before: str = "") -> list[Measure]:
    def unit(name: str) -> str:
        if name.startswith("bits per byte") or name.endswith(("bits per byte", "bits per token")):
            return "bits"
        if name.endswith(_SHARES) or name.startswith("attention caught"):
            return "%"
        return _UNITS.get(name, "")

    return [Measure(before + name, round(value, 2), unit(name), on) for name, value in numbers.items()]


def masked(checkpoint: Checkpoint, corpus: Path | None) -> list[Measure]:
    """Cloze sentences; masked words of everyday sentences of the corpus."""
    out: list[Measure] = []
    for on, file in measures.CLOZE.items():
        rows = [(sentence, answers.split()) for _, sentence, answers in measures.read_table(file)]
        out += _named(measures.cloze(checkpoint.model, checkpoint.tokenizer, rows), on)
    if corpus is not None:
        every = int(recipes.load(checkpoint.spec.slug).data["hold_out_every"])
        items = corpora.read(corpus, recipes.SourceFile("dialogue.txt"), every=every)
        texts = [item.text for item in items if item.held_out][:PAIRS]
        found = measures.masked_sentences(checkpoint.model, checkpoint.tokenizer, texts)
        out += _named(found, f"masked words of {PAIRS} everyday sentences held out from training")
    return out


def causal(checkpoint: Checkpoint, corpus: Path | None) -> list[Measure]:
    """Bits per byte of the committed story; of held-out books."""
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    story = measures.bits_per_byte(model, tokenizer, measures.STORY.read_text(encoding="utf-8"))
    out = _named({"bits per byte": story}, "a story written for this project")
    if corpus is not None:
        texts = held_out_books(corpus)
        spent = {
            name: (measures.bits_per_byte(model, tokenizer, text), len(text.encode())) for name, text in texts.items()
        }
        mean = sum(bits * size for bits, size in spent.values()) / sum(size for _, size in spent.values())
        out += _named({"bits per byte": mean}, f"{len(texts)} books of the corpus held out from training")
    return out


def seq2seq(checkpoint: Checkpoint, corpus: Path | None) -> list[Measure]:
    """BLEU and chrF in each direction, and repair of English, on committed sentences; the same on held-out pairs."""
    rows = measures.read_table(measures.TRANSLATIONS)
    on = f"{len(rows)} sentences written for this project"
    out: list[Measure] = []
    for task, left, right in (("en-fr", 0, 1), ("en-de", 0, 2), ("fr-en", 1, 0), ("de-en", 2, 0)):
        out += _translate(checkpoint, task, {row[left]: [row[right]] for row in rows}, on)
    out += _repair(checkpoint, [row[0] for row in rows], on)
    if corpus is None:
        return out
    every = int(recipes.load(checkpoint.spec.slug).data["hold_out_every"])
    names = ("en-fr", "en-de")
    split = parallel.splits(corpus, every)
    for name in names:
        pairs = list(split[name].test())
        on = f"{PAIRS} sentences of the corpus held out from training, all their translations as references"
        out += _translate(checkpoint, name, _some(parallel.references(pairs)), on)
        back = parallel.references((other, english) for english, other in pairs)
        out += _translate(checkpoint, f"{name[3:]}-en", _some(back), on)
    clean = list(dict.fromkeys(english for english, _ in split["en-fr"].test()))[:PAIRS]
    return out + _repair(checkpoint, clean, f"{PAIRS} English sentences of the corpus held out from training")


def _some(grouped: dict[str, list[str]]) -> dict[str, list[str]]:
    return dict(list(grouped.items())[:PAIRS])


def _translate(checkpoint: Checkpoint, task: str, grouped: dict[str, list[str]], on: str) -> list[Measure]:
    texts = [prefix(task) + text for text in grouped]
    made = measures.rewrite(checkpoint.model, checkpoint.tokenizer, texts)
    return _named(measures.translation(made, list(grouped.values())), on, f"{task} ")


def _repair(checkpoint: Checkpoint, clean: list[str], on: str) -> list[Measure]:
    broken = [damaged(text, index) for index, text in enumerate(clean)]
    made = measures.rewrite(checkpoint.model, checkpoint.tokenizer, [prefix("repair") + text for text in broken])
    return _named(measures.repair(made, broken, clean), on, "repair ")


def sparse(checkpoint: Checkpoint, corpus: Path | None) -> list[Measure]:
    """Masked words of a long text, sparse and full, at several lengths; of held-out books, the mean over the books."""
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    story = measures.STORY.read_text(encoding="utf-8")
    groups: dict[str, tuple[list[str], tuple[int, ...]]] = {
        "a story written for this project, {} tokens": ([story], (1024,))
    }
    if corpus is not None:
        books = list(held_out_books(corpus).values())
        groups[f"{len(books)} books of the corpus held out from training, {{}} tokens"] = (books, (1024, 2048, 4096))
    out: list[Measure] = []
    for on, (texts, lengths) in groups.items():
        for length in lengths:
            for kind, how in (("sparse", True), ("full", False)):
                found = [
                    measures.masked_words(model, tokenizer, text, length=length, sparse=how)["top-1"] for text in texts
                ]
                out += _named({"top-1": sum(found) / len(found)}, on.format(length), f"{kind} ")
    return out


def zoo(how: Callable[[Checkpoint, Path | None], dict[str, dict[str, float]]]) -> How:
    """A measure of `core.training.evaluate_encoders` as one of this table."""

    def measured(checkpoint: Checkpoint, corpus: Path | None) -> list[Measure]:
        return [row for on, numbers in how(checkpoint, corpus).items() for row in _named(numbers, on)]

    return measured


How = Callable[[Checkpoint, Path | None], list[Measure]]
HOW: dict[str, How] = {
    "minilm": masked,
    "atlas-gpt-2": causal,
    "atlas-gpt-2-draft": zoo(evaluate_draft.draft),
    "atlas-gpt-neo": causal,
    "atlas-llama": causal,
    "atlas-ctrl": zoo(evaluate_codes.codes),
    "atlas-t5": seq2seq,
    "atlas-bigbird": sparse,
    "atlas-longformer": zoo(evaluate_long.windowed),
    "atlas-reformer": zoo(evaluate_long.hashed),
    "atlas-bert": zoo(evaluate_encoders.encoder),
    "atlas-roberta": zoo(evaluate_encoders.encoder),
    "atlas-deberta": zoo(evaluate_encoders.deberta),
    "atlas-albert": zoo(evaluate_encoders.encoder),
    "atlas-distilbert": zoo(evaluate_encoders.encoder),
    "atlas-electra": zoo(evaluate_encoders.electra),
    "atlas-bert2bert": zoo(evaluate_fusion.fusion),
    "atlas-adapter-bert": zoo(evaluate_adapters.adapters),
    "atlas-bart": zoo(evaluate_denoise.denoise),
    "atlas-byt5": zoo(evaluate_respell.respell),
    "atlas-m2m-100": zoo(evaluate_languages.many),
    "atlas-xlm": zoo(evaluate_languages.bilingual),
    "atlas-xlnet": zoo(evaluate_xlnet.permuted_measures),
    "atlas-transformer-xl": zoo(evaluate_xlnet.segmented),
}
"""What each bundled checkpoint is measured with."""
PARTS: dict[str, tuple[str, Part]] = {"atlas-gpt-2-draft": ("atlas-gpt-2", "draft")}
"""Recipes whose model is a part of another one's folder."""


def evaluate(slug: str, corpus: Path | None = None) -> list[Measure]:
    """The measures of a bundled checkpoint, on committed texts and, with ``corpus``, on its held-out part too."""
    from core import checkpoints

    if slug not in HOW:
        raise UnknownCheckpoint(f"Nothing measures the checkpoint {slug!r}. Choose one of: {', '.join(HOW)}.")
    loaded: Any = checkpoints.load(*PARTS.get(slug, (slug,)))
    return HOW[slug](loaded, corpus)


def cli_evaluate(slug: str, corpus: Path | None = None) -> list[Measure]:
    """Prints every measure beside the card's value and returns them."""
    from core import checkpoints

    found = evaluate(slug, corpus)
    folder, *part = PARTS.get(slug, (slug,))
    spec = checkpoints.get(folder)
    card = (part_of(spec, part[0]) if part else spec).card
    stated = {(m.name, m.on): m.value for m in card.measures} if card else {}
    print(f"{'measure':24} {'measured':>9} {'card':>9}  on")
    for measure in found:
        value = stated.get((measure.name, measure.on))
        shown = "-" if value is None else f"{value:.2f}"
        print(f"{measure.name:24} {measure.value:9.2f} {shown:>9}  {measure.on}")
    return found
