"""StructBERT's head for two texts (Wang et al., 2020), on a BERT: B after A, before A, or from another text."""

from __future__ import annotations

from typing import Any

from torch import nn
from transformers import BertForPreTraining

ORDERS = 3


class OrdersBert(BertForPreTraining):  # type: ignore[misc]
    """BertForPreTraining whose head for pairs has an output for each order."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.cls.seq_relationship = nn.Linear(config.hidden_size, ORDERS)
