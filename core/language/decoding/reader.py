"""Decoding step by step with a KV cache; one step before and after a rule, with the tokens that it removes.

A decoder predicts p(w_t | w_<t), with an encoder p(w_t | w_<t, source). At every step one token is chosen and fed back.
The keys and values of earlier tokens are cached (the KV cache), so that a step processes one token; the first step
processes the whole prompt.

Shapes: B hypotheses, q tokens read in a step, V vocabulary.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from core.checkpoints.families.architectures import has
from core.language import segments
from core.language.decoding import rules
from core.language.decoding.rules import Rule, spread_of
from core.language.inputs import Inputs
from core.language.tokens import Wording, max_tokens
from core.language.types import Decoding
from core.lazy import Tensor, torch
from core.run.model import Model, call

_TOKENS_AT_ONCE = 32
"""Tokens of a known text in one forward pass: their logits are held together."""


def room(start: Inputs) -> int | None:
    """How many more tokens have positions; None where the length is unbounded."""
    limit = max_tokens(start.checkpoint)
    return None if limit is None else limit - len(start.tokens)


def budget(start: Inputs, decoding: Decoding) -> tuple[int, str]:
    """The largest number of new tokens, and what limits it."""
    most = room(start)
    if most is not None and most < decoding.max_new_tokens:
        return most, "positions"
    return decoding.max_new_tokens, "length"


class Reader:
    """A model with the cache of one generation, so that the shared model has no state."""

    def __init__(self, model: Model, source: Sequence[int] = (), *, cached: bool = True) -> None:
        """``source``: of an encoder-decoder. Without ``cached``, every step processes the whole text."""
        self.model = model
        takes = inspect.signature(model.forward).parameters
        # Transformer-XL caches states instead of keys and values, and only those of its last tokens.
        self._remembering = segments.has_memory(model)
        # GPT has no cache in transformers, a Reformer one of buckets: they process the whole text at every step.
        # RecurrentGemma stores a part of its cache in its modules, which all visitors share.
        own_state = has(model.config, "state in modules")
        self._caching = cached and "past_key_values" in takes and not own_state
        self._cache: Any = None
        self._read: Tensor | None = None
        self._fixed: dict[str, Any] = {}
        if not self._caching and "use_cache" in takes:
            self._fixed["use_cache"] = False
        if "logits_to_keep" in takes:
            self._fixed["logits_to_keep"] = 1  # only the last logits of a long prompt are used
        self._inputs = "input_ids"
        if source:
            self._inputs = "decoder_input_ids"
            with torch.inference_mode():
                ids = torch.tensor([list(source)], device=model.device)
                encoder, attended = model.get_encoder(), torch.ones_like(ids)
                self._fixed["encoder_outputs"] = call(encoder, input_ids=ids, attention_mask=attended)

    def next_logits(self, ids: Tensor) -> Tensor:
        """Process ``ids`` (B, q) and return the logits (B, V) of the next token, float32."""
        with torch.inference_mode():
            if self._remembering:
                for out in segments.run_segments(self.model, ids, self._cache, **self._fixed):
                    self._cache = out.mems
                memory_scores: Tensor = out.logits[:, -1].float()
                return memory_scores
            extra: dict[str, Any] = {}
            if self._caching:
                extra = {"use_cache": True, "past_key_values": self._cache}
            elif self._read is not None:
                ids = torch.cat((self._read, ids), 1)
            out = call(self.model, **{self._inputs: ids}, **self._fixed, **extra)
            if self._caching:
                self._cache = out.past_key_values
            else:
                self._read = ids
            scores: Tensor = out.logits[:, -1].float()
            return scores

    def read_each(self, ids: Tensor, count: int) -> Iterator[Tensor]:
        """Process ``ids`` (1, q) and yield the logits (1, V) after each of its last ``count`` tokens.

        A text that is known in advance takes one forward pass for many of its tokens, as in training.
        """
        last = ids.shape[1]
        if self._remembering or not self._caching:
            for end in range(last - count + 1, last + 1):
                yield self.next_logits(ids[:, :end] if end == last - count + 1 else ids[:, end - 1 : end])
            return
        read = 0
        while count:
            part = min(count, _TOKENS_AT_ONCE)
            end = last - count + part
            keep = {"logits_to_keep": part} if "logits_to_keep" in self._fixed else {}
            with torch.inference_mode():
                out = call(
                    self.model,
                    **{self._inputs: ids[:, read:end], **self._fixed, **keep},
                    use_cache=True,
                    past_key_values=self._cache,
                )
                self._cache = out.past_key_values
                scores = out.logits[:, -part:].float()
            yield from scores.unbind(1)
            read, count = end, count - part

    def replay(self, ids: Tensor) -> Callable[[], Tensor]:
        """A function that can be called once and reads ``ids`` from a copy of the cache."""
        copied = copy.copy(self)
        copied._cache = copy.deepcopy(self._cache)
        return lambda: copied.next_logits(ids)

    def cached_bytes(self) -> int:
        """Bytes of the decoder's cached keys and values."""
        cache = getattr(self._cache, "self_attention_cache", self._cache)
        return sum(t.nbytes for layer in cache.layers for t in (layer.keys, layer.values)) if cache is not None else 0

    def select(self, rows: Sequence[int]) -> None:
        """Continue with the hypotheses at ``rows``, which may repeat."""
        with torch.inference_mode():
            index = torch.tensor(rows, device=self.model.device)
            if self._read is not None:
                self._read = self._read.index_select(0, index)
            if self._remembering and self._cache is not None:
                self._cache = [state.index_select(1, index) for state in self._cache]
            elif self._cache is not None:
                self._cache.reorder_cache(index)
            encoded = self._fixed.get("encoder_outputs")
            if encoded is not None and encoded[0].shape[0] != len(rows):
                # All rows have the same source.
                encoded.last_hidden_state = encoded[0][:1].expand(len(rows), -1, -1)


