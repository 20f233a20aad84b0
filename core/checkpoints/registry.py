"""All checkpoints of this installation, from four sources in this order: bundled, package, directory, Hub.

They are discovered: folders of ``assets/checkpoints`` with a card, folders of ``ATLAS_CHECKPOINT_DIR``, Hub entries of
catalogue records. Reads small files only.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

from core import catalogue
from core import settings as configuration
from core.checkpoints import hub_cache, own, package
from core.checkpoints.families import FAMILIES, Branch, Kind
from core.checkpoints.families.architectures import architecture_of, branch_of, kind_of, positions_of
from core.checkpoints.folder import Inspected, inspect_cached, read_json, refuse_strange_name, shown, signature
from core.checkpoints.spec import WHOLE, Card, CheckpointSpec, Part, read_card
from core.errors import CheckpointRefused, CheckpointUnavailable, UnknownCheckpoint

_FIRST = configuration.ASSETS / "checkpoints" / "first.toml"
_PARTS: dict[Part, str] = {
    **{"pairs": "head for pairs of sentences", "generator": "generator", "draft": "draft model"},
    **{"spans": "part for spans", "unified": "part for several attention masks"},
    "orders": "part for word order and sentence order",
    "english": "English-centric model beside it",
}
GENERATOR: Part = "generator"
"""The subfolder of ELECTRA's generator."""
BESIDE: tuple[Part, ...] = ("draft", "english")
"""The subfolders of whole models, which have the tokenizer of the model beside them and a card of their own."""
FOLDERS = (GENERATOR, *BESIDE)
UPDATES: tuple[Part, ...] = ("spans", "unified", "orders")
"""The subfolders of low-rank updates and heads, with a card of their own."""
MOST_FOLDERS = 1_000
"""Folders of ``ATLAS_CHECKPOINT_DIR`` that are looked into, the first by name: every page does so."""
_MOST_SLUG = 100
"""Characters of a host folder's slug, which files and links are named after."""


def bundled_root() -> Path:
    return configuration.ASSETS / "checkpoints"


def available() -> tuple[CheckpointSpec, ...]:
    """All checkpoints that can run here (``ready``) or could after a download, best source first."""
    specs: dict[str, CheckpointSpec] = {}
    for spec in (*bundled_specs(), *in_directory()[0], *_hub()):
        specs.setdefault(spec.slug, spec)
    return tuple(specs.values())


def first(section: str) -> tuple[str, ...]:
    """The slugs that a section or menu opens with (``assets/checkpoints/first.toml``), installed or not."""
    return tuple(_firsts()[section])


@cache
def _firsts() -> dict[str, list[str]]:
    return tomllib.loads(_FIRST.read_text(encoding="utf-8"))


def refused() -> tuple[Refused, ...]:
    """The folders of ``ATLAS_CHECKPOINT_DIR`` that cannot be loaded, each with the reason in a sentence."""
    return in_directory()[1]


def get(slug: str) -> CheckpointSpec:
    """The checkpoint of that slug, or with ``<slug>:<part>`` a further model of its folder.

    Raises :class:`CheckpointRefused` for a host's folder that cannot be loaded, :class:`CheckpointUnavailable` for a
    published checkpoint while the Hub is off, else :class:`UnknownCheckpoint`.
    """
    specs, (name, _, part) = (*available(), *own.specs()), slug.partition(":")
    for spec in specs:
        if spec.slug == slug:
            return spec
        if spec.slug == name and part in spec.parts:
            return part_of(spec, part)
    for folder in refused():
        if folder.slug == slug:
            raise CheckpointRefused(folder.reason)
    if any(spec.slug == slug for spec in published()):
        raise CheckpointUnavailable(
            f"{slug} is a published checkpoint on the Hugging Face Hub, which is off on this installation. "
            f"The host can run “python -m core fetch {slug}”, or switch the Hub on with ATLAS_HUB=on."
        )
    if slug == own.CLASS:
        raise CheckpointUnavailable(
            "The class’s model is seen in its room alone, once it is trained and until the room ends. Enter the "
            "room’s code, or choose another model."
        )
    if slug in own.SLUGS:
        raise CheckpointUnavailable(
            "You have trained no model here yet, or it had to make room. Train one on Training."
        )
    shown = slug if len(slug) <= 40 else slug[:39] + "…"
    runnable = ", ".join(spec.slug for spec in specs if spec.ready) or "none yet"
    raise UnknownCheckpoint(f"There is no model “{shown}” here. Models that run on this installation: {runnable}.")


