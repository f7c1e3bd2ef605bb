from pathlib import Path
from typing import Any

import pytest

from moot.cli.ask_options import AskOptions, build_run_plan, repair_encoding, validate_options
from moot.types.errors import UsageError
from moot.types.modes import AdvisorOptions, DebateOptions, DirectedOptions
from moot.types.participants import make_participants

THREE_MODELS = ("a/one", "b/two", "c/three")


def make_options(**overrides: Any) -> AskOptions:
    return AskOptions(**{"question": "hi", "models": THREE_MODELS, **overrides})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"mode": "single"}, "not 3"),
        ({"mode": "consensus", "models": THREE_MODELS[:1]}, "--mode consensus: needs at least two models"),
        ({"mode": "debate", "models": THREE_MODELS[:1]}, "--mode debate: needs at least two models"),
        ({"mode": "debate", "models": ()}, "Name each with -m"),
        ({"mode": "debate", "rounds": 2}, "--rounds: only for --mode consensus. Add --mode consensus, or remove"),
        ({"lead": "Beta"}, "--lead: only for --mode debate. Add --mode debate, or remove --lead."),
        ({"mode": "consensus", "skip_if_agreed": True}, "--skip-if-agreed: only for --mode debate"),
        ({"quorum": 2}, "--quorum: only for --mode debate"),
        ({"mode": "parallel", "deadline": 5.0}, "--deadline: only for --mode debate"),
        (
            {"question_turns": 0},
            "--question-turns: only for --mode advisors. Add --mode advisors, or remove --question-turns.",
        ),
        ({"mode": "debate", "cross_talk": True}, "--cross-talk: only for --mode advisors"),
        ({"mode": "parallel", "synthesis": True}, "--synthesis: only for --mode advisors"),
        ({"mode": "advisors", "lead": "2"}, "--lead: only for --mode debate"),
        ({"mode": "debate", "quorum": 4}, "more than the 3 models"),
        ({"mode": "debate", "deadline": 0.0}, "--deadline must be more than 0"),
        ({"mode": "debate", "deadline": float("inf")}, "--deadline must be"),
        ({"max_cost_usd": -1.0}, "--max-cost-usd must be more than 0"),
        ({"roles": ("teacher",)}, "--role: only for --mode directed. Add --mode directed, or remove --role."),
        ({"mode": "debate", "turns": 3}, "--turns: only for --mode directed"),
        ({"mode": "consensus", "whiteboard": Path("b.png")}, "--whiteboard: only for --mode directed"),
        (
            {"mode": "directed", "roles": ("pupil",)},
            "--role pupil: unknown role. Choose one of teacher, assistant, student.",
        ),
        ({"mode": "directed", "roles": ("student",) * 4}, "--role: given 4 times for 3 models"),
        (
            {"mode": "directed", "whiteboard": Path("b.gif")},
            r"--whiteboard b.gif: unknown format. The name must end in .svg or .png.",
        ),
        ({"mode": "directed", "skip_if_agreed": True}, "--skip-if-agreed: only for --mode debate"),
        ({"max_cost_usd": float("nan")}, "--max-cost-usd must be"),
    ],
)
def test_validate_options_rejects_conflicting_options(given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        validate_options(make_options(**given))


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"mode": "consensus", "rounds": 3},
        {"mode": "debate", "lead": "2", "skip_if_agreed": True, "quorum": 3, "deadline": 0.5, "max_cost_usd": 0.01},
        {"models": (), "max_cost_usd": 0.5},
        {"mode": "advisors", "question_turns": 0, "cross_talk": True, "synthesis": True},
        {"mode": "advisors", "models": ()},
        {"mode": "directed", "models": THREE_MODELS[:1]},
        {"mode": "directed", "roles": ("teacher", "student"), "turns": 3, "whiteboard": Path("b.svg")},
    ],
)
def test_validate_options_accepts_valid_combinations(given: dict[str, Any]) -> None:
    validate_options(make_options(**given))


