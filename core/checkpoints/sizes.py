"""The parameters of a checkpoint, counted from the headers of its safetensors files.

All floating-point values count once:

- integers are not parameters (position ids, the row numbers of a difference);
- a causal mask (1, 1, n, n), which older files store as a buffer, does not count;
- a tied matrix over the vocabulary that is saved under two names counts once.

A file that holds other values, too, has a card with the number: the factors of a difference are no parameters.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from core.checkpoints import loading
from core.checkpoints.folder import State, StoredTensor, opened, state_of_files, stored_tensors
from core.checkpoints.spec import CheckpointSpec
from core.errors import AtlasError

_FLOATS = frozenset({"F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2"})


@dataclass(frozen=True, slots=True)
class Size:
    """Parameters of the loaded model, bytes of its files, and of those that they are a difference to (0 for none)."""

    parameters: int
    bytes: int
    base_bytes: int = 0

    @property
    def all_bytes(self) -> int:
        """Base and difference."""
        return self.bytes + self.base_bytes


def size_of(spec: CheckpointSpec) -> Size | None:
    """The size of a ready checkpoint; None where its files cannot be read."""
    try:
        files, base = map(state_of_files, loading.weight_files(spec))
        stated = spec.card.parameters if spec.card else None
        return Size(_parameters(files) if stated is None else stated, _bytes(files), _bytes(base))
    except (AtlasError, OSError):
        return None


@lru_cache(maxsize=256)
def _parameters(files: State) -> int:
    return count_parameters([Path(name) for name, _, _ in files])


def _bytes(files: State) -> int:
    return sum(size for _, _, size in files)


def count_parameters(files: Iterable[Path]) -> int:
    """The parameters in safetensors files of one model; the module's docstring says what counts.

    Raises :class:`CheckpointRefused` for a truncated file or one of another format.
    """
    tensors = [tensor for file in files for tensor in stored_tensors(file)]
    counted = [tensor for tensor in tensors if tensor.dtype in _FLOATS and not _is_mask(tensor.shape)]
    return sum(tensor.elements for tensor in counted) - _saved_again(counted)


def _is_mask(shape: tuple[int, ...]) -> bool:
    return len(shape) == 4 and shape[:2] == (1, 1) and shape[2] == shape[3] > 1


def _saved_again(tensors: list[StoredTensor]) -> int:
    """Values of duplicates of the matrices with the most rows, which are those over the vocabulary."""
    matrices = [tensor for tensor in tensors if len(tensor.shape) == 2]
    rows = max((tensor.shape[0] for tensor in matrices), default=0)
    groups: dict[tuple[object, ...], list[StoredTensor]] = {}
    for tensor in matrices:
        if tensor.shape[0] == rows:
            groups.setdefault((tensor.dtype, tensor.shape), []).append(tensor)
    again = 0
    for group in groups.values():
        if len(group) > 1:
            different = len({_digest(tensor) for tensor in group})
            again += (len(group) - different) * group[0].elements
    return again


def _digest(tensor: StoredTensor) -> bytes:
    digest, left = hashlib.blake2b(digest_size=16), tensor.length
    with opened(tensor.file) as (stream, _):
        stream.seek(tensor.start)
        while left and (part := stream.read(min(left, 1 << 20))):
            digest.update(part)
            left -= len(part)
    return digest.digest()
