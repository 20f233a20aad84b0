"""The live models' answers for the page, cached by what was asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from core import session
from core.checkpoints.spec import Part
from core.language.losses import Losses
from core.objectives.example import Cell, Example
from core.ui.objectives.entry import Stage

if TYPE_CHECKING:
    from core.language.losses import Scored

Kind = Literal["masks", "next", "pair", "verdicts", "written", "order", "translation"]


def by(kind: Kind) -> Callable[[str, tuple[Stage, ...]], tuple[Losses, ...]]:
    """An answer that asks every stage the same way; ``kind`` names a function of :mod:`core.language.losses`."""
    return lambda slug, stages: tuple(_asked(kind, slug, stage.example) for stage in stages)


def pair(slug: str, stages: tuple[Stage, ...]) -> tuple[Losses, ...]:
    """A head for pairs, and where tokens are hidden the masked-word head as well."""
    found = []
    for stage in stages:
        words = _asked("masks", slug, stage.example)
        said = _asked("pair", slug, stage.example, "pairs")
        found.append(replace(said, source=words.source, options=words.options))
    return tuple(found)


def replaced(slug: str, stages: tuple[Stage, ...]) -> tuple[Losses, ...]:
    """The generator at the first stage, the judge at the second."""
    return _asked("masks", slug, stages[0].example, "generator"), _asked("verdicts", slug, stages[1].example)


def _asked(kind: Kind, slug: str, example: Example, part: Part | None = None) -> Losses:
    return _losses(kind, slug, part, replace(example, original=(), visible=()))


@session.cached("Running the model")
def _losses(kind: Kind, slug: str, part: Part | None, example: Example) -> Losses:
    from core.language import losses

    found: Losses = getattr(losses, f"of_{kind}")(session.checkpoint(slug, part), example)
    return found


@session.cached("Running both models")
def scored(teacher: str, student: str, source: tuple[Cell, ...]) -> Scored:
    """Scores of both over the vocabulary at every hidden place."""
    from core.language import losses

    return losses.scored(session.checkpoint(teacher), session.checkpoint(student), Example((), source))


@session.cached("Running the generator")
def samples(slug: str, source: tuple[Cell, ...], seed: int) -> dict[int, str]:
    """What the generator of ``slug`` writes at each asked place of ``source``, as the vocabulary writes it."""
    from core.language.limits import check_length
    from core.language.losses import ids_of
    from core.language.replaced import sample

    generator = session.checkpoint(slug, "generator")
    places = Example((), source).asked
    if not places:
        return {}
    check_length(generator, len(source))
    ids, _ = sample(generator, ids_of(generator, [cell.token for cell in source]), places, seed)
    return dict(zip(places, map(str, generator.tokenizer.convert_ids_to_tokens(list(ids))), strict=True))
