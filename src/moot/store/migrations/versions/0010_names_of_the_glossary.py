"""Rename tables, columns, JSON keys and stored values to the words of the glossary. No data is lost.

Stored requests of idempotency keys are hashes, which cannot be converted. A client that repeats such a request after
the update gets a conflict, and the request does not run twice.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from alembic import op

from moot.store.migrations.search import SEARCHED, sqlite_search_statements

revision = "0010"
down_revision = "0009"

Names = Mapping[str, str]  # old: new
Convert = Callable[[Any], Any]

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

PURPOSES = {"ledger": "claims", "gate": "agreement", "perspective": "persona_suggestions", "recap": "reference_summary"}
NOTICE_KINDS = {"cap": "max_cost", "recap": "reference_summary"}
VIEWS = {"briefed": "with_instructions", "in_lesson": "lesson_view", "advised": "advisor_view"}
TASK_MODELS = {"scripted/clerk": "scripted/task-model"}


def fields(names: Names, **converters: Convert) -> Convert:
    """Return a function that renames the fields of an object and converts values of fields, both by their old names."""

    def convert(value: Any) -> Any:
        if not isinstance(value, dict):  # None, or an id in place of the object
            return value
        return {names.get(name, name): converters.get(name, unchanged)(one) for name, one in value.items()}

    return convert


def unchanged(value: Any) -> Any:
    return value


def words(names: Names) -> Convert:
    return lambda word: names.get(word, word)


def each(convert: Convert) -> Convert:
    return lambda values: values and [convert(one) for one in values]


OPTIONS = {  # of the modes, in a plan, in a discussion and in a preset
    "debate": fields({"gate": "skip_if_agreed", "ledger": "claims"}),
    "advisors": fields({"early": "question_turns", "budget": "max_prompt_tokens"}),
    "directed": fields({"trigger": "first_speaker"}),
}
TARGET = {"number": "seq", "upto": "visible_until", "instruction": "instructions"}
MODEL_LIMITS = fields({"context": "context_tokens", "answer": "max_answer_tokens"})
PLAN = fields(
    {
        "first": "first_position",
        "answering": "responders",
        "introduced": "knows_others",
        "clerk": "task_model",
        "cap": "max_cost_usd",
        "measures": "model_limits",
        "minutes": "debate_report",
        "again": "regenerate",
        "people": "human_names",
    },
    **OPTIONS,
    clerk=words(TASK_MODELS),
    measures=lambda limits: limits and {model: MODEL_LIMITS(one) for model, one in limits.items()},
    again=fields(TARGET, view=words(VIEWS)),
)
TOOLS = each(fields({"said": "text_offset"}))
IMPROVEMENT = fields(
    {"held_by": "worker", "acceptance": "applied_improvement"},
    rounds=each(fields({"better": "is_better", "cost": "cost_usd"})),
    acceptance=fields({"made": "is_new_persona", "replaced": "previous_persona"}),
)
MESSAGE = fields({**COLUMNS["message"], "revised": "revised_seq"}, tools=TOOLS, view=words(VIEWS))
REPLY = fields(  # the response that a repeated request gets
    {}, discussion=fields({"clerk": "task_model"}, **OPTIONS), message=MESSAGE, run=fields({"again": "regenerates"})
)
CHARGE = fields({"cost": "cost_usd"}, purpose=words(PURPOSES))
ANALYSIS = {"basis": "cache_key", "cost": "cost_usd"}
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
EVENTS: Mapping[str, tuple[str, Convert]] = {  # by old type: new type, conversion of the fields
    "approval_wanted": ("approval_requested", fields({"again": "repeated", "seconds": "timeout_seconds"})),
    "approval": ("approval_resolved", fields({"answer": "outcome"})),
    "action_dropped": ("action_rejected", unchanged),
    "prompted": ("instructions_sent", unchanged),
    "agreed": ("agreement_checked", fields({**ANALYSIS, "saved": "saved_usd"})),
    "summary": (
        "summary",
        fields(ANALYSIS, summary=fields(SUMMARY, crossModel=fields(SUMMARY), perModel=each(fields(SUMMARY)))),
    ),
    "ledger": (
        "claims",
        fields(
            {**ANALYSIS, "ledger": "claims"}, ledger=fields({"flips": "position_changes", "unproven": "dropped_quotes"})
        ),
    ),
    "ballot": ("vote", fields({**ANALYSIS, "order": "ranking"})),
    "ranking": ("ranking", fields(ANALYSIS, ranking=fields({"places": "answers", "ballots": "votes"}))),
    "decision": ("speaker_selected", fields({**ANALYSIS, "by": "decided_by"})),
    "recap": ("reference_summarized", fields({**ANALYSIS, "recap": "summary"})),
    "notice": ("notice", fields({}, kind=words(NOTICE_KINDS), charge=CHARGE)),
    "turn_ended": ("turn_ended", fields(COLUMNS["message"], message=fields({"script": "lesson_items"}, tools=TOOLS))),
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
    for statement in sqlite_search_statements(row_key="seq"):
        op.execute(statement)
    for table in SEARCHED:
        op.execute(f"INSERT INTO {table}_search({table}_search) VALUES ('rebuild')")  # noqa: S608 - constant names


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
        for column, convert in OPTIONS.items():
            convert_column(table, ("id",), column, convert)
    convert_column("run", ("id",), "plan", PLAN)
    convert_column("message", ("id",), "tools", TOOLS)
    convert_column("evaluation", ("id",), "improvement", IMPROVEMENT)
    convert_column("idempotency_key", ("tenant", "key"), "reply", REPLY)
    convert_column("analysis_result", ("run", "cache_key"), "body", convert_event)
    prefixes = [f'{{"type":"{type_}",%' for type_ in EVENTS]
    for run in op.get_bind().execute(sa.text("SELECT id FROM run")).scalars().all():
        convert_column("run_event", ("run", "seq"), "body", convert_event, run=run, prefixes=prefixes)


def convert_column(
    table: str,
    key: tuple[str, ...],
    column: str,
    convert: Convert,
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


def convert_event(event: dict[str, Any]) -> Any:
    if event["type"] not in EVENTS:
        return event
    new_type, convert = EVENTS[event["type"]]
    return convert(event) | {"type": new_type}
