from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from msgspec.structs import replace

from moot.prompts.attachments import build_question
from moot.prompts.builder import build_model_request
from moot.prompts.library import load_template
from moot.prompts.parts import Attachment
from moot.prompts.visibility import VIEWS, View, blind, everything
from moot.types.chunks import Text
from moot.types.discussions import Message
from moot.types.participants import Participant, make_participants
from moot.types.requests import File, ModelRequest
from moot.types.run_plan import RunPlan
from tests.prompts.random_discussions import DiscussionScenario, discussion_scenarios, fewer_examples

views = st.sampled_from(list(VIEWS.values()))
instructions = st.sampled_from(["", "Go on."])


def text_parts(request: ModelRequest) -> list[tuple[str, str]]:
    """Return every text of a request with its role."""
    return [
        (message.role, part.text) for message in request.messages for part in message.parts if isinstance(part, Text)
    ]


def scenario_request(scenario: DiscussionScenario, view: View, instruction: str = "") -> ModelRequest:
    return build_model_request(
        scenario.plan,
        scenario.participant,
        view(scenario.messages, scenario.participant.id, scenario.run),
        instruction,
    )


def expected_part(message: Message, participant: Participant) -> tuple[str, str]:
    if message.participant == participant.id:
        return "assistant", message.content
    if message.role == "user":
        return "user", message.content
    verb = "summed up for the table" if message.role == "synthesis" and message.name else "said"
    cut_off = "" if message.status == "completed" else ", and was cut off"
    return "user", f"{message.name or 'The table'} {verb}{cut_off}:\n\n{message.content}"


class TestAnyDiscussion:
    @fewer_examples
    @given(discussion_scenarios(), views, instructions)
    def test_model_request_roles_alternate_starting_and_ending_with_user(
        self, log: DiscussionScenario, view: View, instruction: str
    ) -> None:
        roles = [message.role for message in scenario_request(log, view, instruction).messages]
        assert (roles[0], roles[-1]) == ("user", "user")
        assert all(one != next_one for one, next_one in pairwise(roles))

    @fewer_examples
    @given(discussion_scenarios(), views, instructions)
    def test_model_request_has_visible_messages_in_order_and_nothing_else(
        self, log: DiscussionScenario, view: View, instruction: str
    ) -> None:
        seen = view(log.messages, log.participant.id, log.run)
        sent = text_parts(scenario_request(log, view, instruction))
        if seen and seen[0].participant == log.participant.id:
            assert sent.pop(0) == ("user", load_template("not_shown"))
        if instruction:
            assert sent.pop() == ("user", instruction)
        elif not seen or seen[-1].participant == log.participant.id:
            assert sent.pop() == ("user", load_template("your_turn"))
        assert sent == [expected_part(message, log.participant) for message in seen]

    @fewer_examples
    @given(discussion_scenarios(), views)
    def test_model_request_has_only_own_messages_in_assistant_role(self, log: DiscussionScenario, view: View) -> None:
        mine = [message.content for message in log.messages if message.participant == log.participant.id]
        for role, text in text_parts(scenario_request(log, view)):
            assert role == "user" or text in mine

    @fewer_examples
    @given(discussion_scenarios(), views)
    def test_model_request_excludes_messages_not_visible_to_participant(
        self, log: DiscussionScenario, view: View
    ) -> None:
        hidden = set(log.messages) - set(view(log.messages, log.participant.id, log.run))
        text = str(scenario_request(log, view))
        assert [message.seq for message in hidden if f"«{message.seq}»" in text] == []

    @fewer_examples
    @given(discussion_scenarios(), views, instructions)
    def test_model_request_is_deterministic(self, log: DiscussionScenario, view: View, instruction: str) -> None:
        assert scenario_request(log, view, instruction) == scenario_request(log, view, instruction)

    @fewer_examples
    @given(discussion_scenarios())
    def test_system_prompt_layers_keep_their_order(self, log: DiscussionScenario) -> None:
        system = build_model_request(log.plan, log.participant, ()).system
        persona = log.plan.personas.get(log.participant.id, "").strip()
        assert system.startswith(persona)
        rest = system.removeprefix(persona)
        marks = [f"You are {log.participant.name}", "A project.", "Write in "]
        places = [rest.find(mark) for mark in marks if mark in rest]
        assert places == sorted(places)
        assert ("Write in " in rest) == (log.plan.language is not None)


PARTICIPANTS = make_participants(("a/one", "b/two", "c/three"))
ALPHA, BETA, GAMMA = PARTICIPANTS


def make_message(number: int, text: str, participant: Participant | None = None, *, run: str = "run_1") -> Message:
    return Message(
        id=f"msg_{number}",
        discussion="dis_1",
        seq=number,
        run=run,
        role="assistant" if participant else "user",
        participant=participant.id if participant else None,
        name=participant.name if participant else None,
        content=text,
    )


EARLIER_MESSAGES = (
    make_message(1, "Is a round table better?"),
    make_message(2, "It has no head.", ALPHA),
    make_message(3, "It takes more room.", BETA),
)


