"""What each kind of model is asked when heads are switched off or layers are read, and what kinds of heads it has."""

from __future__ import annotations

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.ui.heads.parts import KINDS

SAMPLES = {
    "masked-lm": "The cat that the dog chased sat on the [MASK] because it was tired.",
    "replaced-token": "The king sat on his throne and wore a golden potato on his head.",
    "causal-lm": "The old man went to the river. The old man sat down. The old man",
    "seq2seq-lm": "The cat sleeps on the chair.",
    "adapters": "The princess opened little the door in the wall.",
}
SAMPLES["permutation-lm"] = SAMPLES["masked-lm"]
ASKED = {
    "masked-lm": "What stands in place of the first mask",
    "permutation-lm": "What stands in place of the first mask",
    "replaced-token": "Whether the most suspicious token was replaced",
    "causal-lm": "Which token comes next",
    "seq2seq-lm": "Which token the output begins with",
}
STREAMS = {"encoder": "Both streams", "decoder": "Content stream", "query": "Query stream"}
"""Where a head of an XLNet is off."""
SHARED = "Both streams run through the same heads; each stream can be without one of them"


def question_of(spec: CheckpointSpec, task: str | None) -> str:
    """What is asked of the text; of a model with adapters, by its task."""
    from core.language.adapters import tasks

    if spec.kind != "adapters":
        return ASKED[spec.kind]
    return next(one.question for one in tasks(session.checkpoint(spec.slug)) if one.slug == task)


def kinds_of(spec: CheckpointSpec) -> dict[str, str]:
    """What the kinds of attention are called of which heads are off."""
    return STREAMS if spec.kind == "permutation-lm" else KINDS
