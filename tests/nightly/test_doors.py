"""No section opens with more than five controls."""

from __future__ import annotations

import subprocess
import sys

from tests.browser.conftest import ROOT


def test_at_most_five_controls_stand_open() -> None:
    counted = subprocess.run(
        [sys.executable, "scripts/doors.py", "--most", "5"], cwd=ROOT, capture_output=True, text=True
    )
    assert counted.returncode == 0, counted.stderr[-4000:]
