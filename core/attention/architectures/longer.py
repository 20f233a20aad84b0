r"""Encoder-decoders for long texts: what their encoders compute, brought to tokens x tokens.

    LED                 a window of w tokens on each side (Beltagy et al. 2020, arXiv 2004.05150)
    BigBird-Pegasus     all of a short text; of a longer one blocks (Zaheer et al. 2020, arXiv 2007.14062)
    LongT5              a window; with summaries beside it, every token also sees one vector for each block of the text
                        (Guo et al. 2021, arXiv 2112.07916)
    Pegasus-X           blocks that every second layer moves by half a block, and global tokens that stand for no token
                        of the text (Phang et al. 2022, arXiv 2208.04347)

The library returns windows and blocks in shapes of their own:

    band    (1, H, n', 2w + 1)         column c is the key i - w + c
    near    (1, B, H, b, 3b (+ s))     column c is the key of the block before, its own, or the next
    own     (1, H, B, b, g + b)        column g + c is the c-th key of the block

Its numbers are put where they belong, none is computed anew. What goes to summaries or global tokens has no column, so
that those rows sum to less than one.

Legend: L layers, H heads, n tokens, n' tokens with what fills the last block, w one side of a window, b tokens of a
block, B blocks, s summaries, g global tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from core.attention.architectures.shapes import stacked
from core.attention.patterns import Pattern, mask, window
from core.attention.trace import AttentionMap, Bools, Floats, frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

_SUMMED = "Rows sum to less than one: the rest goes to {}, which stand for no token."
_WINDOW = "A window of {} tokens on each side. {}"


def reads_long(model: Any) -> bool:
    """Whether a model's encoder is one of those that stand here."""
    return str(model.config.model_type) in _MADE


def settled(model: Any, n: int) -> Any:
    """``model``, or a twin of a BigBird-Pegasus that attends as the library does to a text of n tokens.

    On a short text the library switches an instance to full attention for good, so that what it does next would depend
    on what it did before.
    """
    if model.config.model_type != "bigbird_pegasus":
        return model
    from core.attention.architectures.twin import twin

    made: Any = twin(model)
    settle(made, n)
    return made


def settle(own: Any, n: int) -> None:
    """Sets the attention of a BigBird-Pegasus of one's own to what the library computes over n tokens."""
    import torch

    whole = own.config.attention_type == "original_full" or n <= most_at_once(own.config)
    with torch.device("meta"):  # the new modules' own numbers are dropped for the shared ones
        own.model.encoder.set_attention_type("original_full" if whole else "block_sparse")


def most_at_once(config: Any) -> int:
    """Tokens up to which a BigBird-Pegasus sees the whole text."""
    return (5 + 2 * int(config.num_random_blocks)) * int(config.block_size)


def encoder(model: Any, attentions: Sequence[Any], tokens: tuple[str, ...]) -> AttentionMap:
    """The map of an encoder of one of these types, from what the library returned for each layer."""
    weights, allowed, note = _MADE[str(model.config.model_type)](model.config, attentions, len(tokens))
    return AttentionMap("encoder", tokens, tokens, weights, allowed, note=note)


def from_band(band: Tensor, n: int) -> Tensor:
    """(..., n', 2w + 1) to (..., n, n), zero where nothing was computed."""
    import torch

    side = band.shape[-1] // 2
    whole = band.new_zeros(*band.shape[:-2], n, n + 2 * side)
    columns = torch.arange(n)[:, None] + torch.arange(2 * side + 1)
    return whole.scatter(-1, columns.expand(*band.shape[:-2], -1, -1), band[..., :n, :])[..., side : side + n]


