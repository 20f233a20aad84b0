"""All checkpoints that this installation knows, from four sources in this order: bundled, package, directory, Hub.

Nothing is listed by name here: a folder below ``assets/checkpoints`` with a card, a folder below
``ATLAS_CHECKPOINT_DIR``, a Hub entry of a catalogue record each show up by themselves. Reads small files only.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from core import settings as configuration
from core.checkpoints import hub_cache, package
from core.checkpoints.directory import Refused, in_directory, tasks_of
from core.checkpoints.families import FAMILIES, Branch, Kind
from core.checkpoints.families.architectures import architecture_of, branch_of, kind_of, positions_of
from core.checkpoints.folder import read_json
from core.checkpoints.spec import Card, CheckpointSpec, Part, read_card
from core.errors import CheckpointRefused, CheckpointUnavailable, UnknownCheckpoint

if TYPE_CHECKING:
    from core.catalogue import HubCheckpoint, System

_FIRST = configuration.ASSETS / "checkpoints" / "first.toml"
_PARTS: dict[Part, str] = {"pairs": "head for pairs of sentences", "generator": "generator", "draft": "draft model"}
GENERATOR = "generator"
"""Folder of ELECTRA's generator inside a bundled folder."""
DRAFT = "draft"
"""Folder of a small model of the same vocabulary inside a bundled folder; it has a card of its own."""


def bundled_root() -> Path:
    """The folder of the checkpoints that come with the app."""
    return configuration.ASSETS / "checkpoints"


def available() -> tuple[CheckpointSpec, ...]:
    """Every checkpoint that can be run here (``ready``) or could be after a download, best source first."""
    specs: dict[str, CheckpointSpec] = {}
    for spec in (*_bundled(), *in_directory()[0], *_hub()):
        specs.setdefault(spec.slug, spec)
    return tuple(specs.values())


def first(place: str) -> tuple[str, ...]:
    """What a section or a menu opens with (``assets/checkpoints/first.toml``), here or not."""
    return tuple(_firsts()[place])


@cache
def _firsts() -> dict[str, list[str]]:
    return tomllib.loads(_FIRST.read_text(encoding="utf-8"))


def refused() -> tuple[Refused, ...]:
    """The folders of ``ATLAS_CHECKPOINT_DIR`` that cannot be offered, with the reason in a sentence."""
    return in_directory()[1]


def get(slug: str) -> CheckpointSpec:
    """The checkpoint of that slug.

    Raises :class:`CheckpointRefused` for a host's folder that cannot be offered, :class:`CheckpointUnavailable` for a
    published one while the Hub is off, else :class:`UnknownCheckpoint`.
    """
    specs = available()
    for spec in specs:
        if spec.slug == slug:
            return spec
    for folder in refused():
        if folder.slug == slug:
            raise CheckpointRefused(folder.reason)
    if any(spec.slug == slug for spec in published()):
        raise CheckpointUnavailable(
            f"{slug} is a published checkpoint on the Hugging Face Hub, which is off on this installation. "
            f"The host can run “python -m core fetch {slug}”, or switch the Hub on with ATLAS_HUB=on."
        )
    shown = slug if len(slug) <= 40 else slug[:39] + "…"
    known = ", ".join(spec.slug for spec in specs if spec.ready) or "none yet"
    raise UnknownCheckpoint(f"There is no model “{shown}” here. Models that run on this installation: {known}.")


def part_of(spec: CheckpointSpec, part: Part) -> CheckpointSpec:
    """The description of a further model of a checkpoint; its slug is ``<slug>:<part>``, a draft has its own card.

    Raises :class:`CheckpointUnavailable` where the checkpoint has no such part.
    """
    if part not in spec.parts:
        raise CheckpointUnavailable(f"{spec.name} has no {_PARTS[part]}. Choose a model that has one.")
    kind: Kind = "masked-lm" if part == "generator" else spec.kind
    found = replace(spec, slug=f"{spec.slug}:{part}", kind=kind, parts=(part,))
    card = _card(bundled_root() / spec.slug / DRAFT) if part == "draft" else None
    return replace(found, name=card.name, card=card) if card else found


def for_branch(branch: Branch) -> tuple[CheckpointSpec, ...]:
    """The checkpoints offered on a branch's page, those that are ready first."""
    return _ready_first([spec for spec in available() if spec.branch == branch])


def for_system(slug: str) -> tuple[CheckpointSpec, ...]:
    """The checkpoints of a catalogue's system, those that are ready first; relatives are not among them."""
    return _ready_first([spec for spec in available() if spec.system == slug])


def _ready_first(specs: list[CheckpointSpec]) -> tuple[CheckpointSpec, ...]:
    return tuple(sorted(specs, key=lambda spec: not spec.ready))


