from typing import Any

import pytest
from inline_snapshot import snapshot

from moot.server.openai.routes import (
    ChunkEncoder,
    IdempotentReply,
    collect_completion,
    replay_completion,
    stream_completion,
)
from moot.server.openai.runner import CompletionRun
from moot.server.openai.schemas import AssistantMessage as Reply
from moot.server.openai.schemas import ChatMessage, Choice, Completion, CompletionRequest, completion_usage
from moot.types.chunks import Usage
from moot.types.errors import Conflict, OverBudget
from moot.types.events import Answer, Event, RunEnded, TextDelta, TurnEnded
from moot.types.participants import make_participants
from moot.types.run_plan import RunPlan
from moot.types.streams import BatchStream
from tests.server.openai.completion_requests import delta_text, parse_frames
from tests.support.app_fixture import LocalApp

ENCODER = ChunkEncoder("chatcmpl_1", "moot/single", True, 7)
NO_DATABASE: Any = None
TURN_ENDED = TurnEnded(
    participant="alpha",
    stage="answer",
    round=0,
    status="completed",
    message=Answer(text="So."),
    model="x/y",
    usage=Usage(input=3, output=2, reasoning=1, cached=1),
    cost_usd=None,
)


def completion_run(*items: Event | Exception) -> CompletionRun:
    async def events() -> BatchStream[Event]:
        for one in items:
            if isinstance(one, Exception):
                raise one
            yield [one]

    return CompletionRun("chatcmpl_1", RunPlan(mode="single", participants=make_participants(("x/y",))), events())


async def stream_frames(*items: Event | Exception) -> str:
    reply = IdempotentReply(NO_DATABASE, "local", None)
    frames = [frame async for some in stream_completion(completion_run(*items), ENCODER, reply) for frame in some]
    return (ENCODER.opening_frame() + b"".join(frames)).decode()


async def test_stream_completion_encodes_all_frames() -> None:
    delta = TextDelta(participant="alpha", stage="answer", round=0, text="So.")
    assert await stream_frames(delta, TURN_ENDED, RunEnded(status="completed")) == snapshot("""\
data: {"id":"chatcmpl_1","created":7,"model":"moot/single","choices":[{"delta":{"role":"assistant","content":""},"finish_reason":null,"index":0,"logprobs":null}],"object":"chat.completion.chunk","usage":null}

data: {"id":"chatcmpl_1","created":7,"model":"moot/single","choices":[{"delta":{"content":"So."},"finish_reason":null,"index":0,"logprobs":null}],"object":"chat.completion.chunk","usage":null}

data: {"id":"chatcmpl_1","created":7,"model":"moot/single","choices":[{"delta":{},"finish_reason":"stop","index":0,"logprobs":null}],"object":"chat.completion.chunk","usage":null}

data: {"id":"chatcmpl_1","created":7,"model":"moot/single","choices":[],"object":"chat.completion.chunk","usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,"prompt_tokens_details":{"cached_tokens":1},"completion_tokens_details":{"reasoning_tokens":1}}}

data: [DONE]

""")


@pytest.mark.parametrize(
    "items",
    [
        (RunEnded(status="failed"),),
        (OverBudget("Spent."),),
        (TURN_ENDED,),
        (TURN_ENDED, OverBudget("Spent.")),
    ],
)
async def test_incomplete_stream_ends_with_error_frame(items: tuple[Event | Exception, ...]) -> None:
    frames = parse_frames(await stream_frames(*items))
    assert "error" in frames[-1]


async def test_stored_completion_is_replayed_as_stream() -> None:
    whole = await collect_completion(
        completion_run(TURN_ENDED, RunEnded(status="completed")),
        ENCODER,
        IdempotentReply(NO_DATABASE, "local", None),
    )
    assert whole.choices[0].message.content == "So."
    frames = b"".join([frame async for some in replay_completion(whole, ENCODER) for frame in some]).decode()
    assert (delta_text(parse_frames(frames)), parse_frames(frames)[-1]) == ("So.", "[DONE]")


async def test_collect_completion_raises_run_error() -> None:
    with pytest.raises(OverBudget):
        await collect_completion(
            completion_run(OverBudget("Spent.")), ENCODER, IdempotentReply(NO_DATABASE, "local", None)
        )


REQUEST = CompletionRequest(model="moot/single", messages=(ChatMessage(role="user", content="Why?"),))
REPLY = Completion(
    id="chatcmpl_1",
    created=1,
    model="moot/single",
    choices=(Choice(message=Reply(content="So."), finish_reason="stop"),),
    usage=completion_usage(Usage()),
)


def idempotent_reply(local_app: LocalApp, key: str | None = "k") -> IdempotentReply:
    return IdempotentReply(local_app.services.database, "local", key)


async def test_reply_is_stored_under_idempotency_key(local_app: LocalApp) -> None:
    first = idempotent_reply(local_app)
    assert await first.load_or_reserve(REQUEST) is None
    await first.store_reply(REPLY)
    await first.release_key()
    assert await idempotent_reply(local_app).load_or_reserve(REQUEST) == REPLY


async def test_idempotency_key_in_use_conflicts(local_app: LocalApp) -> None:
    assert await idempotent_reply(local_app).load_or_reserve(REQUEST) is None
    second = idempotent_reply(local_app)
    with pytest.raises(Conflict, match="still being answered"):
        await second.load_or_reserve(REQUEST)
    await second.release_key()  # it never reserved the key
    with pytest.raises(Conflict):
        await idempotent_reply(local_app).load_or_reserve(REQUEST)


async def test_released_idempotency_key_can_be_reused(local_app: LocalApp) -> None:
    first = idempotent_reply(local_app)
    assert await first.load_or_reserve(REQUEST) is None
    await first.release_key()
    assert await idempotent_reply(local_app).load_or_reserve(REQUEST) is None


async def test_reply_is_not_stored_without_idempotency_key(local_app: LocalApp) -> None:
    none = idempotent_reply(local_app, None)
    assert await none.load_or_reserve(REQUEST) is None
    await none.store_reply(REPLY)
    assert await idempotent_reply(local_app, None).load_or_reserve(REQUEST) is None
