"""Inspects a ``save_pretrained`` folder without loading it: whether it can be loaded, and what it contains.

Everything that the files alone show to be unusable is refused here, before a library opens them: pickles, code, missing
or truncated files, links that lead out of the host's folder.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

from core.checkpoints.families import FAMILIES, Kind
from core.checkpoints.families.architectures import classes_of, kind_of, purpose_of
from core.errors import CheckpointRefused, CheckpointUnavailable

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
TOKENIZERS = (
    "tokenizer.json",
    "vocab.txt",
    "vocab.json",
    "spiece.model",
    "sentencepiece.bpe.model",
    "sentencepiece.model",
    "tokenizer.model",
)
"""Any one of these makes a tokenizer; transformers reports what else its class needs."""

_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".h5", ".msgpack")
_SMALL_FILE = 5_000_000
_MAX_HEADER = 100_000_000  # the limit that the safetensors format sets itself
_LARGEST = 1 << 62
_MAX_PARTS = 1_000
MAX_FILES = 10_000
_MODULE_LISTS = re.compile(r"(layers?|groups|blocks|experts|depths?|block_sizes|block_repeats|attention_types)$")
"""Settings that state how many modules are built; transformers builds them before it reads the weights."""

_SAVE_AGAIN = "Save the model again with save_pretrained, which writes model.safetensors."
_SAVE_TOKENIZER = "Save the tokenizer into the same folder with tokenizer.save_pretrained."
_ADAPTER = "adapter_config.json"
_BESIDE = {"tokenizer.json", "merges.txt"}
_SPM = {".model", ".spm"}
"""Of files that complete a ``vocab.json``: of a BPE, and of SentencePiece."""
_OTHER_FORMATS = {".gguf": "GGUF", ".onnx": "ONNX", ".tflite": "TensorFlow Lite", ".mlpackage": "Core ML"}


@dataclass(frozen=True, slots=True)
class Inspected:
    """A folder that can be loaded. ``elements`` counts the values of its weights: ``4 * elements`` bytes in float32."""

    folder: Path
    config: dict[str, Any]
    kind: Kind
    weights: tuple[Path, ...]
    size_bytes: int
    elements: int


State = tuple[tuple[str, int, int], ...]
"""Path, modification time in nanoseconds and size in bytes of each file."""


def inspect(folder: Path, root: Path, kind: Kind | None = None) -> Inspected:
    """What ``folder`` contains. ``root`` is the directory that no link may leave. Raises :class:`CheckpointRefused`.

    ``kind`` is passed where a record states it (some published configurations name the base model alone); otherwise
    the configuration decides.
    """
    name = folder.name
    _refuse_strange_files(folder, root)
    if not (folder / "config.json").exists():
        raise CheckpointRefused(_without_configuration(folder))
    config = read_json(folder / "config.json")
    refuse_code(folder, config)
    _refuse_many_parts(name, config)
    kind = kind or kind_of(config)
    if kind is None or FAMILIES[kind].auto is None:  # adapters need an encoder beside them: only bundled ones are read
        raise CheckpointRefused(_unknown(name, config))
    weights = _weights(folder)
    if not any((folder / file).is_file() for file in TOKENIZERS):
        raise CheckpointRefused(
            f"The folder “{name}” has no tokenizer (no tokenizer.json or vocabulary file). {_SAVE_TOKENIZER}"
        )
    present = {file.name for file in folder.iterdir()}
    if "vocab.json" in present and not (present & _BESIDE or any(Path(file).suffix in _SPM for file in present)):
        raise CheckpointRefused(
            f"The folder “{name}” has the vocabulary of a tokenizer (vocab.json), but not the merges that it was made "
            f"by (merges.txt, or tokenizer.json, which has both). {_SAVE_TOKENIZER}"
        )
    elements = sum(count_elements(file) for file in weights)
    return Inspected(folder, config, kind, weights, sum(file.stat().st_size for file in weights), elements)


def inspect_cached(folder: Path, root: Path, kind: Kind | None = None) -> Inspected:
    """:func:`inspect`, cached by the names, sizes and modification times of the folder's files.

    Pages inspect all folders whenever they are drawn; loading uses :func:`inspect`.
    """
    outcome = _inspected(folder, root, kind, signature(folder))
    if isinstance(outcome, str):
        raise CheckpointRefused(outcome)
    return outcome


def signature(folder: Path) -> State:
    """The state of the files in ``folder``; links are followed, broken links left out."""
    with os.scandir(folder) as entries:
        return state_of_files(Path(entry.path) for entry in entries if Path(entry.path).exists())


def state_of_files(files: Iterable[Path]) -> State:
    states = ((str(file), file.stat()) for file in files)
    return tuple(sorted((name, state.st_mtime_ns, state.st_size) for name, state in states))


@lru_cache(maxsize=256)
def _inspected(folder: Path, root: Path, kind: Kind | None, state: State) -> Inspected | str:
    """The outcome of :func:`inspect`, a refusal as its sentence; ``state`` is part of the cache key alone."""
    try:
        return inspect(folder, root, kind)
    except CheckpointRefused as error:
        return str(error)


def shown(name: str) -> str:
    """The name of a file as a page can show it: on Linux it may be any bytes, which Python keeps as lone surrogates."""
    return name.encode("utf-8", "replace").decode()


def refuse_strange_name(name: str) -> None:
    """Raise :class:`CheckpointRefused` for the name of a file or folder that is not UTF-8."""
    if shown(name) != name:
        raise CheckpointRefused(f"The name “{shown(name)}” is not UTF-8 text. Rename that file or folder.")


@contextmanager
def missing_files_reported() -> Iterator[None]:
    """Raises :class:`CheckpointUnavailable` for an ``OSError``, of a file removed since the models were listed."""
    try:
        yield
    except OSError:
        raise CheckpointUnavailable(
            "The files of this model, or of the one that it is a difference to, can no longer be read. "
            "Choose another model, or ask the host to put them back."
        ) from None


@contextmanager
def opened(file: Path) -> Iterator[tuple[BinaryIO, int]]:
    """A regular file to read, and its size in bytes. Raises :class:`CheckpointRefused` for anything else.

    Non-blocking, since opening a pipe would wait for a writer.
    """
    name = f"{file.parent.name}/{file.name}"
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError:
        raise CheckpointRefused(
            f"The file “{name}” is missing or cannot be read. A folder written by save_pretrained has it."
        ) from None
    with os.fdopen(descriptor, "rb") as stream:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise CheckpointRefused(f"“{name}” is not an ordinary file. Copy the file itself into the folder.")
        yield stream, state.st_size


def read_json(file: Path) -> dict[str, Any]:
    """A small JSON object from a file. Raises :class:`CheckpointRefused` where it is missing or something else."""
    name = f"{file.parent.name}/{file.name}"
    with opened(file) as (stream, size):
        if size > _SMALL_FILE:
            raise CheckpointRefused(f"The file “{name}” is too large to be a configuration.")
        content = stream.read(_SMALL_FILE)
    try:
        value = json.loads(content.decode())
        json.dumps(value, ensure_ascii=False).encode()  # fails for half a character, a lone surrogate
    except (ValueError, RecursionError):
        raise CheckpointRefused(f"The file “{name}” is corrupt: it is not valid JSON.") from None
    if not isinstance(value, dict):
        raise CheckpointRefused(f"The file “{name}” is corrupt: it does not hold a JSON object.")
    return value


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """One tensor of a safetensors file: ``length`` bytes from offset ``start``."""

    file: Path
    start: int
    length: int
    dtype: str
    shape: tuple[int, ...]

    @property
    def elements(self) -> int:
        """The number of its values."""
        return math.prod(self.shape)


def stored_tensors(file: Path) -> list[StoredTensor]:
    """The tensors of a safetensors file, from its header, which must match the file's length.

    Layout: 8 bytes n (little endian), n bytes of JSON, then the tensors without gaps.
    Raises :class:`CheckpointRefused` for a truncated file or one of another format.
    """
    name = f"{file.parent.name}/{file.name}"
    with opened(file) as (stream, size):
        length = int.from_bytes(stream.read(8), "little")
        if size < 8 or length > min(size - 8, _MAX_HEADER):
            raise CheckpointRefused(f"The file “{name}” is cut off or is not a safetensors file. Copy it again, whole.")
        raw = stream.read(length)
    begin = 8 + length
    try:
        header: dict[str, dict[str, Any]] = json.loads(raw)
        header.pop("__metadata__", None)
        tensors = [_stored(file, begin, **tensor) for tensor in header.values()]
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise CheckpointRefused(f"The file “{name}” is corrupt: its header cannot be read. Copy it again.") from None
    end = max((tensor.start + tensor.length for tensor in tensors), default=begin)
    if end != size:
        raise CheckpointRefused(
            f"The file “{name}” is cut off: it should have {end:,} bytes and has {size:,}. Copy or download it again."
        )
    return tensors


def _stored(file: Path, begin: int, dtype: str, shape: list[int], data_offsets: list[int]) -> StoredTensor:
    """An entry of a header. Raises ``ValueError`` where its bytes are too few for its shape, at half a byte a value."""
    start, end = data_offsets
    tensor = StoredTensor(file, begin + start, end - start, dtype, tuple(shape))
    if not isinstance(dtype, str) or not all(type(n) is int and 0 <= n < _LARGEST for n in (start, end, *shape)):
        raise ValueError(shape)
    if start > end or tensor.elements > 2 * tensor.length:
        raise ValueError(shape)
    return tensor


def count_elements(file: Path) -> int:
    """How many values a safetensors file has; see :func:`stored_tensors`."""
    return sum(tensor.elements for tensor in stored_tensors(file))


def _refuse_strange_files(folder: Path, root: Path) -> None:
    """Refuse links that lead out of ``root``, and pipes and devices, on which a library would block."""
    limit = root.resolve()
    for number, path in enumerate(chain((folder,), folder.rglob("*"))):  # which may be anything, such as a home folder
        if number == 1 and not os.path.lexists(folder / "config.json"):
            return  # what is missing is said by who reads it
        refuse_strange_name(path.name)
        if number > MAX_FILES:
            raise CheckpointRefused(
                f"The folder “{folder.name}” holds more than {MAX_FILES:,} files. Give the model a folder of its own."
            )
        if not path.resolve().is_relative_to(limit):
            raise CheckpointRefused(
                f"The folder “{folder.name}” holds a link ({path.name}) that leads out of the checkpoint directory. "
                "Copy the files themselves into the folder."
            )
        if path.exists() and not path.is_file() and not path.is_dir():
            raise CheckpointRefused(
                f"The folder “{folder.name}” holds {path.name}, which is not an ordinary file. "
                "Copy the file itself into the folder."
            )


def _refuse_many_parts(name: str, config: dict[str, Any]) -> None:
    """Refuse an architecture that would take minutes to build."""
    for key, value in config.items():
        if isinstance(value, dict):
            _refuse_many_parts(name, value)
        elif _MODULE_LISTS.search(key) and _largest(value) > _MAX_PARTS:
            raise CheckpointRefused(
                f"The configuration of “{name}” says {key}: more than {_MAX_PARTS:,}, and the Atlas builds no such "
                "model. Correct its config.json."
            )


def _largest(value: object) -> float:
    """The largest number of a setting, which may be a list of lists as in GPT-Neo."""
    if isinstance(value, list):
        return max(map(_largest, value), default=0)
    return value if isinstance(value, int | float) else 0


def refuse_code(folder: Path, config: dict[str, Any]) -> None:
    """Refuse folders that need Python code of their own, an adapter's base model, or quantization kernels."""
    name = folder.name
    settings = [config]
    for file in ("tokenizer_config.json", "generation_config.json", "processor_config.json"):
        if (folder / file).exists():
            settings.append(read_json(folder / file))
    if any(_mentions(value, "auto_map") or _mentions(value, "custom_pipelines") for value in settings):
        raise CheckpointRefused(
            f"The folder “{name}” asks to run Python code of its own (auto_map), and the Atlas never does that. "
            "Models whose class is part of the transformers library work."
        )
    if (folder / _ADAPTER).exists():
        raise CheckpointRefused(_adapter(name))
    if _mentions(config, "quantization_config"):
        raise CheckpointRefused(
            f"The folder “{name}” holds quantized weights, which need special kernels. "
            "Save the model in float16 or float32."
        )


