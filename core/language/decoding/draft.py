r"""Speculative decoding: a small model drafts tokens, the large one verifies them in a single pass.

In every round the draft model generates γ tokens, and the target model verifies them in one pass. Tokens are accepted
from left to right up to the first rejection; then the target model adds a token of its own, so a round yields 1 to
γ + 1 tokens. Under greedy decoding a token is accepted if it is the target model's own choice. When sampling, with p of
the target and q of the draft model, token x is accepted with probability

.. math:: \min\bigl(1, p(x) / q(x)\bigr)

and the token after a rejection is sampled from the normalized :math:`\max(0, p - q)`, so that the text has the target
model's own distribution (Leviathan et al. 2023, arXiv 2211.17192; Chen et al. 2023, arXiv 2302.01318). If every token
is accepted with probability α, a round yields

.. math:: (1 - \alpha^{\gamma + 1}) / (1 - \alpha)

tokens on average. The loop is transformers' assisted generation; here its rounds are recorded.

Penalties change the scores of both models before the comparison. A stop text ends the generation after the round that
completes it.

The surprisal of each token under the target model takes one pass over the prompt and the generated text. With
:math:`p_t` its probabilities for the token at position t,

.. math:: s_t = -\log_2 p_t(x_t), \qquad H_t = -\sum_v p_t(v) \log_2 p_t(v)

are surprisal and entropy (`core.language.types.Spread`).
"""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable, OutOfRange
from core.language.decoding import rules
from core.language.decoding.reader import ban_tokens, banned_ids
from core.language.tokens import Wording
from core.language.types import Decoding
from core.lazy import Tensor, torch, transformers
from core.run.model import Model, call, explained
from core.turns import turns

MOST_AHEAD = 12
_NONE = Decoding()
_sampling = threading.Lock()
"""transformers samples with torch's global generator, which all threads share: one text at a time."""


@dataclass(frozen=True, slots=True)
class Round:
    """One pass of the target model."""

    drafted: tuple[int, ...]
    """The draft model's tokens; none where only one more token fits."""
    accepted: int
    """How many of them, from the left, were accepted."""
    written: tuple[int, ...]
    """The tokens that the round adds: the accepted ones and one of the target model, unless the text ends before."""


@dataclass(frozen=True, slots=True)
class Drafted:
    """A text that was generated with a draft model."""

    rounds: tuple[Round, ...]
    stopped: bool = False
    """Whether it ends with a stop text."""

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(token for round_ in self.rounds for token in round_.written)

    @property
    def passes(self) -> int:
        """Passes of the target model."""
        return len(self.rounds)

    @property
    def passes_per_token(self) -> float:
        """Passes of the target model for each token; 1 without a draft model."""
        return self.passes / len(self.ids)

    @property
    def checked(self) -> int:
        """Drafted tokens that were verified: those after a rejected one are not."""
        return sum(min(round_.accepted + 1, len(round_.drafted)) for round_ in self.rounds)

    @property
    def accepted(self) -> int:
        """Drafted tokens that were accepted."""
        return sum(round_.accepted for round_ in self.rounds)

    @property
    def rate(self) -> float | None:
        """The share of the checked tokens that were accepted, α; None where none was checked."""
        return self.accepted / self.checked if self.checked else None


def expected(rate: float, ahead: int) -> float:
    """The mean number of tokens in a round if each of ``ahead`` is accepted with probability ``rate``."""
    return ahead + 1.0 if rate == 1 else (1 - rate ** (ahead + 1)) / (1 - rate)


def settings(length: int, temperature: float | None, common: Decoding = _NONE) -> dict[str, Any]:
    """The arguments of ``generate``, with a draft and without; greedy where there is no temperature."""
    arguments: dict[str, Any] = {"do_sample": False, "max_new_tokens": length}
    if temperature is not None:
        arguments |= {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0}
    if common.penalty != 1:
        arguments["repetition_penalty"] = common.penalty
    if common.no_repeat:
        arguments["no_repeat_ngram_size"] = common.no_repeat
    return arguments


