import asyncio
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios

import msgspec
import pytest
from inline_snapshot import snapshot

from moot.cli import ask
from moot.providers.scripted.scripts import SAMPLE_ANSWER
from moot.streaming.cancellation import StopSignal
from moot.types.events import (
    Event,
    RunEnded,
    RunStarted,
    RunStatus,
    StageStarted,
    StopReason,
    SummaryMade,
    TextDelta,
    TurnEnded,
    TurnStatus,
    VoteCast,
)
from tests.support.debate_scripts import (
    AGREEMENT_PROMPT,
    CHANGED_TO_YES,
    NO,
    PERHAPS,
    STILL_NO,
    STILL_YES,
    SYNTHESIS_ANSWER,
    TASK_ANSWERS,
    YES,
)
from tests.support.moot_process import (
    MOOT_SCRIPT,
    TIMEOUT_SECONDS,
    UNREACHABLE_URL,
    MootCli,
    read_until,
    read_until_eof,
    usage_error_text,
)
from tests.support.provider_turns import API_KEY, ProviderServerSetup
from tests.support.run_events import turn_ended
from tests.support.tool_servers import TOOL_CALLING_SCRIPTS, TOOL_SERVER_COMMAND

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
decode = msgspec.json.Decoder(Event).decode


class TestOneModel:
    def test_stdout_is_answer_with_newline(self, moot: MootCli) -> None:
        done = moot("ask", "What is a moot?", "-m", "scripted/echo")
        assert (done.returncode, done.stdout, done.stderr) == (0, "What is a moot?\n", "")

    def test_piped_input_is_sent_with_question(self, moot: MootCli) -> None:
        done = moot("ask", "How many lines?", "-m", "scripted/echo", stdin="one\ntwo\n")
        assert done.stdout == "Standard input:\n```\none\ntwo\n```\n\nHow many lines?\n"

    def test_piped_input_is_question_when_none_is_given(self, moot: MootCli) -> None:
        done = moot("ask", "-m", "scripted/echo", stdin="What is a moot?")
        assert (done.returncode, done.stdout) == (0, "What is a moot?\n")

    async def test_question_in_invalid_utf8_is_repaired(
        self, moot: MootCli, provider_server: ProviderServerSetup
    ) -> None:
        moot.write_file("moot.toml", f'[providers.lab]\napi = "openai"\nbase_url = "{provider_server.url}/v1"')
        latin = os.fsdecode("Grüße".encode("latin-1"))
        done = await asyncio.to_thread(moot, "ask", latin, "-m", "lab/echo")
        assert (done.returncode, done.stdout, done.stderr) == (0, "Gr\ufffd\ufffde\n", "")

    def test_file_is_sent_with_question(self, moot: MootCli) -> None:
        notes = moot.write_file("folder/notes.txt", "Everyone sees everyone.\n")
        done = moot("ask", "Who sees whom?", "-f", str(notes), "-m", "scripted/echo")
        assert done.stdout == "notes.txt:\n```\nEveryone sees everyone.\n```\n\nWho sees whom?\n"

    def test_usage_is_printed_to_stderr(self, moot: MootCli) -> None:
        done = moot("ask", "What is a moot?", "-m", "scripted/no_usage", "--usage")
        assert done.stdout == f"{SAMPLE_ANSWER}\n"
        assert re.fullmatch(
            r"moot: scripted/no_usage: about 4 in, about \d+ out, \$0, first token [\d.]+ s, [\d.]+ s in all\n",
            done.stderr,
        )

    def test_failure_is_reported_with_exit_code_1(self, moot: MootCli) -> None:
        done = moot("ask", "hi", "-m", "scripted/unauthorized")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == ("moot: Key rejected for scripted (HTTP 401). Check the key and its permissions.\n")

    def test_retryable_failure_is_retried(self, moot: MootCli) -> None:
        done = moot("ask", "hi", "-m", "scripted/flaky")
        assert (done.returncode, done.stdout) == (0, f"{SAMPLE_ANSWER}\n")
        assert done.stderr.endswith("Trying again.\n")

    def test_interrupted_answer_is_kept_and_reported_as_incomplete(self, moot: MootCli) -> None:
        done = moot("ask", "hi", "-m", "scripted/reset")
        assert SAMPLE_ANSWER.startswith(done.stdout.rstrip("\n"))
        assert len(done.stdout) > 10
        assert "broke before the answer was complete. The partial answer is above." in done.stderr


