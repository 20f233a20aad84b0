"""The engine's contract without Ray: its own client and its own answers, over a real connection."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from core import engine
from core.engine import server
from core.engine.client import frames
from core.engine.messages import decode, encode
from core.errors import EngineUnavailable, InputUnusable
from core.language.fill_mask import predict, predict_together, prepare
from core.language.generate import generate, prompted, steps_along
from core.language.types import Decoding
from core.settings import settings
from core.turns import Turns
from tests import tinyfamilies

LENGTHS = ("The [MASK] sat.", "The cat [MASK] on the [MASK] and looked at the dog.", "[MASK]", "A small [MASK] runs.")


class Handler(BaseHTTPRequestHandler):
    """Answers as a replica does, without batches."""

    gone = threading.Event()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        try:
            for frame in server.answer(body, self.gone):
                self.wfile.write(frame)
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


@pytest.mark.parametrize("task", sorted(engine.TASKS))
def test_every_task_is_a_public_function_of_a_checkpoint(task: str) -> None:
    module, _, name = task.partition(":")
    compute = getattr(import_module(module), name)
    assert next(iter(signature(compute).parameters)) == "checkpoint"
    assert f"{compute.__module__}:{compute.__qualname__}" == task, "it is sent under the name that it is defined with"


def test_the_default_computes_here_and_imports_no_ray() -> None:
    import sys

    assert settings().engine == "process"
    assert "ray" not in sys.modules


def test_results_are_those_of_this_process(remote: object) -> None:
    bert, gpt = server.checkpoint("bert"), server.checkpoint("gpt")
    text = prepare(bert, LENGTHS[1])
    same(engine.run(predict, "bert", text, 3), predict(bert, text, 3))
    start, decoding = prompted(gpt, "The cat"), Decoding(max_new_tokens=6, strategy="sample", seed=3)
    steps = tuple(engine.stream(generate, "gpt", "The cat", decoding))
    assert len(steps) == 6
    same(steps, tuple(generate(gpt, "The cat", decoding)))
    same(engine.run(steps_along, "gpt", start, steps[-1].ids), steps_along(gpt, start, steps[-1].ids))


def test_an_error_for_the_visitor_arrives_as_it_was_raised(remote: object) -> None:
    text = prepare(server.checkpoint("bert"), "No mask.")
    with pytest.raises(InputUnusable, match="There is no mask in this text"):
        engine.run(predict, "bert", text)


@pytest.mark.parametrize(
    "task", ["os:getcwd", "core.language.fill_mask:prepare", "core.settings:settings", "", None, [1]]
)
def test_no_other_function_is_called(task: object, remote: object) -> None:
    with pytest.raises(EngineUnavailable, match="no such task"):
        next(frames((task, "bert", None, (), {})))


def test_an_engine_that_is_away_is_said(models: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:  # bound and not listening: connections are refused
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("ATLAS_ENGINE", "ray")
        monkeypatch.setenv("ATLAS_ENGINE_URL", f"http://127.0.0.1:{closed.getsockname()[1]}")
        settings.cache_clear()
        try:
            with pytest.raises(EngineUnavailable, match=r"engine of this installation is away\. It cannot be reached"):
                engine.run(predict, "bert", prepare(engine.checkpoint("bert"), LENGTHS[0]))
        finally:
            monkeypatch.undo()
            settings.cache_clear()


def test_an_engine_that_comes_back_is_used_again(remote: ThreadingHTTPServer) -> None:
    bert = server.checkpoint("bert")
    text = prepare(bert, LENGTHS[0])
    remote.shutdown()
    remote.server_close()
    with pytest.raises(EngineUnavailable, match="cannot be reached"):
        engine.run(predict, "bert", text)
    again = ThreadingHTTPServer(("127.0.0.1", remote.server_port), Handler)
    threading.Thread(target=again.serve_forever, args=(0.01,), daemon=True).start()
    try:
        same(engine.run(predict, "bert", text), predict(bert, text))
    finally:
        again.shutdown()
        again.server_close()


def test_a_connection_that_breaks_in_mid_answer_is_said(remote: object, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(body: bytes, gone: object) -> Iterator[bytes]:
        yield server.framed("value", 1)
        yield (1000).to_bytes(8) + b"half"

    monkeypatch.setattr(server, "answer", broken)
    answer = frames(())
    assert next(answer) == 1
    with pytest.raises(EngineUnavailable):
        next(answer)


def test_a_visitor_who_leaves_ends_the_computation(remote: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run's check raises while it waits for a step; the engine notices that nobody reads."""

    class Left(BaseException):
        pass

    go, left = threading.Event(), threading.Event()

    def endless(body: bytes, gone: threading.Event) -> Iterator[bytes]:
        yield server.framed("value", 1)
        go.wait(60)
        while not gone.is_set():
            yield server.framed("value", 2)

    def check() -> None:
        if left.is_set():
            raise Left

    turns = Turns(1)
    monkeypatch.setattr(server, "answer", endless)
    monkeypatch.setattr("core.engine.client.turns", turns)
    answer = frames(())
    with turns.run(check):
        assert next(answer) == 1
        left.set()
        with pytest.raises(Left):
            next(answer)
    go.set()
    assert Handler.gone.wait(60)


