"""What all page tests share: one look at the installed packages, and models that stay loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from unittest.mock import patch

import pytest
from streamlit.components.v2 import manifest_scanner

from core.settings import settings


@pytest.fixture(scope="session", autouse=True)
def one_scan_of_packages() -> Iterator[None]:
    """Every AppTest reads the metadata of all installed packages, in search of components; they are read once here."""
    with patch.object(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests)):
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
