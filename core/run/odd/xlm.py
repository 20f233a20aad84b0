"""XLM, whose mask is one of tokens, not of pairs."""

from __future__ import annotations

from torch import Tensor
from transformers.cache_utils import EncoderDecoderCache
from transformers.models.xlm.modeling_xlm import MultiHeadAttention

from core.run.attend import attend
from core.run.model import Cache


class SelfAttention(MultiHeadAttention):  # type: ignore[misc]
    def forward(
        self,
        input: Tensor,
        mask: Tensor,
        kv: Tensor | None = None,
        cache: Cache | None = None,
        output_attentions: bool = False,
        **more: object,
    ) -> tuple[Tensor, ...]:
        """As the library's; ``mask`` is (R, n) or (R, n, n), 1 where a key may be attended to."""
        if kv is not None:
            across: tuple[Tensor, ...] = super().forward(input, mask, kv, cache, output_attentions, **more)
            return across
        query, key, value = (
            part(input).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
            for part in (self.q_lin, self.k_lin, self.v_lin)
        )
        if cache is not None:
            self_cache = cache.self_attention_cache if isinstance(cache, EncoderDecoderCache) else cache
            key, value = self_cache.update(key, value, self.layer_id)
        allowed = (mask[:, None] if mask.dim() == 3 else mask[:, None, None]) != 0
        z, weights = attend(self, query, key, value, allowed, dropout=self.dropout)
        output = self.out_lin(z.flatten(2))
        return (output, weights) if output_attentions else (output,)


OURS = {MultiHeadAttention: SelfAttention}
