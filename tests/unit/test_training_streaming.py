"""Streamed data is what encoding everything at once gives, and no corpus is ever held."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.training import arrays, batches, corpus, documents, lines, parallel
from core.training.documents import wordpiece
from core.training.objectives import bilingual, causal, codes, long, many, seq2seq, tasks
from core.training.objectives.bilingual import BilingualObjective
from core.training.objectives.causal import END, CausalObjective
from core.training.objectives.codes import CodesObjective
from core.training.objectives.long import LongObjective
from core.training.objectives.many import ManyObjective
from core.training.objectives.seq2seq import Seq2SeqObjective
from core.training.recipe import Recipe, SourceFile

WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "saw", "two", "dogs", "run", "past", "old", "trees", "near"]
SPACES = ["", "", "", "", " ", "  ", " ", "'s ", "…"]


def write_corpus(folder: Path, size: int, seed: int = 0) -> Path:
    """``size`` lines in books, as many without a book, and as many pairs of each language pair."""
    rng = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)

    def line() -> str:
        return " ".join(rng.choices(WORDS, k=rng.randrange(2, 12))) + "."

    def odd() -> str:  # spaces where lines begin and end: the hard case of cutting a book
        return rng.choice(SPACES) + line() + rng.choice(SPACES)

    books = [row for number in range(size // 10) for row in (f"=== Book {number}", *(odd() for _ in range(10)))]
    (folder / "stories.txt").write_text("\n".join(books) + "\n", encoding="utf-8")
    (folder / "lines.txt").write_text("".join(line() + "\n" for _ in range(size)), encoding="utf-8")
    for name in ("en-fr", "en-de"):
        rows = "".join(f"{line()}\t{line().upper()}\n" for _ in range(size))
        (folder / f"parallel.{name}.tsv").write_text(rows, encoding="utf-8")
    return folder


def recipe(kind: str, *sources: SourceFile, **data: Any) -> Recipe:
    model = {"positions": 16, "width": 8, "layers": 1, "heads": 2, "inner": 8}
    return Recipe("toy", kind, seed=7, minutes=1.0, step_tokens=64, sources=sources, model=model, data=data)


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces that are much smaller than the corpus."""
    for module in (documents, lines, bilingual, causal, codes, long, many, seq2seq):
        monkeypatch.setattr(module, "AT_ONCE", 16)


def bare(kind: type, made: Recipe, **given: Any) -> Any:
    """An objective without its model."""
    objective = object.__new__(kind)
    vars(objective).update(recipe=made, **given)
    return objective


SHORT = (SourceFile("lines.txt"), SourceFile("stories.txt", sentences=True))


def pieces_of(folder: Path) -> Any:
    return wordpiece((folder / "lines.txt").read_text(encoding="utf-8").splitlines(), 60)


@pytest.mark.usefixtures("little")
def test_short_texts_are_those_of_one_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_corpus(tmp_path, 300)
    monkeypatch.setattr(lines, "HELD", 40)
    tokenizer = pieces_of(tmp_path)
    made = recipe("masked-lm", *SHORT, hold_out_every=3, shortest=6, longest=11)
    train: list[list[int]] = []
    test: list[list[int]] = []
    origin: list[int] = []
    for number, source in enumerate(SHORT):
        for item in corpus.read(tmp_path, source, every=3):
            ids = tokenizer.encode(item.text).ids
            if 6 <= len(ids) <= 11:
                (test if item.held_out else train).append(ids)
                origin += [] if item.held_out else [number]
    np.random.default_rng(7).shuffle(test)
    assert len(test) > 40
    for _ in range(2):  # made, then taken from the disk
        found, source_of, held = lines.prepare(made, tokenizer, tmp_path, tmp_path / "kept")
        assert [found.row(i) for i in range(len(found))] == train
        assert [held.row(i) for i in range(len(held))] == test[:40]
        assert source_of.tolist() == origin
    assert not list(tmp_path.rglob("held.*"))


@pytest.mark.usefixtures("little")
def test_books_are_those_of_whole_texts(tmp_path: Path) -> None:
    write_corpus(tmp_path, 400)
    made = recipe("causal-lm", SourceFile("stories.txt"), SourceFile("lines.txt"), hold_out_every=3, vocabulary=300)
    tokenizer, train, test = bare(CausalObjective, made, width=16)._data(tmp_path, tmp_path / "kept")
    sides: dict[bool, dict[str, list[str]]] = {False: {}, True: {}}
    for source in made.sources:
        for item in corpus.read(tmp_path, source, every=3):
            sides[item.held_out].setdefault(item.document or source.file, []).append(item.text)
    texts = [text for rows in sides[False].values() for text in rows]
    assert tokenizer.to_str() == causal.train_tokenizer(texts, 300).to_str()
    for found, side in ((train, sides[False]), (test, sides[True])):
        whole = [tokenizer.encode(f"{END}" + "\n".join(rows) + "\n").ids for rows in side.values()]
        assert found.tolist() == [token for ids in whole for token in ids]
        assert len(side) > 1
    named = next((tmp_path / "kept").rglob("held-out-books.txt")).read_text(encoding="utf-8")
    assert named.splitlines() == list(sides[True])


