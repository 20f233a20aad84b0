"""Tables and files of attention hold the map's own numbers."""

from __future__ import annotations

import csv
import io

import numpy as np

from core.attention.export import to_csv, to_npz, top_keys
from core.attention.trace import AttentionMap, AttentionTrace

WEIGHTS = np.array([[[[1.0, 0.0, 0.0], [0.25, 0.75, 0.0], [0.2, 0.5, 0.3]]]], dtype=np.float32)
FOUND = AttentionMap("decoder", ("a", ",", '"c"'), ("a", ",", '"c"'), WEIGHTS)


def test_top_keys_are_ordered_and_masked_ones_are_empty() -> None:
    rows = top_keys(FOUND, 0, 0, 2)
    assert rows[0] == {"#": 1, "token": "a", "key 1": "a", "weight 1": 1.0, "key 2": None, "weight 2": None}
    assert (rows[1]["key 1"], rows[1]["weight 1"], rows[1]["key 2"], rows[1]["weight 2"]) == (",", 0.75, "a", 0.25)
    assert (rows[2]["key 1"], rows[2]["key 2"]) == (",", '"c"')


def test_fewer_keys_than_asked_for() -> None:
    assert set(top_keys(FOUND, 0, 0, 9)[0]) == {
        "#",
        "token",
        *(f"{w} {i}" for w in ("key", "weight") for i in (1, 2, 3)),
    }


def test_csv_reads_back() -> None:
    rows = list(csv.reader(io.StringIO(to_csv(FOUND, 0, 0).decode())))
    assert rows[0][1:] == list(FOUND.key_tokens)
    np.testing.assert_allclose(np.array([[float(v) for v in row[1:]] for row in rows[1:]]), WEIGHTS[0, 0], atol=1e-6)


def test_npz_reads_back_without_pickle() -> None:
    kept = np.load(io.BytesIO(to_npz(AttentionTrace("x", decoder=FOUND))), allow_pickle=False)
    np.testing.assert_array_equal(kept["decoder"], WEIGHTS)
    assert tuple(kept["decoder_keys"]) == FOUND.key_tokens