class TestSeveralModels:
    def test_answers_are_labelled_in_request_order(self, scripted_moot: MootCli) -> None:
        done = scripted_moot("ask", "hi", "-m", "scripted/late", "-m", "scripted/quick", "-m", "scripted/quick")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == snapshot("""\
=== Alpha · scripted/late ===
Here at last.

=== Beta · scripted/quick ===
Round tables.

=== Gamma · scripted/quick ===
Round tables.

""")

    def test_failed_model_does_not_affect_others(self, moot: MootCli) -> None:
        done = moot("ask", "hi", "-m", "scripted/echo", "-m", "scripted/forbidden", "-m", "scripted/echo")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == snapshot("""\
=== Alpha · scripted/echo ===
hi

=== Beta · scripted/forbidden ===
[failed: Key rejected for scripted (HTTP 403). Check the key and its permissions.]

=== Gamma · scripted/echo ===
hi

""")

    def test_exit_code_is_1_when_all_models_fail(self, moot: MootCli) -> None:
        done = moot("ask", "hi", "-m", "scripted/unauthorized", "-m", "scripted/forbidden", "--usage")
        assert done.returncode == 1
        assert done.stdout.count("[failed: Key rejected for scripted") == 2
        assert done.stderr.count(" in, ") == 2

    def test_json_output_has_one_event_per_line(self, moot: MootCli) -> None:
        done = moot("ask", "A question", "-m", "scripted/echo", "-m", "scripted/unauthorized", "--json")
        events = [decode(line) for line in done.stdout.rstrip("\n").split("\n")]
        assert (done.returncode, done.stderr) == (0, "")
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert len({event.run for event in events}) == 1
        assert isinstance(events[0], RunStarted)
        assert isinstance(events[-1], RunEnded)
        ended = {event.participant: event for event in events if isinstance(event, TurnEnded)}
        assert {who: turn.status for who, turn in ended.items()} == {"alpha": "completed", "beta": "failed"}
        streamed = "".join(event.text for event in events if isinstance(event, TextDelta))
        assert streamed == ended["alpha"].message.text == "A question"


class TestConsensus:
    MODELS = ("--mode", "consensus", "-m", "scripted/quick", "-m", "scripted/other")

    def test_participants_speak_in_turn_in_every_round(self, scripted_moot: MootCli) -> None:
        done = scripted_moot("ask", "hi", *self.MODELS)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == snapshot("""\
--- Round 1 ---

=== Alpha · scripted/quick ===
Round tables.

=== Beta · scripted/other ===
Square tables.

--- Round 2 ---

=== Alpha · scripted/quick ===
Round tables.

=== Beta · scripted/other ===
Square tables.

""")

    def test_participant_sees_earlier_answers(self, moot: MootCli) -> None:
        moot.write_file("heard.toml", '[first]\nanswer = "Round."\n[second]\nanswer = "I heard: {question}"')
        moot.write_file("moot.toml", '[providers.scripted]\nscript = "heard.toml"\n')
        models = ("-m", "scripted/first", "-m", "scripted/second")
        done = moot("ask", "hi", "--mode", "consensus", "--rounds", "1", *models)
        assert done.stdout.endswith("I heard: hi\n\nAlpha said:\n\nRound.\n\n")

    def test_json_output_has_round_of_every_turn(self, scripted_moot: MootCli) -> None:
        done = scripted_moot("ask", "hi", *self.MODELS, "--json", "--rounds", "3")
        events = [decode(line) for line in done.stdout.rstrip("\n").split("\n")]
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert [event.round for event in events if isinstance(event, StageStarted)] == [0, 1, 2]
        turns = [(event.round, event.participant) for event in events if isinstance(event, TurnEnded)]
        assert turns == [(round_, who) for round_ in range(3) for who in ("alpha", "beta")]

    def test_failed_participant_is_skipped(self, moot: MootCli) -> None:
        models = ("-m", "scripted/forbidden", "-m", "scripted/echo")
        done = moot("ask", "hi", "--mode", "consensus", *models, "--usage")
        assert done.returncode == 0
        assert done.stdout.count("=== Alpha · scripted/forbidden ===\n[failed: ") == 2
        assert done.stdout.count("=== Beta · scripted/echo ===\n") == 2
        assert "Beta · scripted/echo: 2 turns, " in done.stderr

    def test_terminal_output_is_in_speaking_order(self, scripted_moot: MootCli) -> None:
        shown, code = run_on_terminal(scripted_moot, "ask", "hi", *self.MODELS)
        assert code == 0
        words = ("Round 1", "Alpha · ", "Round tables.", "Beta · ", "Square tables.", "Round 2")
        places = [shown.index(word) for word in words]
        assert places == sorted(places)
        assert shown.rindex("Round tables.") > shown.index("Round 2")


