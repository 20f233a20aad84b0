"""What all tests share: no network, one thread, and a checkpoint directory of tiny random models."""

from __future__ import annotations

import gc
import os
import socket
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

gc.disable()  # until all tests are collected: nearly nothing is garbage, and looking for it takes a fifth of that time
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["ATLAS_HUB"] = "off"
os.environ.pop("ATLAS_CHECKPOINT_DIR", None)

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

# A busy machine makes a single example late; how fast the app is, benchmarks tell.
settings.register_profile("atlas", deadline=None, max_examples=50)
settings.load_profile("atlas")

_LOOPBACK = ("127.", "::1", "localhost")
_connect = socket.socket.connect


def _connect_here_only(self: socket.socket, address: Any) -> None:
    if self.family in (socket.AF_INET, socket.AF_INET6) and not str(address[0]).startswith(_LOOPBACK):
        raise AssertionError(f"a test reached for another host: {address!r}")
    _connect(self, address)


socket.socket.connect = _connect_here_only  # type: ignore[method-assign]


def pytest_collection_finish() -> None:
    """What was collected and imported stays to the end: no search for garbage looks at it again.

    Every AppTest reads the metadata of all installed packages, in search of components: they are read once.

    Only where a collected test has imported AppTest, so that others do not wait for Streamlit.
    """
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 50, 100)  # tests make millions of small objects that all die young
    if "streamlit.testing.v1" in sys.modules:
        from streamlit.components.v2 import manifest_scanner

        manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


def pytest_sessionfinish() -> None:
    """What is left ends with the process: pytest would look for garbage once more, and so would Python."""
    gc.freeze()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Where tests run in several workers: a file stays in one, whose fixtures are then made once.

    Two workers have a browser each, and one app. They take journeys while there are any, collected first since
    they take longest, and then what follows. Others begin at the end, with the page tests, of which one worker that has
    loaded the models does most.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return nodeid.split("::", 1)[0]

        def _assign_work_unit(self, node: Any) -> None:
            travels = node in self.nodes[:2]
            files = list(self.workqueue) if travels else reversed(self.workqueue)
            file = next((name for name in files if travels or "tests/browser/" not in name), None)
            if file is None:
                return node.shutdown()
            self.workqueue.move_to_end(file, last=False)
            return super()._assign_work_unit(node)

    config.option.loadscopereorder = False
    return ByFile(config, log)


def forget() -> None:
    """Drop what the process remembers of settings and loaded checkpoints."""
    from core import settings

    settings.settings.cache_clear()
    from core import checkpoints

    checkpoints.forget()


@cache
def import_readers() -> None:
    """Import what reads files of ours as it is imported."""
    root = Path(__file__).parents[1]
    for file in (root / "core").rglob("*.py"):
        if "ASSETS" in file.read_text(encoding="utf-8"):
            import_module(".".join(file.relative_to(root).with_suffix("").parts))


@pytest.fixture
def use_assets(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """A function that puts a folder in the place of our assets; what is read once a process is read before."""
    from core import catalogue, settings
    from core.ui.section import pages

    import_readers()
    catalogue.systems()
    pages()
    return lambda folder: monkeypatch.setattr(settings, "ASSETS", folder)


@pytest.fixture(scope="session")
def tiny_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``tiny-bert``, ``tiny-gpt2``, ``tiny-t5`` and ``tiny-bigbird``, made once a session. Read only."""
    from tests import tiny

    return tiny.make_all(tmp_path_factory.mktemp("checkpoints"))


@pytest.fixture
def fresh_settings() -> Iterator[None]:
    """Settings are read anew, whatever the environment of this test says."""
    from core.settings import settings

    settings.cache_clear()
    yield
    settings.cache_clear()


@pytest.fixture
def use_checkpoints(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], None]]:
    """A function that makes a folder the ``ATLAS_CHECKPOINT_DIR`` of this test."""

    def use(root: Path) -> None:
        monkeypatch.setenv("ATLAS_CHECKPOINT_DIR", str(root))
        forget()

    yield use
    monkeypatch.undo()
    forget()


@pytest.fixture
def checkpoint_dir(tiny_root: Path, use_checkpoints: Callable[[Path], None]) -> Path:
    """The tiny models as this test's ``ATLAS_CHECKPOINT_DIR``: slugs ``dir-tiny-bert``, ``dir-tiny-gpt2``, ..."""
    use_checkpoints(tiny_root)
    return tiny_root


@pytest.fixture(scope="session")
def tiny_world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A corpus for every recipe, and the states of the runs that recipes start from (`tests.tinyrecipes`)."""
    from tests import tinyrecipes

    return tinyrecipes.world(tmp_path_factory.mktemp("recipes"))
