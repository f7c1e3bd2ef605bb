from typing import get_args

import msgspec
import pytest

from moot.types.chunks import Usage
from moot.types.discussions import LIVE_STATUSES, Discussion, Message, Run
from moot.types.events import RunStatus
from moot.types.faults import make_fault
from moot.types.participants import make_participants

DISCUSSION = Discussion(
    id="dis_1",
    title="Tables",
    status="active",
    mode="consensus",
    participants=make_participants(("a/one", "b/two")),
    rounds=2,
    persona=None,
    project="pro_1",
    language="de",
    model=None,
    summary=None,
    usefulness=0.5,
    exported_at=None,
    created_at=1.0,
    updated_at=2.0,
)
MESSAGE = Message(
    id="msg_1",
    discussion="dis_1",
    role="assistant",
    content="Rou",
    number=7,
    run="run_1",
    participant="beta",
    name="Beta",
    stage="round",
    round=1,
    status="partial",
    provider="b",
    model="b/two",
    usage=Usage(1, 2),
    cost=0.1,
    fault=make_fault("network", "The connection broke."),
    audience=("beta",),
    view="everything",
    upto=6,
    created_at=3.0,
)
RUN = Run(id="run_1", discussion="dis_1", message=None, mode="continue", status="waiting", created_at=1.0)


@pytest.mark.parametrize("value", [DISCUSSION, MESSAGE, RUN], ids=lambda value: type(value).__name__)
def test_what_is_sent_comes_back_the_same(value: msgspec.Struct) -> None:
    assert msgspec.json.decode(msgspec.json.encode(value), type=type(value)) == value


@pytest.mark.parametrize(
    ("field", "value"), [("role", "narrator"), ("status", "lost"), ("audience", "beta"), ("number", "7")]
)
def test_a_message_of_another_shape_is_none(field: str, value: str) -> None:
    data = msgspec.to_builtins(MESSAGE) | {field: value}
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(data, Message)


def test_a_message_is_complete_and_for_everybody_unless_it_says_otherwise() -> None:
    message = Message(id="msg_1", discussion="dis_1", role="user", content="Why?")
    assert (message.status, message.audience, message.hidden) == ("completed", None, False)


def test_a_run_lives_until_it_has_ended() -> None:
    assert set(LIVE_STATUSES).isdisjoint(get_args(RunStatus))
    assert RUN.status in LIVE_STATUSES
