"""The local provider with a model that a fixture has loaded once."""

from typing import Any

from moot.providers.local import LocalProvider


class PreloadedLocalProvider(LocalProvider):
    """A local provider that returns the loaded model instead of loading one."""

    def __init__(self, loaded_server: list[Any]) -> None:
        super().__init__()
        self._loaded_server = loaded_server

    def _load_server(self) -> Any:
        return self._loaded_server[0]
