"""Discussions, what was said in them, and the runs in which it was said: the values that are stored and sent.

Times are seconds since 1970. A message's `number` orders it among all messages and never changes.
"""

from typing import Literal

from msgspec import Struct

from moot.types.chunks import FinishReason, Usage
from moot.types.debate import DebateOptions
from moot.types.events import RunStatus, TurnStatus
from moot.types.faults import Fault
from moot.types.modes import AdvisorOptions, DirectedOptions
from moot.types.participants import Participant
from moot.types.tools import ToolUse

MessageRole = Literal["user", "assistant", "system", "synthesis"]
DiscussionStatus = Literal["active", "archived", "completed"]
RunLifecycleStatus = Literal["waiting", "running"] | RunStatus

LIVE_STATUSES: tuple[RunLifecycleStatus, ...] = ("waiting", "running")


class Discussion(Struct, frozen=True, kw_only=True):
    """`rounds` are those of a consensus; `debate`, `advisors` and `directed` are the rules of these modes.

    `model` is asked instead of every participant's own, if it is set; `clerk` is a cheap one for titles and minutes.
    """

    id: str
    title: str
    status: DiscussionStatus
    mode: str
    participants: tuple[Participant, ...]
    rounds: int
    persona: str | None
    project: str | None
    language: str | None
    model: str | None
    clerk: str | None = None
    debate: DebateOptions | None = None
    advisors: AdvisorOptions | None = None
    directed: DirectedOptions | None = None
    summary: str | None
    usefulness: float | None
    exported_at: float | None
    created_at: float
    updated_at: float


class Message(Struct, frozen=True, kw_only=True):
    """What somebody said, or failed to say. `audience` names who else may ever see it; None is everybody.

    `view`, `upto` and `instruction` tell how the prompt of an answer was made: the view, the newest message it
    could show, and what was asked for at the end. `hidden` messages are shown to models, not to people. `thread` is
    the participant whose own thread it is in, `files` are the ids of what is attached. `script` is the array of speech
    and actions, as JSON, that an answer in a directed discussion consists of. `tools` are the calls that were made for it.

    A turn is told once, under the id of its first version and in its place: `version` says which of its `versions` is
    shown, `version_id` which message that is (None, where there is but one), `revised` the number since which it is, and
    `edited` that a person wrote it. Among the versions themselves, `version_of` names the first, and `copy_of` the one that
    was chosen again.
    """

    id: str
    discussion: str
    role: MessageRole
    content: str
    number: int = 0
    run: str | None = None
    participant: str | None = None
    name: str | None = None
    stage: str | None = None
    round: int = 0
    status: TurnStatus = "completed"
    thoughts: str = ""
    details: str = ""
    provider: str | None = None
    model: str | None = None
    usage: Usage | None = None
    cost: float | None = None
    latency: float | None = None
    first_token: float | None = None
    fault: Fault | None = None
    finish: FinishReason | None = None
    audience: tuple[str, ...] | None = None
    thread: str | None = None
    files: tuple[str, ...] | None = None
    hidden: bool = False
    view: str | None = None
    upto: int | None = None
    instruction: str | None = None
    script: str | None = None
    tools: tuple[ToolUse, ...] | None = None
    version_of: str | None = None
    copy_of: str | None = None
    version: int = 1
    versions: int = 1
    version_id: str | None = None
    revised: int = 0
    edited: bool = False
    created_at: float = 0.0


class Run(Struct, frozen=True, kw_only=True):
    """One answer of the table to a message. `message` is None where nobody asked: the table went on by itself.

    `revision` says how often something of it was tried again, `again` of which answer it makes another version.
    """

    id: str
    discussion: str
    message: str | None
    mode: str
    status: RunLifecycleStatus
    created_at: float
    ended_at: float | None = None
    revision: int = 0
    again: str | None = None