def part_of(spec: CheckpointSpec, part: Part) -> CheckpointSpec:
    """The spec of a further model of a checkpoint, with the slug ``<slug>:<part>``.

    Those of `BESIDE` and `UPDATES` have a card.

    Raises :class:`CheckpointUnavailable` where the checkpoint has no such part.
    """
    if part not in spec.parts:
        raise CheckpointUnavailable(f"{spec.name} has no {_PARTS[part]}. Choose a model that has one.")
    kind: Kind = "masked-lm" if part == "generator" else spec.kind
    described = replace(spec, slug=f"{spec.slug}:{part}", kind=kind, parts=(part,))
    card = _card(bundled_root() / spec.slug / part) if part in (*BESIDE, *UPDATES) else None
    return replace(described, name=card.name, card=card) if card else described


def for_branch(branch: Branch) -> tuple[CheckpointSpec, ...]:
    """The checkpoints of a branch's page, ready ones first."""
    return _ready_first([spec for spec in (*available(), *own.specs()) if spec.branch == branch])


def for_system(slug: str) -> tuple[CheckpointSpec, ...]:
    """The checkpoints of a catalogue's system, without relatives; ready ones first."""
    return _ready_first([spec for spec in available() if spec.system == slug])


def _ready_first(specs: list[CheckpointSpec]) -> tuple[CheckpointSpec, ...]:
    return tuple(sorted(specs, key=lambda spec: not spec.ready))


def bundled_specs() -> tuple[CheckpointSpec, ...]:
    """The complete folders of ``assets/checkpoints``, read again when a file is added, removed or replaced."""
    root = bundled_root()
    folders = [entry for entry in os.scandir(root) if entry.is_dir()] if root.is_dir() else []
    return _read_bundled(frozenset((entry.path, entry.stat().st_mtime_ns) for entry in folders), package.find_package())


@lru_cache(maxsize=8)
def _read_bundled(folders: frozenset[tuple[str, int]], installed: package.Package | None) -> tuple[CheckpointSpec, ...]:
    specs = [_bundled_folder(Path(path), installed) for path, _ in folders]
    complete = [spec for spec in specs if spec is not None]
    return tuple(sorted(complete, key=lambda spec: (spec.source != "package", spec.slug)))


def _bundled_folder(folder: Path, installed: package.Package | None) -> CheckpointSpec | None:
    """The spec of a bundled folder; None while it is incomplete."""
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
        origin=WHOLE + (f", a difference to {base}" if base else ""),
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
    """The possible weight files of a bundled folder; of adapters, one per task."""
    if kind is not None and "classifies texts" in FAMILIES[kind].offers:
        tasks = config.get("adapter_tasks")
        return tuple(f"{name}.safetensors" for name in tasks) if isinstance(tasks, dict) else ()
    return ("model.safetensors", "difference.safetensors")


def _parts(folder: Path, config: dict[str, object]) -> tuple[Part, ...]:
    """The further models of a folder."""
    parts: list[Part] = []
    if config.get("architectures") in (["BertForPreTraining"], ["AlbertForPreTraining"]):
        parts.append("pairs")
    parts += [part for part in UPDATES if (folder / part / "difference.safetensors").is_file()]
    return (*parts, *(part for part in FOLDERS if (folder / part / "model.safetensors").is_file()))


def _card(folder: Path) -> Card | None:
    """The card of a folder; None where it cannot be read, as of an unfinished checkpoint."""
    try:
        return read_card(folder / "card.toml")
    except CheckpointRefused:
        return None


def apart() -> tuple[CheckpointSpec, ...]:
    """The bundled models that are no checkpoints, each the demo of its system: ELMo, which has no attention, and CLIP,
    which reads images, too. Their kind says only that they read from left to right."""
    files = sorted(configuration.ASSETS.glob("*/model.safetensors"))
    return tuple(
        CheckpointSpec(
            slug=(folder := file.parent).name,
            name=(card := read_card(folder / "card.toml")).name,
            system=folder.name,
            branch="encoder",
            kind="causal-lm",
            source="bundled",
            origin=WHOLE,
            location=str(folder),
            ready=True,
            size_bytes=file.stat().st_size,
            card=card,
        )
        for file in files
    )


def published() -> tuple[CheckpointSpec, ...]:
    """The published checkpoints in the catalogue, downloaded or not. No other Hub id is ever used."""
    held = hub_cache.held()
    return tuple(_downloaded(spec) if spec.location in held else spec for spec in _named())


@cache
def _named() -> tuple[CheckpointSpec, ...]:
    """The published checkpoints as the catalogue's records name them."""
    return tuple(
        CheckpointSpec(
            slug=entry.short_name.lower(),
            name=entry.short_name,
            system=system.slug,
            branch=system.branch,
            kind=FAMILIES[entry.kind].kind,
            source="hub",
            origin=f"Hugging Face Hub, {entry.id}",
            location=entry.id,
            ready=False,
        )
        for system in catalogue.systems()
        for entry in system.hub
        if entry.kind in FAMILIES
    )


