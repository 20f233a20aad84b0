"""Differences, twins and weights under old names compute what transformers computes with the same numbers."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from core import checkpoints
from core.anatomy.build import build_model
from core.checkpoints import loading, package
from core.errors import CheckpointRefused
from core.turns import building
from core.vectors import image_text
from tests import tiny
from tests.unit.test_checkpoints_registry import CARD


@pytest.fixture
def assets(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    use_assets: Callable[[Path], None],
    use_checkpoints: Callable[[Path], None],
) -> Path:
    """Bundled checkpoints: ``minilm`` as a difference to a backbone, ``atlas-bigbird`` as a difference to that.

    The backbone stands for the package and holds a bare BertModel, whose names have no prefix, as the package has it.
    """
    from transformers import BertForMaskedLM

    use_assets(tmp_path)
    use_checkpoints(tmp_path / "nowhere")
    backbone = tiny.tiny_bert(tmp_path / "backbone")
    model = BertForMaskedLM.from_pretrained(backbone)
    bare = {name.removeprefix("bert."): value for name, value in model.state_dict().items() if "bert." in name}
    bare = {name: value.clone() for name, value in bare.items()} | {"pooler.dense.weight": torch.ones(16, 16)}
    save_file(bare, backbone / "model.safetensors")
    monkeypatch.setattr(package, "find_package", lambda: package.Package(backbone, "0"))
    monkeypatch.setattr(package, "verified_weights", lambda: backbone / "model.safetensors")

    minilm = tmp_path / "checkpoints" / "minilm"
    shutil.copytree(backbone, minilm, ignore=shutil.ignore_patterns("*.safetensors"))
    (minilm / "card.toml").write_text(f'base = "{package.NAME}"\n' + CARD)
    generator = torch.Generator().manual_seed(1)
    head = {name: value.clone() for name, value in model.state_dict().items() if name.startswith("cls.")}
    del head["cls.predictions.decoder.weight"], head["cls.predictions.decoder.bias"]  # tied
    query = "bert.encoder.layer.0.attention.self.query.weight"
    factors = {
        f"{query}.lora_A": torch.randn(2, 16, generator=generator),
        f"{query}.lora_B": torch.randn(16, 2, generator=generator),
    }
    save_file({**head, **factors}, minilm / "difference.safetensors")
    return tmp_path / "checkpoints"


def test_minilm_is_its_backbone_its_factors_and_its_head(assets: Path) -> None:
    from transformers import BertForMaskedLM

    difference = load_file(assets / "minilm" / "difference.safetensors")
    backbone = load_file(assets.parent / "backbone" / "model.safetensors")
    name = "encoder.layer.0.attention.self.query.weight"
    backbone[name] = backbone[name] + difference[f"bert.{name}.lora_B"] @ difference[f"bert.{name}.lora_A"]
    loaded = checkpoints.load("minilm")
    expected = BertForMaskedLM(loaded.model.config).eval()
    head = {key: value for key, value in difference.items() if key.startswith("cls.")}
    expected.load_state_dict({**{f"bert.{key}": value for key, value in backbone.items()}, **head}, strict=False)
    ids = loaded.tokenizer("the cat sat on the [MASK].", return_tensors="pt")
    torch.testing.assert_close(loaded.model(**ids).logits, expected(**ids).logits)
    decoder = loaded.model.get_output_embeddings().weight
    assert decoder.data_ptr() == loaded.model.get_input_embeddings().weight.data_ptr(), "the head is not tied"
    assert not loaded.model.training


@pytest.fixture
def half() -> Iterator[None]:
    """What another thread makes of torch's default while it loads a model in half precision."""
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.float16)
    yield
    torch.set_default_dtype(usual)


@pytest.mark.usefixtures("half")
def test_a_model_has_no_dtype_of_another_that_is_loaded_meanwhile(assets: Path) -> None:
    image_text.model.cache_clear()
    loaded = checkpoints.load("minilm")
    for model in (loaded.model, image_text.model()):
        tensors = dict([*model.named_parameters(), *model.named_buffers()])
        assert {str(tensor.dtype) for tensor in tensors.values() if tensor.is_floating_point()} == {"torch.float32"}
    logits = loaded.model(**loaded.tokenizer("the cat sat on the [MASK].", return_tensors="pt")).logits
    assert logits.dtype == torch.float32


