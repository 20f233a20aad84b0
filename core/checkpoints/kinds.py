"""What an architecture can do, from its class name: predict masks, judge tokens, continue, permute or rewrite a text.

Decided by transformers' own tables (``MODEL_FOR_..._MAPPING_NAMES``). Importing the module that holds them imports
torch, so its source is parsed instead: the tables are literals, and pages that only read stay light.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from core.checkpoints.spec import Branch, Kind

_TABLES: dict[str, Kind] = {
    "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES": "seq2seq-lm",
    "MODEL_FOR_MASKED_LM_MAPPING_NAMES": "masked-lm",
    "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES": "causal-lm",
}
"""In the order of preference: BART stands in all three tables, XLM in two."""

_PRETRAINING: dict[str, Kind] = {
    "BertForPreTraining": "masked-lm",
    "AlbertForPreTraining": "masked-lm",
    "ElectraForPreTraining": "replaced-token",
    "AdapterBert": "adapters",
}
"""Classes that keep all heads of a pretraining, by what their main head does; and one of this project."""

PERMUTED = "XLNetLMHeadModel"
"""XLNet finds words in any order; transformers lists it with the causal models, which it is as Transformer-XL alone."""

_BRANCHES: dict[Kind, Branch] = {
    "masked-lm": "encoder",
    "replaced-token": "encoder",
    "adapters": "encoder",
    "causal-lm": "decoder",
    "seq2seq-lm": "encoder-decoder",
    "permutation-lm": "decoder",
}

EFFICIENT = frozenset(
    {
        "big_bird",
        "bigbird_pegasus",
        "falcon_mamba",
        "fnet",
        "funnel",
        "led",
        "longformer",
        "longt5",
        "mamba",
        "mamba2",
        "mra",
        "nystromformer",
        "pegasus_x",
        "reformer",
        "yoso",
    }
)
"""Model types whose point is to avoid the full n x n attention."""

_PADDED_POSITIONS = frozenset(
    {"camembert", "data2vec-text", "esm", "ibert", "longformer", "mpnet", "prophetnet", "roberta"}
    | {"roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl", "xmod"}
)
"""Their position table keeps the first ``pad_token_id + 1`` rows for padding."""

_AHEAD = frozenset({"prophetnet"})
"""Their decoder looks up the position after the one that it reads, too."""


@lru_cache(maxsize=1)
def tables() -> dict[Kind, dict[str, str]]:
    """For each kind, transformers' map from model type to class name; empty maps if transformers is not installed."""
    found: dict[Kind, dict[str, str]] = {kind: {} for kind in _TABLES.values()}
    spec = find_spec("transformers")
    if spec is None or spec.origin is None:
        return found
    source = (Path(spec.origin).parent / "models" / "auto" / "modeling_auto.py").read_text(encoding="utf-8")
    for statement in ast.parse(source).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=[pairs])) if name in _TABLES:
                found[_TABLES[name]] = dict(ast.literal_eval(pairs))
    return found


def kind_of(config: Mapping[str, Any]) -> Kind | None:
    """The kind of the model that a ``config.json`` describes, or None when it has no language-model head we can use."""
    architectures = config.get("architectures")
    if isinstance(architectures, list) and architectures:
        if architectures[0] == PERMUTED and config.get("attn_type", "bi") == "bi":
            return "permutation-lm"
        for kind, table in tables().items():
            if architectures[0] in table.values():
                return kind
        return _PRETRAINING.get(str(architectures[0]))
    return None


def known_model_type(config: Mapping[str, Any]) -> bool:
    """Whether transformers has any of the three kinds for this model type."""
    return any(config.get("model_type") in table for table in tables().values())


def branch_of(kind: Kind, config: Mapping[str, Any]) -> Branch:
    """The page that a model of this kind and type is offered on."""
    return "efficient" if config.get("model_type") in EFFICIENT else _BRANCHES[kind]


def positions_of(config: Mapping[str, Any]) -> int | None:
    """The longest input in tokens, or None where the architecture sets no limit (relative positions)."""
    for name in ("max_position_embeddings", "n_positions", "n_ctx", "max_encoder_position_embeddings"):
        value = config.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            if config.get("model_type") in _PADDED_POSITIONS:
                pad = config.get("pad_token_id")
                value -= (pad if isinstance(pad, int) else 1) + 1
            return value - int(config.get("model_type") in _AHEAD)
    return None