class TestPlan:
    def test_debate_rules_come_from_options(self) -> None:
        given = make_options(
            mode="debate", lead="Gamma", skip_if_agreed=True, quorum=2, deadline=9.5, max_cost_usd=0.25
        )
        made = build_run_plan(given, make_participants(THREE_MODELS))
        assert made.debate == DebateOptions(lead="gamma", quorum=2, deadline=9.5, skip_if_agreed=True)
        assert (made.mode, made.knows_others, made.max_cost_usd) == ("debate", True, 0.25)
        assert made.lead.name == "Gamma"

    def test_advisors_rules_come_from_options(self) -> None:
        made = build_run_plan(
            make_options(mode="advisors", question_turns=0, cross_talk=True, synthesis=True),
            make_participants(THREE_MODELS),
        )
        assert made.advisors == AdvisorOptions(question_turns=0, cross_talk=True, synthesis=True)
        assert (made.mode, made.knows_others) == ("advisors", True)
        assert (
            build_run_plan(make_options(mode="advisors"), make_participants(THREE_MODELS)).advisors == AdvisorOptions()
        )

    @pytest.mark.parametrize("lead", ["Beta", "beta", "2"])
    def test_lead_is_resolved_by_name_or_number(self, lead: str) -> None:
        assert build_run_plan(make_options(mode="debate", lead=lead), make_participants(THREE_MODELS)).lead.id == "beta"

    def test_first_participant_leads_by_default(self) -> None:
        assert build_run_plan(make_options(mode="debate"), make_participants(THREE_MODELS)).lead.id == "alpha"

    @pytest.mark.parametrize("lead", ["Delta", "4", "0", "b/two", ""])
    def test_unknown_lead_is_rejected(self, lead: str) -> None:
        with pytest.raises(UsageError, match=r"Name one of Alpha, Beta, Gamma, or a number from 1 to 3\."):
            build_run_plan(make_options(mode="debate", lead=lead), make_participants(THREE_MODELS))

    @pytest.mark.parametrize(
        ("models", "mode", "chosen", "introduced"),
        [
            (THREE_MODELS[:1], None, "single", False),
            (THREE_MODELS, None, "parallel", False),
            (THREE_MODELS, "consensus", "consensus", True),
        ],
    )
    def test_participants_know_others_only_in_shared_modes(
        self, models: tuple[str, ...], mode: str | None, chosen: str, introduced: bool
    ) -> None:
        made = build_run_plan(make_options(models=models, mode=mode), make_participants(models))
        assert (made.mode, made.knows_others, made.debate, made.max_cost_usd) == (
            chosen,
            introduced,
            DebateOptions(),
            None,
        )

    @pytest.mark.parametrize(
        ("roles", "given"),
        [
            ((), ["teacher", "student", "student"]),
            (("assistant",), ["assistant", "student", "student"]),
            (("student", "student", "teacher"), ["student", "student", "teacher"]),
        ],
    )
    def test_roles_follow_model_order_and_first_teaches_by_default(
        self, roles: tuple[str, ...], given: list[str]
    ) -> None:
        made = build_run_plan(make_options(mode="directed", roles=roles), make_participants(THREE_MODELS))
        assert [who.role for who in made.participants] == given

    def test_directed_mode_has_ten_turns_by_default(self) -> None:
        assert build_run_plan(
            make_options(mode="directed", turns=3), make_participants(THREE_MODELS)
        ).directed == DirectedOptions(turns=3)
        assert build_run_plan(
            make_options(mode="directed"), make_participants(THREE_MODELS)
        ).directed == DirectedOptions(turns=10)

    def test_participants_have_no_role_in_other_modes(self) -> None:
        assert {who.role for who in build_run_plan(make_options(), make_participants(THREE_MODELS)).participants} == {
            None
        }

    def test_model_options_apply_to_all_participants(self) -> None:
        made = build_run_plan(
            make_options(temperature=0.5, max_tokens=9, thinking="low", system="Be brief."),
            make_participants(THREE_MODELS),
        )
        assert {(who.temperature, who.max_tokens, who.thinking) for who in made.participants} == {(0.5, 9, "low")}
        assert made.personas == dict.fromkeys(("alpha", "beta", "gamma"), "Be brief.")


def test_repair_encoding_replaces_invalid_utf8() -> None:
    assert repair_encoding("Gr\udcfc\udcdfe") == "Gr\ufffd\ufffde"
    assert repair_encoding("Grüße") == "Grüße"
