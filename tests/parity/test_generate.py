"""Generated text is that of the library, token by token, with a draft model too."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
import torch

from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable, OutOfRange
from core.language.decoding.draft import Drafted, Round, bits, expected, generate_with_draft, plain, until
from core.language.decoding.rules import apply
from core.language.generate import batch, generate, steps, steps_along
from core.language.inputs import Inputs, one_text, pair
from core.language.tokens import Wording, describe
from core.language.types import Decoding, GenerationStep
from tests import tiny, tinyfamilies

VOCABULARY = 120
PROMPT = (5, 17, 80, 33)
DECODERS = ("gpt2", "gpt_neo", "openai-gpt", "ctrl", "llama")
REWRITERS = ("t5", "bart")
CASES = [(name, False) for name in DECODERS] + [(name, True) for name in REWRITERS]
_SPREAD: dict[str, Any] = {
    "initializer_range": 0.6,
    "init_std": 0.6,
    "initializer_factor": 3.0,
    "num_decoder_layers": 2,
}
"""Weights so large that probabilities are far from uniform; T5 in transformers caches as many layers on both sides."""


def random_checkpoint(name: str, seed: int, ends: Any = None, **settings: Any) -> Checkpoint:
    """A tiny model whose end tokens are ``ends``; the tokenizer only words what comes out."""
    torch.manual_seed(seed)
    family = (tinyfamilies.FAMILIES | tinyfamilies.RELATIVES)[name]
    model = tinyfamilies.build(family, family.settings | _SPREAD | {"vocab_size": VOCABULARY} | settings).eval()
    model.config.eos_token_id = ends
    model.generation_config.eos_token_id = ends
    model.generation_config.pad_token_id = 1
    model.generation_config.forced_eos_token_id = None
    return Checkpoint(model, tiny.bytelevel_tokenizer(), tinyfamilies.spec_of(name, family.kind))


def library_ids(checkpoint: Checkpoint, rewriting: bool, **settings: Any) -> list[int]:
    out = checkpoint.model.generate(
        torch.tensor([PROMPT]), attention_mask=torch.ones(1, len(PROMPT), dtype=torch.long), **settings
    )[0].tolist()
    return out[1:] if rewriting else out[len(PROMPT) :]


def library_best(
    checkpoint: Checkpoint, rewriting: bool, beams: int, ends: list[int] | None, **settings: Any
) -> set[tuple[int, ...]]:
    """The best texts of a search: two whose scores differ by less than rounding change places with the processor."""
    out = checkpoint.model.generate(
        torch.tensor([PROMPT]),
        attention_mask=torch.ones(1, len(PROMPT), dtype=torch.long),
        do_sample=False,
        num_beams=beams,
        num_return_sequences=beams,
        return_dict_in_generate=True,
        output_scores=True,
        **settings,
    )
    scores = [0.0] if beams == 1 else out.sequences_scores.tolist()
    skipped = 1 if rewriting else len(PROMPT)
    texts = (unpadded(ids[skipped:], ends) for ids in out.sequences.tolist())
    return {text for text, score in zip(texts, scores, strict=True) if score >= scores[0] - 1e-6 * abs(scores[0])}


def begun(checkpoint: Checkpoint, rewriting: bool) -> Inputs:
    tokens = describe(checkpoint.tokenizer, PROMPT)
    if rewriting:
        return pair(checkpoint, tokens, [checkpoint.model.generation_config.decoder_start_token_id])
    return one_text(checkpoint, tokens)


def _ours(checkpoint: Checkpoint, rewriting: bool, decoding: Decoding, **settings: Any) -> list[Any]:
    return list(steps(begun(checkpoint, rewriting), decoding, **settings))


def unpadded(ids: list[int], ends: list[int] | None) -> tuple[int, ...]:
    for i, token in enumerate(ids):
        if ends and token in ends:
            return tuple(ids[: i + 1])
    return tuple(ids)


@pytest.mark.parametrize(("name", "rewriting"), CASES)
@pytest.mark.parametrize("ends", [None, [7, 40, 41, 42, 43, 44, 90]])
def test_greedy_takes_the_same_tokens(name: str, rewriting: bool, ends: list[int] | None) -> None:
    checkpoint = random_checkpoint(name, 0, ends)
    ours = _ours(checkpoint, rewriting, Decoding(max_new_tokens=16))
    theirs = library_ids(checkpoint, rewriting, do_sample=False, max_new_tokens=16)
    assert ours[-1].ids == unpadded(theirs, ends)
    assert ours[-1].finished
    assert ours[-1].reason == ("end" if ends and ours[-1].ids[-1] in ends else "length")


@pytest.mark.parametrize(("name", "rewriting"), CASES)
@pytest.mark.parametrize("ends", [None, list(range(30, 60))])
@pytest.mark.parametrize("beams", [2, 4])
def test_beam_search_finds_the_same_text(name: str, rewriting: bool, ends: list[int] | None, beams: int) -> None:
    checkpoint = random_checkpoint(name, beams, ends)
    ours = _ours(checkpoint, rewriting, Decoding(strategy="beam", beams=beams, max_new_tokens=10))
    assert ours[-1].ids in library_best(checkpoint, rewriting, beams, ends, max_new_tokens=10)
    assert all(len(step.beams) <= beams for step in ours)


@pytest.mark.parametrize(("name", "rewriting"), CASES)
@pytest.mark.parametrize("count", [7, 40])
def test_forced_tokens_are_read_as_if_one_by_one(name: str, rewriting: bool, count: int) -> None:
    """A known text is read in parts of 32 tokens; what follows has the same cache."""
    checkpoint = random_checkpoint(name, 0)
    free = _ours(checkpoint, rewriting, Decoding(max_new_tokens=44))
    again = _ours(checkpoint, rewriting, Decoding(max_new_tokens=44), forced=free[-1].ids[:count])
    assert again[-1].ids == free[-1].ids
    for first, other in zip(free, again, strict=True):
        assert first.token.probability == pytest.approx(other.token.probability, abs=1e-4)
        assert first.spread is not None
        assert other.spread is not None
        assert first.spread.entropy == pytest.approx(other.spread.entropy, abs=1e-3)


def test_some_beam_case_ends_early_and_differs_from_greedy() -> None:
    """Else the comparison above would not have tested ranking by length."""
    ends = list(range(30, 60))
    early = different = False
    for seed in range(3):
        checkpoint = random_checkpoint("gpt2", seed, ends)
        beam = _ours(checkpoint, False, Decoding(strategy="beam", beams=4, max_new_tokens=10))[-1]
        greedy = _ours(checkpoint, False, Decoding(max_new_tokens=10))[-1]
        early |= beam.reason == "end"
        different |= beam.ids != greedy.ids
    assert early
    assert different


def test_reported_probabilities_are_the_models_own() -> None:
    checkpoint = random_checkpoint("gpt2", 0)
    ours = _ours(checkpoint, False, Decoding(strategy="sample", temperature=0.7, top_k=9, seed=3, max_new_tokens=6))
    with torch.inference_mode():
        logits = checkpoint.model(torch.tensor([[*PROMPT, *ours[-1].ids]])).logits[0]
    for step in ours:
        expected = logits[len(PROMPT) - 1 + step.index].softmax(-1)
        for alternative in (*step.alternatives, step.token):
            assert alternative.probability == pytest.approx(float(expected[alternative.id]), abs=1e-5)
        assert sum(a.processed for a in step.alternatives) == pytest.approx(1, abs=1e-4)  # nine of the ten are kept


def test_a_prompt_of_text_and_its_replay() -> None:
    checkpoint = random_checkpoint("gpt2", 0)
    checkpoint.model.resize_token_embeddings(len(checkpoint.tokenizer))
    prompt = "Once upon a time"
    beam = list(generate(checkpoint, prompt, Decoding(strategy="beam", beams=3, max_new_tokens=6)))
    again = steps_along(checkpoint, prompt, beam[-1].ids)
    assert again[-1].ids == beam[-1].ids


def model(seed: int, width: int, ends: int | None = None, size: int = VOCABULARY) -> Checkpoint:
    return random_checkpoint("gpt2", seed, ends, n_embd=width, vocab_size=size, scale_attn_by_inverse_layer_idx=False)


def noisy(large: Checkpoint, amount: float) -> Checkpoint:
    """A draft that often agrees: the large model with noise on its weights."""
    torch.manual_seed(5)
    small = model(1, 24)
    state = {
        name: value + amount * value.std() * torch.randn_like(value)
        if value.is_floating_point() and value.dim() > 1
        else value
        for name, value in large.model.state_dict().items()
    }
    small.model.load_state_dict(state)
    return small


@pytest.mark.parametrize(("ahead", "ends"), [(1, None), (4, 7)])
def test_greedy_text_is_the_same_and_rounds_add_up(ahead: int, ends: int | None) -> None:
    seen = set()
    for seed in range(2):
        large = model(seed, 24, ends)
        wanted = plain(large, PROMPT, 20)
        for draft in (noisy(large, 0.0), noisy(large, 0.05), noisy(large, 0.3), model(9, 8)):
            result = generate_with_draft(large, draft, PROMPT, 20, ahead=ahead)
            assert list(result.ids) == wanted
            for entry in result.rounds:
                assert len(entry.drafted) <= ahead
                assert entry.written[: entry.accepted] == entry.drafted[: entry.accepted]
                assert len(entry.written) == entry.accepted + 1
                seen.add((entry.accepted == 0, entry.accepted == ahead))
            assert result.passes_per_token == len(result.rounds) / len(result.ids)
    assert {(True, False), (False, True)} <= seen, "else all was accepted, or all rejected"


def alone(large: Checkpoint, length: int, **rules: Any) -> tuple[GenerationStep, ...]:
    """The same settings by this project's own loop, one token at a time."""
    decoding = Decoding(max_new_tokens=length, **rules)
    return tuple(step for _, step in batch(begun(large, False), [decoding]))


