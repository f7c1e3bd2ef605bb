"""Votes: answers are anonymous, no participant ranks itself, and the count is fair."""

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from msgspec.structs import replace

from moot.prompts.tasks.ranking import count_votes, vote_task
from moot.types.events import VoteCast
from tests.prompts.debate_discussions import (
    MAX_CHARS,
    MESSAGES_WITH_CLAIMS,
    make_answer,
    make_user_message,
    task_material,
    task_result,
)
from tests.prompts.random_discussions import fewer_examples


class TestVoteTask:
    def test_vote_task_material_matches_snapshot(self) -> None:
        assert task_material(vote_task(MESSAGES_WITH_CLAIMS, "run_1", MAX_CHARS, voter="alpha")) == snapshot("""\
The question:
Shall we split it?

### Answer A
I keep my position: nobody knows the cost.

### Answer B
I change my position: split it now.\
""")

    @pytest.mark.parametrize("voter", ["alpha", "beta", "gamma"])
    def test_vote_task_material_has_no_own_answer_and_no_names(self, voter: str) -> None:
        shown = task_material(vote_task(MESSAGES_WITH_CLAIMS, "run_1", MAX_CHARS, voter=voter))
        for message in MESSAGES_WITH_CLAIMS[1:]:
            if message.participant == voter:
                assert not message.content or message.content not in shown
        assert not re.search("alpha|beta|gamma", shown, re.IGNORECASE)

    @pytest.mark.parametrize("name", ["C++", "Dr. No.", "(x)", "Ada", "Ada Lovelace", "Ünal", "4.1"])
    def test_vote_task_removes_names_with_any_characters(self, name: str) -> None:
        log = [
            make_user_message(),
            replace(make_answer("alpha", f"As {name} has it, {name}'s way."), name="Ada"),
            replace(make_answer("beta", f"{name}: yes; {name}, no"), name="Ada Lovelace"),
            replace(make_answer("gamma", f"Nothing of {name}"), name=name),
            make_answer("delta", "So."),
        ]
        shown = task_material(vote_task(log, "run_1", MAX_CHARS, voter="delta"))
        assert name not in shown

    def test_vote_task_keeps_words_that_only_start_with_a_name(self) -> None:
        log = [
            make_user_message(),
            make_answer("alpha", "Alphabetical order, Betamax."),
            make_answer("beta", "So."),
        ]
        assert "Alphabetical order, Betamax." in task_material(vote_task(log, "run_1", MAX_CHARS, voter="beta"))

    def test_vote_task_order_is_stable_per_voter_and_differs_between_voters(self) -> None:
        many = [
            make_user_message(),
            *(make_answer(who, f"I am number {n}.") for n, who in enumerate("abcdefghijkl")),
        ]

        def order(run: str, voter: str) -> list[str]:
            log = [replace(message, run=run) for message in many]
            return re.findall(r"number (\d+)", task_material(vote_task(log, run, MAX_CHARS, voter=voter)))

        assert order("run_1", "a") == order("run_1", "a")
        assert sorted(order("run_1", "a"), key=int) == [str(n) for n in range(1, 12)]
        orders = {tuple(order(run, voter)) for run in ("run_1", "run_2") for voter in "yz"}
        assert len(orders) == 4

    def test_vote_task_groups_equal_scores_in_one_rank(self) -> None:
        log = [
            make_user_message(),
            *(make_answer(who, f"I am {who}.") for who in ("one", "two", "three", "four")),
        ]
        task = vote_task(log, "run_1", MAX_CHARS, voter="four")
        shown = re.findall(r"### Answer (\w)\nI am (\w+)", task_material(task).replace("[one of them]", "x"))
        scores = {label: {"A": 4, "B": 9, "C": 4}[label] for label, _ in shown}
        found = task_result(task, **scores)
        assert isinstance(found, VoteCast)
        assert found.participant == "four"
        assert [len(level) for level in found.ranking] == [1, 2]
        assert sorted(who for level in found.ranking for who in level) == ["one", "three", "two"]

    @pytest.mark.parametrize("score", [-1, 11, 100, 7.5])
    def test_vote_task_rejects_scores_outside_bounds(self, score: float) -> None:
        task = vote_task(MESSAGES_WITH_CLAIMS, "run_1", MAX_CHARS, voter="alpha")
        task_result(task, A=0, B=10)
        with pytest.raises(msgspec.ValidationError):
            task_result(task, A=score, B=5)

    def test_vote_task_labels_more_answers_than_letters(self) -> None:
        many = [make_user_message(), *(make_answer(f"n{n}", f"I am number {n}.") for n in range(60))]
        task = vote_task(many, "run_1", MAX_CHARS, voter="n0")
        assert len(set(task.answer_type.__struct_fields__)) == 59


def make_vote(voter: str, *ranks: tuple[str, ...]) -> VoteCast:
    return VoteCast(cache_key=f"by {voter}", participant=voter, ranking=ranks)


@st.composite
def vote_lists(draw: st.DrawFn) -> list[VoteCast]:
    """Draw votes of some participants on the others, with ties and omissions."""
    cast_by = draw(st.lists(st.sampled_from("abcde"), unique=True, max_size=5))
    return [draw(votes_by(voter)) for voter in cast_by]


@st.composite
def votes_by(draw: st.DrawFn, voter: str) -> VoteCast:
    others = [who for who in "abcde" if who != voter]
    scores = draw(st.dictionaries(st.sampled_from(others), st.integers(0, 3)))
    levels = sorted(set(scores.values()), reverse=True)
    return make_vote(voter, *(tuple(who for who, score in scores.items() if score == level) for level in levels))


class TestCountVotes:
    def test_count_votes_gives_point_per_lower_answer_and_half_per_tie(self) -> None:
        found = count_votes([make_vote("a", ("b",), ("c", "d")), make_vote("b", ("c",), ("d",), ("a",))]).ranking
        assert [(place.participant, place.points, place.votes) for place in found.answers] == [
            ("b", 2.0, 1),
            ("c", 2.5, 2),
            ("d", 1.5, 2),
            ("a", 0.0, 1),
        ]
        assert found.votes == {"a": (("b",), ("c", "d")), "b": (("c",), ("d",), ("a",))}

    def test_count_votes_without_votes_returns_no_answers(self) -> None:
        assert count_votes([]).ranking.answers == ()

    @fewer_examples
    @given(vote_lists())
    def test_count_votes_conserves_points_and_votes(self, some: list[VoteCast]) -> None:
        ranked = [sum(map(len, one.ranking)) for one in some]
        places = count_votes(some).ranking.answers
        assert sum(place.points for place in places) == sum(n * (n - 1) / 2 for n in ranked)
        assert sum(place.votes for place in places) == sum(ranked)

    @fewer_examples
    @given(vote_lists(), st.randoms())
    def test_count_votes_does_not_depend_on_order_of_votes(self, some: list[VoteCast], chance: Any) -> None:
        shuffled = list(some)
        chance.shuffle(shuffled)
        assert count_votes(shuffled) == count_votes(some)

    @fewer_examples
    @given(vote_lists())
    def test_count_votes_sorts_by_average_points(self, some: list[VoteCast]) -> None:
        averages = [place.points / place.votes for place in count_votes(some).ranking.answers]
        assert averages == sorted(averages, reverse=True)

    def test_count_votes_cache_key_depends_on_votes(self) -> None:
        one, other = make_vote("a", ("b",)), make_vote("b", ("a",))
        assert count_votes([one]).cache_key != count_votes([one, other]).cache_key
