"""The checkpoints that a host adds: the folders of ``ATLAS_CHECKPOINT_DIR``, and why some of them are not offered."""

from __future__ import annotations

import re
from dataclasses import dataclass

from core import settings as configuration
from core.checkpoints.folder import inspect_again
from core.checkpoints.kinds import branch_of, positions_of
from core.checkpoints.spec import CheckpointSpec
from core.errors import CheckpointRefused


@dataclass(frozen=True, slots=True)
class Refused:
    """A folder that is there but is not offered, and the sentence that says why."""

    slug: str
    name: str
    reason: str


def in_directory() -> tuple[list[CheckpointSpec], tuple[Refused, ...]]:
    """The folders of ``ATLAS_CHECKPOINT_DIR``: those that can be offered, and the others with their reasons."""
    root = configuration.settings().checkpoint_dir
    if root is None or not root.is_dir():
        return [], ()
    specs: list[CheckpointSpec] = []
    others: list[Refused] = []
    slugs: set[str] = set()
    folders = [root] if (root / "config.json").is_file() else sorted(path for path in root.iterdir() if path.is_dir())
    for folder in folders:
        if folder.name.startswith(".") or not any(folder.iterdir()):
            continue
        slug = _slug(folder.name, slugs)
        try:
            inspected = inspect_again(folder, root)
        except CheckpointRefused as error:
            others.append(Refused(slug, folder.name, str(error)))
            continue
        except OSError:
            others.append(Refused(slug, folder.name, f"The folder “{folder.name}” cannot be read by this process."))
            continue
        specs.append(
            CheckpointSpec(
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
            )
        )
    return specs, tuple(others)


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
