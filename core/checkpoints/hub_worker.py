"""The child process that connects to the Hugging Face Hub: ``python -m core.checkpoints.hub_worker plan|fetch ID``.

It writes one JSON object per line: the plan, ``{"done": bytes, "total": bytes}``, ``{"folder": ...}`` or ``{"error":
sentence}``. It downloads only the files that a model needs, weights only as safetensors.

``hf_hub_download`` and ``snapshot_download`` delete their temporary file when they fail and compare sizes only, so a
stopped download of half a gigabyte would start over. Here the library's ``http_get`` appends to a partial file in the
cache, whose hash is then compared with the Hub's, before the library links it into its snapshot.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.checkpoints import hub_cache
from core.checkpoints.folder import INDEX, TOKENIZERS, WEIGHTS, read_json, refuse_code
from core.errors import AtlasError, CheckpointRefused, HubUnavailable

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

SMALL_FILES = {
    *("added_tokens.json", "config.json", "generation_config.json", "merges.txt", "special_tokens_map.json"),
    *("tokenizer_config.json", "source.spm", "target.spm", *TOKENIZERS),
}
_SHARD = re.compile(r"model-\d{5}-of-\d{5}\.safetensors")
_CHUNK = 1 << 18


def plan(hub_id: str) -> tuple[str, dict[str, int]]:
    """The current revision on the Hub, and the bytes of each file to download, the weights last.

    Raises :class:`CheckpointRefused` for a repository without safetensors.
    """
    from huggingface_hub import HfApi, constants

    info = HfApi().model_info(hub_id, files_metadata=True, timeout=constants.HF_HUB_ETAG_TIMEOUT, token=False)
    sizes = {sibling.rfilename: int(sibling.size or 0) for sibling in info.siblings or ()}
    weights = [WEIGHTS] if WEIGHTS in sizes else []
    if not weights and INDEX in sizes:
        weights = [*sorted(name for name in sizes if _SHARD.fullmatch(name)), INDEX]
    if not weights:
        raise CheckpointRefused(
            f"The repository {hub_id} has no safetensors weights, and the Atlas opens no pickles. "
            "Another checkpoint of this system may have them."
        )
    if info.sha is None:
        raise HubUnavailable("The Hub did not say which revision it has. Try again later.")
    return info.sha, {name: sizes[name] for name in (*sorted(SMALL_FILES & sizes.keys()), *weights)}


def _snapshot(hub_id: str, revision: str) -> Path:
    return hub_cache.repository(hub_id) / "snapshots" / revision


def _missing(files: dict[str, int], snapshot: Path) -> int:
    """Bytes of the files that the snapshot lacks."""
    return sum(size for name, size in files.items() if not (snapshot / name).exists())


def fetch(hub_id: str, report: Callable[[int, int], None]) -> Path:
    """Download all files of :func:`plan` into the Hub's cache; returns the snapshot's folder.

    ``report(done, total)`` receives bytes of all files, including those already in the cache.
    """
    from huggingface_hub import hf_hub_download

    revision, files = plan(hub_id)
    total, snapshot, cache = sum(files.values()), _snapshot(hub_id, revision), hub_cache.cache_root()
    cache.mkdir(parents=True, exist_ok=True)
    missing, free = _missing(files, snapshot), shutil.disk_usage(cache).free
    if free < missing * 1.05:
        raise HubUnavailable(
            f"The download needs {missing / 1e6:,.0f} MB; the disk of the cache folder has {free / 1e6:,.0f} MB left."
        )
    done = 0
    for name, size in files.items():
        if name.endswith(".safetensors") and (snapshot / "config.json").exists():
            refuse_code(snapshot, read_json(snapshot / "config.json"))  # before the large files
        if not (snapshot / name).exists():

            def on_bytes(received: int, before: int = done) -> None:
                report(before + received, total)

            _receive(hub_id, revision, name, on_bytes)
        # The blob is in the cache: this makes the link, and requests only the file's metadata.
        hf_hub_download(hub_id, name, revision=revision, cache_dir=cache, token=False)
        done += size
        report(done, total)
    return snapshot


def _receive(hub_id: str, revision: str, name: str, on_bytes: Callable[[int], None]) -> None:
    """Download one file into ``blobs/HASH`` of the cache, resuming an earlier attempt."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_url
    from huggingface_hub.file_download import http_get

    metadata = get_hf_file_metadata(hf_hub_url(hub_id, name, revision=revision), token=False)
    if not metadata.etag or not metadata.etag.isalnum() or metadata.size is None:
        raise HubUnavailable(f"The Hub did not state a hash for {name}. Try again later.")
    blob = hub_cache.repository(hub_id) / "blobs" / metadata.etag
    if blob.exists():
        return
    blob.parent.mkdir(parents=True, exist_ok=True)
    part = blob.with_name(f"{blob.name}.atlas.incomplete")
    with _Metered(part, on_bytes) as stream:
        if stream.tell() > metadata.size:
            stream.truncate(0)
        http_get(metadata.location, stream, resume_size=stream.tell(), expected_size=metadata.size)
    if not _is_genuine(part, metadata.etag):
        part.unlink()
        raise HubUnavailable(
            f"What arrived as {name} is not what the Hub published (its hash differs). It was deleted. "
            "Try again; if it happens again, something between this machine and the Hub changes the files."
        )
    part.replace(blob)


