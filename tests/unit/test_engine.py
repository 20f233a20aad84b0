"""The engine's contract without Ray: its own client and its own answers, over a real connection."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from inspect import signature
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from core import engine
from core.arrays import Bools, Doubles, Floats, Integers
from core.engine import server
from core.engine.client import results
from core.engine.tasks import TASKS, Failure, Task, name_of
from core.errors import EngineUnavailable, InputUnusable, OutOfRange
from core.language.fill_mask import fill_mask, predict_together, prepare
from core.language.generate import generate, steps_along
from core.language.types import Decoding
from core.settings import settings
from core.turns import Turns
from tests import tinyfamilies

LENGTHS = ("The [MASK] sat.", "The cat [MASK] on the [MASK] and looked at the dog.", "[MASK]", "A small [MASK] runs.")
FILL, GENERATE = TASKS[name_of(fill_mask)], TASKS[name_of(generate)]


def call(task: Task, slug: str, **arguments: object) -> bytes:
    return task.call(slug=slug, part=None, **arguments).model_dump_json().encode()


def outcomes(task: Task, lines: Iterable[bytes]) -> list[Any]:
    return [task.reply.model_validate_json(line).outcome for line in b"".join(lines).splitlines() if line]


class Handler(BaseHTTPRequestHandler):
    """Answers as a replica does, without batches."""

    gone = threading.Event()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        try:
            for line in server.answer(self.path[1:], body, self.gone):
                self.wfile.write(line)
        except OSError:
            self.gone.set()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = {"bert": tinyfamilies.make("bert"), "gpt": tinyfamilies.make("gpt2")}
    for place in (engine, server):
        monkeypatch.setattr(place, "checkpoint", lambda slug, part=None: loaded[slug])


@pytest.fixture
def remote(models: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    """The environment of an app whose engine is elsewhere."""
    served = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Handler.gone = threading.Event()
    threading.Thread(target=served.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setenv("ATLAS_ENGINE", "ray")
    monkeypatch.setenv("ATLAS_ENGINE_URL", f"http://127.0.0.1:{served.server_port}")
    settings.cache_clear()
    yield served
    served.shutdown()
    monkeypatch.undo()
    settings.cache_clear()


def same(left: Any, right: Any, near: float = 0.0) -> None:
    """Both are equal in structure, and their numbers up to ``near``."""
    assert type(left) is type(right)
    if isinstance(left, np.ndarray | float):
        np.testing.assert_allclose(left, right, rtol=0, atol=near)
    elif is_dataclass(left):
        for field in fields(left):
            same(getattr(left, field.name), getattr(right, field.name), near)
    elif isinstance(left, tuple | list):
        assert len(left) == len(right)
        for a, b in zip(left, right, strict=True):
            same(a, b, near)
    elif isinstance(left, dict):
        same(list(left.items()), list(right.items()), near)
    else:
        assert left == right


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_every_task_is_a_function_of_a_checkpoint_and_of_types_that_messages_carry(task: Task) -> None:
    assert [
        *(name for name in signature(task.compute).parameters if name not in task.call.model_fields),
        *(name for name in task.call.model_fields if name not in signature(task.compute).parameters),
    ] == ["checkpoint", "slug", "part"]
    assert "outcome" in task.reply.model_fields


def test_the_default_computes_here_and_imports_no_ray() -> None:
    import sys

    assert settings().engine == "process"
    assert "ray" not in sys.modules


def test_results_are_those_of_this_process(remote: object) -> None:
    bert, gpt = server.checkpoint("bert"), server.checkpoint("gpt")
    text = LENGTHS[1]
    same(engine.run(fill_mask, "bert", text, 3), fill_mask(bert, text, 3))
    decoding = Decoding(max_new_tokens=6, strategy="sample", seed=3)
    steps = tuple(engine.stream(generate, "gpt", "The cat", decoding))
    assert len(steps) == 6
    same(steps, tuple(generate(gpt, "The cat", decoding)))
    same(engine.run(steps_along, "gpt", "The cat", steps[-1].ids), steps_along(gpt, "The cat", steps[-1].ids))


def test_an_error_for_the_visitor_arrives_as_it_was_raised(remote: object) -> None:
    text = "No mask."
    with pytest.raises(InputUnusable, match="There is no mask in this text"):
        engine.run(fill_mask, "bert", text)
    with pytest.raises(OutOfRange, match="There is no token 1000000"):
        engine.stream(generate, "gpt", "The cat", forced=(10**6,))


@pytest.mark.parametrize("name", ["os.getcwd", "core.language.fill_mask.prepare", "core.settings.settings", "", "[1]"])
def test_no_other_function_is_called(name: str, models: None) -> None:
    (refusal,) = outcomes(FILL, server.answer(name, b'{"slug": "bert", "part": null}', threading.Event()))
    assert refusal.error == "EngineUnavailable"
    assert "no such task" in refusal.sentence


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (b'{"slug"', b""),
        (b'"bert"', b"7"),
        (b'"part":null', b'"part":"os"'),
        (b'"k":2', b'"k":"many"'),
        (b'"k":2', b'"k":2,"compute":"os.getcwd"'),
        (b'"positions":', b'"os.getcwd":'),
    ],
)
def test_a_request_of_other_types_is_refused_in_a_sentence(right: bytes, wrong: bytes, models: None) -> None:
    text = LENGTHS[0]
    message = call(FILL, "bert", text=text, k=2)
    requests = [(FILL.name, message.replace(right, wrong, 1)), (FILL.name, message)]
    assert requests[0] != requests[1]
    refusal = Failure(error="EngineUnavailable", sentence="The model engine cannot read this request of the app.")
    assert outcomes(FILL, server.answer(*requests[0], threading.Event())) == [refusal]
    refused, answered = (outcomes(FILL, [answer]) for answer in server.answer_together(requests))
    assert refused == [refusal]
    same(answered, [fill_mask(server.checkpoint("bert"), text, 2)])


def test_an_engine_that_is_away_is_said(models: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:  # bound and not listening: connections are refused
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("ATLAS_ENGINE", "ray")
        monkeypatch.setenv("ATLAS_ENGINE_URL", f"http://127.0.0.1:{closed.getsockname()[1]}")
        settings.cache_clear()
        try:
            with pytest.raises(EngineUnavailable, match=r"engine of this installation is away\. It cannot be reached"):
                engine.run(fill_mask, "bert", LENGTHS[0])
        finally:
            monkeypatch.undo()
            settings.cache_clear()


def test_an_engine_that_comes_back_is_used_again(remote: ThreadingHTTPServer) -> None:
    bert = server.checkpoint("bert")
    text = LENGTHS[0]
    remote.shutdown()
    remote.server_close()
    with pytest.raises(EngineUnavailable, match="cannot be reached"):
        engine.run(fill_mask, "bert", text)
    again = ThreadingHTTPServer(("127.0.0.1", remote.server_port), Handler)
    threading.Thread(target=again.serve_forever, args=(0.01,), daemon=True).start()
    try:
        same(engine.run(fill_mask, "bert", text), fill_mask(bert, text))
    finally:
        again.shutdown()
        again.server_close()


@pytest.mark.parametrize(
    ("end", "reason"), [(b'{"outcome": [', "cannot be reached"), (b'{"outcome": 1}\n', "another version")]
)
def test_an_answer_that_breaks_or_has_other_types_is_said(
    end: bytes, reason: str, remote: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> Iterator[bytes]:
        yield server.line(FILL.reply(outcome=()))
        yield end

    monkeypatch.setattr(server, "answer", broken)
    answer = results(FILL, "bert", None, (LENGTHS[0],), {})
    assert next(answer) == ()
    with pytest.raises(EngineUnavailable, match=reason):
        next(answer)


def test_a_visitor_who_leaves_ends_the_computation(remote: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run's check raises while it waits for a step; the engine notices that nobody reads."""

    class Left(BaseException):
        pass

    go, left = threading.Event(), threading.Event()

    def endless(name: str, message: bytes, gone: threading.Event) -> Iterator[bytes]:
        yield server.line(FILL.reply(outcome=()))
        go.wait(60)
        while not gone.is_set():
            yield server.line(FILL.reply(outcome=()))

    def check() -> None:
        if left.is_set():
            raise Left

    turns = Turns(1)
    monkeypatch.setattr(server, "answer", endless)
    monkeypatch.setattr("core.engine.client.turns", turns)
    answer = results(FILL, "bert", None, (LENGTHS[0],), {})
    with turns.run(check):
        assert next(answer) == ()
        left.set()
        with pytest.raises(Left):
            next(answer)
    go.set()
    assert Handler.gone.wait(60)


