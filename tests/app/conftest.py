"""What all page tests share: models that stay loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import AppTest, local_script_runner

from core import interpreter
from core.settings import settings
from core.ui.links import PageState
from core.ui.panel import Offer
from core.ui.section import pages
from core.ui.tables import data_table
from tests import termbase
from tests.downloads import draw_at_once


@pytest.fixture(scope="session", autouse=True)
def _every_run() -> Iterator[None]:
    """Whatever a page test draws, in the test that drew it: no exception, and no words that the term base forbids."""
    pages()  # what their links carry is known from here on
    run, read = AppTest._run, set[str]()

    def checked(at: AppTest, *arguments: Any, **named: Any) -> AppTest:
        run(at, *arguments, **named)
        assert not at.exception, at.exception[0].value
        texts = set(termbase.shown(at._tree)) - read
        new = {piece for text in texts for piece in termbase.pieces(text)} - read
        termbase.check(new, "a page")
        read.update(texts, new)
        return at

    def ended(runner: Any, timeout: float = 3) -> None:
        runner._script_thread.join(timeout)
        wait(runner, timeout if runner._script_thread.is_alive() else 1)

    wait = local_script_runner.require_widgets_deltas
    compiled = ScriptCache()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AppTest, "_run", checked)
        # which looks every millisecond whether the run has ended, and holds it up by that
        patch.setattr(local_script_runner, "require_widgets_deltas", ended)
        # of its own for each run, which would compile app.py and the page again: a third of the time of most
        patch.setattr(local_script_runner, "ScriptCache", lambda: compiled)
        yield


@pytest.fixture(autouse=True)
def _unsettled() -> Iterator[None]:
    """No run of a page is followed by a search for garbage: tests bring so many models that each took longer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interpreter, "settle", lambda: None)
        yield


@pytest.fixture
def use_checkpoints(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], None]]:
    """As for all tests, but models stay in memory: nobody changes them, and one whose files are others is read anew."""

    def use(root: Path) -> None:
        monkeypatch.setenv("ATLAS_CHECKPOINT_DIR", str(root))
        settings.cache_clear()

    yield use
    monkeypatch.undo()
    settings.cache_clear()


@pytest.fixture
def open_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """The buttons of the list "Download" stand in the page."""
    draw_at_once(monkeypatch)


@pytest.fixture
def open_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables of the list "As a table" stand below their figures."""

    def drawn(state: PageState, slug: str, offer: Offer) -> None:
        if (table := offer.rows()) is not None:
            data_table(table, None, alt=offer.title, key=state.key(f"table.{slug}"))

    monkeypatch.setattr("core.ui.panel.store", drawn)