class TestDebate:
    MODELS = ("--mode", "debate", "-m", "scripted/yes", "-m", "scripted/no", "-m", "scripted/perhaps")

    def test_stages_and_report_are_printed_in_order(self, debate_moot: MootCli) -> None:
        done = debate_moot("ask", "Shall we split it?", *self.MODELS, "--lead", "Beta")
        assert (done.returncode, done.stderr) == (0, "")
        answers, _, report = done.stdout.partition("--- Report ---\n")
        parts = (
            "--- First answers ---",
            YES,
            NO,
            PERHAPS,
            "--- Debate ---",
            STILL_YES,
            STILL_NO,
            CHANGED_TO_YES,
        )
        places = [answers.index(part) for part in (*parts, "--- Synthesis ---", SYNTHESIS_ANSWER)]
        assert places == sorted(places)
        assert answers.endswith(f"=== Beta · scripted/no ===\n{SYNTHESIS_ANSWER}\n\n")
        for line in (
            "Overview: Two want to split, one does not.",
            "Agreed: The cost has to be measured.",
            "Gamma, in the end: Split.",
            "Gamma, position: changed",
            "Claim 2, for: Beta: “nobody has measured what the split would cost”",
            "Left out: 2 quotes that are in no answer",
            "Cost: $0",
        ):
            assert f"\n{line}\n" in report
        assert "\nPosition changes: Gamma went from " in report
        assert report.count("\nRank ") == 3

    def test_terminal_output_shows_debate_report_as_table(self, debate_moot: MootCli) -> None:
        shown, code = run_on_terminal(debate_moot, "ask", "Shall we split it?", *self.MODELS)
        assert code == 0
        words = (
            "First answers",
            " Debate ",
            " Synthesis ",
            SYNTHESIS_ANSWER,
            " Report ",
            "In the end",
            "Cost",
        )
        places = [shown.rindex(word) for word in words]
        assert places == sorted(places)
        assert re.search(r"Gamma +Wait\. +Split\. +changed", shown)

    def test_json_output_has_every_event(self, debate_moot: MootCli) -> None:
        done = debate_moot("ask", "Shall we split it?", *self.MODELS, "--json")
        events = [decode(line) for line in done.stdout.rstrip("\n").split("\n")]
        assert [event.stage for event in events if isinstance(event, StageStarted)] == [
            "initial",
            "debate",
            "synthesis",
        ]
        assert sum(isinstance(event, VoteCast) for event in events) == 3
        assert sum(isinstance(event, SummaryMade) for event in events) == 1

    def test_usage_includes_debate_report_calls(self, debate_moot: MootCli) -> None:
        done = debate_moot("ask", "Shall we split it?", *self.MODELS, "--usage")
        starts = [line.partition(": ")[2].partition(":")[0] for line in done.stderr.splitlines()]
        assert starts == [
            "Alpha · scripted/yes",
            "Beta · scripted/no",
            "Gamma · scripted/perhaps",
            "Summary · scripted/yes",
            "Claims · scripted/yes",
            "Ranking · scripted/yes, scripted/no, scripted/perhaps",
            "In all",
        ]
        assert "In all: 12 calls, " in done.stderr

    def test_failed_lead_is_replaced_and_its_error_shown(self, debate_moot: MootCli) -> None:
        models = ("-m", "scripted/forbidden", "-m", "scripted/yes", "-m", "scripted/no")
        done = debate_moot("ask", "Shall we split it?", "--mode", "debate", *models)
        assert done.returncode == 0
        assert done.stdout.count("[failed: Key rejected for scripted") == 1
        assert "moot: Alpha did not answer. Beta writes the synthesis instead.\n" in done.stderr

    def test_each_error_is_shown_when_all_participants_fail(self, moot: MootCli) -> None:
        models = ("-m", "scripted/forbidden", "-m", "scripted/unauthorized")
        done = moot("ask", "hi", "--mode", "debate", *models)
        assert done.returncode == 1
        assert done.stdout.count("[failed: Key rejected for scripted") == 2
        assert "Report" not in done.stdout

    def test_skip_if_agreed_skips_debate_when_answers_agree(self, debate_moot: MootCli) -> None:
        same = {
            "answer": "Split it.",
            "answer_if_contains": {**TASK_ANSWERS, AGREEMENT_PROMPT: '{"agree": true, "reason": "All say split."}'},
        }
        debate_moot.write_file("table.yaml", msgspec.yaml.encode({"same": same}).decode())
        two = ("-m", "scripted/same", "-m", "scripted/same")
        done = debate_moot("ask", "Shall we split it?", "--mode", "debate", "--skip-if-agreed", *two)
        assert done.returncode == 0
        assert "--- Debate ---" not in done.stdout
        assert "moot: All say split. The debate was skipped" in done.stderr

    @pytest.mark.parametrize("rule", [("--quorum", "2"), pytest.param(("--deadline", "3"), marks=pytest.mark.slow)])
    def test_quorum_or_deadline_drops_slow_participant(self, debate_moot: MootCli, rule: tuple[str, str]) -> None:
        models = ("-m", "scripted/yes", "-m", "scripted/no", "-m", "scripted/silence")
        done = debate_moot("ask", "Shall we split it?", "--mode", "debate", *models, *rule)
        assert done.returncode == 0
        assert "=== Gamma · scripted/silence ===\n[failed: It was too slow" in done.stdout
        assert "Gamma, position: no answer" in done.stdout

    def test_run_fails_when_all_participants_miss_deadline(self, debate_moot: MootCli) -> None:
        models = ("-m", "scripted/silence", "-m", "scripted/silence")
        done = debate_moot("ask", "Shall we split it?", "--mode", "debate", *models, "--deadline", "0.1")
        assert done.returncode == 1
        assert done.stdout.count("continued without it") == 2

    def test_debate_ends_with_synthesis_when_summary_cannot_be_parsed(self, scripted_moot: MootCli) -> None:
        done = scripted_moot("ask", "hi", "--mode", "debate", "-m", "scripted/quick", "-m", "scripted/other")
        assert done.returncode == 0
        assert "The summary of scripted/quick failed." in done.stderr
        assert done.stdout.endswith("--- Report ---\n\nCost: $0\n\n")


