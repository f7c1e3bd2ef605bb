"""The real embedded model: loading, streaming, cancelling and JSON by grammar; and the error without it."""

import asyncio
import builtins
import json
import re
import time
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from msgspec import Raw

from moot.prompts.attachments import build_question
from moot.providers.local import (
    DEMO_MODEL,
    Generation,
    LocalProvider,
    find_demo_weights,
    load_library,
)
from moot.providers.local_limits import DEFAULT_MAX_ITEMS, DEFAULT_MAX_TEXT_CHARS
from moot.streaming.lesson_turn import LessonTurnParser
from moot.streaming.reasoning_tags import TextPiece
from moot.types.action_docs import lesson_item_schema
from moot.types.chunks import Done, Failed, Progress, Text
from moot.types.errors import FeatureUnavailable
from moot.types.requests import File, ModelRequest, user_message
from moot.whiteboard.state import EMPTY_BOARD
from tests.support.provider_turns import run_provider_turn

LONG_TEXT = "The quick brown fox jumps over the lazy dog. " * 150


def make_request(text: str, **options: object) -> ModelRequest:
    return ModelRequest(model=DEMO_MODEL, messages=(user_message(text),), temperature=0.0, **options)  # type: ignore[arg-type]


async def test_local_provider_streams_answer(local_provider: LocalProvider) -> None:
    taken = await run_provider_turn(
        local_provider, DEMO_MODEL, request=make_request("What is the capital of France?", max_tokens=16)
    )
    assert re.search(r"\w{3}", taken.result.text)
    assert taken.result.usage is not None
    assert len(taken.events) > 2


def test_local_provider_sends_text_files_as_text() -> None:
    notes = File("notes.txt", "text/plain", "Runde Tische für alle.".encode())
    provider = LocalProvider()
    assert "text" in provider.model_profile(DEMO_MODEL).files
    sent = json.loads(
        provider._encode_body(ModelRequest(model=DEMO_MODEL, messages=(build_question("What is it?", "", [notes]),)))
    )
    assert sent["messages"] == [
        {"role": "user", "content": "notes.txt:\n```\nRunde Tische für alle.\n```\n\nWhat is it?"}
    ]


async def _cpu_load(seconds: float) -> float:
    """Return how much of a core this process uses for so many seconds."""
    before = time.process_time()
    await asyncio.sleep(seconds)
    return (time.process_time() - before) / seconds


async def test_local_provider_stops_generation_when_cancelled_during_prompt(
    local_provider: LocalProvider,
) -> None:
    reading = asyncio.Event()

    async def read() -> None:
        async with aclosing(local_provider.stream_chunks(make_request(LONG_TEXT))) as stream:
            async for chunks in stream:
                if local_provider._generations and chunks == [Progress()]:
                    reading.set()

    task = asyncio.create_task(read())
    async with asyncio.timeout(60):
        await reading.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for _ in range(300):  # one batch of the prompt may still be finished
        if await _cpu_load(0.1) < 0.2:
            break
    else:
        pytest.fail("the model went on with a cancelled prompt")


async def test_local_provider_stops_generation_when_closed_during_answer(
    local_provider: LocalProvider,
) -> None:
    stream = local_provider.stream_chunks(make_request("Write a very long story about a dragon.", max_tokens=2000))
    async with aclosing(stream):
        async for chunks in stream:
            if any(isinstance(chunk, Text) for chunk in chunks):
                break
    for _ in range(300):
        if await _cpu_load(0.1) < 0.2:
            break
    else:
        pytest.fail("the model went on with a cancelled answer")


async def test_local_provider_follows_json_schema(local_provider: LocalProvider) -> None:
    schema = {
        "type": "object",
        "properties": {"mood": {"enum": ["good", "bad"]}, "why": {"type": "string", "maxLength": 20}},
        "required": ["mood", "why"],
        "additionalProperties": False,
    }
    request = make_request("How are you?", json_schema=Raw(json.dumps(schema).encode()), max_tokens=80)
    answer = json.loads((await run_provider_turn(local_provider, DEMO_MODEL, request=request)).result.text)
    assert answer["mood"] in {"good", "bad"}


