"""What is true of every model of one kind, whatever its architecture.

No torch here: descriptions are read by pages that never run a model.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, TypeAdapter

Branch = Literal["encoder", "decoder", "encoder-decoder", "efficient"]
Kind = Literal["masked-lm", "causal-lm", "seq2seq-lm", "replaced-token", "permutation-lm", "adapters"]
Stream = Literal["encoder", "decoder", "cross", "query"]
"""A kind of attention; ``query`` is the second stream of a two-stream model, blind to the token at its own position."""
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
"""What every model of a kind can do. ``generates``: it continues or rewrites, token by token; ``two texts``: it reads
two at once and tells them apart; ``tasks``: it has a menu of them."""


class ModelFamily(BaseModel, frozen=True, extra="forbid"):
    """A kind of model: its class, what it reads and computes, what it answers; a table of ``families.toml``."""

    kind: Kind
    branch: Branch
    """The page that its models are offered on, unless their attention is sparse."""
    auto: str | None = None
    """transformers' factory for it; None where the class is this project's own."""
    table: str | None = None
    """transformers' table of the model types that have such a class; None where it has none of its own."""
    classes: tuple[str, ...] = ()
    """Classes of this kind that stand in no table, or in another's."""
    offers: frozenset[Ability]
    streams: tuple[Stream, ...]
    """Its kinds of attention, first that of what it reads."""
    does: str = ""
    """What it does, in the present tense; empty where models cannot be compared by it."""
    answers: str
    """What it gives, as a noun."""
    asks: str = ""
    """What its answer to a text says, as a question without its mark; empty where the task decides."""
    asked: str
    """A text for that question."""
    samples: tuple[str, ...]
    """Texts for its attention to open with."""

    @property
    def side(self) -> Branch:
        """Whether its models are the encoder of a Transformer, the decoder, or both."""
        if "rewrites" in self.offers:
            return "encoder-decoder"
        return "decoder" if "continues" in self.offers else "encoder"

    @property
    def verb(self) -> str:
        """What a button says that has it do so."""
        return self.does.partition("s ")[0].capitalize()


_ROWS = tomllib.loads((Path(__file__).parent / "families.toml").read_text(encoding="utf-8"))
FAMILIES: dict[Kind, ModelFamily] = TypeAdapter(dict[Kind, ModelFamily]).validate_python(
    {kind: {"kind": kind, **row} for kind, row in _ROWS.items()}
)
"""By kind, in the order of preference of the file."""
