"""Models that have no attention matrix, and what they have instead. Data, by ``model_type``.

FNet (Lee-Thorp et al. 2021) mixes tokens by a fixed transform; state-space models such as Mamba (Gu & Dao 2023),
RWKV (Peng et al. 2023) and xLSTM (Beck et al. 2024) carry a state of fixed size from token to token.
"""

from __future__ import annotations

from core.errors import NoAttentionMatrix

_STATE = "{} carries a state of a fixed size from token to token and never looks back."
INSTEAD = {
    "fnet": "FNet mixes the tokens by a Fourier transform, the same for every text.",
    "mamba": _STATE.format("Mamba"),
    "mamba2": _STATE.format("Mamba"),
    "falcon_mamba": _STATE.format("Mamba"),
    "rwkv": _STATE.format("RWKV"),
    "xlstm": _STATE.format("xLSTM"),
}


def refuse(model_type: str) -> None:
    """Raises :class:`core.errors.NoAttentionMatrix`, saying what there is instead, for a model without one."""
    if model_type in INSTEAD:
        raise NoAttentionMatrix(f"This model has no attention matrix: {INSTEAD[model_type]}")
