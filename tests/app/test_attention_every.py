"""Every head in one table: it opens filled, filters travel in the link, rows lead to heads, nonsense is answered."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core import checkpoints
from core.attention.roles import rolefiles
from core.attention.roles.everyhead import rows
from core.links import read
from tests.app.test_attention_page import page
from tests.downloads import catch_downloads
from tests.pages import shown, widget


def every(**query: str) -> AppTest:
    return page(tab="every", **query)


def links(at: AppTest) -> list[str]:
    return [link.replace("&amp;", "&") for html in at.get("html") for link in re.findall(r'href="([^"]*)"', html.value)]


def test_it_opens_with_all_heads_and_no_menu_of_one_model() -> None:
    at = every()
    assert not at.warning
    assert len(at.get("plotly_chart")) == 1
    assert "Live model" not in [box.label for box in at.selectbox]
    table = at.dataframe[0].value
    specs = [spec for spec in checkpoints.available() if spec.ready]
    assert len(table) == len(rows(specs))
    assert table["previous"].dropna().is_monotonic_decreasing
    assert table["open"][0].startswith("/attention?")
    assert "token before" in shown(at)


def test_rows_lead_to_their_head() -> None:
    (first, *_) = links(every(score="effect", kind="cross"))
    query = dict(part.split("=") for part in first.partition("?")[2].split("&"))
    values, refused = read("attention", query, {"model": [spec.slug for spec in checkpoints.available()]})
    assert not refused
    effects = rolefiles.effects(str(values["model"]))
    best = max((head for head in effects if head.kind == "cross"), key=lambda head: effects[head].mean)
    assert (values["map"], values["layer"], values["head"]) == ("cross", best.layer + 1, best.head + 1)


def test_filters_come_from_the_link_and_go_back_into_it() -> None:
    at = every(score="previous", least="0.8", branch="encoder")
    table = at.dataframe[0].value
    assert 0 < len(table) < 40
    assert (table["previous"] >= 0.8).all()
    assert "of" in shown(at)
    widget(at.selectbox, "Score").set_value("grammar").run()
    widget(at.number_input, "At least").set_value(0.05).run()
    widget(at.multiselect, "Models").set_value(["minilm"]).run()
    query = dict(at.query_params)
    assert {name: query[name] for name in ("score", "least", "branch", "models")} == {
        "score": "grammar",
        "least": "0.05",
        "branch": "encoder",
        "models": "minilm",
    }
    assert set(at.dataframe[0].value["model"]) == {checkpoints.get("minilm").name}


def test_a_filter_that_nothing_fits_says_so() -> None:
    at = every(least="99")
    assert "No head matches" in at.info[0].value
    assert not at.dataframe


def test_a_host_without_measurements_is_told_what_to_run(checkpoint_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = tuple(spec for spec in checkpoints.available() if spec.slug.startswith("dir-tiny-"))
    monkeypatch.setattr(checkpoints, "available", lambda: tiny)
    assert "python -m core heads SLUG" in every().info[0].value


def test_what_is_saved_is_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    files = catch_downloads(monkeypatch)
    at = every(models="atlas-t5")
    read_back = list(csv.DictReader(io.StringIO(files["atlas-heads.csv"].decode())))
    assert len(read_back) == len(at.dataframe[0].value) == 24
    assert {row["attention"] for row in read_back} == {"encoder", "decoder", "cross"}