def plain(
    checkpoint: Checkpoint,
    prompt: Sequence[int],
    length: int,
    temperature: float | None = None,
    seed: int = 0,
    common: Decoding = _NONE,
) -> list[int]:
    """Generate with one model alone, by ``generate`` of transformers, as the comparison for a draft.

    Args:
        common: only its penalty, ``no_repeat`` and stop texts are used.
    """
    return _generate(checkpoint, checkpoint.model, prompt, settings(length, temperature, common), seed, common.stop)


def generate_with_draft(
    checkpoint: Checkpoint,
    draft: Checkpoint,
    prompt: Sequence[int],
    length: int,
    *,
    ahead: int = 4,
    temperature: float | None = None,
    seed: int = 0,
    common: Decoding = _NONE,
    on_round: Callable[[Drafted], None] | None = None,
) -> Drafted:
    """Generate up to ``length`` tokens after ``prompt`` by speculative decoding.

    Args:
        ahead: γ, the tokens of a draft.
        temperature: to sample with, by both models; None for greedy decoding.
        common: only its penalty, ``no_repeat`` and stop texts are used.
        on_round: called after every round with the text so far; an exception ends the generation.

    Raises:
        OutOfRange: ``ahead``, ``length`` or a setting is out of range.
        InputUnusable: the two models do not share a vocabulary, or are not decoders with a cache.
    """
    from transformers.generation.candidate_generator import AssistedCandidateGenerator

    if not 1 <= ahead <= MOST_AHEAD:
        raise OutOfRange(f"A draft has 1 to {MOST_AHEAD} tokens here, not {ahead}.")
    if length < 1:
        raise OutOfRange("Generate at least one token.")
    rules.check(common)
    check(checkpoint, draft)
    rounds: list[Round] = []
    wording = Wording(checkpoint.tokenizer)

    class RecordingGenerator(AssistedCandidateGenerator):
        """transformers' candidate generator, which records its rounds; all drafts have the same length."""

        def get_candidates(self, input_ids: Tensor, **arguments: object) -> Any:
            candidates = super().get_candidates(input_ids, **arguments)
            self.start, self.proposed = input_ids.shape[1], candidates[0][0, input_ids.shape[1] :].tolist()
            return candidates

        def update_candidate_strategy(self, input_ids: Tensor, scores: Tensor, num_matches: int) -> None:
            generated = tuple(input_ids[0, self.start :].tolist())
            rounds.append(Round(tuple(self.proposed), int(num_matches), generated))
            if on_round is not None:
                on_round(until(rounds, wording, common.stop))

    # Shallow copies share the weights; generate sets attributes on them, not on the models that all visitors share.
    small = copy.copy(draft.model)
    small.generation_config = copy.deepcopy(draft.model.generation_config)
    small.generation_config.num_assistant_tokens = ahead
    small.generation_config.num_assistant_tokens_schedule = "constant"
    small.generation_config.assistant_confidence_threshold = 0.0
    large: Any = copy.copy(checkpoint.model)

    def recording(**arguments: Any) -> Any:
        return RecordingGenerator(
            input_ids=arguments["input_ids"],
            assistant_model=arguments["assistant_model"],
            generation_config=arguments["generation_config"],
            model_kwargs=arguments["model_kwargs"],
            inputs_tensor=arguments["inputs_tensor"],
            logits_processor=arguments["logits_processor"],
        )

    large._get_candidate_generator = recording
    arguments = {**settings(length, temperature, common), "assistant_model": small}
    _generate(checkpoint, large, prompt, arguments, seed, common.stop)
    return until(rounds, wording, common.stop)


