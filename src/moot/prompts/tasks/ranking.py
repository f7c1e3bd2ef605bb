"""Ranking task of a debate: each participant scores anonymous answers; a Borda count merges the votes."""

import random
import re
from collections.abc import Sequence
from string import ascii_uppercase
from typing import Any, Literal

from msgspec import defstruct

from moot.prompts.debate import BLOCK_SEPARATOR, debate_positions, user_question
from moot.prompts.tasks.task import AnalysisTask, accept_any_answer, make_cache_key, task_request
from moot.prompts.tokens import fit_texts
from moot.types.debate import RankedAnswer, Ranking
from moot.types.discussions import Message
from moot.types.events import RankingMade, VoteCast

Score = Literal[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]


def vote_task(messages: Sequence[Message], run: str, max_chars: int, *, voter: str) -> AnalysisTask:
    """The voter does not score its own answer. The order is random per voter, against position bias."""
    found = debate_positions(messages, run)
    others = [one for one in found if one.participant != voter]
    random.Random(f"{run} {voter}").shuffle(others)  # noqa: S311 - seeded: the same order after a crash; not secret
    labels = {f"{ascii_uppercase[place % 26]}{place // 26 or ''}": one for place, one in enumerate(others)}
    names = [one.name for one in found]
    texts = fit_texts([_remove_names(one.final.content.strip(), names) for one in others], max_chars)
    answers = BLOCK_SEPARATOR.join(f"### Answer {label}\n{text}" for label, text in zip(labels, texts, strict=True))
    material = f"The question:\n{user_question(messages, run)}\n\n{answers}"
    cache_key = make_cache_key("ballot", voter, material)
    form = defstruct("Scores", [(label, Score) for label in labels], frozen=True)

    def rank_participants(answer: Any) -> tuple[tuple[str, ...], ...]:
        scores = {one.participant: getattr(answer, label) for label, one in labels.items()}
        return tuple(
            tuple(who for who, score in scores.items() if score == level)
            for level in sorted(set(scores.values()), reverse=True)
        )

    return AnalysisTask(
        cache_key=cache_key,
        request=task_request("ranking", material),
        answer_type=form,
        to_result=lambda answer: VoteCast(cache_key=cache_key, participant=voter, ranking=rank_participants(answer)),
        check=accept_any_answer,
    )


def count_votes(votes_cast: Sequence[VoteCast]) -> RankingMade:
    """Borda count: one point per lower answer, half a point per tie.

    Sorted by points per vote, because the number of votes per answer can differ.
    """
    points: dict[str, float] = {}
    votes: dict[str, int] = {}
    for one in votes_cast:
        below = sum(len(level) for level in one.ranking)
        for level in one.ranking:
            below -= len(level)
            for who in level:
                points[who] = points.get(who, 0.0) + below + (len(level) - 1) / 2
                votes[who] = votes.get(who, 0) + 1
    best = sorted(points, key=lambda who: (-points[who] / votes[who], who))
    places = tuple(RankedAnswer(participant=who, points=points[who], votes=votes[who]) for who in best)
    ranking = Ranking(answers=places, votes={one.participant: one.ranking for one in votes_cast})
    return RankingMade(
        cache_key=make_cache_key("ranking", *sorted(one.cache_key for one in votes_cast)), ranking=ranking
    )


def _remove_names(text: str, names: Sequence[str]) -> str:
    """Replace participant names, so that the vote stays anonymous."""
    named = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.sub(rf"(?<!\w)(?:{named})(?!\w)", "[one of them]", text)
