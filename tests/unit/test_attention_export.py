"""Tables and files of attention hold the map's own numbers."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from core.attention.trace import AttentionMap, AttentionTrace
from core.attention.views.export import strongest_links, to_csv, to_long_csv, to_npz, top_keys

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


def test_what_was_not_computed_is_told_apart_from_zero() -> None:
    allowed = np.tri(3, dtype=np.bool_)[None, None]
    found = AttentionMap("decoder", FOUND.query_tokens, FOUND.key_tokens, WEIGHTS, allowed)
    rows = list(csv.reader(io.StringIO(to_csv(found, 0, 0).decode())))
    assert rows[1][1:] == ["1.000000", "", ""]
    assert rows[2][1:] == ["0.250000", "0.750000", ""]
    kept = np.load(io.BytesIO(to_npz(AttentionTrace("x", decoder=found))), allow_pickle=False)
    np.testing.assert_array_equal(kept["decoder_computed"], allowed)


def test_npz_reads_back_without_pickle() -> None:
    kept = np.load(io.BytesIO(to_npz(AttentionTrace("x", decoder=FOUND))), allow_pickle=False)
    np.testing.assert_array_equal(kept["decoder"], WEIGHTS)
    assert tuple(kept["decoder_keys"]) == FOUND.key_tokens


def test_strongest_links_are_told_with_their_places() -> None:
    weights = np.array([[[[0.1, 0.9], [0.7, 0.3]]]], dtype=np.float32)
    found = AttentionMap("encoder", ("a", "b"), ("a", "b"), weights)
    links = strongest_links(found, 0, 0, 3)
    assert [(link.from_place, link.from_token, link.to_place, link.to_token) for link in links] == [
        (1, "a", 2, "b"),
        (2, "b", 1, "a"),
        (2, "b", 2, "b"),
    ]
    assert [link.weight for link in links] == pytest.approx([0.9, 0.7, 0.3])
    alone = AttentionMap("encoder", ("a", "b"), ("a", "b"), np.eye(2, dtype=np.float32)[None, None])
    assert len(strongest_links(alone, 0, 0)) == 2  # never a zero


def test_all_heads_as_lines_leave_out_what_was_not_computed() -> None:
    weights = np.array([[[[1, 0], [0.25, 0.75]]]], dtype=np.float32)
    found = AttentionMap("decoder", ("a", 'b"'), ("a", 'b"'), weights, np.tri(2, dtype=np.bool_)[None, None])
    assert to_long_csv(found).decode().splitlines() == [
        "layer,head,query,query token,key,key token,weight",
        "1,1,1,a,1,a,1.000000",
        '1,1,2,"b""",1,a,0.250000',
        '1,1,2,"b""",2,"b""",0.750000',
    ]
