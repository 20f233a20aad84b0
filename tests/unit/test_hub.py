"""Downloads from a local server that speaks the Hub's protocol: plan, redirects, drops, resumption, refusals."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core import checkpoints
from core.checkpoints import hub, hub_cache, registry
from core.checkpoints.spec import CheckpointSpec
from core.errors import CheckpointRefused, CheckpointUnavailable, HubUnavailable
from tests import tiny
from tests.conftest import forget
from tests.hubserver import COMMIT, Hub

ID = "example/tiny-bert"
SPEC = CheckpointSpec(
    slug="tiny-bert",
    name="tiny-bert",
    system="bert",
    branch="encoder",
    kind="masked-lm",
    source="hub",
    origin=f"Hugging Face Hub, {ID}",
    location=ID,
    ready=False,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of about 2 MB, so that a connection can drop within its weights."""
    return tiny.tiny_bert(tmp_path_factory.mktemp("hub") / "tiny-bert", width=128)


@pytest.fixture
def server(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A Hub with one repository, an empty cache, and an installation that may ask it."""
    running = Hub()
    running.serve_folder(ID, folder)
    monkeypatch.setenv("HF_ENDPOINT", running.start())
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_ETAG_TIMEOUT", "2")
    monkeypatch.setenv("HF_HUB_DOWNLOAD_TIMEOUT", "2")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.setenv("ATLAS_HUB", "on")
    monkeypatch.setattr(registry, "published", published)
    forget()
    yield running
    running.stop()
    monkeypatch.undo()
    forget()


def published() -> tuple[CheckpointSpec, ...]:
    """The catalogue's Hub entries, for these tests the one that the local server has."""
    inspected = hub_cache.fetched(ID, "masked-lm")
    return (replace(SPEC, ready=inspected is not None),)


def weights(folder: Path) -> int:
    return (folder / "model.safetensors").stat().st_size


def test_plan_states_the_size_before_anything_is_taken(server: Hub, folder: Path, tmp_path: Path) -> None:
    stated = hub.plan(SPEC)
    assert stated.total_bytes == stated.missing_bytes == sum(file.stat().st_size for file in folder.iterdir())
    assert stated.files[-1] == "model.safetensors"
    assert [method for method, path, _ in server.log if "resolve" in path] == []
    assert not (tmp_path / "cache").exists()


def test_download_follows_redirects_and_the_model_loads_without_a_request(server: Hub, folder: Path) -> None:
    heard: list[tuple[int, int]] = []
    with pytest.raises(CheckpointUnavailable, match="has not been downloaded"):
        checkpoints.load("tiny-bert")
    server.repositories[ID] |= {"pytorch_model.bin": b"pickle", "tf_model.h5": b"h5", "modeling_own.py": b"code"}
    got = hub.fetch(SPEC, lambda done, total: heard.append((done, total)))
    assert {file.name for file in got.iterdir()} == {file.name for file in folder.iterdir()}, "more was taken"
    assert got.name == COMMIT
    assert (got / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()
    total = sum(file.stat().st_size for file in folder.iterdir())
    assert heard[-1] == (total, total)
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)

    large = [method for method, path, _ in server.log if path.startswith("/large/")]
    assert large == ["GET"], "the weights were taken more than once"
    asked = len(server.log)
    loaded = checkpoints.load("tiny-bert")
    assert type(loaded.model).__name__ == "BertForMaskedLM"
    assert loaded.source == "hub"
    assert hub.plan(SPEC).missing_bytes == 0
    assert len(server.log) == asked + 1, "loading asked the Hub"


def test_a_dropped_connection_is_resumed_where_it_broke(server: Hub, folder: Path) -> None:
    server.drop_after, server.drops = 600_000, 1
    got = hub.fetch(SPEC)
    assert (got / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()
    starts = [int(wanted.removeprefix("bytes=").rstrip("-")) for wanted in server.ranges()]
    assert len(starts) == 1
    assert 0 < starts[0] <= 600_000


def test_a_stopped_download_resumes_from_its_partial_file(server: Hub, folder: Path, tmp_path: Path) -> None:
    server.pause = 0.1
    download = hub.start(SPEC)
    assert hub.start(SPEC) is download, "a second visitor started a second download"
    deadline = time.monotonic() + 60
    while download.done < 600_000 and time.monotonic() < deadline:
        time.sleep(0.02)
    download.stop()
    download.wait(60)
    assert download.state == "failed"
    assert "resume" in download.error
    assert hub_cache.fetched(ID, "masked-lm") is None
    server.pause = 0.0
    hub.fetch(SPEC)
    assert len(server.ranges()) == 1
    assert int(server.ranges()[0].removeprefix("bytes=").rstrip("-")) >= 262_144
    assert not list(tmp_path.rglob("*.incomplete"))


@pytest.mark.parametrize(("trouble", "sentence"), [("halved", "was lost"), ("changed", "hash differs")])
def test_a_file_that_is_not_whole_is_never_offered(server: Hub, tmp_path: Path, trouble: str, sentence: str) -> None:
    setattr(server, trouble, True)
    with pytest.raises(HubUnavailable, match=sentence):
        hub.fetch(SPEC)
    assert hub_cache.fetched(ID, "masked-lm") is None
    assert trouble == "halved" or not list(tmp_path.rglob("*.incomplete"))


@pytest.mark.parametrize(
    ("trouble", "sentence"),
    [({"down": True}, "503"), ({"delay": 3}, "in time"), ({"repositories": {}}, "no longer has it")],
)
def test_a_hub_that_does_not_answer_is_reported(
    server: Hub, monkeypatch: pytest.MonkeyPatch, trouble: dict[str, Any], sentence: str
) -> None:
    monkeypatch.setenv("HF_HUB_ETAG_TIMEOUT", "1")
    for name, value in trouble.items():
        setattr(server, name, value)
    with pytest.raises(HubUnavailable, match=sentence):
        hub.plan(SPEC)


def test_a_repository_without_safetensors_is_refused_before_any_download(server: Hub) -> None:
    files = server.repositories[ID]
    server.repositories[ID] = {"config.json": files["config.json"], "pytorch_model.bin": b"pickle"}
    with pytest.raises(CheckpointRefused, match="no safetensors"):
        hub.fetch(SPEC)
    assert [path for _, path, _ in server.log] == [f"/api/models/{ID}"]


def test_a_model_in_shards_comes_with_its_index(server: Hub, folder: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForMaskedLM

    sharded = tmp_path / "sharded"
    AutoModelForMaskedLM.from_pretrained(folder).save_pretrained(sharded, max_shard_size="400KB")
    del server.repositories[ID]["model.safetensors"]
    server.repositories[ID] |= {file.name: file.read_bytes() for file in sharded.iterdir()}
    hub.fetch(SPEC)
    assert checkpoints.load("tiny-bert").model.config.hidden_size == 128


def test_a_repository_that_asks_for_code_is_not_offered(server: Hub) -> None:
    config = json.loads(server.repositories[ID]["config.json"])
    config["auto_map"] = {"AutoModelForMaskedLM": "modeling_own.Own"}
    server.repositories[ID]["config.json"] = json.dumps(config).encode()
    with pytest.raises(CheckpointRefused, match="code of its own"):
        hub.fetch(SPEC)
    assert hub_cache.fetched(ID, "masked-lm") is None


def test_off_means_no_request_even_for_downloaded_models(server: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_HUB", "off")
    forget()
    assert "tiny-bert" not in {spec.slug for spec in checkpoints.available()}
    with pytest.raises(CheckpointUnavailable, match="Hub, which is off"):
        checkpoints.load("tiny-bert")
    with pytest.raises(CheckpointUnavailable, match="ATLAS_HUB=on"):
        hub.fetch(SPEC)
    assert server.log == []


def test_the_cache_folder_is_the_librarys_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = """
import importlib, json, os, sys
from huggingface_hub import constants
for environment in json.loads(sys.argv[1]):
    for name in ("HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        os.environ.pop(name, None)
    os.environ.update(environment)
    print(importlib.reload(constants).HF_HUB_CACHE)
"""
    environments = [{"HF_HUB_CACHE": "~/models"}, {"HF_HOME": str(tmp_path)}, {"XDG_CACHE_HOME": str(tmp_path)}, {}]
    command = [sys.executable, "-c", script, json.dumps(environments)]
    theirs = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    for environment, folder in zip(environments, theirs, strict=True):
        for name in ("HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        assert hub_cache.cache_root() == Path(folder)


def test_ids_come_from_the_catalogue_only(server: Hub) -> None:
    with pytest.raises(CheckpointUnavailable, match="no published checkpoint"):
        hub.fetch(replace(SPEC, location="somebody/else"))
    assert server.log == []
