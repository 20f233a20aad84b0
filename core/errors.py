"""The errors that a visitor may see.

Each is an :class:`AtlasError`, whose text says what is wrong and what would work; pages show it unchanged. Any other
exception is a defect of the program.
"""


class AtlasError(Exception):
    """Base of all errors that are shown to a visitor; ``str(error)`` is the message."""


class SettingUnusable(AtlasError):
    """An ``ATLAS_*`` environment variable has an invalid value."""


class ContentUnusable(AtlasError):
    """A content file is missing, lacks a part, or has a placeholder without a value."""


class UnknownSystem(AtlasError):
    """A system's slug is not in the catalogue."""


class NoArchitecture(AtlasError):
    """The system's architecture is not published, so it has no sizes and no module tree."""


class RecordUnusable(AtlasError):
    """No model can be built from the class and arguments that a record names."""


class UnknownCheckpoint(AtlasError):
    """No checkpoint of this installation has the slug."""


class CheckpointUnavailable(AtlasError):
    """The checkpoint is known but not available: not installed, not downloaded, or the Hub is off."""


class CheckpointRefused(AtlasError):
    """The files exist but cannot or must not be loaded: a pickle, remote code, a truncated file, no tokenizer."""


class HubUnavailable(AtlasError):
    """The Hub is unreachable, too slow, or sent an incomplete file."""


class EngineUnavailable(AtlasError):
    """The engine that computes for this installation cannot be reached, or failed."""


class RoomRefused(AtlasError):
    """A room cannot be opened or entered, or does not take the question: too many rooms or followers, no options."""


class RoomUnknown(RoomRefused):
    """There is no room of that code, or it is another's."""


class RoomsUnavailable(AtlasError):
    """The store of rooms, Redis, cannot be reached."""


class InputEmpty(AtlasError):
    """The input has no text."""


class InputTooLong(AtlasError):
    """The text exceeds the page's limit or the model's maximum length."""


class InputUnusable(AtlasError):
    """This demo cannot use the text (no mask, the mask token of another model, no known token)."""


class NoAttentionMatrix(AtlasError):
    """This architecture, or this mode of it, has no attention matrix to show."""


class UnknownTask(AtlasError):
    """A sequence-to-sequence checkpoint does not offer this task."""


class OutOfRange(AtlasError):
    """A number (layer, head, temperature, ...) is outside the range that the model or the setting allows."""


class TreebankRefused(AtlasError):
    """A treebank file is missing or not valid CoNLL-U."""
