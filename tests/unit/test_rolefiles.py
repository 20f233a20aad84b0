"""Counts of heads read back from their files; every bundled model has one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.attention.roles import rolefiles
from core.attention.roles.headroles import RELATION_COLUMNS, keep
from core.attention.roles.relations import Counted
from core.checkpoints.registry import bundled_root
from core.errors import AtlasError

BUNDLED = sorted(path.parent.name for path in bundled_root().glob("*/card.toml"))


def test_the_better_direction_is_the_one_whose_interval_begins_higher(tmp_path: Path) -> None:
    rows = [
        ("atlas", "obj", "dependent to head", 1, 1, 100, 60, -2, 50),
        ("atlas", "obj", "dependent to head", 1, 2, 100, 70, -2, 50),
        ("atlas", "obj", "head to dependent", 1, 1, 3, 3, 1, 2),
        ("atlas", "obj", "head to dependent", 1, 2, 3, 0, 1, 2),
        ("other", "obj", "dependent to head", 1, 1, 10, 10, 1, 0),
    ]
    keep(tmp_path / "m.csv", RELATION_COLUMNS, rows)
    found = rolefiles.measured("m", folder=tmp_path)
    assert list(found) == ["obj"]
    assert found["obj"].direction == "dependent to head"  # 70 of 100 begins at 60 %, 3 of 3 at 44 %
    assert found["obj"].best == (0, 1)
    assert (found["obj"].accuracy, found["obj"].baseline, found["obj"].offset) == (0.7, 0.5, -2)
    assert rolefiles.measured("m", "other", tmp_path)["obj"].n == 10
    assert rolefiles.measured("nothing", folder=tmp_path) == {}


def test_another_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("a,b\n1,2\n")
    with pytest.raises(AtlasError, match="no table of heads"):
        rolefiles.measured("m", folder=tmp_path)


@pytest.mark.parametrize("slug", BUNDLED)
def test_every_bundled_model_was_measured_on_both_treebanks(slug: str) -> None:
    ours, larger = (rolefiles.measured(slug, treebank) for treebank in ("atlas", "ud-english"))
    assert {"det", "obj", "nsubj", "coreference"} <= set(ours)
    assert set(ours) - set(larger) == {"coreference"}, "only our own treebank says whom a pronoun means"
    assert sum(found.n for found in larger.values()) > sum(found.n for found in ours.values())


def test_published_heads_are_those_of_the_larger_count() -> None:
    found = rolefiles.published()
    assert found["obj"] == (86.8, 8, 10)
    assert found["modifier"] == (75.6, 4, 10)  # amod with 2,505 links, not advmod with 1,241
    assert found["coreference"] == (65.1, 5, 4)


def test_a_head_chosen_on_some_sentences_is_judged_on_others() -> None:
    chosen = Counted("obj", "dependent to head", 10, np.array([[3, 8], [7, 1]]), 1, 4)
    other = Counted("obj", "dependent to head", 20, np.array([[20, 5], [1, 1]]), 1, 4)
    assert chosen.best == (0, 1)
    assert chosen.best_in(other) == 5 / 20
