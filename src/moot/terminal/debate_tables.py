"""The minutes of a debate for a screen: what they agree on, who stands where, and in which words."""

from collections.abc import Mapping

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from moot.terminal.debate_findings import Findings
from moot.terminal.readers import safe
from moot.transcript.debate_report import changed, flip_words, placed, points, unproven
from moot.types.debate import Ledger, Ranking, Summary, Voice

STANDS = {"changed": "yellow", "kept": "green", "no answer": "red"}

Names = Mapping[str, Text]  # in each participant's colour


def tables(found: Findings, styles: Mapping[str, str]) -> Group:
    """Draw what was found; `styles` are the colours of the participants."""
    names = {who: Text(safe(name), style=styles[who]) for who, name in found.names.items()}
    parts: list[RenderableType] = []
    if found.summary is not None:
        parts += [_summary(found.summary), _positions(found.summary, names)]
    if found.ranking is not None:
        parts.append(_ranking(found.ranking, names))
    if found.ledger is not None and found.ledger.flips:
        parts.append(_flips(found.ledger, found.names))
    if found.ledger is not None and (found.ledger.claims or found.ledger.unproven):
        parts.append(_claims(found.ledger, names))
    return Group(*(line for part in parts for line in (part, "")), Text(f"Cost in all: {found.cost}"), "")


def _summary(summary: Summary) -> Panel:
    cross = summary.cross_model
    grid = Table.grid(padding=(0, 2))
    parts = (
        ("Overview", (summary.overview,)),
        ("Agreed", cross.agreements),
        ("Disputed", cross.disagreements),
        ("Convergence", (cross.convergence_summary,)),
    )
    for title, texts in parts:
        for place, text in enumerate(texts):
            grid.add_row(Text("" if place else title, style="bold"), _words(text))
    return Panel(grid, title="Summary", border_style="dim")


def _positions(summary: Summary, names: Names) -> Table:
    table = Table(box=SIMPLE_HEAD, expand=True, show_edge=False, pad_edge=False)
    table.add_column("Positions", no_wrap=True)
    table.add_column("First", ratio=1)
    table.add_column("Last", ratio=1)
    table.add_column("", no_wrap=True)
    for row in summary.per_model:
        stands = changed(row)
        table.add_row(
            names[row.participant],
            _words(row.initial_summary),
            _words(row.refined_summary),
            Text(stands, style=STANDS[stands]),
        )
    return table


def _ranking(ranking: Ranking, names: Names) -> Group:
    grid = Table.grid(padding=(0, 2))
    for number, place in placed(ranking):
        grid.add_row(f"{number}.", names[place.participant], points(place))
    return Group(Text("Ranking, by the others, who were not told whose answer was whose", style="bold"), grid)


def _flips(ledger: Ledger, names: Mapping[str, str]) -> Group:
    lines = [Text("Changes of mind", style="bold")]
    for flip in ledger.flips:
        lines.append(_words(flip_words(flip, names)))
        lines.append(_quote(flip.quote))
    return Group(*lines)


def _claims(ledger: Ledger, names: Names) -> Group:
    grid = Table.grid(padding=(0, 1))
    for number, claim in enumerate(ledger.claims, start=1):
        minority = Text(" (minority)" if claim.minority else "", style="yellow")
        grid.add_row(f"{number}.", Text.assemble(_words(claim.claim), minority))
        for voices, sign in ((claim.supporters, "+"), (claim.opponents, "-")):
            for voice in voices:
                grid.add_row("", _voice(sign, voice, names))
    lines: list[RenderableType] = [Text("Claims", style="bold"), grid]
    if ledger.unproven:
        lines.append(Text(unproven(ledger), style="dim"))
    return Group(*lines)


def _voice(sign: str, voice: Voice, names: Names) -> Text:
    return Text.assemble(f"{sign} ", names[voice.participant], " ", _quote(voice.quote))


def _quote(words: str) -> Text:
    return Text.assemble("“", _words(words), "”", style="dim")


def _words(text: str) -> Text:
    return Text(safe(" ".join(text.split())))
