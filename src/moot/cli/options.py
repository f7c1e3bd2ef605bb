"""Command-line options that several commands share."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from moot.types.modes import ModeName

Config = Annotated[
    Path | None, typer.Option("--config", help="A settings file to read before moot.toml.", metavar="FILE")
]
Models = Annotated[
    list[str] | None, typer.Option("--model", "-m", help="provider/model. May be given several times.", metavar="MODEL")
]
Temperature = Annotated[float | None, typer.Option(min=0.0, max=2.0)]
MaxTokens = Annotated[int | None, typer.Option(min=1)]
Thinking = Annotated[
    Literal["low", "medium", "high"] | None, typer.Option(help="Request reasoning, if the model supports it.")
]
Mode = Annotated[
    ModeName | None,
    typer.Option(
        help="How several models answer: independently (parallel), in rounds, reading each other (consensus), first alone, then as rebuttals, with a synthesis (debate), each as a private adviser (advisors), or one at a time, chosen by a director, with a whiteboard (directed)."
    ),
]
Rounds = Annotated[int | None, typer.Option(min=1, max=10, help="Rounds of a consensus. Default: 2.")]
Lead = Annotated[
    str | None,
    typer.Option(
        help="Who writes the synthesis of a debate: a name such as Beta, or the number of its -m. Default: the first."
    ),
]
SkipIfAgreed = Annotated[bool, typer.Option("--skip-if-agreed", help="Skip the debate if the first answers agree.")]
Quorum = Annotated[int | None, typer.Option(min=1, help="End a stage of a debate after N answers.", metavar="N")]
Deadline = Annotated[float | None, typer.Option(help="Time limit for each stage of a debate.", metavar="SECONDS")]
QuestionTurns = Annotated[
    int | None,
    typer.Option(min=0, max=100, help="First turns in which an advisor only asks questions. Default: 3.", metavar="N"),
]
CrossTalk = Annotated[bool, typer.Option("--cross-talk", help="Let advisors answer each other once.")]
Synthesis = Annotated[bool, typer.Option("--synthesis", help="Let the first advisor write a synthesis.")]
Roles = Annotated[
    list[str] | None,
    typer.Option(
        help="Roles in a directed discussion, in the order of -m: teacher, assistant or student. Default: the first is the teacher, the others are students.",
        metavar="ROLE",
    ),
]
Turns = Annotated[int | None, typer.Option(min=1, max=20, help="Turns of a directed discussion. Default: 10.")]
MaxCost = Annotated[
    float | None,
    typer.Option(help="Start no further turns once the run has cost this much (US dollars).", metavar="DOLLARS"),
]
ServerUrl = Annotated[
    str | None, typer.Option("--server", help="A server to use, with the token in MOOT_TOKEN.", metavar="URL")
]
Host = Annotated[str, typer.Option(help="The address to listen on.")]
Port = Annotated[int, typer.Option(help="0 takes any free port.", min=0, max=65535)]
Script = Annotated[Path | None, typer.Option("--script", help="A TOML or YAML file of scripts.", metavar="FILE")]
