"""Progress messages and the final result of a run, for MCP clients."""

from collections.abc import Iterator

from msgspec import Struct

from moot.engine.tools.approvals import approval_instructions
from moot.types.chunks import LENGTH_LIMIT_NOTE
from moot.types.events import (
    ANSWERED_STATUSES,
    ApprovalRequested,
    Event,
    Notice,
    StageStarted,
    TextDelta,
    TurnEnded,
    TurnStarted,
    TurnStatus,
)
from moot.types.modes import LESSON_STAGE, stage_title
from moot.types.run_state import RunState

TAIL_CHARS = 80  # of streamed text in the live preview, per participant
MAX_RESULT_CHARS = 300_000  # of one tool result: MCP clients limit the size of a message


class ParticipantAnswer(Struct, frozen=True, kw_only=True):
    participant: str
    name: str
    model: str
    status: TurnStatus
    text: str
    fault: str | None = None  # why the answer is missing or incomplete


class McpRunReport:
    """Texts for an MCP client, from the state of one run."""

    def __init__(self) -> None:
        self.characters = 0  # streamed so far, of all participants
        self.run = RunState()

    def apply_event(self, event: Event) -> str | None:
        """Return a progress message, or None if the event needs none."""
        self.run.apply(event)
        match event:
            case TextDelta(text=text):
                self.characters += len(text)
            case StageStarted(stage=stage, round=round_):
                return f"Stage: {stage_title(stage, round_)}."
            case TurnStarted():
                return f"{self._participant_name(event.participant)} is asked ({event.model})."
            case Notice(message=message):
                return message
            case ApprovalRequested():
                return approval_instructions(self._participant_name(event.participant), event)
            case TurnEnded():
                return f"{self._participant_name(event.participant)} has ended: {event.status}."
        return None

    @property
    def live_preview(self) -> str:
        """The end of the streamed text of each active participant."""
        tails = {turn.key.participant: turn.text[-TAIL_CHARS:].split() for turn in self.run.live_turns}
        return "\n".join(f"{self._participant_name(who)}: {' '.join(tail)}" for who, tail in tails.items() if tail)

    @property
    def final_answers(self) -> tuple[ParticipantAnswer, ...]:
        """The synthesis if there is one; all turns of a lesson; else the last answer of each participant."""
        turns = list({turn.turn_key: turn for turn in self.run.ended_turns}.values())
        syntheses = [turn for turn in turns if turn.stage == "synthesis" and turn.status in ANSWERED_STATUSES]
        if syntheses:
            return (self._participant_answer(syntheses[-1]),)
        if any(turn.stage == LESSON_STAGE for turn in turns):
            return tuple(map(self._participant_answer, turns))
        last: dict[str, TurnEnded] = {}
        for turn in turns:
            if turn.status in ANSWERED_STATUSES or turn.participant not in last:
                last[turn.participant] = turn
        return tuple(self._participant_answer(last[id]) for id in self.run.names if id in last)

    def _participant_answer(self, turn: TurnEnded) -> ParticipantAnswer:
        return ParticipantAnswer(
            participant=turn.participant,
            name=self._participant_name(turn.participant),
            model=turn.model,
            status=turn.status,
            text="\n\n".join(part.strip() for part in (turn.message.text, turn.message.details) if part.strip()),
            fault=turn.fault.message if turn.fault else LENGTH_LIMIT_NOTE if turn.finish_reason == "length" else None,
        )

    def _participant_name(self, participant: str) -> str:
        return self.run.names.get(participant, participant)


def render_answers(answers: tuple[ParticipantAnswer, ...]) -> str:
    """Render answers as Markdown. Several answers get headings with the names."""
    blocks = [block for one in answers for block in _answer_blocks(one, alone=len(answers) == 1)]
    text = "\n\n".join(blocks) or "No participant answered."
    if len(text) <= MAX_RESULT_CHARS:
        return text
    return f"{text[:MAX_RESULT_CHARS]}\n\n[The rest is left out: read_discussion gives all of it.]"


def _answer_blocks(one: ParticipantAnswer, *, alone: bool) -> Iterator[str]:
    if not alone:
        yield f"## {one.name} ({one.model})"
    if one.text:
        yield one.text
    if one.fault:
        yield f"[{one.fault}]" if one.status == "completed" else f"[{one.status}: {one.fault}]"
    elif one.status not in ANSWERED_STATUSES:
        yield f"[{one.status}]"
