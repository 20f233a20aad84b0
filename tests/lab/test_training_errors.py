"""What goes wrong in a training run is said in a sentence, and the last good state stays."""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from core.errors import AtlasError
from lab import corpus, files, optimizers, state, tokens, train
from lab import recipe as recipes
from lab.files import StorageError
from lab.recipe import SourceFile
from lab.train import Diverged, Interrupted, Trainer
from tests.runs import Line, toy


def full(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def started(folder: Path, steps: int = 5, objective: Line | None = None, **changed: Any) -> Trainer:
    """A run of twenty steps that has taken some of them and saved."""
    trainer = Trainer(toy(**changed), objective or Line(), folder, steps=20)
    trainer.objective.model.train()
    for _ in range(steps):
        trainer.step()
    trainer.note("train", {"loss": 1.0})
    trainer.save()
    return trainer


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# The corpus


def test_a_missing_folder_file_or_text_is_named_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(corpus.CorpusError, match=r"no corpus folder .*nowhere"):
        corpus.check(tmp_path / "nowhere", (SourceFile("a.txt"),))
    with pytest.raises(corpus.CorpusError, match=r"a\.txt is missing"):
        corpus.check(tmp_path, (SourceFile("a.txt"),))
    (tmp_path / "a.txt").write_text("One.\nTwo.\n", encoding="utf-8")
    (tmp_path / "b.txt").touch()
    with pytest.raises(corpus.CorpusError, match=r"b\.txt is empty"):
        corpus.check(tmp_path, (SourceFile("a.txt"), SourceFile("b.txt")))
    (tmp_path / "b.txt").write_text("\n  \n", encoding="utf-8")
    with pytest.raises(corpus.CorpusError, match=r"b\.txt has no text in it"):
        corpus.check(tmp_path, (SourceFile("b.txt"),))
    with pytest.raises(corpus.CorpusError, match=r"a\.txt has no text in lines 3 to the last"):
        corpus.check(tmp_path, (SourceFile("a.txt", first=3),))
    corpus.check(tmp_path, (SourceFile("a.txt", first=2),))


def test_a_file_that_is_not_utf8_is_named_with_its_line(tmp_path: Path) -> None:
    good = "".join(f"Line {number}.\n" for number in range(4000))  # more than is decoded at once
    (tmp_path / "a.txt").write_bytes(good.encode() + "café\n".encode("latin-1") + b"End.\n")
    with pytest.raises(corpus.CorpusError, match=r"UTF-8, but line 4001 of .*a\.txt is not"):
        list(corpus.lines(tmp_path, "a.txt"))


def test_too_small_a_corpus_is_said() -> None:
    corpus.require(1, "training", ())
    with pytest.raises(corpus.CorpusError, match=r"of a\.txt, no text that fits the recipe is left for measuring"):
        corpus.require(0, "measuring", (SourceFile("a.txt"), SourceFile("a.txt", first=9)))


def test_a_wrong_corpus_is_refused_before_anything_expensive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train, "STATE", tmp_path / "state")
    monkeypatch.setattr(train, "build", lambda *_: pytest.fail("something heavy began"))
    with pytest.raises(corpus.CorpusError) as raised:
        train.train("atlas-gpt-2", tmp_path)
    assert str(raised.value) == f"The corpus file stories.txt is missing in {tmp_path}. Give its folder with --corpus."
    assert not (tmp_path / "state").exists()


# A full disk


def test_a_full_disk_keeps_the_old_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started(tmp_path)
    before = (tmp_path / "state.pt").read_bytes()
    trainer = Trainer(toy(), Line(), tmp_path, steps=20)
    assert trainer.resume()

    def half(file: Any) -> None:
        if "state" in file.name:
            full()

    monkeypatch.setattr(files, "to_disk", half)
    with pytest.raises(StorageError, match=r"disk is full: .*state\.pt .* same command resumes at step 5"):
        trainer.run(quiet=True, save_seconds=0.0)
    assert (tmp_path / "state.pt").read_bytes() == before
    assert names(tmp_path) == ["curve.csv", "state.pt"]


def test_a_full_disk_leaves_no_half_of_the_data(tmp_path: Path) -> None:
    class Bulky:
        save = full

    with pytest.raises(StorageError, match="The disk is full"):
        tokens.stored(tmp_path, "what", lambda: {"said": [1, 2], "tokenizer": Bulky()})
    assert names(tmp_path) == []
    for make in (lambda: {"said": [1, 2]}, full):  # nothing is made twice
        assert tokens.stored(tmp_path, "what", make) == {"said": [1, 2]}