def test_its_bits_are_those_of_plain_decoding_and_a_refused_token_has_its_own() -> None:
    """Written tokens against the loop that takes one token at a time; rejected ones against one pass up to them."""
    large = model(3, 24)
    result = generate_with_draft(large, noisy(large, 0.3), PROMPT, 20, ahead=3)
    rounds = bits(large, PROMPT, result)
    written = [single for round_ in rounds for single in round_.written]
    spreads = [step.spread for step in alone(large, 20)]
    assert [single.surprisal for single in written] == pytest.approx([s.surprisal for s in spreads if s], abs=1e-4)
    assert [single.entropy for single in written] == pytest.approx([s.entropy for s in spreads if s], abs=1e-4)
    before, rejected = list(PROMPT), 0
    for round_, single in zip(result.rounds, rounds, strict=True):
        assert (single.rejected is None) == (round_.accepted == len(round_.drafted))
        if single.rejected is not None:
            rejected += 1
            read = torch.tensor([[*before, *round_.drafted[: round_.accepted]]])
            chances = large.model(read).logits[0, -1].softmax(-1)
            wrong, right = round_.drafted[round_.accepted], round_.written[-1]
            assert single.rejected.surprisal == pytest.approx(-math.log2(chances[wrong].item()), abs=1e-4)
            assert single.rejected.surprisal >= -math.log2(chances[right].item()), "greedy decoding takes the likeliest"
        before += round_.written
    assert rejected, "else none was rejected"


