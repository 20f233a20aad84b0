"""Faults that a process of its own must meet; and a server that is killed and starts again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect

from core.content import content
from core.settings import ROOT
from tests import tiny
from tests.browser.conftest import app_process, new_tab, visiting
from tests.browser.test_history import asks, letter, shows
from tests.hubserver import Hub
from tests.ports import free_port

needs_root = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"]).returncode != 0,
    reason="needs root on Linux",
)
FULL = 'mount -t tmpfs -o size=256k none "$FULL" && chmod 777 "$FULL"'
HOSTILE = f"""
{FULL} && head -c 1M /dev/zero >"$FULL/x" 2>/dev/null
mount -o remount,bind,ro / && exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
"""
"""A full disk, a root that cannot be written to, and a user who owns nothing: arguments are the command to run."""


@contextmanager
def visitor(port: int, heard: list[bytes]) -> Iterator[Any]:
    """A session over the server's own protocol, which fails where a page shows an exception."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        server = SimpleNamespace(address=f"http://127.0.0.1:{port}")
        with import_module("_visitor").Visitor(server, heard.append) as person:
            yield person


def said(heard: list[bytes], words: str) -> bool:
    return words.encode() in b"".join(heard).replace(b"\\", b"")


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that other users can enter."""
    with TemporaryDirectory(prefix="atlas-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@needs_root
def test_a_full_disk_a_read_only_root_and_a_folder_of_another_user(shared: Path, tmp_path: Path) -> None:
    full, models = shared / "full", shared / "models"
    full.mkdir()
    tiny.make_all(models)
    shutil.copytree(models / "tiny-bert", models / "closed")
    (models / "closed").chmod(0o700)
    hostile = ["unshare", "-m", "sh", "-c", HOSTILE, "sh"]
    environment = {"FULL": str(full), "HOME": str(full), "TMPDIR": str(full), "XDG_CACHE_HOME": str(full)}
    port, heard = free_port(), list[bytes]()
    with app_process(models, tmp_path, port, hostile, environment), visitor(port, heard) as person:
        for page in ("", "encoder", "decoder", "attention", "tokenizers", "catalogue", "generation", "glossary"):
            person.open(page)
        person.open("encoder", model="dir-closed")
        assert said(heard, "The folder “closed” cannot be read by this process")
        person.open("encoder", model="dir-tiny-bert", text="The cat [MASK].")
        assert not said(heard, "dir-tiny-bert” cannot")


@pytest.mark.parametrize("change", ["cut", "deleted"])
def test_weights_are_gone_while_the_server_has_the_model(change: str, tmp_path: Path) -> None:
    """A process that touches a mapped file which was cut is ended by the system."""
    port, heard = free_port(), list[bytes]()
    weights = tiny.make_all(tmp_path / "models") / "tiny-bert" / "model.safetensors"
    with app_process(tmp_path / "models", tmp_path, port) as process, visitor(port, heard) as person:
        person.open("encoder", model="dir-tiny-bert", text="The cat [MASK].")
        os.truncate(weights, 100) if change == "cut" else weights.unlink()
        person.open("encoder", model="dir-tiny-bert", text="The dog [MASK].")
        assert said(heard, "cut off" if change == "cut" else "holds no weights")
        person.open("decoder", model="dir-tiny-gpt2")
        assert process.poll() is None


def test_a_second_server_on_the_port_says_so(tmp_path: Path) -> None:
    port = free_port()
    with app_process(tmp_path, tmp_path, port):
        for command, words in (
            (["scripts/start.py", "run", "--port", str(port)], f"make run PORT={port + 1}"),
            (["-m", "streamlit", "run", "app.py", "--server.port", str(port)], "not available"),
        ):
            done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, timeout=120)
            assert done.returncode != 0
            assert words in done.stdout + done.stderr
            assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("before", "words"),
    [
        pytest.param(["unshare", "-m", "sh", "-c", f'{FULL} && exec "$@"', "sh"], "has 0 MB left.", marks=needs_root),
        (["sh", "-c", 'ulimit -f 500; exec "$@"', "sh"], "could not be written to the cache folder: File too large."),
    ],
)
def test_a_download_to_a_full_disk_says_so(before: list[str], words: str, tmp_path: Path) -> None:
    """The second disk is full in the middle of a file: no file may become longer than 250 or 500 kB."""
    hub, full = Hub(), tmp_path / "full"
    full.mkdir()
    hub.serve_folder("google-bert/bert-base-uncased", tiny.tiny_bert(tmp_path / "model", width=128))
    environment = {"HF_ENDPOINT": hub.start(), "HF_HUB_CACHE": str(full), "FULL": str(full), "NO_PROXY": "127.0.0.1"}
    done = ran([*before, sys.executable, "-m", "core", "fetch", "--yes", "bert-base-uncased"], environment)
    hub.stop()
    assert done.endswith(words)


def test_a_hub_that_hangs_in_the_middle_of_a_file_says_so(tmp_path: Path) -> None:
    hub = Hub(pause=8)
    hub.serve_folder("google-bert/bert-base-uncased", tiny.tiny_bert(tmp_path / "model", width=128))
    environment = {"HF_ENDPOINT": hub.start(), "HF_HUB_CACHE": str(tmp_path / "cache"), "HF_HUB_DOWNLOAD_TIMEOUT": "1"}
    command = [sys.executable, "-m", "core", "fetch", "--yes", "bert-base-uncased"]
    said = ran(command, environment | {"NO_PROXY": "127.0.0.1"})
    hub.stop()
    assert said.endswith("did not answer in time. What has been downloaded is kept; try again to resume it.")


def ran(command: list[str], environment: dict[str, str]) -> str:
    """What a command that fails without a traceback prints of it."""
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stderr.strip()


@needs_root
def test_measures_to_a_full_disk_say_so(tmp_path: Path) -> None:
    full = ["unshare", "-m", "sh", "-c", f'{FULL} && head -c 1M /dev/zero >"$FULL/x"; exec "$@"', "sh"]
    command = [sys.executable, "-m", "core", "heads", "atlas-gpt-2", "--sentences", "2", "--output", str(tmp_path)]
    assert ran([*full, *command], {"FULL": str(tmp_path)}).endswith("No space left on device.")


@needs_root
def test_a_directory_of_another_user_is_a_problem_in_a_sentence(shared: Path) -> None:
    tiny.make_all(shared / "closed")
    (shared / "closed").chmod(0o700)
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-m", "core", "doctor"]
    environment = os.environ | {"ATLAS_CHECKPOINT_DIR": str(shared / "closed"), "HOME": str(shared)}
    done = subprocess.run(user, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert "The folder that ATLAS_CHECKPOINT_DIR names cannot be read by this process" in done.stdout
    assert "Traceback" not in done.stderr


def test_the_first_request_after_a_start_and_the_first_click_after_the_server_was_killed(
    window: BrowserContext, models: Path, tmp_path: Path
) -> None:
    """A copied link opens its view before any page has run. Of two visitors one stays where a click has led."""
    port = free_port()
    with ExitStack() as open_windows:
        tabs = [open_windows.enter_context(new_tab(window)) for _ in range(2)]
        people = [open_windows.enter_context(visiting(tab, f"http://127.0.0.1:{port}")) for tab in tabs]
        with app_process(models, tmp_path, port) as process:
            for backs, person in enumerate(people):
                page = person.arrive("/glossary?q=bert")
                expect(page).to_have_title(f"{content('glossary').title} · Transformer Atlas")
                expect(page.get_by_test_id("stSidebarNav").get_by_role("link", name="Encoder-decoder")).to_be_visible()
                asks(page, "bert")
                letter(page, "B")
                shows(page, "B")
                for _ in range(backs):
                    page.go_back()
                    shows(page, "All")
            process.kill()
            process.wait()
        with app_process(models, tmp_path, port):
            for person in people:
                person.page.bring_to_front()
                letter(person.page, "D")
                person.settle()
            for person in people:
                person.forgive("")  # all that the browser said while there was no server
            for backs, person in enumerate(people):
                page = person.page
                page.bring_to_front()
                shows(page, "D")
                asks(page, "bert")
                page.go_back()
                shows(page, "All" if backs else "B")
