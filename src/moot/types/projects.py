"""Projects, which group discussions, and posts about a project's progress."""

from msgspec import UNSET, Struct, UnsetType

from moot.types.knowledge import Pattern
from moot.types.primitives import LineText, Paragraph, Title


class Project(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    description: str
    repository: str
    created_at: float


class ProjectDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: Title
    description: Paragraph = ""
    repository: LineText = ""


class ProjectChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Request body for an update. Unset fields keep their value."""

    name: Title | UnsetType = UNSET
    description: Paragraph | UnsetType = UNSET
    repository: LineText | UnsetType = UNSET


class ProjectPage(Struct, frozen=True):
    projects: tuple[Project, ...]
    next: str | None


class Post(Struct, frozen=True, kw_only=True):
    id: str
    project: str
    title: str
    excerpt: str
    published_at: float | None  # None: draft, never part of a prompt
    created_at: float


class PostDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    title: Title
    excerpt: Paragraph = ""
    published: bool = False


class PostChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Request body for an update. Unset fields keep their value. Publishing is idempotent."""

    title: Title | UnsetType = UNSET
    excerpt: Paragraph | UnsetType = UNSET
    published: bool | UnsetType = UNSET


class PostPage(Struct, frozen=True):
    posts: tuple[Post, ...]
    next: str | None


class ProjectFacts(Struct, frozen=True):
    """Project data for prompts."""

    project: Project
    posts: tuple[Post, ...] = ()  # newest first
    patterns: tuple[Pattern, ...] = ()  # most frequent first