def test_a_text_that_ends_with_an_accepted_token_has_nothing_refused_behind_it() -> None:
    large = model(0, 24)
    result = Drafted((Round((5, 6, 7), 2, (5, 6)),))
    (only,) = bits(large, PROMPT, result)
    assert len(only.written) == 2
    assert only.rejected is None


def test_penalties_hold_and_the_greedy_text_is_still_that_of_plain_decoding() -> None:
    changed, rules = 0, {"penalty": 1.2, "no_repeat": 1}
    for seed in range(2):
        large = model(seed, 24)
        wanted = plain(large, PROMPT, 20, common=Decoding(**rules))
        assert tuple(wanted) == alone(large, 20, **rules)[-1].ids
        for draft in (noisy(large, 0.0), noisy(large, 0.05), model(9, 8)):
            result = generate_with_draft(large, draft, PROMPT, 20, ahead=3, common=Decoding(**rules))
            assert list(result.ids) == wanted
            assert not result.stopped
        changed += wanted != plain(large, PROMPT, 20)
    assert changed, "else the rules had nothing to do"


@pytest.mark.parametrize("ahead", [1, 4])
def test_a_text_to_stop_at_ends_it_with_the_token_that_completes_it(ahead: int) -> None:
    places = set()
    for seed in range(2):
        large = model(seed, 24)
        steps = alone(large, 20)
        for at in (2, 13):
            # what stands there, together with the token before it: a text over two tokens
            stop = steps[at].text[len(steps[at - 2].text) :]
            if not stop.strip("\ufffd"):
                continue
            wanted = alone(large, 20, stop=(stop,))
            assert list(wanted[-1].ids) == plain(large, PROMPT, 20, common=Decoding(stop=(stop,)))
            for draft in (noisy(large, 0.0), noisy(large, 0.05)):
                result = generate_with_draft(
                    large, draft, PROMPT, 20, ahead=ahead, common=Decoding(stop=(stop, "no such text"))
                )
                assert result.ids == wanted[-1].ids
                assert result.stopped
                assert len(result.ids) <= at + 1
                last = result.rounds[-1]
                assert last.written[: last.accepted] == last.drafted[: last.accepted]
                assert len(last.drafted) <= max(ahead, len(last.written))
                places.add(len(last.written) - last.accepted)
    assert 0 in places, "else no stop was completed by a drafted token"


