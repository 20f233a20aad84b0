"""Folders that must not be loaded: each gets a sentence, from the files alone, and nothing in it is opened or run."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core import checkpoints
from core.catalogue.load import unknown_model
from core.checkpoints.folder import count_elements, inspect, read_json
from core.errors import CheckpointRefused, InputUnusable
from core.run.model import call
from tests import tiny, tinyfamilies


@pytest.fixture
def bert(tiny_root: Path, tmp_path: Path) -> Path:
    """A copy of the tiny BERT that a test may damage."""
    return Path(shutil.copytree(tiny_root / "tiny-bert", tmp_path / "root" / "tiny-bert"))


def edit(file: Path, **changes: object) -> None:
    """Change keys of a JSON file."""
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def refusal(folder: Path) -> str:
    """The sentence with which the folder is refused."""
    with pytest.raises(CheckpointRefused) as caught:
        inspect(folder, folder.parent)
    sentence = str(caught.value)
    assert folder.name in sentence
    assert sentence.endswith(".")
    return sentence


def test_elements_of_a_file_written_by_hand(tmp_path: Path) -> None:
    header = json.dumps(
        {
            "__metadata__": {"format": "pt"},
            "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
            "b": {"dtype": "F16", "shape": [4], "data_offsets": [24, 32]},
        }
    ).encode()
    file = tmp_path / "model.safetensors"
    file.write_bytes(struct.pack("<Q", len(header)) + header + bytes(32))
    assert count_elements(file) == 2 * 3 + 4


@pytest.mark.parametrize("keep", [0, 5, 40, 0.5, 0.999])
def test_truncated_weights(bert: Path, keep: float) -> None:
    file = bert / "model.safetensors"
    content = file.read_bytes()
    file.write_bytes(content[: int(keep * len(content)) if isinstance(keep, float) else keep])
    assert "cut off" in refusal(bert)


@pytest.mark.parametrize(
    "header",
    [
        b"not json",
        b"[1]",
        b'{"a": 1}',
        b'{"a": {"shape": "x", "data_offsets": [0]}}',
        *(
            b'{"a": {"dtype": "F32", "shape": [%s], "data_offsets": [0, 0]}}' % shape
            for shape in (b"1" + b"0" * 400, b"1" + b"0" * 400 + b", 0", b"-1, 3", b"1000, 1000", b"1.5")
        ),
        b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}}',
    ],
)
def test_a_header_that_is_nonsense(bert: Path, header: bytes) -> None:
    (bert / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    assert "corrupt" in refusal(bert)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"architectures": ["MindReaderForMaskedLM"], "model_type": "mind-reader"}, "does not know"),
        ({"architectures": ["BertModel"]}, "no language-model head"),
        ({"architectures": ["AdapterBert"]}, "AdapterBert"),
        ({"architectures": ["BertForSequenceClassification"]}, "lists for sequence classification"),
        ({"architectures": ["WhisperForConditionalGeneration"], "model_type": "whisper"}, "lists for speech"),
        ({"architectures": ["GPT2DoubleHeadsModel"], "model_type": "gpt2"}, "of this type GPT2LMHeadModel: load"),
        ({"architectures": None}, "does not say its architecture"),
        ({"quantization_config": {"quant_method": "gptq"}}, "quantized"),
        ({"auto_map": {"AutoModelForMaskedLM": "modeling_trap.Trap"}}, "code of its own"),
        ({"encoder": {"auto_map": {"AutoModel": "modeling_trap.Trap"}}}, "code of its own"),
    ],
)
def test_configurations_that_are_refused(bert: Path, changes: dict[str, object], said: str) -> None:
    edit(bert / "config.json", **changes)
    assert said in refusal(bert)


def _indexed(bert: Path, shard: str) -> None:
    (bert / "model.safetensors").unlink()
    (bert / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": shard}}))


def _twice(bert: Path) -> None:
    shutil.copy(bert / "model.safetensors", bert / "part.safetensors")
    (bert / "model.safetensors.index.json").write_text('{"weight_map": {"a": "part.safetensors"}}')


def _renamed(bert: Path, name: str) -> None:
    (bert / "model.safetensors").rename(bert / name)


def _only_merged(bert: Path) -> None:
    for file in bert.glob("tokenizer*"):
        file.unlink()
    (bert / "vocab.json").write_text("{}")


def _in(bert: Path, *folders: str) -> None:
    """Move the model into further folders below."""
    for inner in folders:
        shutil.copytree(bert, bert.parent / "copy")
        shutil.move(bert.parent / "copy", bert / inner)
    for file in [file for file in bert.iterdir() if file.is_file()]:
        file.unlink()


def _adapter(bert: Path) -> None:
    for file in bert.iterdir():
        file.unlink()
    (bert / "adapter_config.json").write_text("{}")
    (bert / "adapter_model.safetensors").write_bytes(b"")


def _exported(bert: Path, name: str, *, configured: bool) -> None:
    _renamed(bert, name)
    if not configured:
        (bert / "config.json").unlink()


def _linked_outside(bert: Path) -> None:
    outside = bert.parent.parent / "secret.json"
    shutil.move(bert / "tokenizer.json", outside)
    (bert / "tokenizer.json").symlink_to(outside)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda bert: os.truncate(bert / "model.safetensors", 1_000_000), "Copy or download it again"),
        (
            lambda bert: edit(bert / "tokenizer_config.json", auto_map={"AutoTokenizer": "modeling_trap.Trap"}),
            "code of its own",
        ),
        (lambda bert: [file.unlink() for file in bert.glob("tokenizer*")], "no tokenizer"),
        (lambda bert: (bert / "model.safetensors").unlink(), "no weights"),
        (lambda bert: (bert / "adapter_config.json").write_text("{}"), "adapter"),
        (lambda bert: (bert / "config.json").write_text(" " * 6_000_000), "too large"),
        (lambda bert: _indexed(bert, "../other.safetensors"), "outside its folder"),
        (lambda bert: _indexed(bert, "model-00001-of-00002.safetensors"), "lacks model-00001-of-00002.safetensors"),
        (_linked_outside, "leads out"),
        (_adapter, "holds an adapter, not a whole model"),
        (lambda bert: _in(bert, "checkpoint-500", "checkpoint-1000"), "its folder “checkpoint-1000” does"),
        (lambda bert: _in(bert, "snapshots/0a1b"), "its folder “snapshots/0a1b” does"),
        (lambda bert: _exported(bert, "model-Q4.gguf", configured=False), "in model-Q4.gguf, in the format GGUF"),
        (lambda bert: _exported(bert, "model.onnx", configured=True), "in model.onnx, in the format ONNX"),
        (lambda bert: _renamed(bert, "model.fp16.safetensors"), "name it model.safetensors"),
        (_only_merged, "not the merges"),
        (_twice, "two sets of weights"),
    ],
)
def test_a_folder_with_something_wrong(bert: Path, spoil: Callable[[Path], object], said: str) -> None:
    spoil(bert)
    assert said in refusal(bert)


def test_a_pickle_is_named_and_never_opened(bert: Path, tmp_path: Path) -> None:
    trap = tmp_path / "opened"

    class Trap:
        def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
            return Path.touch, (trap,)

    (bert / "model.safetensors").unlink()
    (bert / "pytorch_model.bin").write_bytes(pickle.dumps(Trap()))
    assert "pytorch_model.bin" in refusal(bert)
    assert not trap.exists()


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000])
def test_a_configuration_that_is_no_json_object(bert: Path, text: str) -> None:
    (bert / "config.json").write_text(text)
    assert "corrupt" in refusal(bert)


def test_a_link_within_the_directory_is_fine(bert: Path) -> None:
    shutil.move(bert / "tokenizer.json", bert.parent / "shared.json")
    (bert / "tokenizer.json").symlink_to(bert.parent / "shared.json")
    assert inspect(bert, bert.parent).kind == "masked-lm"


def test_missing_weights_are_not_initialized_at_random(bert: Path, use_checkpoints: Callable[[Path], None]) -> None:
    from safetensors.torch import load_file, save_file

    state = load_file(bert / "model.safetensors")
    del state["cls.predictions.transform.dense.weight"]
    save_file(state, bert / "model.safetensors", metadata={"format": "pt"})
    use_checkpoints(bert.parent)
    with pytest.raises(CheckpointRefused, match="initialized at random"):
        checkpoints.load("dir-tiny-bert")


def test_weights_of_other_shapes(bert: Path, use_checkpoints: Callable[[Path], None]) -> None:
    edit(bert / "config.json", intermediate_size=40)
    use_checkpoints(bert.parent)
    with pytest.raises(CheckpointRefused, match="tiny-bert"):
        checkpoints.load("dir-tiny-bert")


def test_a_tokenizer_of_another_model(bert: Path, tiny_root: Path, use_checkpoints: Callable[[Path], None]) -> None:
    shutil.copy(tiny_root / "tiny-gpt2" / "tokenizer.json", bert / "tokenizer.json")
    use_checkpoints(bert.parent)
    with pytest.raises(CheckpointRefused, match="do not belong together"):
        checkpoints.load("dir-tiny-bert")


@pytest.mark.parametrize("content", ["{}", "not json", '{"model": {"type": "WordPiece"}}'])
def test_a_corrupt_tokenizer_file(bert: Path, content: str, use_checkpoints: Callable[[Path], None]) -> None:
    (bert / "tokenizer.json").write_text(content)
    use_checkpoints(bert.parent)
    with pytest.raises(CheckpointRefused, match="tokenizer"):
        checkpoints.load("dir-tiny-bert")


@pytest.fixture
def patience() -> Iterator[None]:
    """Ends a test that waits for a pipe."""

    def give_up(*_: object) -> None:
        raise AssertionError("it waits for a pipe")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes in folders")
@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors", "x"])
def test_a_pipe_is_not_waited_for(bert: Path, name: str, patience: None) -> None:
    (bert / name).unlink(missing_ok=True)
    os.mkfifo(bert / name)
    assert "not an ordinary file" in refusal(bert)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes in folders")
def test_a_pipe_that_appears_after_the_inspection_does_not_block(bert: Path, patience: None) -> None:
    for read, name in ((read_json, "config.json"), (count_elements, "model.safetensors")):
        (bert / name).unlink()
        os.mkfifo(bert / name)
        with pytest.raises(CheckpointRefused, match="not an ordinary file"):
            read(bert / name)


@pytest.mark.parametrize("key", ["num_hidden_layers", "num_local_experts"])
def test_an_architecture_of_a_million_layers_is_not_built(bert: Path, key: str) -> None:
    edit(bert / "config.json", **{key: 1_000_000})
    assert key in refusal(bert)
    edit(bert / "config.json", **{key: 2}, decoder={key: 1_000_000})
    assert key in refusal(bert)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf"), 3e38])
def test_weights_that_are_not_finite(bert: Path, number: float, use_checkpoints: Callable[[Path], None]) -> None:
    from safetensors.torch import load_file, save_file

    state = load_file(bert / "model.safetensors")
    state["bert.encoder.layer.1.output.dense.weight"][2, 3:5] = number
    save_file(state, bert / "model.safetensors", metadata={"format": "pt"})
    use_checkpoints(bert.parent)
    with pytest.raises(CheckpointRefused, match=r"not all finite numbers.*layer\.1\.output\.dense\.weight"):
        checkpoints.load("dir-tiny-bert")


@pytest.mark.parametrize(("error", "said"), [(PermissionError, "cannot be read"), (FileNotFoundError, None)])
def test_a_folder_that_cannot_be_listed_keeps_its_siblings(
    bert: Path,
    error: type[OSError],
    said: str | None,
    use_checkpoints: Callable[[Path], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A folder of another user, and one that leaves while the others are listed."""
    other = bert.parent / "other"
    other.mkdir()
    refuse_to_list(other, error, monkeypatch)
    use_checkpoints(bert.parent)
    assert "dir-tiny-bert" in {spec.slug for spec in checkpoints.available()}
    reasons = {folder.slug: folder.reason for folder in checkpoints.refused()}
    assert set(reasons) == ({"dir-other"} if said else set())
    assert said is None or said in reasons["dir-other"]


