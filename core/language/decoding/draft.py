r"""Speculative decoding: a small model drafts, the large one checks all of it in a single pass.

In every round the draft writes γ tokens, and the large model reads them together, which costs it one pass. From left to
right each is accepted or not; after the last accepted one the large model adds a token of its own, so a round gives 1
to γ + 1 tokens. Under greedy decoding a token is accepted when it is the large model's own choice. When sampling, with
p of the large model and q of the draft, token x is accepted with probability

.. math:: \min\bigl(1, p(x) / q(x)\bigr)

and the token after a rejection is drawn from :math:`\max(0, p - q)`, scaled to sum to one: so the text is distributed
as the large model's own (Leviathan et al. 2023, arXiv 2211.17192; Chen et al. 2023, arXiv 2302.01318). If every token
is accepted with probability α, a round gives

.. math:: (1 - \alpha^{\gamma + 1}) / (1 - \alpha)

tokens on average. The loop is transformers' assisted generation; here its rounds are only written down.

Penalties change the scores of both models before they are compared, so they change nothing of this. A text to stop at
ends the writing after the round that completes it, and what that round wrote behind it is left out.

How surprising a text is to the model that checked it, token by token.

The large model reads the beginning and everything that was written in one pass. With :math:`p_t` its probabilities for
the token at place t,

.. math:: s_t = -\log_2 p_t(x_t), \qquad H_t = -\sum_v p_t(v) \log_2 p_t(v)

are surprise and entropy, as in plain decoding (`core.language.types.Spread`). A refused token stood where the large
model's own stands, so its surprise is that of the same :math:`p_t`.
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
from core.language.decoding.reader import banned_ids, without
from core.language.tokens import Wording
from core.language.types import Decoding
from core.turns import turns

MOST_AHEAD = 12
_NONE = Decoding()
_sampling = threading.Lock()
"""transformers throws torch's own dice, which all threads share: one text at a time."""


@dataclass(frozen=True, slots=True)
class Round:
    """One pass of the large model."""

    drafted: tuple[int, ...]
    """The draft's tokens; none where the text has room for one more alone."""
    accepted: int
    """How many of them, from the left, the large model took."""
    written: tuple[int, ...]
    """What the round adds to the text: the accepted tokens and one of the large model, unless the text ends before."""


@dataclass(frozen=True, slots=True)
class Drafted:
    """A text that was written with a draft."""

    rounds: tuple[Round, ...]
    stopped: bool = False
    """Whether it ends with a text to stop at."""

    @property
    def ids(self) -> tuple[int, ...]:
        """The text."""
        return tuple(token for one in self.rounds for token in one.written)

    @property
    def passes(self) -> int:
        """Passes of the large model."""
        return len(self.rounds)

    @property
    def passes_per_token(self) -> float:
        """Passes of the large model for each token; without a draft it is 1."""
        return self.passes / len(self.ids)

    @property
    def checked(self) -> int:
        """Drafted tokens that were checked: those behind a rejected one never are."""
        return sum(min(one.accepted + 1, len(one.drafted)) for one in self.rounds)

    @property
    def accepted(self) -> int:
        """Drafted tokens that stand in the text."""
        return sum(one.accepted for one in self.rounds)

    @property
    def rate(self) -> float | None:
        """The share of the checked tokens that were accepted, α; None where none was checked."""
        return self.accepted / self.checked if self.checked else None


def expected(rate: float, ahead: int) -> float:
    """Tokens that a round gives on average when each of ``ahead`` is accepted with probability ``rate``."""
    return ahead + 1.0 if rate == 1 else (1 - rate ** (ahead + 1)) / (1 - rate)


def speed_up(rate: float, ahead: int, cost: float) -> float:
    """Times that plain decoding takes as long, with a pass of the draft costing ``cost`` of one of the large model.

    The formula counts a pass over several tokens as one over a single token.
    """
    return expected(rate, ahead) / (1 + ahead * cost)


