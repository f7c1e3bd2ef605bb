"""Projects that discussions belong to, and the posts that tell what happened in them."""

from msgspec import Struct


class Project(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    description: str
    repository: str
    created_at: float


class Post(Struct, frozen=True, kw_only=True):
    """`published_at` is None for a draft, which no model sees."""

    id: str
    project: str
    title: str
    excerpt: str
    published_at: float | None
    created_at: float
