"""What a step depends on beside its batch: AdamW and Muon (Jordan et al., 2024), the rate, the precision."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

TABLES = (
    *("embed", "wte", "wpe", "transformer.w.", "shared", "lm_head.weight", "lm_head.decoder.weight", "lora_"),
    *("relative_attention", "_bias"),  # biases: XLNet's u and w, one vector a head
)
"""Parts of the names of matrices that are no map from states to states."""


def build(model: nn.Module, settings: dict[str, Any]) -> list[torch.optim.Optimizer]:
    """Optimizers over the trainable parameters; every group keeps its peak rate in ``peak``.

    ``settings["rate"]`` is AdamW's rate. With ``settings["muon"]`` two-dimensional parameters that are neither
    embeddings, nor position tables, nor vectors of heads, nor the output layer go to Muon at that rate.
    ``settings["scale"]`` maps a part of a parameter's name to a factor of the rate.
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
    """Sets every group's rate to its peak times `rate` at the used share of the budget."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = group["peak"] * rate(used, warmup=warmup)


def rate(used: float, *, warmup: float = 0.02) -> float:
    """Factor in [0, 1] at the used share of the budget: linear warm-up until ``warmup``, then linear decay to 0."""
    if used < warmup:
        return used / warmup
    return max(0.0, 1.0 - used) / (1.0 - warmup)


def mixed(device: str, *, wanted: bool = True) -> torch.autocast:
    """bfloat16 on a ``device`` (``cpu``, ``cuda``) that computes with it, unless it is not ``wanted``; else float32.

    A processor without instructions for bfloat16 takes some forty times as long for a product of matrices in it; GPUs
    are taken to have it.
    """
    return torch.autocast(device, dtype=torch.bfloat16, enabled=wanted and (device != "cpu" or on_cpu()))


def on_cpu() -> bool:
    """Whether this machine's processor computes with bfloat16."""
    built: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return built and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