def test_a_stop_that_never_comes_changes_nothing() -> None:
    large = model(0, 24)
    draft = noisy(large, 0.05)
    assert generate_with_draft(large, draft, PROMPT, 20, common=Decoding(stop=("xyzzy",))) == generate_with_draft(
        large, draft, PROMPT, 20
    )


def test_what_is_drafted_behind_a_stop_counts_for_nothing_by_hand() -> None:
    words = {1: "a", 2: "b", 3: "c", 4: "d"}

    class Spelt(Wording):
        def __init__(self) -> None: ...

        def text(self, ids: Any) -> str:
            return "".join(words[i] for i in ids)

    rounds = [Round((1, 2), 1, (1, 3)), Round((4, 2, 1), 3, (4, 2, 1, 1))]
    assert until(rounds, Spelt(), ("cd",)) == Drafted((rounds[0], Round((4,), 1, (4,))), stopped=True)
    assert until(rounds, Spelt(), ("c",)) == Drafted((rounds[0],), stopped=True)
    assert until(rounds, Spelt(), ("xx", "a")) == Drafted((Round((1,), 1, (1,)),), stopped=True)
    assert until(rounds, Spelt(), ("baa",)) == Drafted(tuple(rounds), stopped=True)
    assert until(rounds, Spelt(), ("xx",)) == until(rounds, Spelt(), ()) == Drafted(tuple(rounds))


def test_a_draft_like_the_large_model_is_always_accepted() -> None:
    large = model(2, 24)
    result = generate_with_draft(large, noisy(large, 0.0), PROMPT, 20, ahead=4)
    assert result.rate == 1
    assert result.passes == 4  # 20 tokens in rounds of 4 + 1


