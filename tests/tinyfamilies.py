"""A tiny random model of every live family, in memory: for tests that one rule holds for all of them.

Every number is drawn, biases and norms included, so that a bias that is left out or a norm that is taken for another
one shows. ``FAMILIES`` and ``RELATIVES`` map a name to how it is made; ``make(name)`` builds it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from core.checkpoints.families import Kind
from core.checkpoints.spec import Checkpoint, CheckpointSpec
from tests import tiny

if TYPE_CHECKING:
    from torch import Tensor

    from core.language.inputs import Inputs

POSITIONS = 64
UNBOUNDED = 2_000_000
"""Of the tokenizers: what bounds a text is the model."""
PLAIN = "The cat sat on the mat and looked at the dog."
MASKED = "The cat [MASK] on the mat and looked at the dog."

_ENCODER: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": POSITIONS,
}
_PADDED = _ENCODER | {"max_position_embeddings": POSITIONS + 2}
_LLAMA = _ENCODER | {"num_attention_heads": 4, "num_key_value_heads": 2}
_GPT: dict[str, Any] = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": POSITIONS}
T5: dict[str, Any] = {
    "d_model": 16,
    "d_kv": 6,
    "d_ff": 24,
    "num_layers": 2,
    "num_decoder_layers": 3,
    "num_heads": 2,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 12,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "decoder_start_token_id": 0,
}
BART: dict[str, Any] = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 20,
    "max_position_embeddings": POSITIONS,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 1,
    "decoder_start_token_id": 1,
    "forced_eos_token_id": None,
}
_DEBERTA: dict[str, Any] = {
    "relative_attention": True,
    "position_biased_input": False,
    "pos_att_type": ["c2p", "p2c"],
    "type_vocab_size": 0,
    "max_relative_positions": 8,
    "norm_rel_ebd": "layer_norm",
}
_XLNET: dict[str, Any] = {
    "d_model": 16,
    "n_layer": 2,
    "n_head": 2,
    "d_inner": 24,
    "mem_len": None,
    "pad_token_id": 0,
    "bos_token_id": 2,
    "eos_token_id": 3,
}


_XLM: dict[str, Any] = {
    "emb_dim": 16,
    "n_layers": 2,
    "n_heads": 2,
    "max_position_embeddings": POSITIONS,
    "pad_index": 0,
    "pad_token_id": 0,
}


class Family(NamedTuple):
    """How a model is made."""

    model: str
    """transformers' class."""
    kind: Kind
    settings: dict[str, Any]


