"""What is true of every model of one kind, whatever its architecture.

No torch here: descriptions are read by pages that never run a model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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


@dataclass(frozen=True, slots=True)
class ModelFamily:
    """A kind of model: its class, what it reads and computes, what it answers."""

    kind: Kind
    branch: Branch
    """The page that its models are offered on, unless their attention is sparse."""
    auto: str | None
    """transformers' factory for it; None where the class is this project's own."""
    table: str | None
    """transformers' table of the model types that have such a class; None where it has none of its own."""
    classes: tuple[str, ...]
    """Classes of this kind that stand in no table, or in another's."""
    offers: frozenset[Ability]
    streams: tuple[Stream, ...]
    """Its kinds of attention, first that of what it reads."""
    does: str
    """What it does, in the present tense; empty where models cannot be compared by it."""
    answers: str
    """What it gives, as a noun."""
    asks: str
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


_SENTENCES = (
    "The cat that the dog chased sat on the mat because it was tired.",
    "She poured water from the jug into the cup until it was full.",
    "Paris is the capital of France, and Rome is the capital of Italy.",
)

SEQ2SEQ_LM = ModelFamily(
    kind="seq2seq-lm",
    branch="encoder-decoder",
    auto="AutoModelForSeq2SeqLM",
    table="MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
    classes=(),
    offers=frozenset({"rewrites", "generates", "tasks"}),
    streams=("encoder", "decoder", "cross"),
    does="rewrites a text into another",
    answers="text to text",
    asks="Which token the output begins with",
    asked="The cat sleeps on the chair.",
    samples=(
        "The cat sleeps on the chair.",
        "I would like a cup of tea.",
        "We are going home because it is late.",
    ),
)
"""Encoder-decoders, which generate another text for the input (T5, BART and their relatives)."""

MASKED_LM = ModelFamily(
    kind="masked-lm",
    branch="encoder",
    auto="AutoModelForMaskedLM",
    table="MODEL_FOR_MASKED_LM_MAPPING_NAMES",
    classes=("BertForPreTraining", "AlbertForPreTraining"),  # which keep both heads of their pretraining
    offers=frozenset({"predicts masked tokens", "two texts"}),
    streams=("encoder",),
    does="predicts masked tokens",
    answers="masked tokens",
    asks="What stands in place of the first mask",
    asked="The cat that the dog chased sat on the [MASK] because it was tired.",
    samples=_SENTENCES,
)
"""Encoders that fill masked positions from both sides (BERT and its relatives)."""

CAUSAL_LM = ModelFamily(
    kind="causal-lm",
    branch="decoder",
    auto="AutoModelForCausalLM",
    table="MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    classes=(),
    offers=frozenset({"continues", "generates"}),
    streams=("decoder",),
    does="continues a text",
    answers="generation",
    asks="Which token comes next",
    asked="The old man went to the river. The old man sat down. The old man",
    samples=(
        "Once upon a time there was a little girl who had a red ball. The little girl",
        "The old man went to the river. The old man sat down. The old man",
        "Tom gave Anna a book, and Anna gave Tom",
    ),
)
"""Decoders, which continue a text token by token (GPT-2 and its relatives)."""

PERMUTATION_LM = ModelFamily(
    kind="permutation-lm",
    branch="decoder",
    auto="AutoModelForCausalLM",  # whose table lists XLNet's class: with attention to the left alone it is causal
    table=None,
    classes=("XLNetLMHeadModel",),
    offers=frozenset({"predicts masked tokens", "two streams"}),
    streams=("encoder", "decoder", "query"),
    does="predicts masked tokens",
    answers="masked tokens in any order",
    asks=MASKED_LM.asks,
    asked=MASKED_LM.asked,
    samples=_SENTENCES,
)
"""XLNet: tokens in any order, from two streams of attention."""

REPLACED_TOKEN = ModelFamily(
    kind="replaced-token",
    branch="encoder",
    auto="AutoModelForPreTraining",
    table=None,
    classes=("ElectraForPreTraining",),
    offers=frozenset({"detects replaced tokens", "two texts"}),
    streams=("encoder",),
    does="detects replaced tokens",
    answers="replaced tokens",
    asks="Whether the token with the highest probability of replacement was replaced",
    asked="The king sat on his throne and wore a golden potato on his head.",
    samples=_SENTENCES,
)
"""Discriminators, which classify every token as original or replaced (ELECTRA)."""

ADAPTERS = ModelFamily(
    kind="adapters",
    branch="encoder",
    auto=None,
    table=None,
    classes=("AdapterBert",),
    offers=frozenset({"classifies texts", "two texts", "tasks"}),
    streams=("encoder",),
    does="",
    answers="tasks through adapters",
    asks="",
    asked="The princess opened little the door in the wall.",
    samples=_SENTENCES,
)
"""A frozen encoder with adapters, which classify a text by a task."""

FAMILIES: dict[Kind, ModelFamily] = {
    family.kind: family for family in (SEQ2SEQ_LM, MASKED_LM, CAUSAL_LM, PERMUTATION_LM, REPLACED_TOKEN, ADAPTERS)
}
"""By kind, in the order of preference: BART's classes stand in three of transformers' tables, XLM's in two."""
