"""Studies: how rows become curves, numbers and a front; each verdict's comparisons hold in its rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from core import studies
from core.errors import ContentUnusable
from core.figures.labels import short, whole
from core.figures.study import in_words, study_alt, study_chart, study_lines, written
from core.studies import Spread, front
from core.theme import THEMES

TOML = """
claim = "More is better."
source = "Nobody 1999."
varied = "the dose."
held = "the rest."
corpus = true
seeds = ["seed"]
where = { kind = ["a", "b"] }
verdict = "b scores {{b}}, a {{a}}: {{gain}} points."
holds = ["a << b", "0 < slope"]
x = [{ column = "dose", title = "dose", log = true }]
y = [{ column = "score", title = "score", unit = "share" }]
series = { column = "kind", names = { b = "Better" } }

[[baselines]]
name = "chance"
where = { kind = "chance" }

[numbers]
a = { column = "score", unit = "share", where = { kind = "a", dose = 4 } }
b = { column = "score", unit = "share", where = { kind = "b", dose = 4 } }
gain = { of = "b", minus = "a", unit = "points" }
slope = { column = "score", by = "dose", stat = "slope", where = { kind = "b" } }
best = { column = "dose", by = "score", stat = "best", where = { kind = "a" } }
times = { of = "b", over = "a" }
runs = { stat = "seeds", where = { kind = "a" } }
"""
CSV = """kind,dose,seed,score
a,1,1,0.1
a,1,0,0.2
a,4,0,0.3
a,4,1,0.2
b,1,0,0.1
b,1,1,0.1
b,4,0,0.5
b,4,1,0.3
chance,0,0,0.05
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(studies, "ROOT", tmp_path)
    studies.get.cache_clear()
    (tmp_path / "dose").mkdir()
    (tmp_path / "dose" / "study.toml").write_text(TOML, encoding="utf-8")
    (tmp_path / "dose" / "results.csv").write_text(CSV, encoding="utf-8")
    return tmp_path / "dose"


def test_numbers_by_hand(folder: Path) -> None:
    study = studies.get("dose")
    assert study.number("a").values == (0.3, 0.2), "by seed"
    assert study.number("gain").values == pytest.approx((0.2, 0.1))
    assert study.number("slope").mean == pytest.approx(1), "0.1 to 0.4 over 1 to 4"
    assert study.number("best").mean == 1
    assert study.number("times").mean == pytest.approx(1.6)
    assert study.number("runs").mean == 2
    assert study.conclusion(in_words) == "b scores 40.0% ± 14.1, a 25.0% ± 7.1: 15.0 ± 10.0 points."
    assert study.broken() == []
    assert studies.names() == ["dose"]
    assert study.command == "python -m lab study dose --corpus FOLDER"


def test_a_comparison_that_the_rows_do_not_bear_out_is_found(folder: Path) -> None:
    (folder / "results.csv").write_text(CSV.replace("b,4,1,0.3", "b,4,1,0.2"), encoding="utf-8")
    study = studies.get("dose")
    assert study.number("a").mean < study.number("b").mean
    assert study.broken() == ["a << b"], "the mean alone is no clear difference"
    (folder / "study.toml").write_text(TOML.replace("a << b", "a is less"), encoding="utf-8")
    studies.get.cache_clear()
    with pytest.raises(ContentUnusable, match="is no comparison"):
        studies.get("dose").broken()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (TOML.replace('claim = "More is better."', ""), "claim: Field required"),
        (TOML.replace("seeds =", "seed ="), "seeds: Field required"),
        (TOML.replace('title = "dose"', 'titel = "dose"'), "x.0.title: Field required"),
        (TOML.replace("[numbers]", "[numbers"), "cannot be read"),
    ],
)
def test_a_wrong_file_is_refused_with_its_field(folder: Path, wrong: str, said: str) -> None:
    (folder / "study.toml").write_text(wrong, encoding="utf-8")
    with pytest.raises(ContentUnusable, match=f"studies/dose/study.toml:? {said}"):
        studies.get("dose")


