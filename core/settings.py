"""The settings of an installation, read from ``ATLAS_*`` environment variables.

==========================  =========  ==========================================================================
variable                    default    meaning
==========================  =========  ==========================================================================
``ATLAS_HUB``               ``off``    ``on`` offers published checkpoints of the Hugging Face Hub for download
``ATLAS_CHECKPOINT_DIR``    (none)     a folder of ``save_pretrained`` folders that the host adds
``ATLAS_CONTENT_DIR``       (none)     a folder whose files replace single files of ``assets/content``
``ATLAS_MEMORY_MB``         ``2048``   memory that loaded models and results share; least recently used ones are evicted
``ATLAS_THREADS``           (see       threads that torch may use for one computation; where it is not set, one for a
                            right)     small model and all of the machine's for others (`core.checkpoints.memory`)
``ATLAS_WARM``              ``off``    ``on`` loads the models of the default views at the start; ``/ready`` says when
``ATLAS_METRICS``           ``off``    ``on`` opens ``/metrics`` for Prometheus
``ATLAS_HOSTS``             (none)     names that the server answers to, ``*.example.org`` for all below one; unset,
                                       on a loopback address localhost alone, else all (`core.ui.server`)
==========================  =========  ==========================================================================
"""

from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from core.errors import SettingUnusable

MAX_TEXT_CHARS = 20_000
"""The longest text (in characters) that any box of the app accepts."""

MAX_LINK_CHARS = 2_000
"""The longest text (in characters) that a link carries unpacked."""

MAX_PACKED_CHARS = 7_000
"""The longest packed text in a link: proxies commonly take 8 kB of a request's first line."""

TAKES = {
    "hub": "“off” or “on”",
    "checkpoint_dir": "the path of a folder",
    "content_dir": "the path of a folder",
    "memory_mb": "a whole number of megabytes, from 64 to 100,000,000",
    "threads": "a whole number from 1 to 256",
    "warm": "“off” or “on”",
    "metrics": "“off” or “on”",
    "hosts": "names without scheme and port, separated by commas, such as atlas.example.org",
}
"""The accepted values of each variable, for the error message, which does not repeat the host's value."""

ROOT = Path(__file__).resolve().parent.parent
ASSETS = ROOT / "assets"


class Settings(BaseSettings):
    """The settings of this process; see the table in the module's docstring."""

    model_config = SettingsConfigDict(env_prefix="ATLAS_", frozen=True)

    hub: Literal["off", "on"] = "off"
    checkpoint_dir: Path | None = None
    content_dir: Path | None = None
    memory_mb: int = Field(default=2048, ge=64, le=100_000_000)
    threads: int | None = Field(default=None, ge=1, le=256)
    warm: Literal["off", "on"] = "off"
    metrics: Literal["off", "on"] = "off"
    hosts: str | None = Field(default=None, pattern=r"^[\w.*, -]*$")

    @property
    def result_bytes(self) -> int:
        """The share of the memory budget for cached results, traces and texts: an eighth, at most 256 MiB."""
        return min(self.memory_mb * 125_000, 256 * 2**20)

    @property
    def model_bytes(self) -> int:
        """The share of the memory budget for loaded models: all but that of results."""
        return self.memory_mb * 1_000_000 - self.result_bytes


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
        accepted = " ".join(f"ATLAS_{name.upper()} takes {TAKES[name]}." for name in names)
        raise SettingUnusable(
            f"A setting of this installation has an invalid value. {accepted} "
            "The host can correct it in the environment and restart the app."
        ) from None
