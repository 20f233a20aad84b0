"""Captured attention, by token and by word, equals what transformers computes when it is called directly."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from core import checkpoints
from core.attention.capture import capture, trace_of
from core.attention.heads import scores
from core.attention.inside.block import block
from core.attention.views import grid
from core.attention.word_maps import generate_answer, maps_over_words
from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, InputTooLong, InputUnusable
from core.language.inputs import pair
from core.language.starts import prepare, start_token
from core.language.tasks import tasks
from core.language.tokens import describe, own_language
from tests import tiny, tinyfamilies
from tests.attention_pages import data_of
from tests.library import library_model

SENTENCE = "The cat sat on the mat."
OTHER_SHAPES = ("longformer", "reformer", "xlnet")
DIRECT = [name for name in tinyfamilies.FAMILIES if name not in OTHER_SHAPES]


@pytest.fixture(scope="module")
def bert() -> Checkpoint:
    return tinyfamilies.make("bert")


@pytest.fixture(scope="module")
def gpt2() -> Checkpoint:
    return tinyfamilies.make("gpt2")


@pytest.fixture(scope="module")
def t5() -> Checkpoint:
    return tinyfamilies.make("t5", num_decoder_layers=2)  # else the library's own generation fails


def _stack(layers: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.stack([layer[0].detach().numpy() for layer in layers])


def _rows_sum_to_one(weights: np.ndarray[Any, Any]) -> None:
    np.testing.assert_allclose(weights.sum(-1), 1.0, atol=1e-5)


@pytest.mark.parametrize("name", DIRECT)
def test_maps_are_what_the_library_computes(name: str) -> None:
    checkpoint = tinyfamilies.make(name)
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    encoded = dict(tokenizer(SENTENCE, return_tensors="pt"))
    encoded |= own_language(model, encoded["input_ids"])
    target: str | None = None
    if checkpoint.spec.offers("rewrites"):
        target = "Le chat dort."
        start, written = start_token(model), tokenizer(text_target=target)["input_ids"]
        encoded["decoder_input_ids"] = torch.tensor([[start, *written[:-1]]])
    trace, direct = (
        capture(checkpoint, SENTENCE, target=target),
        library_model(model)(**encoded, output_attentions=True),
    )
    kinds = ("encoder", "decoder", "cross")
    if target is None:
        kept = {"decoder" if checkpoint.spec.offers("continues") else "encoder": direct.attentions}
    else:
        kept = {kind: getattr(direct, f"{kind}_attentions") for kind in kinds}
    assert [attention_map.kind for attention_map in trace.maps] == [*kept]
    for attention_map in trace.maps:
        np.testing.assert_allclose(attention_map.weights, _stack(kept[attention_map.kind]), atol=1e-6)
        _rows_sum_to_one(attention_map.weights)
    if trace.cross is not None and trace.decoder is not None:
        assert trace.cross.query_tokens[:-1] == trace.decoder.query_tokens[1:]
    elif trace.decoder is not None:
        assert not trace.decoder.weights[:, :, np.triu(np.ones((trace.decoder.weights.shape[2],) * 2, bool), 1)].any()


def test_encoder_reads_a_second_sentence_as_a_pair(bert: Checkpoint) -> None:
    encoder, alone = capture(bert, "The cat", "the dog").encoder, capture(bert, "The cat").encoder
    assert encoder.key_tokens == ("[CLS]", "the", "cat", "[SEP]", "the", "dog", "[SEP]")
    assert (encoder.second, alone.second) == (4, None)
    encoded = bert.tokenizer("The cat", "the dog", return_tensors="pt")
    direct = _stack(library_model(bert.model)(**encoded, output_attentions=True).attentions)
    np.testing.assert_allclose(encoder.weights, direct, atol=1e-6)


def test_encoder_decoder_uses_its_own_greedy_output(t5: Checkpoint) -> None:
    trace = capture(t5, SENTENCE)
    encoded = t5.tokenizer(SENTENCE, return_tensors="pt")
    ids = t5.model.generate(**encoded, do_sample=False, max_new_tokens=64)[0].tolist()
    assert len(trace.cross.query_tokens) == len(ids) - 1


def test_shared_model_and_result_stay_as_they_are(bert: Checkpoint) -> None:
    before = {name: value.clone() for name, value in bert.model.state_dict().items()}
    config = bert.model.config.to_dict()
    encoder = capture(bert, SENTENCE).encoder
    assert all(bool((value == before[name]).all()) for name, value in bert.model.state_dict().items())
    assert bert.model.config.to_dict() == config
    with pytest.raises(ValueError, match="read-only"):
        encoder.weights[0, 0, 0, 0] = 1.0


@pytest.mark.parametrize("text", ["", "   ", "\x00\x01", "\n\t"])
def test_nothing_to_read(bert: Checkpoint, text: str) -> None:
    with pytest.raises(InputEmpty):
        capture(bert, text)


def test_too_long_for_the_model_and_for_the_picture(
    bert: Checkpoint, t5: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputTooLong, match="64"):
        capture(bert, "cat " * 100)
    monkeypatch.setattr(t5.tokenizer, "model_max_length", 10**30)
    with pytest.raises(InputTooLong, match=r"256.*ATLAS_MAX_ATTENTION_TOKENS"):
        capture(t5, "cat " * 200)
    with pytest.raises(InputTooLong):
        capture(bert, "x" * 100_000)


@pytest.mark.parametrize(
    "text", ["</script><script>alert(1)</script>", "[MASK]", "🙂🙂", "שלום עולם", "[MASK] $x^2$ **b**"]
)
def test_odd_text_is_data(bert: Checkpoint, gpt2: Checkpoint, text: str) -> None:
    for checkpoint in (bert, gpt2):
        for attention_map in capture(checkpoint, text).maps:
            assert all(attention_map.query_tokens)
            _rows_sum_to_one(attention_map.weights)


def test_continuation_is_one_pass_over_prompt_and_written_tokens(gpt2: Checkpoint) -> None:
    decoder = capture(gpt2, SENTENCE, count=5).decoder
    prompt = gpt2.tokenizer(SENTENCE, return_tensors="pt")
    with torch.no_grad():
        full = gpt2.model.generate(**prompt, do_sample=False, max_new_tokens=5, eos_token_id=None)
        direct = _stack(library_model(gpt2.model)(full, output_attentions=True).attentions)
    assert len(decoder.query_tokens) == prompt["input_ids"].shape[1] + 5
    np.testing.assert_allclose(decoder.weights, direct, atol=1e-5)
    nothing_written = capture(gpt2, SENTENCE).decoder
    assert nothing_written.query_tokens == decoder.query_tokens[:-5]


def test_answer_of_an_encoder_decoder_has_three_maps(t5: Checkpoint) -> None:
    trace = capture(t5, SENTENCE, task=tasks(t5)[0].slug)
    assert trace.cross.query_tokens[:-1] == trace.decoder.query_tokens[1:]
    _rows_sum_to_one(trace.cross.weights)


def test_a_forced_language_is_read_but_not_among_the_written(t5: Checkpoint) -> None:
    trace = trace_of(pair(t5, describe(t5.tokenizer, [5, 6, 7, 1]), [0, 9], [11, 12, 1]))
    assert trace.decoder.weights.shape[2:] == (4, 4)
    assert trace.cross.weights.shape[2:] == (3, 4)
    plain = trace_of(pair(t5, describe(t5.tokenizer, [5, 6, 7, 1]), [0], [9, 11, 12, 1]))
    np.testing.assert_array_equal(trace.cross.weights, plain.cross.weights[:, :, 1:])


TEXT = "The unhappiest cat sat, then slept."
ANSWER = "Le chat malheureux dormait."
WORDS = ("The", "unhappiest", "cat", "sat", ",", "then", "slept", ".")
ANSWERED = ("Le", "chat", "malheureux", "dormait", ".")


def _places(text: str, words: tuple[str, ...], offsets: list[tuple[int, int]]) -> list[list[int]]:
    """Which tokens begin in each word, found by looking for the words in the text."""
    starts, at = [], 0
    for word in words:
        at = text.index(word, at)
        starts.append(at)
        at += len(word)
    ends = [*starts[1:], 10**6]

    def begin(place: int) -> int:
        """A token may begin with the blank before its word."""
        return place + (0 <= place < len(text) and text[place] == " ")

    return [
        [i for i, (a, b) in enumerate(offsets) if b > a and start <= begin(a) < end]
        for start, end in zip(starts, ends, strict=True)
    ]


@pytest.mark.parametrize("slug", ["atlas-t5", "atlas-bart"])
def test_words_are_sums_of_the_library_s_weights(slug: str) -> None:
    checkpoint = checkpoints.load(slug)
    task = tasks(checkpoint)[0]
    maps = maps_over_words(checkpoint, TEXT, task.slug, ANSWER)
    request = prepare(checkpoint, TEXT, task.slug)
    encoded = checkpoint.tokenizer(text_target=ANSWER, return_offsets_mapping=True)  # BART's begins with <s>
    prompt, ids = list(request.ids), encoded["input_ids"]
    with torch.no_grad():
        out = library_model(checkpoint.model)(
            input_ids=request.tensors["input_ids"],
            decoder_input_ids=torch.tensor([[*prompt, *ids[:-1]]]),
            output_attentions=True,
        )
    sources = _places(TEXT, WORDS, [(t.start, t.end) for t in request.source])
    answers = _places(ANSWER, ANSWERED, encoded["offset_mapping"])
    assert all(sources)
    assert all(answers)
    assert any(len(tokens) > 1 for tokens in sources + answers), "else nothing is added up"
    read = [[len(prompt) + i for i in tokens] for tokens in answers]
    made = [[len(prompt) - 1 + i for i in tokens] for tokens in answers]  # the row before a token produces it
    for entry, inputs, rows, columns, names in (
        (maps.encoder, out.encoder_attentions, sources, sources, (WORDS, WORDS)),
        (maps.decoder, out.decoder_attentions, read, read, (ANSWERED, ANSWERED)),
        (maps.cross, out.cross_attentions, made, sources, (ANSWERED, WORDS)),
    ):
        assert (entry.query_tokens, entry.key_tokens) == names
        weights = torch.stack([layer[0] for layer in inputs]).numpy()
        for i, row in enumerate(rows):
            for j, column in enumerate(columns):
                expected = weights[:, :, row][:, :, :, column].sum(-1).mean(-1)
                np.testing.assert_allclose(entry.weights[:, :, i, j], expected, atol=1e-5)
    decoder = maps.decoder
    np.testing.assert_array_equal(np.broadcast_to(decoder.allowed, decoder.weights.shape)[0, 0], np.tri(5, dtype=bool))


def test_every_encoder_decoder_reads_the_answer_of_another() -> None:
    specs = [
        entry
        for entry in checkpoints.available()
        if entry.ready and entry.kind == "seq2seq-lm" and entry.source == "bundled"
    ]
    assert len(specs) > 3
    for spec in specs:
        checkpoint = checkpoints.load(spec.slug)
        maps = maps_over_words(checkpoint, TEXT, tasks(checkpoint)[0].slug, ANSWER)
        shapes = [entry.weights.shape[2:] for entry in maps.maps]
        assert shapes == [(8, 8), (5, 5), (5, 8)]
        assert maps.decoder.allowed[..., -1, :].all(), "the last word is read as well"


def test_an_empty_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = checkpoints.load("atlas-t5")
    monkeypatch.setattr("core.attention.word_maps.translate.rewrite", lambda *_: iter(()))
    with pytest.raises(InputUnusable, match="generates no word here"):
        generate_answer(checkpoint, TEXT, "en-fr")


def test_special_tokens_are_told_by_the_tokenizer_not_by_their_look() -> None:
    made, tokenizer = tinyfamilies.make("bert"), tiny.wordpiece_tokenizer()
    tokenizer.add_tokens(["</s>"])  # an entry as any other
    made.model.resize_token_embeddings(len(tokenizer))
    checkpoint = replace(made, tokenizer=tokenizer)
    own = capture(checkpoint, "the </s> cat [MASK] </s>").own
    assert own.key_tokens == ("[CLS]", "the", "</s>", "cat", "[MASK]", "</s>", "[SEP]")
    assert own.special_queries == own.special_keys == (0, 6)
    assert data_of(grid.render(own))["specials"] == {"queries": [0, 6], "keys": [0, 6]}
    measured = scores(own)
    np.testing.assert_allclose(measured.grids["marks"], own.weights[..., 6].mean(-1), atol=1e-6)
    assert measured.rows["same token"] == 2
    assert block(checkpoint, "the </s>", 0).special == (0, 3)


def test_a_control_code_and_a_language_are_special_tokens() -> None:
    for slug, at in (("atlas-ctrl", 0), ("atlas-m2m-100", 0)):
        own = capture(checkpoints.load(slug), "<|story|> A cat" if slug == "atlas-ctrl" else "__en__ A cat").own
        assert at in own.special_keys, slug
