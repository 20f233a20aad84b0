"""Models that have no attention matrix, and what they have instead. Data, by ``model_type``; two by their settings.

FNet (Lee-Thorp et al. 2021) mixes tokens by a fixed transform; state-space models such as Mamba (Gu & Dao 2023),
RWKV (Peng et al. 2023) and xLSTM (Beck et al. 2024) carry a state of fixed size from token to token. A Nyströmformer
(Xiong et al. 2021) with m landmarks for n tokens makes matrices of n x m, m x m and m x n, and never one of n x n. A
Perceiver (Jaegle et al. 2021) has matrices of its states and the text; MRA (Zeng et al. 2022) has scores of blocks, and
of tokens in a few.
"""

from __future__ import annotations

from typing import Any

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
OF_OTHERS = {
    "mra": "MRA compares blocks of 32 tokens by their means, and token by token only within the blocks that fit best. "
    "The library computes that on some graphics cards alone: elsewhere it puts zeros in place of what attention gives, "
    "and the model answers as if it had none.",
    "perceiver": "a Perceiver reads the text into a fixed number of states, none of which stands for a token; they "
    "look at each other, and at the end every place of the text asks them for its token.",
}
"""Models whose matrices have no row and column for every token."""


def refuse(model_type: str) -> None:
    """Raises :class:`core.errors.NoAttentionMatrix`, saying what there is instead, for a model without one."""
    if model_type in INSTEAD:
        raise NoAttentionMatrix(f"This model has no attention matrix: {INSTEAD[model_type]}")
    if model_type in OF_OTHERS:
        raise NoAttentionMatrix(f"This model has no attention matrix of tokens by tokens: {OF_OTHERS[model_type]}")


def refuse_settings(config: Any) -> None:
    """Raises :class:`core.errors.NoAttentionMatrix` for models of types that have a matrix at other settings.

    They are a Nyströmformer whose landmarks are fewer than its tokens, and a YOSO that draws its planes.
    """
    kind = getattr(config, "model_type", "")
    if kind == "yoso" and not config.use_expectation:
        raise NoAttentionMatrix(
            "This model has no attention matrix: YOSO sorts queries and keys into buckets that it draws at random, and "
            "adds up values by bucket. The library does that on some graphics cards alone, so that this model gives no "
            "answer here. One that is set to compute with the probabilities (use_expectation) has a matrix."
        )
    if kind != "nystromformer":
        return
    length, count = int(config.segment_means_seq_len), int(config.num_landmarks)
    if count != length:
        raise NoAttentionMatrix(
            f"This model has no attention matrix of tokens: every token is compared with {count} landmarks, means of "
            f"{length // count} tokens each, and these with every token. The library's code runs on texts of exactly "
            f"{length:,} tokens. A Nyströmformer with as many landmarks as tokens computes the matrix."
        )
