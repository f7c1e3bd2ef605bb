"""Python client: the async class `Moot`, and the blocking function `ask`."""

import asyncio
import os
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Self

from moot import settings
from moot.app import event_loop
from moot.engine.model_resolution import LOCAL_TENANT, DefaultParticipants, ModelResolver, NoStoredKeys
from moot.engine.runs.ephemeral import EphemeralRun, EphemeralRuns, check_files
from moot.engine.turns.model_caller import ModelCaller
from moot.prompts.attachments import build_question, read_file
from moot.providers.registry import Registry
from moot.sdk.participants import (
    OPTIONS_MODES,
    ParticipantSpec,
    build_participants,
    participant_prompt,
    validate_arguments,
)
from moot.sdk.run import Result, RunHandle
from moot.streaming.cancellation import StopSignal
from moot.types.errors import UsageError
from moot.types.events import Event
from moot.types.modes import MODES, DebateOptions, ModeName, ModeOptions, default_mode
from moot.types.run_plan import RunPlan
from moot.types.streams import BatchStream


class Moot:
    """Async client. Uses the same settings and API keys as `moot ask`.

    Values in the settings file `config` have priority over the default files.
    """

    def __init__(self, config: str | Path | None = None) -> None:
        chosen = settings.load_settings(Path(config) if config is not None else None, os.environ)
        self._registry = Registry(chosen.providers, os.environ)
        self._model_resolver = ModelResolver(self._registry, NoStoredKeys(), chosen.fallback)
        self._default_participants = DefaultParticipants(
            self._model_resolver, self._registry, chosen.participants, chosen.model
        )
        self._ephemeral_runs = EphemeralRuns(ModelCaller(chosen.limits))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop running requests, and close all connections."""
        await self._ephemeral_runs.close()
        await self._registry.__aexit__()

    def ask(
        self,
        question: str,
        models: Sequence[str | ParticipantSpec] = (),
        *,
        mode: ModeName | None = None,
        options: ModeOptions | None = None,
        rounds: int = 2,
        system: str = "",
        files: Sequence[str | Path] = (),
        max_cost_usd: float | None = None,
    ) -> RunHandle:
        """Create a run that starts when its handle is awaited or iterated.

        `models`: model names or participants. Default: the models in the settings, or those with an API key.
        `mode`: default `single` for one model, `parallel` for several.
        `options`: options of the mode. `rounds`: only in consensus mode.
        `system`: added to the system prompt of all participants.
        `max_cost_usd`: maximum cost in US dollars; no further turn starts above it.

        Invalid arguments raise UsageError when the run starts.
        """

        async def stream_events(stop: StopSignal) -> BatchStream[Event]:
            checked = validate_arguments(models, mode, options, rounds, max_cost_usd)
            alone = mode is None or MODES[mode].only_first
            participants = build_participants(
                models or await self._default_participants.default_models(LOCAL_TENANT, single=alone), mode
            )
            chosen_mode = mode or default_mode(participants)
            _check_request(question, chosen_mode, participants, options)
            contents = [await asyncio.to_thread(read_file, Path(path)) for path in files]
            plan = RunPlan(
                mode=chosen_mode,
                participants=tuple(who for who, _ in participants),
                personas={who.id: prompt for who, spec in participants if (prompt := participant_prompt(spec, system))},
                rounds=rounds,
                knows_others=MODES[chosen_mode].knows_others,
                max_cost_usd=max_cost_usd,
            )
            plan = checked.apply_options(plan)
            chains = await self._model_resolver.resolve_chains(LOCAL_TENANT, plan.participants)
            check_files(plan, chains, contents)
            run = EphemeralRun(plan=plan, question=build_question(question, files=contents), chains=chains)
            async with aclosing(self._ephemeral_runs.stream(run, stop=stop)) as batches:
                async for batch in batches:
                    yield batch

        return RunHandle(stream_events)

    def debate(
        self,
        question: str,
        models: Sequence[str | ParticipantSpec] = (),
        *,
        options: DebateOptions | None = None,
        system: str = "",
        files: Sequence[str | Path] = (),
        max_cost_usd: float | None = None,
    ) -> RunHandle:
        """Run a debate: first answers, rebuttals, a synthesis and a debate report. Arguments as in `ask`."""
        return self.ask(
            question, models, mode="debate", options=options, system=system, files=files, max_cost_usd=max_cost_usd
        )


def ask(
    question: str,
    models: Sequence[str | ParticipantSpec] = (),
    *,
    mode: ModeName | None = None,
    options: ModeOptions | None = None,
    rounds: int = 2,
    system: str = "",
    files: Sequence[str | Path] = (),
    max_cost_usd: float | None = None,
    config: str | Path | None = None,
) -> Result:
    """Run a question to its end and return the result. Blocks.

    Raises UsageError inside a running event loop; await `Moot.ask` there. Arguments as in `Moot.ask`.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise UsageError("An event loop is already running. Use `async with Moot() as moot: await moot.ask(…)`.")

    async def run_once() -> Result:
        async with Moot(config) as moot:
            return await moot.ask(
                question,
                models,
                mode=mode,
                options=options,
                rounds=rounds,
                system=system,
                files=files,
                max_cost_usd=max_cost_usd,
            )

    return event_loop.run_coroutine(run_once())


def _check_request(question: str, mode: ModeName, participants: Sequence[object], options: ModeOptions | None) -> None:
    """Raise UsageError before the first model request if the arguments do not match."""
    if not question.strip():
        raise UsageError("question: it is empty. Write one.")
    spec = MODES[mode]
    if spec.only_first and len(participants) > 1:
        raise UsageError(f"models: {mode} mode takes one, got {len(participants)}. Omit the mode, or name one model.")
    if len(participants) < spec.min_participants:
        raise UsageError(f"models: {mode} mode needs at least two. Name more.")
    if options is not None and (wanted := OPTIONS_MODES[type(options)]) != mode:
        raise UsageError(f"options: these are for {wanted} mode, but the mode is {mode}. Change one.")
