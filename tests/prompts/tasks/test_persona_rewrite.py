import pytest
from inline_snapshot import snapshot
from msgspec.structs import replace

from moot.prompts.library import builtin_personas, persona_prompt
from moot.prompts.tasks.evaluation import (
    MAX_GROWTH_CHARACTERS,
    MAX_TEXT_CHARACTERS,
    RewriteAnswer,
    RewriteTarget,
    require_small_change,
    rewrite_request,
)
from moot.types.chunks import Text
from moot.types.evaluations import add_round
from moot.types.participants import Participant
from tests.types.test_evaluations import make_evaluation, make_round

ALPHA = Participant("alpha", "Alpha", "scripted/echo")
SCEPTIC = next(one for one in builtin_personas() if one.id == "shipped_sceptic")
SCEPTIC_WITHOUT_PROMPT = replace(SCEPTIC, system_prompt="", description="Doubts.", traits=("fair",))


def request_text(target: RewriteTarget, **fields: object) -> str:
    now = replace(make_evaluation(True, False), assertions=("It is short.", "It names a source."), **fields)
    (message,) = rewrite_request(target, now, "Why round?", "Because.", 10_000).messages
    return "\n\n".join(part.text for part in message.parts if isinstance(part, Text))


def test_rewrite_target_is_system_prompt_or_else_description() -> None:
    assert (
        RewriteTarget(participant=ALPHA, persona=SCEPTIC).field,
        RewriteTarget(participant=ALPHA, persona=SCEPTIC_WITHOUT_PROMPT).field,
    ) == (
        "system_prompt",
        "description",
    )
    assert RewriteTarget(participant=ALPHA, persona=SCEPTIC).text == SCEPTIC.system_prompt


@pytest.mark.parametrize("persona", [SCEPTIC, SCEPTIC_WITHOUT_PROMPT])
def test_render_prompt_with_unchanged_text_equals_persona_prompt(persona: object) -> None:
    role = RewriteTarget(participant=ALPHA, persona=persona)  # type: ignore[arg-type]
    assert role.render_prompt(role.text) == persona_prompt(persona)  # type: ignore[arg-type]
    assert "Name a source." in role.render_prompt("Name a source.")


def test_rewrite_target_without_persona_is_new_description() -> None:
    role = RewriteTarget(participant=ALPHA)
    assert (role.field, role.text) == ("description", "")
    assert role.render_prompt("You name sources.") == "You take the part of Alpha.\n\nYou name sources."


def test_rewrite_request_lists_passing_and_failing_assertions() -> None:
    assert request_text(RewriteTarget(participant=ALPHA, persona=SCEPTIC_WITHOUT_PROMPT)) == snapshot("""\
The description as it is:
```
Doubts.
```

A question:
```
Why round?
```

The answer to it:
```
Because.
```

The assertions about that answer:
- passes: It is short.
  (Because.)
- FAILS: It names a source.
  (Because.)\
""")


def test_rewrite_request_marks_empty_description() -> None:
    assert "(It is empty.)" in request_text(RewriteTarget(participant=ALPHA))


def test_rewrite_request_uses_best_round_and_lists_failed_changes() -> None:
    now = make_evaluation(False, False)
    better = replace(make_round(True, False), description="BETTER", answer="GOOD", change="question_turns")
    worse = replace(make_round(False, False), description="WORSE", answer="BAD", change="Shouted.")
    now = add_round(add_round(now, better), worse)
    words = request_text(RewriteTarget(participant=ALPHA, persona=SCEPTIC_WITHOUT_PROMPT), rounds=now.rounds)
    assert "BETTER" in words
    assert "GOOD" in words
    assert "WORSE" not in words
    assert words.endswith("These changes were tried since, and did not help:\n- Shouted.")


@pytest.mark.parametrize(
    ("description", "words"),
    [
        (" ", "empty"),
        ("Doubts. ", "as it was"),
        ("Doubts." + "x" * (MAX_GROWTH_CHARACTERS + 1), "too long"),
        ("Doubts. \0", "NUL"),
    ],
)
def test_require_small_change_rejects_empty_unchanged_long_and_nul_text(description: str, words: str) -> None:
    wrong = require_small_change(RewriteTarget(participant=ALPHA, persona=SCEPTIC_WITHOUT_PROMPT), "Doubts.")(
        RewriteAnswer("", description)
    )
    assert words in (wrong or "")


def test_require_small_change_accepts_small_change_and_equal_length() -> None:
    assert (
        require_small_change(RewriteTarget(participant=ALPHA, persona=SCEPTIC_WITHOUT_PROMPT), "Doubts.")(
            RewriteAnswer("", "Doubts. Asks.")
        )
        is None
    )
    full = "x" * MAX_TEXT_CHARACTERS["description"]
    check = require_small_change(RewriteTarget(participant=ALPHA, persona=SCEPTIC_WITHOUT_PROMPT), full)
    assert check(RewriteAnswer("", f"y{full[1:]}")) is None
    assert "too long" in (check(RewriteAnswer("", f"{full}y")) or "")
