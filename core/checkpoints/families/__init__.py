"""The properties that all models of a kind share, whatever their architecture.

No torch here: pages that never run a model read descriptions.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, TypeAdapter

Branch = Literal["encoder", "decoder", "encoder-decoder", "efficient"]
Kind = Literal["masked-lm", "causal-lm", "seq2seq-lm", "replaced-token", "permutation-lm", "adapters"]
Side = Literal["encoder", "decoder"]
Stream = Literal["encoder", "decoder", "cross", "query"]
"""A kind of attention; ``query`` is the query stream of XLNet, which does not attend to the token at its position."""
Ability = Literal[
    "predicts masked tokens",
    "continues",
    "rewrites",
    "detects replaced tokens",
    "classifies texts",
    "generates",
    "two streams",
    "two texts",
    "tasks",
]
"""An ability of all models of a kind. ``generates``: token by token, a continuation or a rewritten text; ``two texts``:
it reads two segments; ``tasks``: it has a menu of tasks."""


class ModelFamily(BaseModel, frozen=True, extra="forbid"):
    """A kind of model: its class, inputs, outputs and samples; a table of ``families.toml``."""

    kind: Kind
    branch: Branch
    """The page that offers its models, unless their attention is sparse."""
    auto: str | None = None
    """The auto class of transformers; None where the class is ours."""
    table: str | None = None
    """The mapping of transformers from model types to such classes; None where there is none."""
    classes: tuple[str, ...] = ()
    """Classes of this kind that are in no mapping, or in that of another kind."""
    offers: frozenset[Ability]
    streams: tuple[Stream, ...]
    """Its kinds of attention, that of the input first."""
    does: str = ""
    """What it does, as a verb phrase; empty where models cannot be compared by it."""
    answers: str
    """Its output, as a noun."""
    question: str = ""
    """What its prediction for a text answers, as a question without the mark; empty where the task decides."""
    question_text: str
    """The initial text for that question."""
    samples: tuple[str, ...]
    """Initial texts of its attention views."""

    @property
    def sides(self) -> tuple[Side, ...]:
        """The stacks of its models: an encoder, a decoder, or both."""
        return ("encoder", "decoder") if self.side == "encoder-decoder" else (self.side,)

    @property
    def side(self) -> Side | Literal["encoder-decoder"]:
        """Whether its models are encoders, decoders, or both."""
        if "rewrites" in self.offers:
            return "encoder-decoder"
        return "decoder" if "continues" in self.offers else "encoder"

    @property
    def sentence(self) -> Literal["any", "plain"]:
        """How a visitor's sentence arrives at its models: with its mask where they predict masked tokens."""
        return "any" if "predicts masked tokens" in self.offers else "plain"

    @property
    def pooling(self) -> Literal["first", "last"]:
        """The position whose state stands for a text: of a decoder, the last, which alone has read all of it."""
        return "first" if self.side == "encoder" else "last"

    def streams_of(self, kind: Stream) -> tuple[Stream, ...]:
        """The streams of a pass that compute a kind of attention: XLNet's over a whole text is that of both."""
        return ("decoder", "query") if kind == "encoder" and "query" in self.streams else (kind,)

    @property
    def verb(self) -> str:
        """The label of the button that runs it."""
        return self.does.partition("s ")[0].capitalize()


_ROWS = tomllib.loads((Path(__file__).parent / "families.toml").read_text(encoding="utf-8"))
FAMILIES: dict[Kind, ModelFamily] = TypeAdapter(dict[Kind, ModelFamily]).validate_python(
    {kind: {"kind": kind, **row} for kind, row in _ROWS.items()}
)
"""By kind, in the file's order of preference."""
