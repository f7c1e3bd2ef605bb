"""Discussions among several language models: public Python API.

Exports are imported lazily, on first access, to keep `import moot` fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moot.sdk.client import Moot, ask
    from moot.sdk.participants import ParticipantSpec
    from moot.sdk.run import Result, RunHandle
    from moot.types.errors import MissingKey, MootError, NotFound, ProviderError, UnknownModel, UsageError
    from moot.types.modes import AdvisorOptions, DebateOptions, DirectedOptions

__version__ = "0.1.0"
__all__ = [
    "AdvisorOptions",
    "DebateOptions",
    "DirectedOptions",
    "MissingKey",
    "Moot",
    "MootError",
    "NotFound",
    "ParticipantSpec",
    "ProviderError",
    "Result",
    "RunHandle",
    "UnknownModel",
    "UsageError",
    "ask",
]
EXPORT_MODULES = {
    "moot.sdk.client": {"Moot", "ask"},
    "moot.sdk.run": {"Result", "RunHandle"},
    "moot.sdk.participants": {"ParticipantSpec"},
    "moot.types.modes": {"AdvisorOptions", "DebateOptions", "DirectedOptions"},
    "moot.types.errors": {"MissingKey", "MootError", "NotFound", "ProviderError", "UnknownModel", "UsageError"},
}


def __getattr__(name: str) -> object:
    for module, names in EXPORT_MODULES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
