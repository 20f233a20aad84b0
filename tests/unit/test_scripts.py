"""The logic of the scripts of ``assets``, without a browser: ``node --test`` runs ``tests/js``."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

NODE = shutil.which("node")
SCRIPTS = Path(__file__).parents[1] / "js"


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_logic_of_the_scripts() -> None:
    command = [str(NODE), "--test", "--test-reporter=tap", *map(str, sorted(SCRIPTS.glob("*.test.js")))]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
    assert "\n# fail 0\n" in run.stdout