class TestAdvisors:
    SCRIPTS = """
[warm]
answer = "Take the day off."
answer_if_contains = { "ask the one question" = "Since when?", "have just answered" = "Pass." }
[stern]
answer = "Keep at it."
answer_if_contains = { "ask the one question" = "How much is left?", "have just answered" = "Warm words, Beta.", "what it comes to" = "Rest, then go on." }
"""
    MODELS = ("--mode", "advisors", "-m", "scripted/stern", "-m", "scripted/warm")

    @pytest.fixture
    def advisors_moot(self, moot: MootCli) -> MootCli:
        moot.write_file("advisors.toml", self.SCRIPTS)
        moot.write_file("moot.toml", '[providers.scripted]\nscript = "advisors.toml"\n')
        return moot

    def test_advisors_ask_questions_first(self, advisors_moot: MootCli) -> None:
        done = advisors_moot("ask", "I am tired.", *self.MODELS)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == snapshot("""\
--- Answers ---

=== Alpha · scripted/stern ===
How much is left?

=== Beta · scripted/warm ===
Since when?

""")

    def test_early_zero_with_cross_talk_and_synthesis_prints_all_stages(self, advisors_moot: MootCli) -> None:
        done = advisors_moot("ask", "I am tired.", *self.MODELS, "--question-turns", "0", "--cross-talk", "--synthesis")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == snapshot("""\
--- Answers ---

=== Alpha · scripted/stern ===
Keep at it.

=== Beta · scripted/warm ===
Take the day off.

--- To each other ---

=== Alpha · scripted/stern ===
Warm words, Beta.

=== Beta · scripted/warm ===
Pass.

--- Synthesis ---

=== Alpha · scripted/stern ===
Rest, then go on.

""")

    def test_terminal_output_has_no_debate_report(self, advisors_moot: MootCli) -> None:
        shown, code = run_on_terminal(advisors_moot, "ask", "hi", *self.MODELS, "--question-turns", "0", "--synthesis")
        assert code == 0
        assert "Rest, then go on." in shown
        assert "Report" not in shown

    def test_single_advisor_is_allowed(self, advisors_moot: MootCli) -> None:
        done = advisors_moot("ask", "I am tired.", "--mode", "advisors", "-m", "scripted/warm", "--cross-talk")
        assert (done.returncode, done.stdout) == (0, "Since when?\n")


