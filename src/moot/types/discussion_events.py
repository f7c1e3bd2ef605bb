"""What changes in somebody's discussions, told to whoever keeps a list of them in view."""

from msgspec import Struct

from moot.types.discussions import Discussion, Run


class Activity(Struct, frozen=True, tag_field="type", tag="activity"):
    """Everything that is going on now. It comes first, and whenever changes may have been missed.

    `asking` are the runs in which somebody waits until a person allows a call, or refuses it.
    """

    runs: tuple[Run, ...]
    asking: tuple[str, ...] = ()


class ActiveDiscussion(Struct, frozen=True, kw_only=True):
    """A discussion in which somebody is speaking now, or is about to; `runs` says how many runs that are."""

    discussion: str
    runs: int


class DiscussionChanged(Struct, frozen=True, tag_field="type", tag="discussion_changed"):
    """How a discussion is now, with the runs that go on in it, as in `Activity`."""

    discussion: Discussion
    runs: tuple[Run, ...]
    asking: tuple[str, ...] = ()


class DiscussionDeleted(Struct, frozen=True, tag_field="type", tag="discussion_deleted"):
    id: str


DiscussionEvent = Activity | DiscussionChanged | DiscussionDeleted
