"""Documents, chunks and pairs of a corpus; the token store holds what encoding everything at once gives."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from core.training import corpus as corpus_files
from core.training import documents, parallel, tokens
from core.training.documents import NO_LABEL, Documents, Pairs
from core.training.objectives import build
from core.training.recipe import Recipe, SourceFile
from core.training.tokenizers import END
from core.training.tokens import Ragged
from tests import tinycorpus


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return tinycorpus.write(tmp_path)


SOURCES = (SourceFile("stories.txt", sentences=True), SourceFile("lines.txt", group=2))


def prepared(corpus: Path) -> tuple[object, Documents, Documents]:
    data = {"hold_out_every": 10, "vocabulary": 200, "width": 32}
    return documents.prepare(Recipe("toy", "encoder", 7, 1.0, 64, SOURCES, data=data), corpus, corpus / "kept")


def test_chunks_cover_every_sentence_once_and_stay_within_a_document(corpus: Path) -> None:
    tokenizer, train, test = prepared(corpus)
    for side in (train, test):
        first, last, end = side.bounds[:, 0], side.bounds[:, 1], side.bounds[:, 2]
        assert first[0] == 0
        assert (first[1:] == last[:-1]).all()
        assert last[-1] == len(side.sentences)
        assert (last <= end).all()
        assert (side.lengths <= 29).all()  # 32 positions less [CLS] and two [SEP]
        together = side.document >= 0
        assert set(side.source[together]) == {0}
        assert (side.lengths[together] <= side.bounds[together, 3]).all()
        assert (last - first)[~together].max() == 2
    again = prepared(corpus)[1]
    assert again.bounds.tolist() == train.bounds.tolist()
    book = (corpus / "stories.txt").read_text(encoding="utf-8").splitlines()[1].lower()
    assert book.startswith(tokenizer.decode(train.text(0, 1).tolist()).replace(" .", "."))  # type: ignore[attr-defined]


def test_the_next_segment_follows_or_is_from_another_document(corpus: Path) -> None:
    _, train, _ = prepared(corpus)
    pairs = Pairs(train, "next")
    assert pairs.asked.any()
    assert not pairs.asked[train.document < 0].any()
    labels = []
    for chunk in np.flatnonzero(pairs.asked):
        a, b, label = pairs.draw(int(chunk), np.random.default_rng(int(chunk)))
        assert b is not None
        assert len(a) + len(b) <= train.bounds[chunk, 3]
        whole = train.chunk(int(chunk)).tolist()
        assert whole[: len(a)] == a.tolist()
        if label == 0:
            assert whole == [*a, *b]
        labels.append(label)
    assert 0.35 < np.mean(labels) < 0.65


def test_the_order_of_segments_is_turned_in_half_of_the_pairs(corpus: Path) -> None:
    _, train, _ = prepared(corpus)
    pairs = Pairs(train, "order")
    labels = []
    for chunk in np.flatnonzero(pairs.asked):
        a, b, label = pairs.draw(int(chunk), np.random.default_rng(int(chunk)))
        assert b is not None
        assert train.chunk(int(chunk)).tolist() == ([*a, *b] if label == 0 else [*b, *a])
        labels.append(label)
    assert 0.35 < np.mean(labels) < 0.65


def test_lines_and_single_texts_ask_nothing(corpus: Path) -> None:
    _, train, _ = prepared(corpus)
    line = int(np.flatnonzero(train.document < 0)[0])
    a, b, label = Pairs(train, "next").draw(line, np.random.default_rng(0))
    assert (b, label) == (None, NO_LABEL)
    assert a.tolist() == train.chunk(line).tolist()
    assert Pairs(train, "").draw(0, np.random.default_rng(0)).label == NO_LABEL


WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "saw", "two", "dogs", "run", "past", "old", "trees", "near"]
SPACES = ["", "", "", "", " ", "  ", " ", "'s ", "…"]
GPT = {"type": "gpt2", "n_embd": 8, "n_head": 2, "n_layer": 1, "n_positions": 16}
T5 = {"type": "t5", "d_model": 8, "num_heads": 2, "d_kv": 4, "d_ff": 8, "num_layers": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lines in books, as many without a book, and pairs of two language pairs."""
    rng, made = random.Random(0), tmp_path_factory.mktemp("corpus")

    def line() -> str:
        return " ".join(rng.choices(WORDS, k=rng.randrange(2, 12))) + "."

    def odd() -> str:  # spaces where lines begin and end: the hard case of cutting a book
        return rng.choice(SPACES) + line() + rng.choice(SPACES)

    books = [row for number in range(40) for row in (f"=== Book {number}", *(odd() for _ in range(10)))]
    (made / "stories.txt").write_text("\n".join(books) + "\n", encoding="utf-8")
    (made / "lines.txt").write_text("".join(line() + "\n" for _ in range(400)), encoding="utf-8")
    for name in ("en-fr", "en-de"):
        rows = "".join(f"{line()}\t{line().upper()}\n" for _ in range(300))
        (made / f"parallel.{name}.tsv").write_text(rows, encoding="utf-8")
    return made


