"""Numbers as bytes: they come back within the error that is stated, and what was not computed stays apart from zero."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from core.attention import bertviz
from core.attention.tokens import short
from core.attention.trace import AttentionMap, AttentionTrace, MapKind
from core.attention.views import grid, packed
from tests.attention_pages import data_of, unpacked


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        ("cat", "cat"),
        ("abcdef", "abcdef"),
        ("abcdefg", "abcde…"),
        ("日本語", "日本語"),  # two columns each
        ("日本語学", "日本…"),
        ("a\u202eb", "a‹u+2…"),
        ("\n", "⏎"),
        ("", ""),
        ("x" * 10_000, "xxxxx…"),
    ],
)
def test_labels_fit_their_columns(token: str, shown: str) -> None:
    assert short(token, 6) == shown


@pytest.mark.parametrize("bits", [8, 16])
def test_each_head_has_steps_of_its_own(bits: packed.Bits) -> None:
    values = np.array([[[[0.01, 0.002]], [[-3.0, 1.0]], [[0.0, 0.0]]]], np.float32)  # (1, 3, 1, 2)
    kept = packed.by_head(values, bits, signed=True)
    error = np.abs(unpacked(kept) - values).max(axis=(0, 2, 3))
    top = 2 ** (bits - 1) - 1
    assert (error <= np.array([0.01, 3.0, 0.0]) / top * 0.51 + 1e-9).all()
    assert unpacked(kept)[0, 1, 0, 0] == pytest.approx(-3.0, rel=1e-6)


def test_flags_are_eight_a_byte() -> None:
    known = np.array([[[[True, False, True], [True, True, True], [False, False, True]]]])
    kept = packed.flags(known)
    assert kept["shape"] == [1, 1, 3, 3]
    assert list(base64.b64decode(kept["bytes"])) == [0b10111100, 0b10000000]


def _found(kind: MapKind, allowed: Any = None) -> AttentionMap:
    return AttentionMap(kind, ("a", "b"), ("a", "b"), np.full((2, 3, 2, 2), 0.5, np.float32), allowed=allowed)


def test_what_was_computed_is_told_for_as_few_heads_as_it_takes() -> None:
    lower = np.array([[True, False], [True, True]])
    assert packed.computed(_found("encoder")) is None
    assert packed.computed(_found("encoder", np.ones((1, 1, 2, 2), bool))) is None
    for found in (_found("decoder"), _found("encoder", lower), _found("query", lower[None, None])):
        known = packed.computed(found)
        assert known.shape == (1, 1, 2, 2)
        assert (known == lower).all()
    each = np.stack([lower, np.ones((2, 2), bool)])[:, None]
    known = packed.computed(_found("encoder", each))
    assert known.shape == (2, 1, 2, 2)


def test_a_decoder_that_sees_ahead_is_not_causal() -> None:
    lower = np.array([[True, False], [True, True]])
    assert packed.causal(_found("decoder"))
    assert packed.causal(_found("query", lower))
    assert not packed.causal(_found("encoder"))
    assert not packed.causal(_found("decoder", ~lower))


NASTY = ("</script><script>alert(1)</script>", "<!--", "&amp;", "a\u2028b", "\u202egnp.exe", "x" * 10_000)
RENDERERS: dict[str, Callable[[AttentionMap], str]] = {
    "head": lambda found: bertviz.render(AttentionTrace("x", encoder=found), title=NASTY[0]),
    "model": lambda found: bertviz.render(AttentionTrace("x", encoder=found), "model", title=NASTY[0]),
    "grid": lambda found: grid.render(found, title=NASTY[0]),
}


@pytest.mark.parametrize("name", RENDERERS)
def test_a_page_asks_for_nothing_and_nothing_in_it_becomes_markup(name: str) -> None:
    n = len(NASTY)
    found = AttentionMap("encoder", NASTY, NASTY, np.full((1, 1, n, n), 1 / n, np.float32))
    page = RENDERERS[name](found)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy.group(1).startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy.group(1)
    for tag in ("script", "style"):
        for content in re.findall(f"<{tag}>(.*?)</{tag}>", page, re.S):
            digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy.group(1)
    assert not re.search(r"\s(src|href|style|on\w+)=", page.split("<script")[0])
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=", page)
    assert page.count("</script>") == (2 if name == "grid" else 6)  # data and scripts: bertviz brings three libraries
    assert "alert(1)</script>" not in page
    assert not {"\u2028", "\u202e"} & set(page)
    data = data_of(page)
    keys = data["keys"] if name == "grid" else data["attention"][0]["right_text"]
    assert keys[2] == "&amp;"
    assert keys[4].startswith("‹u+202e›")  # drawn, so that it turns nothing round
    assert len(keys[5]) <= 60
