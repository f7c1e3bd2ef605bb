"""Command-line options that several commands share, and commands that take their options as one object."""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import typer
from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

Config = Annotated[
    Path | None, typer.Option("--config", help="A settings file to read before moot.toml.", metavar="FILE")
]
ServerUrl = Annotated[
    str | None, typer.Option("--server", help="A server to use, with the token in MOOT_TOKEN.", metavar="URL")
]
Host = Annotated[str, typer.Option(help="The address to listen on.")]
Port = Annotated[int, typer.Option(help="0 takes any free port.", min=0, max=65535)]
Script = Annotated[Path | None, typer.Option("--script", help="A TOML or YAML file of scripts.", metavar="FILE")]

Options = TypeVar("Options", bound=Struct)


def takes_options(
    options_type: type[Options], names: tuple[str, ...] = ()
) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """Give a Typer command one option per field of a type. `names` selects and orders them; default: all fields."""
    by_name = {field.name: field for field in fields(options_type)}
    parameters = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=[] if by_name[name].default is NODEFAULT else by_name[name].default,  # a list has a factory
            annotation=by_name[name].type,
        )
        for name in names or by_name
    ]

    def decorate(command: Callable[[Options], None]) -> Callable[..., None]:
        @wraps(command)
        def run_command(**values: Any) -> None:
            command(options_type(**values))

        cast("Any", run_command).__signature__ = Signature(parameters)
        return run_command

    return decorate
