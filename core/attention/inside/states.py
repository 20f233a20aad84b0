"""The states of every token after every layer, as each architecture has them.

Entry 0 is what comes into the first block; the last one has been through the norm that follows all blocks, where there
is one. A Reformer's two streams stand side by side.

Legend: L layers, n tokens, w width (twice that of a stream in a Reformer).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from core.attention.architectures.layout import AttentionLayer, stacks
from core.attention.architectures.recording import Recorder, run
from core.attention.architectures.vectors import attention_layers
from core.checkpoints.spec import Checkpoint

if TYPE_CHECKING:
    from torch import Tensor


def by_layer(
    checkpoint: Checkpoint, model: Any, inputs: Mapping[str, Any], side: Literal["encoder", "decoder"] | None = None
) -> Tensor:
    """(L + 1, n, w) states of one row.

    Args:
        model: a private twin of the checkpoint's model, as `core.attention.architectures.recorder.private` makes it.
        inputs: one row, named as the forward pass takes them; the encoder of an encoder-decoder needs no more than
            ``input_ids`` and ``attention_mask``. With a ``target_mapping`` the states are those of XLNet's query
            stream, whose n is the number of targets.
        side: of an encoder-decoder, by default the decoder; other models have one.
    """
    import torch

    stack = stacks(checkpoint)[-1]
    with torch.inference_mode():
        if stack.type == "reformer":
            return _reversible(model, attention_layers(checkpoint)["decoder"], inputs)
        if stack.type == "longformer":
            return _windowed(model, attention_layers(checkpoint)["encoder"], inputs)
        if checkpoint.spec.kind != "seq2seq-lm":
            kept: Sequence[Tensor] = run(model.base_model, inputs, output_hidden_states=True).hidden_states
        elif side == "encoder":
            read = {name: inputs[name] for name in ("input_ids", "attention_mask") if name in inputs}
            kept = run(model.get_encoder(), read, output_hidden_states=True).hidden_states
        else:
            kept = run(model, inputs, output_hidden_states=True).decoder_hidden_states
        if "target_mapping" in inputs:  # XLNet gives both streams by turns
            kept = kept[1::2]
        return torch.stack([state[0] for state in kept])


def _windowed(model: Any, layers: tuple[AttentionLayer, ...], inputs: Mapping[str, Any]) -> Tensor:
    """Longformer's pass calls the parts of its layers, the last of which gives the state."""
    import torch

    recorder = Recorder(model)
    paths = [layers[0].path("embeddings"), *(layer.path("encoder.layer.{i}.output") for layer in layers)]
    recorder.record(*paths)
    run(model, inputs)
    return torch.stack([recorder.calls(path)[0].output[0] for path in paths])


def _reversible(model: Any, layers: tuple[AttentionLayer, ...], inputs: Mapping[str, Any]) -> Tensor:
    """A Reformer has two streams: attention adds to the first, the feed-forward part to the second.

    Here no norm follows the last block yet.
    """
    import torch

    from core.efficiency.reformer import states as hashed

    ids = inputs["input_ids"]
    recorder = Recorder(model)
    begin = layers[0].path("embeddings")
    adds = [(one.path(one.names.out), one.path("encoder.layers.{i}.feed_forward")) for one in layers]
    recorder.record(begin, *(path for pair in adds for path in pair))
    hashed(model, ids)

    def of(path: str) -> Tensor:
        found: Tensor = recorder.calls(path)[0].output[0][: ids.shape[1]]
        return found

    first = second = of(begin)
    found = [torch.cat((first, second), dim=-1)]
    for attention, forward in adds:
        first = first + of(attention)
        second = second + of(forward)
        found.append(torch.cat((first, second), dim=-1))
    return torch.stack(found)
