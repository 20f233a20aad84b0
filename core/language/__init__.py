"""Language demos as functions: masked words, generation step by step.

The functions have the names of the modules that hold them, so import a module's other names with
``from core.language.fill_mask import prepare``. Importing this package costs no torch.
"""

from core.language.fill_mask import fill_mask
from core.language.generate import generate

__all__ = ["fill_mask", "generate"]