def end_ids(model: Model) -> frozenset[int]:
    """The tokens that end a text."""
    config = getattr(model, "generation_config", None)
    ends = getattr(config, "eos_token_id", None)
    if ends is None:
        ends = getattr(model.config, "eos_token_id", None)
    return frozenset() if ends is None else frozenset([ends] if isinstance(ends, int) else ends)


def banned_ids(model: Model) -> list[int]:
    """Single tokens that the checkpoint's generation configuration bans (Marian bans its padding)."""
    config = getattr(model, "generation_config", None)
    words = getattr(config, "bad_words_ids", None) or []
    return sorted({word[0] for word in words if len(word) == 1} | set(getattr(config, "suppress_tokens", None) or []))


def ban_tokens(scores: Tensor, banned: Sequence[int]) -> Tensor:
    """``scores`` (..., V) with minus infinity for the ``banned`` tokens; a host's file may name others."""
    there = [token for token in banned if 0 <= token < scores.shape[-1]]
    if not there:
        return scores
    return scores.index_fill(-1, torch.tensor(there, device=scores.device), float("-inf"))


@dataclass(frozen=True, slots=True)
class TokenRow:
    """One token of the vocabulary at this step."""

    id: int
    text: str
    before: float
    after: float
    surprisal: float
    """-log2 of ``before``."""
    reached: float
    """Sum of ``before`` over this token and all that are more probable."""
    seen: bool
    """Whether it occurs in the prompt or the generated text."""

    @property
    def removed(self) -> bool:
        return self.after == 0 < self.before


@dataclass(frozen=True, slots=True)
class RuleSummary:
    """The effect of one rule on the whole distribution."""

    rule: Rule
    value: float
    remaining: int
    """Candidates after it."""
    of: int
    """Candidates before it."""
    mass: float
    """Total probability, before the rule, of the tokens that remain."""
    entropy: float
    """Bits, before it."""
    entropy_after: float


@dataclass(frozen=True, slots=True)
class RuleEffect:
    summary: RuleSummary
    rows: tuple[TokenRow, ...]
    """The most probable tokens before the rule, most probable first."""
    rest: tuple[int, float, float]
    """The other tokens: their number, their total probability before and after."""


def scores_at(start: Inputs, ids: Sequence[int]) -> Tensor:
    """(V,) the model's scores for what follows ``ids``, float32; one pass over everything."""
    model = start.checkpoint.model
    feed = torch.tensor([[*start.ids, *ids]], device=model.device)
    return ban_tokens(Reader(model, start.source_ids).next_logits(feed), banned_ids(model))[0]


def apply_at(
    start: Inputs,
    ids: Sequence[int],
    rule: Rule,
    value: float,
    first: Sequence[tuple[Rule, float]] = (),
    count: int = 16,
) -> RuleEffect:
    """The effect of ``rule`` on the token after ``ids``.

    Args:
        first: rules that come before it, with their values; applied in the order of `rules.ORDER`.
        count: how many tokens to show.
    """
    read = (*start.ids, *ids)
    with torch.inference_mode():
        scores = scores_at(start, ids)
        for name, setting in sorted(first, key=lambda pair: rules.ORDER.index(pair[0])):
            scores = rules.apply(scores, name, setting, read)
        ruled = rules.apply(scores, rule, value, read)
        before, after = scores.softmax(-1), ruled.softmax(-1)
        best = before.topk(min(count, len(before)))
        reached = best.values.double().cumsum(-1).tolist()
        surprisals = (-best.values.log2()).tolist()
        wording, read_before = Wording(start.checkpoint.tokenizer), set(read)
        best_ids = best.indices.tolist()
        columns = (best.values.tolist(), after[best.indices].tolist(), surprisals, reached)
        rows = tuple(
            TokenRow(i, wording.token(i), p, q, s, r, i in read_before)
            for i, p, q, s, r in zip(best_ids, *columns, strict=True)
            if p > 0
        )
        shown = sum(row.before for row in rows), sum(row.after for row in rows)
        summary = _summarize(rule, value, scores, ruled)
    unlisted = summary.of - len(rows)
    return RuleEffect(
        summary,
        rows,
        (unlisted, max(0.0, 1 - shown[0]) if unlisted else 0.0, max(0.0, 1 - shown[1]) if unlisted else 0.0),
    )


def summarize_rules(start: Inputs, ids: Sequence[int], values: Sequence[tuple[Rule, float]]) -> tuple[RuleSummary, ...]:
    """The effect of each rule alone on the token after ``ids``."""
    read = (*start.ids, *ids)
    out: list[RuleSummary] = []
    with torch.inference_mode():
        scores = scores_at(start, ids)
        for rule, value in values:
            out.append(_summarize(rule, value, scores, rules.apply(scores, rule, value, read)))
    return tuple(out)


def _summarize(rule: Rule, value: float, scores: Tensor, ruled: Tensor) -> RuleSummary:
    before, after = scores.softmax(-1), ruled.softmax(-1)
    (entropy, of), (entropy_after, remaining) = spread_of(before, scores), spread_of(after, ruled)
    mass = float(before[~ruled.isneginf()].sum())
    return RuleSummary(rule, value, remaining, of, mass, entropy, entropy_after)
