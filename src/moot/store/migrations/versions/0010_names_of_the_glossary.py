"""Rename tables, columns, JSON keys and stored values to the words of the glossary. No data is lost.

Stored requests of idempotency keys are hashes, which cannot be converted. A client that repeats such a request after
the update gets a conflict, and the request does not run twice.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

Names = Mapping[str, str]

TABLES = {
    "permission": "approval",
    "finding": "analysis_result",
    "recap": "discussion_summary",
    "trial": "evaluation",
    "line_up": "preset",
    "reup": "budget_reset",
    "rate": "rate_limit",
    "idempotency": "idempotency_key",
    "persona_use": "persona_usage",
}
COLUMNS = {  # by the new name of the table
    "account": {"budget": "weekly_budget_usd"},
    "discussion": {"number": "seq", "clerk": "task_model"},
    "run": {
        "stop": "stop_reason",
        "stopped": "stopped_participants",
        "place": "position",
        "begun": "running_revision",
        "retried": "retries",
        "reserved": "reserved_usd",
        "again": "regenerates",
    },
    "message": {
        "number": "seq",
        "place": "position",
        "cost": "cost_usd",
        "latency": "latency_seconds",
        "first_token": "first_token_seconds",
        "finish": "finish_reason",
        "audience": "visible_to",
        "upto": "visible_until",
        "instruction": "instructions",
        "script": "lesson_items",
    },
    "approval": {"answer": "decision", "begun": "started"},
    "analysis_result": {"basis": "cache_key"},
    "evaluation": {"rounds": "improvement", "accepted_at": "applied_at"},
    "preset": {"clerk": "task_model"},
    "charge": {"cost": "cost_usd"},
    "insight": {"number": "seq", "paired": "answers_insight"},
    "worker": {"beats": "heartbeats", "reaper": "successor"},
    "channel": {"trouble": "error"},
    "channel_post": {"place": "position"},
    "channel_memory": {"words": "text", "upto": "covers_until"},
}
INDEXES = {  # by old name: new name, table, columns
    "ix_idempotency_created_at": ("ix_idempotency_key_created_at", "idempotency_key", ("created_at",)),
    "ix_line_up_tenant": ("ix_preset_tenant", "preset", ("tenant",)),
    "ix_message_discussion_place_number": (
        "ix_message_discussion_position_seq",
        "message",
        ("discussion", "position", "seq"),
    ),
    "ix_permission_discussion_tool": ("ix_approval_discussion_tool", "approval", ("discussion", "tool")),
    "ix_permission_run": ("ix_approval_run", "approval", ("run",)),
    "ix_recap_discussion_created_at": (
        "ix_discussion_summary_discussion_created_at",
        "discussion_summary",
        ("discussion", "created_at"),
    ),
    "ix_trial_message": ("ix_evaluation_message", "evaluation", ("message",)),
}
SEARCHED = {"discussion": ("title",), "message": ("content",), "insight": ("title", "detail", "suggestion")}

PURPOSES = {
    "ledger": "claims",
    "gate": "agreement",
    "perspective": "persona_suggestions",
    "recap": "reference_summary",
}
NOTICE_KINDS = {"cap": "max_cost", "recap": "reference_summary"}
VIEWS = {"briefed": "with_instructions", "in_lesson": "lesson_view", "advised": "advisor_view"}
TASK_MODELS = {"scripted/clerk": "scripted/task-model"}

OPTIONS: Mapping[str, Names] = {
    "debate": {"gate": "skip_if_agreed", "ledger": "claims"},
    "advisors": {"early": "question_turns", "budget": "max_prompt_tokens"},
    "directed": {"trigger": "first_speaker"},
}
PLAN = {
    "first": "first_position",
    "answering": "responders",
    "introduced": "knows_others",
    "clerk": "task_model",
    "cap": "max_cost_usd",
    "measures": "model_limits",
    "minutes": "debate_report",
    "again": "regenerate",
    "people": "human_names",
}
TARGET = {"number": "seq", "upto": "visible_until", "instruction": "instructions"}
MODEL_LIMITS = {"context": "context_tokens", "answer": "max_answer_tokens"}
ANALYSIS = {"basis": "cache_key", "cost": "cost_usd"}
MESSAGE = {
    "number": "seq",
    "cost": "cost_usd",
    "latency": "latency_seconds",
    "first_token": "first_token_seconds",
    "finish": "finish_reason",
    "audience": "visible_to",
    "upto": "visible_until",
    "instruction": "instructions",
    "script": "lesson_items",
    "revised": "revised_seq",
}
EVENTS: Mapping[str, tuple[str, Names]] = {  # by old type: new type, names of the fields
    "approval_wanted": ("approval_requested", {"again": "repeated", "seconds": "timeout_seconds"}),
    "approval": ("approval_resolved", {"answer": "outcome"}),
    "action_dropped": ("action_rejected", {}),
    "prompted": ("instructions_sent", {}),
    "agreed": ("agreement_checked", {**ANALYSIS, "saved": "saved_usd"}),
    "summary": ("summary", ANALYSIS),
    "ledger": ("claims", {**ANALYSIS, "ledger": "claims"}),
    "ballot": ("vote", {**ANALYSIS, "order": "ranking"}),
    "ranking": ("ranking", ANALYSIS),
    "decision": ("speaker_selected", {**ANALYSIS, "by": "decided_by"}),
    "recap": ("reference_summarized", {**ANALYSIS, "recap": "summary"}),
    "notice": ("notice", {}),
    "turn_ended": (
        "turn_ended",
        {
            "cost": "cost_usd",
            "finish": "finish_reason",
            "first_token": "first_token_seconds",
            "latency": "latency_seconds",
        },
    ),
}
SUMMARY = {
    "originalPrompt": "original_prompt",
    "crossModel": "cross_model",
    "perModel": "per_model",
    "convergenceSummary": "convergence_summary",
    "initialSummary": "initial_summary",
    "refinedSummary": "refined_summary",
    "changedPosition": "changed_position",
    "keyPoints": "key_points",
}


def upgrade() -> None:
    is_postgres = op.get_bind().dialect.name == "postgresql"
    if not is_postgres:
        drop_search()
    rename_tables(is_postgres=is_postgres)
    for table, names in COLUMNS.items():
        for old, new in names.items():
            op.execute(f'ALTER TABLE "{table}" RENAME COLUMN "{old}" TO "{new}"')
    rename_indexes(is_postgres=is_postgres)
    rename_values()
    convert_json()
    if not is_postgres:
        create_search()


def rename_tables(*, is_postgres: bool) -> None:
    for old, new in TABLES.items():
        if is_postgres:
            op.rename_table(old, new)
            rename_postgres_constraints(old, new)
        else:
            copy_sqlite_table(old, new)


def rename_postgres_constraints(old: str, new: str) -> None:
    query = sa.text("SELECT conname FROM pg_constraint WHERE conrelid = CAST(:table AS regclass)")
    for name in op.get_bind().execute(query, {"table": new}).scalars().all():
        renamed = name.replace(f"_{old}", f"_{new}", 1)
        if renamed != name:
            op.execute(f'ALTER TABLE "{new}" RENAME CONSTRAINT "{name}" TO "{renamed}"')


def copy_sqlite_table(old: str, new: str) -> None:
    """Create the table under its new name, because SQLite cannot rename constraints."""
    query = sa.text("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = :name")
    sql: str = op.get_bind().execute(query, {"name": old}).scalar_one()
    head, columns = sql.split("(", 1)
    for prefix in ("pk", "fk", "uq"):
        columns = columns.replace(f"{prefix}_{old}", f"{prefix}_{new}")
    op.execute(f"{head.replace(old, new)}({columns}")
    op.execute(f'INSERT INTO "{new}" SELECT * FROM "{old}"')  # noqa: S608 - constant names
    op.execute(f'DROP TABLE "{old}"')


def rename_indexes(*, is_postgres: bool) -> None:
    for old, (new, table, columns) in INDEXES.items():
        if is_postgres:
            op.execute(f"ALTER INDEX {old} RENAME TO {new}")
        else:  # an index of a copied table is gone already
            op.execute(f"DROP INDEX IF EXISTS {old}")
            op.create_index(new, table, list(columns))


def drop_search() -> None:
    for table in SEARCHED:
        for event in ("added", "gone", "changed"):
            op.execute(f"DROP TRIGGER {table}_search_{event}")
        op.execute(f"DROP TABLE {table}_search")


def create_search() -> None:
    for table, columns in SEARCHED.items():
        names = ", ".join(columns)
        old, new = (", ".join(f"{row}.{column}" for column in columns) for row in ("old", "new"))
        remove = f"INSERT INTO {table}_search({table}_search, rowid, {names}) VALUES ('delete', old.seq, {old});"  # noqa: S608 - constant names
        add = f"INSERT INTO {table}_search(rowid, {names}) VALUES (new.seq, {new});"  # noqa: S608
        for statement in (
            f"CREATE VIRTUAL TABLE {table}_search USING fts5({names}, content='{table}', content_rowid='seq')",
            f"CREATE TRIGGER {table}_search_added AFTER INSERT ON {table} BEGIN {add} END",
            f"CREATE TRIGGER {table}_search_gone AFTER DELETE ON {table} BEGIN {remove} END",
            f"CREATE TRIGGER {table}_search_changed AFTER UPDATE OF {names} ON {table} BEGIN {remove} {add} END",
            f"INSERT INTO {table}_search({table}_search) VALUES ('rebuild')",  # noqa: S608
        ):
            op.execute(statement)


def rename_values() -> None:
    for table, column, values in (
        ("charge", "purpose", PURPOSES),
        ("run", "stop_reason", {"over_cap": "max_cost"}),
        ("message", "view", VIEWS),
        ("discussion", "task_model", TASK_MODELS),
        ("preset", "task_model", TASK_MODELS),
    ):
        changed = sa.table(table, sa.column(column))
        for old, new in values.items():
            op.execute(sa.update(changed).where(changed.c[column] == old).values({column: new}))


def convert_json() -> None:
    for table in ("discussion", "preset"):
        for column, names in OPTIONS.items():
            convert_column(table, ("id",), column, partial(rename, names=names))
    convert_column("run", ("id",), "plan", convert_plan)
    convert_column("message", ("id",), "tools", convert_tools)
    convert_column("evaluation", ("id",), "improvement", convert_improvement)
    convert_column("idempotency_key", ("tenant", "key"), "reply", convert_reply)
    convert_column("analysis_result", ("run", "cache_key"), "body", convert_event)
    prefixes = [f'{{"type":"{type_}",%' for type_ in EVENTS]
    for run in op.get_bind().execute(sa.text("SELECT id FROM run")).scalars().all():
        convert_column("run_event", ("run", "seq"), "body", convert_event, run=run, prefixes=prefixes)


def convert_column(
    table: str,
    key: tuple[str, ...],
    column: str,
    convert: Callable[[Any], Any],
    *,
    run: str | None = None,
    prefixes: Iterable[str] = (),
) -> None:
    """Convert the JSON of all rows, or of the events of one run that start with one of the prefixes."""
    rows = sa.table(table, *map(sa.column, (*key, column)))
    query = sa.select(*(rows.c[name] for name in key), rows.c[column]).where(
        rows.c[column].is_not(None), rows.c[column] != ""
    )
    if run is not None:
        query = query.where(rows.c.run == run, sa.or_(*(rows.c[column].like(prefix) for prefix in prefixes)))
    found = op.get_bind().execute(query).all()
    changes = [
        {**{f"key_{name}": value for name, value in zip(key, ids, strict=True)}, "converted": text}
        for *ids, before in found
        if (text := json.dumps(convert(json.loads(before)), ensure_ascii=False, separators=(",", ":"))) != before
    ]
    if changes:
        conditions = (rows.c[name] == sa.bindparam(f"key_{name}") for name in key)
        update = sa.update(rows).where(*conditions).values({column: sa.bindparam("converted")})
        op.get_bind().execute(update, changes)


def rename(value: dict[str, Any], names: Names) -> dict[str, Any]:
    return {names.get(name, name): one for name, one in value.items()}


def convert_options(value: dict[str, Any]) -> dict[str, Any]:
    """Convert the options of the modes in a plan or in a discussion."""
    return value | {mode: rename(value[mode], names) for mode, names in OPTIONS.items() if value.get(mode)}


def convert_plan(plan: dict[str, Any]) -> dict[str, Any]:
    plan = convert_options(rename(plan, PLAN))
    if plan.get("task_model"):
        plan["task_model"] = TASK_MODELS.get(plan["task_model"], plan["task_model"])
    if plan.get("model_limits"):
        plan["model_limits"] = {model: rename(one, MODEL_LIMITS) for model, one in plan["model_limits"].items()}
    if plan.get("regenerate"):
        target = rename(plan["regenerate"], TARGET)
        plan["regenerate"] = target | {"view": VIEWS.get(target["view"], target["view"])}
    return plan


def convert_tools(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [rename(one, {"said": "text_offset"}) for one in tools]


def convert_improvement(improvement: dict[str, Any]) -> dict[str, Any]:
    improvement = rename(improvement, {"held_by": "worker", "acceptance": "applied_improvement"})
    if improvement.get("rounds"):
        improvement["rounds"] = [
            rename(one, {"better": "is_better", "cost": "cost_usd"}) for one in improvement["rounds"]
        ]
    if improvement.get("applied_improvement"):
        names = {"made": "is_new_persona", "replaced": "previous_persona"}
        improvement["applied_improvement"] = rename(improvement["applied_improvement"], names)
    return improvement


def convert_message(message: dict[str, Any]) -> dict[str, Any]:
    message = rename(message, MESSAGE)
    if message.get("tools"):
        message["tools"] = convert_tools(message["tools"])
    if message.get("view"):
        message["view"] = VIEWS.get(message["view"], message["view"])
    return message


def convert_reply(reply: Any) -> Any:
    """Convert the response that a repeated request gets."""
    if not isinstance(reply, dict):
        return reply
    if isinstance(reply.get("discussion"), dict):
        reply["discussion"] = convert_options(rename(reply["discussion"], {"clerk": "task_model"}))
    if isinstance(reply.get("message"), dict):
        reply["message"] = convert_message(reply["message"])
    if isinstance(reply.get("run"), dict):
        reply["run"] = rename(reply["run"], {"again": "regenerates"})
    return reply


def convert_event(event: dict[str, Any]) -> dict[str, Any]:
    if event["type"] not in EVENTS:
        return event
    new_type, names = EVENTS[event["type"]]
    event = rename(event, names) | {"type": new_type}
    match new_type:
        case "turn_ended":
            answer = rename(event["message"], {"script": "lesson_items"})
            event["message"] = answer | {"tools": convert_tools(answer["tools"])} if answer.get("tools") else answer
        case "notice":
            event["kind"] = NOTICE_KINDS.get(event["kind"], event["kind"])
            if event.get("charge"):
                charge = rename(event["charge"], {"cost": "cost_usd"})
                event["charge"] = charge | {"purpose": PURPOSES.get(charge["purpose"], charge["purpose"])}
        case "summary":
            event["summary"] = convert_summary(event["summary"])
        case "claims":
            event["claims"] = rename(event["claims"], {"flips": "position_changes", "unproven": "dropped_quotes"})
        case "ranking":
            event["ranking"] = rename(event["ranking"], {"places": "answers", "ballots": "votes"})
    return event


def convert_summary(summary: dict[str, Any]) -> dict[str, Any]:
    summary = rename(summary, SUMMARY)
    summary["cross_model"] = rename(summary["cross_model"], SUMMARY)
    summary["per_model"] = [rename(one, SUMMARY) for one in summary["per_model"]]
    return summary
