"""The longest common substring of a text and lines, against all substrings."""

from __future__ import annotations

import random
import time

from hypothesis import given
from hypothesis import strategies as st

from core.training.copied import Copy, longest_copy
from core.training.ready import ready


def brute(text: str, lines: list[str]) -> int:
    """Characters of the longest substring that a line and a line of ``text`` share."""
    parts = text.split("\n")
    return max(
        (
            end - start
            for part in parts
            for start in range(len(part))
            for end in range(start + 1, len(part) + 1)
            if any(part[start:end] in line for line in lines)
        ),
        default=0,
    )


@given(st.text("ab\n", max_size=40), st.lists(st.text("abc", max_size=20), max_size=5))
def test_no_longer_substring_is_shared(text: str, lines: list[str]) -> None:
    copy = longest_copy(text, lines)
    if copy is None:
        assert brute(text, lines) == 0
        return
    length = copy.end - copy.start
    shared = text[copy.start : copy.end]
    assert length == brute(text, lines)
    assert "\n" not in shared
    assert lines[copy.line][copy.at :].startswith(shared)
    assert text.find(shared) == copy.start
    assert next(number for number, line in enumerate(lines) if shared in line) == copy.line
    assert lines[copy.line].find(shared) == copy.at


def test_by_hand() -> None:
    lines = ["The cat sat on the mat.", "The dog sat in the sun.", "A dog sat in the rain."]
    assert longest_copy("My dog sat in the sunshine", lines) == Copy(2, 21, 1, 3)
    assert longest_copy("mat.\nThe", lines) == Copy(0, 4, 0, 19)
    assert longest_copy("XYZ", lines) is None
    assert longest_copy("", lines) is None
    assert longest_copy("cat", []) is None


def test_a_megabyte_takes_little_whatever_it_says() -> None:
    drawn = random.Random(0)
    words = ready("stories").split()
    prose = [" ".join(drawn.choices(words, k=70)) for _ in range(3_000)]
    digits = ["".join(drawn.choices("01", k=100)) for _ in range(10_000)]
    same = ["a" * 999 + "b"] * 1_000
    said = {
        "prose": (" ".join([*drawn.choices(words, k=100), prose[2_900][50:200], *drawn.choices(words, k=100)]), prose),
        "digits": ("".join(drawn.choices("01", k=1_000)), digits),
        "same": ("a" * 500 + "c" + "a" * 499, same),
    }
    for name, (text, lines) in said.items():
        assert sum(map(len, lines)) > 900_000
        begun = time.thread_time()
        copy = longest_copy(text, lines)
        spent = time.thread_time() - begun
        assert copy is not None
        assert copy.end - copy.start == {"prose": 150, "same": 500}.get(name, copy.end - copy.start)
        assert spent < 2, f"{name} took {spent:.2f} s"  # 0.1 to 0.2 s on a busy machine
