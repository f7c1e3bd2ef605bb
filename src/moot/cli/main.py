"""The commands and their options. What a command does is imported when it runs."""

import io
import os
import sys
from pathlib import Path
from typing import Annotated, Literal, NoReturn

import typer

from moot import __version__
from moot.types.modes import ModeName

app = typer.Typer(
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
lab = typer.Typer(help="The failure lab: scripted models, served over HTTP.", no_args_is_help=True)
app.add_typer(lab, name="lab")
user = typer.Typer(help="Accounts, for a server that others can reach.", no_args_is_help=True)
app.add_typer(user, name="user")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def moot(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Several language models around one table."""


Config = Annotated[
    Path | None, typer.Option("--config", help="A settings file to read before moot.toml.", metavar="FILE")
]


Models = Annotated[
    list[str] | None,
    typer.Option("--model", "-m", help="provider/model; several may be named.", metavar="MODEL"),
]
Temperature = Annotated[float | None, typer.Option(min=0.0, max=2.0)]
MaxTokens = Annotated[int | None, typer.Option(min=1)]
Thinking = Annotated[
    Literal["low", "medium", "high"] | None,
    typer.Option(help="Ask for reasoning where a model offers it."),
]
Mode = Annotated[
    ModeName | None,
    typer.Option(
        help="How several speak: each for itself (parallel), in turn, hearing each other (consensus), alone, then having read the others, and one sums up (debate), each as your adviser (advisors), or one at a time, as a director decides, with a whiteboard (directed)."
    ),
]
Rounds = Annotated[
    int | None, typer.Option(min=1, max=10, help="Rounds of a consensus; 2 unless you say more.")
]
Lead = Annotated[
    str | None,
    typer.Option(help="Who sums up a debate: a name such as Beta, or the number of its -m; else the first."),
]
Gate = Annotated[bool, typer.Option("--gate", help="Skip the debate where the first answers agree.")]
Quorum = Annotated[
    int | None, typer.Option(min=1, help="Go on in a debate when so many have answered.", metavar="N")
]
Deadline = Annotated[
    float | None,
    typer.Option(help="Wait for nobody longer than this in a stage of a debate.", metavar="SECONDS"),
]
Early = Annotated[
    int | None,
    typer.Option(
        min=0, max=100, help="Turns in which an advisor only asks; 3 unless you say so.", metavar="N"
    ),
]
CrossTalk = Annotated[bool, typer.Option("--cross-talk", help="Let advisors answer each other once.")]
Synthesis = Annotated[
    bool, typer.Option("--synthesis", help="Let the first advisor say what it all comes to.")
]
Roles = Annotated[
    list[str] | None,
    typer.Option(
        help="teacher, assistant or student: who is what in a directed discussion, in the order of the -m; else the first teaches, and the others learn.",
        metavar="ROLE",
    ),
]
Turns = Annotated[
    int | None, typer.Option(min=1, max=20, help="Turns of a directed discussion; 10 unless you say.")
]
Cap = Annotated[
    float | None, typer.Option(help="Begin nothing more once it has cost this much.", metavar="DOLLARS")
]


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="What to ask. Standard input, if piped, goes along.")] = "",
    model: Models = None,
    system: Annotated[str, typer.Option(help="A system prompt for all of them.")] = "",
    file: Annotated[
        list[Path] | None,
        typer.Option("--file", "-f", help="Attach text, an image or a PDF.", metavar="FILE"),
    ] = None,
    temperature: Temperature = None,
    max_tokens: MaxTokens = None,
    thinking: Thinking = None,
    mode: Mode = None,
    rounds: Rounds = None,
    lead: Lead = None,
    gate: Gate = False,
    quorum: Quorum = None,
    deadline: Deadline = None,
    early: Early = None,
    cross_talk: CrossTalk = False,
    synthesis: Synthesis = False,
    role: Roles = None,
    turns: Turns = None,
    board: Annotated[
        Path | None,
        typer.Option(
            help="Write the whiteboard of a directed discussion to a .svg or .png file.", metavar="FILE"
        ),
    ] = None,
    tools: Annotated[
        list[str] | None,
        typer.Option(
            "--tools",
            help="A server of tools of the settings, or SERVER/TOOL. May be given several times.",
            metavar="NAME",
        ),
    ] = None,
    cap: Cap = None,
    json: Annotated[bool, typer.Option("--json", help="Print every event, one JSON object a line.")] = False,
    usage: Annotated[bool, typer.Option("--usage", help="Tell tokens, cost and times at the end.")] = False,
    config: Config = None,
) -> None:
    """Put one question to one or several models and stream their answers."""
    from moot.cli import ask as command
    from moot.cli.ask_options import Options

    options = Options(
        question=question,
        models=tuple(model or ()),
        system=system,
        files=tuple(file or ()),
        temperature=temperature,
        max_tokens=max_tokens,
        thinking=thinking,
        mode=mode,
        rounds=rounds,
        lead=lead,
        gate=gate,
        quorum=quorum,
        deadline=deadline,
        early=early,
        cross_talk=cross_talk,
        synthesis=synthesis,
        roles=tuple(role or ()),
        turns=turns,
        board=board,
        cap=cap,
        tools=tuple(tools or ()),
        json=json,
        usage=usage,
        config=config,
    )
    _exit(command.run(options))


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes any free port.", min=0, max=65535)] = 8642,
    open: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    config: Config = None,
) -> None:
    """Serve the page and the API over HTTP. On any other address than loopback, accounts are needed."""
    from moot.cli import serve as command

    _exit(command.run(command.Options(host=host, port=port, config=config, open=open)))


ServerUrl = Annotated[
    str | None,
    typer.Option("--server", help="A server to use, with the token in MOOT_TOKEN.", metavar="URL"),
]


@app.command()
def chat(
    discussion: Annotated[str | None, typer.Argument(help="The id of a discussion to go on with.")] = None,
    last: Annotated[bool, typer.Option("--last", help="Go on with the newest discussion.")] = False,
    model: Models = None,
    mode: Mode = None,
    temperature: Temperature = None,
    max_tokens: MaxTokens = None,
    thinking: Thinking = None,
    rounds: Rounds = None,
    lead: Lead = None,
    gate: Gate = False,
    quorum: Quorum = None,
    deadline: Deadline = None,
    early: Early = None,
    cross_talk: CrossTalk = False,
    synthesis: Synthesis = False,
    role: Roles = None,
    turns: Turns = None,
    cap: Cap = None,
    server: ServerUrl = None,
    config: Config = None,
) -> None:
    """Talk with one or several models, live here and on the page; /help in it tells what you can do."""
    from moot.cli.ask_options import Options
    from moot.cli.chat import session as command

    asked = Options(
        question="",
        models=tuple(model or ()),
        temperature=temperature,
        max_tokens=max_tokens,
        thinking=thinking,
        mode=mode,
        rounds=rounds,
        lead=lead,
        gate=gate,
        quorum=quorum,
        deadline=deadline,
        early=early,
        cross_talk=cross_talk,
        synthesis=synthesis,
        roles=tuple(role or ()),
        turns=turns,
        cap=cap,
        config=config,
    )
    _exit(command.run(command.Opening(asked=asked, discussion=discussion, last=last, server=server)))


@app.command()
def mcp(server: ServerUrl = None, config: Config = None) -> None:
    """Offer Moot's tools to a program that speaks MCP over standard input and output."""
    from moot.cli import mcp as command

    _exit(command.run(server, config))


@app.command()
def discord(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes any free port.", min=0, max=65535)] = 8642,
    config: Config = None,
) -> None:
    """Serve the page and the API, and be in Discord too: what is said here and there is one discussion."""
    from moot.cli import discord as command

    _exit(command.run(host, port, config))


@app.command()
def models(
    provider: Annotated[str, typer.Argument(help="Only this provider's models.")] = "",
    config: Config = None,
) -> None:
    """List the models that can be asked right now."""
    from moot.cli import models as command

    _exit(command.run(provider, config))


@app.command()
def doctor(config: Config = None) -> None:
    """Say what works, what lacks a key, and what to do about it."""
    from moot.cli import doctor as command

    _exit(command.run(config))


@lab.command("serve")
def lab_serve(
    port: Annotated[int, typer.Option(help="0 takes any free port.", min=0, max=65535)] = 9999,
    script: Annotated[
        Path | None, typer.Option("--script", help="A TOML or YAML file of scripts.", metavar="FILE")
    ] = None,
) -> None:
    """Serve scripted models, faults and all, in the formats of OpenAI, Anthropic and Google."""
    from moot.cli import testing as command

    _exit(command.run(port, script))


@lab.command("list")
def lab_list(
    script: Annotated[
        Path | None, typer.Option("--script", help="A TOML or YAML file of scripts.", metavar="FILE")
    ] = None,
) -> None:
    """List the scripts and what goes wrong in each."""
    from moot.cli import testing as command

    _exit(command.show(script))


@lab.command("discord")
def lab_discord() -> None:
    """Let three personas talk in a Discord that is not Discord, and print what is seen there."""
    from moot.cli import testing_discord as command

    _exit(command.run())


Name = Annotated[str, typer.Argument(help="The name to log in with.")]


@user.command("add")
def user_add(
    name: Name,
    tenant: Annotated[
        str | None, typer.Option(help="Share the discussions of this tenant; else it gets its own.")
    ] = None,
    config: Config = None,
) -> None:
    """Add an account. The password is asked for, or read from standard input."""
    from moot.cli import users

    _exit(users.add(name, tenant, _database(config)))


@user.command("list")
def user_list(config: Config = None) -> None:
    """List the accounts and their tenants."""
    from moot.cli import users

    _exit(users.show(_database(config)))


@user.command("password")
def user_password(name: Name, config: Config = None) -> None:
    """Set a new password; all sessions and tokens of the account end."""
    from moot.cli import users

    _exit(users.set_password(name, _database(config)))


@user.command("remove")
def user_remove(name: Name, config: Config = None) -> None:
    """Remove an account; what it discussed stays with its tenant."""
    from moot.cli import users

    _exit(users.remove(name, _database(config)))


@user.command("budget")
def user_budget(
    name: Name,
    dollars: Annotated[float | None, typer.Argument(help="US dollars a week.", metavar="DOLLARS")] = None,
    none: Annotated[bool, typer.Option("--none", help="Take the account's own budget away.")] = False,
    config: Config = None,
) -> None:
    """Say what an account may spend in a week; without a budget of its own, it has that of the settings."""
    from moot.cli import users
    from moot.types.errors import UsageError

    if (dollars is None) != none:
        raise UsageError("Say how many dollars a week, such as 5.00, or --none.")
    _exit(users.set_budget(name, dollars, _database(config)))


def _database(config: Path | None) -> str:
    from moot import settings

    return settings.load(config, os.environ).database


def _exit(code: int) -> NoReturn:
    """End a command while an unread pipe can still be told from a mistake of ours."""
    sys.stdout.flush()
    raise typer.Exit(code)


def _prepare_streams() -> None:
    """See to it that the three standard streams are there and can print anything."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for good
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for good
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def main() -> None:
    from moot.types.errors import ServerAway, StoreUnavailable, UsageError

    _prepare_streams()
    try:
        app()
    except UsageError as error:
        sys.stderr.write(f"moot: {error}\n")
        sys.exit(2)
    except (StoreUnavailable, ServerAway) as error:
        sys.stderr.write(f"moot: {error}\n")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
