"""Projects that discussions belong to, and the posts that tell what happened in them."""

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
    """What is to be different of a project; what is not named stays."""

    name: Title | UnsetType = UNSET
    description: Paragraph | UnsetType = UNSET
    repository: LineText | UnsetType = UNSET


class ProjectPage(Struct, frozen=True):
    projects: tuple[Project, ...]
    next: str | None


class Post(Struct, frozen=True, kw_only=True):
    """`published_at` is None for a draft, which no model sees."""

    id: str
    project: str
    title: str
    excerpt: str
    published_at: float | None
    created_at: float


class PostDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    title: Title
    excerpt: Paragraph = ""
    published: bool = False


class PostChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is to be different of a post. Publishing what is published changes nothing."""

    title: Title | UnsetType = UNSET
    excerpt: Paragraph | UnsetType = UNSET
    published: bool | UnsetType = UNSET


class PostPage(Struct, frozen=True):
    posts: tuple[Post, ...]
    next: str | None


class ProjectFacts(Struct, frozen=True):
    """What participants are told of a project: posts newest first, patterns most frequent first."""

    project: Project
    posts: tuple[Post, ...] = ()
    patterns: tuple[Pattern, ...] = ()
