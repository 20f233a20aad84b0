"""Every study of the page is repeated by its command, and its stored rows are those that the command writes."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest

from core import checkpoints, studies
from core.__main__ import run
from core.errors import AtlasError
from core.table import measured
from lab import __main__ as command_line
from lab import studies as repeated
from lab import warm_start
from lab.studies import STUDIES, Repetition, repeat


def test_every_study_of_the_page_is_repeated_and_no_other() -> None:
    assert sorted(STUDIES) == studies.names()


@pytest.mark.parametrize("name", STUDIES)
def test_the_stored_rows_are_those_that_the_study_measures(name: str) -> None:
    with studies.results(name).open(encoding="utf-8", newline="") as stream:
        columns = next(csv.reader(stream))
    assert columns == [field.name for field in fields(STUDIES[name].row)]
    rows: Sequence[Any] = measured(studies.results(name), STUDIES[name].row)
    if STUDIES[name].seeds > 1:
        assert {row.seed for row in rows} == set(range(STUDIES[name].seeds))


@dataclass(frozen=True, slots=True)
class SeedRow:
    seed: int
    corpus: str
    peak: str | None = None


def count_seeds(done: Sequence[SeedRow], corpus: Path | None, seeds: int) -> Iterator[list[SeedRow]]:
    return ([SeedRow(seed, str(corpus))] for seed in range(seeds) if seed not in {row.seed for row in done})


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Each study counts its seeds; where the tables are written."""
    monkeypatch.setattr(repeated, "REPEATED", tmp_path)
    monkeypatch.setattr(repeated, "STUDIES", dict.fromkeys(STUDIES, Repetition(SeedRow, count_seeds, 2)))
    return tmp_path


@pytest.mark.parametrize("name", STUDIES)
def test_the_command_that_the_page_prints_repeats_the_study(
    name: str, counted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python, *arguments = studies.get(name).command.replace("FOLDER", str(counted)).split()
    assert (python, *arguments[:2]) == ("python", "-m", "lab")
    monkeypatch.setattr("sys.argv", arguments[1:])
    with pytest.raises(SystemExit) as ended:
        run(command_line.app)
    assert not ended.value.code
    with (counted / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    corpus = str(counted) if studies.get(name).corpus else "None"
    assert rows == [{"seed": str(seed), "corpus": corpus, "peak": ""} for seed in range(2)]


def test_what_a_table_has_is_not_measured_again(counted: Path) -> None:
    file = counted / "other" / "rows.csv"
    repeat("lengths", seeds=1, output=file)
    repeat("lengths", seeds=3, output=file)
    assert file.read_text(encoding="utf-8").splitlines()[1:] == ["0,None,", "1,None,", "2,None,"]


@pytest.mark.parametrize(("name", "said"), [("nothing", "There are: batches, "), ("facts", "--corpus FOLDER")])
def test_a_study_that_cannot_be_repeated_gets_a_sentence(name: str, said: str) -> None:
    with pytest.raises(AtlasError, match=said):
        repeat(name)


def test_without_a_name_all_are_listed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["lab", "study"])
    with pytest.raises(SystemExit):
        run(command_line.app)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0].rstrip() for line in lines] == [studies.get(name).command for name in studies.names()]


def test_a_warm_start_is_the_bundled_models_learning_curve() -> None:
    rows = measured(studies.results("warm-start"), warm_start.WarmStartResult)
    folder = Path(checkpoints.get("atlas-bert2bert").location)
    kept = warm_start.points_of("kept", folder)
    assert [(float(row.loss), row.connective) for row in rows if row.start == "kept"] == [
        pytest.approx((float(point.loss), point.connective), rel=1e-5) for point in kept
    ]
    often = warm_start.baseline(folder)
    assert [row.connective for row in rows if row.start == "often"] == [pytest.approx(often.connective, rel=1e-5)]
    assert {row.start for row in rows} == {*warm_start.RECIPES, "often"}


def test_what_is_missing_of_a_warm_start_is_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(checkpoints.get("atlas-bert2bert").location)
    trained: list[str] = []
    monkeypatch.setattr(warm_start, "train", lambda recipe, corpus, output: trained.append(recipe) or folder)
    monkeypatch.setattr(warm_start, "baseline", lambda _: warm_start.WarmStartResult("often", 1, "", 0.6))
    done = [warm_start.WarmStartResult("whole", 1, 2.0, 0.5)]
    first, second = warm_start.runs(done, Path(), 1)
    assert trained == ["atlas-bert2bert", "atlas-bert2bert-random"]
    assert ({point.start for point in first}, {point.start for point in second}) == ({"kept", "often"}, {"random"})
