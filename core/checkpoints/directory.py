"""The checkpoints that a host adds: the folders of ``ATLAS_CHECKPOINT_DIR``, and why some of them are not offered."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from core import settings as configuration
from core.checkpoints.families.architectures import architecture_of, branch_of, positions_of
from core.checkpoints.folder import Inspected, inspect_again, signature
from core.checkpoints.spec import CheckpointSpec
from core.errors import CheckpointRefused


@dataclass(frozen=True, slots=True)
class Refused:
    """A folder that is there but is not offered, and the sentence that says why."""

    slug: str
    name: str
    reason: str


def trouble() -> str | None:
    """What is wrong with ``ATLAS_CHECKPOINT_DIR`` itself, in a sentence; None where it can be read or is not set."""
    return _listed()[1]


def _listed() -> tuple[list[Path], str | None]:
    """The folders that may be models, ``ATLAS_CHECKPOINT_DIR`` itself or those in it; else why there are none."""
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
    """The folders of ``ATLAS_CHECKPOINT_DIR``: those that can be offered, and the others with their reasons."""
    root = configuration.settings().checkpoint_dir
    folders, wrong = _listed()
    if root is None or wrong is not None:
        return [], (Refused("dir", "ATLAS_CHECKPOINT_DIR", wrong),) if wrong else ()
    specs: list[CheckpointSpec] = []
    others: list[Refused] = []
    slugs: set[str] = set()
    for folder in folders:
        try:
            if signature(folder):
                specs.append(_spec(folder, inspect_again(folder, root), _slug(folder.name, slugs)))
        except FileNotFoundError:  # it left while the folders were listed
            continue
        except CheckpointRefused as error:
            others.append(Refused(_slug(folder.name, slugs), folder.name, str(error)))
        except OSError:
            reason = f"The folder “{folder.name}” cannot be read by this process."
            others.append(Refused(_slug(folder.name, slugs), folder.name, reason))
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


def _slug(name: str, taken: set[str]) -> str:
    """``dir-`` and the folder's name in URL-safe letters; a number is added where two folders would share it."""
    base = "dir-" + (re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-.") or "folder")
    slug, number = base, 2
    while slug in taken:
        slug, number = f"{base}-{number}", number + 1
    taken.add(slug)
    return slug


def tasks_of(config: dict[str, object]) -> tuple[str, ...]:
    """Task names that a T5-like configuration lists (``task_specific_params``)."""
    tasks = config.get("task_specific_params")
    return tuple(str(name) for name in tasks) if isinstance(tasks, dict) else ()


def system_of(config: dict[str, object]) -> str | None:
    """The catalogue's system whose sizes are configured with this model type, the oldest if there are several.

    One class of transformers serves two systems: XLNet, and with attention to the left alone Transformer-XL.
    """
    model_type, direction = config.get("model_type"), config.get("attn_type", "bi")
    if not isinstance(model_type, str):
        return None
    from core import catalogue

    wanted = model_type.replace("_", "").replace("-", "").lower()
    for system in sorted(catalogue.systems(), key=lambda system: system.year):
        own = (size for size in system.sizes if size.config.removesuffix("Config").lower() == wanted)
        if any(size.overrides.get("attn_type", "bi") == direction for size in own):
            return system.slug
    return None
