"""Model selection for `moot ask`: resolves `-m` names, or a default, to models with fallbacks."""

import sys
from collections.abc import Sequence

from moot.engine.model_resolution import LOCAL_TENANT, DefaultParticipants, ModelChains, ModelResolver, NoStoredKeys
from moot.engine.runs.ephemeral import check_files
from moot.prompts.attachments import accepts_file
from moot.providers.local import DEMO_NOTE
from moot.providers.registry import Registry, ResolvedModel
from moot.settings import Settings
from moot.types.errors import BadSettings, FeatureUnavailable, MissingKey, UsageError
from moot.types.requests import File
from moot.types.run_plan import RunPlan


async def select_models(plan: RunPlan, files: Sequence[File], settings: Settings, registry: Registry) -> ModelChains:
    """Return the model and fallbacks of each participant, by id. Drops fallbacks that cannot read one of the files.

    Raises UsageError if a model cannot read one.
    """
    chains = {who.id: await _resolve_with_fallbacks(who.model, settings, registry) for who in plan.participants}
    demo = registry.demo_model()
    if demo in [model.name for chain in chains.values() for model in chain]:
        sys.stderr.write(f"moot: {demo} is {DEMO_NOTE}.\n")
    check_files(plan, chains, files)
    return {id: tuple(model for model in chain if _reads_all(model, files)) for id, chain in chains.items()}


async def _resolve_with_fallbacks(name: str, settings: Settings, registry: Registry) -> Sequence[ResolvedModel]:
    """Return the model and its fallbacks, without those that lack a key. Raises if one is unknown or none is left."""
    for model in (name, *settings.fallback.get(name, ())):
        try:
            registry.unavailable_reason(model)
        except UsageError as error:
            if model == name and name != settings.model:
                raise
            where = "model" if model == name else f'the fallback of "{name}"'
            raise BadSettings(f"{error} The settings name it as {where}.") from error
    resolver = ModelResolver(registry, NoStoredKeys(), settings.fallback)
    found = await resolver.resolve_with_fallbacks(LOCAL_TENANT, name)
    if found[0].name != name:
        sys.stderr.write(f"moot: {registry.unavailable_reason(name)} Using {found[0].name} instead.\n")
    return found


async def resolve_default_model(settings: Settings, registry: Registry) -> str:
    """Return the model of the settings, else a cheap one with a key, else a local one.

    Raises MissingKey if there is none. Prints the choice to stderr.
    """
    if settings.model:
        return settings.model
    resolver = ModelResolver(registry, NoStoredKeys(), {})
    try:
        found = await DefaultParticipants(resolver, registry, (), None).discover_models(LOCAL_TENANT)
    except FeatureUnavailable as error:
        raise MissingKey(
            f"No model is available. Set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY, or start Ollama. {error}"
        ) from error
    match found.found_by:
        case "key":
            why = "because its key is set"
        case "local_server":
            why = "found on this machine"
        case "embedded":
            why = "because no other model is available" if registry.demo_model() else "the model file of your settings"
    sys.stderr.write(f"moot: using {found.models[0]}, {why}. Choose with -m provider/model.\n")
    return found.models[0]


def _reads_all(model: ResolvedModel, files: Sequence[File]) -> bool:
    return all(accepts_file(model.provider.model_profile(model.model).files, file) for file in files)
