"""``python -m core doctor``: what this installation can do; ``python -m core check``: what is wrong with it alone.

Both read files and versions, so they take a second or two; ``load`` also loads every model.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from core import __version__, checkpoints, content
from core import settings as configuration
from core.checkpoints import hub_cache, package, registry
from core.checkpoints.families import Branch
from core.checkpoints.spec import CheckpointSpec
from core.engine.client import reachable
from core.errors import AtlasError, SettingUnusable
from core.lessons import lesson
from core.turns import processors, turns

BRANCHES: tuple[Branch, ...] = ("encoder", "decoder", "encoder-decoder", "efficient")
NEEDED = (
    "streamlit",
    "torch",
    "transformers",
    "tokenizers",
    "safetensors",
    "huggingface-hub",
    "plotly",
    "pandas",
    "bertviz",
    "pydantic-settings",
    "typer",
    package.NAME,
)
"""Packages without which a page does not work."""

OLDEST_PYTHON = (3, 11)


@dataclass(slots=True)
class Report:
    """Sections of lines to print, and the problems that make the exit status non-zero."""

    sections: list[tuple[str, list[str]]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def text(self) -> str:
        problems = "Problems\n" + "\n".join(f"  - {problem}" for problem in self.problems)
        blocks = [problems if self.problems else "No problems."]
        blocks += [f"{title}\n" + "\n".join(f"  {line}" for line in lines) for title, lines in self.sections if lines]
        return "\n\n".join(blocks)


def examine(load: bool = False) -> Report:
    """Check versions, settings, sources and models. With ``load``, load every model that is listed as ready."""
    report = Report()
    _versions(report)
    report.problems.extend(configuration.unknown_variables(os.environ))
    if _settings(report):
        report.problems.extend(_texts(configuration.settings()))
        _models(report, load)
    return report


def _texts(chosen: configuration.Settings) -> Iterator[str]:
    """Problems of the host's texts and lessons. A lesson's views are known once the pages are (`core.links`)."""
    yield from configuration.missing_folders(chosen)
    if chosen.content_dir and chosen.content_dir.is_dir():
        yield from content.overlay_problems(chosen.content_dir)
    yield from lesson.problems()


def check_lesson(path: Path) -> str | None:
    """What is wrong with the file of a lesson; None where nothing is."""
    try:
        lesson.refuse_missing_views(lesson.from_file(path))
    except AtlasError as error:
        return str(error)
    return None


def _versions(report: Report) -> None:
    lines = [
        f"Transformer Atlas {__version__}",
        f"Python {platform.python_version()} ({platform.platform(terse=True)})",
    ]
    if sys.version_info < OLDEST_PYTHON:
        report.problems.append("Python 3.11 or newer is needed.")
    for name in NEEDED:
        try:
            lines.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            lines.append(f"{name}: not installed")
            report.problems.append(f"The package {name} is not installed. “make run” installs all requirements.")
    report.sections.append(("Versions", lines))


def _settings(report: Report) -> bool:
    """Settings, sources and memory; False where the settings cannot be read."""
    try:
        chosen = configuration.settings()
    except SettingUnusable as error:
        report.problems.append(str(error))
        return False
    installed = package.find_package()
    folder = chosen.checkpoint_dir
    lines = [
        f"bundled     {registry.bundled_root()}",
        f"package     {f'{package.NAME} {installed.version}' if installed else 'not installed'}",
        f"directory   {folder if folder else 'none (ATLAS_CHECKPOINT_DIR)'}",
        f"Hub         {chosen.hub} (ATLAS_HUB); cache {hub_cache.cache_root()}",
    ]
    report.sections.append(("Sources of models, in this order", lines))
    if installed is not None:
        try:
            package.verified_weights()
        except AtlasError as error:
            report.problems.append(str(error))
    if chosen.engine == "ray" and not reachable():
        report.problems.append(f"The model engine at {chosen.engine_url} is away. “python -m core serve” starts one.")
    total = _memory_bytes()
    threads = (
        f"{chosen.threads} for all models" if chosen.threads else f"1 for small models, {processors()} for large ones"
    )
    memory = [
        f"{chosen.memory_mb:,} MB (ATLAS_MEMORY_MB): {chosen.model_bytes / 1e6:,.0f} MB for loaded models, "
        f"{chosen.result_bytes / 1e6:,.0f} MB for results, {chosen.upload_bytes / 1e6:,.0f} MB for uploads",
        f"threads: {threads} (ATLAS_THREADS)",
        f"{turns.most} runs of pages compute at a time, the others queue",
        "models compute in this process (ATLAS_ENGINE)"
        if chosen.engine == "process"
        else f"models compute by Ray Serve at {chosen.engine_url} (ATLAS_ENGINE_URL)",
    ]
    if total:
        memory.append(f"{total / 1e6:,.0f} MB in this machine")
        if total / 1e6 < chosen.memory_mb:
            report.problems.append("ATLAS_MEMORY_MB allows more memory than this machine has.")
    memory.append(f"{shutil.disk_usage(configuration.ROOT).free / 1e9:,.1f} GB free on disk")
    report.sections.append(("Memory and disk", memory))
    limits = [
        f"{getattr(chosen, name):>6,} {configuration.Settings.model_fields[name].description} (ATLAS_{name.upper()})"
        for name in configuration.LIMITS
    ]
    report.sections.append(("Limits", limits))
    return True


def _models(report: Report, load: bool) -> None:
    specs = checkpoints.available()
    live = [spec for spec in specs if spec.ready]
    for branch in BRANCHES:
        runnable = [spec for spec in live if spec.branch == branch]
        report.sections.append((f"Live on /{branch}", [_describe(spec) for spec in runnable]))
        if not runnable:
            report.problems.append(f"No model runs on the page /{branch}.")
    waiting = [spec for spec in specs if not spec.ready]
    report.sections.append(("Listed, not ready", [f"{spec.slug}: {spec.origin}" for spec in waiting]))
    for spec in waiting:
        if spec.source != "hub":
            report.problems.append(f"{spec.slug} is incomplete ({spec.origin}).")
    offered = [spec.slug for spec in registry.published() if not spec.ready]
    if offered:
        title = "Published checkpoints for “python -m core fetch NAME”"
        report.sections.append((title, [", ".join(offered)]))
    report.problems.extend(folder.reason for folder in checkpoints.refused())
    if load:
        for spec in live:
            try:
                checkpoints.load(spec.slug)
            except AtlasError as error:
                report.problems.append(f"{spec.slug} does not load. {error}")


def _describe(spec: CheckpointSpec) -> str:
    size = f", {spec.size_bytes / 1e6:,.1f} MB" if spec.size_bytes else ""
    return f"{spec.slug}: {spec.family.answers}; {spec.origin}{size}"


def _memory_bytes() -> int | None:
    """Physical memory in bytes; None where the system does not report it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
