"""Discussions, messages and runs, as stored in the database and returned by the API.

`DiscussionEvent` is an event of the account-wide stream, from which clients update their list of discussions.

Times are Unix seconds. A message's `seq` is unique, increasing and never changes.
"""

from typing import Literal

from msgspec import Struct

from moot.types.chunks import FinishReason, Usage
from moot.types.events import RunStatus, TurnStatus
from moot.types.faults import Fault
from moot.types.modes import AdvisorOptions, DebateOptions, DirectedOptions
from moot.types.participants import Participant
from moot.types.tools import ToolUse

MessageRole = Literal["user", "assistant", "system", "synthesis"]
DiscussionStatus = Literal["active", "archived", "completed"]
RunLifecycleStatus = Literal["waiting", "running"] | RunStatus

LIVE_STATUSES: tuple[RunLifecycleStatus, ...] = ("waiting", "running")


class Discussion(Struct, frozen=True, kw_only=True):
    id: str
    title: str
    status: DiscussionStatus
    mode: str
    participants: tuple[Participant, ...]
    rounds: int  # consensus mode only
    persona: str | None  # id; default for participants without a persona
    project: str | None  # id
    language: str | None  # code of the language of the answers, such as en
    model: str | None  # replaces the model of every participant
    task_model: str | None = None  # cheap model for titles and analysis tasks
    debate: DebateOptions | None = None  # each options object is for the mode of the same name
    advisors: AdvisorOptions | None = None
    directed: DirectedOptions | None = None
    summary: str | None  # of the last export, as are the next two; None: never exported
    usefulness: float | None  # from 0 to 1, rated by the model of the export
    exported_at: float | None  # Unix seconds
    created_at: float
    updated_at: float


class Message(Struct, frozen=True, kw_only=True):
    """A user message, an answer or a failed answer.

    Every version of an answer is a stored row. The API returns one message per turn, with the id and position of the
    first version and the content of the current one, see `moot.types.versions`.
    """

    id: str
    discussion: str
    role: MessageRole
    content: str
    seq: int = 0  # order among all messages
    run: str | None = None  # id of the run that produced it
    participant: str | None = None  # author id; None for user messages
    name: str | None = None
    stage: str | None = None
    round: int = 0
    status: TurnStatus = "completed"
    thoughts: str = ""
    details: str = ""  # `<details>` blocks, removed from `content`
    provider: str | None = None
    model: str | None = None
    usage: Usage | None = None
    cost_usd: float | None = None  # US dollars; None: price unknown
    latency_seconds: float | None = None  # seconds until the response was complete
    first_token_seconds: float | None = None  # seconds until the first token
    fault: Fault | None = None
    finish_reason: FinishReason | None = None
    visible_to: tuple[str, ...] | None = None  # participant ids that may ever see it; None: all
    thread: str | None = None  # id of the participant whose private thread contains it
    files: tuple[str, ...] | None = None  # ids of attached files
    hidden: bool = False  # visible to models, not to people
    view: str | None = None  # prompt of this answer: name of its view
    visible_until: int | None = None  # prompt of this answer: `seq` of the newest message it may contain
    instructions: str | None = None  # prompt of this answer: its final instruction
    lesson_items: str | None = None  # directed mode: JSON array of text and action objects
    tools: tuple[ToolUse, ...] | None = None  # tool calls of this turn
    version_of: str | None = None  # stored versions: id of the first version
    copy_of: str | None = None  # stored versions: id of an older version that a user selected again
    version: int = 1  # index of the shown version, from 1
    versions: int = 1  # number of versions
    version_id: str | None = None  # message id of the shown version; None if there is only one
    revised_seq: int = 0  # `seq` of the message that made this version current
    edited: bool = False  # a user wrote the shown version
    created_at: float = 0.0


class Run(Struct, frozen=True, kw_only=True):
    """One execution of a mode, usually in response to a user message."""

    id: str
    discussion: str
    message: str | None  # id of the user message; None: the discussion continued without one
    mode: str
    status: RunLifecycleStatus
    created_at: float
    ended_at: float | None = None
    revision: int = 0  # number of retries
    regenerates: str | None = None  # id of the answer that this run regenerates


class Activity(Struct, frozen=True, tag_field="type", tag="activity"):
    """Snapshot of all live runs. First event of a stream, and repeated when events may have been lost."""

    runs: tuple[Run, ...]
    awaiting_approval: tuple[str, ...] = ()  # ids of runs that wait for an approval


class ActiveDiscussion(Struct, frozen=True, kw_only=True):
    """A discussion with live runs."""

    discussion: str  # discussion id
    runs: int  # number of live runs


class DiscussionChanged(Struct, frozen=True, tag_field="type", tag="discussion_changed"):
    """The current state of a discussion."""

    discussion: Discussion
    runs: tuple[Run, ...]  # live runs of this discussion
    awaiting_approval: tuple[str, ...] = ()  # as in `Activity`


class DiscussionDeleted(Struct, frozen=True, tag_field="type", tag="discussion_deleted"):
    id: str


DiscussionEvent = Activity | DiscussionChanged | DiscussionDeleted
