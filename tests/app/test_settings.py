"""A setting that cannot be used: every page says so in a sentence, and doctor says the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core import doctor
from core.errors import SettingUnusable
from core.settings import TAKES, Settings, settings

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(path.name for path in (ROOT / "pages").glob("*.py"))


@pytest.fixture(autouse=True)
def fresh_settings() -> Iterator[None]:
    settings.cache_clear()
    yield
    settings.cache_clear()


def test_every_setting_says_what_it_takes() -> None:
    assert set(TAKES) == set(Settings.model_fields)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_the_setting(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_MEMORY_MB", "secret")
    monkeypatch.setenv("ATLAS_HUB", "maybe")
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    at.switch_page(f"pages/{page}").run()
    assert not at.exception
    (said,) = [error.value for error in at.error]
    assert "ATLAS\\_MEMORY\\_MB takes a whole number" in said
    assert "ATLAS\\_HUB takes" in said
    assert "secret" not in said
    assert at.title


def test_doctor_gives_the_same_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_THREADS", "0")
    with pytest.raises(SettingUnusable, match="ATLAS_THREADS takes a whole number from 1 to 256") as raised:
        settings()
    assert str(raised.value) in doctor.examine().problems
