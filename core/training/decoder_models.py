r"""Small decoders from a recipe's ``[model]`` table, by its ``type``; random weights, dropout off.

=========  ==========================================================================================================
gpt2       learned positions, full attention (Radford et al., 2019); the type of a table that names none
gpt-neo    layers take turns: global ones see all that came before, local ones the last :math:`w` tokens (Black et al.,
           2021); position :math:`i` attends to :math:`j` with :math:`i - w < j \le i`
llama      rotary positions (Su et al., 2021), :math:`x / \mathrm{rms}(x)` norms (Zhang & Sennrich, 2019), SwiGLU
           :math:`W_d(\mathrm{silu}(W_g x) \odot W_u x)` (Shazeer, 2020), grouped queries (Ainslie et al., 2023)
ctrl       sinusoidal positions, embeddings times :math:`\sqrt d` (Keskar et al., 2019)
=========  ==========================================================================================================

A Llama's rotation by position :math:`m` turns the pair :math:`k` of a query or key by :math:`m \theta^{-2k/d_h}`, so
that their product depends on the distance alone; with G query heads for one key-value head it keeps 1 / G of the keys.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from core.training.recipe import RecipeError

Settings = dict[str, Any]


def new_decoder(settings: Settings, vocabulary: int, end: int) -> Any:
    """A transformers model with a language-model head, tied to its embeddings.

    Args:
        settings: ``positions``, ``width``, ``layers``, ``heads`` and what the type needs beyond them.
        vocabulary: tokens.
        end: id of the token that begins and ends a text.

    Raises:
        RecipeError: the type is unknown.
    """
    kind = str(settings.get("type", "gpt2"))
    if kind not in TYPES:
        raise RecipeError(f"There is no decoder of the type {kind!r}; use one of: {', '.join(TYPES)}.")
    made = TYPES[kind](settings, {"vocab_size": vocabulary, "bos_token_id": end, "eos_token_id": end})
    for module in made.modules():
        if type(getattr(module, "act", None)).__name__ == "NewGELUActivation":
            module.act = nn.GELU(approximate="tanh")  # the same function, in one kernel
    return made


def _gpt2(settings: Settings, common: Settings) -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        n_positions=settings["positions"],
        n_embd=settings["width"],
        n_layer=settings["layers"],
        n_head=settings["heads"],
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        **common,
    )
    config._attn_implementation = "sdpa"
    return GPT2LMHeadModel(config)


def _gpt_neo(settings: Settings, common: Settings) -> Any:
    from transformers import GPTNeoConfig, GPTNeoForCausalLM

    config = GPTNeoConfig(
        max_position_embeddings=settings["positions"],
        hidden_size=settings["width"],
        num_layers=settings["layers"],
        num_heads=settings["heads"],
        attention_types=[[["global", "local"], settings["layers"] // 2]],
        window_size=settings["window"],
        resid_dropout=0.0,
        embed_dropout=0.0,
        attention_dropout=0.0,
        **common,
    )
    config._attn_implementation = "eager"  # the library has no fused kernel for it
    return GPTNeoForCausalLM(config)


def _llama(settings: Settings, common: Settings) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        max_position_embeddings=settings["positions"],
        hidden_size=settings["width"],
        num_hidden_layers=settings["layers"],
        num_attention_heads=settings["heads"],
        num_key_value_heads=settings["key_value_heads"],
        intermediate_size=settings["inner"],
        tie_word_embeddings=True,
        **common,
    )
    config._attn_implementation = "sdpa"
    return LlamaForCausalLM(config)


def _ctrl(settings: Settings, common: Settings) -> Any:
    from transformers import CTRLConfig, CTRLLMHeadModel

    config = CTRLConfig(
        n_positions=settings["positions"],
        n_embd=settings["width"],
        n_layer=settings["layers"],
        n_head=settings["heads"],
        dff=settings["inner"],
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        **common,
    )
    config._attn_implementation = "sdpa"
    return CTRLLMHeadModel(config)


TYPES: dict[str, Callable[[Settings, Settings], Any]] = {
    "gpt2": _gpt2,
    "gpt-neo": _gpt_neo,
    "llama": _llama,
    "ctrl": _ctrl,
}
"""What a recipe's ``[model] type`` may be."""
