"""Which classes a record may name: those of transformers and our own skeletons, found in source text.

Nothing is imported: transformers lists its classes in the mappings of ``models/auto`` and in each module's ``__all__``.
The mappings are small and name nearly all that records use; the modules are read only for a name that they lack.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

OWN = Path(__file__).parents[1] / "anatomy"
"""Where the skeletons of our own are, in ``own*.py``."""
_CLASS = re.compile(r"^class (\w+)", re.MULTILINE)
_ALL = re.compile(r"^__all__ = \[(.*?)\]", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r'"([A-Z]\w+)"')
_MAPPINGS = ("modeling_auto.py", "auto_mappings.py", "configuration_auto.py")


def exists(name: str) -> bool:
    """Whether there is a class of that name; where transformers is not installed, nothing can be said against one."""
    return name in _usual() or name in every() or not _models()


@lru_cache(maxsize=1)
def every() -> frozenset[str]:
    """All names: a third of a second, once a process."""
    folder = _models()
    files = [*folder.glob("*/modeling_*.py"), *folder.glob("*/configuration_*.py")] if folder else []
    listed = (found for path in files for found in _ALL.findall(path.read_text(encoding="utf-8")))
    return _usual() | {name for names in listed for name in _QUOTED.findall(names)}


@lru_cache(maxsize=1)
def _usual() -> frozenset[str]:
    """Our own classes, and those of transformers that its mappings name."""
    own = (name for path in OWN.glob("own*.py") for name in _CLASS.findall(path.read_text(encoding="utf-8")))
    folder = _models()
    maps = [folder / "auto" / name for name in _MAPPINGS] if folder else []
    mapped = (_QUOTED.findall(path.read_text(encoding="utf-8")) for path in maps if path.is_file())
    return frozenset(own).union(*mapped)


@lru_cache(maxsize=1)
def _models() -> Path | None:
    """The folder of transformers' models; None where transformers is not installed."""
    spec = find_spec("transformers")
    return Path(spec.origin).parent / "models" if spec and spec.origin else None
