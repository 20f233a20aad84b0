"""How the steps of a block hang together: what each is made of, and where it stands beside the stream.

The stream is what goes past the parts of a block: every part reads it, and what the part makes is added to it. A norm
stands on the stream (after the sum, as in BERT) or in the part that reads it (before it, as in GPT-2).

A drawing has lanes: lane 0 is the stream, the others belong to a part. A step keeps its lane until all that is made of
it is there. numpy is not needed here, nor torch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from core.attention.inside.steps import Part, Step

_OUTSIDE = {
    "input": "the layer before",
    "token": "the tokens of the text",
    "position": "their positions",
    "segment": "which text they belong to",
    "language": "the language of the text",
    "mask": "which keys each query attends to",
}
ONE_LENGTH = "keys, of one length"
ENCODER = "what the encoder made"


@dataclass(frozen=True, slots=True)
class Wire:
    """One step of a block among the others."""

    slug: str
    """The step in a link: ``attention-weights``."""
    of: tuple[int, ...]
    """The steps that it is made of, by their numbers."""
    outside: str
    """What it is made of that is no step of the block; empty where there is nothing."""
    lane: int


def slug(step: Step) -> str:
    """The name of a step in a link."""
    return "-".join(re.findall(r"[a-z0-9]+", f"{step.part} {step.name}".lower()))


def wires(steps: Sequence[Step]) -> tuple[Wire, ...]:
    """One for each step, in their order."""
    met = _Met()
    made = [_of(i, step, met) for i, step in enumerate(steps)]
    last = {source: i for i, (of, _) in enumerate(made) for source in of}
    lanes: list[int] = []
    for i, (of, _) in enumerate(made):
        if i in met.stream:
            lanes.append(0)
            continue
        taken = {lanes[j] for j in range(i) if last.get(j, -1) > i or (last.get(j) == i and j not in of)}
        lanes.append(next(lane for lane in range(1, len(steps) + 2) if lane not in taken))
    return tuple(
        Wire(slug(step), of, outside, lane) for step, (of, outside), lane in zip(steps, made, lanes, strict=True)
    )


def norm_first(steps: Sequence[Step]) -> bool:
    """Whether norms stand inside the parts, and not on the stream after the sums."""
    for step in steps:
        if step.part not in ("embedding", "end") and step.name in ("norm", "residual"):
            return step.name != "residual"
    return False


@dataclass(slots=True)
class _Met:
    """What was met on the way through the steps."""

    part: Part | None = None
    names: dict[str, int] = field(default_factory=dict)
    """Steps of the part, by name."""
    first: int = 0
    """What came into the block."""
    now: int = 0
    """Where the stream is."""
    source: int = 0
    """What the part reads."""
    stream: set[int] = field(default_factory=set)
    other: int | None = None
    """Where the second stream is, in a block that has two."""


def _of(i: int, step: Step, met: _Met) -> tuple[tuple[int, ...], str]:
    """(steps that one is made of, what else), with ``met`` carried on."""
    if step.part != met.part:
        met.source = met.now
        met.part, met.names = step.part, {}
    of, outside, flows = (_embedding if step.part == "embedding" else _within)(i, step, met)
    if flows:
        met.stream.add(i)
        met.now = i
    met.names[step.name] = i
    return of, outside


def _embedding(i: int, step: Step, met: _Met) -> tuple[tuple[int, ...], str, bool]:
    met.first = i
    if step.name.endswith(" stream"):
        of = (met.names.get("sum", met.now),) if met.names.keys() & {"sum", "token"} else ()
        if step.name == "second stream":
            met.other = i
        return of, "" if of else _OUTSIDE["input"], step.name == "first stream"
    if step.name in _OUTSIDE:
        return (), _OUTSIDE[step.name], not met.names
    return (tuple(met.names.values()) if step.name == "sum" else (i - 1,)), "", True


def _within(i: int, step: Step, met: _Met) -> tuple[tuple[int, ...], str, bool]:
    """A step of a sub-layer, or one behind the last block."""
    names, name = met.names, step.name
    if step.part == "end":
        beside = {"both streams": met.other, "convolution": met.first}.get(name)
        return ((met.now,) if beside is None else (beside, met.now)), "", True
    if name == "residual":
        came = met.now
        if met.other is not None and step.part == "feed-forward":
            came, met.other = met.other, met.now
        return (came, i - 1), "", True
    if name == "norm" and "residual" in names:
        return (names["residual"],), "", True
    if name == "norm":
        met.source = i
        return (met.other if met.other is not None and step.part == "attention" else met.now,), "", False
    if name == "mask":
        return (), _OUTSIDE["mask"], False
    if name in ("keys", "values") and step.part == "cross-attention":
        return (), ENCODER, False
    if name in ("queries", "keys", "values", "gate", "inner") or name.startswith("global "):
        return (met.source,), "", False
    query, key = (names.get(f"{word}, rotated", names.get(word, i)) for word in ("queries", "keys"))
    key = names.get(ONE_LENGTH, key)
    if name.startswith("scores: ") and name != "scores: rounds":
        read = [query] if "q_i" in step.formula or "Q" in step.formula else []
        read += [key] if any(letter in step.formula for letter in ("k_j", "K", r"\hat q_j")) else []
        return tuple(read), "" if read else "how far apart the tokens stand", False
    more = [names[other] for other in names if other.startswith("global ")]
    of = {
        "queries, rotated": (names.get("queries", i),),
        "keys, rotated": (names.get("keys", i),),
        ONE_LENGTH: (names.get("queries", i),),
        "scores: rounds": (query,),
        "scores": (tuple(names[other] for other in names if other.startswith("scores: ")) or (query, key, *more[:2])),
        "weights": (names.get("scores", i), names.get("mask", i)),
        "mix": (names.get("values", i), names.get("weights", i), *more[2:]),
        "activation": tuple(names[other] for other in ("gate", "inner") if "gate" in names) or (i - 1,),
        "adapted": (names.get("projected", names.get("outer", i)), i - 1),
    }
    return of.get(name, (i - 1,)), "", False
