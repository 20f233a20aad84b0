"""Optimizers (AdamW, and Muon of Jordan et al., 2024), learning-rate schedule and mixed precision."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

TABLES = (
    *("embed", "wte", "wpe", "transformer.w.", "shared", "lm_head.weight", "lm_head.decoder.weight", "lora_"),
    *("relative_attention", "_bias"),  # biases: XLNet's u and w, one vector a head
)
"""Substrings of the names of matrices that do not map states to states."""


def build(model: nn.Module, settings: dict[str, Any]) -> list[torch.optim.Optimizer]:
    """Optimizers over the trainable parameters; every group has its peak rate in ``peak``.

    ``settings["rate"]`` is the rate of AdamW. With ``settings["muon"]``, Muon trains the two-dimensional parameters at
    that rate, except those in `TABLES`. ``settings["scale"]`` maps a substring of a parameter's name to a factor of the
    rate.
    """
    scale: dict[str, float] = settings.get("scale", {})
    decay = float(settings.get("weight_decay", 0.0))
    betas = tuple(settings.get("betas", (0.9, 0.98)))
    muon: list[dict[str, Any]] = []
    adam: list[dict[str, Any]] = []
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        factor = next((value for part, value in scale.items() if part in name), 1.0)
        table = any(part in name for part in TABLES)
        if "muon" in settings and parameter.ndim == 2 and not table:
            muon.append({"params": [parameter], "peak": factor * float(settings["muon"])})
        else:
            adam.append(
                {
                    "params": [parameter],
                    "peak": factor * float(settings["rate"]),
                    "weight_decay": decay if parameter.ndim == 2 and not table else 0.0,
                }
            )
    optimizers: list[torch.optim.Optimizer] = [torch.optim.AdamW(adam, betas=betas)]
    if muon:
        optimizers.append(torch.optim.Muon(muon, momentum=0.95, weight_decay=decay, adjust_lr_fn="match_rms_adamw"))
    return optimizers


def set_rate(optimizers: list[torch.optim.Optimizer], used: float, warmup: float = 0.02) -> None:
    """Set the learning rate of all groups to their peak times `rate`."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = group["peak"] * rate(used, warmup=warmup)


def rate(used: float, *, warmup: float = 0.02) -> float:
    """Factor in [0, 1] at the used share of the budget: linear warm-up until ``warmup``, then linear decay to 0."""
    if used < warmup:
        return used / warmup
    return max(0.0, 1.0 - used) / (1.0 - warmup)


def mixed(device: str, *, wanted: bool = True) -> torch.autocast:
    """Autocast to bfloat16 if ``wanted`` and supported by the ``device`` (``cpu``, ``cuda``); else float32.

    A CPU without bfloat16 instructions is about forty times slower with it; GPUs are assumed to support it.
    """
    return torch.autocast(device, dtype=torch.bfloat16, enabled=wanted and (device != "cpu" or on_cpu()))


def on_cpu() -> bool:
    """Whether this machine's CPU has bfloat16 instructions."""
    built: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return built and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