def settings(length: int, temperature: float | None, common: Decoding = _NONE) -> dict[str, Any]:
    """What ``generate`` is told, with a draft and without; greedy where there is no temperature."""
    given: dict[str, Any] = {"do_sample": False, "max_new_tokens": length}
    if temperature is not None:
        given |= {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0}
    if common.penalty != 1:
        given["repetition_penalty"] = common.penalty
    if common.no_repeat:
        given["no_repeat_ngram_size"] = common.no_repeat
    return given


def plain(
    checkpoint: Checkpoint,
    prompt: Sequence[int],
    length: int,
    temperature: float | None = None,
    seed: int = 0,
    common: Decoding = _NONE,
) -> list[int]:
    """One model alone, by transformers' ``generate``: what a draft is compared with.

    Args:
        common: its penalty, its ``no_repeat`` and its texts to stop at hold; nothing else of it is read.
    """
    return _generate(checkpoint, checkpoint.model, prompt, settings(length, temperature, common), seed, common.stop)


def drafted(
    checkpoint: Checkpoint,
    draft: Checkpoint,
    prompt: Sequence[int],
    length: int,
    *,
    ahead: int = 4,
    temperature: float | None = None,
    seed: int = 0,
    common: Decoding = _NONE,
    told: Callable[[Drafted], None] | None = None,
) -> Drafted:
    """Write up to ``length`` tokens after ``prompt``.

    Args:
        ahead: γ, the tokens of a draft.
        temperature: to sample with, by both models; None for greedy decoding.
        common: its penalty, its ``no_repeat`` and its texts to stop at hold; nothing else of it is read.
        told: called after every round with the text so far; what it raises ends the writing.

    Raises:
        OutOfRange: ``ahead``, ``length`` or a setting makes no sense.
        InputUnusable: the two models do not share a vocabulary, or are no decoders with a cache.
    """
    from transformers.generation.candidate_generator import AssistedCandidateGenerator

    if not 1 <= ahead <= MOST_AHEAD:
        raise OutOfRange(f"A draft has 1 to {MOST_AHEAD} tokens here, not {ahead}.")
    if length < 1:
        raise OutOfRange("At least one new token must be asked for.")
    rules.check(common)
    check(checkpoint, draft)
    rounds: list[Round] = []
    wording = Wording(checkpoint.tokenizer)

    class Watched(AssistedCandidateGenerator):
        """transformers' own drafting, with its rounds written down; no draft is longer or shorter than asked."""

        def get_candidates(self, input_ids: Any, **given: Any) -> Any:
            found = super().get_candidates(input_ids, **given)
            self.start, self.proposed = input_ids.shape[1], found[0][0, input_ids.shape[1] :].tolist()
            return found

        def update_candidate_strategy(self, input_ids: Any, scores: Any, num_matches: int) -> None:
            written = tuple(input_ids[0, self.start :].tolist())
            rounds.append(Round(tuple(self.proposed), int(num_matches), written))
            if told is not None:
                told(_until(rounds, wording, common.stop))

    # Shallow copies share the weights and keep what generate sets from the models that all visitors share.
    small: Any = copy.copy(draft.model)
    small.generation_config = copy.deepcopy(draft.model.generation_config)
    small.generation_config.num_assistant_tokens = ahead
    small.generation_config.num_assistant_tokens_schedule = "constant"
    small.generation_config.assistant_confidence_threshold = 0.0
    large: Any = copy.copy(checkpoint.model)

    def watched(**given: Any) -> Any:
        return Watched(
            input_ids=given["input_ids"],
            assistant_model=given["assistant_model"],
            generation_config=given["generation_config"],
            model_kwargs=given["model_kwargs"],
            inputs_tensor=given["inputs_tensor"],
            logits_processor=given["logits_processor"],
        )

    large._get_candidate_generator = watched
    given = {**settings(length, temperature, common), "assistant_model": small}
    _generate(checkpoint, large, prompt, given, seed, common.stop)
    return _until(rounds, wording, common.stop)