def test_models_are_built_one_at_a_time(assets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else one that transformers loads could leave another without its tied weights."""
    begin, held = transformers.PreTrainedModel.__init__, {}

    @wraps(begin)
    def noted(model: object, *inputs: object, **named: object) -> None:
        held[type(model).__name__] = building.locked()
        begin(model, *inputs, **named)

    monkeypatch.setattr(transformers.PreTrainedModel, "__init__", noted)
    image_text.model.cache_clear()
    checkpoints.load("minilm")
    image_text.model()
    build_model("GPT2Model", "GPT2Config", {"n_layer": 1, "n_embd": 16, "n_head": 2})
    assert {"BertForMaskedLM", "CLIPModel", "GPT2Model"} <= held.keys()
    assert all(held.values())
    assert not building.locked()


def test_bigbird_on_top_of_minilm(assets: Path) -> None:
    source = tiny.tiny_bigbird(assets / "atlas-bigbird", positions=512)
    (source / "model.safetensors").unlink()
    (source / "card.toml").write_text('base = "minilm"\n' + CARD)
    positions = "bert.embeddings.position_embeddings.weight"
    save_file({f"{positions}.rows.64": torch.full((448, 16), 0.5)}, source / "difference.safetensors")
    spec = checkpoints.get("atlas-bigbird")
    assert (spec.branch, spec.ready, spec.max_positions) == ("efficient", True, 512)
    big = checkpoints.load("atlas-bigbird").model
    small = checkpoints.load("minilm").model
    assert big.config.attention_type == "block_sparse"
    got = big.state_dict()
    for name, value in small.state_dict().items():
        if name == positions:
            torch.testing.assert_close(got[name][:64], value)
            assert got[name].shape == (512, 16)
            assert bool((got[name][64:] == 0.5).all())
        else:
            torch.testing.assert_close(got[name], value)


def test_a_difference_without_its_head_is_refused(assets: Path) -> None:
    file = assets / "minilm" / "difference.safetensors"
    state = load_file(file)
    del state["cls.predictions.transform.dense.weight"]
    save_file(state, file)
    with pytest.raises(CheckpointRefused, match="initialized at random"):
        checkpoints.load("minilm")


def test_a_difference_to_something_else_is_refused(assets: Path) -> None:
    file = assets / "minilm" / "difference.safetensors"
    save_file(load_file(file) | {"transformer.h.0.weight": torch.ones(2)}, file)
    with pytest.raises(CheckpointRefused, match=r"transformer\.h\.0\.weight"):
        checkpoints.load("minilm")


def test_a_base_outside_the_bundle_is_refused(assets: Path) -> None:
    card = assets / "minilm" / "card.toml"
    card.write_text('base = "../../elsewhere"\n' + CARD)
    with pytest.raises(CheckpointRefused, match="not bundled"):
        loading.read_checkpoint(checkpoints.get("minilm"))


State = dict[str, torch.Tensor]


def old_bert(state: State) -> State:
    """As bert-base-uncased has it: gamma and beta, no tied decoder, a pooler and a next-sentence head besides."""
    renamed = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
        for name, value in state.items()
        if "decoder" not in name
    }
    width = state["bert.embeddings.word_embeddings.weight"].shape[1]
    extra = {"bert.pooler.dense.weight": torch.ones(width, width), "cls.seq_relationship.weight": torch.ones(2, width)}
    return renamed | extra


def old_gpt2(state: State) -> State:
    """As gpt2 has it: no prefix, no output matrix, and the causal mask of each layer."""
    bare = {name.removeprefix("transformer."): value for name, value in state.items() if name != "lm_head.weight"}
    return bare | {"h.0.attn.bias": torch.tril(torch.ones(64, 64))[None, None]}


def old_t5(state: State) -> State:
    """As t5-small has it: the shared matrix under all its names."""
    shared = state["shared.weight"]
    return state | {f"{part}.embed_tokens.weight": shared.clone() for part in ("encoder", "decoder")}


@pytest.mark.parametrize(
    ("name", "old"), [("tiny-bert", old_bert), ("tiny-gpt2", old_gpt2), ("tiny-t5", old_t5)], ids=["bert", "gpt2", "t5"]
)
def test_old_names_load_completely(
    name: str,
    old: Callable[[State], State],
    tiny_root: Path,
    tmp_path: Path,
    use_checkpoints: Callable[[Path], None],
) -> None:
    shutil.copytree(tiny_root / name, tmp_path / "root" / "new")
    folder = Path(shutil.copytree(tiny_root / name, tmp_path / "root" / "old"))
    save_file(old(load_file(folder / "model.safetensors")), folder / "model.safetensors", metadata={"format": "pt"})
    use_checkpoints(tmp_path / "root")
    ids = torch.tensor([[5, 6, 7, 8]])
    inputs: dict[str, Any] = {"input_ids": ids} | ({"decoder_input_ids": ids} if name == "tiny-t5" else {})
    with torch.no_grad():
        expected = checkpoints.load("dir-new").model(**inputs).logits
        got = checkpoints.load("dir-old").model(**inputs).logits
    torch.testing.assert_close(got, expected)