def format_request(request: ModelRequest) -> str:
    """Format a request as readable text."""
    parts = [f"[system]\n{request.system}"] if request.system else []
    for message in request.messages:
        texts = [part.text if isinstance(part, Text) else f"({part})" for part in message.parts]
        parts.append(f"[{message.role}]\n" + "\n--\n".join(texts))
    return "\n\n".join(parts) + "\n"


def test_model_request_of_lone_participant_has_only_question() -> None:
    plan = RunPlan(mode="single", participants=(ALPHA,))
    assert format_request(build_model_request(plan, ALPHA, [EARLIER_MESSAGES[0]])) == snapshot("""\
[user]
Is a round table better?
""")


def test_single_mode_prompt_matches_snapshot() -> None:
    plan = RunPlan(mode="single", participants=PARTICIPANTS, language="en")
    seen = everything([*EARLIER_MESSAGES, make_message(4, "Who says so?", run="run_2")], "alpha", "run_2")
    assert format_request(build_model_request(plan, ALPHA, seen)) == snapshot("""\
[system]
You are Alpha. With you at the table: Beta and Gamma. This message is for you alone to answer; the others do not answer it.

What the others said earlier comes to you as "NAME said:"; refer to them by name where it helps. Begin with the answer itself, without your name before it.

Write in English, whatever language the material is in. If the person asks for another language, or goes on in another one, change to that.

[user]
Is a round table better?

[assistant]
It has no head.

[user]
Beta said:

It takes more room.
--
Who says so?
""")


def test_parallel_mode_prompt_matches_snapshot() -> None:
    plan = RunPlan(
        mode="parallel",
        participants=PARTICIPANTS,
        personas={"beta": "You are a carpenter of forty years."},
        project="The project is called Hall.",
        language="de",
    )
    log = [
        *EARLIER_MESSAGES,
        make_message(4, "Und bei zwölf Leuten?", run="run_2"),
        make_message(5, "Nein.", ALPHA, run="run_2"),
    ]
    assert format_request(build_model_request(plan, BETA, blind(log, "beta", "run_2"))) == snapshot("""\
[system]
You are a carpenter of forty years.

You are Beta. The same message has also gone to Alpha and Gamma: you all answer at this moment, without seeing each other's answers.

Answer in your own right: say what you think and why, do not guess what the others will say, and leave nothing to them. If the message gives each of you something of your own to do, do what is yours. What the others said earlier comes to you as "NAME said:"; refer to them by name where it helps.

Begin with the answer itself, without your name before it.

The project is called Hall.

Write in German, whatever language the material is in. If the person asks for another language, or goes on in another one, change to that.

[user]
Is a round table better?
--
Alpha said:

It has no head.

[assistant]
It takes more room.

[user]
Und bei zwölf Leuten?
""")


def test_consensus_mode_prompt_matches_snapshot() -> None:
    plan = RunPlan(mode="consensus", participants=(ALPHA, BETA), language="en")
    assert format_request(build_model_request(plan, ALPHA, everything(EARLIER_MESSAGES, "alpha", "run_1"))) == snapshot("""\
[system]
You are Alpha, at a round table with Beta and the person who asked. You speak in turn, and everybody hears everything; what the others say comes to you as "NAME said:".

Together you look for an answer that all of you can stand behind; where you cannot agree, make clear what the difference is. If you are the first to speak, answer the question itself. Otherwise take up what was said: say plainly where you agree and where you do not, and why; give way to a better argument and hold on to a good one; correct mistakes, your own included; add what is still missing. Do not repeat what is settled, and spare each other the praise.

Two or three paragraphs are enough. Speak only for yourself, and begin with what you have to say, without your name before it.

Write in English, whatever language the material is in. If the person asks for another language, or goes on in another one, change to that.

[user]
Is a round table better?

[assistant]
It has no head.

[user]
Beta said:

It takes more room.
""")


def test_continue_mode_prompt_matches_snapshot() -> None:
    plan = RunPlan(mode="continue", participants=(ALPHA, BETA), language="en")
    instruction = load_template("go_on_together")
    assert format_request(build_model_request(plan, ALPHA, EARLIER_MESSAGES, instruction)) == snapshot("""\
[system]
You are Alpha, at a round table with Beta and the person who asked. You speak in turn, and everybody hears everything; what the others say comes to you as "NAME said:".

Together you look for an answer that all of you can stand behind; where you cannot agree, make clear what the difference is. If you are the first to speak, answer the question itself. Otherwise take up what was said: say plainly where you agree and where you do not, and why; give way to a better argument and hold on to a good one; correct mistakes, your own included; add what is still missing. Do not repeat what is settled, and spare each other the praise.

Two or three paragraphs are enough. Speak only for yourself, and begin with what you have to say, without your name before it.

Write in English, whatever language the material is in. If the person asks for another language, or goes on in another one, change to that.

[user]
Is a round table better?

[assistant]
It has no head.

[user]
Beta said:

It takes more room.
--
Nobody has asked anything new: the discussion goes on by itself, and it is your turn. If one of the others asked you something or contradicted you, answer that first. Then build on what was just said, test it against a case that has not come up, or open a side of the question that was passed over. Do not repeat what is settled. If there is nothing left to add, say in a sentence or two where you all stand.
""")


