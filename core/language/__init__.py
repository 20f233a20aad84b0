"""Language tasks of the live models: masked tokens, generation, translation, and others.

``fill_mask`` and ``generate`` are functions here and modules, too: import other names of a module with
``from core.language.fill_mask import prepare``. Importing this package does not import torch.
"""

from core.language.fill_mask import fill_mask
from core.language.generate import generate

__all__ = ["fill_mask", "generate"]
