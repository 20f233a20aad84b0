"""Corrections: each against a source, with sums that come out as said, joined with the records and shown once."""

from __future__ import annotations

import re

import pytest

from core import catalogue
from core.anatomy.arithmetic import is_count, shown, value
from core.catalogue import corrections as module
from core.catalogue.corrections import KINDS, MergedCorrection, cited, corrections
from core.catalogue.load import DATA, BadData
from core.catalogue.results import citation
from core.catalogue.results import results as figures
from core.errors import AtlasError

ALL = corrections()


def by_id(name: str) -> MergedCorrection:
    return next(entry for entry in ALL if entry.id == name)


def results(name: str) -> list[str]:
    return [f"{value(one.expression):.{one.digits}f}" for one in by_id(name).sums]


def test_a_correction_names_sources_and_stands_on_something_else() -> None:
    for entry in ALL:
        assert entry.claim.endswith(".")
        assert entry.finding.endswith((".", "”"))
        assert entry.claimed_by
        assert all(one.key.startswith("source-00") for one in entry.claimed_by)
        assert entry.sources
        alone = {one.key for one in entry.sources} <= {one.key for one in entry.claimed_by}
        assert not alone or entry.kind in ("disagreement",), "it stands on the source that errs"
        assert len(entry.printed) <= 130, "a quotation is a few words"
        assert re.fullmatch(r"[a-z0-9.-]+", entry.id)


def test_a_correction_is_sorted_quotes_its_source_and_rests_on_more_than_our_words() -> None:
    for entry in ALL:
        assert entry.kind in KINDS
        assert entry.printed
        assert {one.evidence for one in entry.sources} - {"our own words", "from memory, unverified"}


def test_every_correction_of_a_record_is_shown_in_its_words() -> None:
    for system in catalogue.systems():
        for row in system.corrections:
            entry = by_id(row.id)
            assert (entry.claim, entry.finding) == (row.claim, row.finding) or row.id == "gpt-3-title"
            assert {system.citation(key) for key in row.sources} <= set(entry.sources)
            assert system.citation(row.claimed_by) in entry.claimed_by


def test_what_a_finding_counts_is_what_its_sums_give() -> None:
    """Whole counts that a finding spells out are among those that the trees give, where it has sums of counts."""
    for entry in ALL:
        counted = {f"{value(one.expression):,.0f}" for one in entry.sums if is_count(one.expression)}
        spelt = set(re.findall(r"\b\d{1,3}(?:,\d{3}){2,}\b", entry.finding))
        known = counted | {"336,226,108", "6,053,381,344", "174,604,259,328", "1,557,611,200"}
        assert spelt <= known or not counted, entry.id


def test_sums_worked_out_by_hand() -> None:
    assert results("distilbert-mnli") == ["79.72", "79.50"]  # 717.5 / 9 and 715.5 / 9
    assert results("glue-averages") == ["81.90", "80.52"]  # 737.1 / 9 and 724.7 / 9
    assert results("embeddings-difference") == ["-3.0"]
    assert results("albert-64m") == ["11683584", "63647232"]
    assert results("distilbert-faster") == ["39.4", "38.6", "62.9"]
    assert results("gpt-3-over-gpt-2") == ["112.1"]
    assert results("spanbert-average") == ["77.24", "81.50"]  # 386.2 / 5 and 407.5 / 5
    assert results("elmo-180")[1] == "93600864"
    assert results("codex-pass-at-100") == ["5.0", "99.9"]
    assert results("t5-checkpoints") == ["52.4"]  # 262,144 / 5,000
    assert results("bert-108-or-110")[0] == "108891648"
    assert [n[:3] for n in results("gpt-2-sizes")] == ["124", "354", "774", "155"]


@pytest.mark.parametrize(
    "bad", ["__import__('os')", "open('x')", "a + 1", "'x' * 3", "1 if 1 else 2", "[1]", "mean(x=1)"]
)
def test_arithmetic_reads_nothing_but_arithmetic(bad: str) -> None:
    with pytest.raises(ValueError, match="not arithmetic"):
        value(bad)


def test_arithmetic_by_hand() -> None:
    assert value("2 ** 10 - 24 * (3 + 2) / 4") == 994
    assert value("-3 + mean(1, 2, 6)") == 0
    assert value("comb(5, 2)") == 10
    assert value("{bert/base} - {bert/base}") == 0
    assert shown("{gpt-2/small} - 2 * 3") == "124,439,808 − 2 × 3"
    with pytest.raises(AtlasError, match="nope"):
        value("{bert/nope}")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('id = "bart-5mm"', 'id = "bart-steps"', "no row for bart-5mm"),
        ('id = "bart-5mm"', 'id = "bart-5mm"\nclaim = "A claim."', "bart-5mm: either a record or this row"),
        ('id = "bart-5mm"\nsystems = ["bart"]', 'id = "bart-5mm"\nsystems = ["bert"]', "bart-5mm: systems and by"),
        ('kind = "typo"', 'kind = "slip"', "must be one of mistake"),
    ],
)
def test_a_file_that_does_not_fit_the_records_is_refused(
    old: str, new: str, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (DATA / "corrections.toml").read_text(encoding="utf-8")
    assert old in text
    monkeypatch.setattr(module, "read_text", lambda _path: text.replace(old, new, 1))
    with pytest.raises(BadData, match=complaint):
        module.corrections.__wrapped__()


def test_bart_counts_steps_and_parameters_apart() -> None:
    assert by_id("bart-5mm").finding == "500,000 steps."
    assert "27%" in by_id("bart-ten-per-cent").finding


def test_citations_are_those_of_the_records_the_corrections_and_the_figures() -> None:
    found = cited()
    keys = {one.key for one in found}
    assert keys >= catalogue.citations().keys()
    assert {"clip-paper", "human-eval", "source-003", "roberta-tables", "bert-tables"} <= keys
    for row in figures():
        assert {citation(key) for key in (row.source, *row.also)} <= set(found)
    assert len(set(found)) == len(found)
