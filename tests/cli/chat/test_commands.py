import pytest

from moot.cli.chat import commands
from moot.cli.chat.commands import (
    COMMAND_PARSERS,
    HELP_TEXT,
    PLAIN_COMMANDS,
    ChatCommand,
    find_participant,
    parse_chat_line,
)
from moot.types.errors import UsageError
from moot.types.participants import Participant, make_participants

TABLE = (*make_participants(("a/one", "b/two", "c/three")), Participant("alpha-2", "Alpha 2", "a/one"))


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("", None),
        ("  \t", None),
        ("What is a moot?", commands.SayCommand("What is a moot?")),
        ("mail me@example.org", commands.SayCommand("mail me@example.org")),
        ("@beta Why?", commands.SayCommand("Why?", ("beta",))),
        ("@Beta, why?", commands.SayCommand("why?", ("beta",))),
        ("@gam @beta: both of you", commands.SayCommand("both of you", ("gamma", "beta"))),
        ("@beta @beta twice", commands.SayCommand("twice", ("beta",))),
        ("@alpha exact", commands.SayCommand("exact", ("alpha",))),
        ("@alpha-2 the other", commands.SayCommand("the other", ("alpha-2",))),
        ("/mode Debate", commands.ModeCommand("debate")),
        ("/add ollama/llama3.2", commands.AddCommand("ollama/llama3.2")),
        ("/add openrouter/x/y as Carla", commands.AddCommand("openrouter/x/y", "Carla")),
        ("/drop @beta", commands.DropCommand("beta")),
        ("/resume 2", commands.ResumeCommand("2")),
        ("/RESUME dis_x", commands.ResumeCommand("dis_x")),
        ("/who", "who"),
        ("/stop", "stop"),
        ("/history", "history"),
        ("/list", "list"),
        ("/new", "new"),
        ("/help", "help"),
        ("/quit", "quit"),
        ("/exit", "quit"),
    ],
)
def test_parse_chat_line_returns_command(line: str, meant: ChatCommand | None) -> None:
    assert parse_chat_line(line, TABLE) == meant


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/shout", "There is no /shout. Type /help"),
        ("/", "There is no /. Type /help"),
        ("/mode loud", "/mode: missing or unknown mode. Choose one of single, parallel"),
        ("/add llama", "/add: needs provider/model"),
        ("/add a/b c/d", "/add: needs provider/model"),
        ("/drop", "/drop: needs a name"),
        ("/resume", "/resume: needs a number"),
        ("@nobody hello", "No participant matches 'nobody'. Choose one of Alpha, Beta, Gamma, Alpha 2."),
        ("@al hello", "Several participants match 'al'. Choose one of Alpha, Alpha 2."),
    ],
)
def test_parse_chat_line_rejects_invalid_input(line: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_chat_line(line, TABLE)
    assert words in str(refused.value)


def test_help_text_lists_every_command() -> None:
    assert {name for name in (*COMMAND_PARSERS, *PLAIN_COMMANDS) if f"/{name} " not in HELP_TEXT} == {"exit", "help"}


def test_find_participant_ignores_case() -> None:
    assert find_participant("GAMMA", TABLE).id == "gamma"
