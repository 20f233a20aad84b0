"""Where model work is computed: in this process (the default), or by replicas of Ray Serve.

A page asks for a result by a pure function of a loaded model and plain values, ``run(capture, "minilm", text)``. Under
``ATLAS_ENGINE=process`` the function is called here. Under ``ATLAS_ENGINE=ray`` the functions of `TASKS` in
`core.engine.tasks` are sent to ``ATLAS_ENGINE_URL`` (`python -m core serve`), which calls the same function on its own
copy of the model; the app needs no Ray for that. Every other function is computed here in both cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from core import checkpoints
from core.checkpoints import own
from core.checkpoints.memory import set_threads
from core.settings import settings

if TYPE_CHECKING:
    from core.checkpoints.spec import Checkpoint, Part
    from core.engine.tasks import Task

P = ParamSpec("P")
T = TypeVar("T")


def checkpoint(slug: str, part: Part | None = None) -> Checkpoint:
    """The loaded checkpoint, or a part of it, shared by all runs of this process."""
    loaded = checkpoints.load(slug, part)
    set_threads(loaded)
    return loaded


def run(
    compute: Callable[Concatenate[Checkpoint, P], T],
    model: str | tuple[str, Part | None],
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """The result of ``compute`` with a live model: its slug, or its slug and a part of it.

    Raises:
        AtlasError: what ``compute`` raises, or EngineUnavailable.
    """
    slug, part = (model, None) if isinstance(model, str) else model
    if (task := _sent(compute, slug)) is None:
        return compute(checkpoint(slug, part), *args, **kwargs)
    from core.engine.client import results

    return next(results(task, slug, part, args, kwargs))  # type: ignore[no-any-return]


def stream(
    compute: Callable[Concatenate[Checkpoint, P], Iterator[T]], slug: str, *args: P.args, **kwargs: P.kwargs
) -> Iterator[T]:
    """As :func:`run`, for a function that yields: each step as soon as it is computed.

    The computation ends with the iterator.
    """
    if (task := _sent(compute, slug)) is None:
        return compute(checkpoint(slug), *args, **kwargs)
    from core.engine.client import results

    steps: Iterator[T] = results(task, slug, None, args, kwargs)
    for first in steps:  # what the function refuses is raised here, as by a function of this process
        return chain([first], steps)
    return steps


def _sent(compute: Callable[..., object], slug: str) -> Task | None:
    """The task as which ``compute`` is sent elsewhere; None where it is computed here, as with a visitor's model."""
    if settings().engine == "process" or slug in own.SLUGS:
        return None
    from core.engine.tasks import TASKS, name_of  # of all tasks: more than a page needs

    return TASKS.get(name_of(compute))
