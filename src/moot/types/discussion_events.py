"""Events of the account-wide stream, from which clients update their list of discussions."""

from msgspec import Struct

from moot.types.discussions import Discussion, Run


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
