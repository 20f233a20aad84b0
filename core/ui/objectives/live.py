"""The live models' losses for the page, cached by model and example."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from core import session
from core.checkpoints.spec import Part
from core.language.losses import Kind, Losses
from core.objectives.example import Cell, Example
from core.ui.objectives.entry import Stage

if TYPE_CHECKING:
    from core.language.losses import Scored


def by(kind: Kind) -> Callable[[str, tuple[Stage, ...]], tuple[Losses, ...]]:
    """Every stage in the same way, a ``kind`` of :func:`core.language.losses.losses`."""
    return lambda slug, stages: tuple(_losses(kind, slug, None, stage.example) for stage in stages)


def pair(slug: str, stages: tuple[Stage, ...]) -> tuple[Losses, ...]:
    """The head for sentence pairs and, where tokens are masked, the masked-LM head as well."""
    (stage,) = stages
    tokens, label = _losses("masks", slug, None, stage.example), _losses("pair", slug, "pairs", stage.example)
    return (replace(label, source=tokens.source, options=tokens.options),)


def replaced(slug: str, stages: tuple[Stage, ...]) -> tuple[Losses, ...]:
    """The generator at the first stage, the discriminator at the second."""
    generator, discriminator = stages
    return (
        _losses("masks", slug, "generator", generator.example),
        _losses("verdicts", slug, None, discriminator.example),
    )


def _losses(kind: Kind, slug: str, part: Part | None, example: Example) -> Losses:
    return _cached_losses(kind, slug, part, replace(example, original=(), visible=()))


@session.cached("Running the model")
def _cached_losses(kind: Kind, slug: str, part: Part | None, example: Example) -> Losses:
    from core.language.losses import losses

    return losses(session.checkpoint(slug, part), example, kind)


@session.cached("Running both models")
def scored(teacher: str, student: str, source: tuple[Cell, ...]) -> Scored:
    """Scores of both over the vocabulary at every masked position."""
    from core.language import losses

    return losses.scored(session.checkpoint(teacher), session.checkpoint(student), Example((), source))


@session.cached("Running the generator")
def samples(slug: str, source: tuple[Cell, ...], seed: int) -> dict[int, str]:
    """The token that the generator of ``slug`` samples at each target position of ``source``."""
    from core.language.limits import check_length
    from core.language.losses import ids_of
    from core.language.replaced import sample

    generator = session.checkpoint(slug, "generator")
    places = Example((), source).targets
    if not places:
        return {}
    check_length(generator, len(source))
    ids, _ = sample(generator, ids_of(generator, [cell.token for cell in source]), places, seed)
    return dict(zip(places, map(str, generator.tokenizer.convert_ids_to_tokens(list(ids))), strict=True))
