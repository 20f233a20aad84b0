"""Two languages and many in one model: rows by hand, what is never trained, and what is shipped."""

from __future__ import annotations

import copy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.errors import InputUnusable, OutOfRange
from core.language import bilingual, translate
from lab import evaluate_encoders, measures, parallel
from lab.corpus import held_out, normalized
from lab.evaluate_pairs import translate as translate_all
from lab.objectives.bilingual import END, MASK, PAD, TASKS, Sides, rows
from lab.objectives.pairs import shifted, token
from lab.parallel import LANGUAGES, Bridged, bridged, splits
from lab.recipe import RecipeError
from lab.tokens import Ragged
from tests import tinypairs, tinyrecipes

ENGLISH = "The cat saw two dogs."
FRENCH = tinypairs.translated(ENGLISH, "é")


@pytest.fixture(scope="module")
def folder(tiny_world: tuple[Path, Path]) -> Path:
    return tiny_world[0]


@pytest.fixture(scope="module")
def pair_objective(tiny_world: tuple[Path, Path]) -> Any:
    return tinyrecipes.objective("atlas-xlm", *tiny_world)


@pytest.fixture(scope="module")
def pair_shipped(pair_objective: Any, tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """The exported folder as transformers loads it, with all its weights."""
    spec = CheckpointSpec("x", "X", "xlm", "encoder", "masked-lm", "bundled", "-", "-", True, max_positions=64)
    made = tinypairs.shipped(pair_objective, tmp_path_factory.mktemp("pair_shipped"), "AutoModelForMaskedLM", spec)
    assert type(made.model).__name__ == "XLMWithLMHeadModel"
    return made


def test_rows_by_hand() -> None:
    text = Sides((Ragged.of([[7, 8], [9]]), Ragged.of([[5, 6, 7], [8]])))
    none = np.arange(11) < 10  # nothing that stands there may be hidden, so that the layout shows
    draws = [np.random.default_rng(n) for n in range(2)]
    made = rows(text, [(TASKS["tlm"], 0), (TASKS["mlm-fr"], 1)], none, draws)
    p, e = PAD, END
    assert made["ids"].tolist() == [
        [e, 7, 8, e, e, 5, 6, 7, e, p, p, p, p, p, p, p],
        [e, 8, e, p, p, p, p, p, p, p, p, p, p, p, p, p],
    ]
    assert made["langs"].tolist() == [[0] * 4 + [1] * 5 + [0] * 7, [1] * 3 + [0] * 13]
    assert made["positions"].tolist() == [[0, 1, 2, 3, 0, 1, 2, 3, 4, *[0] * 7], [0, 1, 2, *[0] * 13]]
    assert made["real"].sum(1).tolist() == [9, 3]
    assert not made["chosen"].any()
    assert text.lengths(TASKS["tlm"]).tolist() == [16, 8]
    assert text.lengths(TASKS["mlm-en"]).tolist() == [8, 8]


def test_pair_and_token_logits_are_the_librarys(pair_shipped: Checkpoint) -> None:
    tokenizer: Any = pair_shipped.tokenizer
    assert pair_shipped.model.config.lang2id == {"en": 0, "fr": 1}
    single, other = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (ENGLISH, FRENCH))
    place = len(single) + 3  # the first token of the second sentence, after three ends
    plain = bilingual.prepare(pair_shipped, ENGLISH, FRENCH)
    joined = bilingual.prepare(pair_shipped, ENGLISH, FRENCH, [2, place])
    assert joined.second == len(single) + 2
    assert list(plain.ids) == [END, *single, END, END, *other, END]
    assert {2, place} <= set(joined.positions)
    assert joined.ids == tuple(MASK if i in joined.positions else id_ for i, id_ in enumerate(plain.ids))
    assert joined.tensors["input_ids"].tolist() == [list(joined.ids)]
    assert joined.tensors["langs"].tolist() == [[0] * (len(single) + 2) + [1] * (len(other) + 2)]
    assert joined.tensors["position_ids"].tolist() == [[*range(len(single) + 2), *range(len(other) + 2)]]
    with torch.no_grad():
        ids, langs, places = (joined.tensors[name] for name in ("input_ids", "langs", "position_ids"))
        both = pair_shipped.model(input_ids=ids, langs=langs, position_ids=places).logits[0]
        alone = pair_shipped.model(input_ids=ids[:, joined.second :], langs=langs[:, joined.second :]).logits[0]
    predictions = bilingual.predict(pair_shipped, ENGLISH, FRENCH, (2, place), 3)
    assert [g.position for g in predictions] == list(joined.positions)
    first, last = predictions[0], predictions[-1]
    assert first.with_translation.ids == tuple(both[first.position].topk(3).indices.tolist())
    assert last.alone.ids == tuple(alone[last.position - joined.second].topk(3).indices.tolist())
    assert last.alone.probabilities == pytest.approx(
        alone[last.position - joined.second].softmax(-1).topk(3).values.tolist(), rel=1e-4
    )


