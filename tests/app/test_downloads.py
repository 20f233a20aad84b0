"""Every chart of a page is in its menu of downloads, and no two files of a page have one name."""

from __future__ import annotations

from typing import Any

import pytest

from core.ui import panel, section
from core.ui.section import pages
from tests.pages import opened

VIEWS = {
    "encoder": {"model": "dir-tiny-bert", "text": "The cat sat on the [MASK]."},
    "decoder": {"model": "dir-tiny-gpt2", "text": "Once upon a time"},
    "encoder-decoder": {"model": "dir-tiny-t5"},
    "catalogue": {"tab": "beside", "one": "dir-tiny-bert", "other": "dir-tiny-gpt2"},
    "attention": {"model": "dir-tiny-bert"},
}


@pytest.mark.parametrize("page", VIEWS)
def test_every_chart_can_be_downloaded(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    offers: dict[str, panel.Offer] = {}
    plotly_chart, menus = panel.st.plotly_chart, section.figure_menus

    def chart(figure: Any, *, key: str, **others: Any) -> Any:
        drawn.append(key)
        return plotly_chart(figure, key=key, **others)

    def figure_menus(state: Any, files: Any) -> None:
        offers.update(state.offers)
        menus(state, files)

    monkeypatch.setattr(panel.st, "plotly_chart", chart)
    monkeypatch.setattr(section, "figure_menus", figure_menus)
    at = opened(page, **VIEWS[page])
    assert not at.exception
    assert drawn
    assert set(drawn) <= {offer.chart for offer in offers.values()}


@pytest.mark.parametrize("view", [*pages(), *VIEWS.items()], ids=str)
def test_no_two_files_of_a_view_have_one_name(
    view: str | tuple[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    page, query = (view, {}) if isinstance(view, str) else view
    names: list[str] = []
    figure_menus = section.figure_menus

    def noted(state: Any, files: Any) -> None:
        names.extend(f"atlas-{offer.file}.csv" for offer in state.offers.values() if offer.file)
        names.extend(button.args[2] for button in files.values())
        figure_menus(state, files)

    monkeypatch.setattr(section, "figure_menus", noted)
    assert not opened(page, **query).exception
    assert len(names) == len(set(names)), names