def test_a_computation_that_nobody_waits_for_ends_at_its_next_step(models: None) -> None:
    gone = threading.Event()
    body = encode(("core.language.generate:generate", "gpt", None, ("The cat", Decoding(max_new_tokens=50)), {}))
    answer = server.answer(body, gone)
    assert decode(next(answer)[8:])[0] == "value"
    gone.set()
    assert list(answer) == [server.END]


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "electra", "albert", "deberta-v2", "xlm"])
def test_masked_texts_of_a_batch_are_predicted_as_each_alone(family: str) -> None:
    bert = tinyfamilies.make(family)
    mask = str(bert.tokenizer.mask_token)
    calls = [(prepare(bert, text.replace("[MASK]", mask)), k) for k, text in enumerate(LENGTHS, 2)]
    assert len({len(text.ids) for text, _ in calls}) > 2
    same(predict_together(bert, calls), [predict(bert, *call) for call in calls], near=1e-5)


def test_a_refused_request_of_a_batch_keeps_none_of_the_others(models: None) -> None:
    bert = server.checkpoint("bert")
    texts = [prepare(bert, text) for text in (LENGTHS[0], "No mask.", LENGTHS[1])]
    bodies = [encode(("core.language.fill_mask:predict", "bert", None, (text, 2), {})) for text in texts]
    first, refused, last = (decode(answer[8:-8]) for answer in server.answer_together(bodies))
    assert refused[:2] == ("error", "InputUnusable")
    same(first[1], predict(bert, texts[0], 2), near=1e-5)
    same(last[1], predict(bert, texts[2], 2), near=1e-5)


def test_messages_carry_values_arrays_and_our_dataclasses() -> None:
    value = (None, True, 2, 0.1, float("inf"), "ä", [1], {"a": (1,), 3: {4}}, frozenset({5}), np.float32(0.5))
    arrays = [np.arange(6, dtype=np.float32).reshape(2, 3).T, np.zeros((0, 3)), np.array([True]), np.array(7)]
    decoded = decode(encode((value, *arrays)))
    same(decoded[0], value)
    for array, back in zip(arrays, decoded[1:], strict=True):
        same(array, back)
        assert array.dtype == back.dtype


def test_messages_carry_and_make_nothing_else() -> None:
    @dataclass
    class Foreign:
        x: int = 1

    for value in (Foreign(), object(), print, np.array([object()])):
        with pytest.raises(TypeError):
            encode(value)
    for text in (
        '{"os:system": ["true"]}',
        '{"core.settings:Path": ["/"]}',
        '{"tests.tiny:make_all": []}',
        "{}",
        "[",
        '"',
    ):
        with pytest.raises(ValueError, match=r"."):
            decode(save({}, metadata={"value": text}))
    for message in (b"", b"pickle", encode(1)[:-1]):
        with pytest.raises(ValueError, match="no message"):
            decode(message)
