r"""Scores of encoders that read long texts in windows and blocks, as `core.attention.architectures.longer` draws them.

    LED                 :math:`q_i \cdot k_j / \sqrt d` for :math:`|i - j| \le w`
    BigBird-Pegasus     :math:`q_i \cdot k_j / \sqrt d` everywhere, over a text that is read at once
    LongT5              :math:`q_i \cdot k_j + b_{j-i}` for :math:`|i - j| \le w`
    Pegasus-X           :math:`q_i \cdot k_j / \sqrt d` for :math:`\lfloor i / b \rfloor = \lfloor j / b \rfloor`, with
                        i and j moved by half a block in every second layer

In LongT5 with summaries and in Pegasus-X the softmax also runs over keys that stand for no token, so that the weights
are the softmax of these scores times what a row gives to tokens.

Legend: H heads, n tokens, w one side of a window, b tokens of a block, d width of a head.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from core.attention.architectures import longer
from core.attention.architectures.layout import Place
from core.attention.architectures.watch import Call
from core.errors import NoAttentionMatrix

if TYPE_CHECKING:
    from core.attention.architectures.scores import Attended


def rows(place: Place, n: int | None) -> slice:
    """The rows of a projection's output that are the text's; the rest fills its first and last block.

    Args:
        n: tokens of the text, where the model reads more than that.
    """
    if n is None or place.names.score != "long":
        return slice(None)
    first = longer.before(place.stack.config, place.layer) if place.stack.type == "pegasus_x" else 0
    return slice(first, first + n)


def finished(met: Attended, call: Call, own: Any, place: Place) -> Attended:
    """``met`` with what may be seen, further terms, and the weights in their places.

    Raises:
        NoAttentionMatrix: a BigBird-Pegasus that reads the text in blocks.
    """
    import torch

    from core.attention.patterns import mask, window

    config, n = place.stack.config, met.query.shape[1]
    match place.stack.type:
        case "led":
            side = int(own.one_sided_attn_window_size)
            weights = longer.from_band(call.back[1][0].transpose(0, 1), n)
            return replace(met, seen=torch.from_numpy(mask(window(side, side), n))[None], weights=weights)
        case "pegasus_x":
            before = longer.before(config, place.layer)
            seen = torch.from_numpy(longer.together(n, int(config.block_size), before))[None]
            return replace(met, seen=seen, weights=longer.from_own(call.back[-1]["local"][0], n, before))
        case "bigbird_pegasus":
            if config.attention_type != "original_full" and n > longer.most_at_once(config):
                raise NoAttentionMatrix(
                    "Queries and keys of this model are known for texts of up to "
                    f"{longer.most_at_once(config)} tokens, which it reads at once; a longer one it reads in blocks."
                )
            return replace(met, seen=None, weights=met.terms["content"].softmax(-1))
    side = int(config.local_radius)
    seen = torch.from_numpy(mask(window(side, side), n))[None]
    terms = met.terms | {"position": longer.from_near(call.back[1][0], n).masked_fill(~seen, 0.0)}
    return replace(met, terms=terms, seen=seen, weights=longer.from_near(call.back[-1][0], n))
