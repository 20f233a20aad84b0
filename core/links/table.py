"""Every parameter of every page: its name, default and range. Data: one entry a page."""

from __future__ import annotations

from core.links.parameters import Choice, Integer, Integers, Parameter, Real, Text, Words

PAGES: dict[str, dict[str, Parameter]] = {
    "attention": {
        "tab": Choice("heads", ("heads", "all", "bertviz", "block", "off", "grammar", "every", "beside")),
        "model": Choice(),
        "text": Text(),
        "second": Text(),
        "task": Choice(),
        "count": Integer(None, 0, 48),
        "window": Integers(high=100_000, most=2),
        "asked-window": Integers(high=100_000, most=2),
        "layer": Integer(None, 1, 200),
        "head": Integer(None, 1, 256),
        "map": Choice(allowed=("encoder", "decoder", "cross", "query")),
        "view": Choice(),
        "relation": Choice(),
        "treebank": Choice(None, ("atlas", "ud-english")),
        "sentence": Choice(),
        "together": Choice(None, ("all", "mean", "maximum", "rollout", "flow", "heads", "layers", "texts", "models")),
        "with": Choice(),
        "open": Integers(high=256, most=2),
        "compared": Choice(None, ("all", "layers", "mean", "heads")),
        "other": Text(),
        **{f"{name}{number}": Integer(None, 1, 256) for name in ("layer", "head") for number in (1, 2)},
        "bertviz": Choice(None, ("head", "model", "neuron")),
        "layers": Integers(high=200, most=64),
        "heads": Integers(high=256, most=64),
        "on": Integers(high=256, most=256),
        "side": Choice(None, ("encoder", "decoder")),
        "step": Choice(),
        "asked": Text(),
        "off": Words(most=300),
        "score": Choice(),
        "least": Real(None, -1.0, 100.0),
        "branch": Choice(),
        "kind": Choice(None, ("encoder", "decoder", "cross", "query")),
        "models": Words(most=100),
        "beside": Words(most=3),
        "role": Choice(),
        "word": Integer(None, 1, 40),
        "at": Integers(high=256, most=6),
    },
}
"""Every parameter of every page. Layers and heads count from 1, as papers do."""
