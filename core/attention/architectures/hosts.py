"""Where attention stands in architectures that a host may add: none of them ships with the app.

The same table as that of `core.attention.architectures.layout`, which holds both. What differs between settings of one
architecture (Falcon has slopes or turns, and shares keys in three ways) is decided by the modules themselves, in
`core.attention.architectures.scores`.
"""

from __future__ import annotations

from dataclasses import replace

from core.attention.architectures import older
from core.attention.architectures.attends import (
    BART,
    BERT,
    LLAMA,
    QWEN3,
    T5,
    TURNED,
    UNSCALED,
    Attends,
    bert,
)

SUMMARIES = "longt5 with summaries"
"""The type of a LongT5 whose tokens also see a summary of every block of the text."""
_SLOPED = "The score has one more term, which grows with the key's place by a slope of the head's own."
_BIASED = "The score has one more term, a number for the distance."
_IN_TURN = f"{TURNED[:-1]}, in the layers that turn them."
_BUNDLED = "query_key_value:0/3b query_key_value:1/3b query_key_value:2/3b"
_BY_HEAD = _BUNDLED.replace("b", "h")
_CODE = "c_attn:0/3b c_attn:1/3b c_attn:2/3b"
_NEIGHBOURS = replace(LLAMA, score="neighbours")
_NORMED = "Queries and keys are shown after their norms and the turn by their positions."
_PLAIN = Attends("layers.{i}.self_attn", "layers.{i}.self_attn.out_proj", "q_proj k_proj v_proj")
_XLM = Attends("attentions.{i}", "attentions.{i}.out_lin", "q_lin k_lin v_lin", mask="mask")
_CROSS = replace(
    BART["cross"], module="decoder.layers.{i}.cross_attention", out="decoder.layers.{i}.cross_attention.out_proj"
)
_LED = "encoder.layers.{i}.self_attn"
_PARTS = "Queries and keys of the text's tokens alone; {} have some, too, and take a part of every row."


def _longt5(name: str, note: str) -> dict[str, Attends]:
    own = f"encoder.block.{{i}}.layer.0.{name}"
    return T5 | {"encoder": Attends(own, f"{own}.o", "q k v", "long", "one", "mask", note=note)}