CODED = (
    SourceFile("stories.txt", task="Story"),
    SourceFile("lines.txt", task="Line"),
    SourceFile("parallel.en-fr.tsv", task="French"),
)


@pytest.mark.usefixtures("little")
def test_streams_behind_codes_are_those_of_whole_texts(tmp_path: Path) -> None:
    write_corpus(tmp_path, 400)
    made = recipe("codes-lm", *CODED, hold_out_every=3, vocabulary=300)
    given = {"width": 16, "special": ("<|story|>", "<|line|>", "<|french|>")}
    tokenizer, train, test = bare(CodesObjective, made, **given)._data(tmp_path, tmp_path / "kept")
    for number, source in enumerate(CODED):
        for found, out in ((train, False), (test, True)):
            side: dict[str, list[str]] = {}
            for document, text, held in codes.texts(tmp_path, source, every=3):
                if held == out:
                    side.setdefault(document, []).append(text)
            whole = [tokenizer.encode(f"{END}" + "\n".join(rows) + "\n").ids for rows in side.values()]
            assert found[number].flat.tolist() == [token for ids in whole for token in ids]


@pytest.mark.usefixtures("little")
def test_long_texts_are_those_of_one_list(tmp_path: Path) -> None:
    write_corpus(tmp_path, 300)
    tokenizer = pieces_of(tmp_path)
    made = recipe("long-masked-lm", SourceFile("stories.txt"), SourceFile("lines.txt"), hold_out_every=4)
    train, test = bare(LongObjective, made, tokenizer=tokenizer)._data(tmp_path, tmp_path / "kept")
    for found, out in ((train, False), (test, True)):
        items = [item for source in made.sources for item in corpus.read(tmp_path, source, every=4)]
        ids = [tokenizer.encode(i.text, add_special_tokens=False).ids for i in items if i.held_out == out]
        assert found.tolist() == [token for row in ids for token in row]


PAIRS = (
    SourceFile("parallel.en-fr.tsv", task="en-fr"),
    SourceFile("parallel.en-de.tsv", task="de-en", first=11, last=150),
    SourceFile("parallel.en-fr.tsv", task="repair-fr"),
)


@pytest.mark.usefixtures("little")
def test_pairs_are_those_of_one_list(tmp_path: Path) -> None:
    write_corpus(tmp_path, 300)
    made = recipe("seq2seq-lm", *PAIRS, hold_out_every=5, vocabulary=80, tokenizer_every=3, longest=30)
    objective = bare(Seq2SeqObjective, made, tasks=[source.task for source in PAIRS])
    tokenizer, inputs, outputs, task_of, test = objective._data(tmp_path, tmp_path / "kept")
    wanted: list[tuple[int, list[int], list[int]]] = []
    held: dict[str, list[list[str]]] = {}
    for number, source in enumerate(PAIRS):
        pairs = parallel.read(tmp_path, source.file.split(".")[1])
        out = {corpus.normal(other) for english, other in pairs if corpus.held_out(english, 5)}
        kept = [p for p in pairs if not corpus.held_out(p[0], 5) and corpus.normal(p[1]) not in out]
        test_pairs = [p for p in pairs if corpus.held_out(p[0], 5)]
        for side, rows in ((0, kept[source.first - 1 : source.last]), (1, test_pairs)):
            if source.task == "repair-fr":
                texts = list(dict.fromkeys(other for _, other in rows))
                rows = [(tasks.damaged(text, index), text) for index, text in enumerate(texts)]
            elif source.task == "de-en":
                rows = [(other, english) for english, other in rows]
            if side:
                held[source.task] = [list(row) for row in rows[:200]]
                continue
            for left, right in rows:
                ids = [tokenizer.encode(text).ids for text in (tasks.prefix(source.task) + left, right)]
                if max(map(len, ids)) <= 30:
                    wanted.append((number, *ids))
    assert task_of.tolist() == [number for number, _, _ in wanted]
    assert [inputs.row(i) for i in range(len(inputs))] == [left for _, left, _ in wanted]
    assert [outputs.row(i) for i in range(len(outputs))] == [right for _, _, right in wanted]
    assert test == held
    assert {0, 1, 2} == set(task_of.tolist())


