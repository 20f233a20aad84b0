"""Every head as a row, and what the pages read of the files of heads."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from transformers import AutoConfig

from core import checkpoints
from core.attention.roles import everyhead, rolefiles
from core.attention.roles.everyhead import COLUMNS as HEAD_COLUMNS
from core.attention.roles.everyhead import HeadRow, heads_table, rows
from core.attention.roles.relations import RelationCounts
from core.attention.roles.rolefiles import RELATION_COLUMNS, Effect
from core.checkpoints.registry import bundled_root
from core.errors import AtlasError


def head(slug: str, layer: int, number: int, **more: object) -> HeadRow:
    return HeadRow(slug, slug.upper(), "encoder", "encoder", layer, 2, number, 2, False, **more)  # type: ignore[arg-type]


ROWS = (
    head("a", 1, 1, roles={"previous": 0.2}, effect=Effect(20, 0.5, 1.0)),
    head("a", 2, 2, roles={"previous": 0.9}, relation="obj", right=0.7, beyond=0.2),
    head("b", 1, 2, effect=Effect(20, 0.1, 0.3)),
)


def test_the_relation_is_the_one_that_is_surely_beyond_the_distance() -> None:
    def counted(relation: str, n: int, right: int, baseline: int) -> RelationCounts:
        return RelationCounts(relation, "dependent to head", n, np.array([[right, 0]]), -1, baseline)

    # 90 of 100 begins at 77%, 27 beyond 50%; 9 of 10 begins at 47%, 37 beyond 10%; "any" has no name of its own.
    relations = everyhead.best_relation(
        [counted("obj", 100, 90, 50), counted("det", 10, 9, 1), counted("any", 1000, 990, 1), counted("aux", 4, 4, 4)]
    )
    assert relations == {(0, 0): ("det", 0.9, pytest.approx(0.8))}


def test_the_file_has_every_column() -> None:
    read = list(csv.DictReader(io.StringIO(heads_table(ROWS).csv())))
    assert tuple(read[0]) == HEAD_COLUMNS
    assert read[0]["previous"] == "0.2"
    assert (read[0]["mean change, bits"], read[0]["relation"], read[0]["next"]) == ("0.5", "", "")
    assert (read[1]["relation"], read[1]["right"], read[1]["beyond fixed distance"]) == ("obj", "0.7", "0.2")


BUNDLED = sorted(path.parent.name for path in bundled_root().glob("*/card.toml"))
PLACES = {
    "encoder": {"previous", "next", "self", "first"},
    "decoder": {"previous", "self", "first"},
    "cross": {"same place", "last", "first"},
    "query": {"previous", "first"},
}
"""Scores that every head of a kind of attention can have."""


@pytest.mark.parametrize("slug", BUNDLED)
def test_every_row_of_a_bundled_model_has_its_roles_and_its_effect(slug: str) -> None:
    every = rows([checkpoints.get(slug)])
    assert every
    for row in every:
        assert set(row.roles) >= PLACES[row.attention] | {"spread"}, row
        assert row.effect is not None, row
        assert row.effect.texts > 0
    assert Counter(row.attention for row in every) == expected_heads(slug), "as many as the configuration says"
    read = list(csv.DictReader(io.StringIO(heads_table(every).csv())))
    assert all(line["mean change, bits"] and line["spread"] for line in read)


def expected_heads(slug: str) -> dict[str, int]:
    """Heads by kind of attention, by the model's configuration."""
    config = AutoConfig.from_pretrained(bundled_root() / slug, local_files_only=True)
    kind = checkpoints.get(slug).kind
    if kind != "seq2seq-lm":
        kinds = ("encoder", "decoder", "query") if kind == "permutation-lm" else ("encoder",)
        count = config.num_hidden_layers * config.num_attention_heads
        return dict.fromkeys(("decoder",) if kind == "causal-lm" else kinds, count)
    read, write = (getattr(config, half, config) for half in ("encoder", "decoder"))
    layers = next(
        getattr(write, name)
        for name in ("decoder_layers", "num_decoder_layers", "num_hidden_layers")
        if getattr(write, name, None)
    )
    written = layers * getattr(write, "decoder_attention_heads", write.num_attention_heads)
    return {"encoder": read.num_hidden_layers * read.num_attention_heads, "decoder": written, "cross": written}


def test_the_better_direction_is_the_one_whose_interval_begins_higher(tmp_path: Path) -> None:
    rows = [
        ("atlas", "obj", "dependent to head", 1, 1, 100, 60, -2, 50),
        ("atlas", "obj", "dependent to head", 1, 2, 100, 70, -2, 50),
        ("atlas", "obj", "head to dependent", 1, 1, 3, 3, 1, 2),
        ("atlas", "obj", "head to dependent", 1, 2, 3, 0, 1, 2),
        ("other", "obj", "dependent to head", 1, 1, 10, 10, 1, 0),
    ]
    lines = [",".join(map(str, row)) for row in (RELATION_COLUMNS, *rows)]
    (tmp_path / "m.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    best_relations = rolefiles.best_relations("m", folder=tmp_path)
    assert list(best_relations) == ["obj"]
    assert best_relations["obj"].direction == "dependent to head"  # 70 of 100 begins at 60%, 3 of 3 at 44%
    assert best_relations["obj"].best == (0, 1)
    assert (best_relations["obj"].accuracy, best_relations["obj"].baseline, best_relations["obj"].offset) == (
        0.7,
        0.5,
        -2,
    )
    assert rolefiles.best_relations("m", "other", tmp_path)["obj"].n == 10
    assert rolefiles.best_relations("nothing", folder=tmp_path) == {}


def test_another_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("a,b\n1,2\n")
    with pytest.raises(AtlasError, match="no table of heads"):
        rolefiles.best_relations("m", folder=tmp_path)


@pytest.mark.parametrize("slug", BUNDLED)
def test_every_bundled_model_was_measured_on_both_treebanks(slug: str) -> None:
    ours, larger = (rolefiles.best_relations(slug, treebank) for treebank in ("atlas", "ud-english"))
    assert {"det", "obj", "nsubj", "coreference"} <= set(ours)
    assert set(ours) - set(larger) == {"coreference"}, "only our own treebank says whom a pronoun means"
    assert sum(result.n for result in larger.values()) > sum(result.n for result in ours.values())


def test_published_heads_are_those_of_the_larger_count() -> None:
    published_heads = rolefiles.published()
    assert published_heads["obj"] == (86.8, 8, 10)
    assert published_heads["modifier"] == (75.6, 4, 10)  # amod with 2,505 links, not advmod with 1,241
    assert published_heads["coreference"] == (65.1, 5, 4)


def test_a_head_chosen_on_some_sentences_is_evaluated_on_others() -> None:
    select_rows = RelationCounts("obj", "dependent to head", 10, np.array([[3, 8], [7, 1]]), 1, 4)
    other = RelationCounts("obj", "dependent to head", 20, np.array([[20, 5], [1, 1]]), 1, 4)
    assert select_rows.best == (0, 1)
    assert select_rows.best_in(other) == 5 / 20
