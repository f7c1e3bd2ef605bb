"""The error tree.

MootError
├── UsageError       what was asked for cannot be done; the message names the fix
│   ├── UnknownModel
│   ├── MissingKey
│   ├── BadSettings
│   └── Unavailable  an optional part is not installed or cannot load here
└── ProviderError    a provider failed; carries a Fault and becomes a `Failed` chunk at the seam
"""

from moot.model.faults import Fault


class MootError(Exception):
    """The root of everything Moot raises on purpose."""


class UsageError(MootError):
    pass


class UnknownModel(UsageError):
    pass


class MissingKey(UsageError):
    pass


class BadSettings(UsageError):
    pass


class Unavailable(UsageError):
    pass


class ProviderError(MootError):
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault
