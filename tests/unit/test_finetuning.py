"""Fine-tuning: a visitor's lines, what each choice trains, and that a run changes nothing that is shared."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
import torch

from core import checkpoints
from core.checkpoints.spec import Checkpoint
from core.errors import AtlasError, InputTooLong, OutOfRange
from core.finetuning import record, tags, trainable, words
from core.finetuning.examples import READY, TEN, Example, LabeledSet, parse, ready, split
from core.finetuning.setup import SIZES, TEXT_RATE, Setup, baselines, usual_rate
from core.finetuning.train import Learner, fine_tune, first_tokens, token_ids
from tests import tiny, tinyfamilies

WORDS = ("one", "two", "three", "four", "five")
LINES = "\n".join(f"{label}: {word} {noun}" for label, noun in (("a", "cat"), ("b", "dog")) for word in WORDS)


def test_one_in_four_of_each_class_is_held_out() -> None:
    data = parse(f"\n{LINES}\n\n")
    assert [example.label for example in data.held_out] == ["a", "b"]
    assert [example.text for example in data.held_out] == ["four cat", "four dog"]
    assert len(data.train) == 8
    assert data.labels == ("a", "b")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("", "no text"),
        ("no colon here", "Line 1 is not an example"),
        (f"{LINES}\na:", "Line 11 is not an example"),
        (f"{LINES}\n: cat", "Line 11 is not an example"),
        ("\n".join(f"a: {n}" for n in range(9)), "All examples have the class “a”"),
        (f"{LINES}\nc: alone", "The class “c” has 1 of the 4 examples"),
        ("\n".join([LINES] * 11), "at most 100"),
        ("\n".join(f"{n}: cat {m}" for n in range(9) for m in range(4)), "at most 8 are used"),
        (f"{LINES}\na: {'x' * 301}", "Line 11 is too long"),
        (f"{LINES}\n{'x' * 31}: cat", "Line 11 is too long"),
        (f"{LINES}\na: cat | dog", "Line 11 has 2 texts, the lines above have 1"),
        (f"a: cat |\n{LINES}", "One text of the pair is empty"),
        (f"a: cat | dog | bird\n{LINES}", "Line 1 has 3 texts; a pair has two"),
    ],
)
def test_lines_that_are_no_examples(lines: str, said: str) -> None:
    with pytest.raises(AtlasError, match=said):
        parse(lines)


def test_own_pairs_have_two_segments() -> None:
    data = parse("\n".join(f"{label}: cat {word} | dog" for label in "ab" for word in WORDS))
    assert data.held_out[0] == Example("a", "cat four", "dog")


@pytest.mark.parametrize("name", READY)
def test_ready_sets_are_balanced_and_shared_by_no_text(name: str) -> None:
    data = ready(name)
    assert {example.whole for example in data.train}.isdisjoint(example.whole for example in data.held_out)
    counts = Counter(example.label for example in data.train)
    assert min(counts.values()) >= (3 if name == TEN else 8)
    assert max(counts.values()) - min(counts.values()) <= 1
    assert data.majority == pytest.approx(1 / len(data.labels), abs=0.05)


def test_bart_reads_the_decoders_state_at_the_last_token() -> None:
    checkpoint = checkpoints.load("atlas-bart")
    learner = Learner(checkpoint, 2, Setup("head", "last"))
    texts = [Example("", "Why so"), Example("", "The king had three daughters.")]
    both = learner.states(learner.encode(texts)).detach()
    for text, state in zip(texts, both, strict=True):
        ids = torch.tensor([checkpoint.tokenizer(text.text)["input_ids"]])
        start = torch.tensor([[checkpoint.model.config.decoder_start_token_id]])
        model = checkpoint.model.base_model(input_ids=ids, decoder_input_ids=torch.cat((start, ids[:, :-1]), 1))
        assert torch.allclose(state, model.last_hidden_state[0, -1], atol=1e-4)
    few = LabeledSet(ready("question").train[:8], ready("question").held_out[:4])
    *_, last = fine_tune(checkpoint, few, Setup("all", "last", epochs=1))
    assert last.probabilities.shape == (4, len(few.labels))


def test_t5_learns_to_generate_the_label() -> None:
    checkpoint, data = checkpoints.load("atlas-t5"), ready("question").first(4)
    few = replace(data, held_out=data.train)
    before, first, *_, last = fine_tune(checkpoint, few, Setup(epochs=16, rate=TEXT_RATE))
    assert before.accuracy == 0
    assert before.probabilities.max() < 0.01, "no label is generated before training"
    assert first.loss == pytest.approx(before.loss), "of the only batch, before its step"
    assert last.accuracy == 1
    assert (last.probabilities.sum(1) <= 1 + 1e-5).all()
    assert last.last


def test_the_majority_is_that_of_the_training_texts() -> None:
    data = LabeledSet(
        (Example("a", "x"), Example("b", "y"), Example("b", "z")),
        (Example("a", "v"), Example("a", "w"), Example("b", "u")),
    )
    assert data.majority == pytest.approx(1 / 3)
    assert data.first(2).train == (Example("a", "x"), Example("b", "y"))
    assert split(data.train, 2).held_out == (Example("b", "z"),)


def tiny_bert() -> Checkpoint:
    torch.manual_seed(0)
    family = tinyfamilies.FAMILIES["bert"]
    model = tinyfamilies.build(family, family.settings | {"vocab_size": 400}).eval()
    return Checkpoint(model, tiny.wordpiece_tokenizer(), tinyfamilies.spec_of("bert", family.kind))


def run(checkpoint: Checkpoint, **settings: Any) -> list[Any]:
    return list(fine_tune(checkpoint, parse(LINES), Setup(epochs=4, **settings)))


@pytest.mark.parametrize("trained", ["head", "adapters", "lora", "top", "all"])
def test_training_lowers_the_loss_and_leaves_the_shared_model_alone(trained: Any) -> None:
    checkpoint = tiny_bert()
    before = {name: value.clone() for name, value in checkpoint.model.state_dict().items()}
    epochs = run(checkpoint, trained=trained, rate=5e-3)
    assert [epoch.number for epoch in epochs] == [0, 1, 2, 3, 4]
    assert epochs[0].loss == pytest.approx(0.6931, abs=1e-3)
    assert epochs[0].probabilities == pytest.approx(0.5)
    assert epochs[-1].loss < epochs[1].loss
    assert [epoch.last for epoch in epochs] == [False] * 4 + [True]
    after = checkpoint.model.state_dict()
    assert after.keys() == before.keys()
    assert all(torch.equal(value, after[name]) for name, value in before.items())
    again = run(checkpoint, trained=trained, rate=5e-3)
    assert [epoch.loss for epoch in again] == pytest.approx([epoch.loss for epoch in epochs], abs=1e-5)


def test_what_is_trained_by_hand() -> None:
    checkpoint = tiny_bert()
    config: Any = checkpoint.model.config
    width, inner, layers = config.hidden_size, config.intermediate_size, config.num_hidden_layers

    def trained(name: Any, size: int = 0) -> int:
        return Learner(checkpoint, 3, Setup(trained=name, size=size)).trained

    head = 3 * width + 3
    assert trained("head") == head
    assert trained("adapters") == head + layers * 2 * SIZES["adapters"] * width
    assert trained("adapters", 3) == head + layers * 2 * 3 * width
    # query, key, value and output of the attention, then the two matrices of the feed-forward network
    assert trained("lora") == head + layers * SIZES["lora"] * (4 * 2 * width + 2 * (width + inner))
    layer = 4 * (width * width + width) + 2 * width * inner + inner + width + 4 * width
    assert trained("top") == head + layer
    assert trained("all") == head + sum(value.numel() for value in checkpoint.model.base_model.parameters())


def test_random_weights_are_a_model_of_their_own() -> None:
    checkpoint, setup = tiny_bert(), Setup(trained="lora", pooling="mean")
    random = Learner(checkpoint, 2, baselines(setup)["random"])
    assert random.setup.trained == "all"
    ours = checkpoint.model.base_model.state_dict()
    theirs = random.backbone.state_dict()
    assert not any(torch.equal(ours[name], theirs[name]) for name in ours if ours[name].ndim == 2)


def test_settings_and_texts_out_of_range() -> None:
    checkpoint = tiny_bert()
    for wrong in ({"epochs": 0}, {"rate": 1.0}, {"rate": float("nan")}, {"size": 65}):
        with pytest.raises(OutOfRange):
            Learner(checkpoint, 2, replace(Setup(), **wrong))
    long = replace(parse(LINES), train=(Example("a", "cat " * 200), Example("b", "cat")))
    with pytest.raises(InputTooLong):
        list(fine_tune(checkpoint, long, Setup()))


def test_the_time_is_limited() -> None:
    epochs = run(tiny_bert(), trained="all", seconds=0.0)
    assert [epoch.number for epoch in epochs] == [0, 1]
    assert epochs[-1].last


@pytest.mark.parametrize("slug", [spec.slug for spec in checkpoints.available() if spec.ready and trainable(spec)])
def test_each_offered_model_has_layers_to_adapt(slug: str) -> None:
    for trained in ("adapters", "lora"):
        setup: Any = Setup(trained=trained)
        assert Learner(checkpoints.load(slug), 2, setup).parameters, "else no layer was found"


def test_in_stored_runs_pretraining_is_worth_more_than_random_weights_and_frozen_features() -> None:
    """Also with five times the sentences and a model trained here, whatever the baseline."""
    setup = Setup(rate=usual_rate("all"))
    runs = {"fine-tuned": setup, **baselines(setup)}
    stored = {name: record.stored("atlas-bert", "topic", run) for name, run in runs.items()}
    assert [epoch.last for epoch in stored["fine-tuned"]] == [False] * 15 + [True]
    accuracy = {name: epochs[-1].accuracy for name, epochs in stored.items()}
    assert accuracy["fine-tuned"] >= max(accuracy["head"], accuracy["random"], ready("topic").majority) + 0.05, accuracy
    assert not record.stored("atlas-bert", "topic", replace(setup, seed=1))


def test_random_weights_count_no_pooler_that_nothing_reads() -> None:
    checkpoint = tiny_bert()
    assert checkpoint.model.base_model.pooler is None
    pretrained, random = (Learner(checkpoint, 2, Setup(pretrained=is_pretrained)) for is_pretrained in (True, False))
    assert random.trained == pretrained.trained == pretrained.whole
    for name in (*READY, "tags", "spans"):
        slug = checkpoints.first(record.OPENS_WITH.get(name, "fine-tuning"))[0]
        stored = {run: record.stored(slug, name, setup)[-1].parameters for run, setup in record.runs(name).items()}
        assert stored["random"] == stored["chosen"], name


def test_a_bag_of_words_knows_words_and_nothing_of_their_order() -> None:
    """By hand: each held-out text has words of its class alone; reversed, the words are the same."""
    lines = [f"{label}: the {word} {n} was {word}" for label, word in (("a", "cat"), ("b", "dog")) for n in range(8)]
    data = parse("\n".join(lines))
    turned = replace(data, held_out=tuple(replace(e, text=" ".join(reversed(e.text.split()))) for e in data.held_out))
    unseen = replace(data, held_out=tuple(replace(e, text="a bird flew") for e in data.held_out))
    assert (words.accuracy(data), words.accuracy(turned), words.accuracy(unseen)) == (1.0, 1.0, 0.5)


def test_a_sample_has_all_classes_and_depends_on_its_seed() -> None:
    data = ready("topic")
    samples = [data.sample(5, seed) for seed in (0, 0, 1)]
    assert samples[0] == samples[1] != samples[2]
    assert sorted(Counter(example.label for example in samples[0].train).values()) == [1, 2, 2]
    assert set(samples[0].train) < set(data.train)
    assert samples[0].held_out == data.held_out


def test_pairs_are_two_segments_and_the_first_does_not_tell_the_class() -> None:
    data, checkpoint = ready("pair"), tiny_bert()
    by_class = [Counter(e.text for e in data.train if e.label == label) for label in data.labels]
    assert by_class[0] == by_class[1], "each first segment stands in both classes"
    subjects = [{example.text for example in part} for part in (data.train, data.held_out)]
    assert subjects[0].isdisjoint(subjects[1])
    inputs = Learner(checkpoint, 2, Setup()).encode(data.train[:2])
    ids, segments = inputs["input_ids"][0], inputs["token_type_ids"][0]
    separators = (ids == checkpoint.tokenizer.sep_token_id).nonzero().flatten().tolist()
    assert len(separators) == 2
    assert segments.tolist() == [int(separators[0] < at <= separators[1]) for at in range(len(ids))]


def test_gpts_formats_mark_the_segments_and_add_both_orders() -> None:
    checkpoint = checkpoints.load("atlas-gpt-2")
    ask, answer = (checkpoint.tokenizer(text)["input_ids"] for text in ("Why so", "It is"))
    pair, mark = Example("", "Why so", "It is"), checkpoint.tokenizer.eos_token_id
    assert token_ids(checkpoint, pair, "marked") == [mark, *ask, mark, *answer, mark]
    assert token_ids(checkpoint, Example("", "Why so"), "marked") == [mark, *ask, mark]
    swapped, first, second = (
        learner.states(learner.encode([example])).detach()
        for form, example in (
            ("orders", pair),
            ("marked", pair),
            ("marked", Example("", "It is", "Why so")),
        )
        if (learner := Learner(checkpoint, 2, Setup("head", "last", format=form)))  # type: ignore[arg-type]
    )
    assert torch.allclose(swapped, first + second, atol=1e-5)


def test_the_baseline_of_tags_by_hand() -> None:
    def example(words: str, upos: str) -> Example:
        tokens = tuple(words.split())
        sentence = replace(tags.treebank().train[0].sentence, words=tokens, upos=tuple(upos.split()))  # type: ignore[type-var]
        return Example("", words, sentence=sentence)

    data = LabeledSet(
        (example("the run", "DET NOUN"), example("run the run", "VERB DET NOUN"), example("cats", "NOUN")),
        (example("The run sleeps", "DET VERB VERB"),),
    )
    assert tags.most_frequent(data) == ("DET", "NOUN", "NOUN")
    assert tags.baseline(data) == pytest.approx(1 / 3)


def test_the_head_reads_the_first_token_of_each_word() -> None:
    checkpoint, data = tiny_bert(), tags.treebank()
    tokens, first = first_tokens(checkpoint, data.train[0])
    assert len(first) == len(data.train[0].words)
    assert not any(tokens[at].piece.startswith("##") for at in first)
    few = LabeledSet(data.train[:6], data.held_out[:2])
    *_, last = fine_tune(checkpoint, few, Setup(epochs=1))
    assert last.probabilities.shape == (sum(len(example.words) for example in few.held_out), len(few.labels))


def test_stored_tags_are_better_than_the_most_frequent_tag() -> None:
    data, setup = tags.treebank(), Setup(epochs=tags.EPOCHS)
    runs = {"chosen": setup, **baselines(setup)}
    accuracy = {name: record.stored("atlas-bert", tags.NAME, run)[-1].accuracy for name, run in runs.items()}
    assert accuracy["chosen"] > accuracy["head"] > tags.baseline(data) > accuracy["random"]
