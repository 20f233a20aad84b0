"""Sessions: results follow the files of a model, a full server refuses, and work is shared."""

from __future__ import annotations

import socket
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file
from streamlit.testing.v1 import AppTest

from core import session
from core.checkpoints.spec import Checkpoint
from core.doctor import examine
from core.settings import settings
from core.tokenizers.samples import TALE
from core.tokenizers.train import TokenizerKind, train
from core.turns import turns
from core.ui import crowd
from core.ui.crowd import OpenTabs, Tab
from tests import tiny
from tests.pages import opened, shown


def scale(checkpoint: Checkpoint) -> float:
    return float(checkpoint.model.get_input_embeddings().weight.abs().max())


def test_other_files_of_a_model_give_other_results(tmp_path: Path, use_checkpoints: Callable[[Path], None]) -> None:
    folder = tiny.tiny_bert(tmp_path / "mine")
    use_checkpoints(tmp_path)
    trace, before = session.trace("dir-mine", "The cat sat."), session.computed("", scale, "dir-mine")
    assert session.trace("dir-mine", "The cat sat.") is trace
    file = folder / "model.safetensors"
    save_file({name: 3 * value for name, value in load_file(file).items()}, file, {"format": "pt"})
    assert session.computed("", scale, "dir-mine") == 3 * before
    assert session.trace("dir-mine", "The cat sat.") is not trace


def test_a_page_says_that_the_engine_is_away_and_works_when_it_is_back(
    checkpoint_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as closed:  # bound and not listening: connections are refused
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("ATLAS_ENGINE", "ray")
        monkeypatch.setenv("ATLAS_ENGINE_URL", f"http://127.0.0.1:{closed.getsockname()[1]}")
        settings.cache_clear()
        at = opened("encoder", model="dir-tiny-bert", text="The [MASK] sat on the mat.")
        assert "model engine of this installation is away" in shown(at)
        assert any("is away" in problem for problem in examine().problems)
    monkeypatch.setenv("ATLAS_ENGINE", "process")
    settings.cache_clear()
    at.run()
    assert "is away" not in shown(at)
    monkeypatch.undo()
    settings.cache_clear()


ROOT = Path(__file__).resolve().parents[2]


def test_a_tab_keeps_its_place_until_it_is_closed() -> None:
    places, opened = OpenTabs(), {"a", "b", "c"}
    assert [places.admit(tab, opened.__contains__, 2) for tab in "abcab"] == [True, True, False, True, True]
    assert places.refused == 1
    opened.remove("a")
    assert [places.admit(tab, opened.__contains__, 2) for tab in "cba"] == [True, True, False]


def test_one_address_leaves_places_to_others_and_a_frame_shares_that_of_its_page() -> None:
    def admitted(*tabs: Tab, most: int = 10) -> int:
        here = OpenTabs()
        return sum(here.admit(str(number), lambda _: True, most, tab) for number, tab in enumerate(tabs))

    assert admitted(*[Tab("10.0.0.1")] * 20) == 9
    assert admitted(*[Tab("10.0.0.1")] * 20, *[Tab("10.0.0.2")] * 2) == 10
    assert admitted(*[Tab()] * 20) == 10, "on this machine, or behind a proxy that names no address"
    assert admitted(*[Tab("10.0.0.1")] * 20, most=1) == 1
    assert admitted(*[Tab("10.0.0.1"), Tab("10.0.0.1", framed=True)] * 9) == 18, "nine students on a lesson"
    assert admitted(*[Tab("10.0.0.1"), Tab("10.0.0.1", framed=True)] * 9, Tab("10.0.0.2"), Tab("10.0.0.2", True)) == 20
    assert admitted(*[Tab(framed=True)] * 20) == 10


def test_one_more_visitor_reads_that_the_server_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    full = OpenTabs()
    full.admit("somebody else", lambda _: True, 1)
    monkeypatch.setattr(crowd, "open_tabs", full)
    monkeypatch.setenv("ATLAS_MAX_SESSIONS", "1")
    settings.cache_clear()
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    settings.cache_clear()
    assert [title.value for title in at.title] == ["The server is full"]
    assert "takes 1 open tabs" in at.markdown[0].value
    assert "ATLAS_MAX_SESSIONS" in at.markdown[0].value


def test_the_place_in_the_queue_is_shown_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    def shown() -> None:
        import streamlit as st

        from core.ui.crowd import queue_status

        for ahead in st.session_state.told:
            queue_status(st.empty())(ahead)
        place = st.empty()
        queue_status(place)(3)
        queue_status(place)(0)

    at = AppTest.from_function(shown, default_timeout=120)
    at.session_state.told = [1, 2]
    at.run()
    texts = [element.proto.body for element in at.main if element.type == "html"]
    assert ["1 visitor is ahead" in texts[0], "2 visitors are ahead" in texts[1], len(texts)] == [True, True, 2]
    assert turns.waiting == 0


@pytest.mark.parametrize(
    ("page", "query", "computing"),
    [
        ("decoder", {"model": "dir-tiny-gpt2", "text": "The cat", "length": "5"}, "core.ui.demos.generate.generate"),
        (
            "decoder",
            {"model": "dir-tiny-gpt2", "strategy": "beam", "length": "5"},
            "core.ui.demos.generate.steps_along",
        ),
        ("encoder-decoder", {"model": "dir-tiny-t5", "length": "5"}, "core.language.translate.rewrite"),
        ("attention", {"tab": "all", "model": "dir-tiny-bert", "together": "flow"}, "core.attention.combine.flow"),
    ],
)
def test_visitors_of_one_link_share_a_computation(
    page: str, query: dict[str, str], computing: str, checkpoint_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, _, name = computing.rpartition(".")
    compute, calls = getattr(import_module(module), name), []
    monkeypatch.setattr(computing, lambda *arguments, **named: calls.append(arguments) or compute(*arguments, **named))
    session.results.clear()
    first = opened(page, **query)
    assert len(calls) == 1
    assert shown(opened(page, **query)) == shown(first.run())
    assert len(calls) == 1


@pytest.mark.parametrize("kind", ["bpe", "wordpiece", "unigram"])
def test_others_go_first_between_the_parts_of_a_training(kind: TokenizerKind) -> None:
    steps: list[None] = []
    with turns.run(lambda: steps.append(None)):
        train(TALE, kind)
    assert len(steps) >= 5
