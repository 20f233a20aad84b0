"""The tasks of an encoder-decoder: translation, denoising, spelling correction, fusion, classification as text.

A task is selected in the text itself, by a prefix (T5: “translate English to German: ”, Raffel et al. 2020,
arXiv 1910.10683), or in the first token of the output, as a language (M2M-100: Fan et al. 2020, arXiv 2010.11125).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from core.checkpoints.families.architectures import has
from core.checkpoints.spec import Checkpoint
from core.errors import UnknownTask
from core.run.model import Config

LANGUAGES = {"en": "English", "fr": "French", "de": "German", "es": "Spanish", "ro": "Romanian", "it": "Italian"}
_M2M = ("en", "fr", "de", "es", "it")
_LABELS = {
    "fuse": "Fuse two sentences",
    "denoise": "Reconstruct a corrupted text",
    "respell": "Correct noisy spelling",
    "spans": "Generate removed spans",
    "sentiment": "Sentiment: positive or negative",
    "acceptability": "Acceptable or corrupted",
    "similarity": "Similarity of two sentences",
    "question": "Question or statement",
    "summary": "First sentence of an article",
}
_PAIR = re.compile(r"([a-z]{2,3})-([a-z]{2,3})")
_PUBLISHED_PAIR = re.compile(r"translation_([a-z]{2,3})_to_([a-z]{2,3})")


@dataclass(frozen=True, slots=True)
class Task:
    slug: str
    label: str
    prefix: str = ""
    """Precedes the text, with its own space at the end."""
    opens: str = ""
    """A token that precedes the text's tokens, "" for none."""
    answers: str = ""
    """The first token of the output, "" for none."""

    @property
    def languages(self) -> tuple[str, str] | None:
        """(from, to) of a translation, else None."""
        match = _PAIR.fullmatch(self.slug)
        return (match[1], match[2]) if match else None

    @property
    def repairs(self) -> bool:
        """Whether the task is to reconstruct corrupted text."""
        return self.slug == "repair" or self.slug.startswith("repair-")

    @property
    def denoises(self) -> bool:
        """Whether the task is to undo one of BART's corruptions (`core.objectives.corruptions`)."""
        return self.slug == "denoise"

    @property
    def respells(self) -> bool:
        """Whether the task is to correct noisy spelling, byte by byte (`core.language.noise`)."""
        return self.slug == "respell"


PLAIN = Task("text", "Text in, text out")


def tasks(checkpoint: Checkpoint) -> tuple[Task, ...]:
    """The tasks of ``checkpoint`` in the order of the menu; one plain task where none is known.

    Raises:
        InputUnusable: the checkpoint is not an encoder-decoder.
    """
    spec, config = checkpoint.spec, checkpoint.model.config
    spec.demand("rewrites", "A task")
    if has(config, "language tokens"):
        return _m2m(checkpoint)
    # A card lists its tasks by slug, with their prefixes where they are not the Atlas's usual ones.
    listed = spec.card.extra.get("tasks", ()) if spec.card else ()
    if listed:
        prefixes = listed if isinstance(listed, dict) else {}
        return tuple(_named(str(slug), str(prefixes.get(slug, _prefix(str(slug))))) for slug in listed)
    return _published(config) or (PLAIN,)


def task_of(checkpoint: Checkpoint, slug: str | None) -> Task:
    """The task called ``slug``; the first one for None.

    Raises:
        UnknownTask: there is no such task; the message lists all.
    """
    offered = tasks(checkpoint)
    if not slug:
        return offered[0]
    task = next((task for task in offered if task.slug == slug), None)
    if task is None:
        slugs = ", ".join(task.slug for task in offered)
        raise UnknownTask(f"{checkpoint.spec.name} has no task “{slug[:40]}”. It offers: {slugs}.")
    return task


def _named(slug: str, prefix: str) -> Task:
    task = Task(slug, slug.replace("-", " ").capitalize(), prefix)
    if task.languages:
        source, target = (LANGUAGES.get(code, code) for code in task.languages)
        return Task(slug, f"Translate {source} to {target}", prefix)
    if task.repairs:
        language = LANGUAGES.get(slug.removeprefix("repair-"), "text")
        return Task(slug, f"Reconstruct corrupted {language}", prefix)
    return Task(slug, _LABELS.get(slug, task.label), prefix)


def _prefix(slug: str) -> str:
    """The default prefix of the Atlas's own models."""
    pair = _PAIR.fullmatch(slug)
    if pair:
        source, target = (LANGUAGES.get(code, code) for code in pair.groups())
        return f"translate {source} to {target}: "
    return "repair: " if slug.startswith("repair") else f"{slug}: "


def _published(config: Config) -> tuple[Task, ...]:
    """Tasks from ``task_specific_params``, where T5's configurations keep their prefixes."""
    by_slug: dict[str, Task] = {}
    params = getattr(config, "task_specific_params", None) or {}
    for name, settings in list(params.items())[:32]:
        prefix = settings.get("prefix") if isinstance(settings, dict) else None
        if not isinstance(prefix, str) or not prefix or len(prefix) > 200:
            continue
        pair = _PUBLISHED_PAIR.fullmatch(str(name))
        slug = "-".join(pair.groups()) if pair else re.sub(r"[^a-z0-9]+", "-", str(name).lower()).strip("-")
        by_slug[slug] = _named(slug, prefix)
    return tuple(by_slug.values())


def _m2m(checkpoint: Checkpoint) -> tuple[Task, ...]:
    """Pairs of a few of M2M-100's languages; the vocabulary has a token for each language."""
    codes = [code for code in _M2M if _has(checkpoint, f"__{code}__")]
    return tuple(
        Task(f"{a}-{b}", f"Translate {LANGUAGES[a]} to {LANGUAGES[b]}", opens=f"__{a}__", answers=f"__{b}__")
        for a in codes
        for b in codes
        if a != b
    ) or (PLAIN,)


def _has(checkpoint: Checkpoint, token: str) -> bool:
    token_id = checkpoint.tokenizer.convert_tokens_to_ids(token)
    return isinstance(token_id, int) and token_id != checkpoint.tokenizer.unk_token_id
