import subprocess
import sys
import tomllib

import msgspec
import pytest
from inline_snapshot import snapshot
from msgspec.structs import replace

from moot.prompts.library import (
    builtin_personas,
    load_template,
    parse_persona,
    persona_prompt,
    project_prompt,
    render_template,
)
from moot.types.knowledge import Pattern
from moot.types.personas import Persona
from moot.types.projects import Post, Project, ProjectFacts


def test_builtin_personas_match_snapshot() -> None:
    assert {one.id: one.name for one in builtin_personas()} == snapshot(
        {
            "shipped_advocate": "Advocate",
            "shipped_editor": "Plain-language editor",
            "shipped_engineer": "Engineer",
            "shipped_historian": "Historian",
            "shipped_product": "Product mind",
            "shipped_sceptic": "Sceptic",
            "shipped_scientist": "Scientist",
            "shipped_security": "Security reviewer",
            "shipped_systems": "Systems thinker",
            "shipped_teacher": "Teacher",
        }
    )


@pytest.mark.parametrize("persona", builtin_personas(), ids=lambda one: one.id)
def test_builtin_persona_has_complete_fields(persona: Persona) -> None:
    assert persona.builtin
    assert persona.description.endswith(".")
    assert persona.traits
    assert persona.specialisations
    assert persona.colour
    assert 120 <= len(persona.system_prompt.split()) <= 220


def test_builtin_personas_have_unique_colours_and_prompts() -> None:
    assert len({one.colour for one in builtin_personas()}) == len(builtin_personas())
    assert len({one.system_prompt.split(".")[0] for one in builtin_personas()}) == len(builtin_personas())


def test_parse_persona_reads_front_matter_and_prompt() -> None:
    cook = parse_persona("cook", '+++\nname = "Cook"\ntraits = ["warm"]\n+++\nYou cook.\n\n+++\nAnd more.\n')
    assert (cook.id, cook.name, cook.traits) == ("shipped_cook", "Cook", ("warm",))
    assert cook.system_prompt == "You cook.\n\n+++\nAnd more."


def test_parse_persona_rejects_unknown_field_and_invalid_toml() -> None:
    with pytest.raises(msgspec.ValidationError, match="flavour"):
        parse_persona("cook", '+++\nname = "Cook"\nflavour = "sweet"\n+++\nYou cook.\n')
    with pytest.raises(tomllib.TOMLDecodeError):
        parse_persona("cook", "+++\nname: Cook\n+++\nYou cook.\n")


def test_persona_prompt_is_system_prompt_or_else_built_from_fields() -> None:
    sceptic = next(one for one in builtin_personas() if one.id == "shipped_sceptic")
    assert persona_prompt(sceptic) == sceptic.system_prompt
    assert persona_prompt(replace(sceptic, system_prompt=" ")) == snapshot(
        """\
You take the part of Sceptic.

Looks for where a claim would break, and says what would convince.

You are doubtful, fair, exact.

You know most about arguments, evidence, hidden assumptions.\
"""
    )


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


def test_project_prompt_matches_snapshot() -> None:
    posts = (POST, replace(POST, title="Plans", excerpt=""))
    patterns = (PATTERN, replace(PATTERN, kind="tool", title="Wedges", severity=None, frequency=2))
    assert project_prompt(ProjectFacts(PROJECT, posts, patterns)) == snapshot("""\
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


def test_project_prompt_omits_missing_fields() -> None:
    bare = replace(PROJECT, description=" ", repository="")
    assert project_prompt(ProjectFacts(bare)) == snapshot(
        "This discussion belongs to the project Moot. Take what you are told about it as background: use it where it helps, and believe the person where it is out of date."
    )


def test_project_prompt_keeps_braces() -> None:
    assert "{name} {0}" in project_prompt(ProjectFacts(replace(PROJECT, description="{name} {0}")))


def test_project_prompt_has_bounded_length() -> None:
    long = "word " * 10_000
    project = replace(PROJECT, name=long, description=long, repository=long)
    posts = (replace(POST, title=long, excerpt=long),) * 5
    patterns = (replace(PATTERN, title=long, description=long),) * 10
    assert len(project_prompt(ProjectFacts(project, posts, patterns))) < 16_000


PERSONA_FIELDS = {"name": "Cook", "description": "Cooks {well}.", "traits": "", "specialisations": "soup"}


def test_render_template_omits_paragraph_with_empty_value() -> None:
    assert render_template("part", PERSONA_FIELDS) == (
        "You take the part of Cook.\n\nCooks {well}.\n\nYou know most about soup."
    )


@pytest.mark.parametrize(
    "name",
    [
        "called_upon",
        "go_on_alone",
        "go_on_together",
        "language",
        "not_shown",
        "roundtable",
        "side_by_side",
        "your_turn",
    ],
)
def test_load_template_returns_complete_text(name: str) -> None:
    text = load_template(name).format(name="Alpha", others="Beta", language="German")
    assert text == text.strip() != ""
    assert "{" not in text


@pytest.mark.parametrize("module", ["library", "tasks.knowledge"])
def test_prompt_modules_do_not_import_language_detection(module: str) -> None:
    code = f"import sys, moot.prompts.{module}; sys.exit('moot.prompts.language' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0  # noqa: S603
