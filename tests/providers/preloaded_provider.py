"""The embedded model of the product, which needs no loading because a fixture did that once."""

from typing import Any

from moot.providers.local import LocalProvider


class PreloadedLocalProvider(LocalProvider):
    """`loaded` holds the model; all else is the product's own."""

    def __init__(self, loaded_server: list[Any]) -> None:
        super().__init__()
        self._loaded_server = loaded_server

    def _load_server(self) -> Any:
        return self._loaded_server[0]
