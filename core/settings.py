"""The settings of an installation, read from ``ATLAS_*`` environment variables.

==========================  =========  ==========================================================================
variable                    default    meaning
==========================  =========  ==========================================================================
``ATLAS_HUB``               ``off``    ``on`` offers published checkpoints of the Hugging Face Hub for download
``ATLAS_CHECKPOINT_DIR``    (none)     a folder of ``save_pretrained`` folders that the host adds
``ATLAS_CONTENT_DIR``       (none)     a folder whose files replace single files of ``assets/content``
``ATLAS_LESSONS_DIR``       (none)     a folder of lessons that the host adds (`core.lessons.lesson`)
``ATLAS_MEMORY_MB``         ``2048``   memory of loaded and trained models and of results; least recently used ones go
``ATLAS_THREADS``           (see       threads that torch may use for one computation; where it is not set, one for a
                            right)     small model and all of the machine's for others (`core.checkpoints.memory`)
``ATLAS_ENGINE``            ``process``  ``ray`` has Ray Serve compute what models do (`core.engine`)
``ATLAS_ENGINE_URL``        (see       its address, ``http://127.0.0.1:8000`` by default
                            right)
``ATLAS_WARM``              ``off``    ``on`` loads the models of the default views at the start; ``/ready`` says when
``ATLAS_METRICS``           ``off``    ``on`` opens ``/metrics`` for Prometheus
``ATLAS_LOGIN``             ``off``    ``on`` asks for a log-in before every page (`core.ui.login`)
``ATLAS_REDIS_URL``         (none)     where rooms live for several processes; without it, in this one (`core.rooms`)
``ATLAS_HOSTS``             (none)     names that the server answers to, ``*.example.org`` for all below one; unset,
                                       on a loopback address localhost alone, else all (`core.ui.server.access`)
==========================  =========  ==========================================================================

The others are :data:`LIMITS` of what one visitor may ask for. A view may take less, where its picture has no room for
more; no view takes more. An empty variable is an unset one.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from core.errors import SettingUnusable

MAX_LINK_CHARS = 2_000
"""The longest text (in characters) that a link carries unpacked."""

MAX_PACKED_CHARS = 7_000
"""The longest packed text in a link: proxies commonly take 8 kB of a request's first line."""

ROOT = Path(__file__).resolve().parent.parent
ASSETS = ROOT / "assets"


class Settings(BaseSettings):
    """The settings of this process; see the table in the module's docstring."""

    model_config = SettingsConfigDict(env_prefix="ATLAS_", env_ignore_empty=True, frozen=True)

    hub: Literal["off", "on"] = "off"
    checkpoint_dir: Path | None = None
    content_dir: Path | None = None
    lessons_dir: Path | None = None
    memory_mb: int = Field(default=2048, ge=64, le=100_000_000)
    threads: int | None = Field(default=None, ge=1, le=256)
    engine: Literal["process", "ray"] = "process"
    engine_url: str = Field(default="http://127.0.0.1:8000", pattern=r"^http://[\w.-]+(:\d{1,5})?(/[\w./-]*)?$")
    warm: Literal["off", "on"] = "off"
    metrics: Literal["off", "on"] = "off"
    login: Literal["off", "on"] = "off"
    hosts: str | None = Field(default=None, pattern=r"^[\w.*, -]*$")
    redis_url: str | None = Field(default=None, pattern=r"^(rediss?://\S+)?$", repr=False)
    max_sessions: int = Field(default=100, ge=1, le=100_000, description="open tabs")
    max_chars: int = Field(default=20_000, ge=2_000, le=200_000, description="characters of a text")
    max_tokens: int = Field(default=4_096, ge=1_024, le=65_536, description="tokens that a model reads in one pass")
    max_attention_tokens: int = Field(
        default=256, ge=32, le=512, description="tokens of a text whose attention or vectors are shown"
    )
    max_new_tokens: int = Field(default=200, ge=64, le=1_000, description="tokens that one generation adds")
    max_beams: int = Field(default=8, ge=1, le=16, description="hypotheses of a beam search")
    max_rooms: int = Field(default=50, ge=1, le=10_000, description="rooms that are open")
    max_followers: int = Field(default=200, ge=1, le=10_000, description="followers of a room")
    max_upload_kb: int = Field(default=20, ge=1, le=10_000, description="kilobytes of a file that is uploaded")
    max_corpus_kb: int = Field(
        default=4_000, ge=100, le=100_000, description="kilobytes of a corpus that is searched for duplicates"
    )
    max_page_mb: int = Field(default=24, ge=1, le=200, description="megabytes of a page that is built for a frame")
    max_training_kb: int = Field(default=1_000, ge=10, le=10_000, description="kilobytes of a text to train on")

    @property
    def result_bytes(self) -> int:
        """The share of the memory budget for cached results, traces and texts: a sixty-fourth, at most 32 MiB.

        Some minutes of a class fit. More would hold texts that nobody asks for again, whose objects each full garbage
        collection traverses.
        """
        return min(self.memory_mb * 15_625, 32 * 2**20)

    @property
    def upload_bytes(self) -> int:
        """The share for files that visitors upload: a sixteenth, at most 128 MiB."""
        return min(self.memory_mb * 62_500, 128 * 2**20)

    @property
    def trained_bytes(self) -> int:
        """The share for models that visitors train, with their optimizers: an eighth, at most 512 MiB."""
        return min(self.memory_mb * 125_000, 512 * 2**20)

    @property
    def model_bytes(self) -> int:
        """The share of the memory budget for loaded models: all but those of results, uploads and trainings."""
        return self.memory_mb * 1_000_000 - self.result_bytes - self.upload_bytes - self.trained_bytes


