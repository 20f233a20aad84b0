"""Masked words, pairs and replaced tokens: the numbers of transformers' own classes on tiny random models."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import pipeline

from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, InputTooLong, InputUnusable, OutOfRange
from core.language import pairs, replaced
from core.language.fill_mask import fill_mask, masked_logits, prepare, refill
from core.language.tokens import tokenize
from tests import tiny, tinyfamilies

A, B = "The cat sat on the mat.", "A small dog runs in the garden."


@pytest.fixture(scope="module")
def electra() -> tuple[Checkpoint, Checkpoint]:
    return tinyfamilies.make("electra"), tinyfamilies.make("electra-judge")


@pytest.mark.parametrize("order", [False, True])
def test_the_probability_that_b_follows_is_the_heads_own(order: bool) -> None:
    head = "AlbertForPreTraining" if order else "BertForNextSentencePrediction"
    family = tinyfamilies.FAMILIES["albert" if order else "bert"]._replace(model=head)
    tokenizer = tinyfamilies.tokenizer_of(family.kind)
    torch.manual_seed(0)
    model = tinyfamilies.build(family, family.settings | {"vocab_size": len(tokenizer)})
    part = tinyfamilies.drawn(head, family.kind, model)
    assert pairs.question(part) == ("order" if order else "next")
    pair_probability = pairs.score_pair(part, f"  {A} ", B)
    encoded = tokenizer(A, B, return_tensors="pt", return_token_type_ids=True)
    assert encoded["token_type_ids"].sum() > 0
    with torch.no_grad():
        out = model(**encoded)
    expected = (out.sop_logits if order else out.logits).softmax(-1)[0, 0]
    assert pair_probability.probability == pytest.approx(float(expected), rel=1e-5)
    assert pair_probability.a == A
    assert pairs.score_pair(part, B, A).probability != pytest.approx(pair_probability.probability, rel=1e-3)
    with pytest.raises(InputEmpty):
        pairs.score_pair(part, A, " \x00 ")
    with pytest.raises(InputTooLong, match="64"):
        pairs.score_pair(part, A * 5, B * 5)


def test_second_sentences_are_lines() -> None:
    assert pairs.candidates(" one \n\n two\none") == ("one", "two")
    with pytest.raises(InputEmpty):
        pairs.candidates(" \n ")
    with pytest.raises(OutOfRange, match="9 second sentences"):
        pairs.candidates("\n".join("abcdefghi"))


def test_the_discriminator_reads_the_generators_text(electra: tuple[Checkpoint, Checkpoint]) -> None:
    generator, discriminator = electra
    tokens = tokenize(generator, A)
    detection = replaced.replace_and_detect(generator, discriminator, A, [2, 6], seed=3)
    assert detection.masked == (2, 6)
    assert [t.id for i, t in enumerate(detection.after) if i not in detection.masked] == [
        t.id for i, t in enumerate(tokens) if i not in detection.masked
    ]
    ids = torch.tensor([[token.id for token in detection.after]])
    with torch.no_grad():
        expected = discriminator.model(input_ids=ids).logits[0].sigmoid()
    assert detection.probabilities == pytest.approx(expected.tolist(), rel=1e-5)
    masked = torch.tensor([[token.id for token in tokens]])
    masked[0, [2, 6]] = generator.tokenizer.mask_token_id
    with torch.no_grad():
        chances = generator.model(input_ids=masked).logits[0].softmax(-1)
    for place, chance in zip(detection.masked, detection.sampled, strict=True):
        assert chance == pytest.approx(float(chances[place, detection.after[place].id]), rel=1e-4)
    again = replaced.replace_and_detect(generator, discriminator, A, [2, 6], seed=3)
    assert again == detection
    others = {replaced.replace_and_detect(generator, discriminator, A, [2, 6], seed=s).after for s in range(4)}
    assert len(others) > 1


def test_right_verdicts_are_counted_over_ordinary_tokens() -> None:
    tokens = tokenize(tinyfamilies.make("bert"), "the cat sat")
    changed = tuple(tokens[2] if i == 1 else token for i, token in enumerate(tokens))  # [CLS] cat cat sat [SEP]
    detection = replaced.Detection(tokens, changed, (1, 3), (0.1, 0.9), (0.9, 0.8, 0.7, 0.2, 0.9))
    assert detection.replaced == (1,)  # the guess at 3 was right, so it counts as original
    assert detection.correct() == (2, 3)  # caught at 1, wrongly accused at 2, left alone at 3
    assert detection.correct(threshold=0.75) == (3, 3)


def test_words_are_chosen_by_the_seed_and_whole(electra: tuple[Checkpoint, Checkpoint]) -> None:
    tokens = tokenize(electra[0], "The cat sat on the mat and looked at the dog. " * 2)
    chosen = {replaced.some_words(tokens, seed) for seed in range(10)}
    assert len(chosen) > 3
    assert all(len(c) == round(0.15 * 22) for c in chosen)  # 22 words, each one piece
    with pytest.raises(InputUnusable):
        replaced.some_words(tokenize(electra[0], "?!"), 0)


def test_a_text_of_ones_own_has_nothing_replaced(electra: tuple[Checkpoint, Checkpoint]) -> None:
    detection = replaced.detect(electra[1], A)
    assert detection.before == detection.after
    assert detection.replaced == ()
    assert len(detection.probabilities) == len(detection.after)


TEXTS = (
    "The capital of France is [MASK].",
    "The [MASK] sat on the [MASK] and looked at the dog.",
    "[MASK] [MASK] runs in the garden.",
)


def _roberta_tokenizer() -> Any:
    """Byte-level BPE with RoBERTa's frame and a mask that swallows the space before it."""
    from tokenizers import AddedToken, processors

    base = tiny.bytelevel_tokenizer()
    base.add_special_tokens(
        {
            "bos_token": "<s>",
            "eos_token": "</s>",
            "pad_token": "<pad>",
            "unk_token": "<unk>",
            "cls_token": "<s>",
            "sep_token": "</s>",
            "mask_token": AddedToken("<mask>", lstrip=True, special=True),
        }
    )
    ends = [(t, base.convert_tokens_to_ids(t)) for t in ("</s>", "<s>")]
    base.backend_tokenizer.post_processor = processors.RobertaProcessing(*ends, trim_offsets=True)
    return base