def _adapter(name: str) -> str:
    return f"The folder “{name}” holds an adapter, not a whole model. Merge it into its base model and save that."


def _without_configuration(folder: Path) -> str:
    """What a folder without ``config.json`` seems to be, and what would work."""
    name = folder.name
    if (folder / _ADAPTER).exists():
        return _adapter(name)
    if models := [path.parent for path in _below(folder) if path.name == "config.json"]:
        inner = max(models, key=lambda path: (-len(path.parts), _natural(path))).relative_to(folder).as_posix()
        return (
            f"The folder “{name}” holds no model itself; its folder “{inner}” does. Copy that one into the checkpoint "
            "directory under a name of its own (with cp -rL, where its files are links)."
        )
    return _other_format(folder) or (
        f"The file “{name}/config.json” is missing or cannot be read. A folder written by save_pretrained has it, "
        "beside its model.safetensors."
    )


def _below(folder: Path) -> Iterator[Path]:
    """The files in folders of ``folder``, as in the Hub's cache: ``snapshots/<revision>/config.json``."""
    return islice(chain.from_iterable(folder.glob(depth) for depth in ("*/*", "*/*/*")), MAX_FILES)


def _natural(path: Path) -> list[tuple[bool, int, str]]:
    """``checkpoint-1000`` after ``checkpoint-500``."""
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", str(path))]


