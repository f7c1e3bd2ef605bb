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
    assert len(shared) > 3
    assert {name for name, option in shared.items() if uses[option] < 2} == set()


def test_every_list_option_defaults_to_an_empty_list() -> None:
    [ask] = [one.callback for one in app.registered_commands if one.callback and one.callback.__name__ == "ask"]
    defaults = {name: parameter.default for name, parameter in inspect.signature(ask).parameters.items()}
    assert [name for name, default in defaults.items() if default == []] == ["models", "files", "roles", "tools"]
