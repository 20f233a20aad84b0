"""Training after control codes and on bytes: windows, numbering and measures by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from core.checkpoints.spec import Card, Checkpoint, CheckpointSpec
from lab import corpus, evaluate
from lab import recipe as recipes
from lab.objective import IGNORE
from lab.objectives.causal import (
    CodesObjective,
    at_lines,
    bits_per_byte,
    passages,
    right_codes,
    spread,
    texts,
)
from lab.objectives.denoise import byte_rows, to_ids, to_text
from lab.recipe import SourceFile
from lab.tokenizers import T5, single_bytes
from tests import tiny as tiny_models
from tests import tinycorpus, tinyrecipes
from tests.unit.test_language_codes import Drawn

SOURCES = (
    SourceFile("stories.txt", task="Story", passes=0.5),
    SourceFile("lines.txt", task="Dialogue"),
    SourceFile("pairs.tsv", task="French", passes=2.0),
)


WIDTH = 48


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tinycorpus.write(tmp_path_factory.mktemp("corpus"), books=60)
    rng = np.random.default_rng(1)
    words = ["le", "chat", "voit", "deux", "chiens", "et", "court", "vite"]
    lines = [f"Line {i}.\t{' '.join(rng.choice(words, size=6)).capitalize()} {i}." for i in range(300)]
    (made / "pairs.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def objective(folder: Path) -> CodesObjective:
    made = tinyrecipes.objective(tinyrecipes.recipe("atlas-ctrl", sources=SOURCES), folder, folder / "states")
    assert isinstance(made, CodesObjective)
    return made


def test_windows_begin_with_their_code_and_hold_one_source(objective: CodesObjective, folder: Path) -> None:
    sides = {
        source.task: "\n".join(text for _, text, held in texts(folder, source, every=5) if not held)
        for source in SOURCES
    }
    by_code = dict(zip(objective.code.tolist(), sides, strict=True))
    seen = set()
    for step in range(80):
        batch = objective.batch(step)
        assert batch["ids"].shape == batch["labels"].shape == (5, WIDTH)
        assert torch.equal(batch["ids"][:, 1:], batch["labels"][:, :-1])
        for row, target in zip(batch["ids"].tolist(), batch["labels"].tolist(), strict=True):
            assert not set(row[1:]) & set(by_code)
            text = objective.tokenizer.decode(target)
            parts = [part for part in text.split("\n") if len(part) > 8]
            assert parts
            assert all(part.strip() in sides[by_code[row[0]]] for part in parts)
            seen.add(by_code[row[0]])
    assert seen == {"Story", "Dialogue", "French"}


def test_starts_move_to_their_line() -> None:
    offsets = np.array([0, 4, 10, 50])
    assert at_lines(np.array([0, 3, 4, 9, 15, 49]), offsets, 5).tolist() == [0, 0, 4, 4, 10, 49]


def test_pairs_give_their_second_side_and_are_split_by_it(folder: Path) -> None:
    pair_texts = list(texts(folder, SOURCES[2], every=5))
    assert all(
        text.split()[0] in {"Le", "Chat", "Voit", "Deux", "Chiens", "Et", "Court", "Vite"} for _, text, _ in pair_texts
    )
    assert [held for _, _, held in pair_texts] == [corpus.held_out(text, 5) for _, text, _ in pair_texts]
    assert {document for document, _, _ in pair_texts} == {"pairs.tsv"}


def test_passages_begin_with_rows_and_are_spread() -> None:
    rows = [[1, 2], [3, 4, 5], [6], [7, 8, 9], [10]]
    assert list(passages(rows, 4)) == [[1, 2, 3, 4], [6, 7, 8, 9]]
    assert spread(range(10), 5) == [0, 2, 4, 6, 8]
    assert spread(range(3), 5) == [0, 1, 2]
    assert spread([], 5) == []
    kept = spread(range(1000), 6)
    assert 3 <= len(kept) <= 6
    assert set(np.diff(kept)) == {kept[1]}


def test_shares_and_bits_by_hand() -> None:
    some = [[0, 0, 2], [1, 1, 1], [0, 0, 0]]  # by hand: codes 0, 1 and 0
    assert right_codes(Drawn(), some, [0, 1], 0) == pytest.approx(200 / 3)
    assert right_codes(Drawn(), some, [0, 1], 1) == pytest.approx(100 / 3)
    assert bits_per_byte(Drawn(), [[0, 0, 2]], 0, 2) == pytest.approx((1 + 1 + 2) / 2)


def test_the_measures_of_a_card_on_committed_texts() -> None:
    labels: dict[str, str] = recipes.load("atlas-ctrl").card["extra"]["codes"]
    tokenizer: Any = tiny_models.bytelevel_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": list(labels.values())})
    torch.manual_seed(0)
    config = transformers.CTRLConfig(
        vocab_size=len(tokenizer), n_positions=48, n_embd=8, n_layer=1, n_head=1, dff=8, bos_token_id=None
    )
    model = transformers.CTRLLMHeadModel(config).eval()
    for parameter in model.parameters():
        parameter.data.zero_()  # every token is equally likely under every code
    card = Card("Tiny", "-", (), (), "-", 0, 0, 0, "-", extra={"codes": labels})
    spec = CheckpointSpec("tiny", "Tiny", "ctrl", "decoder", "causal-lm", "bundled", "-", "-", True, card=card)
    rows = evaluate.rows(evaluate.measure("codes-lm", Checkpoint(model, tokenizer, spec)))
    assert [m.on.split(":")[0] for m in rows] == [x for x in ("Story", "Dialogue", "French", "German") for _ in "ab"]
    assert {(m.name, m.unit) for m in rows} == {("right code", "%"), ("bits per byte", "bits")}
    right = {m.on.split(":")[0]: m.value for m in rows if m.name == "right code"}
    assert right == {"Story": 100.0, "Dialogue": 0.0, "French": 0.0, "German": 0.0}  # of equals the first is taken
    even = np.log2(len(tokenizer))  # a token; the tiny vocabulary has between one and two bytes a token
    assert all(even / 2 < m.value <= even for m in rows if m.name == "bits per byte")


STRANGE = ("The cat sat.", "café — Straße", "日本 🦉", "  two  spaces ", "tab\tand\nline", "¡Ā!")


@pytest.fixture(scope="module")
def respelling(tiny_world: tuple[Path, Path]) -> Any:
    return tinyrecipes.objective(tinyrecipes.recipe("atlas-byt5", step_tokens=1024), *tiny_world)


@pytest.mark.parametrize("text", STRANGE)
def test_the_ids_of_the_bytes_are_those_of_the_published_tokenizer(text: str) -> None:
    from transformers import ByT5Tokenizer

    ours, theirs = single_bytes(tuple(T5.values()), "</s>"), ByT5Tokenizer()
    ids = ours.encode(text).ids
    assert ids == to_ids(text) == theirs(text)["input_ids"]
    assert ours.decode(ids) == to_text(ids) == text
    assert ours.get_vocab_size() == 3 + 256


def test_half_a_character_and_wrong_bytes_are_no_exception() -> None:
    owl = to_ids("🦉")
    tokenizer = single_bytes(tuple(T5.values()), "</s>")
    assert tokenizer.decode(owl[:2]).strip("\ufffd") == ""
    assert tokenizer.decode([0xFF + 3, *to_ids("a")]) == "\ufffda"


def test_rows_by_hand() -> None:
    made = byte_rows([("ab", "é"), ("a", "abc")])
    assert made["ids"].tolist() == [[100, 101, 1], [100, 1, 0]]
    assert made["real"].tolist() == [[1, 1, 1], [1, 1, 0]]
    assert made["labels"].tolist() == [[0xC3 + 3, 0xA9 + 3, 1, IGNORE], [100, 101, 102, 1]]


def test_the_measures_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    from lab import evaluate_pairs

    texts = ["the owl", "a cat"]
    monkeypatch.setattr(evaluate_pairs.measures, "rewrite", lambda _, texts, **__: [text.lower() for text in texts])
    shares = evaluate_pairs.spelling_corrected(None, texts)  # type: ignore[arg-type]
    assert (shares["upper exact after"], shares["upper CER after"], shares["left untouched"]) == (100.0, 0.0, 100.0)
    assert shares["upper CER before"] == pytest.approx(100 * 10 / 12)
    assert shares["antspeak exact after"] == 0.0  # T H E O W L keeps its spaces
    assert shares["antspeak CER after"] == pytest.approx(100 * (5 - 1 + 3 - 1) / 12)
    kinds = [name for name in shares if name.endswith(" exact after")]
    assert shares["exact after"] == pytest.approx(sum(shares[name] for name in kinds) / 7)
    from lab.evaluate import rows as card_rows

    units = {measure.name: measure.unit for measure in card_rows({"two texts": shares})}
    assert set(units.values()) == {"%"}


def test_heads_begin_beside_their_byte(respelling: Any) -> None:
    from lab.objectives.denoise import NEAR, attend_to_neighbors
    from lab.objectives.pairs import EncoderDecoder

    t5 = EncoderDecoder(respelling.recipe.model | {"d_model": 20, "num_heads": 5}, vocab_size=259).full
    attend_to_neighbors(t5)
    result = {}
    for name, half in (("encoder", t5.encoder), ("decoder", t5.decoder)):
        bias = half.block[0].layer[0].SelfAttention.compute_bias(6, 6)[0]  # (heads, looks, looked at)
        result[name] = [{int(j) - int(i) for i, j in torch.nonzero(head == NEAR)} for head in bias]
        assert torch.equal(bias[0].clamp(max=0.1) == 0.0, bias[0] != NEAR)
    assert result == {"encoder": [{-1}, {1}, {-2}, {2}, set()], "decoder": [{-1}, {-2}, {-3}, set(), set()]}