def _other_format(folder: Path) -> str:
    """A sentence on weights of another format; empty where there are none."""
    for file in sorted(folder.iterdir()):
        if (kind := _OTHER_FORMATS.get(file.suffix)) is not None:
            return f"The folder “{folder.name}” has its weights in {file.name}, in the format {kind}. {_SAVE_AGAIN}"
    return ""


def _mentions(value: object, key: str) -> bool:
    if isinstance(value, dict):
        return bool(value.get(key)) or any(_mentions(inner, key) for inner in value.values())
    if isinstance(value, list):
        return any(_mentions(inner, key) for inner in value)
    return False


def _unknown(name: str, config: dict[str, Any]) -> str:
    architectures = config.get("architectures")
    shown = architectures[0] if isinstance(architectures, list) and architectures else None
    if shown is None:
        return f"The folder “{name}” does not say its architecture: config.json has no “architectures”."
    works = "Masked-LM, causal-LM and sequence-to-sequence models of text work"
    purpose = purpose_of(str(shown))
    if purpose == "":
        return f"The folder “{name}” holds a {shown}, which has no language-model head to show. {works}."
    if purpose is not None:
        return f"The folder “{name}” holds a {shown}, which transformers lists for {purpose}. {works}."
    if classes := classes_of(config):
        return (
            f"The folder “{name}” holds a {shown}, which is not a class that the Atlas runs. {works}, of this type "
            f"{' or '.join(classes)}: load the weights with that class, if they have its head, and save it."
        )
    return (
        f"The folder “{name}” holds a {shown}, which the installed transformers library does not know as a language "
        f"model. {works}, if that library has their class."
    )


