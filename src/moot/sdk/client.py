"""`Moot`: the one thing a program holds, and `ask`, for those that need nothing else."""

import asyncio
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Self

from moot import settings
from moot.app import event_loop
from moot.engine.model_resolution import DefaultParticipants, ModelResolver
from moot.engine.runs.ephemeral import EphemeralRun, EphemeralRuns, check_files
from moot.engine.turns.model_caller import ModelCaller
from moot.prompts.attachments import build_question as put
from moot.prompts.attachments import read_file
from moot.providers.registry import Registry
from moot.sdk.participants import (
    OPTIONS_MODES,
    ModeRules,
    ParticipantSpec,
    build_participants,
    participant_prompt,
    validate_options,
)
from moot.sdk.run import Result, RunHandle
from moot.streaming.cancellation import StopSignal
from moot.types.debate import DebateOptions
from moot.types.errors import UsageError
from moot.types.events import Event
from moot.types.modes import KNOWS_OTHERS_MODES, SOLO_MODES, ModeName
from moot.types.requests import File
from moot.types.run_plan import RunPlan

LOCAL_TENANT = ""  # the tenant of whoever has no server


class Moot:
    """Keys and settings as `moot ask` finds them; `config` names a settings file before all others."""

    def __init__(self, config: str | Path | None = None) -> None:
        chosen = settings.load_settings(Path(config) if config is not None else None, os.environ)
        self._registry = Registry(chosen.providers, os.environ)
        self._model_resolver = ModelResolver(self._registry, _NoStoredKeys(), chosen.fallback)
        self._default_participants = DefaultParticipants(
            self._model_resolver, self._registry, chosen.line_up, chosen.model
        )
        self._ephemeral_runs = EphemeralRuns(ModelCaller(chosen.limits))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop what still goes on, and close all connections."""
        await self._ephemeral_runs.close()
        await self._registry.__aexit__()

    def ask(
        self,
        question: str,
        models: Sequence[str | ParticipantSpec] = (),
        *,
        mode: ModeName | None = None,
        rules: ModeRules | None = None,
        rounds: int = 2,
        system: str = "",
        files: Sequence[str | Path] = (),
        cap: float | None = None,
    ) -> RunHandle:
        """Put a question to a table. Without `models` the usual ones are asked, without a `mode` each answers alone.

        `rules` are those of the mode, `rounds` those of a consensus, and `cap` is what it may cost in US dollars.
        """

        async def stream_events(stop: StopSignal) -> AsyncGenerator[list[Event], None]:
            checked = validate_options(models, mode, rules, rounds, cap)
            alone = mode in {None, "single"}
            seats = build_participants(
                models or await self._default_participants.default_models(LOCAL_TENANT, single=alone), mode
            )
            wanted = mode or ("single" if len(seats) == 1 else "parallel")
            _check_request(question, wanted, seats, rules)
            read = [await asyncio.to_thread(read_file, Path(path)) for path in files]
            plan = RunPlan(
                mode=wanted,
                participants=tuple(who for who, _ in seats),
                personas={
                    who.id: words for who, voice in seats if (words := participant_prompt(voice, system))
                },
                rounds=rounds,
                introduced=wanted in KNOWS_OTHERS_MODES,
                cap=cap,
            )
            sitting = await self._prepare_run(checked.apply_rules(plan), question, read)
            async with aclosing(self._ephemeral_runs.stream(sitting, stop=stop)) as told:
                async for some in told:
                    yield some

        return RunHandle(stream_events)

    def debate(
        self,
        question: str,
        models: Sequence[str | ParticipantSpec] = (),
        *,
        rules: DebateOptions | None = None,
        system: str = "",
        files: Sequence[str | Path] = (),
        cap: float | None = None,
    ) -> RunHandle:
        """Let all answer alone, read each other and think again; one of them sums up, and minutes are kept."""
        return self.ask(question, models, mode="debate", rules=rules, system=system, files=files, cap=cap)

    async def _prepare_run(self, plan: RunPlan, question: str, files: Sequence[File]) -> EphemeralRun:
        chains = {
            who.id: await self._model_resolver.resolve_with_fallbacks(LOCAL_TENANT, who.model)
            for who in plan.participants
        }
        check_files(plan, chains, files)
        return EphemeralRun(plan=plan, question=put(question, files=files), chains=chains)


def ask(
    question: str,
    models: Sequence[str | ParticipantSpec] = (),
    *,
    mode: ModeName | None = None,
    rules: ModeRules | None = None,
    rounds: int = 2,
    system: str = "",
    files: Sequence[str | Path] = (),
    cap: float | None = None,
    config: str | Path | None = None,
) -> Result:
    """Ask, wait, and return what the table came to. Where a loop runs already, await `Moot.ask` instead."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise UsageError("A loop runs here already: write `async with Moot() as moot: await moot.ask(…)`.")

    async def run_once() -> Result:
        async with Moot(config) as moot:
            return await moot.ask(
                question,
                models,
                mode=mode,
                rules=rules,
                rounds=rounds,
                system=system,
                files=files,
                cap=cap,
            )

    return event_loop.run_coroutine(run_once())


class _NoStoredKeys:
    async def secret(self, tenant: str, provider: str, origin: str) -> None:
        """Keys come from the environment alone."""


def _check_request(
    question: str, mode: ModeName, participants: Sequence[object], rules: ModeRules | None
) -> None:
    """Refuse what does not go together, before anybody is asked."""
    if not question.strip():
        raise UsageError("There is no question: write one.")
    if mode == "single" and len(participants) > 1:
        raise UsageError(
            f"single asks one model, and {len(participants)} are named: leave the mode out, or name one."
        )
    if mode not in SOLO_MODES and len(participants) < 2:
        raise UsageError(f"A {mode} needs at least two models: name more.")
    if rules is not None and OPTIONS_MODES[type(rules)] != mode:
        raise UsageError(f"These are options of {OPTIONS_MODES[type(rules)]}, and the mode is {mode}.")