class TestSystemPrompt:
    """A plain question gets the requested system prompt, and nothing else."""

    @pytest.fixture
    def system_prompt_moot(self, moot: MootCli) -> MootCli:
        moot.write_file("system.toml", '[one]\nanswer = "[{system}]"\n[two]\nanswer = "[{system}]"')
        moot.write_file("moot.toml", '[providers.scripted]\nscript = "system.toml"\n')
        return moot

    @pytest.mark.parametrize("mode", [(), ("--mode", "parallel")])
    def test_independent_answers_have_empty_system_prompt(
        self, system_prompt_moot: MootCli, mode: tuple[str, ...]
    ) -> None:
        done = system_prompt_moot(
            "ask", "Was ist der Sinn des Lebens?", "-m", "scripted/one", "-m", "scripted/two", *mode
        )
        assert done.stdout == "=== Alpha · scripted/one ===\n[]\n\n=== Beta · scripted/two ===\n[]\n\n"

    def test_system_option_is_sent_unchanged(self, system_prompt_moot: MootCli) -> None:
        done = system_prompt_moot("ask", "hi", "-m", "scripted/one", "--system", "You are {a} carpenter.")
        assert done.stdout == "[You are {a} carpenter.]\n"

    def test_consensus_prepends_system_option_to_introduction(self, system_prompt_moot: MootCli) -> None:
        table = ("-m", "scripted/one", "-m", "scripted/two", "--mode", "consensus")
        done = system_prompt_moot("ask", "hi", *table, "--system", "You are a carpenter.")
        assert "[You are a carpenter.\n\nYou are Alpha, at a round table with Beta" in done.stdout
        assert "[You are a carpenter.\n\nYou are Beta, at a round table with Alpha" in done.stdout
        assert "Write in" not in done.stdout


class TestInvalidInput:
    @pytest.mark.parametrize(
        ("arguments", "fix"),
        [
            (("ask", "hi", "-m", "openia/gpt-5"), "Did you mean openai/…?"),
            (("ask", "hi", "-m", "scripted/eco"), "Did you mean 'echo'?"),
            (("ask", "hi", "-m", "openai/gpt-5"), "set OPENAI_API_KEY."),
            (("ask", "hi", "-m", "scripted/echo", "-m", "google/gemini-2.5-flash"), "set GEMINI_API_KEY."),
            (("ask", " \n", "-m", "scripted/echo"), 'Run moot ask "your question".'),
            (("ask", "hi", "-m", "scripted/echo", "-f", "gone.txt"), "Cannot read gone.txt: No such file"),
            (
                ("ask", "hi", "-m", "a/b", "-m", "a/c", "--mode", "single"),
                "not 2. Remove --mode, or",
            ),
            (("ask", "hi", "--mode", "consensus"), "Name each with -m provider/model."),
            (("ask", "hi", "-m", "scripted/echo", "--mode", "consensus"), "at least two models"),
            (
                ("ask", "hi", "-m", "scripted/echo", "--rounds", "2"),
                "--rounds: only for --mode consensus",
            ),
            (("ask", "hi", "--mode", "parallel", "--rounds", "3"), "--rounds: only for --mode consensus"),
            (("ask", "hi", "-m", "scripted/echo", "--mode", "debate"), "--mode debate: needs at least two models"),
            (
                (
                    "ask",
                    "hi",
                    "-m",
                    "scripted/echo",
                    "-m",
                    "scripted/echo",
                    "--mode",
                    "debate",
                    "--lead",
                    "3",
                ),
                "Name one of Alpha, Beta, or a number from 1 to 2.",
            ),
            (
                ("ask", "hi", "-m", "scripted/echo", "--skip-if-agreed"),
                "--skip-if-agreed: only for --mode debate. Add --mode debate, or remove --skip-if-agreed.",
            ),
            (("ask", "hi", "-m", "scripted/echo", "--max-cost-usd", "0"), "--max-cost-usd must be more than 0."),
            (("ask", "hi", "--config", "gone.toml"), "Cannot read the settings gone.toml: No such file"),
        ],
    )
    def test_error_is_one_line_that_names_the_fix(self, moot: MootCli, arguments: tuple[str, ...], fix: str) -> None:
        assert fix in usage_error_text(moot(*arguments))

    def test_file_that_model_cannot_read_is_rejected_before_request(self, moot: MootCli) -> None:
        (moot.folder / "notes.txt").write_bytes(b"\x89PNG\r\n\x1a\n")
        models = ("-m", "scripted/echo", "-m", "deepseek/deepseek-chat")
        done = moot("ask", "hi", "-f", "notes.txt", *models, DEEPSEEK_API_KEY=API_KEY)
        assert usage_error_text(done) == (
            "Beta (deepseek/deepseek-chat) takes no image files such as notes.txt: "
            "leave the file out or choose another model."
        )

    def test_binary_piped_input_is_rejected(self, moot: MootCli) -> None:
        (moot.folder / "cat.png").write_bytes(b"\x89PNG\r\n\x1a\n")
        with (moot.folder / "cat.png").open("rb") as picture:
            process = moot.start_process("ask", "hi", "-m", "scripted/echo", stdin=picture.fileno())
            with process as running:
                out, err = running.communicate(timeout=TIMEOUT_SECONDS)
        assert (running.returncode, out) == (2, b"")
        assert err == b"moot: Standard input: not UTF-8 text. Attach images and PDF with --file.\n"

    def test_provider_without_api_is_rejected(self, moot: MootCli) -> None:
        moot.write_file("moot.toml", "[providers.mine]\n")
        assert usage_error_text(moot("ask", "hi", "-m", "mine/x")).startswith("[providers.mine] needs api = ")


