"""What a section opens with shows what the section says: the numbers of its default example, computed again."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from core import checkpoints
from core.attention import word_maps
from core.attention.ablation.ablate import ablate_heads, rank_heads
from core.attention.capture import capture
from core.attention.inside.block import block
from core.content import content
from core.figures.labels import percent
from core.finetuning import record, words
from core.finetuning.examples import TEN, ready
from core.finetuning.train import fine_tune
from core.interventions.breaking import part_losses
from core.interventions.patching import patch_grid
from core.language import fill_mask
from core.language.decoding.search import tree
from core.language.tokens import tokenize
from core.language.types import Decoding
from core.objectives import sentinels
from core.ui.architectures import ROLE, SENTENCE
from core.ui.generation.beam import BEAMS, DEPTH
from core.ui.heads.text import opening
from core.ui.objectives.two_texts import MEAN, RATE
from core.ui.vectors.common import FIRST
from core.ui.vectors.positions import KIND
from core.vectors.contextual import sense_separation
from core.vectors.occurrences import EXAMPLES, word_vectors
from core.vectors.reading import read_states
from tests.pages import opened, shown, widget


def test_one_head_opens_with_a_pronoun_on_its_noun() -> None:
    checkpoint = checkpoints.load(checkpoints.first("attention")[0])
    opens = opening(checkpoint.spec)
    assert opens is not None
    (result,) = capture(checkpoint, opens.text).maps
    query, key = result.query_tokens.index(opens.pronoun), result.key_tokens.index(opens.noun)
    weights = result.weights[:, :, query, key]  # (L, H)
    assert weights[opens.layer - 1, opens.head - 1] == weights.max() >= 0.75
    assert abs(query - key) > 2, "a head on the previous token would do"
    at = opened("attention")
    assert (widget(at.selectbox, "Layer").value, widget(at.selectbox, "Head").value) == (opens.layer, opens.head)
    assert f"{percent(weights.max())} of the weight of the pronoun" in shown(at)


def test_a_block_opens_with_the_weights_of_that_head() -> None:
    opens = opening(checkpoints.load(checkpoints.first("attention")[0]).spec)
    assert opens is not None
    at = opened("attention", tab="block")
    assert (widget(at.selectbox, "Layer").value, widget(at.selectbox, "Head").value) == (opens.layer, opens.head)
    assert "Weights" in [heading.value for heading in at.subheader]


def test_one_word_opens_with_senses_that_only_the_context_separates() -> None:
    checkpoint = checkpoints.load(checkpoints.first("vectors")[0])
    vectors = word_vectors(checkpoint, FIRST, EXAMPLES[FIRST], partial(read_states, checkpoint))
    senses = [occurrence.line.sense for occurrence in vectors.own.occurrences]
    static, *_, last = (sense_separation(stop, senses, None) for stop in vectors.stops)
    assert static.same == pytest.approx(static.other)
    assert last.same - last.other >= 0.2
    assert last.nearest >= 0.8


def test_three_architectures_open_with_weight_on_both_sides_only_where_there_is_no_causal_mask() -> None:
    shares = {}
    for slug in checkpoints.first("transformer-beside"):
        read = word_maps.word_attention(checkpoints.load(slug), SENTENCE.default)
        head = word_maps.strongest(read, ROLE.default) or word_maps.strongest(read, "previous")
        assert head is not None
        weights = read.attention_map.weights[head]
        shares[read.attention_map.causal] = shares.get(read.attention_map.causal, ())
        after, before = np.triu(weights, 1).sum() / len(weights), np.tril(weights, -1).sum() / len(weights)
        shares[read.attention_map.causal] += ((before, after),)
    assert min(share for pair in shares[False] for share in pair) >= 0.25, shares
    assert {after for _, after in shares[True]} == {0.0}


def test_beam_search_opens_with_a_text_more_probable_than_that_of_greedy_decoding() -> None:
    checkpoint = checkpoints.load(checkpoints.first("generation")[0])
    prompt = content("generation", "beam").label("prompt")
    beam, greedy = (
        tree(checkpoint, prompt, Decoding(strategy="beam", beams=beams, max_new_tokens=DEPTH.default))
        for beams in (BEAMS.default, 1)
    )
    assert (beam.results[0][2], greedy.results[0][2]) == (pytest.approx(-9.1, abs=0.1), pytest.approx(-12.0, abs=0.1))
    assert beam.ids[0] != greedy.ids[0], "the paths part at the first token, where greedy decoding cannot go back"


def test_fine_tuning_opens_with_ten_sentences_that_are_enough_for_a_pretrained_model_alone() -> None:
    data, slug = ready(TEN), checkpoints.first(record.OPENS_WITH[TEN])[0]
    assert (len(data.train), len(data.held_out)) == (10, 50)
    last = {name: record.stored(slug, TEN, run)[-1].accuracy for name, run in record.runs(TEN).items()}
    assert last["chosen"] > 0.9
    assert last["chosen"] >= last["head"] + 0.1
    assert max(last["random"], words.accuracy(data), data.majority) < 0.5
    at = opened("training", tab="train")
    assert "10 training and 50 held-out texts in 3 classes" in shown(at)
    assert f"**{last['chosen']:.0%}** of the 50 held-out sentences are classified correctly" in shown(at)


def test_spans_and_sentinels_open_with_a_span_at_the_beginning_and_one_at_the_end() -> None:
    words_of = content("objectives", "sentinels")
    tokens = tokenize(checkpoints.load("atlas-t5"), words_of.label("text"), special=False)
    random = np.random.default_rng(words_of.front["seed"])
    pieces = tuple(token.piece for token in tokens)
    example = sentinels.corrupt(pieces, random, rate=RATE.default / 100, mean=float(MEAN.default))
    places = [at for at, cell in enumerate(example.source) if "extra_id" in cell.token]
    assert places[0] <= 4, "the first line has no span"
    assert places[-1] >= len(example.source) - 3


def test_positions_open_with_sinusoids() -> None:
    assert next(iter(KIND.options)) == "sinusoidal"
    assert widget(opened("vectors", tab="places").button_group, KIND.label).value == "sinusoidal"


def test_the_encoders_why_has_the_numbers_of_its_model() -> None:
    minilm = checkpoints.load("minilm")
    texts = ("The doctor washed her [MASK] before dinner.", "The doctor washed her [MASK].")
    ((whole, *_), (short, *_)) = (fill_mask(minilm, text, k=1) for text in texts)
    assert whole.tokens[0] == short.tokens[0] == "hands"
    chances = [f"{prediction.probabilities[0]:.0%}" for prediction in (whole, short)]
    assert "gives “hands” {}, and {} without".format(*chances) in content("demos", "masks").part("Why")


def test_padding_without_its_mask_changes_the_prediction_as_the_misreading_says() -> None:
    minilm = checkpoints.load("minilm")
    ids = minilm.tokenizer("Once upon a [MASK] there was a king.", return_tensors="pt")["input_ids"]
    position = int((ids[0] == minilm.tokenizer.mask_token_id).nonzero())
    time = minilm.tokenizer.convert_tokens_to_ids("time")
    padded = torch.cat([ids, torch.full((1, 10), minilm.tokenizer.pad_token_id)], 1)
    blocked = torch.cat([torch.ones_like(ids), torch.zeros(1, 10, dtype=ids.dtype)], 1)
    chances = []
    for tokens, mask in ((ids, torch.ones_like(ids)), (padded, torch.ones_like(padded)), (padded, blocked)):
        with torch.no_grad():
            logits = minilm.model(input_ids=tokens, attention_mask=mask).logits[0, position]
        chances.append(f"{float(logits.softmax(-1)[time]):.0%}")
    text = content("objectives", "masks").part("Misreading")
    assert "falls from {} to {}; with the mask it stays at {}".format(*chances) in text
    assert chances[0] == chances[2] != chances[1]


def test_a_frozen_encoder_is_classified_from_cls_and_from_the_mean_as_the_misreading_says() -> None:
    bert, data = checkpoints.load("atlas-bert"), record.data("topic")
    head = record.runs("topic")["head"]
    shares = {}
    for pooling in ("first", "mean"):
        setups = (replace(head, pooling=pooling, seed=seed) for seed in range(3))
        shares[pooling] = sorted(
            round(100 * list(fine_tune(bert, data, setup, last_only=True))[-1].accuracy) for setup in setups
        )
    (low, *_, high), (lower, *_, higher) = shares["first"], shares["mean"]
    text = content("training", "train").part("Misreading")
    assert f"classifies {low} to {high}% of the {len(data.held_out)} held-out" in text
    assert f"from [CLS], and {lower} to {higher}% from the mean" in text


def why(page: str, section: str) -> str:
    return content(page, section).part("Why")


def test_the_whys_of_attention_have_the_numbers_of_minilm() -> None:
    minilm, text = checkpoints.load("minilm"), content("attention", "heads").front["opening"]["text"]
    attention_map = capture(minilm, text).maps[0]
    query, key = (attention_map.query_tokens.index(word) for word in ("it", "car"))
    weights = attention_map.weights[:, :, query, key]
    assert f"“{text}” a head of MiniLM (layer 4, head 2) gives {weights[3, 1]:.0%}" in why("attention", "heads")
    assert f"gives {weights.max():.0%} of the weight" in why("attention", "all")
    assert f"the mean of all gives {weights.mean():.0%}" in why("attention", "all")
    steps = block(minilm, text, 0).steps
    norms = [float(np.linalg.norm(step.values[key])) for step in steps if step.values.ndim == 2]
    assert {"11.3", "5.6", "7.7", "16.6", "12.2"} <= {f"{norm:.1f}" for norm in norms}
    assert all(number in why("attention", "block") for number in ("11.3", "5.6", "7.7", "16.6", "12.2"))


def test_the_why_of_ablation_has_the_bits_of_its_text() -> None:
    minilm = checkpoints.load("minilm")
    text = minilm.spec.family.question_text
    ranked = rank_heads(minilm, text)
    bits = [effect.bits for effect in ranked]
    every = ablate_heads(minilm, text, tuple(effect.head for effect in ranked)).bits
    sharpest = max(ranked, key=lambda effect: effect.sharpness or 0)
    said = why("interventions", "off")
    assert f"“{text}” no head of MiniLM moves it by more than {max(bits):.2f} bits" in said
    assert f"{sum(effect < 0.1 for effect in bits)} of {len(bits)} move it by less than 0.1" in said
    assert f"all together they move it by {every:.1f}" in said
    assert f"moves it by {sharpest.bits:.2f}. The price" in said


def test_the_why_of_patching_has_two_cells_of_its_grid() -> None:
    texts = ("The keys to the cabinet [MASK] on the table.", "The key to the cabinets [MASK] on the table.")
    grid = patch_grid(checkpoints.load("minilm"), *texts)
    rows, columns = grid.recovered.shape
    said = why("interventions", "patch")
    assert f"the state of “keys” returns {grid.recovered[1, 2]:.0%}" in said
    assert f"that of [MASK] returns {grid.recovered[5, 6]:.0%}" in said
    assert f"{rows} × {columns} = {rows * columns} cells" in said


def test_the_why_of_one_word_has_the_cosines_of_its_sentences() -> None:
    minilm, (word, text) = checkpoints.load("minilm"), next(iter(EXAMPLES.items()))
    vectors = word_vectors(minilm, word, text, lambda line: read_states(minilm, line))
    senses = np.array([occurrence.line.sense for occurrence in vectors.own.occurrences])
    last = vectors.stops[-1] / np.linalg.norm(vectors.stops[-1], axis=1, keepdims=True)
    cosines, same = last @ last.T, senses[:, None] == senses
    pairs = np.triu_indices(len(senses), 1)
    within, across = cosines[pairs][same[pairs]].mean(), cosines[pairs][~same[pairs]].mean()
    assert f"is {within:.2f} between two of one sense and {across:.2f} across senses" in why("vectors", "word")
    nearest = (cosines - 9 * np.eye(len(senses))).argmax(1)
    assert (int((senses[nearest] == senses).sum()), len(senses)) == (10, 12)
    assert "ten of the twelve have their nearest neighbor in their own sense" in why("vectors", "word")


def test_the_why_of_positions_has_the_losses_of_minilm() -> None:
    losses = part_losses(checkpoints.load("minilm"))
    assert losses is not None
    said = why("vectors", "places")
    assert f"masked tokens cost it {losses.intact:.1f} bits each, {losses.broken['positions']:.1f} with" in said
    assert f"where a uniform guess would cost {losses.uniform:.1f}" in said
