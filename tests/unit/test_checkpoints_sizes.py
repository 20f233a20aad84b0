"""Parameters from headers: what is counted, what is not, and what a difference leans on."""

from __future__ import annotations

import json
from pathlib import Path

from core import checkpoints
from core.checkpoints import package, sizes
from core.checkpoints.sizes import Size, count_parameters

WIDTHS = {"F32": 4, "F16": 2, "I64": 8}


def written(file: Path, tensors: dict[str, tuple[str, tuple[int, ...], bytes]]) -> Path:
    """A safetensors file by hand; each tensor's bytes are one byte over and over."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    body = b""
    for name, (dtype, shape, byte) in tensors.items():
        count = 1
        for side in shape:
            count *= side
        data = byte * (count * WIDTHS[dtype])
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    raw = json.dumps(header).encode()
    file.write_bytes(len(raw).to_bytes(8, "little") + raw + body)
    return file


def test_floats_are_counted_and_positions_and_masks_are_not(tmp_path: Path) -> None:
    file = written(
        tmp_path / "model.safetensors",
        {
            "embed": ("F32", (10, 4), b"a"),
            "layer.weight": ("F16", (4, 3), b"b"),
            "layer.bias": ("F16", (3,), b"b"),
            "position_ids": ("I64", (1, 8), b"c"),
            "attn.bias": ("F32", (1, 1, 8, 8), b"d"),
        },
    )
    assert count_parameters([file]) == 40 + 12 + 3


def test_a_matrix_that_two_parts_share_is_one(tmp_path: Path) -> None:
    file = written(
        tmp_path / "model.safetensors",
        {
            "embed": ("F32", (10, 4), b"a"),
            "lm_head": ("F32", (10, 4), b"a"),
            "other": ("F32", (10, 4), b"z"),
            "query": ("F32", (4, 4), b"q"),
            "key": ("F32", (4, 4), b"q"),
        },
    )
    # the head repeats the embeddings; two small matrices with equal values are two
    assert count_parameters([file]) == 40 + 40 + 16 + 16


def test_shards_are_counted_together(tmp_path: Path) -> None:
    one = written(tmp_path / "a.safetensors", {"embed": ("F32", (10, 4), b"a")})
    two = written(tmp_path / "b.safetensors", {"head": ("F32", (10, 4), b"a"), "bias": ("F32", (5,), b"b")})
    assert count_parameters([one, two]) == 45


def test_whole_models_have_as_many_as_their_modules() -> None:
    """The numbers that the loaded modules have: 4 layers of 256, 2 + 2 layers of 256, shared embeddings once."""
    assert sizes.size_of(checkpoints.get("atlas-gpt-2")) == Size(4_797_952, 9_600_968)
    found = sizes.size_of(checkpoints.get("atlas-t5"))
    assert (found.parameters, found.base_parameters) == (5_721_344, 0)


def test_differences_name_their_base() -> None:
    trunk = package.find_package()
    minilm, bigbird = (sizes.size_of(checkpoints.get(slug)) for slug in ("minilm", "atlas-bigbird"))
    # all-MiniLM-L6-v2 has 22,713,216 parameters; its 512 position ids are none
    assert minilm.base_parameters == 22_713_216
    assert minilm.base_bytes == (trunk.folder / "model.safetensors").stat().st_size
    assert minilm.all_parameters == 22_713_216 + minilm.parameters
    # BigBird is a difference to MiniLM, which is a difference itself
    assert bigbird.base_parameters == minilm.all_parameters
    assert bigbird.all_bytes == bigbird.bytes + minilm.all_bytes


def test_the_hosts_folders_are_counted(checkpoint_dir: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(checkpoint_dir / "tiny-gpt2", dtype=torch.float32)
    spec = checkpoints.get("dir-tiny-gpt2")
    found = sizes.size_of(spec)
    assert found.parameters == sum(parameter.numel() for parameter in model.parameters())
    assert found.bytes == spec.size_bytes


def test_the_state_changes_with_the_files(tmp_path: Path, checkpoint_dir: Path) -> None:
    state = sizes.state_of(checkpoints.get("dir-tiny-gpt2"))
    assert [Path(name).name for name, _, _ in state] == ["model.safetensors"]
    bigbird = {Path(name).parent.name for name, _, _ in sizes.state_of(checkpoints.get("atlas-bigbird"))}
    assert {"atlas-bigbird", "minilm", "model"} == bigbird