@pytest.mark.parametrize(
    ("error", "is_it"),
    [
        (OSError(errno.ENOSPC, "x"), True),
        (OSError(errno.EDQUOT, "x"), True),
        (OSError("1000 requested and 262 written"), True),  # numpy
        (Exception("No space left on device (os error 28)"), True),  # tokenizers and safetensors
        (OSError(errno.EACCES, "Permission denied"), False),
        (ValueError("x"), False),
    ],
)
def test_a_full_disk_is_recognized_in_any_librarys_message(error: Exception, is_it: bool) -> None:
    assert files.is_full(error) == is_it
    with pytest.raises(StorageError if is_it else type(error)), files.room_for(Path("x")):
        raise error


def test_a_checkpoint_is_replaced_atomically(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "old.txt").write_text("old", encoding="utf-8")

    def half() -> None:
        with files.replacing_folder(place) as fresh:
            (fresh / "new.txt").write_text("half", encoding="utf-8")
            full()

    with pytest.raises(StorageError, match=r"place could not be written"):
        half()
    assert names(place) == ["old.txt"]
    with files.replacing_folder(place) as fresh:
        (fresh / "new.txt").write_text("whole", encoding="utf-8")
    assert (names(place), names(tmp_path)) == (["new.txt"], ["place"])


def tiny_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, objective: type[Line] = Line, **arguments: Any) -> Path:
    """`train` on an objective without a corpus."""
    monkeypatch.setattr(recipes, "load", lambda name: toy(tokens=160, **arguments))
    monkeypatch.setattr(train, "build", lambda *_: objective())
    return train.train("toy", tmp_path, state_folder=tmp_path / "state")


def test_a_full_disk_at_the_end_keeps_the_trained_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Bulky(Line):
        def export(self, folder: Path) -> None:
            super().export(folder)
            full()

    with pytest.raises(StorageError, match=r"out could not be written.*Training is finished and saved"):
        tiny_run(tmp_path, monkeypatch, Bulky)
    assert names(tmp_path / "state") == ["curve.csv", "state.pt"]
    out = tiny_run(tmp_path, monkeypatch)
    assert names(out) == ["curve.csv", "weights.txt"]


# Numbers that are not finite


