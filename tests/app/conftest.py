"""What all page tests share: models that stay loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.settings import settings


@pytest.fixture
def use_checkpoints(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], None]]:
    """As for all tests, but models stay in memory: nobody changes them, and one whose files are others is read anew."""

    def use(root: Path) -> None:
        monkeypatch.setenv("ATLAS_CHECKPOINT_DIR", str(root))
        settings.cache_clear()

    yield use
    monkeypatch.undo()
    settings.cache_clear()