async def test_local_provider_loads_custom_model_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.gguf"
    path.symlink_to(find_demo_weights())
    own = LocalProvider(path)
    request = ModelRequest(model="mine", messages=(user_message("Say hello."),), max_tokens=4)
    chunks = [chunk async for batch in own.stream_chunks(request) for chunk in batch]
    assert isinstance(chunks[-1], Done)
    assert await own.list_models() == ["mine"]


async def test_local_provider_fails_on_invalid_model_file(tmp_path: Path) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF nonsense")
    LocalProvider(path).check_model("broken")  # the header is valid
    request = ModelRequest(model="broken", messages=(user_message("?"),))
    chunks = [chunk async for batch in LocalProvider(path).stream_chunks(request) for chunk in batch]
    *_, failed = chunks
    assert isinstance(failed, Failed)
    assert "broken.gguf" in failed.fault.message
    with pytest.raises(FeatureUnavailable, match="no model file"):
        LocalProvider(tmp_path / "missing.gguf").check_model("missing")
    (tmp_path / "notes.gguf").write_text("not a model")
    with pytest.raises(FeatureUnavailable, match="not a GGUF file"):
        LocalProvider(tmp_path / "notes.gguf").check_model("notes")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ModuleNotFoundError("No module named 'xllamacpp'"), "pip install"),
        (ImportError("libgomp.so.1: cannot open shared object file"), "apt-get install libgomp1"),
        (ImportError("wrong ELF class"), "no build"),
    ],
)
def test_load_library_error_names_what_to_install(
    monkeypatch: pytest.MonkeyPatch, error: ImportError, words: str
) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: object, **kwargs: object) -> object:
        if name == "xllamacpp":
            raise error
        return real(name, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(FeatureUnavailable, match=words) as caught:
        load_library()
    assert "\n" not in str(caught.value)


def test_local_provider_returns_model_only_after_its_loop_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """To free a model before its loop runs blocks forever, because the loop misses the stop."""
    done: list[str] = []

    class Server:
        def __init__(self, params: object) -> None:
            assert getattr(params, "endpoint_metrics") is True  # noqa: B009 - else the loop is not asked
            done.append("loaded")

        def handle_metrics(self) -> None:
            done.append("heard")

    library = SimpleNamespace(CommonParams=MagicMock, Server=Server)
    monkeypatch.setattr("moot.providers.local.load_library", lambda: library)
    LocalProvider()._load_server()
    assert done == ["loaded", "heard"]


def test_generation_ends_with_event_loop_that_created_it() -> None:
    class Endless:
        def handle_chat_completions(self, _: bytes, take: Callable[[bytes], bool]) -> None:
            while not take(b"{}"):
                pass

    async def begin() -> Generation:
        return Generation(Endless(), b"")

    generation = asyncio.run(begin())
    generation.thread.join(60)
    is_alive = generation.thread.is_alive()
    generation.cancel()
    assert not is_alive


@pytest.mark.slow
async def test_local_provider_bounds_length_of_list(local_provider: LocalProvider) -> None:
    schema = {
        "type": "object",
        "properties": {"reasons": {"type": "array", "items": {"type": "string"}}},
        "required": ["reasons"],
        "additionalProperties": False,
    }
    request = make_request("Why are tables round? Name reasons.", json_schema=Raw(json.dumps(schema).encode()))
    answer = json.loads((await run_provider_turn(local_provider, DEMO_MODEL, request=request)).result.text)
    assert len(answer["reasons"]) <= DEFAULT_MAX_ITEMS
    assert all(len(reason) <= DEFAULT_MAX_TEXT_CHARS for reason in answer["reasons"])


async def test_local_provider_follows_lesson_item_schema(local_provider: LocalProvider) -> None:
    request = make_request(
        "Why is the sky blue? Answer in one sentence.", array_of=lesson_item_schema("teacher"), max_tokens=80
    )
    parser = LessonTurnParser("teacher", EMPTY_BOARD)
    stream = local_provider.stream_chunks(request)
    written = "".join([c.text async for batch in stream for c in batch if isinstance(c, Text)])
    pieces = [*parser.feed(written), *parser.close()]
    assert written.lstrip().startswith("[")
    assert re.match(r'\[\s*\{\s*"type"\s*:\s*"(text|action)"', written.lstrip())
    assert parser.text or any(not isinstance(piece, TextPiece) for piece in pieces), written
