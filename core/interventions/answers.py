"""The answers whose logits are compared."""

from __future__ import annotations

from core.errors import InputUnusable
from core.language.inputs import Inputs


def answer_id(question: Inputs, word: str) -> int:
    """The id of an answer that a visitor names.

    Raises:
        InputUnusable: it is no single token, or no class.
    """
    word = word.strip()
    if question.answers:
        if word in question.answers:
            return question.answers.index(word)
        raise InputUnusable(f"“{word[:40]}” is none of the answers: {', '.join(question.answers)}.")
    tokenizer = question.checkpoint.tokenizer
    for spelled in (f" {word}", word):
        ids = tokenizer(spelled, add_special_tokens=False, verbose=False)["input_ids"]
        if len(ids) == 1 and ids[0] != tokenizer.unk_token_id:
            return int(ids[0])
    if len(ids) <= 1:
        raise InputUnusable(f"“{word[:40]}” is not in the vocabulary of this model. A common word works, such as “is”.")
    raise InputUnusable(
        f"“{word[:40]}” is {len(ids)} tokens of this model, and it predicts one. A common word works, such as “is”."
    )