FAMILIES: dict[str, Family] = {
    "bert": Family("BertForMaskedLM", "masked-lm", _ENCODER),
    "roberta": Family("RobertaForMaskedLM", "masked-lm", _PADDED),
    "electra": Family("ElectraForMaskedLM", "masked-lm", _ENCODER | {"embedding_size": 8}),
    "electra-judge": Family("ElectraForPreTraining", "replaced-token", _ENCODER | {"embedding_size": 16}),
    "albert": Family("AlbertForMaskedLM", "masked-lm", _ENCODER | {"embedding_size": 8, "num_hidden_layers": 3}),
    "distilbert": Family(
        "DistilBertForMaskedLM",
        "masked-lm",
        {"dim": 16, "hidden_dim": 24, "n_layers": 2, "n_heads": 2, "max_position_embeddings": POSITIONS},
    ),
    "big_bird": Family(
        "BigBirdForMaskedLM",
        "masked-lm",
        _ENCODER
        | {
            "block_size": 4,
            "num_random_blocks": 1,
            "attention_type": "block_sparse",
            "max_position_embeddings": 128,
            "rescale_embeddings": True,
        },
    ),
    "longformer": Family(
        "LongformerForMaskedLM",
        "masked-lm",
        _ENCODER | {"attention_window": [4, 6], "max_position_embeddings": POSITIONS + 1, "type_vocab_size": 1},
    ),
    "deberta-v2": Family("DebertaV2ForMaskedLM", "masked-lm", _ENCODER | _DEBERTA),
    "xlm": Family(
        "XLMWithLMHeadModel",
        "masked-lm",
        _XLM | {"n_langs": 3, "use_lang_emb": True, "lang_id": 1, "causal": False},
    ),
    "xlnet": Family("XLNetLMHeadModel", "permutation-lm", _XLNET),
    "xlnet-left": Family("XLNetLMHeadModel", "causal-lm", _XLNET | {"attn_type": "uni", "mem_len": 32}),
    "gpt2": Family("GPT2LMHeadModel", "causal-lm", _GPT | {"scale_attn_by_inverse_layer_idx": True}),
    "gpt_neo": Family(
        "GPTNeoForCausalLM",
        "causal-lm",
        {
            "hidden_size": 16,
            "num_layers": 2,
            "num_heads": 2,
            "attention_types": [[["global", "local"], 1]],
            "window_size": 4,
            "max_position_embeddings": POSITIONS,
        },
    ),
    "ctrl": Family("CTRLLMHeadModel", "causal-lm", _GPT | {"dff": 24}),
    "reformer": Family(
        "ReformerModelWithLMHead",
        "causal-lm",
        {
            "hidden_size": 16,
            "num_attention_heads": 2,
            "attention_head_size": 8,
            "attn_layers": ["local", "lsh"],
            "feed_forward_size": 24,
            "hidden_act": "gelu",
            "lsh_attn_chunk_length": 8,
            "local_attn_chunk_length": 8,
            "num_buckets": 4,
            "num_hashes": 2,
            "axial_pos_shape": (8, 8),
            "axial_pos_embds_dim": (8, 8),
            "max_position_embeddings": POSITIONS,
            "is_decoder": True,
            "pad_token_id": 0,
            "eos_token_id": 1,
            "tie_word_embeddings": False,
        },
    ),
    "llama": Family("LlamaForCausalLM", "causal-lm", _LLAMA),
    "t5": Family("T5ForConditionalGeneration", "seq2seq-lm", T5),
    "t5-gated": Family(
        "T5ForConditionalGeneration",
        "seq2seq-lm",
        T5 | {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
    ),
    "bart": Family("BartForConditionalGeneration", "seq2seq-lm", BART),
    "m2m_100": Family("M2M100ForConditionalGeneration", "seq2seq-lm", BART | {"bos_token_id": 2}),
    "bert2bert": Family("EncoderDecoderModel", "seq2seq-lm", _ENCODER),
}
"""Of the models that come with the app."""
RELATIVES: dict[str, Family] = {
    "camembert": Family("CamembertForMaskedLM", "masked-lm", _PADDED),
    "xlm-roberta": Family("XLMRobertaForMaskedLM", "masked-lm", _PADDED),
    "deberta-v2-conv": Family(
        "DebertaV2ForMaskedLM",
        "masked-lm",
        _ENCODER
        | _DEBERTA
        | {
            "share_att_key": True,
            "position_buckets": 6,
            "max_relative_positions": 32,
            "conv_kernel_size": 3,
            "conv_act": "gelu",
            "type_vocab_size": 2,
            "position_biased_input": True,
        },
    ),
    "openai-gpt": Family("OpenAIGPTLMHeadModel", "causal-lm", _GPT),
    "mistral": Family(
        "MistralForCausalLM",
        "causal-lm",
        _LLAMA | {"sliding_window": 5, "head_dim": 6},
    ),
    "qwen2": Family("Qwen2ForCausalLM", "causal-lm", _ENCODER | {"num_key_value_heads": 1}),
    "mt5": Family("MT5ForConditionalGeneration", "seq2seq-lm", T5 | {"feed_forward_proj": "gated-gelu"}),
    "pegasus": Family("PegasusForConditionalGeneration", "seq2seq-lm", BART),
}
"""Built of nearly the same parts; a host may add them. Tests of the night hold them to what holds of the others."""


@lru_cache
def tokenizer_of(kind: Kind) -> Any:
    """WordPiece for models that fill masks, bytes for those that continue, Unigram for those that rewrite."""
    if kind == "causal-lm":
        return tiny.bytelevel_tokenizer(UNBOUNDED)
    return tiny.metaspace_tokenizer(UNBOUNDED) if kind == "seq2seq-lm" else tiny.wordpiece_tokenizer(UNBOUNDED)


def make(name: str, **settings: Any) -> Checkpoint:
    """A random checkpoint of a family, in evaluation mode with eager attention; the same numbers every time."""
    import torch

    family = (FAMILIES | RELATIVES)[name]
    tokenizer = tokenizer_of(family.kind)
    torch.manual_seed(0)
    model = build(family, family.settings | settings | {"vocab_size": len(tokenizer)})
    return drawn(name, family.kind, model)


def drawn(name: str, kind: Kind, model: Any) -> Checkpoint:
    """The model with every number drawn, in evaluation mode, as a checkpoint of that name."""
    import torch

    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.3)
    return Checkpoint(model.eval().requires_grad_(False), tokenizer_of(kind), spec_of(name, kind))


def spec_of(name: str, kind: Kind, **fields: Any) -> CheckpointSpec:
    """The spec of a model that stands in no folder."""
    return CheckpointSpec(name, name, None, "encoder", kind, "directory", "a test", "-", True, **fields)


def loaded(folder: Path, kind: Kind, name: str = "Tiny", **fields: Any) -> Checkpoint:
    """The model of a folder of `tests.tiny`, as the app loads it."""
    from core.checkpoints.loading import read_checkpoint

    return read_checkpoint(replace(spec_of(name, kind, **fields), location=str(folder)))


def build(family: Family, settings: dict[str, Any]) -> Any:
    """The model of a family at other settings."""
    import transformers

    if family.model == "EncoderDecoderModel":
        half = transformers.BertConfig(**settings)
        other = transformers.BertConfig(**(settings | {"num_hidden_layers": 3, "num_attention_heads": 4}))
        config = transformers.EncoderDecoderConfig.from_encoder_decoder_configs(half, other)
        config.decoder_start_token_id, config.pad_token_id, config.eos_token_id = 0, 0, 1
        config._attn_implementation = "eager"
        return transformers.EncoderDecoderModel(config)
    model_class = getattr(transformers, family.model)
    if "emb_dim" in settings:
        settings = settings | {"n_words": settings["vocab_size"]}
    return model_class._from_config(model_class.config_class(**settings), attn_implementation="eager")


def text_for(checkpoint: Checkpoint) -> str:
    """A text with a mask for a model that fills masks, one without for others."""
    return MASKED if checkpoint.spec.kind in ("masked-lm", "permutation-lm") else PLAIN


def answer_of(model: Any, question: Inputs) -> Tensor:
    """(V,) log-probabilities of the answer to a question as the demos of each kind compute them."""
    import torch

    from core.language.fill_mask import masked_logits
    from core.language.permuted import at_once

    ids, position = question.tensors["input_ids"], question.position
    with torch.inference_mode():
        match question.checkpoint.spec.kind:
            case "masked-lm":
                scores = masked_logits(model, ids, (position,))[0]
            case "permutation-lm":
                scores = at_once(model, ids, (position,))[0]
            case "replaced-token":
                verdict = model(**question.tensors).logits[0, position]
                scores = torch.stack([verdict, torch.zeros(())])
            case _:
                scores = model(**question.tensors).logits[0, -1]
    return scores.log_softmax(-1)
