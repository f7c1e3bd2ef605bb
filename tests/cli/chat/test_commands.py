import pytest

from moot.cli.chat import commands
from moot.cli.chat.commands import COMMANDS, HELP, Command, named, understood
from moot.types.errors import UsageError
from moot.types.participants import Participant, seat

TABLE = (*seat(("a/one", "b/two", "c/three")), Participant("alpha-2", "Alpha 2", "a/one"))


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("", None),
        ("  \t", None),
        ("What is a moot?", commands.Say("What is a moot?")),
        ("mail me@example.org", commands.Say("mail me@example.org")),
        ("@beta Why?", commands.Say("Why?", ("beta",))),
        ("@Beta, why?", commands.Say("why?", ("beta",))),
        ("@gam @beta: both of you", commands.Say("both of you", ("gamma", "beta"))),
        ("@beta @beta twice", commands.Say("twice", ("beta",))),
        ("@alpha exact", commands.Say("exact", ("alpha",))),
        ("@alpha-2 the other", commands.Say("the other", ("alpha-2",))),
        ("/mode Debate", commands.Mode("debate")),
        ("/add ollama/llama3.2", commands.Add("ollama/llama3.2")),
        ("/add openrouter/x/y as Carla", commands.Add("openrouter/x/y", "Carla")),
        ("/drop @beta", commands.Drop("beta")),
        ("/resume 2", commands.Resume("2")),
        ("/RESUME dis_x", commands.Resume("dis_x")),
        ("/who", commands.Who()),
        ("/stop", commands.Stop()),
        ("/history", commands.History()),
        ("/list", commands.List()),
        ("/new", commands.New()),
        ("/help", commands.Help()),
        ("/quit", commands.Quit()),
        ("/exit", commands.Quit()),
    ],
)
def test_a_line_is_understood(line: str, meant: Command | None) -> None:
    assert understood(line, TABLE) == meant


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/shout", "There is no /shout: /help tells"),
        ("/", "There is no /: /help tells"),
        ("/mode loud", "/mode takes one of single, parallel"),
        ("/add llama", "/add takes a model as provider/model"),
        ("/add a/b c/d", "/add takes a model as provider/model"),
        ("/drop", "/drop takes a name"),
        ("/resume", "/resume takes a number"),
        ("@nobody hello", "Nobody is called 'nobody': name one of Alpha, Beta, Gamma, Alpha 2."),
        ("@al hello", "Several are called 'al': name one of Alpha, Alpha 2."),
    ],
)
def test_what_cannot_be_done_is_told(line: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        understood(line, TABLE)
    assert words in str(refused.value)


def test_the_help_tells_of_every_command() -> None:
    assert {name for name in COMMANDS if f"/{name} " not in HELP} == {"exit", "help"}


def test_somebody_is_found_by_name() -> None:
    assert named("GAMMA", TABLE).id == "gamma"
