from inline_snapshot import snapshot
from msgspec.structs import replace

from moot.context.project import describe
from moot.model.knowledge import Pattern
from moot.model.projects import Post, Project, ProjectFacts

PROJECT = Project(
    id="project_1",
    name="Moot",
    description="Several models around one table.\n\nIt is young.",
    repository="example/moot",
    created_at=0.0,
)
POST = Post(
    id="post_1",
    project="project_1",
    title="The first table",
    excerpt="It stands.\n## Not a heading",
    published_at=1.0,
    created_at=0.0,
)
PATTERN = Pattern(
    id="pattern_1",
    kind="pain",
    title="Tables wobble",
    description="On every old floor, until the legs are evened out.",
    evidence=("twice",),
    frequency=4,
    severity="high",
    tags=("legs", "floors"),
)


def test_the_whole_of_it() -> None:
    posts = (POST, replace(POST, title="Plans", excerpt=""))
    patterns = (PATTERN, replace(PATTERN, kind="tool", title="Wedges", severity=None, frequency=2))
    assert describe(ProjectFacts(PROJECT, posts, patterns)) == snapshot("""\
This discussion belongs to the project Moot. Take what you are told about it as background: use it where it helps, and believe the person where it is out of date.

Several models around one table.

It is young.

Repository: example/moot

Published about it lately, newest first:
- The first table: It stands. ## Not a heading
- Plans

What earlier discussions of the project showed, most frequent first:
- Tables wobble (pain, high; seen 4 times): On every old floor, until the legs are evened out.
- Wedges (tool; seen 2 times): On every old floor, until the legs are evened out.\
""")


def test_what_is_not_known_is_not_mentioned() -> None:
    bare = replace(PROJECT, description=" ", repository="")
    assert describe(ProjectFacts(bare)) == snapshot(
        "This discussion belongs to the project Moot. Take what you are told about it as background: use it where it helps, and believe the person where it is out of date."
    )


def test_braces_are_only_characters() -> None:
    assert "{name} {0}" in describe(ProjectFacts(replace(PROJECT, description="{name} {0}")))


def test_it_never_grows_too_long() -> None:
    long = "word " * 10_000
    project = replace(PROJECT, name=long, description=long, repository=long)
    posts = (replace(POST, title=long, excerpt=long),) * 5
    patterns = (replace(PATTERN, title=long, description=long),) * 10
    assert len(describe(ProjectFacts(project, posts, patterns))) < 16_000