def from_near(near: Tensor, n: int) -> Tensor:
    """(B, H, b, 3b (+ s)) to (H, n, n), zero where nothing was computed; a bias may be given for one block alone."""
    import torch

    size = near.shape[-2]
    count = -(-n // size)
    near = near[..., : 3 * size].expand(count, -1, -1, -1)
    whole = near.new_zeros(near.shape[1], count, size, (count + 2) * size)
    columns = (torch.arange(count)[:, None] * size + torch.arange(3 * size))[None, :, None]
    found = whole.scatter(-1, columns.expand(near.shape[1], -1, size, -1), near.transpose(0, 1))
    return found.flatten(1, 2)[:, :n, size : size + n]


def from_own(own: Tensor, n: int, before: int) -> Tensor:
    """(H, B, b, g + b) to (H, n, n), of blocks of which the first begins ``before`` tokens before the text."""
    import torch

    heads, count, size, width = own.shape
    whole = own.new_zeros(heads, count, size, count * size)
    columns = (torch.arange(count)[:, None] * size + torch.arange(size))[None, :, None]
    found = whole.scatter(-1, columns.expand(heads, -1, size, -1), own[..., width - size :])
    return found.flatten(1, 2)[:, before : before + n, before : before + n]


def before(config: Any, layer: int) -> int:
    """How many tokens before the text the first block of a Pegasus-X's layer begins."""
    return config.block_size // 2 if config.stagger_local_blocks and layer % 2 else 0


def together(n: int, size: int, before: int) -> Bools:
    """(n, n) True where two tokens are in the same block."""
    blocks = (np.arange(n) + before) // size
    return np.asarray(blocks[:, None] == blocks)


def _led(config: Any, attentions: Sequence[Tensor], n: int) -> tuple[Floats, Bools | None, str]:
    sides = [int(size) // 2 for size in config.attention_window]
    seen = np.stack([mask(window(side, side), n) for side in sides])[:, None]
    width = str(sides[0]) if len(set(sides)) == 1 else f"{min(sides)} to {max(sides)}, by layer,"
    more = "No token sees all: the library makes one global only where it is told to."
    return stacked([from_band(band, n) for band in attentions]), frozen(seen), _WINDOW.format(width, more)


def _longt5(config: Any, attentions: Sequence[Tensor], n: int) -> tuple[Floats, Bools | None, str]:
    side = int(config.local_radius)
    seen = mask(window(side, side), n)[None, None]
    more = "" if config.encoder_attention_type == "local" else _SUMMED.format("one summary of every block of the text")
    weights = stacked([from_near(near[0], n)[None] for near in attentions])
    return weights, seen, _WINDOW.format(side, more).strip()


def _pegasus_x(config: Any, attentions: Sequence[Any], n: int) -> tuple[Floats, Bools | None, str]:
    size = int(config.block_size)
    made = [from_own(found["local"][0], n, before(config, layer))[None] for layer, found in enumerate(attentions)]
    seen = np.stack([together(n, size, before(config, layer)) for layer in range(len(made))])[:, None]
    moved = ", which every second layer moves by half" if config.stagger_local_blocks else ""
    more = _SUMMED.format(f"{config.num_global_tokens} global tokens")
    return stacked(made), frozen(seen), f"Blocks of {size} tokens{moved}. {more}"


def _bigbird(config: Any, attentions: Sequence[Tensor], n: int) -> tuple[Floats, Bools | None, str]:
    if config.attention_type == "original_full" or n <= most_at_once(config):
        return stacked(attentions), None, ""
    from core.efficiency.layout import Sparsity

    sparsity = Sparsity(block_size=config.block_size, random_blocks=config.num_random_blocks, draw="library")
    pattern: Pattern = sparsity.pattern(n, 0, 0)
    note = (
        f"Blocks of {config.block_size} tokens. In place of random ones the library takes the first block, which so "
        "counts more than once."
    )
    weights = stacked([_counted(layer, n, int(config.block_size)) for layer in attentions])
    return weights, mask(pattern, n)[None, None], note


def _counted(weights: Tensor, n: int, size: int) -> Tensor:
    """(1, H, n', n') to (1, H, n, n): the first block's copies, of which the library returns one, taken together.

    They have the same scores, so that what a row lacks to one is shared among its keys of that block as the rest is.
    """
    found = weights[:, :, :n, :n].clone()
    first = found[..., :size]
    first *= 1 + (1 - found.sum(-1, keepdim=True)) / first.sum(-1, keepdim=True)
    return found


_MADE = {"led": _led, "longt5": _longt5, "pegasus_x": _pegasus_x, "bigbird_pegasus": _bigbird}
