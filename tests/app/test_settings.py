"""A setting that cannot be used: every page says so in a sentence, and doctor says the same."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core import doctor
from core.content import content
from core.errors import SettingUnusable
from core.settings import Settings, accepted, settings
from core.ui.glossary import plain_terms

ROOT = Path(__file__).resolve().parents[2]


pytestmark = pytest.mark.usefixtures("fresh_settings")


def test_every_setting_says_what_it_takes() -> None:
    assert all(accepted(name) for name in Settings.model_fields)
    assert accepted("max_beams") == "a whole number from 1 to 16"


@pytest.mark.parametrize("page", ["home.py", "encoder.py", "glossary.py"])  # the frame of all pages says it
def test_a_page_names_the_setting(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_MEMORY_MB", "secret")
    monkeypatch.setenv("ATLAS_HUB", "maybe")
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    at.switch_page(f"pages/{page}").run()
    (said,) = [error.value for error in at.error]
    assert "ATLAS\\_MEMORY\\_MB takes a whole number" in said
    assert "ATLAS\\_HUB takes" in said
    assert "secret" not in said
    assert at.title


@pytest.mark.parametrize("value", ["63", "100000000000000000000"])
def test_a_budget_that_cannot_be_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_MEMORY_MB", value)
    with pytest.raises(SettingUnusable, match="ATLAS_MEMORY_MB takes a whole number of megabytes, from 64 to"):
        settings()


def test_a_branch_page_says_that_the_directory_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ATLAS_CHECKPOINT_DIR", str(tmp_path / "nowhere"))
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    at.switch_page("pages/encoder.py")
    at.query_params["tab"] = "tree"
    at.run()
    (said,) = [caption.value for caption in at.caption if "CHECKPOINT" in caption.value]
    assert "does not exist" in said
    assert "nowhere" not in said


def test_a_directory_that_cannot_be_read_leaves_home_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def listing(path: object = ".", kept: Callable[..., object] = os.scandir) -> object:
        if str(path) == str(tmp_path):
            raise PermissionError(str(path))
        return kept(path)

    monkeypatch.setattr(os, "scandir", listing)
    monkeypatch.setattr(os, "listdir", partial(listing, kept=os.listdir))
    monkeypatch.setenv("ATLAS_CHECKPOINT_DIR", str(tmp_path))
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    assert not at.error


def test_doctor_gives_the_same_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_THREADS", "0")
    with pytest.raises(SettingUnusable, match="ATLAS_THREADS takes a whole number from 1 to 256") as raised:
        settings()
    assert str(raised.value) in doctor.examine().problems


def test_a_log_in_comes_before_everything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_LOGIN", "on")
    words = content("server", "login")

    def visit() -> AppTest:
        at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
        at.secrets["auth"] = {"client_id": "atlas"}
        return at.switch_page("pages/glossary.py").run()

    monkeypatch.setattr("core.ui.login.find_spec", lambda package: None)
    at = visit()
    assert [error.value for error in at.error] == [plain_terms(words.part("Not set up"))]
    monkeypatch.setattr("core.ui.login.find_spec", lambda package: package == "authlib")
    at = visit()
    assert [button.label for button in at.button] == [words.label("button")]
    assert [title.value for title in at.title] == [words.title]
    assert [element.value for element in at.markdown] == [words.part("Log in")]
    assert not at.sidebar.children
    monkeypatch.setenv("ATLAS_MEMORY_MB", "nonsense")  # a mistake elsewhere opens nothing
    settings.cache_clear()
    assert [title.value for title in visit().title] == [words.title]
    monkeypatch.delenv("ATLAS_MEMORY_MB")
    settings.cache_clear()
    monkeypatch.setattr("streamlit.user_info._get_user_info", lambda: {"is_logged_in": True})
    at = visit()
    assert [title.value for title in at.title] == [content("glossary").title]
    assert words.label("out") in [button.label for button in at.sidebar.button]
