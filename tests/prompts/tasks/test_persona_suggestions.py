from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from moot.prompts.tasks.persona_suggestions import (
    MAX_REJECTED,
    ProposalFilter,
    proposals_request,
    questions_request,
)
from moot.types.chunks import Text
from moot.types.personas import CATEGORIES, MAX_PROPOSALS, PROPOSALS_PER_CATEGORY, SituationAnswer
from moot.types.requests import ModelRequest


def make_proposal(name: str = "Hypatia", category: str = "thinker", **fields: Any) -> dict[str, Any]:
    return {
        "name": name,
        "category": category,
        "description": "You are a voice.",
        "rationale": "It helps.",
        **fields,
    }


def request_text(request: ModelRequest) -> str:
    (message,) = request.messages
    return "\n\n".join(part.text for part in message.parts if isinstance(part, Text))


def test_proposals_request_has_situation_answers_and_existing_names() -> None:
    replies = [
        SituationAnswer(question="Since when?", answer="A year."),
        SituationAnswer(question="Why?", answer=" "),
    ]
    request = proposals_request("I want to move.", replies, ["Sceptic", "Teacher"])
    assert request_text(request) == snapshot("""\
The situation:
```
I want to move.
```

Asked about it, they answered:
```
Since when?
A year.
```

There already, so leave these out: Sceptic, Teacher.\
""")
    assert "two of each category" in request.system


def test_questions_request_has_situation() -> None:
    request = questions_request("I want to move.")
    assert request_text(request) == "The situation:\n```\nI want to move.\n```"
    assert "up to three" in request.system


proposals = st.builds(
    make_proposal,
    st.sampled_from(["Ada", "ada", "Bo", "Cy", "Di ", "Ed", "Flo", "Gus", "Hal", "Ivy", "", "Sceptic"]),
    st.sampled_from([*CATEGORIES, "Role", "friend", 7]),
)


@given(st.lists(proposals, max_size=40))
def test_proposal_filter_accepts_two_per_category_with_unique_names(answers: list[dict[str, Any]]) -> None:
    choice = ProposalFilter(["SCEPTIC"])
    accepted = [found for one in answers if (found := choice.add_proposal(one)) is not None]
    assert accepted == choice.accepted
    assert max(Counter(one.category for one in accepted).values(), default=0) <= PROPOSALS_PER_CATEGORY
    names = [one.name.casefold() for one in accepted]
    assert len(set(names)) == len(names) <= MAX_PROPOSALS
    assert "sceptic" not in names
    assert len(choice.rejected) == min(len(answers) - len(accepted), MAX_REJECTED)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (make_proposal("sceptic"), "already"),
        (make_proposal("x" * 61), "name"),
        (make_proposal(category="friend"), "category"),
        ({"name": "Nobody"}, "does not fit"),
        (make_proposal(description=7), "description"),
        ({}, "does not fit"),
    ],
)
def test_proposal_filter_records_reason_for_rejected_proposal(wrong: dict[str, Any], words: str) -> None:
    choice = ProposalFilter(["Sceptic"])
    assert choice.add_proposal(wrong) is None
    (dropped,) = choice.rejected
    assert words in dropped.reason


def test_proposal_filter_trims_text_and_normalizes_category() -> None:
    found = ProposalFilter([]).add_proposal(
        make_proposal(" The\nNurse ", "ROLE", description=" You care.\n", extra=[1])
    )
    assert found is not None
    assert (found.name, found.category, found.description) == ("The Nurse", "role", "You care.")
