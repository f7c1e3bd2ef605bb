import asyncio
import os
from collections.abc import Iterator
from typing import Any

import pytest

from moot.cli.approvals import ApprovalPrompts, Terminal, interactive_terminal
from moot.types.errors import UsageError
from moot.types.events import ApprovalGiven, ApprovalWanted, Event, RunStarted, ToolCalled
from moot.types.participants import Participant
from moot.types.tools import ApprovalDecision
from tests.terminal.dialogue import ends

STARTED = RunStarted(participants=(Participant("alpha", "Alpha", "scripted/writer"),))
CALL: dict[str, Any] = {"participant": "alpha", "stage": "answer", "round": 0, "call_id": "call_1"}
CALLED = ToolCalled(name="notes/write", arguments="{}", **CALL)
WANTED = ApprovalWanted(name="notes/write", seconds=600, **CALL)
GIVEN = ApprovalGiven(answer="allow", **CALL)


class Person:
    """Somebody at a terminal: what they type, and what they see."""

    def __init__(self, descriptor: int, at: Terminal) -> None:
        self._descriptor = descriptor
        self.at = at

    def type(self, words: str) -> None:
        os.write(self._descriptor, words.encode())

    async def sees(self, words: str) -> str:
        seen = ""
        async with asyncio.timeout(60):
            while words not in seen:
                seen += (await asyncio.to_thread(os.read, self._descriptor, 10_000)).decode()
        return seen


@pytest.fixture
def person() -> Iterator[Person]:
    theirs, ours = os.openpty()
    with os.fdopen(ours, "r") as typed, os.fdopen(os.dup(ours), "w") as shown:
        at = interactive_terminal(typed, shown)
        assert at is not None
        yield Person(theirs, at)
    os.close(theirs)


class House:
    """Whoever is answered: what was answered, and what was said meanwhile."""

    def __init__(self) -> None:
        self.answered: asyncio.Queue[tuple[str, ApprovalDecision]] = asyncio.Queue()
        self.said: asyncio.Queue[str] = asyncio.Queue()

    async def answer(self, call: str, decision: ApprovalDecision) -> None:
        await self.answered.put((call, decision))

    def questions(self, at: Terminal | None) -> ApprovalPrompts:
        return ApprovalPrompts(at, self.answer, self.said.put_nowait, "http://here/d/dis_1")


async def test_a_call_that_waits_is_asked_about_and_the_answer_is_sent(person: Person) -> None:
    house = House()
    async with asyncio.timeout(60), house.questions(person.at) as questions:
        questions.process_events([STARTED, CALLED, WANTED])
        assert "Alpha wants to call notes/write with {}" in await person.sees("or always: ")
        person.type("always\n")
        assert await house.answered.get() == ("call_1", "always")


async def test_what_is_neither_yes_nor_no_is_asked_about_once_more(person: Person) -> None:
    async with asyncio.timeout(60):
        asking = asyncio.create_task(person.at.request_decision("Alpha", "notes/write", "{}"))
        await person.sees("or always: ")
        person.type("maybe\n")
        await person.sees("or always: ")
        person.type("yes\n")
        assert await asking == "allow"


async def test_where_nobody_sits_it_is_said_where_the_answer_is_given() -> None:
    house = House()
    async with asyncio.timeout(60), house.questions(None) as questions:
        questions.process_events([STARTED, CALLED, WANTED])
        said = await house.said.get()
    assert said == "Alpha wants to call notes/write, and waits for consent: give it at http://here/d/dis_1."


async def test_what_was_answered_already_is_not_asked() -> None:
    house = House()
    async with house.questions(None) as questions:
        questions.process_events([STARTED, CALLED, WANTED, GIVEN])
        await asyncio.sleep(0)
    assert house.said.empty()


@pytest.mark.parametrize("over", [GIVEN, ends("alpha")])
async def test_a_question_that_is_over_is_taken_back(person: Person, over: Event) -> None:
    house = House()
    async with asyncio.timeout(60), house.questions(person.at) as questions:
        questions.process_events([STARTED, CALLED, WANTED])
        await person.sees("or always: ")
        questions.process_events([over])
        await person.sees("\n")
    assert house.answered.empty()


async def test_an_answer_that_comes_too_late_is_told(person: Person) -> None:
    said: asyncio.Queue[str] = asyncio.Queue()

    async def late(call: str, decision: ApprovalDecision) -> None:
        raise UsageError(f"{call} was answered: {decision}.")

    async with asyncio.timeout(60), ApprovalPrompts(person.at, late, said.put_nowait, "") as questions:
        questions.process_events([STARTED, CALLED, WANTED])
        await person.sees("or always: ")
        person.type("no\n")
        assert await said.get() == "call_1 was answered: refuse."
