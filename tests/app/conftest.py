"""What all page tests share: one look at the installed packages."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from unittest.mock import patch

import pytest
from streamlit.components.v2 import manifest_scanner


@pytest.fixture(scope="session", autouse=True)
def one_scan_of_packages() -> Iterator[None]:
    """Every AppTest reads the metadata of all installed packages, in search of components; they are read once here."""
    with patch.object(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests)):
        yield
