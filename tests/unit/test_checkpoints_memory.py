"""One load for all within a budget of bytes; parameters as file headers count them."""

from __future__ import annotations

import gc
import json
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from core import checkpoints, interpreter
from core.checkpoints import memory, package, sizes
from core.checkpoints.folder import State
from core.checkpoints.loading import estimated_bytes, fingerprint
from core.checkpoints.memory import Memory
from core.checkpoints.sizes import Size, count_parameters
from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.errors import CheckpointRefused, CheckpointUnavailable
from core.language import fill_mask
from core.settings import Settings


def spec(slug: str) -> CheckpointSpec:
    return CheckpointSpec(slug, slug, None, "encoder", "masked-lm", "directory", "a test", "", True)


class Tensor:
    """As much of a tensor as the bookkeeping looks at: ``count`` bytes."""

    def __init__(self, count: int) -> None:
        self._count = count

    def data_ptr(self) -> int:
        return id(self)

    def numel(self) -> int:
        return self._count

    def element_size(self) -> int:
        return 1


class Shelf(Memory):
    """A memory of pretended models of given sizes that counts how often each is read."""

    def __init__(self, **sizes: int) -> None:
        super().__init__()
        self.sizes = sizes
        self.reads: list[str] = []
        self.before: list[int] = []
        """Bytes in use before each read."""
        self.delay = 0.0
        self.visitors, self._asked = 0, 0
        """A read waits for as many to have asked, however slow the machine is."""
        self._asks = threading.Condition()
        self.error: Exception | None = None
        self.version = 0

    def _estimate(self, wanted: CheckpointSpec) -> int:
        return self.sizes[wanted.slug]

    def _fingerprint(self, wanted: CheckpointSpec) -> State:
        with self._asks:
            self._asked += 1
            self._asks.notify_all()
        return (("file", self.version, 0),)

    def read_checkpoint(self, wanted: CheckpointSpec) -> Checkpoint:
        self.before.append(self.bytes_used)
        self.reads.append(wanted.slug)
        with self._asks:
            self._asks.wait_for(lambda: self._asked >= self.visitors, 60)
        time.sleep(self.delay)
        if self.error is not None:
            raise self.error
        tensor = Tensor(self.sizes[wanted.slug])
        model: Any = SimpleNamespace(parameters=lambda: [tensor], buffers=lambda: [])
        return Checkpoint(model, SimpleNamespace(), wanted)  # type: ignore[arg-type]

    def get(self, slug: str, budget: int = 100) -> Checkpoint:
        return self.load(spec(slug), budget)


def test_forty_visitors_share_a_failure_and_the_next_one_tries_again() -> None:
    shelf = Shelf(a=10)
    shelf.delay, shelf.visitors, shelf.error = 0.2, 40, CheckpointRefused("damaged")
    together = threading.Barrier(40)

    def visit(_: int) -> str:
        together.wait()
        try:
            shelf.get("a")
        except CheckpointRefused as error:
            return str(error)
        return "loaded"

    with ThreadPoolExecutor(40) as pool:
        assert set(pool.map(visit, range(40))) == {"damaged"}
    assert shelf.reads == ["a"]
    shelf.error = None
    assert shelf.get("a").spec.slug == "a"
    assert shelf.reads == ["a", "a"]


def test_the_least_recently_used_leaves() -> None:
    shelf = Shelf(a=40, b=40, c=40)
    shelf.get("a")
    shelf.get("b")
    shelf.get("a")
    shelf.get("c")
    assert shelf.slugs() == ("a", "c")
    assert shelf.bytes_used == 80
    shelf.get("b")
    assert shelf.slugs() == ("c", "b")
    assert shelf.reads == ["a", "b", "c", "b"]


def test_a_model_that_leaves_is_freed_though_it_was_frozen_in_a_cycle() -> None:
    shelf = Shelf(a=60, b=60)
    model: Any = shelf.get("a").model
    model.parent = model
    model.part = threading.Event()
    seen = weakref.ref(model.part)
    del model
    interpreter.thaw()
    interpreter.settle()
    shelf.get("b")
    gc.collect()
    assert shelf.slugs() == ("b",)
    assert seen() is None


def test_loaded_models_never_exceed_the_budget() -> None:
    sizes = {f"m{i}": 10 + 7 * i for i in range(10)}
    shelf = Shelf(**sizes)
    for slug in [*sizes, *reversed(sizes), "m3", "m9", "m0"]:
        shelf.get(slug)
        assert shelf.bytes_used <= 100
        assert shelf.slugs()[-1] == slug


def test_room_is_made_before_loading() -> None:
    shelf = Shelf(a=60, b=60)
    shelf.get("a")
    shelf.get("b")
    assert shelf.before == [0, 0]


def test_a_model_that_exceeds_the_budget_is_refused_and_evicts_nothing() -> None:
    shelf = Shelf(a=60, giant=101_000_000)
    shelf.get("a")
    with pytest.raises(CheckpointUnavailable, match=r"101 MB.*ATLAS_MEMORY_MB"):
        shelf.get("giant")
    assert shelf.slugs() == ("a",)