def short(folder: Path) -> None:
    made = recipe("masked-lm", *SHORT, hold_out_every=50, shortest=1, longest=99)
    lines.prepare(made, pieces_of(folder.parent / "small"), folder, folder / "kept")


def books(folder: Path) -> None:
    made = recipe("causal-lm", SourceFile("stories.txt"), SourceFile("lines.txt"), hold_out_every=50, vocabulary=280)
    bare(CausalObjective, made, width=16)._data(folder, folder / "kept")


def coded(folder: Path) -> None:
    made = recipe("codes-lm", *CODED, hold_out_every=50, vocabulary=280)
    bare(CodesObjective, made, width=16, special=("<|story|>", "<|line|>", "<|french|>"))._data(folder, folder / "kept")


def windows(folder: Path) -> None:
    made = recipe("long-masked-lm", SourceFile("stories.txt"), SourceFile("lines.txt"), hold_out_every=50)
    bare(LongObjective, made, tokenizer=pieces_of(folder.parent / "small"))._data(folder, folder / "kept")


def translations(folder: Path) -> None:
    made = recipe("seq2seq-lm", *PAIRS[:1], hold_out_every=50, vocabulary=80, tokenizer_every=3, longest=30)
    bare(Seq2SeqObjective, made, tasks=["en-fr"])._data(folder, folder / "kept")


def tongues(folder: Path) -> None:
    (folder / "parallel.fr-de.tsv").write_text("A\tB\n", encoding="utf-8")
    made = recipe("many-to-many", *PAIRS[:1], hold_out_every=50, vocabulary=80, tokenizer_every=3, longest=30)
    bare(ManyObjective, made)._data(folder, folder / "kept")


def twins(folder: Path) -> None:
    made = recipe("bilingual", *PAIRS[:1], hold_out_every=50, vocabulary=80, tokenizer_every=3)
    bare(BilingualObjective, made, tasks=["tlm"])._data(folder, folder / "kept")


def chunks(folder: Path) -> None:
    sources = (SourceFile("stories.txt", sentences=True), SourceFile("lines.txt", group=9))
    documents.prepare(folder, sources, folder / "kept", every=50, vocabulary=80, width=128)


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize("make", [short, books, coded, windows, translations, tongues, twins, chunks])
def test_memory_does_not_grow_with_the_corpus(tmp_path: Path, make: Callable[[Path], None]) -> None:
    write_corpus(tmp_path / "small", 400)
    peaks = []
    for size in (500, 2000):
        folder = write_corpus(tmp_path / str(size), size)
        if not peaks:
            make(write_corpus(tmp_path / "first", 400, seed=1))  # imports and tables that are made once
        tracemalloc.start()
        make(folder)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    little, much = (sum(path.stat().st_size for path in (tmp_path / str(size)).glob("*.t*")) for size in (500, 2000))
    assert peaks[1] - peaks[0] < 0.3 * (much - little)  # lists of the tokens would take some seven times the text


def test_tallies_are_numpys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "PIECE", 7)
    numbers = np.random.default_rng(0).integers(0, 30, size=100).astype(np.uint16)
    for size in (10, 30, 50):
        assert arrays.tally(numbers, size).tolist() == np.bincount(numbers, minlength=size).tolist()
    monkeypatch.setattr(batches, "_ROWS", 2)
    rows = batches.Ragged.of([[1, 2, 2], [], [3], [2, 1], [2]])
    assert rows.count(np.array([False, False, True, True])).tolist() == [2, 0, 1, 1, 1]
    assert batches.Ragged.of([]).count(np.array([True])).tolist() == []


def test_an_array_grows_on_the_disk_and_a_failed_one_leaves_nothing(tmp_path: Path) -> None:
    with arrays.ArrayWriter(tmp_path / "a.npy", np.uint16) as out:
        for start in range(0, 3000, 100):
            out.add(range(start, start + 100))
    assert np.load(tmp_path / "a.npy", mmap_mode="r").tolist() == list(range(3000))
    with pytest.raises(OverflowError), arrays.ArrayWriter(tmp_path / "b.npy", np.uint16) as out:
        out.add([70_000])
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]


def test_documents_are_read_some_at_a_time() -> None:
    taken: list[int] = []

    def numbers() -> Any:
        for number in range(10):
            taken.append(number)
            yield number

    parts = documents.batched(numbers(), 4)
    assert next(parts) == [0, 1, 2, 3]
    assert taken == [0, 1, 2, 3]
    assert list(parts) == [[4, 5, 6, 7], [8, 9]]