def until(rounds: Sequence[Round], wording: Wording, stops: Sequence[str]) -> Drafted:
    """The text up to the token that completes one of ``stops``; tokens drafted after it do not count."""
    complete: list[Round] = []
    ids: list[int] = []
    for round_ in rounds if stops else ():
        for number, token in enumerate(round_.written, 1):
            ids.append(token)
            if _ends(wording.text(ids), stops):
                if number < len(round_.written):
                    round_ = replace(
                        round_,
                        drafted=round_.drafted[:number],
                        accepted=min(round_.accepted, number),
                        written=round_.written[:number],
                    )
                return Drafted((*complete, round_), stopped=True)
        complete.append(round_)
    return Drafted(tuple(rounds))


def _ends(text: str, stops: Sequence[str]) -> bool:
    return any(stop in text for stop in stops)


def check(checkpoint: Checkpoint, draft: Checkpoint) -> None:
    """Refuse a draft model that does not fit.

    Raises:
        InputUnusable: they do not share a vocabulary.
    """
    if checkpoint.model.config.vocab_size != draft.model.config.vocab_size:
        raise InputUnusable(
            f"{draft.spec.name} has another vocabulary than {checkpoint.spec.name}; it cannot be its draft model."
        )


def _generate(
    checkpoint: Checkpoint,
    model: Model,
    prompt: Sequence[int],
    arguments: dict[str, Any],
    seed: int,
    stops: Sequence[str],
) -> list[int]:
    """transformers' ``generate``; torch's random state is restored afterwards."""
    wording = Wording(checkpoint.tokenizer)

    class Written(transformers.StoppingCriteria):
        """Whether a stop text occurs anywhere in the generated text; transformers' own checks its end alone."""

        def __call__(self, input_ids: Tensor, scores: Tensor, **_: object) -> Tensor:
            over = _ends(wording.text(input_ids[0, len(prompt) :].tolist()), stops)
            return torch.tensor([over], device=input_ids.device)

    if stops:
        arguments = {**arguments, "stopping_criteria": transformers.StoppingCriteriaList([Written()])}

    def generate() -> list[int]:
        ids = torch.tensor([list(prompt)], device=model.device)
        end = model.generation_config.eos_token_id
        pad = end[0] if isinstance(end, list) else 0 if end is None else end
        with explained(model):
            out = model.generate(ids, attention_mask=torch.ones_like(ids), pad_token_id=pad, **arguments)
        return [int(token) for token in out[0, len(prompt) :]]

    if not arguments["do_sample"]:
        return generate()
    with turns.locked(_sampling), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return generate()


@dataclass(frozen=True, slots=True)
class Bits:
    """One token under the target model, in bits."""

    surprisal: float
    entropy: float
    """The expected surprisal."""


@dataclass(frozen=True, slots=True)
class RoundBits:
    written: tuple[Bits, ...]
    rejected: Bits | None
    """Of the first drafted token that was not accepted."""


def bits(checkpoint: Checkpoint, prompt: Sequence[int], drafted_text: Drafted) -> tuple[RoundBits, ...]:
    """Surprisal and entropy of the tokens of each round under the target model, before any rule.

    Args:
        prompt: the n ids of the prompt, at least one.
    """
    model = checkpoint.model
    ids = drafted_text.ids
    with torch.inference_mode():
        feed = torch.tensor([[*prompt, *ids]], device=model.device)
        scores = call(model, input_ids=feed).logits[0, len(prompt) - 1 : -1].float()
        logs = ban_tokens(scores, banned_ids(model)).log_softmax(-1)
        entropy: list[float] = (torch.special.entr(logs.exp()).sum(-1) / math.log(2)).tolist()

    def bits_at(index: int, token: int) -> Bits:
        return Bits(-float(logs[index, token]) / math.log(2), entropy[index])

    out: list[RoundBits] = []
    at = 0
    for round_ in drafted_text.rounds:
        written = tuple(bits_at(at + i, token) for i, token in enumerate(round_.written))
        accepted = round_.accepted
        checked = accepted < min(len(round_.drafted), len(round_.written))  # not if the text ends with an accepted one
        rejected = bits_at(at + accepted, round_.drafted[accepted]) if checked else None
        out.append(RoundBits(written, rejected))
        at += len(round_.written)
    return tuple(out)
