r"""Steering: a direction is added to the residual stream at every position while a decoder writes.

With :math:`x_l` the state that layer l leaves, and its means over the tokens of two sets of texts,

.. math:: v = \bar x_l(\text{toward}) - \bar x_l(\text{away}), \qquad x_l \leftarrow x_l + \alpha v

(Turner et al. 2023, arXiv 2308.10248; means over many texts: Rimsky et al. 2023, arXiv 2312.06681). The control adds a
random direction of the same norm. What a text costs is its mean surprisal under the unsteered model, in nats per token.

Legend: R texts written together, n tokens, w hidden size, V vocabulary size.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import BaseModel

from core.attention.ablation.ablate import AT_ONCE
from core.attention.layers import has_blueprint, plan_of
from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, InputUnusable, OutOfRange
from core.language import starts
from core.language.decoding.reader import Reader, ban_tokens, banned_ids, budget, end_ids
from core.language.decoding.rules import sample
from core.language.inputs import Inputs
from core.language.types import Decoding
from core.lazy import Tensor, torch
from core.run.run import Site, recording, run
from core.turns import turns

TOP_K = 40
"""The next token is sampled from so many of the most probable ones."""
LENGTH = 48
"""New tokens of a text."""
ALPHAS = (-2.0, -1.0, 0.0, 1.0, 2.0)
SEEDS, SHORT = 12, 32
"""The texts of each factor in a sweep, and the new tokens of each."""
MOST_TEXTS = 12
"""Texts of a set."""


class Sets(BaseModel, frozen=True, extra="forbid"):
    """Two sets of texts, a sentence a line, and words of each that are counted."""

    prompt: str
    toward: str
    away: str
    words: dict[str, str]


@cache
def bundled_sets() -> Sets:
    return Sets.model_validate(tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")))


@cache
def bundled_words() -> dict[str, frozenset[str]]:
    """The words of each bundled set, in lower case."""
    return {side: frozenset(words.split()) for side, words in bundled_sets().words.items()}


WORD = re.compile(r"[^\W\d_]+")


def count_words(text: str, words: Collection[str]) -> int:
    """How often ``words``, in lower case, occur in a text."""
    return sum(word.lower() in words for word in WORD.findall(text))


@dataclass(frozen=True, slots=True)
class Written:
    ids: tuple[int, ...]
    text: str
    nats: float
    """Mean surprisal of a token under the unsteered model."""


@dataclass(frozen=True, slots=True)
class Steering:
    """One prompt continued three times with the same random numbers."""

    plain: Written
    steered: Written
    control: Written
    """With a random direction."""
    norm: float
    """Of v."""
    states: float
    """Mean norm of the states that v is added to, over the tokens of both sets."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """Texts by the factor in `ALPHAS`, of `SEEDS` seeds each; the control of each seed has its own random direction."""

    steered: tuple[tuple[Written, ...], ...]
    control: tuple[tuple[Written, ...], ...]


def steer(
    checkpoint: Checkpoint, prompt: str, toward: str, away: str, layer: int, alpha: float, seed: int = 0
) -> Steering:
    """Continue ``prompt`` plainly, steered, and with a random direction of the same norm.

    Args:
        toward, away: sets of texts, a text a line.
        layer: from 0.
        seed: of the random numbers of all three, and of the random direction.

    Raises:
        InputEmpty: a set without a text, or a prompt that is none.
        InputUnusable: an architecture whose layers are not known, or equal sets.
        InputTooLong, OutOfRange: a text or a setting does not fit.
    """
    start = _start(checkpoint, prompt, layer)
    vector, states = direction(checkpoint, toward, away, layer)
    added = torch.stack((torch.zeros_like(vector), alpha * vector, alpha * random_like(vector, seed)))
    plain, steered, control = _write(start, layer, added, [seed] * 3, LENGTH)
    return Steering(plain, steered, control, float(vector.norm()), states)


def sweep(checkpoint: Checkpoint, prompt: str, toward: str, away: str, layer: int) -> Sweep:
    """:func:`steer` for every factor and seed; the same raises."""
    start = _start(checkpoint, prompt, layer)
    vector, _ = direction(checkpoint, toward, away, layer)
    controls = torch.stack([random_like(vector, seed) for seed in range(SEEDS)])
    pushes = [alpha * vectors for vectors in (vector.expand_as(controls), controls) for alpha in ALPHAS if alpha]
    added = torch.cat((torch.zeros_like(controls), *pushes))
    texts = _write(start, layer, added, [*range(SEEDS)] * (len(pushes) + 1), SHORT)
    plain, *pushed = (texts[at : at + SEEDS] for at in range(0, len(texts), SEEDS))
    written = iter(pushed)
    steered, control = (tuple(next(written) if alpha else plain for alpha in ALPHAS) for _ in range(2))
    return Sweep(steered, control)


def direction(checkpoint: Checkpoint, toward: str, away: str, layer: int) -> tuple[Tensor, float]:
    """v (w,), and the mean norm of the states of both sets; arguments and errors as for :func:`steer`."""
    first, second = (_states(checkpoint, texts, layer) for texts in (toward, away))
    vector = first.mean(0) - second.mean(0)
    if float(vector.norm()) < 1e-6:
        raise InputUnusable("Both sets have the same mean state, so that nothing is left to add. Other texts work.")
    return vector, float(torch.cat((first, second)).norm(dim=-1).mean())


def random_like(vector: Tensor, seed: int) -> Tensor:
    """A random direction (w,) of the same norm."""
    drawn: Tensor = torch.randn(vector.shape, generator=torch.Generator().manual_seed(seed))
    drawn *= vector.norm() / drawn.norm()
    return drawn


def steerable_layers(checkpoint: Checkpoint) -> int:
    """How many layers a model has.

    Raises:
        InputUnusable: it does not continue texts, or its layers are not known or keep something between passes.
    """
    spec = checkpoint.spec
    spec.demand("continues", "Steering")
    if not has_blueprint(checkpoint) or spec.offers("memory") or spec.offers("hashing"):
        raise InputUnusable(
            f"{spec.name} cannot be steered here: its layers are not known to the Atlas, remember an earlier segment, "
            "or attend by hashes. Models such as GPT-2, LLaMA and CTRL work."
        )
    return len(plan_of(checkpoint).layers["decoder"])


def _start(checkpoint: Checkpoint, prompt: str, layer: int) -> Inputs:
    if not 0 <= layer < (layers := steerable_layers(checkpoint)):
        raise OutOfRange(f"{checkpoint.spec.name} has layers 1 to {layers}, not {layer + 1}.")
    return starts.prompt(checkpoint, prompt)


def _states(checkpoint: Checkpoint, texts: str, layer: int) -> Tensor:
    """(n, w) what a layer leaves, over all tokens of a set."""
    lines = [line for line in texts.splitlines() if line.strip()]
    if not lines:
        raise InputEmpty("A set of texts is empty. Type a sentence, or several on a line each.")
    if len(lines) > MOST_TEXTS:
        raise OutOfRange(f"A set has {len(lines)} texts, and at most {MOST_TEXTS} lines are read here.")
    site = Site("decoder", layer, "resid_post")
    states: list[Tensor] = []
    for line in lines:
        turns.step()
        states.append(run(checkpoint.model, starts.prompt(checkpoint, line).tensors, keep={site})[site][0].float())
    return torch.cat(states)


def _write(start: Inputs, layer: int, added: Tensor, seeds: Sequence[int], length: int) -> tuple[Written, ...]:
    """A continuation for each row of ``added`` (R, w), which every position gets, and of ``seeds``."""
    model, site = start.checkpoint.model, Site("decoder", layer, "resid_post")
    rows = max(1, AT_ONCE // len(start.ids))
    if len(added) > rows:
        parts = ((added[at : at + rows], seeds[at : at + rows]) for at in range(0, len(added), rows))
        return tuple(text for some, their in parts for text in _write(start, layer, some, their, length))
    reader, banned = Reader(model), banned_ids(model)
    feed = torch.tensor([start.ids] * len(added))
    written = feed[:, :0]
    for step in range(budget(start, Decoding(max_new_tokens=length))[0]):
        turns.step()
        with recording(edits={site: lambda states: states + added[:, None].to(states)}) as recorded:
            scores = ban_tokens(reader.next_logits(feed), banned)
            recorded.check()
            top = scores.topk(min(TOP_K, scores.shape[-1]))
            chances = top.values.softmax(-1)
            chosen = [[sample(row, seed, step)] for row, seed in zip(chances, seeds, strict=True)]
            feed = top.indices.gather(1, torch.tensor(chosen))
            written = torch.cat((written, feed), 1)
    return tuple(_scored(start, written))


def _scored(start: Inputs, written: Tensor) -> list[Written]:
    """The texts with ids ``written`` (R, n), each up to its first end, and their cost."""
    model, tokenizer = start.checkpoint.model, start.checkpoint.tokenizer
    ends = end_ids(model)
    texts = torch.cat((torch.tensor([start.ids] * len(written)), written), 1)
    scored: list[Written] = []
    rows = max(1, AT_ONCE // texts.shape[1])
    for at in range(0, len(texts), rows):
        turns.step()
        new = written[at : at + rows]
        logits = run(model, {"input_ids": texts[at : at + rows]}).output.logits[:, len(start.ids) - 1 : -1]
        surprisals = -logits.float().log_softmax(-1).gather(-1, new[..., None])[..., 0]
        for ids, nats in zip(new.tolist(), surprisals, strict=True):
            length = next((at + 1 for at, token in enumerate(ids) if token in ends), len(ids))
            text = tokenizer.decode(ids[:length], skip_special_tokens=True)
            scored.append(Written(tuple(ids[:length]), text, float(nats[:length].mean())))
    return scored
