"""The shape of a size in the same three words whatever its configuration calls them: layers, width, heads."""

from __future__ import annotations

from typing import Any

from core.catalogue.schema import Size

_LAYERS = ("num_hidden_layers", "n_layers", "n_layer", "num_layers")
_WIDTH = ("hidden_size", "d_model", "n_embd", "emb_dim", "dim")
_HEADS = ("num_attention_heads", "num_heads", "n_heads", "n_head", "encoder_attention_heads")


def shape(size: Size) -> tuple[str, str, str]:
    """Layers, width and attention heads as text; ``""`` for what the record leaves to the library's default.

    Encoder-decoders give their layers as ``"6 + 6"``, and two towers everything so: the text's, the image's.
    """
    values = size.overrides
    if "text_config" in values:
        towers = [values[part] for part in ("text_config", "vision_config")]
        layers, width, heads = (
            " + ".join(_first(tower, names) for tower in towers) for names in (_LAYERS, _WIDTH, _HEADS)
        )
        return layers, width, heads
    if "encoder_layers" in values:
        layers = f"{values['encoder_layers']} + {values['decoder_layers']}"
    else:
        layers = _first(values, _LAYERS)
        if layers and "T5" in size.architecture:
            layers = f"{layers} + {values.get('num_decoder_layers', layers)}"
    return layers, _first(values, _WIDTH), _first(values, _HEADS)


def _first(values: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((f"{values[name]:,}" for name in names if name in values), "")