def refuse_to_list(folder: Path, error: type[OSError], monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the system refuse the entries of one folder, as it does to another user."""

    def refusing(kept: Callable[..., Any]) -> Callable[..., Any]:
        def listing(path: Any = ".") -> Any:
            if Path(path) == folder:
                raise error(f"no entry into {path}")
            return kept(path)

        return listing

    for name in ("scandir", "listdir"):
        monkeypatch.setattr(os, name, refusing(getattr(os, name)))


def test_a_directory_that_is_not_there_or_cannot_be_read_is_said(
    bert: Path, use_checkpoints: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for root, said in ((bert / "nowhere", "does not exist"), (bert / "config.json", "is not a folder")):
        use_checkpoints(root)
        (result,) = checkpoints.refused()
        assert said in result.reason
        assert str(root) not in result.reason
    refuse_to_list(bert.parent, PermissionError, monkeypatch)
    use_checkpoints(bert.parent)
    assert "cannot be read" in checkpoints.refused()[0].reason
    assert unknown_model("minilm", ()) == ""
    assert not [spec for spec in checkpoints.available() if spec.source == "directory"]


def test_a_changed_folder_is_inspected_again(bert: Path, use_checkpoints: Callable[[Path], None]) -> None:
    use_checkpoints(bert.parent)
    first = checkpoints.load("dir-tiny-bert")
    assert checkpoints.load("dir-tiny-bert") is first
    tokenizer = (bert / "tokenizer.json").read_text()
    (bert / "tokenizer.json").unlink()
    with pytest.raises(CheckpointRefused, match="no tokenizer"):
        checkpoints.load("dir-tiny-bert")
    (bert / "tokenizer.json").write_text(tokenizer)
    assert checkpoints.get("dir-tiny-bert").ready


def test_a_refusal_does_not_tell_where_the_folder_lies(bert: Path, use_checkpoints: Callable[[Path], None]) -> None:
    (bert / "tokenizer.json").unlink()
    (bert / "vocab.json").write_text("not json")
    use_checkpoints(bert.parent)
    with pytest.raises(CheckpointRefused) as caught:
        checkpoints.load("dir-tiny-bert")
    assert str(bert.parent) not in str(caught.value)


def test_a_failure_of_the_librarys_code_is_a_sentence(checkpoint_dir: Path) -> None:
    import torch
    import transformers

    model = checkpoints.load("dir-tiny-bert").model
    assert type(model) is transformers.BertForMaskedLM
    with pytest.raises(InputUnusable, match=r"code for models of the type “bert” fails on this text \(IndexError\)"):
        call(model, input_ids=torch.tensor([[10**6]]))


def test_a_large_folder_is_not_walked_through(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (bert.parent / "everything").symlink_to("/")
    begin = time.process_time()
    assert "leads out" in refusal(bert.parent / "everything")
    assert time.process_time() - begin < 5
    monkeypatch.setattr("core.checkpoints.folder.MAX_FILES", 3)
    assert "more than 3 files" in refusal(bert)
    (bert / "config.json").unlink()
    assert "config.json” is missing" in refusal(bert)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("tokenizer.json", {"added_tokens": [{"id": n, "content": f"<{n}>"} for n in range(10_001)]}),
        ("added_tokens.json", {f"<{n}>": n for n in range(10_001)}),
        ("tokenizer_config.json", {"added_tokens_decoder": {str(n): {"content": f"<{n}>"} for n in range(10_001)}}),
    ],
)
def test_a_tokenizer_with_thousands_of_added_tokens_is_refused_before_it_is_read(
    bert: Path, file: str, content: dict[str, Any], use_checkpoints: Callable[[Path], None]
) -> None:
    before = json.loads((bert / file).read_text()) if (bert / file).exists() else {}
    (bert / file).write_text(json.dumps(before | content))
    use_checkpoints(bert.parent)
    began = time.process_time()
    with pytest.raises(CheckpointRefused, match="adds 10,001 tokens to its vocabulary; at most 10,000 work"):
        checkpoints.load("dir-tiny-bert")
    assert time.process_time() - began < 2


def _save_with(folder: Path, **tensors: Any) -> None:
    from safetensors.torch import load_file, save_file

    file = folder / "model.safetensors"
    save_file(load_file(file) | tensors, file, {"format": "pt"})


@pytest.mark.parametrize(
    ("make", "changes", "added", "first"),
    [
        ("tiny_bert", {"num_hidden_layers": 1}, [], "bert.encoder.layer.1.attention"),
        ("tiny_bert", {}, ["bert.encoder.layer.0.attention.self.distance_embedding.weight"], "distance_embedding"),
        ("tiny_gpt2", {"n_layer": 1}, [], "transformer.h.1."),
        ("tiny_gpt2", {}, ["lm_head.bias"], "lm_head.bias"),
        ("tiny_gpt2", {}, ["h.5.attn.c_attn.weight"], "h.5.attn.c_attn.weight"),
        ("tiny_t5", {"num_layers": 1}, [], "encoder.block.1."),
        ("tiny_bart", {"decoder_layers": 1}, [], "model.decoder.layers.1."),
        ("tiny_bert", {}, ["bert.pooler.dense.weight", "cls.seq_relationship.weight", "classifier.weight"], None),
        ("tiny_gpt2", {}, ["h.0.attn.bias", "transformer.h.0.attn.masked_bias", "score.weight"], None),
        ("tiny_bart", {}, ["model.encoder.version"], None),
    ],
)
def test_weights_that_the_configuration_leaves_out(
    tmp_path: Path, make: str, changes: dict[str, int], added: list[str], first: str | None
) -> None:
    """Another model than the saved one would run; another head, and what a module computes, change nothing."""
    import torch

    folder = getattr(tiny, make)(tmp_path / make)
    edit(folder / "config.json", **changes)
    _save_with(folder, **{key: torch.zeros(2) for key in added})
    kind = inspect(folder, tmp_path).kind
    if first is None:
        assert tinyfamilies.loaded(folder, kind)
        return
    with pytest.raises(CheckpointRefused, match=rf"“{make}” have \d+ tensors? .* does not use \(the first: \S*{first}"):
        tinyfamilies.loaded(folder, kind)
