"""What is exempt from the collection of garbage, and that a model's cycles are found once it has left."""

from __future__ import annotations

import gc
import sys
import tomllib
import types
import weakref
from collections.abc import Iterator

import pytest

from core import interpreter
from core.settings import ROOT


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    interpreter.thaw()
    yield
    interpreter.thaw()


class Ring:
    """Refers to itself, so that only a collection ends it."""

    def __init__(self) -> None:
        self.own = self


def test_what_was_imported_is_frozen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gc.get_freeze_count() == 0
    interpreter.settle()
    frozen = gc.get_freeze_count()
    assert frozen > 10_000
    kept = [[] for _ in range(1000)]
    interpreter.settle()
    assert gc.get_freeze_count() <= frozen, "nothing was imported since"
    for number in range(60):
        monkeypatch.setitem(sys.modules, f"imported_{number}", types.ModuleType(f"imported_{number}"))
    interpreter.settle()
    assert gc.get_freeze_count() >= frozen + len(kept)


def test_a_thread_yields_soon() -> None:
    usual = sys.getswitchinterval()
    interpreter.take_turns()
    assert sys.getswitchinterval() < 0.001
    sys.setswitchinterval(usual)


def test_what_was_frozen_in_a_cycle_is_found_after_a_thaw() -> None:
    ring = Ring()
    seen = weakref.ref(ring)
    interpreter.settle()
    del ring
    gc.collect()
    assert seen() is not None
    interpreter.thaw()
    gc.collect()
    assert seen() is None


def test_what_a_run_leaves_is_found_after_it_and_what_is_old_after_many_runs() -> None:
    interpreter.settle()
    gc.disable()  # no search but the app's own
    try:
        ring = Ring()
        young = weakref.ref(ring)
        del ring
        interpreter.settle()
        assert young() is None
        ring = Ring()
        old = weakref.ref(ring)
        gc.collect()
        del ring
        for _ in range(2):
            interpreter.settle()
        assert old() is not None, "a run is followed by a search among the young"
        for _ in range(100):
            interpreter.settle()
        assert old() is None
    finally:
        gc.enable()


def test_streamlit_leaves_the_collection_to_the_app() -> None:
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
    assert config["runner"]["postScriptGC"] is False