@pytest.mark.parametrize(
    "options",
    [
        ("-m", "scripted/endless"),
        ("-m", "scripted/echo", "-m", "scripted/endless"),
        ("-m", "scripted/endless", "--json"),
    ],
    ids=["one", "several", "json"],
)
def test_ask_ends_quietly_when_reader_closes_pipe(moot: MootCli, options: tuple[str, ...]) -> None:
    """The output is larger than a pipe holds, so `moot` still writes when the reader closes the pipe."""
    with moot.start_process("ask", "hi", *options) as process:
        assert process.stdout
        assert process.stderr
        os.read(process.stdout.fileno(), 5)
        process.stdout.close()
        assert process.wait(timeout=TIMEOUT_SECONDS) > 0
        assert process.stderr.read() == b""


def run_on_terminal(moot: MootCli, *arguments: str) -> tuple[str, int]:
    """Run on a terminal of 100 by 24, and return the output and the exit code."""
    screen, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    with moot.start_process(*arguments, stdin=end, stdout=end, TERM="xterm-256color") as process:
        os.close(end)
        written = read_until_eof(screen)
        code = process.wait(timeout=TIMEOUT_SECONDS)
    os.close(screen)
    return ESCAPES.sub("", written), code


def test_two_models_on_terminal_are_shown_in_columns_then_in_full(scripted_moot: MootCli) -> None:
    shown, code = run_on_terminal(scripted_moot, "ask", "hi", "-m", "scripted/late", "-m", "scripted/other")
    assert code == 0
    assert any("Alpha · scripted/late" in line and "Beta · scripted/other" in line for line in shown.splitlines())
    words = ("Alpha · scripted/late", "Here at last.", "Beta · scripted/other", "Square tables.")
    places = [shown.rindex(word) for word in words]
    assert places == sorted(places)