def test_models_that_visitors_share_stay_as_they_were() -> None:
    large, small = model(0, 24), model(3, 8)
    before = small.model.generation_config.to_dict(), large.model.generation_config.to_dict()
    generate_with_draft(large, small, PROMPT, 12, ahead=5)
    generate_with_draft(large, small, PROMPT, 12, ahead=2, temperature=0.8, seed=1)
    assert before == (small.model.generation_config.to_dict(), large.model.generation_config.to_dict())
    assert "_get_candidate_generator" not in vars(large.model)


def test_the_seed_decides_and_other_generators_are_unchanged() -> None:
    large = model(0, 24)
    small = noisy(large, 0.3)
    torch.manual_seed(123)
    expected_next = torch.rand(1)
    torch.manual_seed(123)
    single = generate_with_draft(large, small, PROMPT, 16, temperature=1.0, seed=4)
    assert torch.equal(torch.rand(1), expected_next)
    assert generate_with_draft(large, small, PROMPT, 16, temperature=1.0, seed=4) == single
    assert len({generate_with_draft(large, small, PROMPT, 16, temperature=1.0, seed=seed).ids for seed in range(4)}) > 1


DRAWS = 100
"""So many that the draft's own distribution lies nearly four times as far off as chance may."""


def test_sampled_tokens_are_distributed_as_the_large_models() -> None:
    penalty = 2.0
    large, small = model(0, 24, size=12), model(3, 8, size=12)
    common = Decoding(penalty=penalty)
    prompt = [token % 12 for token in PROMPT]
    with torch.inference_mode():
        scores = large.model(torch.tensor([prompt])).logits[0, -1]
        chances = (apply(scores, "penalty", penalty, prompt) / 2).softmax(-1)
    drafteds = (
        generate_with_draft(large, small, prompt, 2, ahead=1, temperature=2.0, seed=s, common=common)
        for s in range(DRAWS)
    )
    counts = Counter(entry.ids[0] for entry in drafteds)
    for token, chance in enumerate(chances.tolist()):
        assert counts[token] / DRAWS == pytest.approx(chance, abs=4 * (chance * (1 - chance) / DRAWS) ** 0.5 + 0.002)


def test_a_visitor_can_stop_after_any_round() -> None:
    class Stopped(Exception):
        pass

    seen: list[Drafted] = []

    def told(now: Drafted) -> None:
        seen.append(now)
        if len(seen) == 2:
            raise Stopped

    with pytest.raises(Stopped):
        generate_with_draft(model(0, 24), model(3, 8), PROMPT, 20, on_round=told)
    assert [entry.passes for entry in seen] == [1, 2]


def test_numbers_by_hand() -> None:
    result = Drafted((Round((1, 2, 3), 1, (1, 9)), Round((4, 5, 6), 3, (4, 5, 6, 7)), Round((8,), 0, (2,))))
    assert result.ids == (1, 9, 4, 5, 6, 7, 2)
    assert (result.accepted, result.checked) == (4, 2 + 3 + 1)
    assert result.passes_per_token == pytest.approx(3 / 7)
    assert expected(0.5, 2) == pytest.approx(1.75)  # 1 + 1/2 + 1/4
    assert expected(0.0, 4) == 1
    assert expected(1.0, 4) == 5
    assert Drafted((Round((), 0, (3,)),)).rate is None


def test_what_is_refused() -> None:
    with pytest.raises(OutOfRange):
        generate_with_draft(model(0, 24), model(3, 8), PROMPT, 20, ahead=0)
    with pytest.raises(OutOfRange, match="end a generation"):
        generate_with_draft(model(0, 24), model(3, 8), PROMPT, 20, common=Decoding(stop=("x",) * 9))
    with pytest.raises(InputUnusable, match="another vocabulary"):
        generate_with_draft(model(0, 24), model(3, 8, size=99), PROMPT, 20)
