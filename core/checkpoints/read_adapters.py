"""Reading a bundled folder of adapters: the published encoder once, and each task's file beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from core.checkpoints.folder import count_elements
from core.errors import CheckpointRefused

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PretrainedConfig

    from core.checkpoints.adapters import AdapterBert


def read_adapters(folder: Path, config: PretrainedConfig, trunk: dict[str, Tensor]) -> AdapterBert:
    """The encoder with every task that the configuration names, in float32.

    Args:
        folder: holds ``<task>.safetensors`` for each task.
        config: of the encoder, with ``adapter_size`` and ``adapter_tasks``.
        trunk: the encoder's state under the names of a BertModel; a pooler is left aside.

    Raises:
        CheckpointRefused: a file is missing or damaged, or does not fit the encoder.
    """
    from safetensors.torch import load_file
    from transformers import BertModel

    from core.checkpoints.adapters import AdapterBert

    tasks = config.adapter_tasks
    config._attn_implementation = "eager"
    encoder = BertModel(config, add_pooling_layer=False)
    report = encoder.load_state_dict({n: v.float() for n, v in trunk.items() if "pooler" not in n}, strict=False)
    lacking = [name for name in report.missing_keys if "position_ids" not in name]
    if lacking or report.unexpected_keys:
        raise CheckpointRefused(f"The encoder under “{folder.name}” is another one than its adapters were trained for.")
    model = AdapterBert(encoder, {name: len(told["answers"]) for name, told in tasks.items()}, config.adapter_size)
    for name, task in model.tasks.items():
        file = folder / f"{name}.safetensors"
        if not file.is_file():
            raise CheckpointRefused(f"The adapters for “{name}” are missing in “{folder.name}”.")
        count_elements(file)
        try:
            task.load_state_dict({key: value.float() for key, value in load_file(file).items()})
        except RuntimeError:
            raise CheckpointRefused(f"The adapters for “{name}” in “{folder.name}” do not fit the encoder.") from None
    return model