def test_continue_mode_prompt_of_lone_participant_matches_snapshot() -> None:
    plan = RunPlan(mode="continue", participants=(ALPHA,))
    assert format_request(
        build_model_request(plan, ALPHA, EARLIER_MESSAGES[:2], load_template("go_on_alone"))
    ) == snapshot("""\
[user]
Is a round table better?

[assistant]
It has no head.

[user]
Nobody has asked anything new: think further by yourself. Go deeper into what you said last, look for where it might be wrong, or open a side of the question that was passed over. Do not repeat yourself. If there is nothing left to add, say in a sentence or two where you stand.
""")


def test_model_request_appends_your_turn_message_after_own_last_message() -> None:
    plan = RunPlan(mode="consensus", participants=(ALPHA,))
    assert format_request(build_model_request(plan, ALPHA, EARLIER_MESSAGES[:2])) == snapshot("""\
[user]
Is a round table better?

[assistant]
It has no head.

[user]
Nobody has spoken since. It is your turn again: take the next step from where you were, without repeating yourself.
""")


def test_model_request_prepends_note_before_own_first_message() -> None:
    plan = RunPlan(mode="single", participants=(ALPHA,))
    assert format_request(
        build_model_request(plan, ALPHA, [EARLIER_MESSAGES[1], make_message(4, "Go on.")])
    ) == snapshot("""\
[user]
(The discussion began earlier; what came before this is not shown to you.)

[assistant]
It has no head.

[user]
Go on.
""")


def test_model_request_marks_incomplete_message() -> None:
    plan = RunPlan(mode="single", participants=(ALPHA,))
    cut = replace(EARLIER_MESSAGES[2], content="It takes mo", status="partial")
    assert text_parts(build_model_request(plan, ALPHA, [cut]))[0] == (
        "user",
        "Beta said, and was cut off:\n\nIt takes mo",
    )


def test_model_request_attributes_unsigned_synthesis_to_table() -> None:
    plan = RunPlan(mode="single", participants=(ALPHA,))
    summary = replace(make_message(4, "Round."), role="synthesis")
    assert text_parts(build_model_request(plan, ALPHA, [summary])) == [("user", "The table said:\n\nRound.")]


@pytest.mark.parametrize(
    ("mode", "to", "named"),
    [
        ("parallel", None, "Beta and Gamma"),
        ("parallel", ("alpha", "gamma"), "also gone to Gamma:"),
        ("consensus", ("alpha", "gamma"), "round table with Gamma and the person"),
        ("parallel", ("alpha",), "for you alone"),
        ("single", ("alpha", "beta"), "at the table: Beta and Gamma."),
    ],
)
def test_system_prompt_names_only_responding_participants(mode: str, to: tuple[str, ...] | None, named: str) -> None:
    assert named in build_model_request(RunPlan(mode=mode, participants=PARTICIPANTS, to=to), ALPHA, ()).system


def test_system_prompt_joins_many_names() -> None:
    plan = RunPlan(mode="parallel", participants=make_participants(("a/one",) * 5))
    assert "also gone to Beta, Gamma, Delta and Epsilon:" in build_model_request(plan, plan.participants[0], ()).system


@pytest.mark.parametrize("mode", ["single", "parallel", "consensus"])
def test_system_prompt_is_empty_when_participants_do_not_know_others(mode: str) -> None:
    assert (
        build_model_request(RunPlan(mode=mode, participants=PARTICIPANTS, knows_others=False), ALPHA, ()).system == ""
    )


def test_system_prompt_raises_key_error_for_unknown_mode() -> None:
    with pytest.raises(KeyError):
        build_model_request(RunPlan(mode="brawl", participants=PARTICIPANTS), ALPHA, ())


def test_system_prompt_keeps_braces_in_names_and_personas() -> None:
    who = Participant("x", "{name}", "a/one")
    plan = RunPlan(mode="parallel", participants=(who, BETA), personas={"x": "Write {others} as it is."})
    assert "Write {others} as it is.\n\nYou are {name}. The same message" in build_model_request(plan, who, ()).system


def test_model_request_puts_attachments_before_message_text() -> None:
    image = File("cat.png", "image/png", b"\x89PNG")
    asked = build_question("What is it?", "one\ntwo", [image])
    *material, _ = asked.parts
    attached = {"msg_1": tuple(map(Attachment, material)), "msg_2": (Attachment(Text("Beta's own")),)}
    seen = [make_message(1, "What is it?"), make_message(2, "A cat.", BETA)]
    request = build_model_request(RunPlan(mode="single", participants=(ALPHA,)), ALPHA, seen, attachments=attached)
    assert request.messages[0].parts == (*asked.parts, Text("Beta said:\n\nA cat."))


def test_model_request_uses_participant_settings() -> None:
    who = Participant("x", "X", "a/one", temperature=0.5, max_tokens=7, thinking="low")
    request = build_model_request(RunPlan(mode="single", participants=(who,)), who, [EARLIER_MESSAGES[0]])
    asked = (request.model, request.temperature, request.max_tokens, request.thinking)
    assert asked == ("a/one", 0.5, 7, "low")