def test_whole_words_are_masked_and_errors_are_sentences(pair_shipped: Checkpoint) -> None:
    typed = bilingual.prepare(pair_shipped, "The [MASK] sat.", FRENCH)
    assert len(typed.positions) == 1
    with pytest.raises(InputUnusable, match="No word is masked"):
        bilingual.predict(pair_shipped, ENGLISH, FRENCH)
    with pytest.raises(OutOfRange):
        bilingual.prepare(pair_shipped, ENGLISH, FRENCH, [99])
    assert bilingual.prepare(pair_shipped, ENGLISH, FRENCH, [0]).positions == ()
    dumb = Checkpoint(pair_shipped.model, pair_shipped.tokenizer, pair_shipped.spec)
    pair_shipped.model.config.use_lang_emb = False
    try:
        with pytest.raises(InputUnusable, match="no language embeddings for English and French"):
            bilingual.prepare(dumb, ENGLISH, FRENCH)
    finally:
        pair_shipped.model.config.use_lang_emb = True


def test_recovered_words_by_hand(pair_shipped: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that knows every word of a row with a translation and none of a row alone."""
    tokenizer: Any = pair_shipped.tokenizer

    def scores(_: Any, row: dict[str, torch.Tensor], places: list[int]) -> torch.Tensor:
        first, other = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (ENGLISH, FRENCH))
        full = [END, *first, END, END, *other, END]
        ids = row["input_ids"][0].tolist()
        assert all(ids[place] == MASK for place in places)
        out = torch.zeros(len(places), len(tokenizer))
        for number, place in enumerate(places):
            out[number, full[place] if len(ids) == len(full) else PAD] = 1.0
            out[number, :5] += torch.tensor([0.5, 0.5, 0.5, 0.5, 0.5])  # five others that are no words
        return out

    monkeypatch.setattr(evaluate_encoders, "scores", scores)
    accuracies = evaluate_encoders.bilingual_accuracy(pair_shipped, [(ENGLISH, FRENCH)])
    for name in ("English with French", "French with English"):
        assert accuracies[f"{name} top-1"] == accuracies[f"{name} top-5"] == 100.0
    for name in ("English alone", "French alone"):
        assert accuracies[f"{name} top-1"] == accuracies[f"{name} top-5"] == 0.0


@pytest.fixture(scope="module")
def objective(tiny_world: tuple[Path, Path]) -> Any:
    return tinyrecipes.objective("atlas-m2m-100-english", *tiny_world)


@pytest.fixture(scope="module")
def shipped(objective: Any, tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """The exported folder as transformers loads it, with all its weights."""
    spec = CheckpointSpec(
        "x", "X", "m2m-100", "encoder-decoder", "seq2seq-lm", "bundled", "-", "-", True, max_positions=128
    )
    made = tinypairs.shipped(objective, tmp_path_factory.mktemp("shipped"), "AutoModelForSeq2SeqLM", spec)
    assert type(made.model).__name__ == "M2M100ForConditionalGeneration"
    return made


def test_the_layout_by_hand(objective: Any) -> None:
    tokenizer = objective.tokenizer
    en, fr, de = (tokenizer.token_to_id(token(language)) for language in LANGUAGES)
    assert [tokenizer.token_to_id(name) for name in ("<s>", "<pad>", "</s>", "<unk>")] == [0, 1, 2, 3]
    the, saw = (tokenizer.encode(word, add_special_tokens=False).ids for word in ("the cat", "seé"))
    made = objective.both(tokenizer, "en-fr", [("the cat", "seé"), ("the cat the cat", "seé seé")])
    inputs, wanted = map(list, zip(*made, strict=True))
    assert inputs == [[en, *the, 2], [en, *the, *the, 2]]
    assert wanted == [[fr, *saw, 2], [fr, *saw, *saw, 2]]
    assert list(objective.both(tokenizer, "de-en", [("seé", "the cat")])) == [([de, *saw, 2], [en, *the, 2])]
    a, b = len(the), len(saw)
    batch = shifted(Ragged.of(inputs), Ragged.of(wanted), objective.pad, objective.start)
    assert batch["real"].tolist() == [[1] * (a + 2) + [0] * a, [1] * (2 * a + 2)]
    assert batch["decoder_ids"].tolist() == [[2, fr, *saw, 2, *[1] * (b - 1)], [2, fr, *saw, *saw]]


def test_two_languages_without_english_never_meet(folder: Path, objective: Any) -> None:
    trained = {(row[0], right[0]) for row, right in zip(_rows(objective.inputs), _rows(objective.outputs), strict=True)}
    en, fr, de = (objective.tokenizer.token_to_id(token(language)) for language in LANGUAGES)
    assert trained == {(en, fr), (fr, en), (en, de), (de, en)}
    for task in ("en-es", "en", "en-en"):
        with pytest.raises(RecipeError):
            objective.file_of(task, "")
    split = splits(folder, 5)
    seen = {normalized(text) for side in split.values() for pair in side.train() for text in pair}
    measured = list(bridged(folder, split).test())
    assert len(measured) > 10
    assert not seen & {normalized(text) for pair in measured for text in pair}
    bridges = {
        normalized(english)
        for english, other in parallel.rows(folder, "en-fr")
        if other in {french for french, _ in measured}
    }
    assert bridges
    assert not seen & bridges
    assert [list(pair) for pair in measured] == objective.test["fr-de"]


def test_many_to_many_continues_the_english_centric_model_and_reads_nothing_that_is_held_out(
    folder: Path, objective: Any, tiny_world: tuple[Path, Path]
) -> None:
    many = tinyrecipes.objective("atlas-m2m-100", *tiny_world)
    assert many.tokenizer.to_str() == objective.tokenizer.to_str()
    before = copy.deepcopy(objective.model.full).half().state_dict()  # as shipped
    after = many.model.full.state_dict()
    assert all(torch.equal(before[name].float(), value) for name, value in after.items())
    ways = {(row[0], right[0]) for row, right in zip(_rows(many.inputs), _rows(many.outputs), strict=True)}
    assert len(ways) == 6
    split = splits(folder, 5)
    french = bridged(folder, split)
    out = {normalized(text) for side in (*split.values(), french) for pair in side.test() for text in pair}
    trained = {normalized(text) for pair in french.train() for text in pair}
    assert len(trained) > 50
    assert not out & trained
    assert list(parallel.examples("de-fr", [("un", "eins")])) == [("eins", "un")]


def test_a_pair_with_a_trained_bridge_is_not_measured() -> None:
    out, kept = _one(True), _one(False)
    french = [(out, "un"), (out, "deux"), (kept, "deux"), (out, "trois")]
    german = [(out, "eins"), (kept, "zwei"), (kept, "eins"), (out, "zwei")]
    rows = [("un", "eins"), ("deux", "zwei"), ("trois", "zwei"), ("quatre", "eins"), ("deux", "drei")]
    first, second = (parallel.Split(partial(iter, pairs), 5) for pairs in (french, german))
    # "deux" and "zwei" share the English sentence that is trained on elsewhere; "quatre" and "drei" share none
    assert list(Bridged(first, second, partial(iter, rows)).test()) == [("un", "eins"), ("trois", "zwei")]


def _one(out: bool) -> str:
    return next(f"line {n}" for n in range(99) if held_out(f"line {n}", 5) is out)


def _rows(ragged: Any) -> list[list[int]]:
    return [ragged.row(i) for i in range(len(ragged))]


def test_evaluation_decodes_as_the_page_does(shipped: Checkpoint) -> None:
    from core.language.types import Decoding

    text = "The cat saw two dogs."
    made = translate_all(shipped, "en-de", [text])
    steps = list(translate.rewrite(shipped, text, "en-de", Decoding(strategy="beam", beams=4, max_new_tokens=95)))
    assert made == [steps[-1].text.strip()]


def test_through_english_is_two_translations(shipped: Checkpoint) -> None:
    text = tinypairs.translated("The cat sat.", "é")

    def one(text: str, task: str) -> str:
        return list(translate.rewrite(shipped, text, task))[-1].text.strip()

    way = translate.pivot_tasks(shipped, "fr-de")
    assert way == ("fr-en", "en-de")
    english, german = translate.translate_along(shipped, text, way)
    assert english == one(text, "fr-en")
    assert german == one(english, "en-de")
    assert translate.pivot_tasks(shipped, "en-de") is None
    assert translate.pivot_tasks(shipped, "de-en") is None


def test_measures_tell_the_two_ways_apart(
    objective: Any, shipped: Checkpoint, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that knows every pair with English and none without: only the way through English is right."""
    from lab import evaluate
    from lab import evaluate_pairs as found

    rows = measures.read_table(measures.TRANSLATIONS)
    dictionary = {
        (a, b): {row[x]: row[y] for row in rows} for x, a in enumerate(LANGUAGES) for y, b in enumerate(LANGUAGES)
    }
    asked: list[str] = []

    def translate(_: Checkpoint, task: str, texts: list[str]) -> list[str]:
        asked.append(task)
        source, other = task.split("-")
        return [dictionary[source, other].get(text, "0") if "en" in (source, other) else "0" for text in texts]

    monkeypatch.setattr(found, "translate", translate)
    numbers = evaluate.measure("many-to-many", shipped)["40 sentences written for this project"]
    assert {name for name in numbers if name.endswith("BLEU")} == {
        *(f"{task} BLEU" for task in found.DIRECTIONS),
        "fr-de through English BLEU",
        "de-fr through English BLEU",
    }
    for task in ("en-fr", "fr-en", "en-de", "de-en", "fr-de through English", "de-fr through English"):
        assert numbers[f"{task} BLEU"] == pytest.approx(100)
        assert numbers[f"{task} chrF"] == pytest.approx(100)
    assert numbers["fr-de BLEU"] < 1
    assert numbers["de-fr BLEU"] < 1
    assert sorted(asked) == sorted(found.DIRECTIONS)  # the way through English needs nothing that was not made

    held = found.held_out_pairs(folder, 5, bridged=True)
    split = splits(folder, 5)
    assert held["fr-de"] == parallel.references(bridged(folder, split).test())
    assert held["de-en"] == parallel.references((german, english) for english, german in split["en-de"].test())
