"""All objectives of the page, in the order of its menu."""

from __future__ import annotations

from core.ui.objectives import (
    decoders,
    distilled,
    encoder_order,
    encoder_pairs,
    encoder_units,
    encoders,
    mixed,
    reordered,
    rewritten,
    translated,
)
from core.ui.objectives.entry import Entry

_MODULES = (
    encoders,
    encoder_units,
    encoder_pairs,
    encoder_order,
    translated,
    distilled,
    decoders,
    reordered,
    rewritten,
    mixed,
)
ENTRIES: dict[str, Entry] = {entry.slug: entry for module in _MODULES for entry in module.ENTRIES}
