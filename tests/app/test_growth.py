"""A session that opens link after link holds no more than its last one, and no text stays behind in the process."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from streamlit.runtime.state.common import WidgetMetadata

from core import session
from core.attention.trace import AttentionMap
from core.webpage import data_url
from tests.app.history import back
from tests.app.test_attention_page import page

LINKS = 3


@pytest.fixture(autouse=True)
def frozen() -> Iterator[None]:
    """What was there before is not looked through again and again."""
    gc.freeze()
    yield
    gc.unfreeze()


def alive(kind: type) -> int:
    """How many objects of this very kind there are."""
    gc.collect()
    return sum(type(entry) is kind for entry in gc.get_objects())


@pytest.mark.parametrize(
    ("model", "view"),
    [
        ("dir-tiny-t5", {"tab": "all"}),
        ("dir-tiny-t5", {"tab": "bertviz"}),
    ],
)
def test_maps_leave_with_the_cache(checkpoint_dir: Path, model: str, view: dict[str, str]) -> None:
    session.results.clear()  # what is left then is what something else holds
    before = alive(AttentionMap)
    at = page(**view, model=model, text="The cat sat.")
    session.results.clear()
    of_one = alive(AttentionMap) - before
    for number in range(LINKS):
        back(at, **view, model=model, text=f"The cat sat {number}.")
    session.results.clear()
    assert alive(AttentionMap) - before <= of_one


def test_no_address_keeps_a_page(checkpoint_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[str] = []
    monkeypatch.setattr("core.ui.component.data_url", lambda html: (kept.append(data_url(html)), kept[-1])[1])
    for tab in ("all", "bertviz"):
        page(tab=tab, model="dir-tiny-bert", text="The cat sat.")
    assert len(kept) == 2
    before = urlsplit.cache_info().hits
    for address in kept:
        urlsplit(address)
    assert urlsplit.cache_info().hits == before
    urlsplit.cache_clear()


def test_a_session_keeps_the_widgets_of_its_last_link(checkpoint_dir: Path) -> None:
    at = page(tab="all", model="dir-tiny-bert", text="The cat sat.")
    sizes = []
    for number in range(LINKS):
        back(at, tab="all", model="dir-tiny-bert", text=f"The cat sat {number}.")
        sizes.append((alive(WidgetMetadata), len(at.session_state._state.filtered_state)))
    assert sizes[-1] == sizes[1]
