"""What every page that lists all systems says of records from which no network can be built; usually nothing."""

from __future__ import annotations

from core.anatomy.store import faults
from core.ui.notices import warning


def unbuilt() -> None:
    """A sentence for each such size: the file, the field and the reason. All others are shown as ever."""
    for sentence in faults():
        warning(f"Not counted here. {sentence}", icon=":material/rule:")
