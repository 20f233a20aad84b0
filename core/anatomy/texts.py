"""What there is to say of a tree: what a module computes, by its class, and how four trees differ from printed ones.

Source 000 (a cheat sheet of May 2023) prints BertModel, GPT2Model, an EncoderDecoderModel of two BERTs and T5Model at
their base sizes. What torch 2.13 and transformers 5.23 print today says the same but for the differences named here:
some words are new, and the document cuts and repeats some lines. ``as_printed`` undoes the first kind, so that a test
can hold the two against each other line by line. No torch here.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from core.anatomy.node import ModuleNode

TEXTS = Path(__file__).with_name("classes.toml")


@dataclass(frozen=True, slots=True)
class Explanation:
    """What one class computes."""

    text: str
    formula: str | None
    """LaTeX, without dollar signs; ``\\\\`` begins a new line."""
    where: str | None
    """What the formula's letters stand for."""


def explain(cls: str) -> Explanation | None:
    """What modules of this class compute; None for a class that no text was written for."""
    return explanations().get(cls)


@lru_cache(maxsize=1)
def explanations() -> dict[str, Explanation]:
    """Every explained class. Raises ValueError when the data file explains a class twice."""
    found: dict[str, Explanation] = {}
    for entry in tomllib.loads(TEXTS.read_text(encoding="utf-8"))["entry"]:
        for cls in entry["classes"]:
            if cls in found:
                raise ValueError(f"{TEXTS.name} explains {cls} twice")
            found[cls] = Explanation(entry["text"], entry.get("formula"), entry.get("where"))
    return found


@dataclass(frozen=True, slots=True)
class NewWords:
    """A rewriting of today's lines into those of the source, and what explains it."""

    pattern: str
    replacement: str
    why: str


@dataclass(frozen=True, slots=True)
class Printed:
    """One tree of source 000."""

    cls: str
    """The class that the source prints."""
    config: str
    """The class of its configuration, in transformers."""
    overrides: dict[str, Any] = field(default_factory=dict)
    """What makes it the printed size, where the configuration's defaults do not."""
    words: tuple[NewWords, ...] = ()
    cut_first: int = 0
    """How many lines of the tree stand before the source's first one (closing brackets not counted)."""
    repeated_last: int = 0
    """How many of the last lines the source prints a second time."""
    layout: tuple[str, ...] = ()
    """Differences of the page, not of the model."""

    def sentences(self) -> tuple[str, ...]:
        """All explanations, for the page."""
        return (*(words.why for words in self.words), *self.layout)

    def as_printed(self, node: ModuleNode) -> list[str]:
        """The lines that source 000 has for this tree: without indentation and without lines that only close."""
        lines = [line.strip() for line in node.lines()]
        lines = [line for line in lines if line != ")"]
        for words in self.words:
            lines = [re.sub(words.pattern, words.replacement, line) for line in lines]
        lines = lines[self.cut_first :]
        return lines + lines[len(lines) - self.repeated_last :]


_NORM = NewWords(
    r"(LayerNorm\(.*), bias=True\)$",
    r"\1)",
    "torch now also prints bias=True in LayerNorm. The bias was there before; only the printing is new.",
)
_SPACES = (
    "The document was read from a picture: some words have spaces inside (“Embedd ing”) and some underscores are lost, "
    "and on some of its pages closing brackets and indentation are missing."
)

PRINTED: dict[str, Printed] = {
    "bert": Printed("BertModel", "BertConfig", words=(_NORM,), layout=(_SPACES,)),
    "gpt-2": Printed(
        "GPT2Model",
        "GPT2Config",
        words=(
            _NORM,
            NewWords(
                r"Conv1D\(.*\)$",
                "Conv1D()",
                "transformers now prints the widths of Conv1D, nf outputs and nx inputs, where the source has empty "
                "brackets.",
            ),
        ),
        layout=(_SPACES,),
    ),
    "bert2bert": Printed(
        "EncoderDecoderModel",
        "EncoderDecoderConfig",
        {"encoder": {"config": "BertConfig"}, "decoder": {"config": "BertConfig"}},
        words=(
            _NORM,
            NewWords(
                r"BertCrossAttention",
                "BertSelfAttention",
                "The attention inside a crossattention block is a class of its own today, BertCrossAttention. In the "
                "source it is printed as BertSelfAttention, which then served both; its tensors are the same.",
            ),
        ),
        cut_first=11,
        layout=(
            "The source begins in the middle of the encoder: the model's name, the encoder's embeddings and the head "
            "of its layer list, eleven lines in all, are cut off.",
            _SPACES,
        ),
    ),
    "t5": Printed(
        "T5Model",
        "T5Config",
        {"num_layers": 12, "d_model": 768, "d_ff": 3072, "num_heads": 12},
        repeated_last=2,
        layout=(
            "The source prints the last two modules (final_layer_norm and dropout) and their closing brackets twice. "
            "The model has them once at the end of each stack.",
            _SPACES,
        ),
    ),
}
"""By the system's slug. A system's own tree may be another class (with a head) or begin at another size."""
