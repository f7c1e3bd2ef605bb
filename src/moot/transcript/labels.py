"""Labels for messages in transcripts: speaker, stage, recipients, usage, time and errors; the report of a run."""

from collections.abc import Mapping
from datetime import UTC, datetime

from moot.prompts.lesson import turn_action_names
from moot.services.run_reports import RunReport
from moot.transcript.debate_report import Report, build_report
from moot.types.billing import format_usd
from moot.types.chunks import Usage
from moot.types.debate import DebateClaims
from moot.types.discussions import Message
from moot.types.files import StoredFile
from moot.types.modes import LESSON_STAGE, stage_title
from moot.types.tools import ToolUse

ENDING_LABELS = {
    "stopped": "Stopped here.",
    "interrupted": "Interrupted by the next message.",
    "partial": "Cut off here.",
}


class ParticipantNames(dict[str, str]):
    """Participant names by id. The default is the id itself."""

    def __missing__(self, id: str) -> str:
        return id


def speaker_label(message: Message) -> str:
    return message.name or ("Person" if message.role == "user" else "The table")


def stage_label(message: Message) -> str | None:
    """Return None for stages without a heading, e.g. in single mode."""
    if message.stage is None or message.stage in {"answer", LESSON_STAGE}:
        return None
    return stage_title(message.stage, message.round)


def recipients_label(message: Message, names: Mapping[str, str]) -> str | None:
    if message.visible_to is None or message.role != "user":
        return None
    return f"only for {', '.join(names[one] for one in message.visible_to)}"


def files_label(message: Message, files: Mapping[str, StoredFile]) -> str | None:
    names = [files[id].name for id in message.files or () if id in files]
    return f"With {', '.join(names)}" if names else None


def actions_label(message: Message) -> str | None:
    names = [name.removeprefix("wb_").replace("_", " ") for name in turn_action_names(message)]
    return f"On the board: {', '.join(names)}" if names else None


def version_label(message: Message) -> str:
    by = "edited by hand" if message.edited else message.model
    return ", ".join(filter(None, (f"Version {message.version} of {message.versions}", by)))


def usage_labels(message: Message) -> list[str]:
    """Return tokens, cost and latency. Unknown values are omitted."""
    usage = message.usage
    tokens = token_count_text(usage) if usage and (usage.input or usage.output) else None
    cost = format_usd(message.cost_usd) if message.cost_usd else None
    latency = f"{message.latency_seconds:.1f} s" if message.latency_seconds else None
    return [*filter(None, (tokens, cost, latency))]


def token_count_text(usage: Usage) -> str:
    about = "about " if usage.estimated else ""
    return f"{about}{usage.input:,} tokens in, {usage.output:,} out"


def error_text(message: Message) -> str | None:
    """Return the reason for a missing or partial answer; None for a complete one."""
    if message.fault is not None:
        return message.fault.message
    return "It gave no answer." if message.status == "failed" else ENDING_LABELS.get(message.status)


def tool_call_label(use: ToolUse) -> str:
    how = "failed" if use.is_error else "was called"
    return f"{use.name} {how} ({use.seconds:.1f} s)"


def format_time(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"


def build_run_report(run: RunReport, names: Mapping[str, str]) -> Report:
    ended = "" if run.status == "completed" else f"{run.status.capitalize()}. "
    unknown = f", and {run.unpriced_calls} calls whose price is not known" if run.unpriced_calls else ""
    return build_report(
        names,
        f"{ended}In all: {token_count_text(run.usage)}, {format_usd(run.cost_usd)}{unknown}",
        summary=run.summary,
        ranking=run.ranking,
        claims=DebateClaims(
            claims=run.claims, position_changes=run.position_changes, dropped_quotes=run.dropped_quotes
        ),
        agreement=run.agreement,
        lanes=run.lanes,
        decisions=run.decisions,
    )
