"""The copy of transformers' mappings from model types to class names, which the app reads without torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from core.checkpoints.families import architectures
from lab.files import write_file


def mappings() -> dict[str, Any]:
    """The mappings of the installed transformers by name."""
    from transformers.models.auto import modeling_auto

    return {name: dict(value) for name, value in vars(modeling_auto).items() if architectures.MAPPING.fullmatch(name)}


def write_mappings() -> Path:
    """Write them, a line each, beside `core.checkpoints.families.architectures`."""
    file = Path(architectures.__file__).with_name("mappings.json")
    lines = (f"{json.dumps(name)}: {json.dumps(mapping)}" for name, mapping in mappings().items())
    write_file(file, "{\n" + ",\n".join(lines) + "\n}\n")
    return file
