"""The child process that talks to the Hugging Face Hub: ``python -m core.checkpoints.hub_worker plan|fetch ID``.

It writes one JSON object a line: ``{"plan": ...}``, ``{"done": bytes, "total": bytes}``, ``{"folder": ...}`` or
``{"error": sentence}``. Only what a model needs is taken, weights only as safetensors.

``hf_hub_download`` and ``snapshot_download`` delete what has arrived when they fail, leave it behind under a name used
once when they are ended, and compare sizes only: a stopped download of half a gigabyte would start over. So files are
received into the cache here, from where the last attempt stopped, compared with the hash that the Hub states, and
handed to the library, which links them into its snapshot.
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
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.checkpoints import hub_cache
from core.checkpoints.folder import INDEX, WEIGHTS, read_json, refuse_code
from core.errors import AtlasError, CheckpointRefused, HubUnavailable

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

SMALL_FILES = frozenset(
    {
        "added_tokens.json",
        "config.json",
        "generation_config.json",
        "merges.txt",
        "sentencepiece.bpe.model",
        "source.spm",
        "special_tokens_map.json",
        "spiece.model",
        "target.spm",
        "tokenizer.json",
        "tokenizer.model",
        "tokenizer_config.json",
        "vocab.json",
        "vocab.txt",
    }
)
_SHARD = re.compile(r"model-\d{5}-of-\d{5}\.safetensors")
_ATTEMPTS = 3
_CHUNK = 1 << 18


@dataclass(frozen=True, slots=True)
class File:
    """A file to take: its name, bytes, and git or LFS hash as the Hub states them."""

    name: str
    size: int
    blob_id: str | None
    sha256: str | None


def plan(hub_id: str) -> tuple[str, tuple[File, ...]]:
    """The revision that the Hub has now and the files to take from it, the weights last.

    Raises :class:`CheckpointRefused` for a repository without safetensors.
    """
    from huggingface_hub import HfApi, constants

    info = HfApi().model_info(hub_id, files_metadata=True, timeout=constants.HF_HUB_ETAG_TIMEOUT, token=False)
    files: dict[str, File] = {}
    for sibling in info.siblings or ():
        sha256 = sibling.lfs.sha256 if sibling.lfs else None
        files[sibling.rfilename] = File(sibling.rfilename, int(sibling.size or 0), sibling.blob_id, sha256)
    if WEIGHTS in files:
        weights = [WEIGHTS]
    elif INDEX in files:
        weights = [*sorted(name for name in files if _SHARD.fullmatch(name)), INDEX]
    else:
        weights = []
    if not weights:
        raise CheckpointRefused(
            f"The repository {hub_id} has no safetensors weights, and the Atlas opens no pickles. "
            "Another checkpoint of this system may have them."
        )
    if info.sha is None:
        raise HubUnavailable("The Hub did not say which revision it has. Try again later.")
    small = sorted(name for name in files if name in SMALL_FILES)
    return info.sha, tuple(files[name] for name in (*small, *weights))


def fetch(hub_id: str, report: Callable[[int, int], None]) -> Path:
    """Take all files of :func:`plan` into the Hub's cache. Returns the snapshot's folder.

    ``report(done, total)`` counts the bytes of all files, those that were there before included.
    """
    from huggingface_hub import hf_hub_download

    revision, files = plan(hub_id)
    total = sum(file.size for file in files)
    snapshot = hub_cache.repository(hub_id) / "snapshots" / revision
    missing = sum(file.size for file in files if not (snapshot / file.name).exists())
    cache = hub_cache.cache_root()
    cache.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(cache).free < missing * 1.05:
        raise HubUnavailable(
            f"The download needs {missing / 1e6:,.0f} MB and the disk of the cache folder has "
            f"{shutil.disk_usage(cache).free / 1e6:,.0f} MB left."
        )
    before = 0
    for file in files:
        start = before

        def on_bytes(received: int, start: int = start) -> None:
            report(start + received, total)

        if file.sha256 is not None and (snapshot / "config.json").exists():
            refuse_code(snapshot, read_json(snapshot / "config.json"))  # before the weights, which take long
        if not (snapshot / file.name).exists():
            _receive(hub_id, revision, file, on_bytes)
        # The blob is in the cache now: this makes the link, and asks the Hub for nothing but the file's metadata.
        hf_hub_download(hub_id, file.name, revision=revision, cache_dir=cache, token=False)
        before += file.size
        report(before, total)
    return snapshot


def _receive(hub_id: str, revision: str, file: File, on_bytes: Callable[[int], None]) -> None:
    """One file into ``blobs/HASH`` of the cache, continuing an earlier attempt."""
    import httpx2
    from huggingface_hub import get_hf_file_metadata, hf_hub_url
    from huggingface_hub.file_download import http_get
    from huggingface_hub.utils import WeakFileLock  # type: ignore[attr-defined]

    url = hf_hub_url(hub_id, file.name, revision=revision)
    metadata = get_hf_file_metadata(url, token=False)
    if not metadata.etag or not re.fullmatch(r"[0-9A-Za-z._-]+", metadata.etag):
        raise HubUnavailable(f"The Hub did not state a hash for {file.name}. Try again later.")
    size = metadata.size if metadata.size is not None else file.size
    blob = hub_cache.repository(hub_id) / "blobs" / metadata.etag
    blob.parent.mkdir(parents=True, exist_ok=True)
    part = blob.with_name(blob.name + ".atlas.incomplete")
    with WeakFileLock(blob.with_name(blob.name + ".atlas.lock")):
        if blob.exists():
            return
        for attempt in range(1, _ATTEMPTS + 1):
            with _Metered(part, on_bytes) as stream:
                held = stream.tell()
                if held > size:
                    stream.truncate(0)
                    held = 0
                try:
                    http_get(
                        metadata.location,
                        stream,
                        resume_size=held,
                        expected_size=size,
                    )
                    break
                except (httpx2.TransportError, OSError):
                    if attempt == _ATTEMPTS:
                        raise
                    time.sleep(attempt)
        if not _is_genuine(part, file):
            part.unlink()
            raise HubUnavailable(
                f"What arrived as {file.name} is not what the Hub published (its hash differs). It was deleted. "
                "Try again; if it happens again, something between this machine and the Hub changes the files."
            )
        part.replace(blob)
    blob.with_name(blob.name + ".atlas.lock").unlink(missing_ok=True)


class _Metered(io.BufferedWriter):
    """A file to append to that tells how far it has been written."""

    def __init__(self, path: Path, on_bytes: Callable[[int], None]) -> None:
        super().__init__(io.FileIO(path, "ab"))
        self._on_bytes = on_bytes

    def write(self, data: ReadableBuffer, /) -> int:
        count = super().write(data)
        self._on_bytes(self.tell())
        return count


def _is_genuine(path: Path, file: File) -> bool:
    """Whether the content has the hash of the Hub's listing: SHA-256 for large files, git's for small ones."""
    if file.sha256 is not None:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest() == file.sha256
    if file.blob_id is not None:
        content = path.read_bytes()
        git = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
        return git.hexdigest() == file.blob_id
    return path.stat().st_size == file.size


def sentence(error: BaseException, hub_id: str) -> str:
    """What went wrong with the Hub, and what would work."""
    import httpx2
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError

    if isinstance(error, AtlasError):
        return str(error)
    if isinstance(error, GatedRepoError | RepositoryNotFoundError):
        return f"The Hub does not offer {hub_id} without an account, or no longer has it."
    if isinstance(error, HfHubHTTPError):
        status = error.response.status_code if error.response is not None else "no status"
        return f"The Hub answered with an error ({status}). Try again later."
    kept = "What has been downloaded is kept; try again to resume it."
    if isinstance(error, httpx2.TimeoutException):
        return f"The Hub did not answer in time. {kept}"
    if isinstance(error, httpx2.ConnectError):
        return "The Hub cannot be reached from this machine. Check the network; the bundled models work without it."
    if isinstance(error, httpx2.TransportError) or "Consistency check failed" in str(error):
        return f"The connection to the Hub was lost. {kept}"
    if isinstance(error, OSError):
        return f"The download could not be written to the cache folder: {error.strerror or type(error).__name__}."
    return f"The Hub's answer could not be understood ({type(error).__name__}). Try again later."


def main(arguments: list[str]) -> int:
    """Run one order; errors become a line, never a traceback."""
    order, hub_id = arguments
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

        constants.DOWNLOAD_CHUNK_SIZE = _CHUNK  # what has not filled a chunk is lost when a connection drops
        if order == "plan":
            revision, files = plan(hub_id)
            snapshot = hub_cache.repository(hub_id) / "snapshots" / revision
            missing = sum(file.size for file in files if not (snapshot / file.name).exists())
            say(
                {
                    "plan": {
                        "files": [file.name for file in files],
                        "total": sum(f.size for f in files),
                        "missing": missing,
                    }
                }
            )
        else:
            say({"folder": str(fetch(hub_id, report))})
    except Exception as error:
        say({"error": sentence(error, hub_id), "refused": isinstance(error, CheckpointRefused)})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
