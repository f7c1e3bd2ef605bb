import inspect
from collections import Counter

from moot.cli import options
from moot.cli.main import app

TYPER_APPS = (app, *(group.typer_instance for group in app.registered_groups))


def test_every_option_is_shared_by_several_commands() -> None:
    callbacks = [command.callback for one in TYPER_APPS if one for command in one.registered_commands]
    uses = Counter(
        str(parameter.annotation)
        for callback in callbacks
        if callback
        for parameter in inspect.signature(callback).parameters.values()
    )
    shared = {name: str(option) for name, option in vars(options).items() if hasattr(option, "__metadata__")}
    assert len(shared) > 15
    assert {name for name, option in shared.items() if uses[option] < 2} == set()