class _Metered(io.BufferedWriter):
    """A file opened for appending that reports its size after each write."""

    def __init__(self, path: Path, on_bytes: Callable[[int], None]) -> None:
        super().__init__(io.FileIO(path, "ab"))
        self._on_bytes = on_bytes

    def write(self, data: ReadableBuffer, /) -> int:
        count = super().write(data)
        self._on_bytes(self.tell())
        return count


def _is_genuine(path: Path, etag: str) -> bool:
    """Whether the content has the Hub's hash: SHA-256 for large files, git's for small ones."""
    digest = (
        hashlib.sha256() if len(etag) == 64 else hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    )
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: digest).hexdigest() == etag


def sentence(error: BaseException, hub_id: str) -> str:
    """The sentence for an error of the Hub: what is wrong and what works."""
    import httpx2
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError

    if isinstance(error, AtlasError):
        return str(error)
    if isinstance(error, GatedRepoError | RepositoryNotFoundError):
        return f"The Hub does not offer {hub_id} without an account, or no longer has it."
    if isinstance(error, HfHubHTTPError):
        status = error.response.status_code if error.response is not None else "no status"
        return f"The Hub answered with an error ({status}). Try again later."
    resumable = "What has been downloaded is kept; try again to resume it."
    if isinstance(error, httpx2.TimeoutException):
        return f"The Hub did not answer in time. {resumable}"
    if isinstance(error, httpx2.ConnectError):
        return "The Hub cannot be reached from this machine. Check the network; the bundled models work without it."
    if isinstance(error, httpx2.TransportError) or "Consistency check failed" in str(error):
        return f"The connection to the Hub was lost. {resumable}"
    if isinstance(error, OSError):
        return f"The download could not be written to the cache folder: {error.strerror or type(error).__name__}."
    return f"The Hub's answer could not be understood ({type(error).__name__}). Try again later."


def main(arguments: list[str]) -> int:
    """Run one command; an error is printed as a line, never as a traceback."""
    command, hub_id = arguments
    last = 0.0

    def say(line: dict[str, Any]) -> None:
        print(json.dumps(line), flush=True)

    def report(done: int, total: int) -> None:
        nonlocal last
        if done == total or time.monotonic() - last > 0.2:
            last = time.monotonic()
            say({"done": done, "total": total})

    try:
        from huggingface_hub import constants

        constants.DOWNLOAD_CHUNK_SIZE = _CHUNK  # a dropped connection loses the incomplete chunk
        if command == "plan":
            revision, files = plan(hub_id)
            missing = _missing(files, _snapshot(hub_id, revision))
            say({"files": [*files], "total_bytes": sum(files.values()), "missing_bytes": missing})
        else:
            say({"folder": str(fetch(hub_id, report))})
    except Exception as error:
        say({"error": sentence(error, hub_id), "refused": isinstance(error, CheckpointRefused)})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