def _downloaded(spec: CheckpointSpec) -> CheckpointSpec:
    """``spec`` completed from its files, where the Hub's cache has all of them."""
    fetched = hub_cache.fetched(spec.location, spec.kind)
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
    """All published checkpoints where the Hub is on; else those already downloaded, which need no request."""
    online = configuration.settings().hub == "on"
    return [spec for spec in published() if online or spec.ready]


@dataclass(frozen=True, slots=True)
class Refused:
    """A folder that cannot be loaded, and the reason in a sentence."""

    slug: str
    name: str
    reason: str


def _listed() -> tuple[list[Path], str | None]:
    """The possible model folders, ``ATLAS_CHECKPOINT_DIR`` itself or those in it; else why it cannot be read."""
    root = configuration.settings().checkpoint_dir
    if root is None:
        return [], None
    try:
        entries = sorted(root.iterdir())
        if root / "config.json" in entries:
            return [root], None
        return [entry for entry in entries if not entry.name.startswith(".") and entry.is_dir()], None
    except FileNotFoundError:
        wrong = "does not exist"
    except NotADirectoryError:
        wrong = "is not a folder"
    except OSError:
        wrong = "cannot be read by this process"
    return (
        [],
        f"The folder that ATLAS_CHECKPOINT_DIR names {wrong}, so no model comes from it. The host can correct that.",
    )


def in_directory() -> tuple[list[CheckpointSpec], tuple[Refused, ...]]:
    """The specs of the folders of ``ATLAS_CHECKPOINT_DIR``, and the refused folders with their reasons."""
    root = configuration.settings().checkpoint_dir
    folders, wrong = _listed()
    if root is None or wrong is not None:
        return [], (Refused("dir", "ATLAS_CHECKPOINT_DIR", wrong),) if wrong else ()
    specs: list[CheckpointSpec] = []
    others: list[Refused] = []
    slugs: Counter[str] = Counter()
    for folder in folders[:MOST_FOLDERS]:
        try:
            if signature(folder):
                refuse_strange_name(folder.name)
                specs.append(_spec(folder, inspect_cached(folder, root), _slug(folder.name, slugs)))
        except FileNotFoundError:  # removed since the folders were listed
            continue
        except CheckpointRefused as error:
            others.append(Refused(_slug(folder.name, slugs), shown(folder.name), str(error)))
        except OSError:
            reason = f"The folder “{shown(folder.name)}” cannot be read by this process."
            others.append(Refused(_slug(folder.name, slugs), shown(folder.name), reason))
    if len(folders) > MOST_FOLDERS:
        reason = (
            f"ATLAS_CHECKPOINT_DIR holds {len(folders):,} folders; the first {MOST_FOLDERS:,} by name are offered. "
            "The host can move the models that are meant into a folder of their own."
        )
        others.append(Refused(_slug("more folders", slugs), "ATLAS_CHECKPOINT_DIR", reason))
    return specs, tuple(others)


def _spec(folder: Path, inspected: Inspected, slug: str) -> CheckpointSpec:
    return CheckpointSpec(
        slug=slug,
        name=folder.name,
        system=system_of(inspected.config),
        branch=branch_of(inspected.kind, inspected.config),
        kind=inspected.kind,
        source="directory",
        origin=f"the host's folder “{folder.name}”",
        location=str(folder),
        ready=True,
        size_bytes=inspected.size_bytes,
        max_positions=positions_of(inspected.config),
        tasks=tasks_of(inspected.config),
        architecture=architecture_of(inspected.config),
    )


def _slug(name: str, taken: Counter[str]) -> str:
    """``dir-`` and the folder's name in URL-safe characters, with a number where the slug is taken."""
    base = "dir-" + (re.sub(r"[^a-z0-9._-]+", "-", name.lower())[:_MOST_SLUG].strip("-.") or "folder")
    slug = base
    while taken[slug]:
        taken[base] += 1
        slug = f"{base}-{taken[base]}"
    taken[slug] += 1
    return slug


def tasks_of(config: dict[str, object]) -> tuple[str, ...]:
    """Task names that a T5-like configuration lists (``task_specific_params``)."""
    tasks = config.get("task_specific_params")
    return tuple(str(name) for name in tasks) if isinstance(tasks, dict) else ()


def system_of(config: dict[str, object]) -> str | None:
    """The catalogue's system whose sizes have this model type, the oldest if there are several.

    XLNet's class serves two systems: XLNet, and Transformer-XL with ``attn_type="uni"``.
    """
    model_type, direction = config.get("model_type"), config.get("attn_type", "bi")
    if not isinstance(model_type, str):
        return None
    plain_type = model_type.replace("_", "").replace("-", "").lower()
    for system in sorted(catalogue.systems(), key=lambda system: system.year):
        sizes = (size for size in system.sizes if size.config.removesuffix("Config").lower() == plain_type)
        if any(size.overrides.get("attn_type", "bi") == direction for size in sizes):
            return system.slug
    return None
