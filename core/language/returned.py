r"""What the library returns in place of attention weights, brought to weights of tokens.

    SqueezeBERT     scores, which go into its softmax
    ProphetNet      scores from its encoder and from its decoder to the encoder; there the rows of all its streams are
                    below each other: the main stream's, then those of the streams that predict the first token to
                    come, the second, ... (Qi et al. 2020, arXiv 2001.04063)

Of ProphetNet's streams the one that predicts the next token is the one that writes, so that its rows are kept.

Legend: H heads, Q query tokens, K key tokens, N predicting streams.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


def weights(
    config: Any, kind: Literal["encoder", "decoder", "cross", "query"], layers: Sequence[Tensor]
) -> list[Tensor]:
    """Layer by layer (1, H, Q, K) weights of what a model with this configuration returned for a kind of attention."""
    match config.model_type, kind:
        case "squeezebert", _:
            return [scores.softmax(-1) for scores in layers]
        case "prophetnet", "encoder":
            return [scores.softmax(-1) for scores in layers]
        case "prophetnet", "cross":
            return [scores[:, :, writing(config, scores.shape[2])].softmax(-1) for scores in layers]
    return list(layers)


def reading(config: Any, rows: int) -> slice:
    """Which of the rows of a ProphetNet's streams are the main stream's, which reads."""
    return slice(0, rows // (1 + int(config.ngram)))


def writing(config: Any, rows: int) -> slice:
    """Which of the rows of a ProphetNet's streams are those of the one that predicts the next token."""
    count = rows // (1 + int(config.ngram))
    return slice(count, 2 * count)