def _until(rounds: Sequence[Round], wording: Wording, stops: Sequence[str]) -> Drafted:
    """The text up to the token that completes one of ``stops``; what was drafted behind it counts for nothing."""
    kept: list[Round] = []
    ids: list[int] = []
    for one in rounds if stops else ():
        for number, token in enumerate(one.written, 1):
            ids.append(token)
            if _ends(wording.text(ids), stops):
                if number < len(one.written):
                    one = replace(
                        one,
                        drafted=one.drafted[:number],
                        accepted=min(one.accepted, number),
                        written=one.written[:number],
                    )
                return Drafted((*kept, one), stopped=True)
        kept.append(one)
    return Drafted(tuple(rounds))


def _ends(text: str, stops: Sequence[str]) -> bool:
    return any(stop in text for stop in stops)


def check(checkpoint: Checkpoint, draft: Checkpoint) -> None:
    """Refuse two models that cannot work together.

    Raises:
        InputUnusable: they do not share a vocabulary.
    """
    if checkpoint.model.config.vocab_size != draft.model.config.vocab_size:
        raise InputUnusable(
            f"{draft.spec.name} has another vocabulary than {checkpoint.spec.name}; it cannot be its draft model."
        )


def _generate(
    checkpoint: Checkpoint, model: Any, prompt: Sequence[int], given: dict[str, Any], seed: int, stops: Sequence[str]
) -> list[int]:
    """transformers' ``generate``; torch's dice are as they were afterwards."""
    import torch
    from transformers import StoppingCriteria, StoppingCriteriaList

    wording = Wording(checkpoint.tokenizer)

    class Written(StoppingCriteria):
        """Whether one of the texts stands in what was written; transformers' own looks at the very end alone."""

        def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
            over = _ends(wording.text(input_ids[0, len(prompt) :].tolist()), stops)
            return torch.tensor([over], device=input_ids.device)

    if stops:
        given = {**given, "stopping_criteria": StoppingCriteriaList([Written()])}

    def run() -> list[int]:
        ids = torch.tensor([list(prompt)], device=model.device)
        end = model.generation_config.eos_token_id
        pad = end[0] if isinstance(end, list) else 0 if end is None else end
        out = model.generate(ids, attention_mask=torch.ones_like(ids), pad_token_id=pad, **given)
        return [int(token) for token in out[0, len(prompt) :]]

    if not given["do_sample"]:
        return run()
    with turns.locked(_sampling), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return run()


@dataclass(frozen=True, slots=True)
class Bits:
    """What the large model makes of one token, in bits."""

    surprise: float
    entropy: float
    """The surprise that it expects there."""


@dataclass(frozen=True, slots=True)
class RoundBits:
    """The tokens of one round."""

    written: tuple[Bits, ...]
    refused: Bits | None
    """Of the first drafted token that was not accepted."""


def bits(checkpoint: Checkpoint, prompt: Sequence[int], found: Drafted) -> tuple[RoundBits, ...]:
    """For each round what its tokens are to the large model, before any rule.

    Args:
        prompt: the n ids that the text began with, at least one.
    """
    import torch

    model: Any = checkpoint.model
    ids = found.ids
    with torch.inference_mode():
        feed = torch.tensor([[*prompt, *ids]], device=model.device)
        scores = model(feed).logits[0, len(prompt) - 1 : -1].float()
        logs = without(scores, banned_ids(model)).log_softmax(-1)
        entropy: list[float] = (torch.special.entr(logs.exp()).sum(-1) / math.log(2)).tolist()

    def one(place: int, token: int) -> Bits:
        return Bits(-float(logs[place, token]) / math.log(2), entropy[place])

    out: list[RoundBits] = []
    at = 0
    for round_ in found.rounds:
        written = tuple(one(at + i, token) for i, token in enumerate(round_.written))
        right = round_.accepted
        checked = right < min(len(round_.drafted), len(round_.written))  # not where the text ends with an accepted one
        refused = one(at + right, round_.drafted[right]) if checked else None
        out.append(RoundBits(written, refused))
        at += len(round_.written)
    return tuple(out)
