"""`moot chat`: interactive chat client in the terminal.

A client of the HTTP API: the server stores the discussion, and the page shows it live.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Coroutine
from contextlib import aclosing
from typing import Any, assert_never
from urllib.parse import quote

from msgspec.structs import replace

from moot import settings
from moot.app import logging as logs
from moot.cli.approvals import ApprovalPrompts, interactive_terminal
from moot.cli.ask_options import ChatOptions, build_run_plan, validate_options
from moot.cli.chat import commands
from moot.cli.chat.commands import HELP_TEXT, ChatCommand, PlainCommand, find_participant, parse_chat_line
from moot.cli.chat.draft import TableDraft, draft_from_discussion, draft_from_plan
from moot.cli.chat.input import LineSource, PipedLines, TypedLines, format_discussion_list, format_history
from moot.cli.http_client import (
    AcceptedMessage,
    ApiClient,
    CreatedDiscussion,
    DiscussionList,
    FetchedDiscussion,
    ProviderInfo,
    ServerAddress,
    connect_to_server,
)
from moot.cli.interrupt import on_ctrl_c
from moot.cli.model_selection import resolve_default_model
from moot.providers.registry import Registry
from moot.terminal.readers import strip_control_chars
from moot.terminal.select import NoticePrinter, handle_write_error, is_interactive, select_reader
from moot.types.discussions import Discussion, Run
from moot.types.errors import UnknownModel, UsageError
from moot.types.events import Event, RunEnded, RunStarted
from moot.types.participants import make_participants
from moot.types.tools import ApprovalDecision

RECENT_MESSAGES = 6  # shown when a discussion is resumed
LIST_LIMIT = 20
HISTORY_FILE = "chat_history"


async def run_chat(options: ChatOptions) -> int:
    logs.configure_logging(logging.WARNING)
    validate_options(options)
    chosen = settings.load_settings(options.config, os.environ)
    notify = NoticePrinter()
    async with connect_to_server(options.server, chosen, os.environ) as address, ApiClient(address, notify) as api:
        await api.check_connection()
        chat = ChatSession(api, address, notify, options.max_cost_usd)
        try:
            if not await _resume_if_requested(options, chat):
                draft = await _build_table_draft(options, chosen, address)
                await _check_providers(api, draft)
                chat.start_with_table(draft)
            interactive = sys.stdin.isatty() and is_interactive()
            lines = TypedLines(settings.data_folder() / HISTORY_FILE) if interactive else PipedLines(sys.stdin.fileno())
            exit_code = await chat.process_lines(lines)
            return exit_code if interactive else exit_code or int(chat.is_unanswered)
        except OSError as error:  # the output pipe is closed, or the disk is full
            return handle_write_error(error)


async def _resume_if_requested(options: ChatOptions, chat: "ChatSession") -> bool:
    """Resume the discussion of the options. Returns False if a new one is needed."""
    if options.discussion is None and not options.last:
        return False
    if options.models or options.mode:
        raise UsageError("-m and --mode: only for a new discussion. Use /add, /drop and /mode in the chat.")
    if options.discussion is not None:
        await chat.resume_discussion(options.discussion)
        return True
    return await chat.resume_last()


async def _build_table_draft(
    options: ChatOptions, app_settings: settings.Settings, server: ServerAddress
) -> TableDraft:
    models = options.models or ([app_settings.model] if app_settings.model else [])
    if not models and server.is_remote:
        raise UsageError("-m: missing. Name each participant with -m provider/model, or set MOOT_MODEL.")
    if not models:
        async with Registry(app_settings.providers, os.environ) as registry:
            models = [await resolve_default_model(app_settings, registry)]
    return draft_from_plan(build_run_plan(options, make_participants(tuple(models))))


async def _check_providers(api: ApiClient, draft: TableDraft) -> None:
    """Raise UnknownModel for a provider that the server does not have, before the first message."""
    known = [one.name for one in await api.get("/api/providers", tuple[ProviderInfo, ...])]
    for who in draft.participants:
        if who.model.partition("/")[0] not in known:
            raise UnknownModel(
                f"Unknown model {who.model!r}: a model is written provider/model. Providers are: {', '.join(known)}."
            )


class ChatSession:
    """State of one chat: the table draft, the current discussion and the active run.

    `max_cost_usd`: cost limit of each run.
    """

    def __init__(
        self, api: ApiClient, server: ServerAddress, notify: NoticePrinter, max_cost_usd: float | None = None
    ) -> None:
        self._api = api
        self._server = server
        self._notify = notify
        self._max_cost_usd = max_cost_usd
        self._draft = TableDraft(participants=(), mode="single")
        self._discussion: Discussion | None = None
        self._last_listing: tuple[Discussion, ...] = ()  # result of the last /list, for /resume
        self._active_run: Run | None = None
        self._stop_task: asyncio.Task[None] | None = None
        self._exit_code: int | None = None  # set when the chat ends
        self._message_count = 0
        self._answer_count = 0

    @property
    def is_unanswered(self) -> bool:
        """True if messages were sent and no run succeeded."""
        return self._message_count > 0 and self._answer_count == 0

    def start_with_table(self, draft: TableDraft) -> None:
        self._draft = draft
        self._notify(f"{draft.description}. Type /help for the commands.")

    async def process_lines(self, lines: LineSource) -> int:
        """Execute lines until the end of input or /quit. Returns the exit code."""
        interrupted = False
        while self._exit_code is None:
            try:
                line = await lines.next_line()
            except KeyboardInterrupt:
                if interrupted:
                    return 130
                interrupted = True
                self._notify("Press Ctrl-C again to quit.")
                continue
            interrupted = False
            if line is None:
                return 0
            try:
                if (command := parse_chat_line(line, self._draft.participants)) is not None:
                    await self._run_interruptible(self._execute_command(command))
            except UsageError as error:
                self._notify(str(error))
        return self._exit_code

    async def resume_last(self) -> bool:
        newest = (await self._api.get("/api/discussions?limit=1", DiscussionList)).discussions
        if not newest:
            self._notify("There is no discussion yet. Starting a new one.")
            return False
        await self.resume_discussion(newest[0].id)
        return True

    async def resume_discussion(self, id: str) -> None:
        await self._run_interruptible(self._resume_discussion(id))

    async def _resume_discussion(self, id: str) -> None:
        """Print the newest messages, then stream the active runs."""
        fetched = await self._fetch_discussion(id, RECENT_MESSAGES)
        self._discussion, self._draft = fetched.discussion, draft_from_discussion(fetched.discussion)
        self._notify(f"{fetched.discussion.title} ({id}). {self._draft.description}.")
        if fetched.before is not None:
            self._notify("There are older messages. Type /history to see them.")
        live = {run.id for run in fetched.runs}
        _write_stdout(format_history([one for one in fetched.messages if one.role == "user" or one.run not in live]))
        for run in fetched.runs:
            await self._follow_run(run)

    async def _execute_command(self, command: ChatCommand) -> None:
        match command:
            case commands.SayCommand():
                await self._send_message(command)
            case commands.ModeCommand(mode=mode):
                await self._update_table(self._draft.with_mode(mode))
            case commands.AddCommand(model=model, name=name):
                await self._update_table(self._draft.with_participant(model, name))
            case commands.DropCommand(name=name):
                who = find_participant(name, self._draft.participants)
                await self._update_table(self._draft.without_participant(who))
            case commands.ResumeCommand(target=which):
                await self._resume_discussion(self._resolve_discussion_id(which))
            case _:
                await self._execute_plain_command(command)

    async def _execute_plain_command(self, command: PlainCommand) -> None:
        match command:
            case "who":
                _write_stdout(f"{strip_control_chars(self._draft.description)}\n")
            case "help":
                _write_stdout(f"{HELP_TEXT}\n")
            case "stop":
                await self._stop_live_runs()
            case "history":
                await self._print_history()
            case "list":
                listed = await self._api.get(f"/api/discussions?limit={LIST_LIMIT}", DiscussionList)
                self._last_listing = listed.discussions
                _write_stdout(format_discussion_list(listed.discussions) or "There is no discussion yet.\n")
            case "new":
                self._discussion = None
                self._notify(f"A new discussion. {self._draft.description}.")
            case "quit":
                self._exit_code = 0
            case _:
                assert_never(command)

    async def _send_message(self, command: commands.SayCommand) -> None:
        self._message_count += 1
        body: dict[str, Any] = {"message": command.text}
        if self._max_cost_usd is not None:
            body["max_cost_usd"] = self._max_cost_usd
        if self._discussion is not None:
            body |= {"to": command.to} if command.to else {}
            accepted = await self._api.post(f"/api/discussions/{self._discussion.id}/messages", AcceptedMessage, body)
            await self._follow_run(accepted.run, command.to)
            return
        if command.to:
            raise UsageError("@name: not possible in the first message of a discussion. Remove it.")
        created = await self._api.post("/api/discussions", CreatedDiscussion, body | self._draft.request_body)
        self._discussion, self._draft = created.discussion, draft_from_discussion(created.discussion)
        self._notify(f"Discussion {created.discussion.id}, also at {self._server.url}/d/{created.discussion.id}.")
        await self._follow_run(created.run)

    async def _follow_run(self, run: Run, to: tuple[str, ...] | None = None) -> None:
        """Stream a run to the terminal until it ends. `to`: ids of the addressed participants; None means all."""
        addressed = [who for who in self._draft.participants if to is None or who.id in to]
        may_prompt = any(who.tools for who in addressed)
        reader = select_reader(run.mode, len(addressed), may_prompt=may_prompt)
        self._active_run = run
        try:
            async with aclosing(self._api.stream_events(run.id)) as stream:
                with self._notify.attach_reader(reader):
                    async with self._approval_prompts(run) as prompts:
                        async for events in stream:
                            reader([_filter_participants(event, to) for event in events])
                            prompts.process_events(events)
                            self._answer_count += sum(_is_successful_end(event) for event in events)
        finally:
            self._active_run = None

    def _approval_prompts(self, run: Run) -> ApprovalPrompts:
        async def submit_decision(call: str, decision: ApprovalDecision) -> None:
            path = f"/api/runs/{quote(run.id)}/approvals/{quote(call)}"
            await self._api.post(path, type(None), {"decision": decision})

        page_url = f"{self._server.url}/d/{run.discussion}"
        return ApprovalPrompts(interactive_terminal(sys.stdin, sys.stderr), submit_decision, self._notify, page_url)

    async def _run_interruptible(self, coroutine: Coroutine[None, None, None]) -> None:
        """Run a coroutine with Ctrl-C handling.

        The first Ctrl-C stops the active run. The second, or one without an active run, cancels the coroutine.
        """
        task = asyncio.create_task(coroutine)

        def on_interrupt() -> None:
            if self._active_run is not None and self._stop_task is None:
                self._stop_task = asyncio.create_task(self._stop_run(self._active_run))
                self._notify("Stopping. Press Ctrl-C again to quit.")
                return
            task.cancel()
            if self._stop_task is not None:
                self._exit_code = 130
                self._stop_task.cancel()

        with on_ctrl_c(on_interrupt):
            await asyncio.wait({task})
            if self._stop_task is not None:
                await self._wait_for_stop(self._stop_task)
                self._stop_task = None
        if not task.cancelled():
            task.result()

    async def _wait_for_stop(self, stop_task: "asyncio.Task[None]") -> None:
        """Wait for the stop request, and notify the user if it failed. The user may have cancelled it."""
        await asyncio.wait({stop_task})
        if not stop_task.cancelled() and (error := stop_task.exception()) is not None:
            self._notify(f"The stop request failed: {error}")

    async def _stop_run(self, run: Run) -> None:
        await self._api.post(f"/api/runs/{quote(run.id)}/stop", Run)

    async def _stop_live_runs(self) -> None:
        live = (await self._fetch_discussion(self._discussion.id, 1)).runs if self._discussion else ()
        for run in live:
            await self._stop_run(run)
        self._notify("Stopped." if live else "No run is active.")

    async def _print_history(self) -> None:
        if self._discussion is None:
            self._notify("There are no messages yet.")
            return
        fetched = await self._fetch_discussion(self._discussion.id, 100)
        if fetched.before is not None:
            self._notify(f"Older messages are at {self._server.url}/d/{fetched.discussion.id}.")
        _write_stdout(format_history(fetched.messages))

    async def _update_table(self, draft: TableDraft) -> None:
        if self._discussion is not None:
            path = f"/api/discussions/{self._discussion.id}"
            self._discussion = await self._api.patch(path, Discussion, draft.request_body)
            draft = draft_from_discussion(self._discussion)
        self._draft = draft
        self._notify(f"{draft.description}.")

    async def _fetch_discussion(self, id: str, limit: int) -> FetchedDiscussion:
        return await self._api.get(f"/api/discussions/{quote(id, safe='')}?limit={limit}", FetchedDiscussion)

    def _resolve_discussion_id(self, target: str) -> str:
        if not target.isdecimal():
            return target
        if not 1 <= int(target) <= len(self._last_listing):
            raise UsageError(f"/resume: there is no number {target} in the list. Type /list to see it.")
        return self._last_listing[int(target) - 1].id


def _is_successful_end(event: Event) -> bool:
    """A run that the user stopped counts as a success."""
    return isinstance(event, RunEnded) and event.status != "failed"


def _filter_participants(event: Event, to: tuple[str, ...] | None) -> Event:
    """Remove the other participants from RunStarted, so that the reader shows no empty lanes."""
    if to is None or not isinstance(event, RunStarted):
        return event
    return replace(event, participants=tuple(who for who in event.participants if who.id in to))


def _write_stdout(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