def _checkpoint(name: str) -> Checkpoint:
    tokenizer = _roberta_tokenizer() if name == "roberta" else tiny.wordpiece_tokenizer()
    torch.manual_seed(1)
    family = tinyfamilies.FAMILIES[name]
    settings = family.settings | {"vocab_size": len(tokenizer), "initializer_range": 0.5, "pad_token_id": 1}
    model = tinyfamilies.build(family, settings).eval()
    return Checkpoint(model, tokenizer, tinyfamilies.spec_of(name, family.kind))


@pytest.mark.parametrize("name", ["bert", "roberta"])
@pytest.mark.parametrize("text", TEXTS)
def test_the_same_predictions_as_the_pipeline(name: str, text: str) -> None:
    checkpoint = _checkpoint(name)
    mask = checkpoint.tokenizer.mask_token
    pipe = pipeline("fill-mask", model=checkpoint.model, tokenizer=checkpoint.tokenizer, top_k=5)
    theirs = pipe(text.replace("[MASK]", mask))
    if text.count("[MASK]") == 1:
        theirs = [theirs]
    ours = fill_mask(checkpoint, text, k=5)
    assert len(ours) == text.count("[MASK]")
    for mine, others in zip(ours, theirs, strict=True):
        assert mine.ids == tuple(guess["token"] for guess in others)
        assert mine.probabilities == pytest.approx([guess["score"] for guess in others], rel=1e-4)


@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_the_refilled_sentence_is_the_pipelines(name: str) -> None:
    checkpoint = _checkpoint(name)
    text = "the capital of france is [MASK]."
    tokenizer = checkpoint.tokenizer
    pipe = pipeline("fill-mask", model=checkpoint.model, tokenizer=tokenizer, top_k=40)
    masked = prepare(checkpoint, text)
    predictions = fill_mask(checkpoint, text, k=40)
    guesses = list(enumerate(pipe(text.replace("[MASK]", tokenizer.mask_token))))
    # the pipeline leaves out special tokens and writes bytes that leave no ink
    words = [(i, g) for i, g in guesses if g["token_str"].strip().isalpha() and len(g["token_str"].strip()) > 1]
    assert len(words) > 3
    for rank, guess in words:
        parts = refill(masked, predictions, [rank])
        plain = "".join(part.text for part in parts)
        assert plain.replace(" ", "") == guess["sequence"].replace(" ", "").replace("##", "")
        assert [part.position for part in parts].count(predictions[0].position) == 1


FAMILIES = ("distilbert", "albert", "electra", "deberta-v2", "xlm-roberta", "roberta", "camembert")


@pytest.mark.parametrize("name", FAMILIES)
def test_projecting_masked_positions_alone_changes_nothing(name: str) -> None:
    model = tinyfamilies.make(name).model
    ids = torch.randint(5, 85, (1, 12), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        logit = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[0]
        torch.testing.assert_close(masked_logits(model, ids, (2, 7, 8)), logit[[2, 7, 8]], atol=1e-5, rtol=1e-4)
