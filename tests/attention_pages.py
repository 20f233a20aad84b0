"""What a page of attention carries: its data, and its numbers as they were before they were packed."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any

import numpy as np


def data_of(page: str) -> dict[str, Any]:
    """The data that a page's scripts read."""
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert match is not None
    data: dict[str, Any] = json.loads(match.group(1))
    return data


def unpacked(kept: dict[str, Any]) -> np.ndarray[Any, Any]:
    """What `core.attention.views.export.by_head` was given."""
    kind = f"<{'i' if kept['signed'] else 'u'}{kept['bits'] // 8}"
    full = np.frombuffer(zlib.decompress(base64.b64decode(kept["bytes"])), dtype=kind).reshape(kept["shape"])
    return full * np.reshape(kept["scale"], (*kept["shape"][:2], 1, 1))