def test_rows_that_are_missing_are_a_sentence(folder: Path) -> None:
    (folder / "results.csv").unlink()
    with pytest.raises(ContentUnusable, match=r"studies/dose/results\.csv cannot be read"):
        studies.get("dose").broken()
    (folder / "results.csv").write_text("kind,dose,seed,score\n", encoding="utf-8")
    studies.get.cache_clear()
    with pytest.raises(ContentUnusable, match="no row"):
        studies.get("dose").number("a")


def test_a_front_by_hand() -> None:
    points = [(1.0, 5.0), (2.0, 3.0), (2.0, 4.0), (3.0, 4.0), (4.0, 1.0)]
    assert front(points, "lower") == [(1.0, 5.0), (2.0, 3.0), (4.0, 1.0)]
    assert front(points, "higher") == [(1.0, 5.0)]


def test_lines_have_a_mean_a_spread_and_a_baseline(folder: Path) -> None:
    study, look = studies.get("dose"), THEMES["light"]
    first, second, chance = study_lines(study, study.x[0], study.y[0], {}, look)
    assert (first.name, second.name, chance.name) == ("a", "Better", "chance")
    assert list(first.values) == pytest.approx([0.15, 0.25])
    assert list(first.spread or ()) == pytest.approx([0.0707, 0.0707], abs=1e-4)
    assert (list(chance.positions), list(chance.values)) == ([1, 4], [0.05, 0.05])
    figure = study_chart(study, [first, second, chance], study.x[0], study.y[0], theme=look)
    assert figure.layout.xaxis.tickvals == (1, 4)
    assert study_alt([first, chance], study.x[0], study.y[0]).endswith("a 25.0%; chance 5.0%.")


def test_numbers_as_a_verdict_writes_them() -> None:
    assert [written(0.1234, "share"), written(-0.021, "points"), written(4.43e6, "count")] == [
        "12.3%",
        "−2.1",
        "4.43 M",
    ]
    assert [written(1024, "count"), written(5613.2, "count")] == ["1,024", "5,613"]
    assert [written(1.5e6, "bytes"), written(0.00233, "seconds")] == ["1.50 MB", "2.33 ms"]
    assert written(0.578, "number") == "0.58"


def test_spreads() -> None:
    spread = Spread((0.5, 0.7, 0.9))
    assert (spread.mean, spread.deviation, spread.ends) == (pytest.approx(0.7), pytest.approx(0.2), (0.5, 0.9))
    assert spread.minus(Spread((0.4, 0.6, 0.8))).positive
    assert not Spread((0.5, -0.4, 0.1)).positive
    assert Spread((0.5,)).deviation == 0


@pytest.mark.parametrize("name", studies.names())
def test_the_verdict_of_each_study_holds_in_its_rows(name: str) -> None:
    study = studies.get(name)
    assert study.holds, "a verdict rests on a comparison"
    assert study.broken() == []
    assert "{{" not in study.conclusion(in_words)
    compared = {word for holds in study.holds for word in holds.split()} | set(study.verdict.split("{{"))
    parts = {part for number in study.numbers.values() for part in (number.of, number.minus, number.over)}
    unused = {word for word in study.numbers if word not in compared | parts and f"{{{{{word}}}}}" not in study.verdict}
    assert not unused


def test_every_setting_of_distillation_beats_the_labels_alone() -> None:
    study = studies.get("distillation")
    alone = study.number("alone")
    for alpha in (0, 0.25, 0.5, 0.75):
        for temperature in (1, 2, 4, 8):
            setting: studies.Where = {"model": "student", "alpha": alpha, "temperature": temperature, "step": 100}
            rows = studies.select(study.rows, setting)
            assert study.spread("accuracy", rows).minus(alone).positive, (alpha, temperature)


def test_a_round_number_loses_its_empty_decimals_alone() -> None:
    assert [whole(short(count)) for count in (10_000_000, 1024, 2_050, 60)] == ["10 M", "1.02 k", "2.05 k", "60"]
