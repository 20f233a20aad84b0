"""The size of a system that is meant: by name, or the one the catalogue shows first. No torch here."""

from __future__ import annotations

from core import catalogue
from core.catalogue.schema import Size
from core.errors import OutOfRange


def size_of(slug: str, size: str | None = None) -> Size:
    """A size of a system by name, or its default.

    Raises :class:`core.errors.UnknownSystem` for an unknown slug, :class:`core.errors.OutOfRange` for an unknown size,
    :class:`core.errors.NoArchitecture` for a system whose architecture was never published.
    """
    system = catalogue.get(slug)
    if size is None or not system.sizes:
        return system.default_size
    for candidate in system.sizes:
        if candidate.name == size:
            return candidate
    names = ", ".join(candidate.name for candidate in system.sizes)
    raise OutOfRange(f"{system.name} has no size “{size[:40]}”. It has: {names}.")
