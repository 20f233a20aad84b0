"""GPT and GPT-Neo: the module itself masks what comes later, in every other layer of GPT-Neo all but the last few."""

from __future__ import annotations

from torch import Tensor
from transformers.models.gpt_neo.modeling_gpt_neo import GPTNeoSelfAttention
from transformers.models.openai.modeling_openai import Attention

from core.run.attend import as_allowed, attend
from core.run.model import Module


def _allowed(module: Module, queries: int, keys: int, mask: Tensor | None) -> Tensor:
    """(R or 1, 1, Q, K) True where the module's own mask and the given one, which is added, let a query attend."""
    near: Tensor = module.bias[:, :, keys - queries : keys, :keys].bool()
    return near if mask is None else near & as_allowed(mask)


class NeoAttention(GPTNeoSelfAttention):  # type: ignore[misc]
    """That of GPT-Neo, whose scores are not scaled."""

    def _attn(
        self, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        if attention_mask is None or self.attention_type == "local":  # the given one already hides what comes later
            attention_mask = _allowed(self, query.shape[-2], key.shape[-2], attention_mask)
        z, weights = attend(self, query, key, value, attention_mask, scaling=1.0, dropout=self.attn_dropout.p)
        return z.transpose(1, 2), weights


class FirstAttention(Attention):  # type: ignore[misc]
    """That of GPT."""

    def _attn(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        attention_mask: Tensor | None = None,
        output_attentions: bool = False,
    ) -> list[Tensor]:
        """``k`` comes as (R, H, d, K)."""
        key = k.transpose(-1, -2)
        allowed = _allowed(self, q.shape[-2], key.shape[-2], attention_mask)
        z, weights = attend(self, q, key, v, allowed, None if self.scale else 1.0, dropout=self.attn_dropout.p)
        return [z.transpose(1, 2), *([weights] if output_attentions else [])]


OURS = {GPTNeoSelfAttention: NeoAttention, Attention: FirstAttention}
