"""bfloat16 where the device computes with it, float32 elsewhere.

A processor without instructions for bfloat16 takes some forty times as long for a product of matrices in it as in
float32: with oneDNN's word for it (AVX-512 and newer), mixed precision is worth having; without, it is left out. GPUs
are taken to have it.
"""

from __future__ import annotations

import torch


def mixed(device: str, *, wanted: bool = True) -> torch.autocast:
    """Mixed precision on a ``device`` (``cpu``, ``cuda``) that has it, unless it is not ``wanted``."""
    return torch.autocast(device, dtype=torch.bfloat16, enabled=wanted and (device != "cpu" or on_cpu()))


def on_cpu() -> bool:
    """Whether this machine's processor computes with bfloat16."""
    built: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return built and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