class Breaks(Line):
    """Its loss is no number from some batch on."""

    def __init__(self, at: int, value: float) -> None:
        super().__init__()
        self.at, self.value = at, value

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        return super().loss(batch) * (self.value if self.model.training and self.at <= 0 else 1.0)

    def batch(self, number: int) -> dict[str, Tensor]:
        self.at -= 1
        return super().batch(number)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_stops_before_anything_is_saved(tmp_path: Path, value: float) -> None:
    started(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    trainer = Trainer(toy(), Breaks(3, value), tmp_path, steps=20)
    trainer.resume()
    with pytest.raises(Diverged, match=r"at step 8: training stopped.*resumes at step 5"):
        trainer.run(quiet=True, save_seconds=1e9, measure_share=0.5)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert all(parameter.isfinite().all() for parameter in trainer.trained)


def test_weights_that_are_not_finite_are_never_saved_or_measured(tmp_path: Path) -> None:
    trainer = started(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with torch.no_grad():
        trainer.trained[0][0, 0] = float("nan")
    with pytest.raises(Diverged, match="after step 5"):
        trainer.save()
    with pytest.raises(Diverged, match="after step 5"):
        trainer.check_weights()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


# States that do not fit


def refused(folder: Path, pattern: str, objective: Line | None = None, **changed: Any) -> None:
    with pytest.raises(state.StateError, match=pattern) as caught:
        Trainer(toy(**changed), objective or Line(), folder, steps=20).resume()
    assert "--fresh" in str(caught.value)


def change(folder: Path, **entries: Any) -> None:
    state = torch.load(folder / "state.pt", weights_only=True)
    kept = {name: value for name, value in (state | entries).items() if value is not None}
    torch.save(kept, folder / "state.pt")


def test_a_state_of_another_recipe_or_model_is_refused(tmp_path: Path) -> None:
    started(tmp_path)
    refused(tmp_path, "another recipe.*: data changed", data={"vocabulary": 9})
    refused(tmp_path, "another recipe.*: model, sources changed", model={"a": 1}, sources=(SourceFile("a.txt"),))
    other = Line()
    other.model[2] = torch.nn.Linear(8, 1, bias=False)
    refused(tmp_path, re.escape("2.bias is (1,) there and None here"), other)
    other.model[2] = torch.nn.Linear(9, 1)
    refused(tmp_path, re.escape("2.weight is (1, 8) there and (1, 9) here"), other)
    refused(tmp_path, "other optimizers", optimizer={"rate": 0.01, "muon": 0.01})
    # what only says how long, how fast and how it is told may change
    trainer = Trainer(toy(tokens=999, card={"name": "x"}, optimizer={"rate": 0.5}), Line(), tmp_path)
    assert trainer.resume()
    assert trainer.optimizers[0].param_groups[0]["peak"] == 0.5  # the recipe's word, not the state's


def test_a_corrupt_state_is_refused(tmp_path: Path) -> None:
    started(tmp_path)
    path = tmp_path / "state.pt"
    full = path.read_bytes()
    for broken in (b"", full[: len(full) // 2], full[:-30], b"no archive at all"):
        path.write_bytes(broken)
        refused(tmp_path, "is corrupt")
    path.write_bytes(full)
    change(tmp_path, model=None)
    refused(tmp_path, "is corrupt")
    torch.save([1, 2], path)
    refused(tmp_path, "is corrupt")


def test_a_state_of_another_format_is_refused(tmp_path: Path) -> None:
    started(tmp_path)
    change(tmp_path, format=state.FORMAT + 1)
    refused(tmp_path, f"has format {state.FORMAT + 1}, but this version reads {state.FORMAT}")


# Being asked to stop


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_after_the_step_and_names_the_command_to_resume(tmp_path: Path, number: signal.Signals) -> None:
    class Signaled(Line):
        def batch(self, step: int) -> dict[str, Tensor]:
            if step == 7:
                os.kill(os.getpid(), number)
            return super().batch(step)

    full = Trainer(toy(), Line(), tmp_path / "whole", steps=20).run(quiet=True)
    before = signal.getsignal(number)
    with pytest.raises(Interrupted, match=r"Stopped after step 8. The same command resumes at step 8"):
        Trainer(toy(), Signaled(), tmp_path / "cut", steps=20).run(quiet=True)
    assert signal.getsignal(number) == before
    trainer = Trainer(toy(), Line(), tmp_path / "cut", steps=20)
    assert trainer.resume()
    assert trainer.run(quiet=True) == pytest.approx(full[8:], rel=1e-6)


def test_a_second_interrupt_ends_at_once(tmp_path: Path) -> None:
    class Twice(Line):
        def batch(self, step: int) -> dict[str, Tensor]:
            if step == 3:
                os.kill(os.getpid(), signal.SIGTERM)
                os.kill(os.getpid(), signal.SIGTERM)  # only Ctrl-C is impatient
                os.kill(os.getpid(), signal.SIGINT)
            return super().batch(step)

    with pytest.raises(KeyboardInterrupt):
        Trainer(toy(), Twice(), tmp_path, steps=20).run(quiet=True)
    assert names(tmp_path) == ["curve.csv"]


def test_an_interrupt_before_the_first_step_is_a_sentence_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Early(Line):
        def __init__(self) -> None:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="starts over where there is none"):
        tiny_run(tmp_path, monkeypatch, Early)


def test_a_finished_run_is_only_written_again_and_fresh_starts_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_run(tmp_path, monkeypatch)
    monkeypatch.setattr(Trainer, "step", lambda self: pytest.fail("trained on"))
    tiny_run(tmp_path, monkeypatch)
    monkeypatch.undo()
    (tmp_path / "state" / "state.pt").write_bytes(b"broken")
    with pytest.raises(AtlasError, match="corrupt"):
        tiny_run(tmp_path, monkeypatch)
    monkeypatch.setattr(recipes, "load", lambda name: toy(tokens=160))
    monkeypatch.setattr(train, "build", lambda *_: Line())
    train.train("toy", tmp_path, state_folder=tmp_path / "state", fresh=True)
    assert torch.load(tmp_path / "state" / "state.pt", weights_only=True)["progress"]["step"] == 10


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_is_one_line_in_a_terminal_and_lines_elsewhere(
    terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    Trainer(toy(), Line(), tmp_path, steps=40).run()
    shown = capsys.readouterr().err
    assert "toy: 0.0%" in shown
    assert re.search(r"toy: 100\.0%, loss \d+\.\d{3}, step 40, \d\d:\d\d elapsed, 00:00 left", shown)
    assert (shown.count("\n") == 1) == terminal
    Trainer(toy(), Line(), tmp_path / "quiet", steps=40).run(quiet=True)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("has", "wanted", "used"),
    [(True, True, torch.bfloat16), (False, True, torch.float32), (True, False, torch.float32)],
)
def test_products_are_in_bfloat16_where_it_is_had_and_wanted(
    monkeypatch: pytest.MonkeyPatch, has: bool, wanted: bool, used: torch.dtype
) -> None:
    monkeypatch.setattr(optimizers, "on_cpu", lambda: has)
    with optimizers.mixed("cpu", wanted=wanted):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is used
