"""What heads are worth over a set of texts, and the files that are kept."""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import fmean

import pytest

from core import checkpoints
from core.attention.ablation.ablate import heads_of, rank_heads
from core.attention.roles import rolefiles
from core.attention.roles.rolefiles import EFFECT_COLUMNS as COLUMNS
from core.checkpoints.families import FAMILIES
from core.errors import AtlasError, InputUnusable
from lab.effects import STEP, cli_effects, measure, texts
from tests import tinyadapters


def test_each_kind_has_its_own_form_of_the_texts() -> None:
    first = {kind: texts(family)[0] for kind, family in FAMILIES.items() if kind not in ("permutation-lm", "adapters")}
    assert first == {
        "masked-lm": "The rider put a saddle on the [MASK].",
        "causal-lm": "The rider put a saddle on the",
        "replaced-token": "The rider put a saddle on the soup.",
        "seq2seq-lm": "The rider put a saddle on the horse.",
    }
    assert texts(FAMILIES["adapters"]) == texts(FAMILIES["seq2seq-lm"])
    assert texts(FAMILIES["permutation-lm"]) == texts(FAMILIES["masked-lm"])


@pytest.mark.parametrize(("slug", "asked"), [("bert", "The cat sat on the [MASK]."), ("gpt2", "The cat sat on the")])
def test_bits_are_those_of_one_text_after_the_other(checkpoint_dir: Path, slug: str, asked: str) -> None:
    checkpoint = checkpoints.load(f"dir-tiny-{slug}")
    other = asked.replace("cat", "dog")
    done: list[int] = []
    lost = measure(checkpoint, [asked, "", other], lambda: done.append(1))
    assert len(done) == 3
    expected = [
        {effect.head: effect.bits for effect in rank_heads(checkpoint, text, step=STEP)} for text in (asked, other)
    ]
    assert lost.keys() == set(heads_of(checkpoint))
    for head, bits in lost.items():
        assert bits == pytest.approx([result[head] for result in expected])


def test_adapters_are_measured_under_each_of_their_tasks(tmp_path: Path) -> None:
    checkpoint = tinyadapters.checkpoint(tmp_path)
    lost = measure(checkpoint, ["The cat sat on the mat.", "?", "The dog ran."])
    # “?” has nothing before its mark, so that one of the four tasks cannot be asked about it
    expected = [
        {effect.head: effect.bits for effect in rank_heads(checkpoint, text, task=task)}
        for text, tasks in (
            ("The cat sat on the mat.", tinyadapters.TASKS),
            ("?", ("sentiment", "genre", "words")),
            ("The dog ran.", tinyadapters.TASKS),
        )
        for task in tasks
    ]
    assert len(expected) == 11
    assert {head: pytest.approx(bits) for head, bits in lost.items()} == {
        head: [result[head] for result in expected] for head in heads_of(checkpoint)
    }


def test_a_model_that_cannot_be_measured_is_reported_with_the_reason(checkpoint_dir: Path) -> None:
    checkpoint = checkpoints.load("dir-tiny-bert")
    with pytest.raises(InputUnusable, match="none of 0 texts"):
        measure(checkpoint, [])
    with pytest.raises(InputUnusable, match=r"none of 1 texts: There is no mask"):
        measure(checkpoint, ["no gap here"])


def test_files_hold_means_and_are_read_back(
    checkpoint_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli_effects(["dir-tiny-t5", "dir-tiny-bert"], tmp_path)
    assert "dir-tiny-bert, 4 heads over 20 texts: encoder " in capsys.readouterr().out
    with (tmp_path / "effects" / "dir-tiny-bert.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert [(row["layer"], row["head"]) for row in rows] == [("1", "1"), ("1", "2"), ("2", "1"), ("2", "2")]
    lost = measure(checkpoints.load("dir-tiny-bert"), texts(FAMILIES["masked-lm"]))
    effects = rolefiles.effects("dir-tiny-bert", tmp_path)
    for head, effect in effects.items():
        assert effect.texts == 20
        assert effect.mean == pytest.approx(fmean(lost[head]), abs=1e-4)
        assert effect.largest == pytest.approx(max(lost[head]), abs=1e-4)
    kinds = [head.kind for head in rolefiles.effects("dir-tiny-t5", tmp_path)]
    assert list(dict.fromkeys(kinds)) == ["encoder", "decoder", "cross"]
    assert rolefiles.effects("nothing", tmp_path) == {}


def test_one_refused_model_does_not_stop_the_others(
    checkpoint_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("lab.effects.texts", lambda family: () if family.kind == "causal-lm" else ("A [MASK].",))
    cli_effects(["dir-tiny-gpt2", "dir-tiny-bert"], tmp_path)
    assert "dir-tiny-gpt2 was not measured: " in capsys.readouterr().out
    assert [path.stem for path in (tmp_path / "effects").iterdir()] == ["dir-tiny-bert"]
    with pytest.raises(AtlasError, match="No model was measured"):
        cli_effects(["dir-tiny-gpt2"], tmp_path)


def test_after_the_last_layer_nothing_reads_the_content_stream() -> None:
    effects = rolefiles.effects("atlas-xlnet")
    last = max(head.layer for head in effects)
    for head in (head for head in effects if head.layer == last):
        alone = {"decoder": 0.0, "query": effects[head._replace(kind="encoder")].mean}
        assert effects[head].mean == alone.get(head.kind, effects[head].mean)
