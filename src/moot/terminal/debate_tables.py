"""Debate report for the terminal, as tables: summary, positions, ranking and claims."""

from collections.abc import Mapping

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from moot.terminal.readers import strip_control_chars
from moot.terminal.usage import cost_text
from moot.transcript.debate_report import (
    describe_dropped_quotes,
    number_ranks,
    points_text,
    position_change_text,
    position_status,
)
from moot.types.debate import ClaimQuote, DebateClaims, DebateSummary, Ranking
from moot.types.run_state import RunState

POSITION_STYLES = {"changed": "yellow", "kept": "green", "no answer": "red"}

StyledNames = Mapping[str, Text]  # by participant id, in the participant's colour


def render_debate_tables(run: RunState, styles: Mapping[str, str]) -> Group:
    """`styles` are the Rich styles by participant id."""
    names = {who: Text(strip_control_chars(name), style=styles[who]) for who, name in run.names.items()}
    parts: list[RenderableType] = []
    if run.summary is not None:
        parts += [_summary_panel(run.summary), _positions_table(run.summary, names)]
    if run.ranking is not None:
        parts.append(_ranking_table(run.ranking, names))
    if run.claims is not None and run.claims.flips:
        parts.append(_position_changes(run.claims, run.names))
    if run.claims is not None and (run.claims.claims or run.claims.unproven):
        parts.append(_claims_table(run.claims, names))
    return Group(
        *(line for part in parts for line in (part, "")), Text(f"Cost in all: {cost_text(run.paid_calls)}"), ""
    )


def _summary_panel(summary: DebateSummary) -> Panel:
    cross = summary.cross_model
    grid = Table.grid(padding=(0, 2))
    parts = (
        ("Overview", (summary.overview,)),
        ("Agreed", cross.agreements),
        ("Disputed", cross.disagreements),
        ("Convergence", (cross.convergence_summary,)),
    )
    for title, texts in parts:
        for index, text in enumerate(texts):
            grid.add_row(Text("" if index else title, style="bold"), _plain_text(text))
    return Panel(grid, title="Summary", border_style="dim")


def _positions_table(summary: DebateSummary, names: StyledNames) -> Table:
    table = Table(box=SIMPLE_HEAD, expand=True, show_edge=False, pad_edge=False)
    table.add_column("Positions", no_wrap=True)
    table.add_column("First", ratio=1)
    table.add_column("Last", ratio=1)
    table.add_column("", no_wrap=True)
    for row in summary.per_model:
        status = position_status(row)
        table.add_row(
            names[row.participant],
            _plain_text(row.initial_summary),
            _plain_text(row.refined_summary),
            Text(status, style=POSITION_STYLES[status]),
        )
    return table


def _ranking_table(ranking: Ranking, names: StyledNames) -> Group:
    grid = Table.grid(padding=(0, 2))
    for number, place in number_ranks(ranking):
        grid.add_row(f"{number}.", names[place.participant], points_text(place))
    return Group(Text("Ranking, by blind votes of the other participants", style="bold"), grid)


def _position_changes(claims: DebateClaims, names: Mapping[str, str]) -> Group:
    lines = [Text("Changes of mind", style="bold")]
    for change in claims.flips:
        lines.append(_plain_text(position_change_text(change, names)))
        lines.append(_quote_text(change.quote))
    return Group(*lines)


def _claims_table(claims: DebateClaims, names: StyledNames) -> Group:
    grid = Table.grid(padding=(0, 1))
    for number, claim in enumerate(claims.claims, start=1):
        minority = Text(" (minority)" if claim.minority else "", style="yellow")
        grid.add_row(f"{number}.", Text.assemble(_plain_text(claim.claim), minority))
        for quotes, sign in ((claim.supporters, "+"), (claim.opponents, "-")):
            for quote in quotes:
                grid.add_row("", _quote_line(sign, quote, names))
    lines: list[RenderableType] = [Text("Claims", style="bold"), grid]
    if claims.unproven:
        lines.append(Text(describe_dropped_quotes(claims), style="dim"))
    return Group(*lines)


def _quote_line(sign: str, claim_quote: ClaimQuote, names: StyledNames) -> Text:
    return Text.assemble(f"{sign} ", names[claim_quote.participant], " ", _quote_text(claim_quote.quote))


def _quote_text(text: str) -> Text:
    return Text.assemble("“", _plain_text(text), "”", style="dim")


def _plain_text(text: str) -> Text:
    return Text(strip_control_chars(" ".join(text.split())))
