"""Training masks what a page shows."""

from __future__ import annotations

import numpy as np

from core.objectives import masked
from lab.masking import corrupt_ids


def test_the_page_masks_what_training_masks() -> None:
    """Token k of the text is id k: the example has the targets and masks of `corrupt_ids` with the same generator."""
    ids = np.arange(40)
    special = np.isin(ids, (0, 39))
    for seed in range(30):
        damaged, chosen = corrupt_ids(ids, special, 40, np.random.default_rng(seed))
        example = masked.corrupt([str(i) for i in ids], ["the", "cat"], np.random.default_rng(seed), fixed=(0, 39))
        assert example.targets == tuple(np.flatnonzero(chosen).tolist())
        hidden = [place for place, cell in enumerate(example.source) if cell.change == "masked"]
        assert hidden == np.flatnonzero(damaged == 40).tolist()
