"""Models that an earlier recipe made and a later one starts from or learns from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from core.errors import AtlasError


def finished(name: str, stages: Path) -> Path:
    """Folder of a finished model: among the training states in ``stages``, else among the bundled ones."""
    from core.checkpoints.registry import bundled_root

    for folder in (stages / name / "out", bundled_root() / name):
        if (folder / "model.safetensors").is_file():
            return folder
    raise AtlasError(f"The model {name}, which this one needs, has not been trained here: train that recipe first.")


def finished_bert(name: str, stages: Path) -> Any:
    """The BertForPreTraining of that name, in float32 and with the attention that trains fastest on short rows."""
    import torch
    from transformers import BertForPreTraining

    folder = finished(name, stages)
    return BertForPreTraining.from_pretrained(
        folder, attn_implementation="eager", dtype=torch.float32, local_files_only=True
    )
