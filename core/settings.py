"""Every knob of an installation, read from ``ATLAS_*`` environment variables.

==========================  =========  ==========================================================================
variable                    default    meaning
==========================  =========  ==========================================================================
``ATLAS_HUB``               ``off``    ``on`` offers published checkpoints of the Hugging Face Hub for download
``ATLAS_CHECKPOINT_DIR``    (none)     a folder of ``save_pretrained`` folders that the host adds
``ATLAS_MEMORY_MB``         ``2048``   memory that loaded models may share; least recently used ones leave first
``ATLAS_THREADS``           (all)      threads that torch may use for one computation
==========================  =========  ==========================================================================
"""

from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

MAX_TEXT_CHARS = 20_000
"""The longest text (in characters) that any box of the app accepts."""

MAX_LINK_CHARS = 2_000
"""The longest text (in characters) that travels in a link."""

ROOT = Path(__file__).resolve().parent.parent
ASSETS = ROOT / "assets"


class Settings(BaseSettings):
    """The settings of this process; see the table in the module's docstring."""

    model_config = SettingsConfigDict(env_prefix="ATLAS_", frozen=True)

    hub: Literal["off", "on"] = "off"
    checkpoint_dir: Path | None = None
    memory_mb: int = Field(default=2048, ge=64)
    threads: int | None = Field(default=None, ge=1, le=256)


@lru_cache(maxsize=1)
def settings() -> Settings:
    """The settings, read once from the environment. Tests call ``settings.cache_clear()`` after changing it."""
    return Settings()