def test_a_computation_that_nobody_waits_for_ends_at_its_next_step(models: None) -> None:
    gone = threading.Event()
    message = call(GENERATE, "gpt", prompt="The cat", decoding=Decoding(max_new_tokens=50))
    answer = server.answer(GENERATE.name, message, gone)
    assert outcomes(GENERATE, [next(answer)])[0].index == 0
    gone.set()
    assert list(answer) == [server.END]


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "electra", "albert", "deberta-v2", "xlm"])
def test_masked_texts_of_a_batch_are_predicted_as_each_alone(family: str) -> None:
    bert = tinyfamilies.make(family)
    mask = str(bert.tokenizer.mask_token)
    calls = [(text.replace("[MASK]", mask), k, ()) for k, text in enumerate(LENGTHS, 2)]
    assert len({len(prepare(bert, text).ids) for text, _, _ in calls}) > 2
    same(predict_together(bert, calls), [fill_mask(bert, *call) for call in calls], near=1e-5)


def test_a_refused_request_of_a_batch_keeps_none_of_the_others(models: None) -> None:
    bert = server.checkpoint("bert")
    texts = (LENGTHS[0], "No mask.", LENGTHS[1])
    requests = [(FILL.name, call(FILL, "bert", text=text, k=2)) for text in texts]
    (first,), (refused,), (last,) = (outcomes(FILL, [answer]) for answer in server.answer_together(requests))
    assert refused.error == "InputUnusable"
    same(first, fill_mask(bert, texts[0], 2), near=1e-5)
    same(last, fill_mask(bert, texts[2], 2), near=1e-5)


@dataclass
class Arrays:
    floats: Floats | None
    doubles: Doubles
    integers: Integers
    bools: Bools
    number: float = float("-inf")


def test_messages_carry_arrays_of_declared_numbers_and_no_others() -> None:
    floats = np.arange(6, dtype=np.float32).reshape(2, 3).T
    arrays = Arrays(floats, np.zeros((0, 3)), np.array(7), np.array([[True], [False]]))
    types = TypeAdapter(tuple[Arrays, ...], config=Failure.model_config)
    message = types.dump_json((arrays,))
    (back,) = types.validate_json(message)
    same(back, arrays)
    for field in fields(arrays)[:-1]:
        assert getattr(back, field.name).dtype == getattr(arrays, field.name).dtype
    assert b"[3,2]" in message
    for wrong in (message.replace(b"[3,2]", b"[3,3]"), message.replace(b"[[3,2],", b"[")):
        with pytest.raises(ValidationError):
            types.validate_json(wrong)
    for integers in (np.zeros(2), np.array([object()])):
        with pytest.raises(PydanticSerializationError):
            types.dump_json((Arrays(None, arrays.doubles, integers, arrays.bools),))
