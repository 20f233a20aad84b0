"""Head roles over treebanks: models of every branch, what is skipped, the files that are kept."""

from __future__ import annotations

import csv
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from core import checkpoints
from core.attention import capture
from core.attention.capture import trace_of
from core.attention.roles.relations import DIRECTIONS, links
from core.attention.roles.rolefiles import RANDOM, RELATION_COLUMNS, ROLE_COLUMNS
from core.attention.roles.sentence import attention_of
from core.attention.roles.treebank import ROOT, SHIPPED, Sentence, read_treebank
from core.errors import AtlasError, InputUnusable, NoAttentionMatrix
from core.language.inputs import one_text
from core.language.tokens import describe
from lab import heads as headroles
from lab.heads import EXAMPLES, LENGTH, REPEATS, cli_heads, induction, measure, repeated, write_rows

SENTENCES = tuple(islice(read_treebank(SHIPPED), 6))
LONG = Sentence("long", ("dog",) * 300, ("X",) * 300, (ROOT,) * 300, ("root",) * 300, (True,) * 300)


@pytest.mark.parametrize(("slug", "kind"), [("bert", "encoder"), ("gpt2", "decoder"), ("t5", "encoder")])
def test_tokens_are_those_of_the_trace(checkpoint_dir: Path, slug: str, kind: str) -> None:
    checkpoint = checkpoints.load(f"dir-tiny-{slug}")
    sentence_trace, belongs = attention_of(checkpoint, SENTENCES[0])
    result = sentence_trace.own
    trace = capture(checkpoint, SENTENCES[0].text, target="The cat" if slug == "t5" else None)
    assert result.kind == kind
    assert result.key_tokens == (trace.encoder or trace.decoder).key_tokens  # type: ignore[union-attr]
    assert np.array_equal(result.weights, (trace.encoder or trace.decoder).weights)  # type: ignore[union-attr]
    assert belongs.shape == (len(SENTENCES[0].words), len(result.key_tokens))
    assert (belongs.sum(1) > 0).all()


@pytest.mark.parametrize("slug", ["bert", "gpt2", "t5", "bigbird"])
def test_every_branch_is_measured_and_what_is_too_long_is_counted(checkpoint_dir: Path, slug: str) -> None:
    control = Sentence("b", ("\x07",), ("X",), (ROOT,), ("root",), (True,))
    measures = measure(checkpoints.load(f"dir-tiny-{slug}"), [*SENTENCES, LONG, control])
    assert (measures.sentences, measures.skipped) == (len(SENTENCES), 2)
    causal = slug == "gpt2"
    assert measures.causal is causal
    assert all(
        relation.right.shape == (2, 2) and (relation.right <= relation.n).all() for relation in measures.relations
    )
    here = sum(len(links(sentence)["det"]) for sentence in SENTENCES)
    assert [relation.n for relation in measures.relations if relation.relation == "det"] == (
        [here] if causal else [here, here]
    )
    assert set(measures.others) == ({"decoder", "cross"} if slug == "t5" else set())
    if slug == "t5":
        assert {"same place", "first", "last"} <= set(measures.others["cross"].grids)
        assert measures.others["decoder"].grids["previous"].shape == (2, 2)
    assert measures.roles.rows["self"] == sum(len(attention_of_tokens(slug, sentence)) for sentence in SENTENCES)


def attention_of_tokens(slug: str, sentence: Sentence) -> tuple[str, ...]:
    return attention_of(checkpoints.load(f"dir-tiny-{slug}"), sentence)[0].own.key_tokens


def test_nothing_to_measure_is_said(checkpoint_dir: Path) -> None:
    with pytest.raises(InputUnusable, match="could read none of 1 sentences"):
        measure(checkpoints.load("dir-tiny-bert"), [LONG])


def test_random_tokens_stand_four_times_behind_the_start(checkpoint_dir: Path) -> None:
    checkpoint = checkpoints.load("dir-tiny-gpt2")
    ids = repeated(checkpoint, 3, seed=1)
    length = (64 - 1) // REPEATS  # the tiny model has 64 positions
    assert ids.shape == (3, 1 + REPEATS * length)
    assert (ids[:, 0] == checkpoint.tokenizer.bos_token_id).all()
    blocks = ids[:, 1:].reshape(3, REPEATS, length)
    assert (blocks == blocks[:, :1]).all()
    assert all(len(set(block[0].tolist())) == length for block in blocks)
    assert not np.array_equal(blocks[0], blocks[1])
    assert np.array_equal(ids, repeated(checkpoint, 3, seed=1))


def test_untrained_heads_attend_evenly_and_score_accordingly(checkpoint_dir: Path) -> None:
    head_scores = induction(checkpoints.load("dir-tiny-gpt2"), examples=2)
    length = (64 - 1) // REPEATS
    even = [repeat / (2 + repeat * length + i) for repeat in range(1, REPEATS) for i in range(length)]
    assert head_scores.rows["induction"] == 2 * len(even)
    assert head_scores.grids["induction"] == pytest.approx(np.full((2, 2), np.mean(even)), rel=0.05)