def _weights(folder: Path) -> tuple[Path, ...]:
    """The safetensors files of the model: one, or the shards that the index names."""
    single, index = folder / WEIGHTS, folder / INDEX
    if index.is_file():
        shards = read_json(index).get("weight_map")
        if not isinstance(shards, dict) or not shards:
            raise CheckpointRefused(f"The file “{folder.name}/{INDEX}” is corrupt: it names no weights.")
        names = sorted({str(shard) for shard in shards.values()})
        if single.is_file() and names != [WEIGHTS]:
            raise CheckpointRefused(
                f"The folder “{folder.name}” holds two sets of weights: {WEIGHTS}, and the parts that {INDEX} names. "
                "Remove the one that is not the model."
            )
        for shard in names:
            if Path(shard).name != shard or not shard.endswith(".safetensors"):
                raise CheckpointRefused(f"The file “{folder.name}/{INDEX}” names a file outside its folder.")
            if not (folder / shard).is_file():
                raise CheckpointRefused(f"The folder “{folder.name}” lacks {shard}. Copy all its parts.")
        return tuple(folder / shard for shard in names)
    if single.is_file():
        return (single,)
    pickles = sorted(file.name for file in folder.iterdir() if file.suffix in _PICKLES)
    if pickles:
        raise CheckpointRefused(
            f"The folder “{folder.name}” has its weights only in {pickles[0]}, a format that can run code when it is "
            f"opened or that the Atlas does not read. {_SAVE_AGAIN}"
        )
    if variants := sorted(file.name for file in folder.glob("*.safetensors")):
        raise CheckpointRefused(
            f"The folder “{folder.name}” has weights in {variants[0]}, but the Atlas reads {WEIGHTS} alone, or the "
            f"parts that {INDEX} names. If {variants[0]} is the whole model, name it {WEIGHTS}."
        )
    raise CheckpointRefused(_other_format(folder) or f"The folder “{folder.name}” holds no weights. {_SAVE_AGAIN}")
