"""ELMo as a skeleton for the trees, in the paper's terms: shapes and names, nothing that runs.

ELMo (Peters et al., 2018, section 3.4) reads words as letters: vectors of letters, convolutions over one to seven of
them, highways, one projection. Two stacks of LSTMs read the sentence, one from the left and one from the right, and
never see each other; each layer's two outputs are put side by side. A task takes a weighted sum of the three layers,

    ELMo_k = γ Σ_j s_j h_kj,   s = softmax of three learned numbers,

which are the only numbers that it trains here. An LSTM has c units and hands on a projection of p numbers, so it counts
4c(d + p) + 4c + cp for inputs of width d: the four gates have one bias each, where torch's own LSTM has two.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel

FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))
"""Convolutions of the published sizes: (letters in the window, filters), 2,048 filters in all."""


class ElmoConfig(PreTrainedConfig):  # type: ignore[misc]
    """The published size by default; the names of the fields are ours."""

    model_type = "elmo"

    def __init__(
        self,
        characters: int = 262,
        character_size: int = 16,
        num_highways: int = 2,
        num_layers: int = 2,
        units: int = 4096,
        d_model: int = 512,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.characters = characters
        self.character_size = character_size
        self.num_highways = num_highways
        self.num_layers = num_layers
        self.units = units
        self.d_model = d_model


class Highway(nn.Module):
    """Mixes what came in with a bent map of it, in a proportion that it computes itself."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.transform = nn.Linear(width, width)
        self.gate = nn.Linear(width, width)


class CharacterEncoder(nn.Module):
    """A word's letters to one vector that knows no neighbours yet."""

    def __init__(self, config: ElmoConfig) -> None:
        super().__init__()
        width = sum(filters for _, filters in FILTERS)
        self.letters = nn.Embedding(config.characters, config.character_size, padding_idx=0)
        self.convolutions = nn.ModuleList(nn.Conv1d(config.character_size, filters, size) for size, filters in FILTERS)
        self.highways = nn.ModuleList(Highway(width) for _ in range(config.num_highways))
        self.projection = nn.Linear(width, config.d_model)


class ProjectedLSTM(nn.Module):
    """One LSTM in one direction: the four gates from input and state, one bias, and a projection of the cell."""

    def __init__(self, width: int, units: int) -> None:
        super().__init__()
        self.from_input = nn.Linear(width, 4 * units, bias=False)
        self.from_state = nn.Linear(width, 4 * units)
        self.projection = nn.Linear(units, width, bias=False)


class ScalarMix(nn.Module):
    """The weights of the layers and one scale for all: what each task learns for itself."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(layers))
        self.scale = nn.Parameter(torch.ones(1))


class ElmoModel(PreTrainedModel):  # type: ignore[misc]
    """Letters to words, two directions that stay apart, and the mix of the layers (the words' own one counts)."""

    config_class = ElmoConfig

    def __init__(self, config: ElmoConfig) -> None:
        super().__init__(config)
        self.embeddings = CharacterEncoder(config)
        self.left_to_right = self._stack(config)
        self.right_to_left = self._stack(config)
        self.mix = ScalarMix(config.num_layers + 1)

    @staticmethod
    def _stack(config: ElmoConfig) -> nn.ModuleList:
        return nn.ModuleList(ProjectedLSTM(config.d_model, config.units) for _ in range(config.num_layers))
