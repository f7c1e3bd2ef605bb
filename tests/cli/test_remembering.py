from typing import Any

from moot.cli.remembering import history, listed
from moot.model.discussions import Discussion, Message
from moot.model.faults import fault
from moot.model.participants import seat


def message(**more: Any) -> Message:
    return Message(
        **{
            "id": "m",
            "discussion": "d",
            "role": "assistant",
            "content": "Yes.",
            "name": "Alpha",
            "model": "a/one",
        }
        | more
    )


def test_what_was_said_is_told_with_who_said_it() -> None:
    said = [
        message(role="user", content="Why?", name=None, model=None, audience=("alpha",)),
        message(details="At length."),
        message(content="", status="failed", fault=fault("network", "The connection broke.")),
        message(content="Well", status="stopped"),
    ]
    assert history(said) == (
        "=== You to alpha ===\nWhy?\n\n=== Alpha · a/one ===\nYes.\nAt length.\n\n"
        "=== Alpha · a/one ===\n[failed: The connection broke.]\n\n=== Alpha · a/one ===\nWell\n[stopped]\n\n"
    )


def test_nothing_that_was_said_steers_the_terminal() -> None:
    assert "\x1b" not in history([message(content="\x1b[2J")])


def test_discussions_are_numbered() -> None:
    one = Discussion(
        id="dis_x",
        title="Wood\x07",
        status="active",
        mode="debate",
        participants=seat(("a/one",)),
        rounds=2,
        persona=None,
        project=None,
        language=None,
        model=None,
        summary=None,
        usefulness=None,
        exported_at=None,
        created_at=0.0,
        updated_at=0.0,
    )
    first, second = listed([one, one]).splitlines()
    assert first.startswith("  1  19")
    assert second.endswith("  Wood  (debate, dis_x)")
