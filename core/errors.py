"""What can go wrong, in sentences for the person in front of the screen.

Every error that a visitor may see is an :class:`AtlasError`. Its text says what was wrong and what would work, in plain
words; pages show it as it stands. Anything else that is raised is a defect of the program.
"""


class AtlasError(Exception):
    """Base of all errors that are shown to a visitor; ``str(error)`` is the sentence to show."""


class SettingUnusable(AtlasError):
    """An ``ATLAS_*`` environment variable holds a value that it cannot take."""


class ContentUnusable(AtlasError):
    """A file of words is missing, lacks a part, or names a placeholder that its section does not know."""


class UnknownSystem(AtlasError):
    """A system's slug is not in the catalogue."""


class NoArchitecture(AtlasError):
    """The system's architecture was never published, so it has no sizes and no module tree."""


class RecordUnusable(AtlasError):
    """A record names a class or an argument from which no network can be built."""


class UnknownCheckpoint(AtlasError):
    """A checkpoint's slug names nothing that this installation knows."""


class CheckpointUnavailable(AtlasError):
    """The checkpoint is known, but it is not here (not installed, not downloaded, the Hub is off)."""


class CheckpointRefused(AtlasError):
    """The files are here but must not or cannot be loaded: a pickle, remote code, a truncated file, no tokeniser."""


class HubUnavailable(AtlasError):
    """The Hub is down, slow, unreachable, or sent less than it promised."""


class InputEmpty(AtlasError):
    """There is no text to work on."""


class InputTooLong(AtlasError):
    """The text exceeds the page's limit or the model's positions."""


class InputUnusable(AtlasError):
    """The text is there but this demo cannot use it (no mask, a mask token of another model, no known token)."""


class NoAttentionMatrix(AtlasError):
    """This architecture, or this mode of it, has no attention matrix to show."""


class UnknownTask(AtlasError):
    """A sequence-to-sequence checkpoint does not offer this task."""


class OutOfRange(AtlasError):
    """A number (layer, head, temperature, ...) lies outside what the model or the setting allows."""


class TreebankRefused(AtlasError):
    """A file of sentences with their grammar is missing, or is not what it should be."""