def _bundled() -> tuple[CheckpointSpec, ...]:
    """Every complete folder of ``assets/checkpoints``; read anew when a file comes, leaves or is replaced."""
    root = bundled_root()
    folders = [entry for entry in os.scandir(root) if entry.is_dir()] if root.is_dir() else []
    return _read_bundled(frozenset((entry.path, entry.stat().st_mtime_ns) for entry in folders), package.find_package())


@lru_cache(maxsize=8)
def _read_bundled(folders: frozenset[tuple[str, int]], installed: package.Package | None) -> tuple[CheckpointSpec, ...]:
    specs = [_bundled_folder(Path(path), installed) for path, _ in folders]
    complete = [spec for spec in specs if spec is not None]
    return tuple(sorted(complete, key=lambda spec: (spec.source != "package", spec.slug)))


def _bundled_folder(folder: Path, installed: package.Package | None) -> CheckpointSpec | None:
    """A folder trained here, or None while it is not complete."""
    card = _card(folder)
    if card is None or not (folder / "config.json").is_file():
        return None
    config = read_json(folder / "config.json")
    kind = kind_of(config)
    weights = [folder / name for name in _weights(kind, config) if (folder / name).is_file()]
    if kind is None or not weights:
        return None
    base, on_package = card.base, card.base == package.NAME
    if on_package:
        base = f"the package {base}" + (f" {installed.version}" if installed else "")
    return CheckpointSpec(
        slug=folder.name,
        name=card.name,
        system=card.extra.get("system", folder.name.removeprefix("atlas-")),
        branch=card.extra.get("branch", branch_of(kind, config)),
        kind=kind,
        source="package" if on_package and weights[0].name == "difference.safetensors" else "bundled",
        origin="trained here, bundled" + (f", a difference to {base}" if base else ""),
        location=str(folder),
        ready=base is None or installed is not None,
        size_bytes=sum(file.stat().st_size for file in weights),
        max_positions=card.extra.get("max_positions", positions_of(config)),
        tasks=tuple(card.extra.get("tasks", ())),
        architecture=architecture_of(config),
        parts=_parts(folder, config),
        card=card,
    )


def _weights(kind: Kind | None, config: dict[str, object]) -> tuple[str, ...]:
    """The files that a bundled folder's weights may lie in; of adapters, one for each task."""
    if kind is not None and "classifies texts" in FAMILIES[kind].offers:
        tasks = config.get("adapter_tasks")
        return tuple(f"{name}.safetensors" for name in tasks) if isinstance(tasks, dict) else ()
    return ("model.safetensors", "difference.safetensors")


def _parts(folder: Path, config: dict[str, object]) -> tuple[Part, ...]:
    """What the folder holds beside its main model."""
    parts: list[Part] = []
    if config.get("architectures") in (["BertForPreTraining"], ["AlbertForPreTraining"]):
        parts.append("pairs")
    if (folder / GENERATOR / "model.safetensors").is_file():
        parts.append("generator")
    if (folder / DRAFT / "model.safetensors").is_file():
        parts.append("draft")
    return tuple(parts)


def _card(folder: Path) -> Card | None:
    """The card of a folder, or None when it has none that can be read (an unfinished checkpoint is not offered)."""
    try:
        return read_card(folder / "card.toml")
    except CheckpointRefused:
        return None


def published() -> tuple[CheckpointSpec, ...]:
    """The published checkpoints that the catalogue names, fetched or not. No other id is ever used."""
    from core import catalogue

    held = hub_cache.held()
    return tuple(
        _published(system, entry, FAMILIES[entry.kind].kind, entry.id in held)
        for system in catalogue.systems()
        for entry in system.hub
        if entry.kind in FAMILIES
    )


def _published(system: System, entry: HubCheckpoint, kind: Kind, held: bool) -> CheckpointSpec:
    """An entry of the catalogue, with what its files say where the cache has them whole."""
    spec = CheckpointSpec(
        slug=entry.short_name.lower(),
        name=entry.short_name,
        system=system.slug,
        branch=system.branch,
        kind=kind,
        source="hub",
        origin=f"Hugging Face Hub, {entry.id}",
        location=entry.id,
        ready=False,
    )
    fetched = hub_cache.fetched(entry.id, kind) if held else None
    if fetched is None:
        return spec
    return replace(
        spec,
        ready=True,
        size_bytes=fetched.size_bytes,
        max_positions=positions_of(fetched.config),
        tasks=tasks_of(fetched.config),
        architecture=architecture_of(fetched.config),
    )


def _hub() -> list[CheckpointSpec]:
    """All published checkpoints where the Hub is on; else those that were fetched before, which need no request."""
    online = configuration.settings().hub == "on"
    return [spec for spec in published() if online or spec.ready]