def recipe(kind: str, model: dict[str, object], *sources: SourceFile, **data: int) -> Recipe:
    return Recipe("toy", kind, seed=7, minutes=1.0, step_tokens=64, sources=sources, model=model, data=data)


def test_rows_count_what_is_wanted_and_refuse_what_sixteen_bits_do_not_hold() -> None:
    rows = Ragged.of([[1, 2, 2], [], [3], [2, 1], [2]])
    assert rows.count(np.array([False, False, True, True])).tolist() == [2, 0, 1, 1, 1]
    assert Ragged.of([]).count(np.array([True])).tolist() == []
    with pytest.raises(OverflowError):
        Ragged.of([[70_000]])


def test_books_are_those_of_whole_texts(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "AT_ONCE", 16)
    data = {"hold_out_every": 3, "vocabulary": 300, "window": 16}
    made = recipe("causal-lm", GPT, SourceFile("stories.txt"), SourceFile("lines.txt"), **data)
    objective = build(made, folder, tmp_path / "toy" / "data")
    for found, held_out in ((objective.train, False), (objective.test, True)):  # type: ignore[attr-defined]
        side: dict[str, list[str]] = {}
        for source in made.sources:
            for item in corpus_files.read(folder, source, every=3):
                if item.held_out == held_out:
                    side.setdefault(item.document or source.file, []).append(item.text)
        whole = [objective.tokenizer.encode(f"{END}" + "\n".join(rows) + "\n").ids for rows in side.values()]
        assert found.tolist() == [token for ids in whole for token in ids]
        assert len(side) > 1


PAIRS = (
    SourceFile("parallel.en-fr.tsv", task="en-fr"),
    SourceFile("parallel.en-de.tsv", task="de-en", first=11, last=150),
    SourceFile("parallel.en-fr.tsv", task="repair-fr"),
)


def test_pairs_are_those_that_the_recipe_names(folder: Path, tmp_path: Path) -> None:
    made = recipe("seq2seq-lm", T5, *PAIRS, hold_out_every=5, vocabulary=80, tokenizer_every=3, longest=30)
    objective = build(made, folder, tmp_path / "toy" / "data")
    wanted: list[tuple[int, list[int], list[int]]] = []
    for number, source in enumerate(PAIRS):
        pairs = list(parallel.rows(folder, source.file.split(".")[1]))
        out = {corpus_files.normal(other) for english, other in pairs if corpus_files.held_out(english, 5)}
        rows = [p for p in pairs if not corpus_files.held_out(p[0], 5) and corpus_files.normal(p[1]) not in out]
        rows = rows[source.first - 1 : source.last]
        if source.task == "repair-fr":
            texts = list(dict.fromkeys(other for _, other in rows))
            rows = [(parallel.damaged(text, index), text) for index, text in enumerate(texts)]
        elif source.task == "de-en":
            rows = [(other, english) for english, other in rows]
        for left, right in rows:
            ids = [objective.tokenizer.encode(text).ids for text in (parallel.prefix(source.task) + left, right)]
            if max(map(len, ids)) <= 30:
                wanted.append((number, *ids))
    inputs, outputs = objective.inputs, objective.outputs  # type: ignore[attr-defined]
    assert objective.origin.tolist() == [number for number, _, _ in wanted]
    assert [inputs.row(i) for i in range(len(inputs))] == [left for _, left, _ in wanted]
    assert [outputs.row(i) for i in range(len(outputs))] == [right for _, _, right in wanted]
    again = build(made, folder / "gone", tmp_path / "toy" / "data")  # what is kept needs no corpus_files
    assert all((again.batch(3)[name] == value).all() for name, value in objective.batch(3).items())
