"""Every section that runs a model shows one that a visitor has trained: an answer, or a sentence that says why not."""

from __future__ import annotations

import pytest

from core.checkpoints import own
from core.training.ready import ready
from core.training.setup import Objective, Setup, Units
from core.training.text import split
from core.training.train import Training
from core.ui.param import Model
from core.ui.section import pages
from tests.pages import opened

TRAINED: tuple[tuple[Objective, Units], ...] = (
    *(("next", "bpe"), ("masked", "bpe"), ("spans", "bpe")),
    *(("next", "characters"), ("masked", "characters"), ("spans", "bytes")),
)
SECTIONS = [(page.slug, section.slug) for page in pages().values() for section in page.sections]


@pytest.fixture(scope="module", params=TRAINED, ids="-".join)
def yours(request: pytest.FixtureRequest) -> str:
    """The location of a small model, trained for a few steps."""
    objective, units = request.param
    training = Training(split(ready("stories")[:40_000]), Setup(objective, units, layers=2, heads=2, width=32))
    for _ in training.states(20, 0.01, own.YOURS, "Your model"):
        pass
    return training.location


@pytest.mark.parametrize(("page", "section"), SECTIONS, ids="-".join)
def test_a_section_shows_a_visitors_model(page: str, section: str, yours: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own, "mine", lambda: {own.YOURS: yours})
    declared = next(other for other in pages()[page].sections if other.slug == section)
    models = [param for param in (*declared.params, *pages()[page].params) if isinstance(param, Model)]
    taken = [param.name for param in models if own.YOURS in param.offered()]
    if own.specs()[0].branch == page:
        taken.append("model")
    if not taken:
        pytest.skip("no menu of models there offers it")
    at = opened(page, tab=section, **dict.fromkeys(taken, own.YOURS))
    assert not at.exception
