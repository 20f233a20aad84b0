"""Bundled models and those of a folder: found, loaded, and made of a base and a difference."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from core import checkpoints
from core.attention.roles import rolefiles
from core.checkpoints import listing, package, registry
from core.checkpoints.bundled import apply
from core.checkpoints.families import architectures
from core.checkpoints.spec import read_card
from core.errors import CheckpointRefused, CheckpointUnavailable, UnknownCheckpoint
from tests import tiny

CARD = """
name = "Test"
summary = "A model for a test."
data = ["stories"]
data_licence = ["CC0-1.0"]
recipe = "test"
steps = 10
tokens = 1000
seed = 1
licence = "Apache-2.0"
weaknesses = ["small"]
tasks = ["en-fr", "repair"]

[[measures]]
name = "top-1"
value = 0.5
unit = ""
on = "nothing"
"""


def test_each_folder_shows_up_on_its_page(checkpoint_dir: Path) -> None:
    by_slug = {spec.slug: spec for spec in checkpoints.available() if spec.source == "directory"}
    assert {slug: (spec.branch, spec.kind, spec.max_positions) for slug, spec in by_slug.items()} == {
        "dir-tiny-bert": ("encoder", "masked-lm", 64),
        "dir-tiny-gpt2": ("decoder", "causal-lm", 64),
        "dir-tiny-t5": ("encoder-decoder", "seq2seq-lm", by_slug["dir-tiny-t5"].max_positions),
        "dir-tiny-bigbird": ("efficient", "masked-lm", 512),
    }
    assert by_slug["dir-tiny-gpt2"].system == "gpt-2"
    assert all(spec.ready for spec in by_slug.values())
    assert "dir-tiny-bert" in {spec.slug for spec in checkpoints.for_branch("encoder")}
    assert "dir-tiny-bert" not in {spec.slug for spec in checkpoints.for_branch("efficient")}
    assert "dir-tiny-t5" in {spec.slug for spec in checkpoints.for_system("t5")}


def test_all_kinds_load_in_evaluation_mode(checkpoint_dir: Path) -> None:
    for name in ("tiny-bert", "tiny-gpt2", "tiny-t5", "tiny-bigbird"):
        loaded = checkpoints.load(f"dir-{name}")
        assert not loaded.model.training
        assert loaded.model.config._attn_implementation in ("atlas", "eager")
        assert not any(tensor.requires_grad for tensor in loaded.model.parameters())
        assert {str(tensor.dtype) for tensor in loaded.model.parameters()} == {"torch.float32"}
        assert loaded.source == "directory"


def test_the_directory_may_be_a_model_itself(tiny_root: Path, use_checkpoints: Callable[[Path], None]) -> None:
    use_checkpoints(tiny_root / "tiny-gpt2")
    assert checkpoints.get("dir-tiny-gpt2").branch == "decoder"
    assert checkpoints.load("dir-tiny-gpt2").model is not None


def test_folder_names_become_safe_and_distinct_slugs(
    tiny_root: Path, tmp_path: Path, use_checkpoints: Callable[[Path], None]
) -> None:
    for name in ("My Model", "my model", "<script>", "..."):
        shutil.copytree(tiny_root / "tiny-bert", tmp_path / "root" / name)
    (tmp_path / "root" / ".hidden").mkdir()
    (tmp_path / "root" / "empty").mkdir()
    (tmp_path / "root" / "notes.txt").write_text("x")
    use_checkpoints(tmp_path / "root")
    slugs = sorted(spec.slug for spec in checkpoints.available() if spec.source == "directory")
    assert slugs == ["dir-my-model", "dir-my-model-2", "dir-script"]


def test_a_folder_of_any_name_is_offered_or_refused_and_can_be_shown(
    tiny_root: Path, tmp_path: Path, use_checkpoints: Callable[[Path], None]
) -> None:
    root = tmp_path / "root"
    for name in (b"caf\xe9", b"\xff\xfe", "é".encode(), b"x" * 250):
        shutil.copytree(tiny_root / "tiny-bert", root / os.fsdecode(name))
    for name, file in (("inner", b"\xe9.txt"), ("half", b"x.txt")):
        copy = shutil.copytree(tiny_root / "tiny-bert", root / name)
        (copy / os.fsdecode(file)).touch()
    (root / "half" / "config.json").write_text('{"architectures": ["\\ud800"]}')
    use_checkpoints(root)
    specs = {spec.slug: spec for spec in checkpoints.available() if spec.source == "directory"}
    refused = {folder.slug: folder for folder in registry.refused()}
    assert specs.keys() == {"dir-folder", "dir-" + "x" * 100}
    assert set(refused) == {"dir-caf", "dir-folder-2", "dir-inner", "dir-half"}
    assert refused["dir-caf"].reason == "The name “caf?” is not UTF-8 text. Rename that file or folder."
    for shown in (*specs.values(), *refused.values()):
        repr(shown).encode()
    assert "\\udc" not in repr(refused)
    long = specs["dir-" + "x" * 100]
    assert rolefiles.roles(long.slug) == {}
    assert rolefiles.effects(long.slug) == {}
    assert checkpoints.load(long.slug).model is not None


def test_only_so_many_folders_are_looked_into(
    tmp_path: Path, use_checkpoints: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "MOST_FOLDERS", 3)
    for number in range(5):
        (tmp_path / "root" / str(number)).mkdir(parents=True)
        (tmp_path / "root" / str(number) / "notes.txt").touch()
    use_checkpoints(tmp_path / "root")
    assert [folder.slug for folder in registry.refused()] == ["dir-0", "dir-1", "dir-2", "dir-more-folders"]
    assert "holds 5 folders; the first 3 by name" in registry.refused()[-1].reason


def test_a_list_of_models_looks_into_the_folders_once(checkpoint_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    in_directory = registry.in_directory
    monkeypatch.setattr(registry, "in_directory", lambda: (looks.append(1), in_directory())[1])
    assert sum(listed.spec.source == "directory" for listed in listing.live()) > 1
    assert len(looks) == 1


def test_sharded_weights_load(tmp_path: Path, use_checkpoints: Callable[[Path], None]) -> None:
    from transformers import AutoModelForCausalLM

    folder = tiny.tiny_gpt2(tmp_path / "root" / "shards")
    AutoModelForCausalLM.from_pretrained(folder).save_pretrained(folder, max_shard_size="20KB")
    (folder / "model.safetensors").unlink()
    assert len(list(folder.glob("model-*.safetensors"))) > 1
    use_checkpoints(tmp_path / "root")
    assert checkpoints.load("dir-shards").model.config.n_layer == 2


def test_an_error_for_an_unknown_name_lists_the_known_ones(checkpoint_dir: Path) -> None:
    with pytest.raises(UnknownCheckpoint, match="dir-tiny-bert"):
        checkpoints.load("no-such-model")
    with pytest.raises(UnknownCheckpoint) as caught:
        checkpoints.load("<script>" * 10_000)
    assert len(str(caught.value)) < 2000


def test_a_published_checkpoint_that_is_not_here(checkpoint_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(checkpoint_dir / "no-cache"))
    with pytest.raises(CheckpointUnavailable, match="fetch bert-base-uncased"):
        checkpoints.load("bert-base-uncased")


@pytest.fixture
def assets(tmp_path: Path, use_assets: Callable[[Path], None], use_checkpoints: Callable[[Path], None]) -> Path:
    """An empty folder of bundled checkpoints."""
    use_assets(tmp_path)
    use_checkpoints(tmp_path / "nowhere")
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    return folder


def test_a_bundled_folder_is_offered_when_it_is_complete(assets: Path) -> None:
    folder = tiny.tiny_t5(assets / "atlas-t5")
    assert "atlas-t5" not in {spec.slug for spec in checkpoints.available()}
    (folder / "card.toml").write_text(CARD)
    spec = checkpoints.get("atlas-t5")
    assert (spec.system, spec.branch, spec.kind, spec.source) == ("t5", "encoder-decoder", "seq2seq-lm", "bundled")
    assert spec.tasks == ("en-fr", "repair")
    assert spec.card.measures[0].value == 0.5
    assert type(checkpoints.load("atlas-t5").model).__name__ == "T5ForConditionalGeneration"
    (folder / "model.safetensors").unlink()
    assert "atlas-t5" not in {spec.slug for spec in checkpoints.available()}


def test_a_base_that_has_left_is_said_in_a_sentence(assets: Path) -> None:
    from safetensors.torch import load_file, save_file

    base = tiny.tiny_bert(assets / "atlas-base")
    folder = assets / "atlas-difference"
    shutil.copytree(base, folder)
    bias = load_file(folder / "model.safetensors")["cls.predictions.bias"]
    save_file({"cls.predictions.bias": bias + 1}, folder / "difference.safetensors")
    (folder / "model.safetensors").unlink()
    (base / "card.toml").write_text(CARD)
    (folder / "card.toml").write_text(f'base = "atlas-base"\n{CARD}')
    assert checkpoints.load("atlas-difference").model is not None
    checkpoints.forget()
    (base / "model.safetensors").unlink()
    with pytest.raises(CheckpointUnavailable, match="can no longer be read"):
        checkpoints.load("atlas-difference")


def test_minilm_with_other_weights_is_refused(assets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = assets / "package"
    tiny.tiny_bert(fake)
    monkeypatch.setattr(package, "find_package", lambda: package.Package(fake, "0"))
    with pytest.raises(CheckpointRefused, match="SHA-256"):
        package.verified_weights()


def test_the_packages_weights_are_the_published_ones() -> None:
    if package.find_package() is None:
        pytest.skip("the package with the MiniLM weights is not installed")
    assert package.verified_weights().stat().st_size == 90_868_376


@pytest.mark.parametrize("text", ["", "name = 1 2", 'name = "x"', CARD.replace("value", "valeu")])
def test_a_card_that_cannot_be_read(tmp_path: Path, text: str) -> None:
    file = tmp_path / "card.toml"
    file.write_text(text)
    with pytest.raises(CheckpointRefused, match="card"):
        read_card(file)


def test_mappings_are_those_of_transformers() -> None:
    from lab.mappings import mappings

    assert architectures.mappings() == json.loads(json.dumps(mappings())), "run: python -m lab mappings"
    assert {kind: len(table) > 30 for kind, table in architectures.tables().items()} == dict.fromkeys(
        ("seq2seq-lm", "masked-lm", "causal-lm"), True
    )


@pytest.mark.parametrize(
    ("architecture", "kind"),
    [
        ("BartForConditionalGeneration", "seq2seq-lm"),
        ("BartForCausalLM", "causal-lm"),
        ("XLMWithLMHeadModel", "masked-lm"),
        ("EncoderDecoderModel", "seq2seq-lm"),
        ("GPTJForCausalLM", "causal-lm"),
        ("XLNetLMHeadModel", "permutation-lm"),
        ("BertForSequenceClassification", None),
    ],
)
def test_kind_of_an_architecture(architecture: str, kind: str | None) -> None:
    assert architectures.kind_of({"architectures": [architecture]}) == kind


def test_one_class_is_xlnet_or_transformer_xl() -> None:
    config = {"architectures": ["XLNetLMHeadModel"], "model_type": "xlnet"}
    assert architectures.kind_of(config | {"attn_type": "bi"}) == "permutation-lm"
    assert architectures.kind_of(config | {"attn_type": "uni"}) == "causal-lm"
    assert {architectures.branch_of(kind, config) for kind in ("permutation-lm", "causal-lm")} == {"decoder"}


@pytest.mark.parametrize(
    ("config", "positions"),
    [
        ({"max_position_embeddings": 512}, 512),
        ({"n_positions": 1024, "n_ctx": 1024}, 1024),
        ({"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1}, 512),
        ({"model_type": "t5"}, None),
        ({"max_position_embeddings": True}, None),
    ],
)
def test_positions(config: dict[str, object], positions: int | None) -> None:
    assert architectures.positions_of(config) == positions


def test_a_part_is_offered_where_a_folder_has_it() -> None:
    assert registry.get("atlas-bert").offers("pairs")
    assert registry.get("atlas-albert").offers("pairs")
    assert not registry.get("minilm").offers("pairs")


def base() -> dict[str, torch.Tensor]:
    return {"w": torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), "b": torch.tensor([1.0, 1.0, 1.0])}


def test_low_rank() -> None:
    b = torch.tensor([[1.0], [0.0], [2.0]])  # out x r
    a = torch.tensor([[10.0, 20.0]])  # r x in
    got = apply(base(), {"w.lora_B": b, "w.lora_A": a})
    assert got["w"].tolist() == [[11.0, 22.0], [3.0, 4.0], [25.0, 46.0]]
    assert got["b"].tolist() == [1.0, 1.0, 1.0]


def test_low_rank_in_some_rows() -> None:
    stored = {"w.lora_B": torch.tensor([[1.0], [2.0]]), "w.lora_A": torch.tensor([[10.0, 20.0]])}
    got = apply(base(), stored | {"w.lora_rows": torch.tensor([0, 2], dtype=torch.int32)})
    assert got["w"].tolist() == [[11.0, 22.0], [3.0, 4.0], [25.0, 46.0]]


def test_replacement_and_new_tensor() -> None:
    got = apply(base(), {"b": torch.tensor([9.0, 8.0]), "head": torch.tensor([[7.0]], dtype=torch.float16)})
    assert got["b"].tolist() == [9.0, 8.0]
    assert got["head"].tolist() == [[7.0]]
    assert got["head"].dtype == torch.float32


def test_rows_replace_and_extend() -> None:
    got = apply(base(), {"w.rows.2": torch.tensor([[50.0, 60.0], [70.0, 80.0]])})
    assert got["w"].tolist() == [[1.0, 2.0], [3.0, 4.0], [50.0, 60.0], [70.0, 80.0]]
    got = apply(base(), {"w.rows.0": torch.tensor([[0.0, 0.0]])})
    assert got["w"].tolist() == [[0.0, 0.0], [3.0, 4.0], [5.0, 6.0]]


def test_tiles_are_repeated_and_updated() -> None:
    tiles = {"w.tiles.2": torch.tensor([[1.0, 2.0], [3.0, 4.0]])}
    assert apply(base(), tiles)["w"].tolist() == [[1.0, 2.0], [3.0, 4.0]] * 2
    product = {"w.lora_A": torch.tensor([[1.0, 0.0]]), "w.lora_B": torch.tensor([[0.0], [0.0], [0.0], [5.0]])}
    assert apply(base(), product | tiles)["w"].tolist()[2:] == [[1.0, 2.0], [8.0, 4.0]]


def test_low_rank_on_top_of_a_replacement_in_any_order() -> None:
    difference = {
        "w.lora_A": torch.tensor([[1.0, 1.0]]),
        "w": torch.zeros(3, 2),
        "w.lora_B": torch.tensor([[1.0], [2.0], [3.0]]),
    }
    assert apply(base(), difference)["w"].tolist() == [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]


def test_half_precision_is_added_in_float32() -> None:
    got = apply(
        {"w": torch.full((1, 1), 2048.0, dtype=torch.float16)},
        {"w.lora_A": torch.ones(1, 1).half(), "w.lora_B": torch.ones(1, 1).half()},
    )
    assert got["w"].item() == 2049.0  # float16 would round to 2048


def test_arguments_are_not_changed() -> None:
    before = base()
    apply(before, {"w.rows.0": torch.zeros(3, 2), "b": torch.zeros(3)})
    assert before["w"].tolist() == base()["w"].tolist()
    assert before["b"].tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "difference",
    [
        {"w.lora_A": torch.ones(1, 2)},
        {"w.lora_B": torch.ones(3, 1)},
        {"w.lora_A": torch.ones(1, 3), "w.lora_B": torch.ones(3, 1)},
        {"w.lora_A": torch.ones(2, 2), "w.lora_B": torch.ones(3, 1)},
        {"x.lora_A": torch.ones(1, 2), "x.lora_B": torch.ones(3, 1)},
        {"w.lora_rows": torch.tensor([0])},
        *(
            {"w.lora_A": torch.ones(1, 2), "w.lora_B": torch.ones(2, 1), "w.lora_rows": rows}
            for rows in (
                torch.tensor([0]),
                torch.tensor([0, 3]),
                torch.tensor([-1, 0]),
                torch.tensor([1, 1]),
                torch.tensor([0.0, 1.0]),
                torch.tensor([[0, 1]]),
            )
        ),
        {"w.rows.4": torch.ones(1, 2)},
        {"w.rows.-1": torch.ones(1, 2)},
        {"w.tiles.-1": torch.ones(1, 2)},
        {"b.tiles.": torch.ones(1, 2)},
        {"w.rows.0": torch.ones(1, 3)},
        {"x.rows.0": torch.ones(1, 2)},
    ],
)
def test_what_does_not_fit_is_refused(difference: dict[str, torch.Tensor]) -> None:
    with pytest.raises(CheckpointRefused):
        apply(base(), difference)
