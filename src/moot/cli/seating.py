"""Model selection for `moot ask`: resolves `-m` names, or a default, to lanes with fallbacks."""

import sys
from collections.abc import Sequence

from msgspec import Struct

from moot.prompts.attachments import accepts_file, reject_unreadable_file
from moot.providers.discovery import find_local_servers
from moot.providers.local import DEMO_NOTE
from moot.providers.registry import Registry, ResolvedModel
from moot.settings import Settings
from moot.types.errors import BadSettings, FeatureUnavailable, MissingKey, UsageError
from moot.types.model_info import FileKind
from moot.types.participants import Participant, make_participants
from moot.types.requests import File


class Lane(Struct, frozen=True):
    participant: Participant
    models: tuple[ResolvedModel, ...]  # the chosen model first, then its fallbacks


async def resolve_lanes(
    models: Sequence[str], files: Sequence[File], settings: Settings, registry: Registry
) -> list[Lane]:
    """Resolve each model, or the default one. Raises UsageError if a model cannot read one of the files."""
    models = models or (await resolve_default_model(settings, registry),)
    lanes = [
        Lane(who, _resolve_with_fallbacks(who.model, settings, registry)) for who in make_participants(tuple(models))
    ]
    demo = registry.demo_model()
    if demo in [model.name for lane in lanes for model in lane.models]:
        sys.stderr.write(f"moot: {demo} is {DEMO_NOTE}.\n")
    return [_filter_models_by_files(lane, files) for lane in lanes]


def _resolve_with_fallbacks(name: str, settings: Settings, registry: Registry) -> tuple[ResolvedModel, ...]:
    """Return the model and its fallbacks, without those that lack a key. Raises if none is left."""
    found: list[ResolvedModel] = []
    missing: UsageError | None = None
    for model in dict.fromkeys([name, *settings.fallback.get(name, ())]):
        try:
            found.append(registry.resolve_model(model))
        except (MissingKey, FeatureUnavailable) as error:
            missing = missing or error
        except UsageError as error:
            if model == name and name != settings.model:
                raise
            where = "model" if model == name else f'the fallback of "{name}"'
            raise BadSettings(f"{error} The settings name it as {where}.") from error
    if not found and missing is not None:
        raise missing
    if missing is not None and found[0].name != name:
        sys.stderr.write(f"moot: {missing} Using {found[0].name} instead.\n")
    return tuple(found)


async def resolve_default_model(settings: Settings, registry: Registry) -> str:
    """Return the model of the settings, else a cheap one with a key, else a local one.

    Raises MissingKey if there is none. Prints the choice to stderr.
    """
    if settings.model:
        return settings.model
    for name in registry:
        if registry.server_keys(name) and (cheap := registry.cheap_model(name)):
            return _announce_model(f"{name}/{cheap}", "because its key is set")
    for server in await find_local_servers(registry):
        if server.models:
            return _announce_model(f"{server.provider}/{server.models[0]}", "found on this machine")
    try:
        why = "because no other model is available" if registry.demo_model() else "the model file of your settings"
        return _announce_model(registry.resolve_model(registry.embedded_model()).name, why)
    except FeatureUnavailable as error:
        raise MissingKey(
            f"No model is available. Set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY, or start Ollama. {error}"
        ) from error


def _announce_model(model: str, why: str) -> str:
    sys.stderr.write(f"moot: using {model}, {why}. Choose with -m provider/model.\n")
    return model


def _filter_models_by_files(lane: Lane, files: Sequence[File]) -> Lane:
    """Raise if the chosen model cannot read a file. Drops fallbacks that cannot."""
    chosen = lane.models[0]
    for file in files:
        reject_unreadable_file(lane.participant.name, chosen.name, _readable_file_kinds(chosen), file)
    return Lane(
        lane.participant,
        tuple(m for m in lane.models if all(accepts_file(_readable_file_kinds(m), file) for file in files)),
    )


def _readable_file_kinds(model: ResolvedModel) -> frozenset[FileKind]:
    return model.provider.model_profile(model.model).files
