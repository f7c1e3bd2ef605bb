"""What participants are told of the project that a discussion belongs to."""

from moot.context.fitting import cut, one_line
from moot.context.prompts import filled
from moot.model.knowledge import Pattern
from moot.model.projects import Post, ProjectFacts

DESCRIPTION = 2000  # characters
LINE = 400


def describe(facts: ProjectFacts) -> str:
    values = {
        "name": one_line(facts.project.name, LINE),
        "description": cut(facts.project.description.strip(), DESCRIPTION),
        "repository": one_line(facts.project.repository, LINE),
        "posts": "\n".join(map(_post, facts.posts)),
        "patterns": "\n".join(map(_pattern, facts.patterns)),
    }
    return filled("project", values)


def _post(post: Post) -> str:
    title, excerpt = one_line(post.title, LINE), one_line(post.excerpt, LINE)
    return f"- {title}: {excerpt}" if excerpt else f"- {title}"


def _pattern(pattern: Pattern) -> str:
    kind = f"{pattern.kind}, {pattern.severity}" if pattern.severity else pattern.kind
    seen = f"({kind}; seen {pattern.frequency} times)"
    return f"- {one_line(pattern.title, LINE)} {seen}: {one_line(pattern.description, LINE)}"
