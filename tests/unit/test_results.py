"""Published figures: rows that do not fit are refused, values are those of the sources, and means come out."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from core import catalogue
from core.catalogue import results as data
from core.catalogue.questions import Case, Question, QuestionKind, choices, first, questions, reference, rows
from core.catalogue.results import COLUMNS, BadResult, Measure, Result, differences, names, read_results, tables
from core.content import content

GOOD = {
    "system": "bert",
    "variant": "",
    "size": "base",
    "parameters": "109482240",
    "counted": "computed here",
    "dataset": "SST-2",
    "split": "dev",
    "metric": "accuracy",
    "unit": "%",
    "value": "92.7",
    "higher_is_better": "yes",
    "paper": "bert",
    "version": "second version (2019)",
    "place": "table 5",
    "source": "bert-tables",
    "evidence": "paper",
    "also": "source-004",
    "disagrees": "",
    "note": "",
}
WRONG = {
    "system": [("bertt", "slug"), ("", "missing"), (" bert", "blanks")],
    "parameters": [("110M", "number of parameters"), ("-5000", "number of parameters")],
    "counted": [("", "come from"), ("guessed", "one of")],
    "dataset": [("", "missing"), ("a" * 241, "240"), ("SST\u200b-2\x07", "printable")],
    "split": [("", "missing")],
    "metric": [("", "missing")],
    "unit": [("percent", "unit")],
    "value": [("", "missing"), ("92,7", "number"), ("nan", "number"), ("1e9", "number"), ("92.7 ", "blanks")],
    "higher_is_better": [("true", "yes or no"), ("", "missing")],
    "paper": [("devlin", "paper of sources.toml")],
    "source": [("somewhere", "citation")],
    "evidence": [("notes on the paper", "was read as 'paper'"), ("hearsay", "was read as 'paper'")],
    "also": [("source-009", "citation"), ("source-004;", "citation")],
    "disagrees": [("maybe", "yes")],
    "note": [("x" * 300, "240"), ("two\nlines", "printable")],
}


def written(folder: Path, rows: Sequence[dict[str, str]], head: Sequence[str] = COLUMNS) -> Path:
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(head)
    lines.writerows([row[column] for column in COLUMNS] for row in rows)
    path = folder / "some-table.csv"
    path.write_text(text.getvalue(), encoding="utf-8")
    return path


def one(table: str, measure: str, system: str, **wanted: str) -> Result:
    """The single row of a table that fits."""
    rows = [
        row
        for row in tables()[table]
        if row.measure.slug == measure
        and row.system == system
        and all(getattr(row, key) == value for key, value in wanted.items())
    ]
    assert len(rows) == 1, rows
    return rows[0]


def test_a_good_row_is_read(tmp_path: Path) -> None:
    (row,) = read_results(written(tmp_path, [GOOD]), names())
    assert (row.table, row.value, row.printed, row.parameters) == ("some-table", 92.7, "92.7", 109_482_240)
    assert row.measure == Measure("SST-2", "dev", "accuracy", "%", True)
    assert row.measure.slug == "sst-2.dev.accuracy"
    assert row.also == ("source-004",)
    assert row.label == "BERT, base"


@pytest.mark.parametrize(("field", "value", "reason"), [(f, v, r) for f, cases in WRONG.items() for v, r in cases])
def test_a_wrong_row_is_refused_with_file_line_field_and_reason(
    field: str, value: str, reason: str, tmp_path: Path
) -> None:
    path = written(tmp_path, [GOOD, {**GOOD, "dataset": "RTE", field: value}])
    with pytest.raises(BadResult) as error:
        read_results(path, names())
    said = str(error.value)
    assert said.startswith("some-table.csv, line ")
    assert field in said
    assert reason in said
    if "\n" not in value:
        assert "line 3" in said


def test_a_table_number_without_the_paper_is_refused(tmp_path: Path) -> None:
    row = {**GOOD, "source": "source-004", "evidence": "source document", "also": ""}
    with pytest.raises(BadResult, match="line 2, place: only a place that was seen"):
        read_results(written(tmp_path, [row]), names())
    assert read_results(written(tmp_path, [{**row, "place": ""}]), names())[0].place == ""


def test_wrong_shapes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadResult, match="line 1: the columns must be"):
        read_results(written(tmp_path, [GOOD], head=COLUMNS[:-1]), names())
    with pytest.raises(BadResult, match="no rows"):
        read_results(written(tmp_path, []), names())
    with pytest.raises(BadResult, match="line 3: the same figure"):
        read_results(written(tmp_path, [GOOD, GOOD]), names())
    path = written(tmp_path, [GOOD])
    path.write_text(path.read_text() + "bert,,base\n")
    with pytest.raises(BadResult, match="line 3: 3 cells instead of 19"):
        read_results(path, names())


def test_one_measure_goes_by_one_unit_and_one_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, [GOOD, {**GOOD, "size": "large", "higher_is_better": "no"}])
    monkeypatch.setattr(data, "FOLDER", tmp_path)
    with pytest.raises(BadResult, match="another unit, way or spelling"):
        data.results.__wrapped__()


def test_every_row_names_a_source_with_its_evidence() -> None:
    assert len(data.results()) > 1_500
    for row in data.results():
        citation = data.citation(row.source)
        assert citation.evidence == row.evidence
        assert citation.read
        assert data.paper(row.paper)
        for key in row.also:
            assert data.citation(key)
    used = {key for row in data.results() for key in (row.source, *row.also)}
    keys = {key for key in names().citations if key not in data.shared()[0]}
    assert keys <= used, "citations that no row uses"
    assert {row.paper for row in data.results()} == set(names().papers)


# Typed in from the five source documents by hand, one from each of their tables.
BY_HAND = [
    ("roberta-data", "squad-2-0.dev.f1", "roberta", {"variant": "160 GB, 500K steps"}, "89.4"),
    ("spanbert-mrqa", "five-mrqa-sets.test.average-f1", "spanbert", {}, "81.5"),
    ("structbert-glue", "mrpc.test.accuracy", "people", {}, "80.8"),
    ("bigbird-questions", "hotpotqa-joint.dev.f1", "longformer", {}, "64.4"),
    ("distilbert-time", "one-pass-over-sts-b-cpu-batch-1.dev.time", "distilbert", {}, "410"),
    ("distilbert-glue-v2", "cola.dev.matthews-correlation", "distilbert", {}, "51.3"),
    ("distilbert-glue-v1", "cola.not-stated.matthews-correlation", "distilbert", {}, "42.5"),
    ("roberta-masking", "mnli-matched.dev.accuracy", "roberta", {"variant": "dynamic masking"}, "84.0"),
    (
        "roberta-batch",
        "masked-words.held-out-training-text.perplexity",
        "roberta",
        {"variant": "batch 2K, 125K steps, rate 7e-4"},
        "3.68",
    ),
    ("albert-sizes-v1", "five-tasks.not-stated.average", "bert", {"size": "xlarge"}, "76.7"),
    ("turing-nlg", "lambada.test.accuracy", "gpt-2", {}, "52.66"),
    ("gpt-tasks", "race.not-stated.accuracy", "gpt", {}, "59.0"),
    ("gpt-copa", "copa.not-stated.accuracy", "gpt", {}, "78.6"),
    ("gpt-2-zero-shot", "penn-treebank.test.perplexity", "gpt-2", {"size": "1542M"}, "35.76"),
    ("gpt-2-people", "winograd-schema-challenge.not-stated.accuracy", "gpt-2", {}, "70.70"),
    ("elmo-tasks", "conll-2003-entities.test.f1", "elmo", {}, "92.22"),
    ("bert-glue-v1", "qnli.test.accuracy", "bert", {"size": "large"}, "91.1"),
    ("bert-objectives", "squad-1-1.dev.f1", "bert", {"variant": "left to right, without next sentence"}, "77.8"),
    ("bert-sizes", "masked-words.held-out-training-text.perplexity", "bert", {"size": "large"}, "3.23"),
    ("peters-frozen", "conll-2003-entities.not-stated.f1", "elmo", {"variant": "fine-tuned"}, "91.9"),
    ("bart-understanding", "cola.dev.matthews-correlation", "bart", {}, "62.8"),
    (
        "bart-corruptions",
        "cnn-dailymail.not-stated.perplexity",
        "bart",
        {"variant": "infilling and permutation"},
        "5.41",
    ),
    ("bert-heads-coreference", "attention-head-coreference.not-stated.antecedents-found", "bert", {}, "65.1"),
    ("codex-choice", "humaneval.all-164-problems.pass-1", "codex", {}, "37.7"),
    (
        "human-preferences",
        "style-of-a-continuation.people-s-choices.preferred",
        "gpt-2",
        {"variant": "tuned on preferences, against zero-shot"},
        "86",
    ),
]


@pytest.mark.parametrize(("table", "measure", "system", "wanted", "printed"), BY_HAND)
def test_figures_are_those_of_the_sources(
    table: str, measure: str, system: str, wanted: dict[str, str], printed: str
) -> None:
    assert one(table, measure, system, **wanted).printed == printed


def by_row(table: str) -> list[list[Result]]:
    """The rows of a table as the paper prints them: one model a line."""
    lines: dict[tuple[str, str, str], list[Result]] = {}
    for row in tables()[table]:
        lines.setdefault((row.system, row.variant, row.size), []).append(row)
    return list(lines.values())


@pytest.mark.parametrize(
    "table",
    [f"albert-{table}" for table in ("sizes", "embedding", "sharing", "sentences", "time", "data", "dropout")],
)
def test_alberts_means_come_out(table: str) -> None:
    """Each SQuAD counts once, as the mean of its two scores, and then five tasks count alike."""
    for line in by_row(table):
        value = {(row.measure.dataset, row.measure.metric): row.value for row in line}
        squad = [(value[name, "F1"] + value[name, "exact match"]) / 2 for name in ("SQuAD 1.1", "SQuAD 2.0")]
        tasks = [*squad, *(value[name, "accuracy"] for name in ("MNLI", "SST-2", "RACE"))]
        assert sum(tasks) / 5 == pytest.approx(value["five tasks", "average"], abs=0.11), line[0].label


@pytest.mark.parametrize("table", ["bert-glue-v1", "bert-glue-v2", "distilbert-glue-readme", "spanbert-mrqa"])
def test_means_come_out(table: str) -> None:
    for line in by_row(table):
        *tasks, mean = sorted(line, key=lambda row: row.measure.metric.startswith("average"))
        assert sum(row.value for row in tasks) / len(tasks) == pytest.approx(mean.value, abs=0.11), line[0].label


def test_one_cell_of_distilberts_table_breaks_its_mean() -> None:
    """79.5 is the mean of BERT's row with 84.7 for MNLI, as the README has it, and not with the paper's 86.7."""
    lines = {line[0].system: line for line in by_row("distilbert-glue-v2")}
    values = {row.measure.dataset: row.value for row in lines["bert"]}
    mean = values.pop("GLUE with WNLI")
    assert round(sum(values.values()) / 9, 1) == 79.7 != mean == 79.5
    values["MNLI"] = one("distilbert-glue-readme", "mnli.dev.accuracy", "bert", variant="uncased").value
    assert round(sum(values.values()) / 9, 1) == 79.5
    assert one("distilbert-glue-v2", "mnli.dev.accuracy", "bert").disagrees


def test_what_sets_rows_apart_is_said() -> None:
    same = [row for row in tables()["bert-objectives"] if row.measure.dataset == "MNLI matched"]
    assert differences(same) == ()
    both = [row for table in ("bert-glue-v1", "bert-glue-v2") for row in tables()[table]]
    names = {"paper": "Devlin et al. 2018, BERT", "versions": "first version (2018), second version (2019)"}
    assert differences(both) == (("versions", names),)
    more = differences([*same, *tables()["roberta-glue-test"], *tables()["megatron-lm"]])
    assert [kind for kind, _ in more] == ["papers", "ensembles", "zero-shot"]
    assert more[0][1]["count"] == 3


def test_a_title_carries_its_unit_once() -> None:
    assert Measure("SST-2", "dev", "accuracy", "%", True).title == "SST-2, dev: accuracy (%)"
    assert Measure("enwik8", "test", "bits per byte", "bits", False).title == "enwik8, test: bits per byte"
    assert Measure("GLUE", "not stated", "average", "points", True).title == "GLUE: average (points)"


@pytest.mark.parametrize("system", catalogue.systems(), ids=lambda system: system.slug)
def test_a_figure_that_was_read_in_a_better_text_does_not_cite_a_lecture(system: catalogue.System) -> None:
    """Where one table of the results has all decimals of a fact, and from a better source, the fact cites that one."""
    rows = [
        row for row in data.results() if system.slug in (row.system, row.paper) and row.evidence != "source document"
    ]
    read = {table: {row.printed for row in rows if row.table == table} for table in {row.table for row in rows}}
    for fact in system.facts:
        figures = set(re.findall(r"\d+\.\d+", fact.value))
        if figures and system.citation(fact.source).evidence == "source document":
            held = [table for table, printed in read.items() if figures <= printed]
            assert held == [], f"{fact.label}: {fact.value} stands in the results"


CASES = [(question, case) for question in questions() for case in question.cases]
each = pytest.mark.parametrize(("question", "case"), CASES, ids=[f"{q.slug}-{c.slug}" for q, c in CASES])
PLAIN: dict[str, Any] = {
    "slug": "q",
    "title": "Q?",
    "cases": [
        {
            "slug": "a",
            "title": "A",
            "kind": "parts",
            "tables": ["bert-objectives"],
            "measure": "mnli-matched.dev.accuracy",
            "reference": "without next sentence",
        }
    ],
}


@each
def test_every_measure_of_every_case_has_rows_of_that_measure_alone(question: Question, case: Case) -> None:
    assert first(case) in choices(case)
    for measure in choices(case):
        table = rows(case, measure)
        assert len(table) >= 2, measure.slug
        assert len({(row.measure.dataset, row.measure.metric, row.measure.unit) for row in table}) == 1
        splits = {row.measure.split for row in table}
        assert len(splits) == 1 or (case.kind == "versions" and "not stated" in splits)
        assert len({row.paper for row in table}) == 1 or case.kind == "leaders"
        if case.kind == "scale":
            assert all(row.parameters for row in table)


def test_what_the_sources_ask_is_asked() -> None:
    kinds = {case.kind for _, case in CASES}
    assert kinds == set(get_args(QuestionKind))
    assert {question.slug for question in questions()} >= {"scale", "objective", "leaders", "frozen", "versions"}
    masks = next(case for _, case in CASES if case.slug == "masks")
    static, dynamic = (
        next(row for row in rows(masks, first(masks)) if row.variant == word)
        for word in ("static masking", "dynamic masking")
    )
    assert reference(masks, static)
    assert not reference(masks, dynamic)
    assert round(dynamic.value - static.value, 1) == 0.4


def test_leaders_are_measures_of_four_systems_at_least_with_a_split_that_is_named() -> None:
    (case,) = next(question for question in questions() if question.slug == "leaders").cases
    options = choices(case)
    assert len(options) > 20
    for measure in options:
        assert measure.split != "not stated"
        assert len({row.system for row in rows(case, measure)} & names().systems.keys()) >= 4


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ({"kind": "pie"}, "'leaders'"),
        ({"tables": ["bert-objektives"]}, "no table 'bert-objektives'"),
        ({"measure": "mnli.dev.bleu"}, "no measure 'mnli.dev.bleu'"),
        ({"reference": "with pictures"}, "no row is its reference"),
        ({"kind": "versions"}, "two tables"),
        ({"here": "Something"}, "here and link"),
        ({"title": None}, "title"),
    ],
)
def test_a_case_that_does_not_fit_does_not_load(case: dict[str, Any], reason: str) -> None:
    Question.model_validate(PLAIN)
    with pytest.raises(ValidationError, match=reason):
        Question.model_validate({**PLAIN, "cases": [PLAIN["cases"][0] | case]})


def test_a_question_needs_all_its_parts() -> None:
    words = content("catalogue", "questions")
    assert all(words.has(f"{part}: {question.slug}") for part in ("Try", "Notice") for question in questions())
    with pytest.raises(ValidationError, match="cases: a stands there twice"):
        Question.model_validate({**PLAIN, "cases": PLAIN["cases"] * 2})
