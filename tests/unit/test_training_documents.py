"""Documents, their chunks, the pairs drawn from them and BERT's damage, on a small corpus made here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.training import documents
from core.training.documents import NO_LABEL, Documents, Pairs
from core.training.recipe import Recipe, SourceFile
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
