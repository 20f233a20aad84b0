"""Numbers on cards: every share has its number of trials, its baseline in the card's text, and held-out texts first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.checkpoints.registry import bundled_root
from core.checkpoints.spec import Card, Measure, read_card
from core.settings import ROOT
from core.ui.picker import interval

FILES = sorted([*bundled_root().rglob("card.toml"), *(ROOT / "assets").glob("[ce]l*/card.toml")])
EXACT = ("chance",)
"""Percentages that are computed, not sampled."""
BASELINE = ("alone", "most frequent", "bag of words", "chance", "nearest", "unigram", "of all tokens")
"""What the name of a baseline's row contains."""
SCORES = ("BLEU", "chrF", "chrF before", "chrF after", "Pearson", "Spearman", "passes per token")
"""Suffixes of the measures without a unit that are estimated from a sample of texts."""
MEANS = "atlas-bigbird"
"""Its shares are means over texts."""
THINGS = "tokens|pairs|texts|sentences|images|fusions|beginnings|passages|samples"
COUNTED = re.compile(rf"n = [\d,]+|\b\d[\d,]* (?:[A-Za-z-]+ ){{0,3}}(?:{THINGS})")


def named(file: Path) -> str:
    return "/".join(file.parent.parts[-2:])


def shares(card: Card) -> Iterator[Measure]:
    return (m for m in card.measures if m.unit == "%" and m.low is None and m.name not in EXACT)


def texts(card: Card) -> str:
    return " ".join((card.summary, *card.strengths, *card.weaknesses))


@pytest.mark.parametrize("file", FILES, ids=named)
def test_a_quality_has_its_number_of_trials_and_an_interval(file: Path) -> None:
    for measure in read_card(file).measures:
        if (measure.unit == "%" or measure.name.endswith(SCORES)) and measure.name not in EXACT:
            assert measure.n, measure
            assert measure.interval is not None, measure
            low, high = measure.interval
            assert low - 0.01 <= measure.value <= high + 0.01, measure


@pytest.mark.parametrize("file", FILES, ids=named)
def test_a_share_is_of_its_number_of_trials(file: Path) -> None:
    for measure in shares(read_card(file)):
        if MEANS not in str(file):
            digits = len(f"{measure.value}".partition(".")[2])
            near = 100 * round(measure.value * measure.n / 100) / measure.n
            assert near == pytest.approx(measure.value, abs=0.51 * 10**-digits), measure


@pytest.mark.parametrize("file", FILES, ids=named)
def test_held_out_texts_come_first(file: Path) -> None:
    held_out = ["held out" in measure.on for measure in read_card(file).measures]
    assert held_out == sorted(held_out, reverse=True)


@pytest.mark.parametrize("file", FILES, ids=named)
def test_a_share_in_a_strength_states_its_trials(file: Path) -> None:
    for strength in read_card(file).strengths:
        assert "%" not in strength or COUNTED.search(strength), strength


@pytest.mark.parametrize("file", FILES, ids=named)
def test_the_baseline_of_a_held_out_share_stands_in_the_text(file: Path) -> None:
    card = read_card(file)
    for measure in shares(card):
        if "held out" in measure.on and any(part in measure.name for part in BASELINE) and "top-5" not in measure.name:
            printed = re.findall(r"(\d+)(?:\.(\d+))?%", texts(card))
            near = (
                abs(float(f"{full}.{part}") - measure.value) <= 0.5 * 10 ** -len(part) + 0.01 for full, part in printed
            )
            assert any(near), measure


def test_recall_stands_beside_precision() -> None:
    for file in FILES:
        names = {measure.name for measure in read_card(file).measures}
        assert ("replaced found" in names) == ("precision" in names), file


def test_the_interval_of_a_share() -> None:
    low, high = Measure("top-1", 50.0, "%", "ten texts", n=10).interval or (0.0, 0.0)
    assert (low, high) == pytest.approx((23.66, 76.34), abs=0.01)
    assert Measure("bits per byte", 1.3, "bits", "a story").interval is None
    assert Measure("BLEU", 48.4, "", "ten texts", n=10, low=45.1, high=51.7).interval == (45.1, 51.7)


def test_an_interval_has_the_digits_and_the_unit_of_its_measure() -> None:
    assert interval(Measure("top-1", 50.0, "%", "ten texts", n=10)) == "23.7 to 76.3%"
    assert interval(Measure("BLEU", 48.4, "", "ten texts", n=10, low=45.12, high=51.7)) == "45.1 to 51.7"
    assert interval(Measure("Pearson", 0.49, "", "ten texts", n=10, low=0.41, high=0.568)) == "0.41 to 0.57"
    assert interval(Measure("bits per byte", 1.3, "bits", "a story")) == ""
