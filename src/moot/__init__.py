"""Several language models and personas around one table.

What is named here is loaded when it is first used, so that `import moot` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moot.library.results import Result
    from moot.library.tables import Moot, ask
    from moot.library.talks import Talk
    from moot.library.voices import Voice
    from moot.model.advisors import Advisors
    from moot.model.debates import Debate
    from moot.model.directed import Directed
    from moot.model.errors import MissingKey, MootError, NotFound, ProviderError, UnknownModel, UsageError

__version__ = "0.1.0"
__all__ = [
    "Advisors",
    "Debate",
    "Directed",
    "MissingKey",
    "Moot",
    "MootError",
    "NotFound",
    "ProviderError",
    "Result",
    "Talk",
    "UnknownModel",
    "UsageError",
    "Voice",
    "ask",
]
HOMES = {
    "moot.library.results": {"Result"},
    "moot.library.tables": {"Moot", "ask"},
    "moot.library.talks": {"Talk"},
    "moot.library.voices": {"Voice"},
    "moot.model.advisors": {"Advisors"},
    "moot.model.debates": {"Debate"},
    "moot.model.directed": {"Directed"},
    "moot.model.errors": {
        "MissingKey",
        "MootError",
        "NotFound",
        "ProviderError",
        "UnknownModel",
        "UsageError",
    },
}


def __getattr__(name: str) -> object:
    for home, names in HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
