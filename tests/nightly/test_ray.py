"""Every task by a real Ray Serve of two replicas, beside the same in this process.

pip install -r requirements-ray.txt && python -m pytest tests/nightly/test_ray.py
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from itertools import islice
from typing import Any

import pytest

from core.checkpoints.spec import Checkpoint
from core.efficiency import buckets
from core.engine import TASKS, checkpoint
from core.engine.client import frames
from core.errors import EngineUnavailable
from core.language import bilingual, permuted, translate
from core.language.fill_mask import predict, prepare
from core.language.generate import prompted
from core.language.types import Decoding
from core.objectives.example import Cell, Example
from core.settings import ROOT, settings
from tests.ports import free_port
from tests.unit.test_engine import same

pytest.importorskip("ray")

NEAR = 1e-4
SENTENCE = "The king gave his daughter a golden ring."
MASKED = "The king gave his [MASK] a golden ring."
SAMPLE = Decoding(strategy="sample", max_new_tokens=12, seed=5)
BEAM = Decoding(strategy="beam", beams=3, max_new_tokens=6)


def _task(model: Checkpoint) -> str:
    from core.language.tasks import tasks

    return tasks(model)[0].slug


def _example(model: Checkpoint) -> Example:
    tokens = model.tokenizer.convert_ids_to_tokens(prepare(model, MASKED).ids)
    return Example((), tuple(Cell(token, "son" if token == "[MASK]" else None) for token in tokens))


def _pivot(model: Checkpoint) -> tuple[str, str]:
    from core.language.tasks import tasks

    ways = (translate.steps_through(model, task.slug) for task in tasks(model))
    return next(way for way in ways if way)


CASES: dict[str, tuple[str, Callable[[Checkpoint], tuple[Any, ...]]]] = {
    "attention.ablation.ablate:rank_heads": ("minilm", lambda _: (MASKED,)),
    "attention.ablation.ablate:ablate_heads": ("atlas-gpt-2", lambda _: (SENTENCE,)),
    "attention.disentangled:predict_without_components": ("atlas-deberta", lambda _: (MASKED,)),
    "attention.disentangled:score_components": ("atlas-deberta", lambda _: (SENTENCE,)),
    "attention.capture:capture": ("minilm", lambda _: (SENTENCE, "She thanked him.")),
    "attention.capture:capture_ids": ("atlas-gpt-2", lambda model: (prompted(model, SENTENCE).prompt,)),
    "attention.capture:continued": ("atlas-gpt-2", lambda _: (SENTENCE, 5)),
    "attention.capture:rewritten": ("atlas-t5", lambda model: (SENTENCE, _task(model))),
    "attention.inside.block:block": ("minilm", lambda _: (SENTENCE, 2)),
    "attention.inside.lens:predictions_by_layer": ("atlas-albert", lambda model: (prepare(model, MASKED),)),
    "attention.inside.lens:trajectory": ("atlas-gpt-2", lambda _: (SENTENCE,)),
    "attention.word_maps:generate_answer": ("atlas-t5", lambda model: (SENTENCE, _task(model))),
    "attention.word_maps:maps_over_words": ("atlas-t5", lambda model: (SENTENCE, _task(model), "Der König.")),
    "attention.word_maps:word_attention": ("minilm", lambda _: (SENTENCE,)),
    "efficiency.buckets:compute_buckets": (
        "atlas-reformer",
        lambda model: (buckets.prepare(model, 9 * SENTENCE), 1, 0, 2, 1),
    ),
    "language.adapters:classify": ("atlas-adapter-bert", lambda model: (SENTENCE, _adapter(model))),
    "language.bilingual:predict": (
        "atlas-xlm",
        lambda model: (bilingual.prepare(model, "The cat sleeps.", "Le chat dort.", (2,)),),
    ),
    "language.codes:classify": ("atlas-ctrl", lambda _: (SENTENCE,)),
    "language.decoding.search:tree": ("atlas-gpt-2", lambda model: (prompted(model, SENTENCE), BEAM)),
    "language.fill_mask:predict": ("minilm", lambda model: (prepare(model, MASKED), 7)),
    "language.generate:steps_along": ("atlas-gpt-2", lambda model: (prompted(model, SENTENCE), (11, 12, 13))),
    "language.generate:generate": ("atlas-llama", lambda _: (SENTENCE, SAMPLE)),
    "language.generate:steps": ("atlas-gpt-2", lambda model: (prompted(model, SENTENCE), BEAM)),
    "language.generate:steps_in_batch": (
        "atlas-gpt-2",
        lambda model: (prompted(model, SENTENCE), [SAMPLE, Decoding()]),
    ),
    "language.losses:losses": ("atlas-bert", lambda model: (_example(model), "masks")),
    "language.permuted:follow": ("atlas-xlnet", lambda model: (permuted.prepare(model, SENTENCE, (2, 3)),)),
    "language.segments:compare": ("atlas-transformer-xl", lambda _: (9 * SENTENCE,)),
    "language.side_by_side:answer": ("minilm", lambda _: (SENTENCE, (2,))),
    "language.translate:align": (
        "atlas-t5",
        lambda model: (translate.prepare(model, SENTENCE, _task(model)), (11, 12, 13)),
    ),
    "language.translate:rewrite": ("atlas-t5", lambda model: (SENTENCE, _task(model), SAMPLE)),
    "language.translate:translate_along": (
        "atlas-m2m-100",
        lambda model: ("Der König schläft.", _pivot(model)),
    ),
    "vectors.input_embeddings:input_embeddings": ("minilm", lambda _: (SENTENCE, "She thanked him.")),
    "vectors.positions:distance_terms": ("atlas-t5", lambda _: (SENTENCE,)),
    "vectors.positions:rotary_vectors": ("atlas-llama", lambda _: (SENTENCE,)),
    "vectors.positions:score_terms": ("atlas-transformer-xl", lambda _: (SENTENCE,)),
    "vectors.reading:read_states": ("minilm", lambda _: (SENTENCE,)),
}


def _adapter(model: Checkpoint) -> str:
    from core.language.adapters import tasks

    return tasks(model)[0].slug


@pytest.fixture(scope="module")
def served() -> Iterator[subprocess.Popen[bytes]]:
    """An engine of two replicas that batch, and the environment of an app that uses it."""
    port = str(free_port())
    command = [sys.executable, "-m", "core", "serve", "--replicas", "2", "--cpus", "0.5", "--port", port]
    engine = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, start_new_session=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATLAS_ENGINE", "ray")
        patch.setenv("ATLAS_ENGINE_URL", f"http://127.0.0.1:{port}")
        settings.cache_clear()
        assert engine.stdout is not None
        for line in engine.stdout:
            if b"engine answers" in line:
                break
        else:
            pytest.fail("The engine did not start.")
        yield engine
        engine.send_signal(signal.SIGTERM)
        engine.wait(60)
    settings.cache_clear()


def test_every_task_has_a_case() -> None:
    assert {f"core.{task}" for task in CASES} == TASKS


@pytest.mark.parametrize("task", CASES)
def test_results_equal_those_of_this_process(task: str, served: object) -> None:
    slug, arguments = CASES[task]
    module, _, name = task.partition(":")
    model = checkpoint(slug)
    args = arguments(model)
    here = getattr(import_module(f"core.{module}"), name)(model, *args)
    there = list(frames((f"core.{task}", slug, None, args, {})))
    same(there, list(here) if isinstance(here, Iterator) else [here], NEAR)


@pytest.mark.parametrize(
    "slug", ["minilm", "atlas-bert", "atlas-roberta", "atlas-electra", "atlas-xlm", "atlas-bigbird"]
)
def test_a_batch_equals_each_text_alone(slug: str, served: object) -> None:
    model = checkpoint(slug)
    part = "generator" if slug == "atlas-electra" else None
    mask = str(model.tokenizer.mask_token)
    texts = [prepare(model, f"{count * 'very '}old {mask} saw the {mask}.") for count in range(8)]
    alone = [predict(checkpoint(slug, part), text) for text in texts]
    with ThreadPoolExecutor(8) as threads:
        requests = [("core.language.fill_mask:predict", slug, part, (text,), {}) for text in texts]
        same(list(threads.map(lambda request: next(frames(request)), requests)), alone, NEAR)


def test_a_generation_that_is_left_ends_and_the_engine_answers_on(served: object) -> None:
    long = ("core.language.generate:generate", "atlas-gpt-2", None, (SENTENCE, Decoding(max_new_tokens=200)), {})
    for _ in range(40):  # more than both replicas compute at a time
        left = frames(long)
        assert len(list(islice(left, 2))) == 2
        left.close()
    begun = time.perf_counter()
    assert len(list(frames(long))) > 2
    assert time.perf_counter() - begun < 30


def test_an_engine_that_ends_is_away(served: subprocess.Popen[bytes]) -> None:
    served.send_signal(signal.SIGTERM)
    served.wait(60)
    with pytest.raises(EngineUnavailable, match="away"):
        next(frames(("core.language.codes:classify", "atlas-ctrl", None, (SENTENCE,), {})))
