from msgspec.structs import replace

from moot.engine.room import MOST, room
from moot.model.profiles import Profile
from moot.providers.keys import KeyRing
from moot.providers.registry import Resolved
from moot.providers.scripted import ScriptedProvider
from moot.providers.scripts import Scripts


class Windowed(ScriptedProvider):
    """Scripts whose names are the sizes of their windows."""

    def profile(self, model: str) -> Profile:
        return replace(super().profile(model), context=int(model) if model.isdigit() else None)


def chain(*models: str) -> list[Resolved]:
    return [Resolved(f"scripted/{one}", Windowed(Scripts()), one, KeyRing(())) for one in models]


def test_the_smallest_window_of_a_chain_counts() -> None:
    assert room(chain("8192", "4096", "unknown")) == 4096


def test_a_window_that_nobody_knows_has_a_limit() -> None:
    assert room(chain("unknown")) == MOST


def test_nobody_is_given_more_than_the_limit() -> None:
    assert room(chain("2000000")) == MOST