TABLE: dict[str, dict[str, Attends]] = {
    # encoders
    "data2vec-text": BERT,
    "ernie": BERT,
    "eurobert": {"encoder": LLAMA},
    "flaubert": {"encoder": _XLM},
    "gte": {"encoder": LLAMA},
    "jina_embeddings_v3": {"encoder": LLAMA},
    "layoutlm": BERT,
    "luke": BERT,
    "megatron-bert": BERT,
    "mobilebert": {"encoder": bert()},
    "mpnet": {
        "encoder": Attends(
            "encoder.layer.{i}.attention.attn", "encoder.layer.{i}.attention.attn.o", "q k v", "placed", note=_BIASED
        )
    },
    "nomic_bert": {"encoder": LLAMA},
    "rembert": BERT,
    "roberta-prelayernorm": BERT,
    "roc_bert": BERT,
    "roformer": {
        "encoder": bert(score="paired", note=TURNED),
        "decoder": bert(score="paired", note=TURNED),
        "cross": bert("crossattention"),
    },
    "xlm-roberta-xl": BERT,
    "xmod": BERT,
    # decoders
    "apertus": {"decoder": QWEN3},
    "arcee": {"decoder": LLAMA},
    "biogpt": {"decoder": _PLAIN},
    "bitnet": {"decoder": LLAMA},
    "bloom": {
        "decoder": Attends("h.{i}.self_attention", "h.{i}.self_attention.dense", _BY_HEAD, "sloped", note=_SLOPED)
    },
    "cohere": {"decoder": replace(_NEIGHBOURS, norms="q_norm k_norm")},
    "cohere2": {"decoder": replace(_NEIGHBOURS, note=_IN_TURN)},
    "cwm": {"decoder": LLAMA},
    "ernie4_5": {"decoder": _NEIGHBOURS},
    "ernie4_5_moe": {"decoder": _NEIGHBOURS},
    "exaone4": {"decoder": replace(QWEN3, note=_IN_TURN)},
    "falcon": {
        "decoder": Attends(
            "h.{i}.self_attention",
            "h.{i}.self_attention.dense",
            _BUNDLED,
            "sloped",
            note="Queries and keys are shown after the turn by their positions, in models that turn them; in others "
            "the score has one more term, which grows with the key's place by a slope of the head's own.",
        )
    },
    "flex_olmo": {"decoder": QWEN3},
    "glm": {"decoder": _NEIGHBOURS},
    "glm4": {"decoder": _NEIGHBOURS},
    "gpt_bigcode": {
        "decoder": Attends("h.{i}.attn", "h.{i}.attn.c_proj", _CODE, scale="own"),
    },
    "gpt_neox_japanese": {
        "decoder": Attends("layers.{i}.attention", "layers.{i}.attention.dense", _BY_HEAD, "turned", note=TURNED)
    },
    "granite": {"decoder": replace(LLAMA, scale="own")},
    "granitemoe": {"decoder": replace(LLAMA, scale="own")},
    "helium": {"decoder": _NEIGHBOURS},
    "mellum": {"decoder": QWEN3},
    "ministral": {"decoder": LLAMA},
    "mixtral": {"decoder": LLAMA},
    "modernbert-decoder": {"decoder": replace(LLAMA, module="layers.{i}.attn", out="layers.{i}.attn.Wo")},
    "mpt": {
        "decoder": Attends(
            "blocks.{i}.attn", "blocks.{i}.attn.out_proj", "Wqkv:0/3 Wqkv:1/3 Wqkv:2/3", "sloped", note=_SLOPED
        )
    },
    "nemotron": {"decoder": LLAMA},
    "olmo": {"decoder": LLAMA},
    "olmoe": {"decoder": QWEN3},
    "persimmon": {
        "decoder": Attends(
            "layers.{i}.self_attn",
            "layers.{i}.self_attn.dense",
            _BY_HEAD,
            "turned",
            note=_NORMED,
            norms="q_layernorm k_layernorm",
        )
    },
    "phimoe": {"decoder": LLAMA},
    "qwen2_moe": {"decoder": LLAMA},
    "qwen3_moe": {"decoder": QWEN3},
    "seed_oss": {"decoder": LLAMA},
    "stablelm": {"decoder": replace(LLAMA, norms="q_layernorm k_layernorm")},
    "starcoder2": {"decoder": LLAMA},
    "vaultgemma": {"decoder": replace(LLAMA, score="capped", scale="own")},
    "xglm": {"decoder": _PLAIN},
    # encoder-decoders
    "bigbird_pegasus": BART
    | {"encoder": Attends(f"{_LED}.self", f"{_LED}.output", score="long", heads="encoder_attention_heads")},
    "blenderbot": BART,
    "blenderbot-small": BART,
    "led": BART
    | {
        "encoder": Attends(
            f"{_LED}.longformer_self_attn", f"{_LED}.output", score="long", heads="encoder_attention_heads"
        )
    },
    "longt5": _longt5("LocalSelfAttention", f"{UNSCALED}, before a number for the distance is added."),
    SUMMARIES: _longt5(
        "TransientGlobalSelfAttention",
        f"{UNSCALED}, before a number for the distance is added. " + _PARTS.format("summaries of blocks"),
    ),
    "mvp": BART,
    "nllb-moe": BART | {"cross": _CROSS},
    "pegasus": BART,
    "pegasus_x": BART | {"encoder": replace(BART["encoder"], score="long", note=_PARTS.format("global tokens"))},
    "plbart": BART,
    "switch_transformers": T5,
    "umt5": {kind: replace(entry, mask="attention_mask") for kind, entry in T5.items()},
} | older.TABLE
