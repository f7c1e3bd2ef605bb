"""Unchanged client programs against a server on a socket: the `openai` SDK and `llm`."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.support.moot_server import MootServer, run_moot_server

if TYPE_CHECKING:
    from openai import AsyncOpenAI

SETTINGS = """\
participants = ["scripted/advocate", "scripted/sceptic", "scripted/undecided"]
"""
LLM_MODELS = """\
- model_id: moot/debate
  model_name: moot/debate
  api_base: {url}/v1
- model_id: moot/parallel
  model_name: moot/parallel
  api_base: {url}/v1
"""
QUESTION = "Should we split the service?"


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[MootServer]:
    async with run_moot_server(tmp_path_factory.mktemp("served"), settings=SETTINGS) as server:
        yield server


@pytest_asyncio.fixture(loop_scope="module")
async def client(server: MootServer) -> "AsyncIterator[AsyncOpenAI]":
    import openai  # noqa: PLC0415 - large, and only the worker that runs this file needs it

    async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none is needed here", max_retries=0) as client:
        yield client


async def test_openai_sdk_streams_debate(client: "AsyncOpenAI") -> None:
    assert "moot/debate" in [model.id async for model in client.models.list()]
    assert (await client.models.retrieve("moot/debate")).owned_by == "moot"
    stream = await client.chat.completions.create(
        model="moot/debate",
        messages=[{"role": "user", "content": QUESTION}],
        stream=True,
        stream_options={"include_usage": True},
    )
    reasoning, content, finish, usage = "", "", None, None
    async for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            assert not content or not getattr(choice.delta, "reasoning_content", None)
            reasoning += getattr(choice.delta, "reasoning_content", None) or ""
            content += choice.delta.content or ""
            finish = choice.finish_reason or finish
    for name in ("Alpha", "Beta", "Gamma"):
        assert f"**{name}, first answer**" in reasoning
    assert content.strip()
    assert finish == "stop"
    assert usage is not None
    assert usage.completion_tokens_details is not None
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens > 0


async def test_openai_sdk_raises_matching_errors_for_rejected_requests(client: "AsyncOpenAI") -> None:
    import openai  # noqa: PLC0415 - large, and only the worker that runs this file needs it

    create = client.chat.completions.create
    with pytest.raises(openai.NotFoundError) as missing:
        await create(model="moot/quarrel", messages=[{"role": "user", "content": "?"}])
    assert (missing.value.code, missing.value.param) == ("model_not_found", "model")
    with pytest.raises(openai.BadRequestError, match="Moot does not support this"):
        await create(model="moot/debate", messages=[{"role": "user", "content": "?"}], n=2)
    with pytest.raises(openai.BadRequestError, match="Moot does not support this"):  # what `llm -o stop .` sends
        await create(model="moot/debate", messages=[{"role": "user", "content": "?"}], stop=".", stream=True)
    with pytest.raises(openai.APIStatusError, match="Key rejected"):
        await create(model="scripted/unauthorized", messages=[{"role": "user", "content": "?"}])
    with pytest.raises(openai.APIError, match=r"reset|broke|closed|connection"):
        async for _ in await create(model="scripted/reset", messages=[{"role": "user", "content": "?"}], stream=True):
            pass


async def test_openai_sdk_continues_existing_discussion(server: MootServer, client: "AsyncOpenAI") -> None:
    opened = await server.post("/api/discussions", {"message": "One?", "participants": ["scripted/echo"]})
    await server.run_events(opened.body["run"]["id"])
    discussion = opened.body["discussion"]["id"]
    reply = await client.chat.completions.create(
        model="moot/single",
        messages=[{"role": "user", "content": "Two?"}],
        extra_body={"discussion": discussion},
    )
    assert reply.choices[0].message.content == "Two?"
    messages = (await server.get(f"/api/discussions/{discussion}")).body["messages"]
    assert [one["content"] for one in messages] == ["One?", "One?", "Two?", "Two?"]


async def test_openai_sdk_authenticates_with_api_token_when_accounts_are_required(tmp_path: Path) -> None:
    import openai  # noqa: PLC0415 - large, and only the worker that runs this file needs it

    async with run_moot_server(tmp_path, settings=SETTINGS, MOOT_AUTH="accounts") as server:
        made = await asyncio.to_thread(server.moot, "user", "add", "ada", stdin="correct horse\n")
        assert made.returncode == 0, made.stderr
        login = await server.post("/api/login", {"name": "ada", "password": "correct horse"})
        cookie = {"Cookie": login.headers["Set-Cookie"].partition(";")[0]}
        token = (await server.post("/api/tokens", {"name": "sdk"}, cookie)).body["secret"]
        for key, allowed in (("moot_wrong", False), (token, True)):
            async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0) as client:
                if allowed:
                    assert len((await client.models.list()).data) == 6
                else:
                    with pytest.raises(openai.AuthenticationError):
                        await client.models.list()


def _write_llm_config(folder: Path, url: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "extra-openai-models.yaml").write_text(LLM_MODELS.format(url=url))


async def run_llm(server: MootServer, folder: Path, *arguments: str) -> tuple[int, str, str]:
    """Run `llm` in a folder of its own; plugins that happen to be installed are not loaded."""
    _write_llm_config(folder, server.url)
    environment = {"PATH": os.environ["PATH"], "LLM_USER_PATH": str(folder), "LLM_LOAD_PLUGINS": ""}
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).parent / "llm"),
        *arguments,
        env={**environment, "OPENAI_API_KEY": "none is needed here"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(120):
        out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def test_llm_runs_debate(server: MootServer, tmp_path: Path) -> None:
    code, first, error = await run_llm(server, tmp_path / "llm", "-m", "moot/debate", QUESTION)
    assert code == 0, error
    assert first.strip()


@pytest.mark.slow
async def test_llm_runs_parallel_mode_and_continues_conversation(server: MootServer, tmp_path: Path) -> None:
    code, again, error = await run_llm(server, tmp_path / "llm", "-m", "moot/parallel", "--no-stream", "Why?")
    assert code == 0, error
    assert all(f"**{name}**" in again for name in ("Alpha", "Beta", "Gamma"))
    code, _, error = await run_llm(server, tmp_path / "llm", "-c", "And then?")
    assert code == 0, error


@pytest.mark.slow  # `test_openai_sdk_raises_matching_errors_for_rejected_requests` sends the same with the SDK that `llm` uses
async def test_llm_reports_rejected_option(server: MootServer, tmp_path: Path) -> None:
    code, _, error = await run_llm(server, tmp_path / "llm", "-m", "moot/debate", "Why?", "-o", "stop", ".")
    assert code != 0
    assert "Moot does not support this" in error
