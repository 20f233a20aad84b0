"""A question and its options: of a lesson, of a room, or of a demo that covers its answer.

What is right is no part of it: a check (:mod:`core.lessons.checks`), or the demo's own run, computes that when somebody
answers. Whoever asks bounds the texts.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, model_validator

Answer = str | int | float


class Wrong(BaseModel):
    """A wrong answer: the misconception behind it may have a name and a sentence against it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    misconception: str = ""
    because: str = ""


class Option(Wrong):
    """One option."""

    text: str

    @model_validator(mode="before")
    @classmethod
    def _text_alone(cls, value: object) -> object:
        return {"text": value} if isinstance(value, str) else value


class Mistake(Wrong):
    """A wrong number that somebody arrives at, where a number is asked for."""

    answer: float


class Quiz(BaseModel):
    """One question; without options a text of up to ``most`` characters is the answer, or a number if that is 0."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    text: str
    options: tuple[Option, ...] = ()
    most: int = 0
    tolerance: float = 0.0
    """The share by which a number may be off."""
    mistakes: tuple[Mistake, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of the options."""
        return tuple(option.text for option in self.options)

    def right(self, reply: Answer, answer: Answer) -> bool:
        """Whether what somebody answered is what was computed."""
        if isinstance(reply, str) or isinstance(answer, str):
            return reply == answer
        return abs(reply - answer) <= self.tolerance * abs(answer) + 1e-9

    def behind(self, reply: Answer) -> Wrong | None:
        """The option, or the mistake, that an answer is."""
        if isinstance(reply, str):
            return next((option for option in self.options if option.text == reply), None)
        return next((mistake for mistake in self.mistakes if self.right(reply, mistake.answer)), None)