def test_who_holds_a_model_keeps_it() -> None:
    shelf = Shelf(a=60, b=60)
    held = shelf.get("a")
    shelf.get("b")
    assert shelf.slugs() == ("b",)
    assert sum(t.numel() for t in held.model.parameters()) == 60


def test_replaced_files_are_loaded_again() -> None:
    shelf = Shelf(a=60)
    old = shelf.get("a")
    shelf.version = 1
    assert shelf.get("a") is not old
    assert shelf.bytes_used == 60


def test_forty_threads_and_a_real_model(checkpoint_dir: object, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []
    read = memory.models.read_checkpoint
    monkeypatch.setattr(memory.models, "read_checkpoint", lambda wanted: (reads.append(wanted.slug), read(wanted))[1])
    with ThreadPoolExecutor(40) as pool:
        got = list(pool.map(lambda _: checkpoints.load("dir-tiny-bert"), range(40)))
    assert reads == ["dir-tiny-bert"]
    assert len({id(checkpoint.model) for checkpoint in got}) == 1
    assert memory.model_bytes(got[0]) == sum(4 * p.numel() for p in got[0].model.parameters()) + sum(
        b.numel() * b.element_size() for b in got[0].model.buffers()
    )


def test_a_model_that_another_visitor_evicts_answers_to_the_end(
    checkpoint_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of one visitor's pass the load of another takes its model out of memory."""
    shelf, text = Memory(), "the cat sat on the [MASK]"
    bert, gpt = (checkpoints.get(f"dir-tiny-{name}") for name in ("bert", "gpt2"))
    budget = max(estimated_bytes(bert), estimated_bytes(gpt)) * 5 // 4
    monkeypatch.setattr(memory, "models", shelf)
    monkeypatch.setattr(Settings, "model_bytes", budget)
    before = fill_mask(checkpoints.load(bert.slug), text)
    inside, evicted = threading.Event(), threading.Event()

    def hold(*_: object) -> None:
        inside.set()
        assert evicted.wait(60)

    checkpoints.load(bert.slug).model.get_submodule("bert.encoder.layer.0").register_forward_hook(hold)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(lambda: fill_mask(checkpoints.load(bert.slug), text))
        assert inside.wait(60)
        checkpoints.load(gpt.slug)
        assert shelf.slugs() == (gpt.slug,)
        assert shelf.bytes_used <= budget
        evicted.set()
        assert answer.result() == before
    assert fill_mask(checkpoints.load(bert.slug), text) == before, "loaded again, without the hook"
    assert shelf.slugs() == (bert.slug,)


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
    first_shard = written(tmp_path / "a.safetensors", {"embed": ("F32", (10, 4), b"a")})
    second_shard = written(tmp_path / "b.safetensors", {"head": ("F32", (10, 4), b"a"), "bias": ("F32", (5,), b"b")})
    assert count_parameters([first_shard, second_shard]) == 45


def test_whole_models_have_as_many_as_their_modules() -> None:
    """The numbers that the loaded modules have: 4 layers of 256, 2 + 2 layers of 256, shared embeddings once."""
    assert sizes.size_of(checkpoints.get("atlas-gpt-2")) == Size(4_797_952, 9_600_968)
    size = sizes.size_of(checkpoints.get("atlas-t5"))
    assert (size.parameters, size.base_bytes) == (5_721_344, 0)


def test_differences_have_the_parameters_of_the_loaded_model() -> None:
    backbone = package.find_package()
    minilm, bigbird = (sizes.size_of(checkpoints.get(slug)) for slug in ("minilm", "atlas-bigbird"))
    # all-MiniLM-L6-v2 has 22,713,216 parameters, of which 384² + 384 in a pooler that predicting a token needs not; the
    # head has a layer of 384² + 384, a norm of 2 · 384 and a bias for each of 30,522 words
    assert minilm.parameters == 22_713_216 - 147_840 + 147_840 + 768 + 30_522
    assert minilm.base_bytes == (backbone.folder / "model.safetensors").stat().st_size
    # BigBird is a difference to MiniLM, which is a difference itself
    assert bigbird.base_bytes == minilm.all_bytes
    assert bigbird.all_bytes == bigbird.bytes + minilm.all_bytes


def test_the_hosts_folders_are_counted(checkpoint_dir: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(checkpoint_dir / "tiny-gpt2", dtype=torch.float32)
    spec = checkpoints.get("dir-tiny-gpt2")
    size = sizes.size_of(spec)
    assert size.parameters == sum(parameter.numel() for parameter in model.parameters())
    assert size.bytes == spec.size_bytes


def test_the_state_changes_with_the_files(tmp_path: Path, checkpoint_dir: Path) -> None:
    state = fingerprint(checkpoints.get("dir-tiny-gpt2"))
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= {Path(name).name for name, _, _ in state}
    bigbird = {Path(name).parent.name for name, _, _ in fingerprint(checkpoints.get("atlas-bigbird"))}
    assert {"atlas-bigbird", "minilm", "model"} == bigbird
