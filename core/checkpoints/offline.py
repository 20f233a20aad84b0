"""Keep this process off the network: set before any library that could reach out is imported.

The libraries read these variables once, when they are imported, so :func:`apply` runs from ``core/__init__.py``. The
process that serves pages stays offline even when ``ATLAS_HUB=on``: a download runs in a child process of its own
(:mod:`core.checkpoints.hub`), which is the only one that gets :func:`online_environment`.
"""

import os
from collections.abc import Mapping

QUIET = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "DO_NOT_TRACK": "1",
    "DISABLE_SAFETENSORS_CONVERSION": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
"""Disabled online as well: usage reports, a host's token, conversion of pickles by the Hub."""

OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}


FETCHING = "ATLAS_FETCHING"
"""Set in the environment of the child that downloads, and nowhere else."""


def apply() -> None:
    """Put this process offline and quiet, unless it is the child that downloads."""
    os.environ.update(QUIET)
    if os.environ.get(FETCHING) == "1":
        return
    os.environ.update(OFFLINE)


def online_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a child process that may connect to the Hub: quiet, online, plain HTTP with timeouts.

    Xet, the Hub's chunked transfer, is off: plain HTTP resumes a partial file and needs no second service.
    """
    child = {name: value for name, value in environment.items() if name not in OFFLINE}
    child.update(QUIET)
    child.setdefault("HF_HUB_ETAG_TIMEOUT", "10")
    child.setdefault("HF_HUB_DOWNLOAD_TIMEOUT", "15")
    child["HF_HUB_DISABLE_XET"] = "1"
    child[FETCHING] = "1"
    return child
