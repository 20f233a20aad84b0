"""Two encoder-decoders over one sentence and one answer: words against sums over the library's own weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core import checkpoints
from core.attention.word_maps import answer_of, over_words
from core.errors import InputUnusable
from core.language.tasks import tasks
from core.language.translate import prepare

TEXT = "The unhappiest cat sat, then slept."
ANSWER = "Le chat malheureux dormait."
WORDS = ("The", "unhappiest", "cat", "sat", ",", "then", "slept", ".")
ANSWERED = ("Le", "chat", "malheureux", "dormait", ".")


def _places(text: str, words: tuple[str, ...], offsets: list[tuple[int, int]], shift: int = 0) -> list[list[int]]:
    """Which tokens begin in each word, found by looking for the words in the text."""
    starts, at = [], 0
    for word in words:
        at = text.index(word, at)
        starts.append(at + shift)
        at += len(word)
    ends = [*starts[1:], 10**6]

    def begin(place: int) -> int:
        """A token may begin with the blank before its word."""
        return place + (0 <= place - shift < len(text) and text[place - shift] == " ")

    return [
        [i for i, (a, b) in enumerate(offsets) if b > a and start <= begin(a) < end]
        for start, end in zip(starts, ends, strict=True)
    ]


@pytest.mark.parametrize("slug", ["atlas-t5", "atlas-bart"])
def test_words_are_sums_of_the_library_s_weights(slug: str) -> None:
    checkpoint = checkpoints.load(slug)
    task = tasks(checkpoint)[0]
    found = over_words(checkpoint, TEXT, task.slug, ANSWER)
    request = prepare(checkpoint, TEXT, task.slug)
    encoded = checkpoint.tokenizer(ANSWER, add_special_tokens=False, return_offsets_mapping=True)
    prompt, ids = list(request.prompt), encoded["input_ids"]
    with torch.no_grad():
        out = checkpoint.model(
            input_ids=torch.tensor([list(request.source)]),
            decoder_input_ids=torch.tensor([[*prompt, *ids]]),
            output_attentions=True,
        )
    sources = _places(TEXT, WORDS, [(t.start, t.end) for t in request.tokens], len(task.prefix))
    answers = _places(ANSWER, ANSWERED, encoded["offset_mapping"])
    assert all(sources)
    assert all(answers)
    assert any(len(tokens) > 1 for tokens in sources + answers), "else nothing is added up"
    read = [[len(prompt) + i for i in tokens] for tokens in answers]
    made = [[len(prompt) - 1 + i for i in tokens] for tokens in answers]  # the row before a token produces it
    for one, given, rows, columns, names in (
        (found.encoder, out.encoder_attentions, sources, sources, (WORDS, WORDS)),
        (found.decoder, out.decoder_attentions, read, read, (ANSWERED, ANSWERED)),
        (found.cross, out.cross_attentions, made, sources, (ANSWERED, WORDS)),
    ):
        assert (one.query_tokens, one.key_tokens) == names
        weights = torch.stack([layer[0] for layer in given]).numpy()
        for i, row in enumerate(rows):
            for j, column in enumerate(columns):
                expected = weights[:, :, row][:, :, :, column].sum(-1).mean(-1)
                np.testing.assert_allclose(one.weights[:, :, i, j], expected, atol=1e-5)
    decoder = found.decoder
    np.testing.assert_array_equal(np.broadcast_to(decoder.allowed, decoder.weights.shape)[0, 0], np.tri(5, dtype=bool))


def test_every_encoder_decoder_reads_the_answer_of_another() -> None:
    specs = [
        one for one in checkpoints.available() if one.ready and one.kind == "seq2seq-lm" and one.source == "bundled"
    ]
    assert len(specs) > 3
    for spec in specs:
        checkpoint = checkpoints.load(spec.slug)
        found = over_words(checkpoint, TEXT, tasks(checkpoint)[0].slug, ANSWER)
        shapes = [one.weights.shape[2:] for one in found.maps]
        assert shapes == [(8, 8), (5, 5), (5, 8)]
        assert found.decoder.allowed[..., -1, :].all(), "the last word is read as well"


def test_an_empty_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = checkpoints.load("atlas-t5")
    monkeypatch.setattr("core.attention.word_maps.translate.rewrite", lambda *_: iter(()))
    with pytest.raises(InputUnusable, match="generates no word here"):
        answer_of(checkpoint, TEXT, "en-fr")
