"""All objectives of the page, in the order of its menu."""

from __future__ import annotations

from core.ui.objectives import decoders, encoders
from core.ui.objectives.entry import Entry

ENTRIES: dict[str, Entry] = {entry.slug: entry for entry in (*encoders.ENTRIES, *decoders.ENTRIES)}
