"""The demo that CONTRIBUTING shows is run as it stands there; mistakes on the way to it say what to do."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core import content, links
from core.links import parameters
from core.ui import branch
from core.ui.param import Carried, Integer, Text
from core.ui.section import Page, Section, by_name
from tests.pages import ROOT, described, link, opened, shown, widget

CODE, TEXTS = re.findall(
    r"^```(?:python)?\n(.+?)^```$", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)


@pytest.fixture
def _demo_on_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The demo of CONTRIBUTING in the Decoder page's menu."""
    for folder in content.ROOT.iterdir():
        (tmp_path / folder.name).symlink_to(folder)
    (tmp_path / "demos").unlink()
    shutil.copytree(content.ROOT / "demos", tmp_path / "demos")
    (tmp_path / "demos" / "lengths.md").write_text(TEXTS, encoding="utf-8")
    monkeypatch.setattr(content, "ROOT", tmp_path)
    written: dict[str, Any] = {}
    exec(CODE, written)
    declare = branch.branch_page
    monkeypatch.setattr(
        branch, "branch_page", lambda page, *demos, **more: declare(page, *demos, written["LENGTHS"], **more)
    )
    declared = links.PAGES["decoder"]
    yield
    links.PAGES["decoder"] = declared


@pytest.mark.usefixtures("_demo_on_its_page")
def test_the_demo_of_contributing_runs_from_a_link() -> None:
    at = opened("decoder", demo="lengths", at="3")
    assert "The text is 7 tokens." in shown(at)
    assert "Bytes of a token by token. Bytes of a token from 3.00 (The) to 1.00 (.)" in described(at)
    at = widget(at.text_input, "Text").set_value("An unbelievable cat").run()
    assert link(at) == {"demo": "lengths", "text": "An unbelievable cat"}  # the slot belongs to the text
    at = widget(at.button, "Longest token").click().run()
    assert link(at)["at"] == "5"  # "able"
    assert "The text is empty. Type a word." in shown(widget(at.text_input, "Text").set_value("").run())


@pytest.mark.usefixtures("_demo_on_its_page")
def test_the_demo_of_contributing_refuses_a_link_beyond_its_text() -> None:
    at = opened("decoder", demo="lengths", at="200")
    assert "The text has no token 200." in shown(at)


def test_a_missing_content_file_is_named_with_its_folder() -> None:
    with pytest.raises(content.ContentUnusable, match=r"assets/content/tokenizers/lengths\.md: write one that begins"):
        content.content("tokenizers", "lengths")


def test_a_name_used_twice_on_a_page_is_refused_as_it_is_declared() -> None:
    numbers, texts = Integer(name="at", label="Token", low=0, high=9), Text(name="at", label="Text")
    with pytest.raises(TypeError, match="“at”, of types Integer and Text: rename one"):
        by_name([numbers, texts])
    assert by_name([numbers, Carried(name="at", label="Token", as_=parameters.Integer(None, 0, 3))])  # shared
    sections = [Section("same", print), Section("same", print)]
    with pytest.raises(TypeError, match="two sections same: rename one"):
        Page("tokenizers", sections)
