"""Who is asked: from the names on the command line, or none, to lanes with their fallbacks."""

import sys
from collections.abc import Sequence

from msgspec import Struct

from moot.prompts.attachments import refuse_unread, takes
from moot.providers.discovery import local_servers
from moot.providers.local import DEMO_NOTE
from moot.providers.registry import Registry, Resolved
from moot.settings import Settings
from moot.types.errors import BadSettings, MissingKey, Unavailable, UsageError
from moot.types.model_info import FileKind
from moot.types.participants import Participant, seat
from moot.types.requests import File


class Lane(Struct, frozen=True):
    """A participant and the models that may speak for it, the chosen one first."""

    participant: Participant
    chain: tuple[Resolved, ...]


async def seated(
    models: Sequence[str], files: Sequence[File], chosen: Settings, registry: Registry
) -> list[Lane]:
    """Give every model, or the default one, a lane that can be asked all that there is to ask."""
    models = models or (await default_model(chosen, registry),)
    lanes = [Lane(who, _chain(who.model, chosen, registry)) for who in seat(tuple(models))]
    demo = registry.demo_model()
    if demo in [model.name for lane in lanes for model in lane.chain]:
        sys.stderr.write(f"moot: {demo} is {DEMO_NOTE}.\n")
    return [_able_to_read(lane, files) for lane in lanes]


def _chain(name: str, chosen: Settings, registry: Registry) -> tuple[Resolved, ...]:
    """Find a model and who may be asked instead; those that cannot be asked here are passed over."""
    found: list[Resolved] = []
    missing: UsageError | None = None
    for model in dict.fromkeys([name, *chosen.fallback.get(name, ())]):
        try:
            found.append(registry.resolve(model))
        except (MissingKey, Unavailable) as error:
            missing = missing or error
        except UsageError as error:
            if model == name and name != chosen.model:
                raise
            where = "model" if model == name else f'the fallback of "{name}"'
            raise BadSettings(f"{error} It is {where} in the settings.") from error
    if not found and missing is not None:
        raise missing
    if missing is not None and found[0].name != name:
        sys.stderr.write(f"moot: {missing} {found[0].name} is asked instead.\n")
    return tuple(found)


async def default_model(chosen: Settings, registry: Registry) -> str:
    """Take the model of the settings, else one there is a key for, else one that runs on this machine."""
    if chosen.model:
        return chosen.model
    for name in registry:
        if registry.keys(name) and (cheap := registry.cheap_model(name)):
            return _told(f"{name}/{cheap}", "because there is a key for it")
    for server in await local_servers(registry):
        if server.models:
            return _told(f"{server.provider}/{server.models[0]}", "found on this machine")
    try:
        why = "because nothing else is there" if registry.demo_model() else "the model file of your settings"
        return _told(registry.resolve(registry.embedded_model()).name, why)
    except Unavailable as error:
        raise MissingKey(
            f"There is no model to ask. Set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY, or start Ollama. {error}"
        ) from error


def _told(model: str, why: str) -> str:
    sys.stderr.write(f"moot: asking {model}, {why}. Choose with -m provider/model.\n")
    return model


def _able_to_read(lane: Lane, files: Sequence[File]) -> Lane:
    """Refuse a file that the model cannot read before anything is paid; leave out fallbacks that cannot."""
    chosen = lane.chain[0]
    for file in files:
        refuse_unread(lane.participant.name, chosen.name, _kinds(chosen), file)
    return Lane(
        lane.participant, tuple(m for m in lane.chain if all(takes(_kinds(m), file) for file in files))
    )


def _kinds(model: Resolved) -> frozenset[FileKind]:
    return model.provider.profile(model.model).files
