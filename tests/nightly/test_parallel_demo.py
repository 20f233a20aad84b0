"""A layer split among real processes that exchange their sums by torch.distributed."""

from __future__ import annotations

import re
import subprocess
import sys

from core.settings import ROOT


def test_two_processes_compute_the_layer() -> None:
    command = [sys.executable, "-m", "core", "parallel-demo", "--layer", "3"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=True)
    errors = re.findall(r"process \d: 4 heads, .* largest error (\S+)", done.stdout)
    assert len(errors) == 2
    assert all(float(error) < 1e-3 for error in errors)
