"""What a record says of things outside it: classes to build, shapes that can be, a model that runs, forebears.

Every function returns lines ``field: reason``, as :mod:`core.catalogue.faults` has them; none imports what it asks
about. Whether a configuration takes an override is seen where it is built (:mod:`core.anatomy.build`).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from core import settings as configuration
from core.catalogue import classes
from core.catalogue.schema import System
from core.errors import SettingUnusable

_COUNTS = frozenset(
    f"{side}{name}"
    for side in ("", "encoder_", "decoder_")
    for name in (
        "num_hidden_layers",
        "n_layers",
        "n_layer",
        "num_layers",
        "layers",
        "num_decoder_layers",
        "hidden_size",
        "d_model",
        "n_embd",
        "emb_dim",
        "dim",
        "embedding_size",
        "num_attention_heads",
        "num_heads",
        "n_heads",
        "n_head",
        "attention_heads",
        "num_key_value_heads",
        "head_dim",
        "d_kv",
        "intermediate_size",
        "ffn_dim",
        "d_ff",
        "d_inner",
        "hidden_dim",
        "vocab_size",
        "max_position_embeddings",
        "n_positions",
    )
)
"""Arguments that count something of which there must be at least one."""


def builds(record: System) -> Iterator[str]:
    """Faults in what the sizes are built from."""
    for size in record.sizes:
        place = f"sizes “{size.name}”."
        yield from _class(f"{place}architecture", size.architecture, configuration=False)
        yield from _class(f"{place}config", size.config, configuration=True)
        halves = ("encoder", "decoder") if size.config == "EncoderDecoderConfig" else ()
        for half in halves:
            table = size.overrides.get(half)
            if not isinstance(table, dict) or not isinstance(table.get("config"), str):
                yield f"{place}overrides.{half}: must be a table that names its config"
            else:
                yield from _class(f"{place}overrides.{half}.config", table["config"], configuration=True)
        yield from _counts(f"{place}overrides", size.overrides)


def _class(place: str, name: str, *, configuration: bool) -> Iterator[str]:
    if name.endswith("Config") != configuration:
        yield f"{place}: {name!r} is {'no' if configuration else 'a'} configuration, whose names end with Config"
    elif not classes.exists(name):
        yield f"{place}: there is no class named {name!r} in transformers or in core/anatomy/own*.py" + _meant(
            name, [one for one in classes.every() if one.endswith("Config") == configuration]
        )


def _counts(place: str, values: Mapping[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _counts(f"{place}.{name}", value)
        elif name in _COUNTS and (type(value) is not int or value < 1):
            yield f"{place}.{name}: must be a whole number of at least 1, and it is {str(value)[:40]!r}"


def runs(name: str, published: Collection[str]) -> Iterator[str]:
    """A fault where the live model ``name`` is neither one of the Atlas nor in the host's folder nor published.

    One that has a recipe is one of the Atlas, even where an installation lacks its weights, which its page says.
    """
    bundled = configuration.ASSETS / "checkpoints"
    folders = [bundled]
    try:
        own = configuration.settings().checkpoint_dir
    except SettingUnusable:  # the pages say so
        own = None
    folders += [own] if own else []
    known = {name for folder in folders for name in _folders_in(folder)}
    known |= {file.stem for file in (configuration.ASSETS / "recipes").glob("*.toml")}
    if bundled.is_dir() and name not in known and name not in published:
        yield f"live.checkpoint: there is no model named {name!r}" + _meant(name, [*known, *published])


def _folders_in(folder: Path) -> list[str]:
    """The names of the folders in one; none where it is missing or cannot be read, which the pages say."""
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if entry.is_dir()]
    except OSError:
        return []


def descent(parents: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
    """Slugs whose line of parents comes back to themselves, each with the fault."""
    for slug in parents:
        line: list[str] = [slug]
        while (parent := parents.get(line[-1])) is not None and parent not in line:
            line.append(parent)
        if parent == slug:
            circle = "it is the system itself" if len(line) == 1 else f"it comes back to {slug}: {_arrows(line)}"
            yield slug, f"parent: {circle}"


def _arrows(line: Sequence[str]) -> str:
    return " → ".join([*line, line[0]])


def _meant(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, sorted(known), n=2, cutoff=0.6)
    return f"; is {' or '.join(close)} meant?" if close else ""
