"""Every task by a real Ray Serve of two replicas, beside the same in this process.

pip install -r requirements-ray.txt && python -m pytest tests/nightly/test_ray.py
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import pytest

from core.engine import checkpoint
from core.engine.client import results
from core.engine.tasks import TASKS, name_of
from core.errors import EngineUnavailable
from core.language import codes
from core.language.fill_mask import fill_mask
from core.language.generate import generate
from core.language.types import Decoding
from core.settings import ROOT, settings
from tests.parity.test_engine_tasks import CASES, SENTENCE
from tests.ports import free_port
from tests.unit.test_engine import same

pytest.importorskip("ray")

NEAR = 1e-4


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


@pytest.mark.parametrize("name", CASES)
def test_results_equal_those_of_this_process(name: str, served: object) -> None:
    slug, arguments = CASES[name]
    model, task = checkpoint(slug), TASKS[f"core.{name}"]
    args = arguments(model)
    here = task.compute(model, *args)
    there = list(results(task, slug, None, args, {}))
    same(there, list(here) if isinstance(here, Iterator) else [here], NEAR)


@pytest.mark.parametrize(
    "slug", ["minilm", "atlas-bert", "atlas-roberta", "atlas-electra", "atlas-xlm", "atlas-bigbird"]
)
def test_a_batch_equals_each_text_alone(slug: str, served: object) -> None:
    model = checkpoint(slug)
    part = "generator" if slug == "atlas-electra" else None
    mask = str(model.tokenizer.mask_token)
    texts = [f"{count * 'very '}old {mask} saw the {mask}." for count in range(8)]
    alone = [fill_mask(checkpoint(slug, part), text) for text in texts]
    with ThreadPoolExecutor(8) as threads:
        answers = threads.map(lambda text: next(results(TASKS[name_of(fill_mask)], slug, part, (text,), {})), texts)
        same(list(answers), alone, NEAR)


def test_a_generation_that_is_left_ends_and_the_engine_answers_on(served: object) -> None:
    long = (TASKS[name_of(generate)], "atlas-gpt-2", None, (SENTENCE, Decoding(max_new_tokens=200)), {})
    for _ in range(40):  # more than both replicas compute at a time
        left = results(*long)
        assert len(list(islice(left, 2))) == 2
        left.close()
    begun = time.perf_counter()
    assert len(list(results(*long))) > 2
    assert time.perf_counter() - begun < 30


def test_an_engine_that_ends_is_away(served: subprocess.Popen[bytes]) -> None:
    served.send_signal(signal.SIGTERM)
    served.wait(60)
    with pytest.raises(EngineUnavailable, match="away"):
        next(results(TASKS[name_of(codes.classify)], "atlas-ctrl", None, (SENTENCE,), {}))
