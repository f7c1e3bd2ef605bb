"""Command-line interface: commands and options. A command imports its module when it runs."""

import io
import os
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from moot import __version__
from moot.cli import options
from moot.cli.ask_options import CHAT_OPTIONS, AskOptions, ChatOptions

app = typer.Typer(
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
lab_commands = typer.Typer(help="Failure lab: scripted models, served over HTTP.", no_args_is_help=True)
app.add_typer(lab_commands, name="lab")
user_commands = typer.Typer(help="Manage accounts of a shared server.", no_args_is_help=True)
app.add_typer(user_commands, name="user")


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def moot(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Several language models around one table."""


@app.command()
@options.takes_options(AskOptions)
def ask(ask_options: AskOptions) -> None:
    """Ask one or several models a question and stream their answers."""
    from moot.cli import ask as command

    _exit_with_code(command.run_ask(ask_options))


@app.command()
def serve(
    host: options.Host = "127.0.0.1",
    port: options.Port = 8642,
    open: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    config: options.Config = None,
) -> None:
    """Serve the page and the API over HTTP. Addresses other than loopback need accounts."""
    from moot.cli import serve as command

    _run_to_exit(command.run_serve(host, port, config, open_browser=open))


@app.command()
@options.takes_options(ChatOptions, CHAT_OPTIONS)
def chat(chat_options: ChatOptions) -> None:
    """Chat with one or several models, live here and on the page. Type /help for the commands."""
    from moot.cli.chat import session as command

    _run_to_exit(command.run_chat(chat_options))


@app.command()
def mcp(server: options.ServerUrl = None, config: options.Config = None) -> None:
    """Serve Moot's tools to an MCP client over standard input and output."""
    from moot.cli import mcp as command

    _run_to_exit(command.run_mcp(server, config))


@app.command()
def discord(host: options.Host = "127.0.0.1", port: options.Port = 8642, config: options.Config = None) -> None:
    """Serve the page and the API, and run the Discord bot. Both share the same discussions."""
    from moot.cli import discord as command

    _run_to_exit(command.run_discord(host, port, config))


@app.command()
def models(
    provider: Annotated[str, typer.Argument(help="Only this provider's models.")] = "", config: options.Config = None
) -> None:
    """List the available models."""
    from moot.cli import providers as command

    _run_to_exit(command.run_models(provider, config))


@app.command()
def doctor(config: options.Config = None) -> None:
    """Check all providers, and say which keys are missing and what to do."""
    from moot.cli import providers as command

    _run_to_exit(command.run_doctor(config))


@lab_commands.command("serve")
def lab_serve(port: options.Port = 9999, script: options.Script = None) -> None:
    """Serve scripted models and faults over the APIs of OpenAI, Anthropic and Google."""
    from moot.cli import testing as command

    _run_to_exit(command.run_lab_server(port, script))


@lab_commands.command("list")
def lab_list(script: options.Script = None) -> None:
    """List the scripts and their faults."""
    from moot.cli import testing as command

    _exit_with_code(command.list_scripts(script))


@lab_commands.command("discord")
def lab_discord() -> None:
    """Run a demo of three personas on a fake Discord server, and print the channel."""
    from moot.cli import testing as command

    _run_to_exit(command.run_discord_demo())


AccountNameArgument = Annotated[str, typer.Argument(help="The name to log in with.")]


@user_commands.command("add")
def user_add(
    name: AccountNameArgument,
    tenant: Annotated[
        str | None, typer.Option(help="Share the discussions of this tenant. Default: a new tenant.")
    ] = None,
    config: options.Config = None,
) -> None:
    """Add an account. Prompts for the password, or reads it from piped standard input."""
    from moot.cli import users

    _exit_with_code(users.add_account(name, tenant, _load_database_url(config)))


@user_commands.command("list")
def user_list(config: options.Config = None) -> None:
    """List the accounts and their tenants."""
    from moot.cli import users

    _exit_with_code(users.list_accounts(_load_database_url(config)))


@user_commands.command("password")
def user_password(name: AccountNameArgument, config: options.Config = None) -> None:
    """Set a new password. Ends all sessions and revokes all tokens of the account."""
    from moot.cli import users

    _exit_with_code(users.change_account_password(name, _load_database_url(config)))


@user_commands.command("remove")
def user_remove(name: AccountNameArgument, config: options.Config = None) -> None:
    """Remove an account. Its discussions stay with the tenant."""
    from moot.cli import users

    _exit_with_code(users.remove_account(name, _load_database_url(config)))


@user_commands.command("budget")
def user_budget(
    name: AccountNameArgument,
    dollars: Annotated[float | None, typer.Argument(help="US dollars per week.", metavar="DOLLARS")] = None,
    none: Annotated[bool, typer.Option("--none", help="Remove the account's own budget.")] = False,
    config: options.Config = None,
) -> None:
    """Set the weekly budget of an account. Default: the budget of the settings."""
    from moot.cli import users
    from moot.types.errors import UsageError

    if (dollars is None) != none:
        raise UsageError("DOLLARS: missing, or combined with --none. Pass dollars per week, such as 5.00, or --none.")
    _exit_with_code(users.update_account_budget(name, dollars, _load_database_url(config)))


def _load_database_url(config: Path | None) -> str:
    from moot import settings

    return settings.load_settings(config, os.environ).database_address


def _run_to_exit(command: Coroutine[Any, Any, int]) -> NoReturn:
    from moot.app import event_loop

    _exit_with_code(event_loop.run_coroutine(command))


def _exit_with_code(code: int) -> NoReturn:
    """Flush stdout, so that a closed pipe raises here and not at interpreter exit. Then exit."""
    sys.stdout.flush()
    raise typer.Exit(code)


def _prepare_streams() -> None:
    """Open missing standard streams on /dev/null, and never fail on an unencodable character."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - stays open
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - stays open
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def main() -> None:
    from moot.types.errors import DatabaseUnavailable, ServerUnreachable, UsageError

    _prepare_streams()
    try:
        app()
    except UsageError as error:
        sys.stderr.write(f"moot: {error}\n")
        sys.exit(2)
    except (DatabaseUnavailable, ServerUnreachable) as error:
        sys.stderr.write(f"moot: {error}\n")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
