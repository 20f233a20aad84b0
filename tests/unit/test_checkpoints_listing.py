"""Live models as a list and in the menu: their order, their cards, and what is refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.checkpoints import hub
from core.checkpoints.listing import Listed, live, ordered
from core.checkpoints.sizes import Size
from core.checkpoints.spec import Card, CheckpointSpec, Measure
from tests import tiny
from tests.conftest import forget
from tests.hubserver import Hub
from tests.unit.test_checkpoints_registry import CARD


def model(slug: str, *, size: Size | None = None, measure: Measure | None = None, **changes: Any) -> Listed:
    card = None
    if "tokens" in changes or measure is not None:
        measures = (measure,) if measure else ()
        card = Card(slug, "", (), (), slug, 1, changes.pop("tokens", 0), 1, "", measures=measures)
    values: dict[str, Any] = {
        "slug": slug,
        "name": slug.upper(),
        "system": None,
        "branch": "encoder",
        "kind": "masked-lm",
        "source": "bundled",
        "origin": "",
        "location": "",
        "ready": True,
        "card": card,
    }
    return Listed(CheckpointSpec(**{**values, **changes}), size)


MODELS = (
    model("a", size=Size(105, 40, 200), tokens=10, branch="efficient"),
    model("b", size=Size(50, 100), tokens=30),
    model("c", size=Size(7, 400), branch="decoder"),
    model("d", branch="of-its-own", kind="unheard-of"),
)


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("branch", "bcad"),  # encoder, decoder, efficient; a branch that has no page last
        ("name", "abcd"),
        ("few", "cbad"),  # 7, 50, 105; unknown last
        ("many", "abcd"),
        ("bytes", "bacd"),  # 100, 240, 400
        ("tokens", "bacd"),  # 30, 10, not stated
    ],
)
def test_orders(by: str, expected: str) -> None:
    assert "".join(m.spec.slug for m in ordered(MODELS, by)) == expected


def test_only_like_qualities_are_put_in_order() -> None:
    bits = [
        model(slug, measure=Measure("bits per byte", value, "bits", "a story"))
        for slug, value in (("x", 1.3), ("y", 1.0))
    ]
    shares = [model(slug, measure=Measure("top-1", value, "%", "cloze")) for slug, value in (("u", 60.0), ("v", 63.0))]
    none = model("n")
    slugs = [m.spec.slug for m in ordered([none, *shares, *bits], "quality")]
    assert slugs == ["y", "x", "v", "u", "n"]  # fewer bits are better, more right words are


def test_live_models_state_size_tokens_and_quality() -> None:
    result = {m.spec.slug: m for m in live()}
    assert result["atlas-gpt-2"].tokens == 31_002_624
    quality = result["atlas-gpt-2"].quality
    assert (quality.name, quality.unit) == ("bits per byte", "bits")
    named = {slug: result[slug].quality for slug in ("atlas-electra", "atlas-bart")}  # not the first of their cards
    assert [measure and measure.name for measure in named.values()] == ["balanced accuracy", "mask chrF after"]
    assert all(m.spec.ready and m.size is not None for m in result.values())


BERT = "google-bert/bert-base-uncased"


def picker() -> None:
    from core import checkpoints
    from core.ui.links import PageState
    from core.ui.panel import draw_tables
    from core.ui.picker import card_panel

    state = PageState("encoder-decoder", {}, 1)
    card_panel(next(spec for spec in checkpoints.for_branch("encoder-decoder") if spec.ready), state)
    draw_tables(state)


def published() -> None:
    from core.ui.picker import hub_panel

    hub_panel("bert")


def run(page: Callable[[], None]) -> AppTest:
    """The page after its first run, without an exception."""
    app = AppTest.from_function(page, default_timeout=120).run()
    assert not app.exception
    return app


def words(app: AppTest) -> str:
    """All running text of the page."""
    return "\n".join(part.value for part in (*app.markdown, *app.caption, *app.warning, *app.info))


def test_a_card_is_shown_as_text_with_its_curve(
    tiny_root: Path, tmp_path: Path, use_assets: Callable[[Path], None], use_checkpoints: Callable[[Path], None]
) -> None:
    folder = Path(shutil.copytree(tiny_root / "tiny-t5", tmp_path / "checkpoints" / "atlas-t5"))
    (folder / "card.toml").write_text(CARD.replace('["small"]', '["<b>small</b> and $x$"]'))
    (folder / "curve.csv").write_text(
        "tokens,steps,minutes,split,measure,value\n100,1,0.1,held out,loss,6.5\n200,2,0.2,held out,loss,5.25\n"
    )
    use_assets(tmp_path)
    use_checkpoints(tmp_path / "nowhere")
    app = run(picker)
    assert "\\<b\\>small\\</b\\> and \\$x\\$" in words(app)
    tables = [table.value for table in app.dataframe]
    assert tables[0]["value"].tolist() == ["0.5"]
    assert tables[1]["loss"].tolist() == [6.5, 5.25]


def test_refused_folders_are_explained(bert_without_tokenizer: Path) -> None:
    assert "has no tokenizer" in words(run(published))


@pytest.fixture
def bert_without_tokenizer(tiny_root: Path, tmp_path: Path, use_checkpoints: Callable[[Path], None]) -> Path:
    folder = Path(shutil.copytree(tiny_root / "tiny-bert", tmp_path / "broken"))
    for file in folder.glob("tokenizer*"):
        file.unlink()
    use_checkpoints(tmp_path)
    return folder


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    running = Hub()
    running.serve_folder(BERT, tiny.tiny_bert(tmp_path / "bert", width=64))
    monkeypatch.setenv("HF_ENDPOINT", running.start())
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.setenv("ATLAS_HUB", "on")
    forget()
    yield running
    running.stop()
    monkeypatch.undo()
    forget()


def test_off_states_the_hosts_command_and_asks_nobody(server: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_HUB", "off")
    forget()
    app = run(published)
    assert "python -m core fetch bert-base-uncased" in words(app)
    assert len(app.button) == 0
    assert server.log == []


def test_on_asks_for_the_size_then_downloads(server: Hub) -> None:
    app = run(published)
    assert server.log == [], "the Hub was asked before anybody pressed a button"
    app.button(key="hub.size.bert-base-uncased").click().run()
    assert "files" in words(app)
    label = app.button(key="hub.get.bert-base-uncased").label
    assert label.startswith("Download 0.")
    assert all("resolve" not in path for _, path, _ in server.log)
    app.button(key="hub.get.bert-base-uncased").click().run()
    download = hub.current("bert-base-uncased")
    download.wait(60)
    assert download.state == "finished", download.sentence
    assert "has been downloaded" in words(run(published))