class TestKeys:
    """A settings file may belong to a folder from another author."""

    async def test_well_known_key_is_not_sent_to_changed_base_url(
        self, moot: MootCli, provider_server: ProviderServerSetup
    ) -> None:
        moot.write_file("moot.toml", f'[providers.openai]\nbase_url = "{provider_server.url}/v1"')
        done = await asyncio.to_thread(moot, "ask", "hi", "-m", "openai/echo", OPENAI_API_KEY=API_KEY)
        assert "OPENAI_API_KEY belongs to api.openai.com" in usage_error_text(done)
        assert provider_server.fake_server.received_requests == []

    async def test_well_known_key_is_not_sent_to_custom_provider(
        self, moot: MootCli, provider_server: ProviderServerSetup
    ) -> None:
        keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
        trap = 'api = "{}"\nbase_url = "{}"\nkey_env = {}\n'
        tables = [
            "[providers.one]\n" + trap.format("openai", f"{provider_server.url}/v1", list(keys)),
            "[providers.two]\n" + trap.format("anthropic", f"{provider_server.url}/v1", list(keys)),
            "[providers.three]\n" + trap.format("google", f"{provider_server.url}/v1beta", list(keys)),
        ]
        moot.write_file("moot.toml", "".join(tables))
        for model in ("one/echo", "two/echo", "three/echo"):
            done = await asyncio.to_thread(moot, "ask", "hi", "-m", model, **dict.fromkeys(keys, API_KEY))
            assert "is not sent elsewhere" in usage_error_text(done)
        assert provider_server.fake_server.received_requests == []

    async def test_custom_key_is_sent_and_never_printed(
        self, moot: MootCli, provider_server: ProviderServerSetup
    ) -> None:
        moot.write_file(
            "moot.toml",
            f'[providers.mine]\napi = "openai"\nbase_url = "{provider_server.url}/v1"\nkey_env = "MINE_API_KEY"',
        )
        models = ("-m", "mine/echo", "-m", "mine/unauthorized")
        done = await asyncio.to_thread(moot, "ask", "hi", *models, "--json", MINE_API_KEY=API_KEY)
        assert sorted(call.key for call in provider_server.fake_server.received_requests) == [
            API_KEY,
            API_KEY,
        ]
        assert "It came from MINE_API_KEY." in done.stdout
        assert API_KEY not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "more",
    [(), *(pytest.param(more, marks=pytest.mark.slow) for more in (("--json",), ("-m", "scripted/echo")))],
)
def test_ask_ends_quietly_when_reader_closes_unbuffered_pipe(moot: MootCli, more: tuple[str, ...]) -> None:
    with subprocess.Popen(  # noqa: S603 - our own script
        [MOOT_SCRIPT, "ask", "hi", "-m", "scripted/steady", *more],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=moot.folder,
        env={**moot.environment, "PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        os.read(process.stdout.fileno(), 5)
        process.stdout.close()
        process.wait(timeout=TIMEOUT_SECONDS)
        assert process.stderr.read() == b""


def test_endless_file_is_rejected(moot: MootCli) -> None:
    assert "larger than" in usage_error_text(moot("ask", "hi", "-m", "scripted/echo", "-f", "/dev/zero"))


def test_unavailable_tool_is_reported(moot: MootCli) -> None:
    assert "look_up" in moot("ask", "hi", "-m", "scripted/tool").stderr


@pytest.fixture
def tool_moot(moot: MootCli) -> MootCli:
    """Let the scripted models call the tools of a server, which writes to notes.txt."""
    moot.write_file("scripts.toml", TOOL_CALLING_SCRIPTS)
    moot.write_file(
        "moot.toml",
        '[providers.scripted]\nscript = "scripts.toml"\n'
        f'[tools.notes]\ncommand = {json.dumps(TOOL_SERVER_COMMAND)}\nenv = ["NOTES"]\n',
    )
    moot.environment["NOTES"] = str(moot.folder / "notes.txt")
    return moot


def test_ask_calls_a_tool_and_shows_its_result(tool_moot: MootCli) -> None:
    done = tool_moot("ask", "What is a moot?", "-m", "scripted/reader", "--tools", "notes")
    assert (done.returncode, done.stdout) == (0, "Let me look.\n\nIt says: moot: a meeting\n")
    assert "notes/look_up" in done.stderr


def test_ask_skips_tool_with_effects_when_approval_is_impossible(tool_moot: MootCli) -> None:
    done = tool_moot("ask", "Note it.", "-m", "scripted/writer", "--tools", "notes")
    assert done.returncode == 0
    assert "notes/write_down: not called, because it needs approval" in done.stderr
    assert "Done: " in done.stdout
    assert "Written." not in done.stdout
    assert not (tool_moot.folder / "notes.txt").exists()


async def test_unknown_model_is_not_reported_as_content_violation(
    moot: MootCli, provider_server: ProviderServerSetup
) -> None:
    moot.write_file("moot.toml", f'[providers.lab]\napi = "openai"\nbase_url = "{provider_server.url}/v1"')
    done = await asyncio.to_thread(moot, "ask", "hi", "-m", "lab/nope")
    assert "nope" in done.stderr
    assert "content rules" not in done.stderr


async def test_folder_settings_cannot_redirect_key_of_user_settings(
    moot: MootCli, provider_server: ProviderServerSetup
) -> None:
    mine = '[providers.work]\napi = "openai"\nbase_url = "https://work.example/v1"\nkey_env = "WORK_KEY"'
    moot.write_file("home/.config/moot/moot.toml", mine)
    moot.write_file("moot.toml", f'[providers.work]\nbase_url = "{provider_server.url}/v1"')
    await asyncio.to_thread(moot, "ask", "hi", "-m", "work/echo", WORK_KEY=API_KEY)
    assert API_KEY not in [call.key for call in provider_server.fake_server.received_requests]


async def test_max_cost_warns_about_models_with_unknown_price(
    moot: MootCli, provider_server: ProviderServerSetup
) -> None:
    moot.write_file("moot.toml", f'[providers.lab]\napi = "openai"\nbase_url = "{provider_server.url}/v1"')
    models = ("-m", "lab/echo", "-m", "scripted/echo", "-m", "lab/echo")
    done = await asyncio.to_thread(moot, "ask", "hi", *models, "--max-cost-usd", "0.5")
    assert done.returncode == 0
    assert done.stderr == "moot: The price of lab/echo is unknown. --max-cost-usd does not count it.\n"


@pytest.mark.parametrize(
    ("reason", "status", "turn", "code"),
    [
        (None, "completed", "completed", 0),
        (None, "failed", "failed", 1),
        ("stopped_by_user", "stopped", "completed", 130),
        ("max_cost", "stopped", "completed", 0),
        ("max_cost", "stopped", "failed", 1),
    ],
)
def test_exit_code_is_130_only_when_user_stopped_run(
    reason: StopReason | None, status: RunStatus, turn: TurnStatus, code: int
) -> None:
    stop = StopSignal()
    if reason is not None:
        stop.request_stop(reason)
    assert ask._exit_code(RunEnded(status=status), [turn_ended("alpha", status=turn)], stop) == code


def test_full_disk_is_reported(moot: MootCli) -> None:
    with moot.start_process("ask", "hi", "-m", "scripted/echo", stdout=os.open("/dev/full", os.O_WRONLY)) as process:
        assert process.wait(timeout=TIMEOUT_SECONDS) == 1
        assert process.stderr is not None
        assert process.stderr.read() == b"moot: Cannot write the answer: No space left on device.\n"


def test_key_in_settings_file_is_rejected_without_printing_it(moot: MootCli) -> None:
    moot.write_file(
        "moot.toml", f'[providers.lab]\napi = "openai"\nbase_url = "{UNREACHABLE_URL}"\nkey_env = "{API_KEY}"'
    )
    assert "NAME of an environment variable" in usage_error_text(moot("ask", "hi", "-m", "lab/echo"))
    moot.write_file("moot.toml", f'[providers.lab]\napi = "openai"\nkey = "{API_KEY}"')
    error = usage_error_text(moot("ask", "hi", "-m", "lab/echo"))
    assert "[providers.lab]: a key must not be in this file" in error
    assert API_KEY not in error


def test_key_with_line_break_is_rejected(moot: MootCli) -> None:
    error = usage_error_text(moot("ask", "hi", "-m", "openai/gpt-5", OPENAI_API_KEY="sk-one\ntwo"))
    assert error == "The key in OPENAI_API_KEY has a line break or control character in it. Set it again."


def test_silence_notice_is_printed_while_waiting_for_answer(moot: MootCli) -> None:
    with moot.start_process("ask", "hi", "-m", "scripted/silence", prepare=shorten_silence_notice) as process:
        assert process.stderr is not None
        notice = read_until(process.stderr.fileno(), "Ctrl-C stops.\n")
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT_SECONDS) == 130
    assert re.match(r"moot: no output for \d+ s\. Ctrl-C stops\.\n", notice)


def shorten_silence_notice() -> None:
    """Shorten the time without output after which `moot` prints a notice."""
    assert ask.SILENCE_NOTICE_SECONDS > 1.0
    ask.SILENCE_NOTICE_SECONDS = 0.1