LIMITS = tuple(name for name in Settings.model_fields if name.startswith("max_"))
"""The settings that bound what one visitor may ask for; each has a description."""


def accepted(name: str) -> str:
    """The values that a setting takes, for the error message, which does not repeat the host's value."""
    field = Settings.model_fields[name]
    if name.endswith("_dir"):
        return "the path of a folder"
    if name == "hosts":
        return "names without scheme and port, separated by commas, such as atlas.example.org"
    if name == "engine":
        return "“process” or “ray”"
    if name == "engine_url":
        return "an address such as http://engine:8000"
    if name == "redis_url":
        return "an address such as redis://redis:6379/0"
    if not field.metadata:
        return "“off” or “on”"
    low, high = (
        next(getattr(rule, bound) for rule in field.metadata if hasattr(rule, bound)) for bound in ("ge", "le")
    )
    return f"a whole number{' of megabytes,' if name.endswith('_mb') else ''} from {low:,} to {high:,}"


def raised_with(name: str) -> str:
    """The sentence that tells a host how to raise a limit."""
    return f"The host can raise the limit with ATLAS_{name.upper()}."


COMPOSE = (
    *("BIND", "PORT", "PREFIX", "SUBNET", "CONTAINER_MEMORY", "CPUS", "EXTRA"),
    *("ENGINE_MEMORY", "ENGINE_CPUS", "ENGINE_REPLICAS", "ENGINE_MOST"),
)
"""``ATLAS_*`` variables that the Compose files read, and no process of ours."""


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """A sentence for each ``ATLAS_*`` variable that is no setting, such as a misspelled one."""
    variables = [f"ATLAS_{name.upper()}" for name in (*Settings.model_fields, *COMPOSE)]
    sentences = []
    for name in sorted(environment):
        if name.upper().startswith("ATLAS_") and name.upper() not in variables:
            near = get_close_matches(name.upper(), variables, 1)
            sentences.append(
                f"{name} is no setting, so it changes nothing{f'; did you mean {near[0]}?' if near else '.'}"
            )
    return sentences


def missing_folders(chosen: Settings) -> list[str]:
    """A sentence for each folder of texts that a setting names and that is none; `core.checkpoints` reads the third."""
    return [
        f"ATLAS_{name.upper()} names {folder}, which is no folder."
        for name in ("content_dir", "lessons_dir")
        if (folder := getattr(chosen, name)) is not None and not folder.is_dir()
    ]


@lru_cache(maxsize=1)
def settings() -> Settings:
    """The settings, read once from the environment. Tests call ``settings.cache_clear()`` after changing it.

    Raises:
        SettingUnusable: a variable has an invalid value.
    """
    try:
        return Settings()
    except ValidationError as error:
        names = dict.fromkeys(str(problem["loc"][0]) for problem in error.errors())
        takes = " ".join(f"ATLAS_{name.upper()} takes {accepted(name)}." for name in names)
        raise SettingUnusable(
            f"A setting of this installation has an invalid value. {takes} "
            "The host can correct it in the environment and restart the app."
        ) from None