def test_induction_of_a_reformer_is_counted_over_what_its_hashing_met() -> None:
    """Against the sum over earlier copies, written out, of the captured weights."""
    checkpoint = checkpoints.load("atlas-reformer")
    head_scores = induction(checkpoint, examples=2)
    means = []
    for ids in repeated(checkpoint, 2, seed=0):
        weights = trace_of(one_text(checkpoint, describe(checkpoint.tokenizer, ids.tolist()))).own.weights
        for i, token in enumerate(ids):
            follow = [s + 1 for s in range(i) if ids[s] == token and s + 1 < i]
            if follow:
                means.append(weights[:, :, i, follow].sum(-1))
    assert head_scores.rows["induction"] == len(means)
    np.testing.assert_allclose(head_scores.grids["induction"], np.mean(means, axis=0), atol=1e-5)


def test_of_bytes_letters_are_drawn() -> None:
    checkpoint = checkpoints.load("atlas-reformer")
    text = checkpoint.tokenizer.decode(repeated(checkpoint, 2, seed=0)[1][1:].tolist())
    assert len(text) == LENGTH * REPEATS
    assert text.isascii()
    assert text.isalpha()


def test_induction_is_of_decoders(checkpoint_dir: Path) -> None:
    with pytest.raises(NoAttentionMatrix, match="measured on decoders"):
        induction(checkpoints.load("dir-tiny-bert"))


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_files_are_tidy_and_treebanks_stand_beside_each_other(
    checkpoint_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = SHIPPED.read_text()
    other = tmp_path / "other.conllu"
    other.write_text(text)
    for treebank, count in ((None, 4), (other, 2), (None, 3)):
        cli_heads(["dir-tiny-bert", "dir-tiny-gpt2"], treebank, count, tmp_path / "out")
    said = capsys.readouterr().out
    assert "dir-tiny-bert over atlas: 4 sentences\n" in said
    assert "links to the right are not scored" in said
    table = rows(tmp_path / "out" / "dir-tiny-bert.csv")
    assert tuple(table[0]) == RELATION_COLUMNS
    assert {row["treebank"] for row in table} == {"atlas", "other"}
    assert {(row["layer"], row["head"]) for row in table} == {(a, b) for a in "12" for b in "12"}
    det = {row["n"] for row in table if (row["treebank"], row["relation"]) == ("atlas", "det")}
    assert det == {str(sum(len(links(sentence)["det"]) for sentence in SENTENCES[:3]))}
    assert {row["direction"] for row in table} == {*DIRECTIONS, "mention to antecedent"}
    assert all(int(row["right"]) <= int(row["n"]) >= int(row["baseline right"]) for row in table)
    roles = rows(tmp_path / "out" / "roles" / "dir-tiny-gpt2.csv")
    assert tuple(roles[0]) == ROLE_COLUMNS
    assert {row["treebank"] for row in roles} == {"atlas", "other", RANDOM}
    assert {row["role"] for row in roles if row["treebank"] == RANDOM} == {"induction"}


def test_a_folder_is_measured_as_one_treebank(checkpoint_dir: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.conllu").write_text(SHIPPED.read_text())
    cli_heads(["dir-tiny-bert"], tmp_path, 2, tmp_path / "out")
    cli_heads(["dir-tiny-bert"], tmp_path, 2, tmp_path / "out", together="both")
    table = rows(tmp_path / "out" / "dir-tiny-bert.csv")
    assert {row["treebank"] for row in table} == {"a", "b", "both"}
    counted = {
        bank: {
            (r["relation"], r["direction"], r["layer"], r["head"]): int(r["right"])
            for r in table
            if r["treebank"] == bank
        }
        for bank in ("a", "both")
    }
    assert counted["both"] == {key: 2 * right for key, right in counted["a"].items()}
    assert any(counted["a"].values())


def test_what_cannot_be_written_is_said_before_anything_is_lost(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("my,own\n1,2\n")
    with pytest.raises(AtlasError, match="with other columns"):
        write_rows(tmp_path / "mine.csv", ROLE_COLUMNS, [("a",) * 6])
    assert (tmp_path / "mine.csv").read_text() == "my,own\n1,2\n"
    with pytest.raises(AtlasError, match="could not be written"):
        write_rows(tmp_path / "mine.csv" / "below.csv", ROLE_COLUMNS, [("a",) * 6])


def test_an_unknown_model_is_refused_before_any_is_measured(
    checkpoint_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(headroles, "measure", never)
    with pytest.raises(AtlasError, match="no model"):
        cli_heads(["dir-tiny-bert", "no-such-model"], None, 1, tmp_path)


@pytest.mark.parametrize(
    ("slug", "copied"),
    [("ctrl", 0), ("gpt-2", 0), ("gpt-neo", 0), ("llama", 0), ("transformer-xl", 0), ("reformer", 10)],
)
def test_bundled_decoders_do_not_copy_random_tokens(slug: str, copied: int) -> None:
    """As the section Induction says; the first token of the second time is not predictable, so 74 of 100 count."""
    checkpoint = checkpoints.load(f"atlas-{slug}")
    ids = torch.tensor(repeated(checkpoint, EXAMPLES, 0))
    first = ids.shape[1] - LENGTH * (REPEATS - 1)
    with torch.no_grad():
        logits = checkpoint.model(input_ids=ids)[0][:, : ids.shape[1]]
    right = (logits[:, first:-1].argmax(-1) == ids[:, first + 1 :]).numpy()
    assert right.size == 740
    assert right.sum() == copied
