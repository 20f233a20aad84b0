"""What each kind of model is asked when heads are switched off or layers are read, and what kinds of heads it has."""

from __future__ import annotations

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.ui.heads.parts import KINDS

STREAMS = {"encoder": "Both streams", "decoder": "Content stream", "query": "Query stream"}
"""Where a head of an XLNet is off."""
SHARED = "Both streams run through the same heads; each stream can be without one of them"


def question_of(spec: CheckpointSpec, task: str | None) -> str:
    """What is asked of the text; of a model with adapters, by its task."""
    from core.language.adapters import tasks

    if not spec.offers("answers tasks"):
        return spec.family.asks
    return next(one.question for one in tasks(session.checkpoint(spec.slug)) if one.slug == task)


def kinds_of(spec: CheckpointSpec) -> dict[str, str]:
    """What the kinds of attention are called of which heads are off."""
    return STREAMS if spec.offers("two streams") else KINDS
